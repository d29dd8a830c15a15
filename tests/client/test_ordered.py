"""Orderly and key-ordered consumers against the embedded cluster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from threading import Event, Lock, current_thread

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.consumer_settings import ConsumeMode
from mqctl.client.consumer.process_queue import ListenerGate, ProcessQueue
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, Listener, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import LockedQueues
from tests.client.consuming import LONG_S, Heard, create_topic, numbered, quick, quick_client, send, wait_until

QUEUE = MessageQueue("T", "broker-a", 0)


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster() as running:
        yield running


def consumer(
    cluster: EmbeddedCluster, listener: Listener, mode: ConsumeMode = ConsumeMode.ORDERLY, **settings: object
) -> PushConsumer:
    made = PushConsumer("G", quick_client(cluster), listener, quick(**settings), mode=mode)
    made.subscribe("T")
    return made


def committed(cluster: EmbeddedCluster, queue: MessageQueue = QUEUE) -> int | None:
    with Cluster(cluster.namesrv) as admin:
        return admin.ask(admin.broker(queue.broker_name).address, consumer_offset("G", queue.topic, queue.queue_id))


def by_queue(messages: Sequence[ReceivedMessage]) -> dict[MessageQueue, list[int]]:
    offsets: dict[MessageQueue, list[int]] = defaultdict(list)
    for message in messages:
        offsets[message.queue].append(message.queue_offset)
    return offsets


# Orderly


def test_each_queue_is_heard_in_order_on_one_thread_at_a_time(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T")
    send(cluster, numbered("T", 80))
    inside: Counter[MessageQueue] = Counter()
    overlaps: list[MessageQueue] = []

    def listener(message: ReceivedMessage) -> Consumed:
        inside[message.queue] += 1
        if inside[message.queue] > 1:
            overlaps.append(message.queue)
        assert current_thread().name.startswith("ConsumeMessageThread_G_")
        inside[message.queue] -= 1
        return Consumed.SUCCESS

    heard = Heard(listener)
    with consumer(cluster, heard):
        heard.wait_for(80)
    assert not overlaps
    assert all(offsets == list(range(20)) for offsets in by_queue(heard.messages).values())
    assert committed(cluster) == 20


def test_a_failure_holds_up_its_queue_and_nothing_overtakes(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 6))
    heard = Heard(
        lambda message: (
            Consumed.SUSPEND_CURRENT_QUEUE_A_MOMENT
            if message.queue_offset == 2 and message.reconsume_times < 3
            else Consumed.SUCCESS
        )
    )
    with consumer(cluster, heard):
        heard.wait_for(9)
    assert [message.queue_offset for message in heard.messages] == [0, 1, 2, 2, 2, 2, 3, 4, 5]
    assert committed(cluster) == 6


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_after_enough_failures_a_message_becomes_a_dead_letter_and_the_queue_goes_on(version: str) -> None:
    """What 4.9.8 gives up for an orderly group waits on its delay level first: it does not take the level away."""
    with EmbeddedCluster(version=version, settings={"messageDelayLevel": "1s 1s 1s 1s 1s"}) as cluster:
        _gives_up(cluster)


def _gives_up(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    (result, _) = send(cluster, numbered("T", 2))
    heard = Heard(lambda message: None if message.queue_offset == 0 else Consumed.SUCCESS)
    dead = Heard()
    letters = PushConsumer("D", quick_client(cluster), dead, quick())
    letters.subscribe("%DLQ%G")
    with letters, consumer(cluster, heard, max_reconsume_times=2):
        heard.wait_for(4)
        assert [letter.message_id for letter in dead.wait_for(1)] == [result.message_id]
    assert [message.queue_offset for message in heard.messages] == [0, 0, 0, 1]
    assert dead.bodies == [b"0"]


def test_without_auto_commit_the_listener_decides(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 4))
    said: list[tuple[int, Consumed]] = []
    done = Event()

    def listener(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        context.auto_commit = False
        offset = messages[0].queue_offset
        rolled_back = (1, Consumed.ROLLBACK) in said
        result = {0: Consumed.SUCCESS, 1: Consumed.COMMIT if rolled_back else Consumed.ROLLBACK, 2: Consumed.SUCCESS}
        outcome = result.get(offset, Consumed.COMMIT)
        said.append((offset, outcome))
        if offset == 3:
            done.set()
        return outcome

    with consumer(cluster, listener):
        assert done.wait(LONG_S)
    assert said == [
        (0, Consumed.SUCCESS),
        (1, Consumed.ROLLBACK),
        (0, Consumed.SUCCESS),
        (1, Consumed.COMMIT),
        (2, Consumed.SUCCESS),
        (3, Consumed.COMMIT),
    ]
    assert committed(cluster) == 4


def test_a_queue_whose_lock_is_refused_is_not_consumed(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    cluster.fault(41, Answer(0, body=LockedQueues().to_bytes()))
    cluster.record_requests()
    heard = Heard()
    with consumer(cluster, heard) as member:
        send(cluster, numbered("T", 3))
        wait_until(lambda: len(cluster.requests(41)) > 2, "lock attempts")
        assert not [queue for queue in member.queues() if queue.topic == "T"]
        assert not heard.messages
        cluster.clear_faults()
        heard.wait_for(3)
    assert [message.queue_offset for message in heard.messages] == [0, 1, 2]


def test_a_lost_lock_pauses_until_it_is_back(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    heard = Heard()
    with consumer(cluster, heard, lock_period_ms=20) as member:
        wait_until(lambda: QUEUE in member.queues(), "assigned")
        cluster.fault(41, Answer(0, body=LockedQueues().to_bytes()))
        process_queue = member.rebalancing.process_queues[QUEUE]
        member.rebalancing.locks.renew()
        assert not process_queue.locked
        send(cluster, numbered("T", 2))
        assert not heard.messages
        cluster.clear_faults()
        member.rebalancing.locks.renew()
        heard.wait_for(2)


def test_queues_change_hands_without_overlap(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=8)
    lock = Lock()
    inside: Counter[MessageQueue] = Counter()
    order: dict[MessageQueue, list[int]] = defaultdict(list)
    wrong: list[str] = []

    def listener(message: ReceivedMessage) -> Consumed:
        with lock:
            inside[message.queue] += 1
            if inside[message.queue] > 1:
                wrong.append(f"two at once on {message.queue}")
            order[message.queue].append(message.queue_offset)
        with lock:
            inside[message.queue] -= 1
        return Consumed.SUCCESS

    first, second = Heard(listener), Heard(listener)
    with consumer(cluster, first) as one:
        send(cluster, numbered("T", 160))
        with consumer(cluster, second) as two:
            wait_until(lambda: len([queue for queue in two.queues() if queue.topic == "T"]) == 4, "shared")
            send(cluster, numbered("T", 160))
            wait_until(lambda: sum(len(set(offsets)) for offsets in order.values()) == 320, "all heard")
        wait_until(lambda: len([queue for queue in one.queues() if queue.topic == "T"]) == 8, "taken over")
    assert not wrong
    for offsets in order.values():
        seen = list(dict.fromkeys(offsets))
        assert seen == sorted(seen)


def test_locks_are_given_back_at_the_end(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=2)
    cluster.record_requests()
    with consumer(cluster, Heard()) as member:
        wait_until(lambda: len(member.queues()) == 3, "assigned, the retry queue too")
    assert len(cluster.requests(42)) == 1


def test_a_lock_that_waits_to_be_given_back_is_given_back_at_the_end(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    gate = Event()
    held = Event()

    def hold(_: ReceivedMessage) -> Consumed | None:
        held.set()
        return Consumed.SUCCESS if gate.wait(LONG_S) else None

    first = Heard(hold)
    send(cluster, numbered("T", 3))
    # The first member has cached messages of a queue that it loses: it keeps the lock for an hour, unless it leaves.
    losing = PushConsumer(
        "G", quick_client(cluster, instance_name="z"), first, quick(unlock_delay_ms=3_600_000), mode=ConsumeMode.ORDERLY
    )
    losing.subscribe("T")
    second = Heard()
    gaining = PushConsumer("G", quick_client(cluster, instance_name="a"), second, quick(), mode=ConsumeMode.ORDERLY)
    gaining.subscribe("T")
    with losing:
        # A queue of which nothing was pulled yet is unlocked at once.
        assert held.wait(LONG_S)
        with gaining:
            wait_until(lambda: QUEUE not in losing.queues(), "lost")
            gate.set()
            wait_until(lambda: QUEUE not in losing.rebalancing.process_queues, "given up")
            assert QUEUE not in gaining.queues()
            losing.shutdown()
            wait_until(lambda: QUEUE in gaining.queues(), "gained")


# Key-ordered


def keyed(count: int, keys: int) -> list[OutgoingMessage]:
    return [OutgoingMessage(topic="T", body=str(n).encode(), keys=f"k{n % keys}") for n in range(count)]


def send_keyed(cluster: EmbeddedCluster, messages: Sequence[OutgoingMessage]) -> None:
    with Producer("PG", quick_client(cluster)) as producer:
        for message in messages:
            producer.send(message, select=by_key(str(message.keys)))


def key_order(messages: Sequence[ReceivedMessage]) -> dict[str, list[int]]:
    offsets: dict[str, list[int]] = defaultdict(list)
    for message in messages:
        offsets[message.keys[0]].append(int(message.body))
    return offsets


def test_keys_keep_their_order_on_many_threads_whatever_fails(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=2)
    send_keyed(cluster, keyed(300, keys=12))
    lock = Lock()
    inside: Counter[str] = Counter()
    order: dict[str, list[int]] = defaultdict(list)
    wrong: list[str] = []
    threads: set[str] = set()
    several = Event()

    def listener(message: ReceivedMessage) -> Consumed:
        key, number = message.keys[0], int(message.body)
        with lock:
            inside[key] += 1
            threads.add(current_thread().name)
            if inside[key] > 1:
                wrong.append(key)
            if len(threads) > 1:
                several.set()
        assert several.wait(LONG_S), "all on one thread"
        fails = number % 7 == 0 and message.reconsume_times < 2
        with lock:
            inside[key] -= 1
            if not fails:
                order[key].append(number)
        return Consumed.RECONSUME_LATER if fails else Consumed.SUCCESS

    heard = Heard(listener)
    with consumer(cluster, heard, ConsumeMode.KEY_ORDERED, threads=8):
        wait_until(lambda: sum(len(numbers) for numbers in order.values()) == 300, "all succeeded")
    assert not wrong
    assert all(numbers == sorted(numbers) and len(numbers) == 25 for numbers in order.values())
    assert (committed(cluster) or 0) + (committed(cluster, MessageQueue("T", "broker-a", 1)) or 0) == 300


def test_the_smallest_unfinished_offset_is_committed_and_pulling_pauses_past_the_span(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send_keyed(cluster, keyed(500, keys=50))
    gate = Event()

    def listener(message: ReceivedMessage) -> Consumed:
        if message.body == b"3":
            gate.wait(LONG_S)
        return Consumed.SUCCESS

    heard = Heard(listener)
    with consumer(cluster, heard, ConsumeMode.KEY_ORDERED, max_span=100, threads=4) as member:
        wait_until(lambda: QUEUE in member.queues(), "assigned")
        process_queue = member.rebalancing.process_queues[QUEUE]
        wait_until(lambda: process_queue.reach > 100, "pulled past the span")
        wait_until(lambda: process_queue.count <= 4, "all but the stuck key finished")
        wait_until(lambda: committed(cluster) == 3, "the stuck offset is committed")
        last = process_queue.reach + 3
        assert 100 < process_queue.reach <= 100 + 32
        assert b"3" not in heard.bodies
        assert committed(cluster) == 3
        assert process_queue.reach + 3 == last
        gate.set()
        heard.wait_for(500)
        wait_until(lambda: committed(cluster) == 500, "committed")
    assert all(numbers == sorted(numbers) for numbers in key_order(heard.messages).values())


def test_whoever_takes_over_repeats_but_never_skips_and_keeps_the_order(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=4)
    first, second = Heard(), Heard()
    with consumer(cluster, second, ConsumeMode.KEY_ORDERED):
        send_keyed(cluster, keyed(100, keys=8))
        with consumer(cluster, first, ConsumeMode.KEY_ORDERED):
            send_keyed(
                cluster, [OutgoingMessage(topic="T", body=str(100 + n).encode(), keys=f"k{n % 8}") for n in range(100)]
            )
            wait_until(lambda: len({*first.bodies, *second.bodies}) == 200, "all heard")
    for heard in (first, second):
        for numbers in key_order(heard.messages).values():
            once = list(dict.fromkeys(numbers))
            assert once == sorted(once)


def test_batches_stay_within_a_key(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send_keyed(cluster, keyed(60, keys=2))
    batches: list[list[ReceivedMessage]] = []
    lock = Lock()

    def listener(messages: Sequence[ReceivedMessage], _: ConsumeContext) -> Consumed:
        with lock:
            batches.append(list(messages))
        return Consumed.SUCCESS

    with consumer(cluster, listener, ConsumeMode.KEY_ORDERED, batch_size=5):
        wait_until(lambda: sum(map(len, batches)) == 60, "all heard")
    assert all(len({message.keys[0] for message in batch}) == 1 for batch in batches)
    assert max(map(len, batches)) <= 5


def test_a_broken_key_function_keeps_the_order_of_the_queue(cluster: EmbeddedCluster) -> None:
    create_topic(cluster, "T", queues=1)
    send(cluster, numbered("T", 30))
    heard = Heard()

    def broken(_: ReceivedMessage) -> str | None:
        raise KeyError("no key here")

    member = PushConsumer(
        "G", quick_client(cluster), heard, quick(threads=8), mode=ConsumeMode.KEY_ORDERED, key_of=broken
    )
    member.subscribe("T")
    with member:
        heard.wait_for(30)
        assert any("KeyError" in str(trouble.error) for trouble in list(member.instance.troubles.last))
    assert [message.queue_offset for message in heard.messages] == list(range(30))


# The cache of a queue


def cached(offset: int) -> ReceivedMessage:
    stored = Message(
        topic="T", queue_id=0, queue_offset=offset, physical_offset=offset, size_bytes=1, flag=0, sys_flag=0,
        born_time_ms=0, born_host="127.0.0.1:1", store_time_ms=0, store_host="127.0.0.1:1", reconsume_times=0,
        prepared_transaction_offset=0, body_crc=0, body=b"xy",
    )  # fmt: skip
    return ReceivedMessage(stored, QUEUE)


def test_the_cache_knows_the_smallest_unfinished_offset() -> None:
    queue = ProcessQueue(QUEUE, 0)
    messages = [cached(offset) for offset in (5, 6, 7, 9)]
    assert queue.remove(messages) is None
    queue.put(messages)
    queue.put(messages)
    assert (queue.count, queue.size_bytes, queue.span, queue.reach) == (4, 8, 4, 4)
    assert queue.remove([messages[1], messages[3]]) == 5
    assert (queue.span, queue.reach) == (2, 4)
    assert queue.remove([messages[0]]) == 7
    queue.put([cached(8)])
    assert queue.remove([messages[2]]) == 8
    assert queue.remove([cached(8)]) == 10
    assert (queue.count, queue.size_bytes) == (0, 0)


def test_the_cache_gives_back_what_was_taken() -> None:
    queue = ProcessQueue(QUEUE, 0)
    queue.put([cached(offset) for offset in range(4)])
    assert queue.claim()
    assert not queue.claim()
    taken = queue.take(3)
    assert [message.queue_offset for message in taken] == [0, 1, 2]
    queue.put_back(taken[1:])
    assert queue.commit() == 1
    assert queue.commit() is None
    assert [message.queue_offset for message in queue.take(9)] == [1, 2, 3]
    queue.put_all_back()
    info = queue.info(7)
    assert (info.commit_offset, info.cached_msg_min_offset, info.cached_msg_max_offset, info.cached_msg_count) == (
        7,
        1,
        3,
        3,
    )
    queue.clear()
    assert queue.take(1) == []
    assert not queue.claim()


def test_a_gate_closes_only_when_nobody_is_inside() -> None:
    gate = ListenerGate()
    assert gate.enter()
    assert not gate.close(0.01)
    assert gate.enter()
    gate.leave()
    gate.leave()
    assert gate.close(0.01)
    assert not gate.enter()
