"""`mqctl report tags`: tags of topics and queues, and what is lost of them."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output
from mqctl.cli.options.common import AllOption, LangOption, NoColorOption, OutputOption, SnapshotOption, TopicOption
from mqctl.cli.options.limit import LimitOption
from mqctl.cli.options.spark import LOCAL, ConfOption, MasterOption, SinceOption, StoresOption, UntilOption
from mqctl.commands.report.answering import (
    NoSparkOption,
    ParquetOption,
    ReportGroupOption,
    ReportOptions,
    report,
    subscribed,
)

EXAMPLES = (
    "mqctl report tags --store /backup/store",
    "mqctl report tags --store /backup/a --broker-name broker-a --snapshot cluster.snap -g order-service",
)


def command(
    store: StoresOption,
    group: ReportGroupOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    snapshot: SnapshotOption = None,
    broker_name: Annotated[
        list[str] | None, typer.Option("--broker-name", metavar="NAME", help="Broker of each store, in their order.")
    ] = None,
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
    """Show the tags of topics and queues, and the messages that members of a group with different tags lose.

    The loss is computed for the members, owners and filters of --snapshot; --broker-name names the broker of each
    --store, in the same order (not needed for one store and a snapshot of one broker).
    """
    from mqctl.spark.reports.tags import tags

    known = subscribed(snapshot, store, broker_name)
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
        broker_names=broker_name,
        lang=lang,
    )
    return report(
        question,
        lambda engine, wanted: tags(engine, wanted, snapshot=known.snapshot, brokers=known.by_store(wanted.stores)),
        "tags",
        (output, limit),
        parquet,
    )
