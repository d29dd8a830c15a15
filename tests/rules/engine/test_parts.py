"""What many rules share, by hand: expectations of hours, weighed backlogs, causes, accepted states, releases."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from mqctl.allocation.group_view import GroupView
from mqctl.lag.advice import BacklogAdvice
from mqctl.lag.bound import Bound
from mqctl.lag.rates import Drain, Movement, Outlook
from mqctl.model.finding import Confidence, Finding, NotJudged, Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.lag import group_lags, queue_lags
from mqctl.model.member import GroupMembership, HeldQueue, RunningInfo, Subscription
from mqctl.model.origin import OriginKind
from mqctl.model.past import Hours, RecordedPast, RecordingGap, RecordingGapKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState, TagSample
from mqctl.model.release import Release, release_of
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.spans import DAY_MS, HOUR_MS
from mqctl.model.thresholds import Settings
from mqctl.rules.engine.causes import cause_of, knows_members, numbers_of, with_causes
from mqctl.rules.engine.coverage import with_standing
from mqctl.rules.engine.filtered_backlog import WeighedBacklog, weigh
from mqctl.rules.engine.judging import Diagnosis
from mqctl.rules.engine.known import KnownState, set_aside
from mqctl.rules.engine.past_view import (
    Expectation,
    Rhythm,
    days_back,
    expectation,
    known,
    last_whole_hour,
    rhythm_before,
    too_short,
)
from mqctl.rules.engine.playbooks import PLAYBOOKS, arguments
from mqctl.rules.engine.rule import Case, ClusterCase
from mqctl.rules.engine.tag_skipping import Skipped, skipped_by_tags
from mqctl.rules.engine.unknown import of_broker
from tests.each import each
from tests.lag.cases import flow
from tests.rules.live_faults import after, standing_at
from tests.rules.live_snapshots import LIVE

NOW = 1_795_218_000_000


@each(
    "values, usual, spread",
    [
        # The least spread is a tenth, or the root where that is more.
        ([100], 100, 10.0),
        ([100] * 5, 100, 10.0),
        ([10_000], 10_000, 1_000.0),
        ([4, 4], 4, 2.0),
        ([0, 0, 0], 0, 0.0),
        # The median of the deviations by 1.4826.
        ([50, 100, 150], 100, 74.13),
        ([0, 100, 100, 100, 999], 100, 10.0),
        ([90, 110], 100, 14.826),
    ],
)
def test_what_an_hour_should_have(values: list[int], usual: float, spread: float) -> None:
    made = expectation(values)
    assert made.usual == usual
    assert made.spread == pytest.approx(spread)


@each(
    "usual, spread, below, not_below, above, not_above",
    [
        (100, 10, 49, 50, 201, 200),
        (100, 20, 19, 20, 201, 200),
        (100, 40, None, 0, 261, 260),
        (0, 0, None, 0, 1, 0),
    ],
)
def test_far_from_usual_is_four_spreads_and_a_factor_of_two(
    usual: float, spread: float, below: int | None, not_below: int, above: int, not_above: int
) -> None:
    made = Expectation(usual, spread)
    assert (below is None or made.is_below(below), made.is_below(not_below)) == (True, False)
    assert (made.is_above(above), made.is_above(not_above)) == (True, False)


def test_far_is_both() -> None:
    """Beyond four spreads and within the factor, and the other way round."""
    narrow, wide = Expectation(100, 10), Expectation(100, 40)
    assert not (narrow.is_above(150) or narrow.is_below(55))
    assert not (wide.is_above(250) or wide.is_below(45))


@each(
    "days, weekdays, is_known, by_weekday, count",
    [
        (7, 1, True, False, 2),
        (6, 1, False, False, 2),
        (7, 0, False, False, None),
        (7, 2, True, False, 2),
        (7, 3, True, True, 1),
    ],
)
def test_what_an_hour_is_held_against(
    days: int, weekdays: int, is_known: bool, by_weekday: bool, count: int | None
) -> None:
    rhythm = Rhythm([5] * days, [9] * weekdays)
    assert (rhythm.is_known, rhythm.by_weekday) == (is_known, by_weekday)
    if count is not None:
        assert [item.usual for item in rhythm.expectations] == [9, 5][:count]


def test_the_same_hour_of_former_days_and_weeks() -> None:
    hours = tuple(range(24 * 40))
    rhythm = rhythm_before(hours, 24 * 30 + 5)
    assert rhythm.days == [24 * day + 5 for day in range(29, 1, -1)]
    assert rhythm.weekdays == [24 * day + 5 for day in (23, 16, 9, 2)]
    old = rhythm_before(tuple(range(24 * 90)), 24 * 80)
    assert (len(old.days), old.days[-1], old.weekdays) == (28, 24 * 52, [24 * day for day in (73, 66, 59, 52)])
    young = rhythm_before(hours, 24 * 8)
    assert (young.days, young.weekdays) == ([24 * day for day in range(7, -1, -1)], [24])
    assert rhythm_before(hours, 24) == Rhythm([0], [])
    assert rhythm_before(hours, 23) == Rhythm([], [])
    holes: Hours = tuple(None if hour == 24 else hour for hour in range(24 * 3))
    assert rhythm_before(holes, 24 * 2) == Rhythm([0], [])


@each(
    "count, width, stretches",
    [
        (0, 2, []),
        (1, 2, []),
        (2, 2, [(0, 1)]),
        (5, 2, [(3, 4), (1, 2)]),
        (6, 2, [(4, 5), (2, 3), (0, 1)]),
        (3, 3, [(0, 1, 2)]),
    ],
)
def test_whole_stretches_the_newest_first(count: int, width: int, stretches: list[tuple[int, ...]]) -> None:
    assert list(days_back(tuple(range(count)), width)) == stretches
    assert known((None, 0, 3, None)) == [0, 3]


def recorded(span_ms: int, gap_ms: int = 0) -> RecordedPast:
    until_ms = 100 * DAY_MS
    gaps: tuple[RecordingGap, ...] = ()
    if gap_ms:
        start_ms = until_ms - DAY_MS // 2
        gaps = (RecordingGap(since_ms=start_ms, until_ms=start_ms + gap_ms, kind=RecordingGapKind.STOPPED),)
    return RecordedPast(recording="r", begin_ms=until_ms - span_ms, until_ms=until_ms, gaps=gaps)


@each(
    "past, reason, values",
    [
        (None, None, {}),
        (recorded(DAY_MS), None, {}),
        (recorded(DAY_MS - 1), Reason.PAST_SHORT, {"needed_ms": DAY_MS, "recorded_ms": DAY_MS - 1}),
        (recorded(DAY_MS, DAY_MS // 10), None, {}),
        (recorded(DAY_MS, DAY_MS // 10 + 1), Reason.PAST_HOLES, {"needed_ms": DAY_MS, "missing_ms": DAY_MS // 10 + 1}),
        (recorded(2 * DAY_MS, DAY_MS // 5), Reason.PAST_HOLES, {"needed_ms": DAY_MS, "missing_ms": DAY_MS // 5}),
    ],
)
def test_a_past_that_is_too_short(past: RecordedPast | None, reason: Reason | None, values: dict[str, int]) -> None:
    case = ClusterCase(replace(LIVE, past=past), NOW, Settings())
    unknown = list(too_short(case, DAY_MS))
    assert [item.why.reason for item in unknown] == ([reason] if reason else [])
    assert [item.why.values for item in unknown] == ([values] if reason else [])


@each("minutes, index", [(0, -1), (59, -1), (60, 0), (61, 0), (119, 0), (120, 1)])
def test_the_last_hour_that_had_ended(minutes: int, index: int) -> None:
    past = RecordedPast(recording="r", begin_ms=0, until_ms=9 * HOUR_MS + minutes * 60_000, first_hour=9)
    assert last_whole_hour(past) == index
    assert last_whole_hour(replace(past, first_hour=3)) == index + 6


def weighed(
    samples: dict[int, TagSample],
    *,
    tags: tuple[str, ...] = ("a",),
    kind: str = "TAG",
    offsets: tuple[int | None, int | None] = (60, None),
) -> WeighedBacklog | None:
    """Two queues that end at 100, and a group that stands at these offsets."""
    broker = BrokerSnapshot(
        name="b",
        queues=tuple(QueueState(topic="T", queue_id=number, min_offset=0, max_offset=100) for number in range(2)),
        consumer_offsets=tuple(
            ConsumerOffsetState(group="G", topic="T", queue_id=number, offset=at)
            for number, at in enumerate(offsets)
            if at is not None
        ),
        memberships=(
            GroupMembership(group="H", subscriptions=(Subscription(topic="T", tags=("z",)),)),
            GroupMembership(group="G", subscriptions=(Subscription(topic="T", tags=tags, expression_type=kind),)),
        ),
    )
    case = Case(
        broker=broker, now_ms=NOW, settings=Settings(), tag_samples={("T", n): item for n, item in samples.items()}
    )
    (total,) = group_lags(queue_lags(broker, NOW))
    return weigh(case, total)


def sample(first: int, number: int = 0, **counts: int) -> TagSample:
    return TagSample(queue=MessageQueue("T", "b", number), first_offset=first, counts=counts)


@each(
    "samples, options, expected",
    [
        ({0: sample(60, a=10, b=30)}, {}, WeighedBacklog(10, 40, False)),
        ({0: sample(80, a=1, b=3)}, {}, WeighedBacklog(10, 4, False)),
        ({0: sample(60, b=40)}, {}, WeighedBacklog(0, 40, True)),
        ({0: sample(61, b=39)}, {}, WeighedBacklog(0, 39, False)),
        ({0: sample(59, b=40)}, {}, WeighedBacklog(0, 40, False)),
        ({0: sample(50, b=50)}, {}, WeighedBacklog(0, 50, True)),
        ({0: sample(60, **{"#97": 20, "b": 20})}, {}, WeighedBacklog(20, 40, False)),
        ({0: sample(60, a=10, c=10, b=20)}, {"tags": ("a", "c")}, WeighedBacklog(20, 40, False)),
        ({}, {}, None),
        ({0: sample(60)}, {}, None),
        ({0: sample(60, a=1)}, {"tags": ()}, None),
        ({0: sample(60, a=1)}, {"kind": "SQL92"}, None),
        ({}, {"offsets": (100, 100)}, None),
        ({0: sample(60, a=1)}, {"offsets": (60, 90)}, None),
        (
            {0: sample(60, a=10, b=30), 1: sample(90, 1, a=10)},
            {"offsets": (60, 90)},
            WeighedBacklog(20, 50, False),
        ),
        ({0: sample(60, b=40), 1: sample(95, 1, b=5)}, {"offsets": (60, 90)}, WeighedBacklog(0, 45, False)),
        ({0: sample(60, a=2, b=1)}, {}, WeighedBacklog(27, 3, False)),
        ({0: sample(60, a=1)}, {"offsets": (60, 101)}, WeighedBacklog(40, 1, False)),
    ],
)
def test_how_much_of_a_backlog_is_wanted(
    samples: dict[int, TagSample], options: dict[str, object], expected: WeighedBacklog | None
) -> None:
    assert weighed(samples, **options) == expected  # type: ignore[arg-type]


def advice(bound: Bound, **changes: object) -> BacklogAdvice:
    usual = BacklogAdvice(
        group="G",
        topic="T",
        member_count=2,
        queue_count=4,
        lag_count=1,
        waiting_count=1,
        lag_ms=None,
        in_tps=None,
        consumed_tps=None,
        out_tps=None,
        drain=Drain(Outlook.UNKNOWN, None),
        expires_in_ms=None,
        loses=None,
        bound=bound,
        orderly=False,
        thread_count=None,
        parallelism=None,
        consume_ms=5.0,
        lane_tps=None,
        target_ms=1,
        confidence=Confidence.HIGH,
        remedies=(),
        queues=(),
        is_busy=True,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


@each(
    "given_advice, members_known, cause",
    [
        (advice(Bound.NOBODY), True, "orphans"),
        (advice(Bound.NOBODY), False, "orphans"),
        (advice(Bound.NOBODY, member_count=0), True, "offline"),
        (advice(Bound.NOBODY, member_count=0), False, None),
        (advice(Bound.NONE), True, None),
        (advice(Bound.UNKNOWN), True, None),
        (advice(Bound.LISTENER, is_stuck=True, is_busy=False), True, "stuck"),
        (advice(Bound.LISTENER, is_busy=False), True, "paused"),
        (advice(Bound.LISTENER, is_busy=None), True, "paused"),
        (advice(Bound.LISTENER, consume_ms=None), True, None),
        (advice(Bound.LISTENER), False, "listener"),
        (advice(Bound.THREADS, is_stuck=True, consume_ms=None), True, "threads"),
        (advice(Bound.HOT_QUEUE, is_busy=False), True, "hot_queue"),
        (advice(Bound.PULL), True, "pull"),
    ],
)
def test_the_cause_of_a_backlog(given_advice: BacklogAdvice, members_known: bool, cause: str | None) -> None:
    assert cause_of(given_advice, members_known=members_known) == cause


def test_the_numbers_of_a_cause_are_round() -> None:
    numbers = {"member_count": 2, "thread_count": 8, "consume_ms": 3, "consumed_tps": 1.2}
    assert numbers_of(advice(Bound.THREADS, thread_count=8, consume_ms=2.6, consumed_tps=1.24)) == numbers
    nothing = numbers_of(advice(Bound.THREADS, consume_ms=None))
    assert nothing == {"member_count": 2, "thread_count": None, "consume_ms": None, "consumed_tps": None}


def finding(code: str, group: str = "G", **changes: object) -> Finding:
    usual = Finding(
        code=code,
        severity=Severity.WARNING,
        subject=Subject(kind=SubjectKind.GROUP, group=group),
        confidence=Confidence.HIGH,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


def test_states_that_are_accepted_until_a_day() -> None:
    today = date(2026, 5, 4)
    first, second = finding("MQ401"), finding("MQ610", "H")
    codes = KnownState(code="mq4*", reason="r", until=today)
    late = KnownState(code="MQ6*", reason="r", until=date(2026, 5, 3))
    other = KnownState(code="MQ610", subject=f"{second.subject}", reason="r", until=date(2027, 1, 1))
    again = KnownState(code="MQ610", reason="r", until=date(2027, 1, 1))
    none = KnownState(code="MQ401", subject="nobody", reason="r", until=today)
    diagnosis = Diagnosis(findings=(first, second), not_judged=(), rules_run=("MQ401",))
    judged = set_aside(diagnosis, (codes, late, none), today)
    assert judged.diagnosis.findings == (second,)
    assert (judged.silenced, judged.expired, judged.unused) == (((first, codes),), (late,), (none,))
    judged = set_aside(diagnosis, (other, again), today)
    assert (judged.silenced, judged.unused, judged.diagnosis.findings) == (((second, other),), (again,), (first,))


@each(
    "filtered, dropped, variant",
    [(0, 0, "spared"), (1, 0, "filtered"), (0, 1, "dropped"), (1, 1, "both")],
)
def test_who_skips(filtered: int, dropped: int, variant: str) -> None:
    assert Skipped(filtered, dropped, {}).variant == variant


@each(
    "version, release",
    [
        ("V4_9_8", (4, 9, 8)),
        ("V5_0_0_SNAPSHOT", (5, 0, 0)),
        ("V3_1_8_1", (3, 1, 8)),
        ("V10_0_12", (10, 0, 12)),
        ("v4_9_8", None),
        ("V4_9", None),
        ("4.9.8", None),
        ("V4_9_8_", None),
        ("V12345_0_0", None),
        ("", None),
    ],
)
def test_releases_that_brokers_name(version: str, release: Release | None) -> None:
    assert release_of(version) == release


@each(
    "version, config, reason",
    [
        (None, {}, None),
        ("V5_3_3", {}, None),
        ("V5_3_2", {}, None),
        ("V5_3_4", {}, Reason.NEWER_RELEASE),
        ("V6_0_0", {}, Reason.NEWER_RELEASE),
        ("next", {}, Reason.ODD_RELEASE),
        ("V5_3_3", {"storeType": "DEFAULT", "brokerRole": "SLAVE", "flushDiskType": "ASYNC_FLUSH"}, None),
        ("V5_3_3", {"storeType": "other"}, Reason.ODD_SETTING),
        (None, {"brokerRole": "king"}, Reason.ODD_SETTING),
        (None, {"anything": "else"}, None),
    ],
)
def test_brokers_that_a_rule_was_tried_on(version: str | None, config: dict[str, str], reason: Reason | None) -> None:
    why = of_broker(BrokerSnapshot(name="b", version=version, config=config), (5, 3, 3))
    assert (why.reason if why else None) == reason
    if why is not None and reason is not Reason.ODD_SETTING:
        assert why.values["newest"] == "5.3.3"


def test_what_a_finding_tells_its_playbook() -> None:
    of_group = finding("MQ401", playbook="backlog")
    assert arguments(of_group, None) == {"group": "G"}
    named = replace(of_group, subject=Subject(kind=SubjectKind.GROUP, group="G", topic="T"))
    assert arguments(named, "/s") == {"group": "G", "topic": "T"}
    nobody = finding("MQ401", playbook="room-lost", subject=Subject(kind=SubjectKind.CLUSTER), params={"topic": "T"})
    assert arguments(nobody, None) == {"group": None, "topic": "T"}
    stored = finding("MQ401", playbook="damaged-store", params={"store": "elsewhere"})
    assert (arguments(stored, "/s"), arguments(stored, None)) == ({"store": "/s"}, {"store": None})
    assert arguments(finding("MQ401", playbook="promise-drill"), "/s") == {}
    assert all(not set(required) & set(optional) for required, optional in PLAYBOOKS.values())


def late() -> ClusterSnapshot:
    """Nobody online, and messages of Pay that wait at one broker."""
    alone = replace(LIVE, running=(), brokers=tuple(replace(item, memberships=()) for item in LIVE.brokers))
    behind = standing_at(10, 1_000).brokers[0]
    first, second = alone.brokers
    changed = replace(first, queues=behind.queues, consumer_offsets=behind.consumer_offsets)
    return replace(alone, brokers=(changed, second))


def behind(code: str = "MQ401", group: str = "G") -> Finding:
    return finding(code, subject=Subject(kind=SubjectKind.GROUP, group=group, topic="Pay"))


def test_causes_are_added_to_what_is_behind() -> None:
    others = [behind("MQ403"), behind(group="H"), finding("MQ401", "G")]
    told_of, *rest = with_causes([behind(), *others], late(), Settings())
    assert (told_of.params, rest) == ({"cause": "offline"}, others)
    assert [(item.name, item.value) for item in told_of.evidence] == [("member_count", 0)]
    store = replace(late(), origin=replace(LIVE.origin, kind=OriginKind.STORE))
    assert with_causes([behind()], store, Settings()) == [behind()]
    assert with_causes([behind("MQ403")], late(), Settings()) == [behind("MQ403")]


def test_a_group_that_settles_has_no_cause_yet() -> None:
    moved = standing_at(10, 1_000)
    then = standing_at(0, 1_000)
    for age_ms, cause in ((130_000, True), (1_000, False)):
        started = {"PROP_CONSUMER_START_TIMESTAMP": str(moved.origin.observed_at_ms - age_ms)}
        running = tuple(replace(item, properties={**item.properties, **started}) for item in moved.running)
        (item,) = with_causes([behind()], after(replace(moved, running=running), then), Settings())
        assert ("cause" in item.params) is cause, age_ms


def test_members_are_known_where_no_broker_kept_them_back() -> None:
    first, second = LIVE.brokers
    gaps = {part: Gap(part=part, cause=Cause.SILENT, reason="x") for part in (Part.MEMBERS, Part.QUEUES)}
    assert knows_members(LIVE)
    assert not knows_members(replace(LIVE, brokers=()))
    for part, known_all in ((Part.MEMBERS, False), (Part.QUEUES, True)):
        assert knows_members(replace(LIVE, unavailable=(gaps[part],))) is known_all
        assert knows_members(replace(LIVE, brokers=(first, replace(second, unavailable=(gaps[part],))))) is known_all


@each(
    "movement, lag_ms, reason",
    [
        (Movement.STALLED, None, Reason.STANDING),
        (Movement.UNKNOWN, 10_000, Reason.SHORT_WINDOW),
        (Movement.UNKNOWN, 9_999, None),
        (Movement.UNKNOWN, None, None),
        (Movement.STOPPED, 10_000, None),
        (Movement.OK, 10_000, None),
    ],
)
def test_groups_that_stand_and_of_which_nobody_says_why(
    movement: Movement, lag_ms: int | None, reason: Reason | None
) -> None:
    standing = advice(Bound.UNKNOWN, queues=(flow(movement=movement),), lag_ms=lag_ms)
    usual = Diagnosis(findings=(), not_judged=(), rules_run=())
    added = with_standing(usual, [standing]).not_judged
    assert [(item.code, item.subject.group, item.subject.topic, item.why.reason) for item in added] == (
        [("MQ410", "G", "T", reason)] if reason else []
    )
    named = NotJudged(code="MQ410", subject=Subject(kind=SubjectKind.GROUP, group="G"), why=Why(Reason.GAP))
    assert with_standing(replace(usual, findings=(finding("MQ999"),)), [standing]).not_judged == ()
    assert with_standing(replace(usual, not_judged=(named,)), [standing]).not_judged == (named,)
    elsewhere = replace(named, code="MQ401")
    assert with_standing(replace(usual, not_judged=(elsewhere,)), [standing]).not_judged == (elsewhere, *added)


def member_of(client: str, queue_id: int, *tags: str) -> RunningInfo:
    held = HeldQueue(queue=MessageQueue("T", "b", queue_id), commit_offset=0)
    return RunningInfo(group="G", client_id=client, subscriptions=(Subscription(topic="T", tags=tags),), queues=(held,))


@each(
    "effective, filtered, dropped, names",
    [
        # Brokers hand out x: y is filtered for all, and b drops the x of its queue.
        (("x",), 15, 3, {"queues": "b/0, b/1, b/2", "filtered": "y", "dropped": "b: x"}),
        (("y",), 9, 5, {"queues": "b/0, b/1, b/2", "filtered": "x", "dropped": "a: y"}),
        ((), 0, 8, {"queues": "b/0, b/1, b/2", "filtered": None, "dropped": "a: y; b: x"}),
        (None, 0, 8, {"queues": "b/0, b/1, b/2", "filtered": None, "dropped": "a: y; b: x"}),
    ],
)
def test_what_brokers_filter_and_owners_drop(
    effective: tuple[str, ...] | None, filtered: int, dropped: int, names: dict[str, str | None]
) -> None:
    """a owns queue 0 and wants x, b owns queue 1 and wants y, and nobody is known to own queue 2."""
    wanted = () if effective is None else (Subscription(topic="T", tags=effective),)
    view = GroupView(
        group="G",
        memberships={"b": GroupMembership(group="G", client_ids=("a", "b"), subscriptions=wanted)},
        running={"a": member_of("a", 0, "x"), "b": member_of("b", 1, "y")},
    )
    samples = [sample(0, number, x=3, y=5, z=7) for number in range(3)]
    skipped = skipped_by_tags(view, "T", samples)
    assert (skipped.filtered_count, skipped.dropped_count) == (filtered, dropped)
    assert skipped.names == names
    same = replace(view, running={"a": member_of("a", 0, "x"), "b": member_of("b", 1, "x")})
    spared = skipped_by_tags(replace(same, memberships={}), "T", samples[:2])
    assert (spared.variant, spared.names) == ("spared", {"queues": None, "filtered": None, "dropped": None})
