"""Dropping what is too old or too far behind: counted, and replayable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_messages import pull
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.guards import DropReason, Drops, GuardLimits, guarded
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.remoting.clock import ClientClock
from mqctl.errors import UsageError
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.model.replay import ReplayRange, merged
from tests.client.consuming import Heard, create_topic, numbered, quick, quick_client, send, wait_until

QUEUE = MessageQueue("T", "broker-a", 0)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        create_topic(running, "T", queues=1)
        yield running


class StillClock(ClientClock):
    """A clock that stands at one instant."""

    def now_ms(self) -> int:
        return 100_000


def received(
    offset: int, *, stored_ms: int = 100_000, born_ms: int = 0, retries: int = 0, end: int = 0
) -> ReceivedMessage:
    stored = Message(
        topic="T", queue_id=0, queue_offset=offset, physical_offset=offset, size_bytes=1, flag=0, sys_flag=0,
        born_time_ms=born_ms, born_host="127.0.0.1:1", store_time_ms=stored_ms, store_host="127.0.0.1:1",
        reconsume_times=retries, prepared_transaction_offset=0, body_crc=0, body=b"x",
    )  # fmt: skip
    return ReceivedMessage(stored, QUEUE, max_offset=end)


def consume(
    messages: Sequence[ReceivedMessage],
    limits: GuardLimits,
    result: Consumed | None = Consumed.SUCCESS,
    *,
    ack_index: int | None = None,
) -> tuple[Consumed | None, list[int], Drops, ConsumeContext]:
    seen: list[int] = []

    def listener(batch: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed | None:
        seen.extend(message.queue_offset for message in batch)
        context.ack_index = ack_index
        return result

    drops = Drops("G", StillClock())
    context = ConsumeContext(QUEUE)
    said = guarded(listener, limits, drops, StillClock())(messages, context)
    return said, seen, drops, context


def test_old_messages_are_dropped_and_young_ones_heard() -> None:
    messages = [received(0, stored_ms=89_999), received(1, stored_ms=90_000), received(2, stored_ms=10)]
    said, seen, drops, _ = consume(messages, GuardLimits(max_age_ms=10_000))
    assert (said, seen) == (Consumed.SUCCESS, [1])
    assert (drops.count(), drops.count(DropReason.TOO_OLD), drops.count(DropReason.TOO_FAR_BEHIND)) == (2, 2, 0)
    assert drops.by_topic() == {"T": 2}


def test_a_retry_is_as_old_as_its_first_delivery() -> None:
    _, seen, drops, _ = consume([received(0, born_ms=5, retries=1)], GuardLimits(max_age_ms=10_000))
    assert seen == []
    assert drops.count() == 1


def test_messages_far_behind_the_end_are_dropped() -> None:
    messages = [received(offset, end=10) for offset in range(10)]
    _, seen, drops, _ = consume(messages, GuardLimits(max_behind=3))
    assert seen == [6, 7, 8, 9]
    (item,) = drops.replay_plan().ranges
    assert (item.begin_offset, item.end_offset, item.count) == (0, 6, 6)


def test_when_the_listener_fails_nothing_has_been_dropped() -> None:
    messages = [received(0, stored_ms=0), received(1)]
    said, seen, drops, _ = consume(messages, GuardLimits(max_age_ms=1), Consumed.RECONSUME_LATER)
    assert (said, seen, drops.count()) == (Consumed.RECONSUME_LATER, [1], 0)


@pytest.mark.parametrize(("given", "whole", "dropped"), [(None, None, 3), (-1, 0, 1), (0, 2, 2), (1, 4, 3)])
def test_the_ack_index_means_what_the_listener_saw(given: int | None, whole: int | None, dropped: int) -> None:
    old = {"stored_ms": 0}
    messages = [received(0, **old), received(1), received(2, **old), received(3), received(4, **old)]
    _, seen, drops, context = consume(messages, GuardLimits(max_age_ms=1), ack_index=given)
    assert seen == [1, 3]
    assert (context.ack_index, drops.count()) == (whole, dropped)


def test_the_replay_plan_joins_neighbours_and_is_a_document() -> None:
    drops = Drops("G", StillClock(), gap=1)
    for offset in [*range(1000), 1001, 5000]:
        drops.add(received(offset, stored_ms=offset), DropReason.TOO_OLD)
    drops.add(received(7000), DropReason.TOO_FAR_BEHIND)
    plan = drops.replay_plan()
    ranges = [(item.begin_offset, item.end_offset, item.count, item.begin_ms, item.end_ms) for item in plan.ranges]
    assert ranges[:2] == [(0, 1002, 1001, 0, 1001), (5000, 5001, 1, 5000, 5000)]
    assert plan.count == 1003
    assert plan.reason == "the consumer dropped 1 too-far-behind and 1,002 too-old"
    document = json.loads(json.dumps(plan.document()))
    assert (document["schema"], document["group"], document["count"]) == ("replay.plan/1", "G", 1003)
    assert document["ranges"][1]["broker_name"] == "broker-a"


def test_ranges_of_other_queues_stay_apart() -> None:
    one, other = (
        ReplayRange(queue=MessageQueue("T", "b", n), begin_offset=0, end_offset=5, count=5, begin_ms=1, end_ms=2)
        for n in range(2)
    )
    assert merged([other, one], gap=10) == (one, other)


@pytest.mark.parametrize("wrong", [GuardLimits(), GuardLimits(max_age_ms=-1), GuardLimits(max_behind=-1)])
def test_limits_have_to_mean_something(wrong: GuardLimits) -> None:
    with pytest.raises(UsageError):
        guarded(Heard(), wrong, Drops("G", ClientClock()), ClientClock())


def test_a_consumer_catches_up_and_what_it_dropped_can_be_fetched_again(
    cluster: EmbeddedCluster,
) -> None:
    send(cluster, numbered("T", 50))
    heard = Heard()
    clock = ClientClock()
    drops = Drops("G", clock)
    dropped: list[bytes] = []
    listener = guarded(
        heard, GuardLimits(max_behind=9), drops, clock, on_drop=lambda message, _: dropped.append(message.body)
    )
    consumer = PushConsumer("G", quick_client(cluster), listener, quick(pull_batch_size=64))
    consumer.subscribe("T")
    with consumer:
        heard.wait_for(10)
        wait_until(lambda: drops.count() == 40, "dropped")
    assert sorted(heard.bodies) == sorted(str(n).encode() for n in range(40, 50))
    (item,) = drops.replay_plan().ranges
    assert (item.queue, item.begin_offset, item.end_offset) == (QUEUE, 0, 40)
    again: list[bytes] = []
    with Cluster(cluster.namesrv) as admin:
        while len(again) < item.count:
            question = pull("replay", "T", 0, item.begin_offset + len(again), max_count=item.count - len(again))
            again += [message.body for message in admin.ask(cluster.broker().address, question).messages]
    assert again == sorted(dropped, key=int)
