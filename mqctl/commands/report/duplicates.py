"""`mqctl report duplicates`: messages stored more than once."""

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
    "mqctl report duplicates --store /backup/store",
    "mqctl report duplicates --store /backup/store -t orders --since -2d --top 20",
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
    """Show messages that were stored more than once, by unique key and by business key.

    The unique key is the client's message id: producers that resend after a timeout keep it. Retry and dead-letter
    topics are left out, for they repeat messages by their nature.
    """
    from mqctl.spark.reports.duplicates import duplicates

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
        lambda engine, wanted: duplicates(engine, wanted, top=top, bucket_ms=width, key_property=key),
        "duplicates",
        (output, limit),
        parquet,
    )
