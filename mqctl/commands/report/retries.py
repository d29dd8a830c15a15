"""`mqctl report retries`: retries and dead letters of groups."""

from __future__ import annotations

from typing import Annotated

import typer

from mqctl.cli.emit import Output
from mqctl.cli.options.common import AllOption, LangOption, NoColorOption, OutputOption, TopicOption
from mqctl.cli.options.limit import LimitOption
from mqctl.cli.options.spark import LOCAL, ConfOption, MasterOption, SinceOption, StoresOption, UntilOption
from mqctl.commands.report.answering import (
    BucketOption,
    NoSparkOption,
    ParquetOption,
    ReportGroupOption,
    ReportOptions,
    bucket_ms,
    report,
)

EXAMPLES = (
    "mqctl report retries --store /backup/store",
    "mqctl report retries --store /backup/store -g order-service --error-property ERROR",
)


def command(
    store: StoresOption,
    group: ReportGroupOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    error_property: Annotated[
        str, typer.Option("--error-property", metavar="PROPERTY", help="Property that carries the last error.")
    ] = "",
    bucket: BucketOption = "1m",
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
    """Show retries and dead letters of consumer groups: how many, how often, when, and why.

    Counts the messages of retry and dead-letter topics, and the messages on delay levels that are going to be retried,
    with the time they are due. `consumed or waiting after it` counts messages that came that far and neither failed
    again nor were dead-lettered. --error-property names a property in which consumers store the reason of a failure.
    """
    from mqctl.spark.reports.retries import retries

    width = bucket_ms(bucket)
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
        lambda engine, wanted: retries(engine, wanted, bucket_ms=width, error_property=error_property),
        "retries",
        (output, limit),
        parquet,
    )
