"""`mqctl report backlog`: what lies behind consumer groups, from store directories, on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Annotated

import typer

from mqctl.cli.emit import Output, emit
from mqctl.cli.options.common import AllOption, GroupOption, NoColorOption, OutputOption, TopicOption
from mqctl.cli.options.limit import LimitOption, limited
from mqctl.cli.options.spark import (
    LOCAL,
    ConfOption,
    MasterOption,
    SinceOption,
    StoresOption,
    UntilOption,
    session_settings,
    store_paths,
)
from mqctl.cli.times import parse_span_ms
from mqctl.commands.report.answering import (
    BucketOption,
    NoSparkOption,
    ReportOptions,
    answering,
    bucket_ms,
    tell_unread,
)
from mqctl.commands.report.backlog_view import backlog_document
from mqctl.errors import NotFoundError, UsageError
from mqctl.model.backlog import BacklogBy
from mqctl.text import sentence

EXAMPLES = (
    "mqctl report backlog --store /backup/store",
    "mqctl report backlog --store /backup/broker-a --store /backup/broker-b -g order-service --by tag",
    "mqctl report backlog --store /backup/store --quick --no-spark",
    "mqctl report backlog --store /backup/store -g order-service --by time --bucket 10m --rate 500 --retention 72h",
    "mqctl report backlog --store /data/store --master 'local[8]' --conf spark.driver.memory=4g -o csv",
)


_Quick = Annotated[
    bool, typer.Option("--quick", help="Read the consume queues only: counts and sizes, without reading records.")
]
_Rate = Annotated[
    float | None,
    typer.Option("--rate", metavar="N", help="Net messages a second consumed; estimates when it is drained."),
]
_Retention = Annotated[
    str | None,
    typer.Option("--retention", metavar="DURATION", help="fileReservedTime of the brokers; shows what expires when."),
]


def command(
    store: StoresOption,
    group: GroupOption = None,
    topic: TopicOption = None,
    by: Annotated[BacklogBy, typer.Option("--by", help="Granularity of the rows.")] = BacklogBy.TOPIC,
    system: AllOption = False,
    quick: _Quick = False,
    bucket: BucketOption = "1m",
    rate: _Rate = None,
    retention: _Retention = None,
    since: SinceOption = None,
    until: UntilOption = None,
    no_spark: NoSparkOption = False,
    master: MasterOption = LOCAL,
    conf: ConfOption = None,
    limit: LimitOption = None,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show the backlog of consumer groups: messages, bytes, oldest and newest store time.

    Counts the stored messages at or above each group's offset. `lost` messages expired before they were consumed; `lead
    nowhere` counts queue entries without a message in the commit log. Runs on Spark (pip install 'mqctl[spark]') unless
    --no-spark is given.
    """
    from mqctl.spark.scan.planning import committed_offsets, open_store

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
    )
    width, retention_ms = bucket_ms(bucket), parse_span_ms(retention) if retention else None
    if rate is not None and rate <= 0:
        raise UsageError(
            sentence("report-rate-never-drains-backlog", "--rate {rate} never drains the backlog", rate=rate),
            remedy=sentence("report-give-messages-second-above", "give messages a second, above 0"),
        )
    settings = session_settings(master, conf)
    paths = store_paths(store, settings)
    if settings.is_local:  # the workers see what we see: no need to start a JVM to say that it is not there
        known = {each.group for path in paths for each in committed_offsets(open_store(path))}
        _require_groups(group or (), known, paths)
    with answering(question, of_groups=False) as (engine, wanted):
        from mqctl.spark.brokers import with_brokers
        from mqctl.spark.reports.backlog import backlog_rows, forecast
        from mqctl.spark.reports.unread import needed, unread_parts, with_message_counts

        rows = backlog_rows(engine, wanted, by, quick=quick, bucket_ms=width)
        rows = with_brokers(rows, wanted)
        rows = forecast(rows, per_second=rate, retention_ms=retention_ms)
        unread = with_brokers(with_message_counts(engine, needed("backlog", unread_parts(wanted.stores))), wanted)
    # A group without messages behind it has neither tags nor times.
    if not settings.is_local and by not in (BacklogBy.TAG, BacklogBy.TIME):
        _require_groups(group or (), {row.group for row in rows}, paths)
    emit(limited(backlog_document(paths, by, rows, unread), output, limit), output)
    return tell_unread(unread)


def _require_groups(wanted: Iterable[str], known: Set[str], paths: Sequence[str]) -> None:
    shown = ", ".join(sorted(known)[:10])
    for name in wanted:
        if name not in known:
            raise NotFoundError(
                sentence(
                    "report-no-consumer-group-offsets",
                    "no consumer group {group} with offsets in {paths}",
                    group=name,
                    paths=paths,
                ),
                reason=sentence("report-groups-offsets", "groups with offsets: {shown}", shown=shown)
                if shown
                else sentence("report-no-group-any", "no group has any there"),
                remedy=sentence("report-store-describe-shows", "mqctl store describe shows what a store has"),
            )
