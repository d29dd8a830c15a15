"""Faults of membership and subscription (MQ2), injected into the healthy live cluster."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.finding import Value
from mqctl.model.member import GroupMembership, MessageModel, Subscription, TopicRates
from mqctl.model.pop_share import PopShare
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import ConsumerOffsetState, QueueState, TagSample
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_snapshots import (
    BROKERS,
    LIVE,
    NOW,
    ONE,
    TWO,
    member,
    saying,
    subscribing,
    with_members,
    with_second,
)


def _tags(*tags: str) -> Subscription:
    return Subscription(topic="Pay", expression="||".join(tags), tags=tags, version_ms=NOW - 1)


def _abandoned() -> ClusterSnapshot:
    """Both brokers hold offsets of `Old`, which nobody subscribes any more."""
    queue = QueueState(topic="Old", queue_id=0, min_offset=0, max_offset=70)
    offset = ConsumerOffsetState(group="G", topic="Old", queue_id=0, offset=50)
    first, *others = LIVE.brokers
    return replace(
        LIVE,
        brokers=(
            replace(
                first,
                queues=(*first.queues, queue),
                consumer_offsets=(*first.consumer_offsets, offset),
                topics=(*first.topics, replace(first.topics[0], name="Old")),
            ),
            *others,
        ),
    )


def _broadcasting() -> ClusterSnapshot:
    snapshot = with_members(message_model=MessageModel.BROADCASTING)
    running = tuple(saying(messageModel="BROADCASTING")(info) for info in snapshot.running)
    return replace(snapshot, running=running)


def popping(switch: str = "false", **changes: int) -> ClusterSnapshot:
    """Group G pops Pay from the first broker, whose `enableRetryTopicV2` is as told."""
    share = PopShare(
        group="G",
        topic="Pay",
        mode=None,
        ready_count=1,
        invisible_count=2,
        due_count=changes.get("due_count", 0),
        retry_count=changes.get("retry_count", 0),
        given_up_count=0,
        blocked_queue_count=None,
        retry_v2_count=changes.get("retry_v2_count", 0),
        oldest_due_ms=changes.get("oldest_due_ms"),
    )
    share = replace(share, **changes)  # type: ignore[arg-type]
    first, *others = LIVE.brokers
    config = {**first.config, "enableRetryTopicV2": switch}
    return replace(LIVE, brokers=(replace(first, pop=(share,), config=config), *others))


def popped_slowly(consume_rt_ms: int) -> ClusterSnapshot:
    """Group G pops Pay for a minute, and its members take so long for a message."""
    rates = (TopicRates(topic="Pay", consume_rt_ms=consume_rt_ms, consume_ok_tps=0.1),)
    snapshot = popping(invisible_ms=60_000)
    running = [replace(info, pops=True, queues=(), held_counts={"Pay": 1}, rates=rates) for info in snapshot.running]
    return replace(snapshot, running=tuple(running))


def popped_and_held() -> ClusterSnapshot:
    """Group G's members hold more of Pay than is invisible to others, and finish nothing."""
    snapshot = popping(invisible_ms=60_000, invisible_count=1, retried_count=1)
    running = [replace(info, pops=True, queues=(), held_counts={"Pay": 1}, rates=()) for info in snapshot.running]
    return replace(snapshot, running=tuple(running))


def left_under_the_first_name() -> ClusterSnapshot:
    """Retries under the first name, where the broker reads the second one only."""
    snapshot = popping("true", retry_count=5, retry_v2_count=2)
    first, *others = snapshot.brokers
    config = {**first.config, "retrieveMessageFromPopRetryTopicV1": "false"}
    return replace(snapshot, brokers=(replace(first, config=config), *others))


def popped_and_pulled_undeclared() -> ClusterSnapshot:
    """No broker is set to POP; one member pops Pay, the other pulls its queues."""
    first, second = LIVE.running
    return replace(LIVE, running=(replace(first, pops=True, queues=(), held_counts={"Pay": 0}), second))


def popped_undeclared() -> ClusterSnapshot:
    """No broker is set to POP, and all members pop Pay."""
    return replace(
        LIVE, running=tuple(replace(info, pops=True, queues=(), held_counts={"Pay": 0}) for info in LIVE.running)
    )


def popped_by_one_broker() -> ClusterSnapshot:
    """One broker is set to POP for Pay and one is not; members pull at the moment."""
    return with_members(only=BROKERS[0], popped_topics=("Pay",))


def popped_and_pulled(topic: str) -> ClusterSnapshot:
    """Group G is set to pop Pay; one member pops it, the other pulls a queue of `topic`."""
    snapshot = with_members(popped_topics=("Pay",))
    first, second = snapshot.running
    pulled = replace(second.queues[0], queue=replace(second.queues[0].queue, topic=topic))
    return replace(snapshot, running=(replace(first, pops=True, queues=()), replace(second, queues=(pulled,))))


def filtered_by_all(*, star: bool = False, known: bool = True) -> ClusterSnapshot:
    """Group G wants tag a of Pay, where messages with tag b lie as well; a second group may want everything."""
    wanted = (_tags("a"),)
    memberships: tuple[GroupMembership, ...] = (
        GroupMembership(group="G", client_ids=(ONE, TWO), subscriptions=wanted),
    )
    if star:
        memberships += (GroupMembership(group="All", client_ids=("x",), subscriptions=(Subscription(topic="Pay"),)),)
    counts = {"a": 30, "b": 8, "": 2}
    sample = TagSample(queue=MessageQueue("Pay", BROKERS[0], 0), first_offset=0, counts=counts, all_groups_known=known)
    running = tuple(subscribing(*wanted)(info) for info in LIVE.running)
    brokers = tuple(replace(item, memberships=memberships) for item in LIVE.brokers)
    return replace(LIVE, brokers=brokers, running=running, tag_samples=(sample,))


def _with_an_offline_group() -> ClusterSnapshot:
    snapshot = filtered_by_all()
    brokers = [replace(item, groups=(*item.groups, replace(item.groups[0], name="Late"))) for item in snapshot.brokers]
    late = replace(brokers[0].consumer_offsets[0], group="Late")
    brokers[0] = replace(brokers[0], consumer_offsets=(*brokers[0].consumer_offsets, late))
    return replace(snapshot, brokers=tuple(brokers))


SCENES: dict[str, ClusterSnapshot] = {
    "MQ216": filtered_by_all(),
    "MQ202": with_second(subscribing(Subscription(topic="Refund"))),
    "MQ203": with_second(subscribing(_tags("b"))),
    "MQ204": with_second(subscribing(Subscription(topic="Pay", expression="a > 1", expression_type="SQL92"))),
    "MQ205": with_members(client_ids=(ONE, TWO, TWO), members=(member(ONE, 1), member(TWO, 2), member(TWO, 3))),
    "MQ206": with_members(only=BROKERS[1], client_ids=(ONE,), members=(member(ONE, 5_001),)),
    "MQ207": _broadcasting(),
    "MQ208": with_second(saying(messageModel="BROADCASTING")),
    "MQ209": with_members(members=(member(ONE, 5_001), replace(member(TWO, 5_002), language="CPP"))),
    "MQ210": with_second(saying(PROP_NAMESERVER_ADDR="192.0.2.77:9876;")),
    "MQ211": _abandoned(),
    "MQ416": popping(due_count=3, oldest_due_ms=NOW - 60_000),
    "MQ417": popping(retry_count=5, retry_v2_count=2),
    "MQ421": popped_slowly(90_000),
    "MQ422": popped_and_pulled("Pay"),
    "MQ425": popping(renewed_count=2, held_since_ms=NOW - 5 * 60_000),
    "MQ420": popping(blocked_queue_count=1, blocked_since_ms=NOW - 60_000),
}

VARIANTS: dict[tuple[str, str], ClusterSnapshot] = {
    ("MQ216", "offline"): _with_an_offline_group(),
    ("MQ422", "brokers"): popped_by_one_broker(),
    ("MQ422", "undeclared"): popped_and_pulled_undeclared(),
    ("MQ417", "first"): left_under_the_first_name(),
    ("MQ421", "hung"): popped_and_held(),
}

NUMBERS: dict[str, dict[str, Value]] = {
    "MQ216": {"unwanted_count": 10, "sampled_count": 40, "tag_count": 2, "group_count": 1},
    "MQ216-offline": {"unwanted_count": 10, "sampled_count": 40, "tag_count": 2, "group_count": 1},
    "MQ416": {"due_count": 3, "late_ms": 60_000},
    "MQ417": {"stranded_count": 2},
    "MQ421": {"invisible_ms": 60_000, "held_count": 2, "invisible_count": 2, "consume_rt_ms": 90_000},
    "MQ425": {"renewed_count": 2, "held_ms": 300_000, "invisible_count": 2},
    "MQ422-brokers": {"broker_count": 1, "pulling_count": 2},
    "MQ422-undeclared": {"popping_count": 1, "pulling_count": 1, "member_count": 2},
    "MQ422": {"pulling_count": 1, "member_count": 2},
    "MQ420": {"blocked_queue_count": 1, "blocked_ms": 60_000, "delivered_before_count": 0, "ready_count": 1},
    "MQ202": {"member_count": 2, "differing_count": 1, "newest_subscription_time_ms": NOW - 3_600_000},
    "MQ203": {"member_count": 2, "set_count": 2, "differing_since_time_ms": NOW - 3_600_000},
    "MQ204": {"member_count": 2},
    "MQ205": {"connection_count": 2, "member_count": 2},
    "MQ206": {"member_count": 2, "broker_count": 1},
    "MQ207": {"member_count": 2, "changing_count": 2},
    "MQ208": {"member_count": 2},
    "MQ209": {"member_count": 2, "language_count": 2},
    "MQ210": {"member_count": 2, "set_count": 2},
    "MQ211": {"lag_count": 20, "member_count": 2},
}
