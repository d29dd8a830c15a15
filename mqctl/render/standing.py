"""Where groups that were named stand: a doctor who finds nothing wrong with them says at least that."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterator

from mqctl.model.command_line import command_line
from mqctl.model.lag import GroupLag, LagEvidence, LagState, group_lags, lag_rows
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import MessageModel
from mqctl.model.names import DLQ_PREFIX, is_retry_topic
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import CellKind, Column, Table
from mqctl.text import composed, sentence

_MOST = 10
_COLUMNS = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("member_count", "members", CellKind.COUNT),
    Column("lag_count", "lag", CellKind.COUNT, none="-"),
    Column("lag_ms", "lag time", CellKind.DURATION_MS, none="-"),
    Column("dead_letter_count", "dead letters", CellKind.COUNT),
)


def standing_lines(snapshot: ClusterSnapshot, groups: Collection[str], source: str) -> Iterator[str]:
    """Yields a line for each topic in which a group has messages waiting, and one for groups of which all brokers told
    everything, and nothing waits."""
    if not groups:
        return
    everything = lag_rows(_evidence(snapshot), snapshot.origin.observed_at_ms, system=True)
    rows = [row for row in everything if row.group in groups and row.state is not LagState.REMOVED]
    for item in [item for item in group_lags(rows) if item.lag_count][:_MOST]:
        yield _behind(item, snapshot, source)
    for (group, topic), (queues, count) in _uncommitted(snapshot, groups)[:_MOST]:
        yield sentence(
            "standing-queues-without-committed-offset",
            "{group} on {topic}: queues without a committed offset: {queues:,}; messages stored there: {count:,}",
            group=group,
            topic=topic,
            queues=queues,
            count=count,
        )
    gaps = [*snapshot.unavailable, *(gap for broker in snapshot.brokers for gap in broker.unavailable)]
    not_calm = {row.group for row in rows if row.lag_count != 0}
    calm = [name for name in dict.fromkeys(row.group for row in rows) if name not in not_calm]
    if calm and not gaps:
        yield sentence("standing-no-lag", "no lag: {groups}", groups=calm[:_MOST])


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStanding:
    """How one group that was named stands on one topic; of one without offsets the topic and its lag are None."""

    group: str
    topic: str | None
    member_count: int
    lag_count: int | None
    lag_ms: int | None
    dead_letter_count: int


def standing_table(snapshot: ClusterSnapshot, groups: Collection[str]) -> Table:
    """Returns a row for each topic of each group that was named, retry topics left out."""
    everything = lag_rows(_evidence(snapshot), snapshot.origin.observed_at_ms, system=True)
    lags: dict[str, list[GroupLag]] = {}
    for item in group_lags([row for row in everything if row.group in groups and not is_retry_topic(row.topic)]):
        lags.setdefault(item.group, []).append(item)
    members: dict[str, set[str]] = {}
    for broker in snapshot.brokers:
        for entry in broker.memberships:
            members.setdefault(entry.group, set()).update(entry.client_ids)
    dead = Counter[str]()
    for broker in snapshot.brokers:
        for queue in broker.queues:
            if queue.topic.startswith(DLQ_PREFIX):
                dead[queue.topic.removeprefix(DLQ_PREFIX)] += queue.message_count
    rows = [
        GroupStanding(
            group=group,
            topic=item.topic if item else None,
            member_count=len(members.get(group, ())),
            lag_count=item.lag_count if item else None,
            lag_ms=item.lag_ms if item else None,
            dead_letter_count=dead[group],
        )
        for group in groups
        for item in lags.get(group, [None])
    ]
    return Table(_COLUMNS, rows)


def _uncommitted(snapshot: ClusterSnapshot, groups: Collection[str]) -> list[tuple[tuple[str, str], tuple[int, int]]]:
    """Returns topics, each with the number of its queues with messages in which members of a group have committed
    nothing, and the messages there. Who broadcasts never commits."""
    open_places: dict[tuple[str, str], tuple[int, int]] = {}
    for broker in snapshot.brokers:
        committed = {(item.group, item.topic, item.queue_id) for item in broker.consumer_offsets}
        for item in broker.memberships:
            if item.group not in groups or item.message_model is MessageModel.BROADCASTING:
                continue
            topics = {wanted.topic for wanted in item.subscriptions if not is_retry_topic(wanted.topic)}
            for queue in broker.queues:
                new = (item.group, queue.topic, queue.queue_id) not in committed
                if queue.topic in topics and queue.message_count and new:
                    queues, count = open_places.get((item.group, queue.topic), (0, 0))
                    open_places[item.group, queue.topic] = queues + 1, count + queue.message_count
    return sorted(open_places.items())


def _evidence(snapshot: ClusterSnapshot) -> list[LagEvidence]:
    return [
        LagEvidence(
            origin=snapshot.origin,
            name=broker.name,
            queues=broker.queues,
            consumer_offsets=broker.consumer_offsets,
            queue_counts=broker.queue_counts,
        )
        for broker in snapshot.brokers
    ]


def _behind(lag: GroupLag, snapshot: ClusterSnapshot, source: str) -> str:
    line = sentence(
        "standing-waiting-oldest",
        "{group} on {topic}: {count:,} waiting, the oldest for {lag_ms}",
        group=lag.group,
        topic=lag.topic,
        count=lag.lag_count,
        lag_ms=lag.lag_ms,
    )
    live = snapshot.origin.kind is OriginKind.LIVE and snapshot.origin.archive is None and snapshot.past is None
    advise = command_line("mqctl group lag {} -g {} --advise", shlex.split(source), lag.group)
    return composed("{line}; {advise}", line=line, advise=advise) if live else line
