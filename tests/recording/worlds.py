"""Clusters that were never there, look by look, for tests of recordings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mqctl.model.member import GroupMembership, Member, Subscription
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.recording.place import open_place
from mqctl.recording.writer import LookTime, RecordingWriter

BEGIN_MS = 1_767_225_600_000
"""2026-01-01 00:00 UTC."""
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def at(minutes: float) -> int:
    return BEGIN_MS + round(minutes * MINUTE_MS)


def broker(
    name: str = "broker-a",
    *,
    end: int = 0,
    offset: int = 0,
    waits_since_ms: int | None = None,
    members: Mapping[str, str] | None = None,
    runtime: Mapping[str, str] | None = None,
    config: Mapping[str, str] | None = None,
    tags: tuple[str, ...] = (),
) -> BrokerSnapshot:
    """A broker with one queue of topic Pay, of which group G has consumed some; members by client id and address."""
    known = tuple(Member(client_id=client, address=address) for client, address in (members or {}).items())
    expression = " || ".join(tags) or "*"
    group = GroupMembership(
        group="G",
        client_ids=tuple(members or ()),
        members=known,
        subscriptions=(Subscription(topic="Pay", expression=expression, tags=tags),),
    )
    return BrokerSnapshot(
        name=name,
        broker_id=0,
        cluster="C",
        address=f"{name}:10911",
        queues=(QueueState(topic="Pay", queue_id=0, min_offset=0, max_offset=end),),
        consumer_offsets=(
            ConsumerOffsetState(group="G", topic="Pay", queue_id=0, offset=offset, next_store_time_ms=waits_since_ms),
        ),
        memberships=(group,) if known else (),
        runtime={"brokerVersionDesc": "V5_3_3", **(runtime or {})},
        config=config or {},
    )


def cluster(*brokers: BrokerSnapshot, moment_ms: int = BEGIN_MS) -> ClusterSnapshot:
    origin = Origin(
        kind=OriginKind.LIVE, location="ns:9876", observed_at_ms=moment_ms, observed_from=ObservedFrom.CLOCK
    )
    return ClusterSnapshot(origin=origin, brokers=brokers)


def writer(
    directory: Path, *, name_server: str = "ns:9876", keep_ms: int = 14 * DAY_MS, every_ms: int = MINUTE_MS
) -> RecordingWriter:
    return RecordingWriter(open_place(str(directory)), name_server, every_ms=every_ms, keep_ms=keep_ms)


def look(into: RecordingWriter, minutes: float, *brokers: BrokerSnapshot) -> None:
    """Records a look so many minutes after the beginning."""
    moment_ms = at(minutes)
    into.look(cluster(*brokers, moment_ms=moment_ms), LookTime(wall_ms=moment_ms, steady_ms=moment_ms))
