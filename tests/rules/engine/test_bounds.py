"""Bounds and families that rules are judged by: below, at and above each; every kind and none; the first of several."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.model.expectation import CheckState, Expectations, GroupExpectation, Limit, TopicExpectation
from mqctl.model.finding import Finding, NotJudged, Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Part
from mqctl.model.member import GroupMembership, Subscription
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.rules.engine import audience
from mqctl.rules.engine.audience import GroupKind, TopicKind
from mqctl.rules.engine.coverage import coverage
from mqctl.rules.engine.expectations import hold
from mqctl.rules.engine.judging import Diagnosis
from mqctl.rules.engine.past_view import Rhythm
from mqctl.rules.engine.scope import within
from tests.each import each
from tests.rules.engine.test_expectations import broker, cluster, gap, topic
from tests.rules.engine.test_reach import KNOWN, OF_GROUPS, OF_NEITHER

OK, ERROR, UNKNOWN = CheckState.OK, CheckState.ERROR, CheckState.UNKNOWN
ALL_GROUPS = "clustering orderly broadcasting pop pull proxy offline"
ALL_TOPICS = "normal ordered fifo compacted lmq retry dead-letter system"


@each(
    "family, kinds",
    [
        (audience.EVERY, ALL_GROUPS),
        (audience.ONLINE, "clustering orderly broadcasting pop pull proxy"),
        (audience.SHARING, "clustering orderly"),
        (audience.PUSHED, "clustering orderly broadcasting"),
        (audience.COMMITTING, "clustering orderly pop pull proxy offline"),
        (audience.JOINED, "clustering orderly pop pull proxy"),
        (audience.EVERY_TOPIC, ALL_TOPICS),
        (audience.APPLICATION, "normal ordered fifo compacted"),
        (audience.SUBSCRIBED, "normal ordered fifo compacted lmq dead-letter system"),
        (audience.LAGGING, "normal ordered fifo compacted lmq retry dead-letter"),
        (audience.POPPED, "normal ordered fifo compacted dead-letter"),
        (audience.ORDERED, "ordered fifo"),
    ],
)
def test_families_of_groups_and_topics(family: frozenset[GroupKind] | frozenset[TopicKind], kinds: str) -> None:
    assert {str(kind) for kind in family} == set(kinds.split())


@each(
    "clusters, state",
    [
        (["C"], OK),
        (["C", "C"], OK),
        (["C", None], OK),
        (["B"], ERROR),
        (["D"], ERROR),
        (["C", "D"], ERROR),
        (["B", "C"], ERROR),
        ([None], UNKNOWN),
    ],
)
def test_all_brokers_that_tell_are_of_the_declared_cluster(clusters: list[str | None], state: CheckState) -> None:
    brokers = (broker(f"b{number}", cluster=name) for number, name in enumerate(clusters))
    (checked,) = hold(cluster(*brokers), Expectations(cluster="C"))
    assert checked.state is state


@each("least, most, count, missed", product((None, 0, 1, 3), (None, 0, 1, 3), range(5), (False, True)))
def test_members_within_bounds_and_what_a_gap_leaves_open(
    least: int | None, most: int | None, count: int, *, missed: bool
) -> None:
    """A gap hides members, so there may be more of them, and never fewer."""
    if least is most is None or (least or 0) > (most if most is not None else 9):
        return

    def good(number: int) -> bool:
        return (least or 0) <= number <= (9 if most is None else most)

    members = GroupMembership(group="G", client_ids=tuple(f"c{number}" for number in range(count)))
    gaps = (gap(Part.MEMBERS),) if missed else ()
    wanted = GroupExpectation(group="G", members_min=least, members_max=most)
    (checked,) = hold(cluster(broker("a", *gaps, memberships=(members,))), Expectations(groups=(wanted,)))
    if good(count):
        assert checked.state is OK
    else:
        assert checked.state is (UNKNOWN if missed and any(map(good, range(count, 10))) else ERROR)


@each("count, state", [(3, ERROR), (4, OK), (5, ERROR)])
def test_a_topic_has_as_many_queues_as_declared(count: int, state: CheckState) -> None:
    one = cluster(broker(topics=(topic(count),)))
    (checked,) = hold(one, Expectations(topics=(TopicExpectation(topic="T", queue_count=4),)))
    assert checked.state is state


def behind(lags: dict[str, int]) -> BrokerSnapshot:
    """A broker on which group G is so many messages behind, by topic."""
    return broker(
        queues=tuple(QueueState(topic=name, queue_id=0, min_offset=0, max_offset=99) for name in lags),
        consumer_offsets=tuple(
            ConsumerOffsetState(group="G", topic=name, queue_id=0, offset=99 - lag) for name, lag in lags.items()
        ),
        memberships=(GroupMembership(group="G", client_ids=("c",)),),
    )


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(["A", "T", "Z", "%RETRY%G"]), st.integers(0, 9), min_size=1), st.integers(0, 9))
def test_the_topic_that_is_most_behind_is_told_with_how_far(lags: dict[str, int], limit: int) -> None:
    wanted = GroupExpectation(group="G", lag_count=Limit(error=limit))
    (checked,) = hold(cluster(behind(lags)), Expectations(groups=(wanted,)))
    most = max(lags.values())
    named = (checked.values or {})["topic"]
    assert (checked.value, checked.state) == (most, ERROR if most > limit else OK)
    assert lags[named] == most
    # Of what is equal an application's topic is told of.
    assert named != "%RETRY%G" or all(lag < most for name, lag in lags.items() if name != named)


@each("letters, held", [([], 0), ([(0, 0)], 0), ([(2, 3)], 1), ([(2, 3), (0, 4)], 5)])
def test_dead_letters_are_what_lies_between_the_bounds_of_their_queues(
    letters: list[tuple[int, int]], held: int
) -> None:
    queues = tuple(
        QueueState(topic="%DLQ%G", queue_id=number, min_offset=low, max_offset=high)
        for number, (low, high) in enumerate(letters)
    )
    wanted = Expectations(groups=(GroupExpectation(group="G", dead_letter_count=Limit(error=4)),))
    (checked,) = hold(cluster(replace(behind({"T": 0}), queues=queues)), wanted)
    assert (checked.value, checked.state) == (held, ERROR if held > 4 else OK)
    for unknown in (cluster(), cluster(replace(behind({"T": 0}), unavailable=(gap(Part.QUEUES),)))):
        (checked,) = (item for item in hold(unknown, wanted) if item.check == "dead_letters")
        assert (checked.value, checked.state) == (None, UNKNOWN)


@each("weekdays, is_of_weekday", [(0, False), (1, False), (2, False), (3, True), (4, True), (9, True)])
def test_an_hour_is_of_its_weekday_from_three_on(weekdays: int, *, is_of_weekday: bool) -> None:
    rhythm = Rhythm([5] * 28, [9] * weekdays)
    assert rhythm.by_weekday is is_of_weekday
    if weekdays:
        assert [each.usual for each in rhythm.expectations] == ([9] if is_of_weekday else [9, 5])


@each("kind", SubjectKind)
def test_of_other_groups_only_producers_concern_the_users_of_a_topic(kind: SubjectKind) -> None:
    subject = Subject(kind=kind, group="other")
    diagnosis = Diagnosis(
        findings=(Finding(code="MQ401", severity=Severity.WARNING, subject=subject),), not_judged=(), rules_run=()
    )
    left = within(diagnosis, users={"G"}).findings
    assert bool(left) is (kind is SubjectKind.PRODUCER_GROUP)


def open_for_g(*whys: tuple[str, Why, int]) -> Diagnosis:
    """Rules that were not judged about group G, each with its code, why, and how many gaps there are besides."""
    subject = Subject(kind=SubjectKind.GROUP, group="G")
    left = tuple(
        NotJudged(code=code, subject=subject, why=why, gaps=(gap(Part.QUEUES),) * (more + 1))
        for code, why, more in whys
    )
    return Diagnosis(findings=(), not_judged=left, rules_run=(OF_GROUPS, OF_NEITHER))


def test_of_several_causes_the_first_is_told_and_all_rules_are_counted() -> None:
    first, second = Why(Reason.GAP, {"reason": "one"}), Why(Reason.GAP, {"reason": "two"})
    for causes, count in (
        ([(OF_GROUPS, first, 3)], 1),
        ([(OF_GROUPS, first, 3), (OF_GROUPS, second, 0)], 1),
        ([(OF_GROUPS, first, 3), (OF_NEITHER, second, 0)], 2),
    ):
        (row,) = coverage(open_for_g(*causes), KNOWN, groups=["G"])
        assert (row.judged, row.why, row.more_count, row.rules) == ("partly", first, 3, count)


def test_members_of_a_group_are_those_of_all_brokers_once() -> None:
    one = GroupMembership(group="G", client_ids=("c", "d"), subscriptions=(Subscription(topic="T"),))
    brokers = (broker("a", memberships=(one,)), broker("b", memberships=(replace(one, client_ids=("d", "e")),)))
    wanted = GroupExpectation(group="G", members_min=3, members_max=3)
    (checked,) = hold(cluster(*brokers), Expectations(groups=(wanted,)))
    assert (checked.state, checked.value) == (OK, 3)
