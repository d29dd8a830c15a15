"""`mqctl report order`: keys in several queues and what explains them."""

from __future__ import annotations

from mqctl.cli.emit import Output
from mqctl.cli.options.common import AllOption, LangOption, NoColorOption, OutputOption, TopicOption
from mqctl.cli.options.limit import LimitOption
from mqctl.cli.options.spark import LOCAL, ConfOption, MasterOption, SinceOption, StoresOption, UntilOption
from mqctl.commands.report.answering import (
    BucketOption,
    KeyOption,
    NoSparkOption,
    ParquetOption,
    ReportGroupOption,
    ReportOptions,
    TopOption,
    bucket_ms,
    report,
)

EXAMPLES = (
    "mqctl report order --store /backup/store",
    "mqctl report order --store /backup/store -t orders --key orderId --bucket 10m",
)


def command(
    store: StoresOption,
    group: ReportGroupOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    key: KeyOption = "",
    top: TopOption = 5,
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
    """Show keys that are in several queues, since when, and the explanation.

    A move is a message in another queue than the previously stored message of its key. `sent in other order` counts
    messages stored after one that the same host sent later. Retry and dead-letter topics are left out.
    """
    from mqctl.spark.reports.order import order

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
        lambda engine, wanted: order(engine, wanted, top=top, bucket_ms=width, key_property=key),
        "order",
        (output, limit),
        parquet,
    )
