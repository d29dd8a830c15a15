"""Bounds of queues that were asked for in vain add no finding: to any rule, in any world, of any queue or topic."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import isnan

from hypothesis import given
from hypothesis import strategies as st

from mqctl.commands.export.metrics import families
from mqctl.model.expectation import CheckState, Expectations, GroupExpectation, Limit
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lag import LagState, group_lags, lag_rows
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.rules import diagnose
from mqctl.rules.engine.expectations import hold
from mqctl.snapshot.saved_lag import saved_lag
from tests.each import each
from tests.rules.live_snapshots import LIVE
from tests.rules.snapshots import HEALTHY, Fault, cluster
from tests.rules.test_numbers import ALL_FAULTS, LIVE_FAULTS
from tests.rules.twins import TWINS

CAUSES = st.sampled_from([Cause.DENIED, Cause.REFUSED, Cause.TIMED_OUT, Cause.SILENT, Cause.UNREADABLE])


def gap(subject: GapSubject | None, cause: Cause = Cause.DENIED) -> Gap:
    return Gap(part=Part.QUEUES, cause=cause, reason="said no", subject=subject)


def without(broker: BrokerSnapshot, gaps: Collection[Gap]) -> BrokerSnapshot:
    """The broker as it is seen where bounds of some queues were refused."""
    kept = (item for item in broker.queues if not any(gap.covers_queue(item.topic, item.queue_id) for gap in gaps))
    return replace(broker, queues=tuple(kept), unavailable=(*broker.unavailable, *gaps))


def refused(snapshot: ClusterSnapshot, gaps: Collection[Gap]) -> ClusterSnapshot:
    return replace(snapshot, brokers=tuple(without(broker, gaps) for broker in snapshot.brokers))


def topics_of(snapshot: ClusterSnapshot) -> list[str]:
    brokers = snapshot.brokers
    names = {item.topic for broker in brokers for item in broker.queues}
    return sorted(names | {item.topic for broker in brokers for item in broker.consumer_offsets})


def said(snapshot: ClusterSnapshot, **options: object) -> set[tuple[str, object]]:
    return {(item.code, item.subject) for item in diagnose(snapshot, **options).findings}  # type: ignore[arg-type]


def views(snapshot: ClusterSnapshot) -> list[ClusterSnapshot]:
    """The world with each of its topics refused, by name and by number: now, earlier, and both."""
    seen = []
    for topic in topics_of(snapshot):
        for subject in (GapSubject(topic=topic), GapSubject(topic=topic, queue_id=0)):
            gaps = [gap(subject)]
            seen.append(refused(snapshot, gaps))
            if snapshot.earlier is not None:
                earlier = refused(snapshot.earlier, gaps)
                seen += [replace(snapshot, earlier=earlier), replace(seen[-1], earlier=earlier)]
    return seen


@each("code, variant, snapshot, numbers", LIVE_FAULTS)
def test_no_refused_topic_adds_a_finding_to_a_fault_of_a_cluster(
    code: str, variant: str | None, snapshot: ClusterSnapshot, numbers: object
) -> None:
    whole = said(snapshot)
    for view in views(snapshot):
        assert said(view) <= whole


@each("fault", ALL_FAULTS)
def test_no_unread_topic_adds_a_finding_to_a_fault_of_a_store(fault: Fault) -> None:
    snapshot = cluster(fault.broker)
    whole = said(snapshot, settings=fault.settings)
    for view in views(snapshot):
        assert said(view, settings=fault.settings) <= whole


@each("code", TWINS)
def test_no_refused_topic_turns_a_false_alarm_into_a_finding(code: str) -> None:
    twin = TWINS[code]
    snapshot = cluster(twin.state)
    whole = said(snapshot, settings=twin.settings)
    for view in views(snapshot):
        assert said(view, settings=twin.settings) <= whole


@given(data=st.data(), cause=CAUSES)
def test_refused_queues_are_not_read_and_nothing_is_said_of_them(data: st.DataObject, cause: Cause) -> None:
    world = data.draw(st.sampled_from([LIVE, cluster(HEALTHY)]))
    topic = data.draw(st.sampled_from(topics_of(world)))
    number = data.draw(st.sampled_from([None, 0, 1]))
    gaps = [gap(GapSubject(topic=topic, queue_id=number), cause)]
    view = refused(world, gaps)
    assert said(view) == set()
    rows = [row for row in lag_rows(saved_lag(view), 0) if row.topic == topic]
    states = {(row.queue_id, row.state is LagState.NOT_READ) for row in rows}
    assert states == {(row.queue_id, number in (None, row.queue_id)) for row in rows}
    for total in group_lags(rows):
        unread = [row for row in rows if row.group == total.group and row.state is LagState.NOT_READ]
        assert total.not_read_count == len(unread)
        if len(unread) == total.queue_count:
            assert (total.lag_count, total.lag_ms) == (None, None)


@given(broker=st.integers(0, 1), number=st.sampled_from([None, 0, 1]), cause=CAUSES)
def test_what_refused_queues_hold_is_neither_checked_nor_exported(
    broker: int, number: int | None, cause: Cause
) -> None:
    gaps = [gap(GapSubject(topic=topic, queue_id=number), cause) for topic in ("Pay", "%DLQ%G")]
    brokers = list(LIVE.brokers)
    brokers[broker] = without(brokers[broker], gaps)
    wanted = GroupExpectation(group="G", lag_count=Limit(0), lag_ms=Limit(0), dead_letter_count=Limit(0))
    states = [
        {item.check: item.state for item in hold(world, Expectations(groups=(wanted,)))}
        for world in (LIVE, replace(LIVE, brokers=tuple(brokers)))
    ]
    assert states[0] == dict.fromkeys(("lag", "lag_time", "dead_letters"), CheckState.OK)
    assert states[1] == dict.fromkeys(states[0], CheckState.UNKNOWN)
    for world, known in ((LIVE, True), (replace(LIVE, brokers=tuple(brokers)), False)):
        (value,) = (
            value
            for family in families(world)
            for labels, value in family.samples
            if family.name == "mqctl_group_lag_messages" and labels[1:] == ("G", "Pay")
        )
        assert isnan(value) is not known
