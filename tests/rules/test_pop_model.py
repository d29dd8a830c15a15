"""What is popped is POP, whatever mode brokers have set: by records, by proxies, by a group's setting."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mqctl.allocation.group_view import group_views
from mqctl.lag.advice import backlog_advice
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.expectation import CheckState, GroupExpectation, Limit
from mqctl.model.gap import Cause, Gap, Part
from mqctl.model.member import Subscription
from mqctl.model.pop_share import PopShare
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import Settings, diagnose
from mqctl.rules.engine.audience import GroupKind, kind_of
from mqctl.rules.engine.expected_groups import hold_groups
from tests.rules.group_faults import popping
from tests.rules.live_faults import after
from tests.rules.live_snapshots import LIVE, MINUTE, NOW

_NAMES = st.text("abcxyz-", min_size=1, max_size=8)


def _renamed(group: str, topic: str, clients: tuple[str, ...]) -> ClusterSnapshot:
    """The healthy cluster with other names; each member holds the queues of a broker."""
    brokers = []
    for broker in LIVE.brokers:
        (entry,) = broker.memberships
        wanted = (Subscription(topic=topic), Subscription(topic=f"%RETRY%{group}"))
        brokers.append(
            replace(
                broker,
                groups=(SubscriptionGroupConfig(name=group),),
                queues=tuple(replace(item, topic=topic) for item in broker.queues),
                consumer_offsets=tuple(replace(item, group=group, topic=topic) for item in broker.consumer_offsets),
                memberships=(replace(entry, group=group, client_ids=clients, members=(), subscriptions=wanted),),
            )
        )
    running = tuple(
        replace(
            info,
            group=group,
            client_id=client,
            subscriptions=(Subscription(topic=topic), Subscription(topic=f"%RETRY%{group}")),
            queues=tuple(replace(held, queue=replace(held.queue, topic=topic)) for held in info.queues),
        )
        for info, client in zip(LIVE.running, clients, strict=True)
    )
    return replace(LIVE, brokers=tuple(brokers), running=running)


def _arriving(world: ClusterSnapshot, count: int) -> ClusterSnapshot:
    brokers = (
        replace(broker, queues=tuple(replace(item, max_offset=item.max_offset + count) for item in broker.queues))
        for broker in world.brokers
    )
    return replace(world, brokers=tuple(brokers))


@given(
    group=_NAMES,
    topic=_NAMES,
    by=st.sampled_from(["nothing", "records", "ordered", "proxy"]),
    holds=st.booleans(),
    arrived=st.integers(1, 5_000),
    back_ms=st.none() | st.integers(1, 40 * MINUTE),
)
def test_a_queue_of_what_is_popped_has_no_owner_to_look_for(
    group: str, topic: str, by: str, holds: bool, arrived: int, back_ms: int | None
) -> None:
    clients = ("192.0.2.1@7@1@a9x", "192.0.2.2@8@1@b0y") if by == "proxy" else ("192.0.2.1@7#1", "192.0.2.2@8#1")
    world = _renamed(group, topic, clients)
    first, *others = world.brokers
    if by == "records":
        share = PopShare(
            group=group,
            topic=topic,
            mode=None,
            ready_count=arrived,
            invisible_count=6,
            due_count=0,
            retry_count=0,
            given_up_count=0,
            blocked_queue_count=None,
            next_visible_ms=() if back_ms is None else (NOW + back_ms,),
        )
        first = replace(first, pop=(share,))
    if by == "ordered":
        first = replace(first, groups=(SubscriptionGroupConfig(name=group, consume_message_orderly=True),))
    world = replace(world, brokers=(first, *others))
    if not holds:
        world = replace(world, running=tuple(replace(info, queues=()) for info in world.running))
    popped = by != "nothing" and not holds
    (view,) = group_views(world)
    assert view.pops == popped
    if by != "proxy":
        assert kind_of(view) is (GroupKind.POP if popped else GroupKind.CLUSTERING)
    later = after(_arriving(world, arrived), world)
    variants = {item.variant for item in diagnose(later, only=("MQ410",)).findings}
    shown = by == "records" and back_ms is not None
    assert variants == ({"held" if shown else "popped"} if popped else {None})
    modes = {advice.consume_mode for advice in backlog_advice(later, Settings())}
    assert ("POP" in modes) == popped


@given(
    mode=st.sampled_from([None, "POP", "PULL"]),
    counts=st.tuples(*[st.integers(0, 50)] * 4),
    behind=st.integers(0, 40),
    most=st.integers(0, 200),
)
def test_a_declared_lag_counts_what_was_given_out_and_not_acknowledged(
    mode: str | None, counts: tuple[int, int, int, int], behind: int, most: int
) -> None:
    """The offset of a group that pops says what it got. At the other broker it pulls, and its offset says the rest."""
    ready, invisible, due, retry = counts
    numbers = {"ready_count": ready, "invisible_count": invisible, "due_count": due, "retry_count": retry}
    popped = popping(mode=mode, **numbers)  # type: ignore[arg-type]
    first, second = popped.brokers
    stands = tuple(replace(item, offset=1_000) for item in first.consumer_offsets)
    pulls = tuple(
        replace(item, offset=1_000 - behind if item.topic == "Pay" else item.offset) for item in second.consumer_offsets
    )
    world = replace(popped, brokers=(replace(first, consumer_offsets=stands), replace(second, consumer_offsets=pulls)))
    (result,) = hold_groups(world, [GroupExpectation(group="G", lag_count=Limit(error=most))])
    of_pops = mode != "PULL" or invisible or due or retry
    waits = behind * sum(item.topic == "Pay" for item in pulls) + (sum(counts) if of_pops else 0)
    assert result.state is (CheckState.ERROR if waits > most else CheckState.OK), (waits, result)


@given(pops=st.booleans(), gap=st.booleans(), behind=st.integers(0, 40), most=st.integers(0, 200))
def test_a_declared_lag_is_not_known_where_a_broker_did_not_tell_what_is_popped(
    pops: bool, gap: bool, behind: int, most: int
) -> None:
    """That the offsets of a group that pops are at the end is no all-clear; to one that pulls the gap is nothing."""
    running = tuple(replace(info, pops=True) for info in LIVE.running) if pops else LIVE.running
    missing = (Gap(part=Part.POP, cause=Cause.TIMED_OUT, reason="asleep"),) if gap else ()
    brokers = tuple(
        replace(
            broker,
            consumer_offsets=tuple(replace(item, offset=1_000 - behind) for item in broker.consumer_offsets),
            unavailable=missing,
        )
        for broker in LIVE.brokers
    )
    world = replace(LIVE, brokers=brokers, running=running)
    (result,) = hold_groups(world, [GroupExpectation(group="G", lag_count=Limit(error=most))])
    enough = CheckState.UNKNOWN if pops and gap else CheckState.OK
    assert result.state is (CheckState.ERROR if 4 * behind > most else enough), result
