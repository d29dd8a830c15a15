"""Lag by count and by time, from hand-made snapshots."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from mqctl.model.consumption import Consumption
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lag import (
    GroupLag,
    LagEvidence,
    LagState,
    QueueLag,
    coarse,
    group_lags,
    lag_rows,
    queue_lags,
    without_broker,
)
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.pop_share import PopShare
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from tests.each import each

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


@each(
    "low, end, offset, age_ms, state, count, lost, lag_ms",
    [
        (0, 10, 10, None, LagState.CAUGHT_UP, 0, 0, 0),
        (0, 10, 10, 99, LagState.CAUGHT_UP, 0, 0, 0),
        (10, 10, 10, None, LagState.CAUGHT_UP, 0, 0, 0),
        (0, 10, 9, 1, LagState.BEHIND, 1, 0, 1),
        (0, 10, 9, None, LagState.BEHIND, 1, 0, None),
        (0, 10, 9, -1, LagState.BEHIND, 1, 0, 0),
        (0, 10, 0, 5, LagState.BEHIND, 10, 0, 5),
        (1, 10, 0, 5, LagState.BELOW_MIN, 10, 1, 5),
        (5, 10, 5, 5, LagState.BEHIND, 5, 0, 5),
        (5, 10, 4, 5, LagState.BELOW_MIN, 6, 1, 5),
        (10, 10, 9, None, LagState.BELOW_MIN, 1, 1, None),
        (0, 10, 11, None, LagState.BEYOND_MAX, -1, 0, None),
        (0, 10, -1, None, LagState.NEVER_COMMITTED, None, 0, None),
        (5, 10, -1, None, LagState.NEVER_COMMITTED, None, 0, None),
    ],
)
def test_one_offset_in_one_queue(
    low: int,
    end: int,
    offset: int,
    age_ms: int | None,
    state: LagState,
    count: int | None,
    lost: int,
    lag_ms: int | None,
) -> None:
    time_ms = None if age_ms is None else NOW - age_ms
    (row,) = queue_lags(evidence([(3, low, end)], [(3, offset, time_ms)]), NOW)
    assert (row.state, row.lag_count, row.lost_count, row.lag_ms) == (state, count, lost, lag_ms)
    assert (row.min_offset, row.broker_offset, row.queue_id, row.next_store_time_ms) == (low, end, 3, time_ms)
    assert row.consumer_offset == (None if offset < 0 else offset)
    assert (row.group, row.topic, row.broker_name) == ("g", "t", "b")


def test_an_offset_without_a_queue_is_no_lag() -> None:
    (row,) = queue_lags(evidence([], [(0, 1, None)]), NOW)
    assert (row.min_offset, row.broker_offset, row.lag_count, row.lost_count) == (None, None, None, 0)
    assert (row.state, row.consumer_offset) == (LagState.NO_QUEUE, 1)
    assert queue_lags(evidence([], [(0, 0, None)]), NOW) == []


def test_a_system_topic_is_left_out_unless_asked_for() -> None:
    mine = evidence([], [(0, 4, None)])
    theirs = replace(mine.consumer_offsets[0], topic="RMQ_SYS_TRANS_HALF_TOPIC")
    both = replace(mine, consumer_offsets=(*mine.consumer_offsets, theirs))
    assert [row.topic for row in queue_lags(both, NOW)] == ["t"]
    assert [row.topic for row in queue_lags(both, NOW, system=True)] == ["RMQ_SYS_TRANS_HALF_TOPIC", "t"]
    assert [row.topic for row in lag_rows([both], NOW)] == ["t"]
    assert len(lag_rows([both], NOW, system=True)) == 2


def test_a_broker_that_is_not_registered_is_two_gaps_and_no_row() -> None:
    unknown = without_broker(ORIGIN, "b")
    assert [(gap.part, gap.broker) for gap in unknown.unavailable] == [(Part.CONSUMER_OFFSETS, "b"), (Part.QUEUES, "b")]
    assert (unknown.name, unknown.broker_id, queue_lags(unknown, NOW)) == ("b", 0, [])


def row_of(
    queue_id: int = 0,
    lag: int | None = 5,
    *,
    group: str = "g",
    topic: str = "t",
    broker: str | None = "b",
    age: int | None = 100,
    lost: int = 0,
    state: LagState = LagState.BEHIND,
    flying: int | None = None,
    cached: int | None = None,
) -> QueueLag:
    return QueueLag(
        group=group,
        topic=topic,
        broker_name=broker,
        queue_id=queue_id,
        min_offset=0,
        broker_offset=10,
        consumer_offset=None if lag is None else 10 - lag,
        lag_count=lag,
        lost_count=lost,
        lag_ms=age,
        next_store_time_ms=None,
        state=state,
        in_flight_count=flying,
        cached_count=cached,
    )


NEVER = row_of(1, None, age=None, state=LagState.NEVER_COMMITTED)


@each(
    "rows, count, lag_ms, never",
    [
        ([row_of()], 5, 100, 0),
        ([row_of(lag=0, age=0)], 0, 0, 0),
        ([row_of(), row_of(1, 1, age=101)], 6, 101, 0),
        ([row_of(), row_of(1, 1, age=None)], 6, None, 0),
        ([row_of(), row_of(1, 0, age=None)], 5, 100, 0),
        ([row_of(), row_of(1, -7, age=None)], 5, 100, 0),
        ([row_of(lag=-7, age=None)], 0, 0, 0),
        ([NEVER], None, None, 1),
        ([NEVER, row_of(lag=1)], 1, 100, 1),
        ([NEVER, NEVER, row_of(lag=0, age=0)], 0, 0, 2),
    ],
)
def test_sums_of_a_group(rows: list[QueueLag], count: int | None, lag_ms: int | None, never: int) -> None:
    (total,) = group_lags(rows)
    assert (total.lag_count, total.lag_ms, total.never_committed_count) == (count, lag_ms, never)
    assert (total.queue_count, total.lost_count) == (len(rows), 0)


@each(
    "counts, total",
    [([None], None), ([0], 0), ([2, 3], 5), ([2, None], None), ([0, 0], 0)],
)
def test_what_is_in_flight_is_known_where_it_is_of_each_queue(counts: list[int | None], total: int | None) -> None:
    (flying,) = group_lags([row_of(number, flying=count, lost=2) for number, count in enumerate(counts)])
    (cached,) = group_lags([row_of(number, cached=count) for number, count in enumerate(counts)])
    assert (flying.in_flight_count, flying.cached_count, flying.lost_count) == (total, None, 2 * len(counts))
    assert (cached.in_flight_count, cached.cached_count) == (None, total)


@each(
    "span_ms, seen_ms",
    [
        (0, 0),
        (999, 0),
        (1_000, 1_000),
        (599_999, 599_000),
        (600_000, 600_000),
        (659_999, 600_000),
        (660_000, 660_000),
    ],
)
def test_spans_as_people_compare_them(span_ms: int, seen_ms: int) -> None:
    assert coarse(span_ms) == seen_ms


def test_the_longest_wait_comes_first_then_the_most_then_the_name() -> None:
    groups = [
        ("e", "t", 9, None),
        ("d", "t", 2, 600_000),
        ("c", "t", 9, 1_999),
        ("b", "u", 9, 1_000),
        ("b", "t", 9, 1_500),
        ("a", "t", None, None),
        ("f", "t", 3, 659_999),
        ("g", "t", 1, 660_000),
    ]
    rows = [row_of(group=group, topic=topic, lag=lag, age=age) for group, topic, lag, age in groups]
    assert [lag.group + lag.topic for lag in group_lags(rows)] == ["gt", "ft", "dt", "bt", "bu", "ct", "et", "at"]


def test_rows_of_all_brokers_are_in_order() -> None:
    two, one = (replace(evidence([(1, 0, 9), (0, 0, 9)], [(0, 1, None)]), name=name) for name in ("b2", None))
    other = replace(one, consumer_offsets=tuple(replace(item, group="f") for item in one.consumer_offsets))
    assert [(row.group, row.broker_name, row.queue_id) for row in lag_rows([two, one, other], NOW)] == [
        ("f", None, 0),
        ("f", None, 1),
        ("g", None, 0),
        ("g", None, 1),
        ("g", "b2", 0),
        ("g", "b2", 1),
    ]


KEY = ("g", "t", 0)


@each(
    "consumption, offset, flying, owners, owner_text, address_text, cached",
    [
        (None, 4, None, None, None, None, None),
        (Consumption(), 4, None, None, None, None, None),
        (Consumption(pull_offsets={KEY: 7}, cached={KEY: 2}), 4, 3, None, None, None, 2),
        (Consumption(pull_offsets={KEY: 4}, cached={KEY: 0}), 4, 0, None, None, None, 0),
        (Consumption(pull_offsets={KEY: 3}), 4, 0, None, None, None, None),
        (Consumption(pull_offsets={KEY: 3}), -1, None, None, None, None, None),
        (Consumption(owners={KEY: ()}), 4, 0, (), "nobody", None, None),
        (Consumption(owners={KEY: ()}, pull_offsets={KEY: 9}), 4, 5, (), "nobody", None, None),
        (Consumption(owners={KEY: ("c", "d")}), 4, None, ("c", "d"), "c, d", None, None),
        (
            Consumption(owners={KEY: ("c", "d")}, addresses={("g", "c"): "1:1", ("g", "d"): "1:2", ("h", "d"): "1:3"}),
            4,
            None,
            ("c", "d"),
            "c, d",
            "1:1, 1:2",
            None,
        ),
        (Consumption(owners={KEY: ("c", "d")}, addresses={("g", "c"): "1:1"}), 4, None, ("c", "d"), "c, d", None, None),
    ],
)
def test_what_is_in_the_hands_of_whom(
    consumption: Consumption | None,
    offset: int,
    flying: int | None,
    owners: tuple[str, ...] | None,
    owner_text: str | None,
    address_text: str | None,
    cached: int | None,
) -> None:
    item = replace(evidence([(0, 0, 10)], [(0, offset, None)]), consumption=consumption)
    (row,) = lag_rows([item], NOW)
    assert (row.in_flight_count, row.owners, row.owner_text) == (flying, owners, owner_text)
    assert (row.address_text, row.cached_count) == (address_text, cached)
    if owners == ():
        assert row.owner_addresses == ()


PLACE = ("g", "t")


@each(
    "parts, consume, consumed",
    [
        ([], None, None),
        ([None], None, None),
        ([Consumption()], None, None),
        ([Consumption(tps={PLACE: 1.236}, consumed_tps={PLACE: 2.346})], 1.24, 2.35),
        ([Consumption(tps={PLACE: 1.0}), Consumption(tps={PLACE: 2.0}, consumed_tps={PLACE: 0.0})], 3.0, 0.0),
        ([Consumption(tps={PLACE: 1.0}), None], None, None),
        ([Consumption(tps={PLACE: 1.0}), Consumption(consumed_tps={PLACE: 4.0})], None, 4.0),
        ([Consumption(consumed_tps={PLACE: 3.0}), Consumption(consumed_tps={PLACE: 4.0})], None, 3.0),
        ([Consumption(tps={("g", "u"): 1.0})], None, None),
    ],
)
def test_rates_are_sums_where_each_broker_tells(
    parts: list[Consumption | None], consume: float | None, consumed: float | None
) -> None:
    evidences = [LagEvidence(origin=ORIGIN, consumption=part) for part in parts]
    (group,) = group_lags([row_of()], evidences)
    assert (group.consume_tps, group.consumed_tps, group.lag_count) == (consume, consumed, 5)


def share(mode: str | None, **counts: int) -> PopShare:
    """Of every count that is not given: a number of its own, but for those that make a group a popping one."""
    usual = {"ready_count": 11, "invisible_count": 0, "due_count": 0, "retry_count": 0, "given_up_count": 12}
    return PopShare(
        group="g",
        topic="t",
        mode=mode,
        **{**usual, **counts},
        blocked_queue_count=13,
        renewed_count=14,
        held_since_ms=15,
        next_visible_ms=(16, 17),
    )


@each(
    "mode, counts, shown, pops",
    [
        ("PULL", {}, "PULL", False),
        ("PULL", {"invisible_count": 1}, "PULL", True),
        ("PULL", {"due_count": 1}, "PULL", True),
        ("PULL", {"retry_count": 1}, "PULL", True),
        ("POP", {}, "POP", True),
        (None, {}, "POP", True),
    ],
)
def test_what_a_group_pops(mode: str | None, counts: dict[str, int], shown: str, pops: bool) -> None:
    given = share(mode, **counts)
    rows = [row_of(), row_of(topic="u")]
    groups = {group.topic: group for group in group_lags(rows, [LagEvidence(origin=ORIGIN, pop=(given,))])}
    group = groups["t"]
    assert group.consume_mode == shown
    names = (
        *("ready_count", "invisible_count", "due_count", "retry_count", "given_up_count"),
        *("blocked_queue_count", "renewed_count", "held_since_ms", "next_visible_ms", "back_ms"),
    )
    bare: GroupLag = groups["u"]
    for name in names:
        assert getattr(group, name) == getattr(given if pops else bare, name), name
    assert (bare.consume_mode, bare.ready_count, bare.next_visible_ms, bare.back_ms) == (None, None, (), None)
    held = replace(evidence([(0, 0, 9)], [(0, 1, None)]), pop=(given,))
    other = tuple(replace(item, topic="u") for item in held.consumer_offsets)
    queues = lag_rows([replace(held, consumer_offsets=held.consumer_offsets + other)], NOW)
    assert [(row.topic, row.consume_mode) for row in queues] == [("t", shown), ("u", None)]


def test_pops_of_two_brokers_are_one() -> None:
    evidences = [LagEvidence(origin=ORIGIN, pop=(share("POP", due_count=count),)) for count in (1, 2)]
    (group,) = group_lags([row_of()], evidences)
    assert (group.due_count, group.ready_count, group.blocked_queue_count) == (3, 22, 26)


@given(
    has=st.integers(1, 6),
    had=st.integers(0, 6),
    known=st.integers(0, 6),
    offsets=st.lists(st.integers(0, 20), min_size=12, max_size=12),
)
def test_queues_that_a_topic_had_before_it_was_made_smaller_count_as_none(
    has: int, had: int, known: int, offsets: list[int]
) -> None:
    """Whether their bounds were asked for (a snapshot) or not (`group lag`): sums are of the queues that exist."""
    ends = [(number, 0, 20) for number in range(has + min(known, had))]
    committed: list[tuple[int, int, int | None]] = [
        (number, offsets[number], NOW - 1) for number in range(has + had) if offsets[number]
    ]
    assume(any(number < has for number, _, _ in committed))  # or nothing tells that the group consumes the topic
    shrunk = replace(evidence(ends, committed), queue_counts={"t": has})
    plain = evidence(ends[:has], [row for row in committed if row[0] < has])
    there = queue_lags(plain, NOW)
    assert queue_lags(shrunk, NOW) == there
    rows = lag_rows([shrunk], NOW)
    assert [row for row in rows if row.state is not LagState.REMOVED] == there
    assert {row.queue_id for row in rows} - {row.queue_id for row in there} <= set(range(has, has + had))
    assert group_lags(rows) == group_lags(there)
    assert len(queue_lags(shrunk, NOW, removed=True)) == len(rows)


@given(
    asked=st.booleans(),
    gap=st.sampled_from([None, "t", "other", "all"]),
    others=st.integers(0, 3),
    topic=st.sampled_from(["t", "%LMQ%t"]),
)
def test_offsets_of_a_deleted_topic_are_no_lag_where_its_absence_is_known(
    asked: bool, gap: str | None, others: int, topic: str
) -> None:
    """A topic that was not asked for, or whose bounds a broker did not tell, is not known to be gone."""
    subject = None if gap in (None, "all") else GapSubject(topic=gap)
    offsets = tuple(ConsumerOffsetState(group="g", topic=topic, queue_id=number, offset=5) for number in range(2))
    left = LagEvidence(
        origin=ORIGIN,
        name="b",
        consumer_offsets=offsets,
        queue_counts=dict.fromkeys([f"other-{number}" for number in range(others)], 4) if asked else None,
        unavailable=(Gap(part=Part.QUEUES, cause=Cause.SILENT, reason="asleep", subject=subject),) if gap else (),
    )
    gone = asked and gap not in ("all", topic) and topic == "t"
    state = LagState.NOT_READ if gap in ("all", topic) else LagState.NO_QUEUE
    assert {row.state for row in lag_rows([left], NOW)} == {LagState.REMOVED if gone else state}
    assert bool(queue_lags(left, NOW)) != gone
    assert bool(group_lags(lag_rows([left], NOW))) != gone
