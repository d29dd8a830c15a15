"""Queues that move between orderly consumers: locks renewed every 20 s, taken over within their 60 s, order kept."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from random import Random
from statistics import median
from threading import Lock

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import lock_queues
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import Consumed, ReceivedMessage
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import LockRequest
from tests.client.consuming import Heard, create_topic, numbered, quick, quick_client, send, wait_until
from tests.client.sequences import replayed

QUEUE = MessageQueue("T", "broker-a", 0)
SCALE = 20.0
LOCK, SECOND = 41, 1_000


@pytest.fixture
def fast() -> Iterator[EmbeddedCluster]:
    """A cluster on which a minute takes three seconds."""
    with EmbeddedCluster(time_scale=SCALE) as cluster:
        create_topic(cluster, "T", queues=1)
        yield cluster


def as_java(cluster: EmbeddedCluster, listener: Heard, name: str) -> PushConsumer:
    """An orderly consumer with Java's own periods, on the cluster's clock."""
    client = ClientSettings(
        name_servers=cluster.namesrv, client_ip="127.0.0.1", instance_name=name, time_scale=SCALE,
        time_origin_ms=cluster.time_origin_ms,
    )  # fmt: skip
    settings = ConsumerSettings(consume_from=ConsumeFrom.FIRST_OFFSET, threads=2)
    made = PushConsumer("G", client, listener, settings, mode=ConsumeMode.ORDERLY)
    made.subscribe("T")
    return made


def lock_for(cluster: EmbeddedCluster, client_id: str) -> bool:
    with Links() as links:
        question = lock_queues("G", client_id, (QUEUE,))
        return QUEUE in links.ask(cluster.broker().address, question, Deadline(10_000))


def renewals(cluster: EmbeddedCluster) -> list[int]:
    """When the queue was asked to be locked, epoch milliseconds of the cluster."""
    return [request.at_ms for request in cluster.requests(LOCK) if QUEUE in LockRequest.from_bytes(request.body).mq_set]


def test_locks_are_renewed_every_twenty_seconds_and_so_outlive_their_minute(fast: EmbeddedCluster) -> None:
    fast.record_requests()
    with as_java(fast, Heard(), "one"):
        wait_until(lambda: len(renewals(fast)) >= 6, "six lock requests")
        assert not lock_for(fast, "other@1"), "more than a minute on, the lock is still its owner's"
    times = renewals(fast)[:6]
    assert times[-1] - times[0] > 60 * SECOND
    gaps = [after - before for before, after in pairwise(times[1:])]
    assert all(gap > 15 * SECOND for gap in gaps), gaps
    assert median(gaps) < 55 * SECOND, gaps  # a busy machine may delay one


def test_the_queue_of_an_owner_that_is_gone_is_taken_over_when_its_minute_is_up(fast: EmbeddedCluster) -> None:
    assert lock_for(fast, "gone@1")
    began_ms = fast.now_ms()
    send(fast, numbered("T", 5))
    heard = Heard()
    with as_java(fast, heard, "next"):
        heard.wait_for(5)
        waited_ms = fast.now_ms() - began_ms
    assert [message.queue_offset for message in heard.messages] == [0, 1, 2, 3, 4]
    assert waited_ms >= 60 * SECOND


def test_members_that_come_and_go_never_reorder_a_queue() -> None:
    """Three members join and leave by turns while messages come; what is heard again is a suffix."""
    lock, random = Lock(), Random(3)
    inside: Counter[MessageQueue] = Counter()
    orders: dict[MessageQueue, list[int]] = defaultdict(list)
    wrong: list[MessageQueue] = []

    def listener(message: ReceivedMessage) -> Consumed:
        if message.topic != "T":
            return Consumed.SUCCESS
        with lock:
            inside[message.queue] += 1
            if inside[message.queue] > 1:
                wrong.append(message.queue)
            orders[message.queue].append(message.queue_offset)
        with lock:
            inside[message.queue] -= 1
        return Consumed.SUCCESS

    def member(cluster: EmbeddedCluster, name: str) -> PushConsumer:
        client = quick_client(cluster, instance_name=name)
        made = PushConsumer("G", client, Heard(listener), quick(), mode=ConsumeMode.ORDERLY)
        made.subscribe("T")
        return made

    total = 0
    with EmbeddedCluster() as cluster:
        create_topic(cluster, "T", queues=6)
        with member(cluster, "stays"):
            for turn in range(5):
                with ExitStack() as guests:
                    for name in ("b", "z")[: random.randrange(1, 3)]:
                        guests.enter_context(member(cluster, f"{name}-{turn}"))
                    send(cluster, numbered("T", 60))
                    total += 60
            wait_until(lambda: sum(len(set(offsets)) for offsets in orders.values()) == total, "all heard")
    assert not wrong
    assert all(replayed(offsets) >= 0 for offsets in orders.values())


@pytest.mark.parametrize(
    ("offsets", "again"),
    [
        ([0, 1, 2, 3], 0),
        ([0, 1, 2, 1, 2, 3], 2),
        ([5, 6], 0),
        ([0, 0, 1], 1),
        ([0, 1, 0, 1, 0, 1, 2], 4),
        ([0, 1, 2, 0, 1, 0, 1, 2], 5),
    ],
)
def test_suffixes_are_counted(offsets: list[int], again: int) -> None:
    assert replayed(offsets) == again


@pytest.mark.parametrize("offsets", [[0, 2], [0, 1, 3], [0, 1, 2, 0, 3], [0, 1, 2, 0, 2], [2, 1, 3]])
def test_what_is_no_suffix_is_found(offsets: list[int]) -> None:
    with pytest.raises(AssertionError):
        replayed(offsets)
