"""`mqctl report trends`: where groups and brokers go over weeks and months, from recordings."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import PurePath
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit, note
from mqctl.cli.options.common import GroupOption, NoColorOption, OutputOption, TopicOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.options.spark import LOCAL, ConfOption, MasterOption, named_store, session_settings, started
from mqctl.cli.times import parse_instant, parse_span_ms
from mqctl.commands.report.answering import NoSparkOption
from mqctl.commands.report.trends_view import trends_document
from mqctl.errors import ExitCode, UsageError
from mqctl.model.over_time import TrendsReported
from mqctl.model.spans import FAR, HOUR_MS
from mqctl.text import sentence

EXAMPLES = (
    "mqctl report trends --recording /var/lib/mqctl/prod --no-spark",
    "mqctl report trends --recording eu=/rec/eu --recording us=/rec/us --since -90d",
    "mqctl report trends --recording prod=s3://ops/rocketmq/prod --bucket 7d -g order-service -o json",
)


def command(
    recording: Annotated[
        list[str],
        typer.Option(
            "--recording", metavar="[NAME=]DIR", help="A directory or URL of `mqctl record`; may be repeated."
        ),
    ],
    bucket: Annotated[str, typer.Option("--bucket", metavar="SPAN", help="Width of a period, an hour or more.")] = "1d",
    group: GroupOption = None,
    topic: TopicOption = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only looks at or after it.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only looks before it.")] = None,
    limit: LimitOption = None,
    no_spark: NoSparkOption = False,
    master: MasterOption = LOCAL,
    conf: ConfOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the development of lag, traffic and disks over weeks and months, of one cluster or many.

    Each period is represented by its last sample; lag is the sum over queues at that time, and changes per day are the
    slope of a straight line through all periods. Runs on Spark; --no-spark gives the same figures with DuckDB in this
    process (extra `record`), which is faster until the recordings outgrow the machine.
    """
    period_ms = parse_span_ms(bucket)
    if period_ms < HOUR_MS:
        raise UsageError(
            sentence("report-bucket-too-short", "--bucket {bucket} is too short", bucket=bucket),
            remedy=sentence("report-use-more-recordings-whole", "use 1h or more: recordings are complete once an hour"),
        )
    from mqctl.spark.trends import TrendQuestion, local_trends, recorded_files, spark_trends

    settings = session_settings(master, conf)
    if no_spark and (conf or not settings.is_local):
        raise UsageError(
            sentence("report-no-spark-reads-process", "--no-spark reads in this process"),
            remedy=sentence("report-leave-master-conf-out", "leave --master and --conf out"),
        )
    question = TrendQuestion(period_ms=period_ms, since_ms=_moment(since, -FAR), until_ms=_moment(until, FAR))
    places = [_named(text) for text in recording]
    files = [recorded_files(name, location) for name, location in places]
    for problem in (problem for each in files for problem in each.problems):
        note(problem)
    if no_spark:
        groups, brokers = local_trends(files, question)
    else:
        with started(settings) as spark:
            groups, brokers = spark_trends(spark, files, question)
    value = TrendsReported(
        recordings=[location for _, location in places],
        period_ms=period_ms,
        groups=[row for row in groups if (not group or row.group in group) and (not topic or row.topic in topic)],
        brokers=brokers,
    )
    emit(limited(trends_document(value), output, limit), output)
    return ExitCode.IO if any(each.problems for each in files) else ExitCode.OK


def _moment(text: str | None, unless_ms: int) -> int:
    return unless_ms if text is None else parse_instant(text, datetime.now().astimezone()).epoch_ms


def _named(text: str) -> tuple[str, str]:
    """Returns the cluster's name, that of the directory where none is given, and where the recording lies."""
    name, location = named_store(text)
    where = location if "://" in location else os.path.abspath(location)  # noqa: PTH100 - Spark needs it whole
    return name or PurePath(where).name, where
