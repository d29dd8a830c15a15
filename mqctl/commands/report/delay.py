"""`mqctl report delay`: what waits on delay levels, and what is late."""

from __future__ import annotations

from datetime import datetime

from mqctl.cli.emit import Output
from mqctl.cli.options.common import (
    AllOption,
    AtOption,
    LangOption,
    LevelsOption,
    NoColorOption,
    OutputOption,
    TopicOption,
    at_ms,
)
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
    require_levels,
)

EXAMPLES = (
    "mqctl report delay --store /backup/store",
    "mqctl report delay --store /data/store --at now -t orders",
)


def command(
    store: StoresOption,
    group: ReportGroupOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    at: AtOption = None,
    levels: LevelsOption = None,
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
    """Show what waits on delay levels, when it is due, and what is late.

    Reads the schedule queues from delayOffset.json on. --topic and --group choose by the topic that a message is for.
    Timer messages of 5.x (any delivery time) are counted by topic.
    """
    from mqctl.spark.reports.delay import delay

    width, moment = bucket_ms(bucket), at_ms(at, datetime.now().astimezone())
    require_levels(levels)
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
        lambda engine, wanted: delay(engine, wanted, at_ms=moment, bucket_ms=width, levels=levels or ""),
        "delay",
        (output, limit),
        parquet,
    )
