"""Lag by count and by time, from hand-made snapshots."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.lag import LagEvidence, LagState, group_lags, queue_lags
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, QueueState

NOW = 1_000_000
ORIGIN = Origin(kind=OriginKind.STORE, location="x", observed_at_ms=NOW, observed_from=ObservedFrom.STORE_TIME)


def evidence(queues: list[tuple[int, int, int]], offsets: list[tuple[int, int, int | None]]) -> LagEvidence:
    """Builds one group on one topic: (queue id, min, max) and (queue id, offset, next store time)."""
    return LagEvidence(
        origin=ORIGIN,
        name="b",
        queues=tuple(
            QueueState(topic="t", queue_id=number, min_offset=low, max_offset=high) for number, low, high in queues
        ),
        consumer_offsets=tuple(
            ConsumerOffsetState(group="g", topic="t", queue_id=number, offset=offset, next_store_time_ms=time)
            for number, offset, time in offsets
        ),
    )


def test_each_state_of_a_queue() -> None:
    snapshot = evidence(
        [(0, 0, 10), (1, 0, 10), (2, 5, 10), (3, 0, 10), (4, 0, 10)],
        [(0, 10, None), (1, 4, NOW - 60_000), (2, 3, NOW - 5_000), (3, 12, None), (7, 9, None)],
    )
    rows = {row.queue_id: row for row in queue_lags(snapshot, NOW)}
    assert {number: row.state for number, row in rows.items()} == {
        0: LagState.CAUGHT_UP,
        1: LagState.BEHIND,
        2: LagState.BELOW_MIN,
        3: LagState.BEYOND_MAX,
        4: LagState.NEVER_COMMITTED,
        7: LagState.NO_QUEUE,
    }
    assert (rows[0].lag_count, rows[0].lag_ms) == (0, 0)
    assert (rows[1].lag_count, rows[1].lag_ms) == (6, 60_000)
    assert (rows[2].lag_count, rows[2].lost_count) == (7, 2)
    assert (rows[3].lag_count, rows[3].lag_ms) == (-2, None)
    assert (rows[4].lag_count, rows[4].lag_ms) == (None, None)
    assert rows[7].lag_count is None


def test_a_queue_that_never_held_a_message_is_no_row() -> None:
    assert [row.queue_id for row in queue_lags(evidence([(0, 0, 1)], [(0, 1, None), (1, 0, None)]), NOW)] == [0]


def test_sums_keep_unknown_apart_from_zero() -> None:
    known = evidence([(0, 0, 10), (1, 0, 10)], [(0, 10, None), (1, 4, NOW - 60_000)])
    (total,) = group_lags(queue_lags(known, NOW))
    assert (total.lag_count, total.lag_ms, total.never_committed_count) == (6, 60_000, 0)
    unknown = evidence([(0, 0, 10), (1, 0, 10)], [(0, 9, NOW - 1), (1, 4, None)])
    (total,) = group_lags(queue_lags(unknown, NOW))
    assert (total.lag_count, total.lag_ms) == (7, None)


def test_system_groups_are_left_out_unless_asked_for() -> None:
    mine = evidence([(0, 0, 1)], [(0, 0, NOW)])
    system = ConsumerOffsetState(group="CID_RMQ_SYS_TRANS", topic="t", queue_id=0, offset=0)
    both = replace(mine, consumer_offsets=(*mine.consumer_offsets, system))
    assert {row.group for row in queue_lags(both, NOW)} == {"g"}
    assert {row.group for row in queue_lags(both, NOW, system=True)} == {"g", "CID_RMQ_SYS_TRANS"}
