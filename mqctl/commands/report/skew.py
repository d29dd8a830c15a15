"""`mqctl report skew`: hot queues, keys and producers of store directories."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output
from mqctl.cli.options.common import AllOption, LangOption, NoColorOption, OutputOption, TopicOption
from mqctl.cli.options.limit import LimitOption
from mqctl.cli.options.spark import LOCAL, ConfOption, MasterOption, SinceOption, StoresOption, UntilOption
from mqctl.commands.report.answering import (
    KeyOption,
    NoSparkOption,
    ParquetOption,
    ReportGroupOption,
    ReportOptions,
    TopOption,
    report,
)
from mqctl.spark.query import Selector

EXAMPLES = (
    "mqctl report skew --store /backup/store",
    "mqctl report skew --store /backup/store -t orders --reshard 16",
    "mqctl report skew --store /data/a --store /data/b --no-spark -o json",
)


def command(
    store: StoresOption,
    group: ReportGroupOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    key: KeyOption = "",
    top: TopOption = 5,
    reshard: Annotated[
        int | None, typer.Option("--reshard", min=1, metavar="N", help="Show the same messages over N queues.")
    ] = None,
    selector: Annotated[
        Selector, typer.Option("--selector", help="How --reshard makes a queue of a key.", show_choices=True)
    ] = Selector.HASH,
    system: AllOption = False,
    parquet: ParquetOption = None,
    no_spark: NoSparkOption = False,
    master: MasterOption = LOCAL,
    conf: ConfOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
    lang: LangOption = None,
) -> int:
    """Show how evenly messages are spread over queues, and which keys and producers are hot.

    Counts what the commit log holds. `gini` is 0 where all queues have the same. With --reshard N the same messages are
    spread over N queues by --selector of --key, to see what would move and whether it would help.
    """
    from mqctl.spark.reports.skew import WhatIf, skew

    what_if = WhatIf(reshard, selector, key) if reshard is not None else None
    question = ReportOptions(
        stores=store,
        groups=group,
        topics=topic,
        since=since,
        until=until,
        system=system,
        master=master,
        conf=conf,
        no_spark=no_spark,
        lang=lang,
    )
    return report(
        question,
        lambda engine, wanted: skew(engine, wanted, top=top, what_if=what_if, key_property=key),
        "skew",
        (output, limit),
        parquet,
    )
