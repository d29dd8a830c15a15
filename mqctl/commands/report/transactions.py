"""`mqctl report transactions`: transactions that wait, and times to an end."""

from __future__ import annotations

from mqctl.cli.emit import Output
from mqctl.cli.options.common import AllOption, LangOption, NoColorOption, OutputOption, TopicOption
from mqctl.cli.options.limit import LimitOption
from mqctl.cli.options.spark import LOCAL, ConfOption, MasterOption, SinceOption, StoresOption, UntilOption
from mqctl.commands.report.answering import (
    NoSparkOption,
    ParquetOption,
    ReportGroupOption,
    ReportOptions,
    TopOption,
    report,
)

EXAMPLES = (
    "mqctl report transactions --store /backup/store",
    "mqctl report transactions --store /backup/store --since -1d --top 20",
)


def command(
    store: StoresOption,
    group: ReportGroupOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    top: TopOption = 5,
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
    """Show transactions that wait for an end, and how long ends took, by producer group.

    Reads the half and op topics of each store. --topic and --group choose by the topic that a message is for.
    """
    from mqctl.spark.reports.transactions import transactions

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
        question, lambda engine, wanted: transactions(engine, wanted, top=top), "transactions", (output, limit), parquet
    )
