"""`mqctl report capacity`: rates, growth and room of stores."""

from __future__ import annotations

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
    "mqctl report capacity --store /data/store",
    "mqctl report capacity --store /data/a --store /data/b --since -1d --bucket 10m",
)


def command(
    store: StoresOption,
    group: ReportGroupOption = None,
    topic: TopicOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
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
    """Show rates, peaks and growth of stores, and the room that is left on their disks.

    Growth is the mean rate of what the commit log holds in the asked range, as if nothing were deleted. The disk is the
    one that the directory is on now: of a copied store that is not the broker's.
    """
    from mqctl.spark.reports.capacity import capacity

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
        question, lambda engine, wanted: capacity(engine, wanted, bucket_ms=width), "capacity", (output, limit), parquet
    )
