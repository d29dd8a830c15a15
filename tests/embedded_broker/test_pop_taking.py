"""Where a pop looks and begins, what it is refused for, and that nothing popped is lost or comes too often."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_broker.broker import Broker
from embedded_broker.handlers.pop_checks import looks_again_ms
from embedded_broker.pop.service import Pop
from embedded_broker.pop.taking import PopOptions, next_offset, places, queue_count
from mqctl.model.names import pop_retry_topic
from mqctl.protocol.bodies_pop import BatchAck, BatchAcks, bit_set
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import decode_message, decode_messages
from mqctl.protocol.receipts import Receipt
from mqctl.protocol.requests_pop import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    Notification,
    PeekMessage,
    PopMessage,
)
from tests.each import each
from tests.embedded_broker.messages import send
from tests.embedded_broker.pop_timed import MERGE, START_MS, Side, opened
from tests.embedded_broker.wire import Peer

OLD, NEW = pop_retry_topic("G", "T", v2=False), pop_retry_topic("G", "T", v2=True)


@pytest.fixture(scope="module")
def shared() -> Iterator[Side]:
    """Topic T with four queues, its retry topics with one and two, and topic Few with three messages in queue 0."""
    for side in opened(enableRetryTopicV2="true"):
        side.fill(1)
        side.cluster.broker().on_loop(
            lambda broker: [broker.topics.find_or_create(OLD, 1), broker.topics.find_or_create(NEW, 2)]
        )
        side.fill(3, "Few")
        yield side


def create(topic: str, queues: int, broker: Broker) -> None:
    broker.topics.find_or_create(topic, queues)


def options(**changes: Any) -> PopOptions:
    return PopOptions(**{"group": "G", "topic": "T", "queue_id": -1, "most": 32, **changes})


@each(
    "draw, v2, queue_id, ordered, expected, most",
    [
        (0, True, -1, False, "0 1 2 3 old0", 5),
        (1, True, -1, False, "1 2 3 0 new1 new0", 6),
        (7, True, -1, False, "3 0 1 2 new1 new0", 6),
        (6, True, -1, False, "2 3 0 1 old0", 5),
        (6, False, -1, False, "2 3 0 1 old0", 5),
        (7, False, -1, False, "3 0 1 2 old0", 5),
        (7, True, 2, False, "2 new1 new0", 3),
        (8, True, 2, False, "2 old0", 2),
        (7, True, 0, True, "0", 1),
        (2, True, -1, True, "2 3 0 1", 4),
    ],
)
def test_queues_come_in_turn_and_the_retry_topic_before_or_behind_them(
    shared: Side, draw: int, v2: bool, queue_id: int, ordered: bool, expected: str, most: int
) -> None:
    wanted = options(draw=draw, queue_id=queue_id, ordered=ordered)

    def look(broker: Broker) -> tuple[list[str], list[str], int]:
        ground = broker.pop.ground  # type: ignore[union-attr]
        ground.settings.enable_retry_topic_v2 = v2
        names = {"T": "", OLD: "old", NEW: "new"}
        first, last = (
            [f"{names[topic]}{number}" for topic, number in places(ground, wanted, retry_first=retry_first)]
            for retry_first in (True, False)
        )
        most = queue_count(ground, wanted)
        ground.settings.enable_retry_topic_v2 = True
        return first, last, most

    retry_first, retry_last, count = shared.cluster.broker().on_loop(look)
    own = [word for word in expected.split() if word.isdigit()]
    retry = [word for word in expected.split() if not word.isdigit()]
    assert (retry_first, retry_last, count) == ([*retry, *own], [*own, *retry], most)


def test_the_first_name_of_the_retry_topic_is_not_read_where_it_is_not_wanted(shared: Side) -> None:
    def look(broker: Broker) -> set[str]:
        ground = broker.pop.ground  # type: ignore[union-attr]
        ground.settings.retrieve_message_from_pop_retry_topic_v1 = False
        read = {topic for draw in range(4) for topic, _ in places(ground, options(draw=draw), retry_first=True)}
        ground.settings.retrieve_message_from_pop_retry_topic_v1 = True
        return read

    assert shared.cluster.broker().on_loop(look) == {"T", NEW}


@each(
    "topic, init_mode, in_memory_bytes, by_memory, expected",
    [
        ("Few", 0, 1 << 20, True, 0),
        ("Few", 1, 1 << 20, True, 0),
        ("Few", 1, 0, True, 2),
        ("Few", 1, 1 << 20, False, 2),
        ("Empty", 1, 1 << 20, True, 0),
        ("Empty", 1, 0, False, 0),
        (OLD, 1, 0, False, 0),
    ],
)
def test_a_first_pop_begins_at_the_oldest_or_the_newest(
    shared: Side, topic: str, init_mode: int, in_memory_bytes: int, by_memory: bool, expected: int
) -> None:
    def look(broker: Broker) -> tuple[int, int, int, int]:
        pop = broker.pop
        assert pop is not None
        pop.ground.settings.init_pop_offset_by_check_msg_in_mem = by_memory
        before = broker.storage.settings
        broker.storage.settings = replace(before, in_memory_bytes=in_memory_bytes)
        group = f"First{init_mode}{in_memory_bytes}{by_memory}"
        wanted = options(group=group, topic=topic, init_mode=init_mode)
        looked = next_offset(pop, wanted, topic, 0, begins=False)
        unknown = broker.offsets.query(group, topic, 0)
        begun = next_offset(pop, wanted, topic, 0, begins=True)
        broker.storage.settings = before
        return looked, unknown, begun, broker.offsets.query(group, topic, 0)

    assert shared.cluster.broker().on_loop(look) == (expected, -1, expected, expected)


def test_memory_reaches_from_the_first_message_to_the_end_of_the_log(shared: Side) -> None:
    def look(broker: Broker) -> list[int]:
        pop, before, starts = broker.pop, broker.storage.settings, []
        assert pop is not None
        pop.ground.settings.init_pop_offset_by_check_msg_in_mem = True
        size = broker.storage.log.position - broker.storage.entries("Few", 0, 0, 1)[0][0]
        for in_memory_bytes in (size, size - 1):
            broker.storage.settings = replace(before, in_memory_bytes=in_memory_bytes)
            starts.append(next_offset(pop, options(group="M", topic="Few", init_mode=1), "Few", 0, begins=False))
        broker.storage.settings = before
        return starts

    assert shared.cluster.broker().on_loop(look) == [0, 2]


def test_what_a_pop_is_refused_for(shared: Side) -> None:
    assert shared.ask(32).code == 0
    assert shared.ask(33).code == ResponseCode.INVALID_PARAMETER
    assert [shared.ask(queue_id=number).code for number in (3, 4)] == [
        ResponseCode.POLLING_TIMEOUT,
        ResponseCode.INVALID_PARAMETER,
    ]
    now_ms = shared.cluster.now_ms()
    late = [shared.ask(born_time=now_ms - 1_000 - passed, poll_time=1_000) for passed in (500, 501)]
    assert [(answer.code, "too much" in (answer.remark or "")) for answer in late] == [(210, False), (210, True)]
    with_rest = shared.ask(2, topic="Few", group="Rest")
    assert (with_rest.ext("restNum"), with_rest.ext("startOffsetInfo"), with_rest.ext("msgOffsetInfo")) == (
        "1", "0 0 0", "0 0 0,1",
    )  # fmt: skip
    peeked = shared.peer.call(PeekMessage(consumer_group="Rest", topic="Few", queue_id=0, max_msg_nums=5))
    assert (peeked.code, peeked.ext("restNum")) == (0, "1")
    nothing = shared.peer.call(PeekMessage(consumer_group="Rest", topic="Few", queue_id=1, max_msg_nums=5))
    assert (nothing.code, nothing.ext("restNum")) == (ResponseCode.PULL_NOT_FOUND, "0")
    for queue_id, has_some in ((0, "true"), (1, "false")):
        answer = shared.peer.call(Notification(consumer_group="Rest", topic="Few", queue_id=queue_id, poll_time=0))
        assert answer.ext("hasMsg") == has_some


@each("offset, queue_id, code", [
    (-1, 0, ResponseCode.NO_MESSAGE), (0, 0, 0), (3, 0, 0), (4, 0, ResponseCode.NO_MESSAGE), (0, 3, 0),
    (0, 4, ResponseCode.MESSAGE_ILLEGAL), (0, -1, ResponseCode.MESSAGE_ILLEGAL),
])  # fmt: skip
def test_where_an_acknowledged_message_may_be(shared: Side, offset: int, queue_id: int, code: int) -> None:
    handle = f"0 {START_MS} 1000 0 0 broker-a {queue_id} {offset}"
    request = AckMessage(consumer_group="G", topic="Few", queue_id=queue_id, extra_info=handle, offset=offset)
    assert shared.peer.call(request).code == code


@each("offset, revive_queue, code", [
    (0, 7, 0), (2, 0, 0), (3, 0, ResponseCode.NO_MESSAGE),
    *[(0, number, ResponseCode.SYSTEM_ERROR) for number in (-1, 8, 9, 998)],
])  # fmt: skip
def test_which_invisible_time_can_be_changed(shared: Side, offset: int, revive_queue: int, code: int) -> None:
    handle = f"0 {START_MS} 1000 {revive_queue} 0 broker-a 0 {offset}"
    request = ChangeInvisibleTime(
        consumer_group="G", topic="Few", queue_id=0, extra_info=handle, offset=offset, invisible_time=5_000
    )
    assert shared.peer.call(request).code == code


@each("draw, probability, first", [(19, 20, "again"), (20, 20, "new"), (0, 0, "new"), (99, 100, "again")])
def test_so_many_of_a_hundred_pops_look_into_the_retry_topic_first(draw: int, probability: int, first: str) -> None:
    for side in opened(popFromRetryProbability=str(probability)):
        assert side.peer.call(send("T"), b"new").code == 0
        side.cluster.broker().on_loop(lambda broker: broker.topics.find_or_create(OLD, 1))
        retried = send(OLD, queue_id=0)
        assert side.peer.call(retried, b"again").code == 0
        side.cluster.broker().on_loop(lambda broker: setattr(broker.pop, "draw", lambda: draw))
        assert decode_message(side.ask(1).body).body.decode() == first
        assert side.ask(1).ext("restNum") == "0", "the other one comes with the next"


@each("draw, first", [(0, "again"), (5, "again"), (10, "again"), (6, "new"), (1, "new"), (99, "new")])
def test_each_fifth_look_without_taking_begins_with_the_retry_topic(draw: int, first: str) -> None:
    for side in opened():
        side.cluster.broker().on_loop(partial(create, OLD, 1))
        for topic, body in (("T", b"new"), (OLD, b"again")):
            assert side.peer.call(send(topic), body).code == 0
        side.cluster.broker().on_loop(lambda broker: setattr(broker.pop, "draw", lambda: draw))
        seen = side.peer.call(PeekMessage(consumer_group="G", topic="T", queue_id=0, max_msg_nums=1))
        assert [message.body.decode() for message in decode_messages(seen.body)] == [first]
        both = side.peer.call(PeekMessage(consumer_group="G", topic="T", queue_id=0, max_msg_nums=2))
        assert {message.body.decode() for message in decode_messages(both.body)} == {"new", "again"}


def test_draws_are_of_a_hundred(shared: Side) -> None:
    broker = shared.cluster.broker()
    own = broker.on_loop(lambda broker: Pop(broker.pop.ground).draw)  # type: ignore[union-attr]
    assert {own() for _ in range(5_000)} == set(range(100)), "one is missing once in 10 ** 19 runs"


def test_an_offset_beyond_the_queue_goes_back_to_its_end(shared: Side) -> None:

    def prepare(broker: Broker) -> None:
        broker.offsets.commit("Beside", "Both", 1, 1_000)
        broker.pop.draw = lambda: 0  # type: ignore[union-attr]

    with Peer(shared.cluster.broker().address, version=479) as peer:
        for queue_id, count in ((0, 3), (1, 5)):
            for number in range(count):
                assert peer.call(send("Both", queue_id=queue_id), f"{queue_id} {number}".encode()).code == 0
        shared.cluster.broker().on_loop(prepare)
        wanted = PopMessage(consumer_group="Beside", topic="Both", queue_id=-1, max_msg_nums=4, invisible_time=9_000)
        answer = peer.call(wanted)
    assert (answer.ext("msgOffsetInfo"), answer.ext("restNum")) == ("0 0 0,1,2", "0")
    assert shared.cluster.broker().on_loop(lambda broker: broker.offsets.query("Beside", "Both", 1)) == 5


def test_a_look_begun_before_something_was_written_is_had_again_within_a_second(shared: Side) -> None:
    def look(broker: Broker) -> list[int]:
        end, now_ms = broker.storage.log.position, broker.clock.now_ms()
        return [
            looks_again_ms(broker, written_to, now_ms + wait_ms) - now_ms
            for written_to, wait_ms in ((end, 5_000), (end - 1, 5_000), (end - 1, 900), (end - 1, 1_001), (end, 900))
        ]

    assert shared.cluster.broker().on_loop(look) == [5_000, 1_000, 900, 1_000, 900]


def test_a_batch_for_a_revive_queue_that_is_none_acknowledges_nothing(shared: Side) -> None:
    with Peer(shared.cluster.broker().address, version=479) as peer:
        for revive_queue in (8, 998, 1_000, -1):
            batch = BatchAck(
                bits=bit_set([0]), consumer_group="Batch", invisible_ms=1_000, pop_ms=START_MS, queue_id=0,
                revive_queue=revive_queue, start_offset=0, topic="Few",
            )  # fmt: skip
            acks = BatchAcks(acks=(batch,), broker_name="broker-a").to_bytes()
            assert peer.call(BatchAckMessage(), acks).code == 0
    assert shared.cluster.broker().on_loop(lambda broker: broker.offsets.query("Batch", "Few", 0)) == -1


# What is promised: the model is a dictionary


class Model:
    """Pops, acknowledges and waits at random; knows what must come again and what must not."""

    def __init__(self, side: Side, topic: str, seed: int) -> None:
        self.side, self.topic, self.draw = side, topic, random.Random(seed)
        self.held: dict[str, Receipt] = {}
        self.done: set[str] = set()
        self.sent = 0

    def send(self) -> None:
        for _ in range(self.draw.randrange(1, 5)):
            answer = self.side.peer.call(send(self.topic, queue_id=0), f"{self.sent}".encode())
            assert answer.code == 0
            self.sent += 1

    def pop(self) -> None:
        """What comes is neither acknowledged nor with somebody who has time left."""
        most, invisible_ms = self.draw.choice((1, 2, 5, 32)), self.draw.choice((3_000, 6_000, 20_000))
        for receipt in self.side.pop(most, topic=self.topic, invisible_time=invisible_ms):
            body = self.body(receipt)
            before = self.held.get(body)
            assert body not in self.done, f"{body} was acknowledged"
            assert before is None or before.due_ms < self.side.cluster.now_ms() - 2_000, f"{body} is invisible"
            self.held[body] = receipt

    def body(self, receipt: Receipt) -> str:
        topic = self.topic if receipt.retry == "0" else pop_retry_topic("G", self.topic, v2=False)
        return next(
            message.body.decode() for message in self.side.messages(topic) if message.queue_offset == receipt.offset
        )

    def ack(self) -> None:
        """Late ones do not count: whoever is late may be asked again."""
        now_ms = self.side.cluster.now_ms()
        held = [body for body, receipt in self.held.items() if receipt.due_ms - now_ms > 1_000]
        chosen = self.draw.sample(held, self.draw.randrange(len(held) + 1))
        if self.draw.random() < 0.3:
            for body in chosen:
                receipt = self.held[body]
                batch = BatchAck(
                    bits=bit_set([(receipt.offset or 0) - receipt.start_offset]), consumer_group="G", queue_id=0,
                    invisible_ms=receipt.invisible_ms, pop_ms=receipt.pop_ms, retry=receipt.retry, topic=self.topic,
                    revive_queue=receipt.revive_queue, start_offset=receipt.start_offset,
                )  # fmt: skip
                acks = BatchAcks(acks=(batch,), broker_name="broker-a").to_bytes()
                assert self.side.peer.call(BatchAckMessage(), acks).code == 0
        else:
            self.side.ack(*(self.held[body] for body in chosen), topic=self.topic)
        for body in chosen:
            del self.held[body]
            self.done.add(body)

    def wait(self) -> None:
        self.side.cluster.advance(self.draw.choice((0, 1, 40, 700, 3_000, 9_000)))

    def finish(self) -> None:
        """Acknowledges all that comes until nothing does."""
        for _ in range(30):
            self.side.cluster.advance(2_000)
            for receipt in self.side.pop(topic=self.topic, invisible_time=60_000):
                body = self.body(receipt)
                assert body not in self.done, f"{body} was acknowledged"
                self.done.add(body)
                self.side.ack(receipt, topic=self.topic)
        assert self.done == {f"{number}" for number in range(self.sent)}


@pytest.mark.parametrize("merge", [{}, MERGE], ids=["written", "merged"])
def test_whatever_is_done_each_message_comes_until_it_is_acknowledged(merge: dict[str, str]) -> None:
    for side in opened(**merge):
        each_comes_until_acknowledged(side, count())


def each_comes_until_acknowledged(side: Side, names: Iterator[int]) -> None:
    actions = [Model.send, Model.pop, Model.pop, Model.ack, Model.wait]

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(st.sampled_from(actions), min_size=5, max_size=25), st.integers(0, 1 << 16))
    def run(steps: list[Any], seed: int) -> None:
        model = Model(side, f"Topic{next(names)}", seed)
        model.send()
        for step in steps:
            step(model)
        model.finish()

    run()
