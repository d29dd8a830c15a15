"""`mqctl group lag`: how far consumer groups are behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mqctl.cli.emit import Output, emit, tell
from mqctl.cli.options import (
    AllOption,
    AtOption,
    GroupOption,
    NoColorOption,
    OutputOption,
    StoreOption,
    TopicOption,
    at_ms,
)
from mqctl.errors import ExitCode, NotFoundError
from mqctl.model.lag import GroupLag, QueueLag, group_lags, queue_lags
from mqctl.render.document import Column, Document, Kind, Table
from mqctl.snapshot.lag_gatherer import gather_lag

EXAMPLES = (
    "mqctl group lag --store /backup/store",
    "mqctl group lag --store /backup/store -g order-service -o wide",
    "mqctl group lag --store /backup/store -o json | jq '.groups[] | select(.lag_ms > 60000)'",
)

GROUP_COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("queue_count", "queues", Kind.COUNT),
    Column("lag_count", "lag", Kind.COUNT, none="never committed"),
    Column("lag_ms", "time lag", Kind.DURATION_MS, none="?"),
    Column("lost_count", "lost", Kind.COUNT),
    Column("never_committed_count", "never committed", Kind.COUNT, wide=True),
)
QUEUE_COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("broker_name", "broker", wide=True),
    Column("queue_id", "queue", Kind.COUNT),
    Column("min_offset", "min offset", Kind.COUNT, wide=True),
    Column("broker_offset", "broker offset", Kind.COUNT),
    Column("consumer_offset", "consumer offset", Kind.COUNT, none="none"),
    Column("lag_count", "lag", Kind.COUNT, none="?"),
    Column("lag_ms", "time lag", Kind.DURATION_MS, none="?"),
    Column("lost_count", "lost", Kind.COUNT),
    Column("next_store_time_ms", "next message stored", Kind.TIME_MS, wide=True),
    Column("state", "state"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LagReport:
    """Machine form of `group lag`."""

    observed_at_ms: int
    groups: list[GroupLag]
    queues: list[QueueLag]


def command(
    store: StoreOption,
    group: GroupOption = None,
    topic: TopicOption = None,
    at: AtOption = None,
    system: AllOption = False,
    output: OutputOption = Output.TABLE,
    no_color: NoColorOption = False,
) -> int:
    """Show how far consumer groups are behind, by count and by time.

    The time lag is the age of the next message to consume. `lost` counts messages that expired before the group
    consumed them. The whole of a store is judged as of its own last instant unless --at says otherwise.
    """
    evidence = gather_lag(store, at_ms=at_ms(at, datetime.now().astimezone()))
    moment_ms = evidence.origin.observed_at_ms
    rows = [row for row in queue_lags(evidence, moment_ms, system=system) if not topic or row.topic in topic]
    known = {row.group for row in rows}
    for name in group or ():
        if name not in known:
            raise NotFoundError(f"no consumer group {name} with offsets in {store}", remedy=_known_names(known))
    rows = [row for row in rows if not group or row.group in group]
    groups = group_lags(rows)
    emit(
        Document(
            schema="group.lag/1",
            value=LagReport(observed_at_ms=moment_ms, groups=groups, queues=rows),
            records=rows,
            csv_columns=QUEUE_COLUMNS,
            blocks=[Table(GROUP_COLUMNS, groups), *([Table(QUEUE_COLUMNS, rows)] if group else [])],
        ),
        output,
    )
    for gap in evidence.unavailable:
        tell(f"mqctl: {gap.part}{f' ({gap.scope})' if gap.scope else ''} not read: {gap.reason}")
    return ExitCode.IO if evidence.unavailable else ExitCode.OK


def _known_names(known: set[str]) -> str:
    shown = ", ".join(sorted(known)[:10])
    return f"groups with offsets: {shown}" if shown else "no group has offsets there"
