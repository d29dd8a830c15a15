"""A round of work: done on one broker through the wire, judged on the broker that opens its store afterwards.

Brokers of both kinds take the same requests. What is still to come when the first broker ends (a delayed message, a
timer, a transaction without an end, messages that were popped and not acknowledged) must come from the second.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from time import time_ns

from mqctl.model.message import Message
from mqctl.model.names import LMQ_PREFIX, retry_topic
from mqctl.protocol.bodies_cluster import SubscriptionGroupTable, TopicConfigTable
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.message_batch import BatchElement, encode_batch
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_message, decode_messages
from mqctl.protocol.properties import format_properties
from mqctl.protocol.receipts import Receipt
from mqctl.protocol.requests_admin import (
    CreateTopic,
    GetAllSubscriptionGroupConfig,
    GetAllTopicConfig,
    QueryMessage,
    UpdateAndCreateSubscriptionGroup,
)
from mqctl.protocol.requests_client import (
    ConsumerSendMsgBack,
    EndTransaction,
    GetMaxOffset,
    GetMinOffset,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from mqctl.protocol.requests_pop import ChangeInvisibleTime
from tests.conformance.conftest import eventually, put
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.test_pop import ack, pop, popped
from tests.embedded_broker.wire import Peer

# A half message is put back at each check: an op message that is written later than that ends the older copy alone.
SETTINGS = {"transactionCheckInterval": "10000", "transactionOpBatchInterval": "500"}
LIGHT = {"enableLmq": "true", "enableMultiDispatch": "true"}
"""Of brokers with light queues (LMQ); they write the offsets of consumers to another file."""
QUEUES, RETRIES = 4, 7
DELAY_LEVEL, DELAY_S = 4, 30
LIGHT_OFFSET = 3
_COMMIT, _ROLLBACK = 8, 12
_COMES_S = 150.0


@dataclass
class Round:
    """What was done, under names of its own.

    Attributes:
        has_light: whether messages go to a light queue as well.
        sent: body and unique key of each plain message by queue and offset.
        offsets: of the group, by queue.
        begun_ms: when the broker took what is delayed.
        light: bodies in the light queue.
        waiting: bodies that a pop must still give, of all that were not acknowledged.
        acknowledged: bodies that no pop may give again.
    """

    name: str
    is_v5: bool
    has_light: bool = False
    sent: dict[tuple[int, int], tuple[bytes, str]] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
    begun_ms: int = 0
    light: list[bytes] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)

    @property
    def group(self) -> str:
        return f"{self.name}_group"

    def topic(self, kind: str) -> str:
        """Returns the name of a topic: `plain`, `late`, `timed`, `tx`, `pop` or `light`."""
        return f"{self.name}_{kind}"

    @property
    def light_queue(self) -> str:
        """The light queue that messages of the topic `light` go to."""
        return f"{LMQ_PREFIX}{self.name}"

    def peer(self, address: str) -> Peer:
        """Returns a connection to a broker."""
        return Peer(address, version=479 if self.is_v5 else 409)

    # Work

    def work(self, peer: Peer) -> None:
        """Does everything once; half of it is not finished."""
        for kind in ("plain", "late", "timed", "tx", "pop", "light"):
            self._make_topic(peer, self.topic(kind), QUEUES if kind == "plain" else 1)
        config = json.dumps({"groupName": self.group, "retryMaxTimes": RETRIES}).encode()
        assert peer.call(UpdateAndCreateSubscriptionGroup(), config).code == 0
        self._send_plain(peer)
        self._consume(peer)
        self._begin_transactions(peer)
        if self.has_light:
            self._send_light(peer, [f"light {number}" for number in range(4)])
            commit = UpdateConsumerOffset(
                consumer_group=self.group, topic=self.light_queue, queue_id=0, commit_offset=LIGHT_OFFSET
            )
            assert peer.call(commit).code == 0
        late = {"DELAY": str(DELAY_LEVEL), "UNIQ_KEY": "L"}
        assert peer.call(send(self.topic("late"), properties=late), b"late").code == 0
        if self.is_v5:
            self._pop_some(peer)
            timed = {"TIMER_DELAY_SEC": str(DELAY_S), "UNIQ_KEY": "T"}
            assert peer.call(send(self.topic("timed"), properties=timed), b"timed").code == 0
        assert end_of(peer, self.topic("late")) == end_of(peer, self.topic("timed")) == 0

    def _make_topic(self, peer: Peer, topic: str, queues: int) -> None:
        answer = peer.call(
            CreateTopic(
                topic=topic,
                default_topic="TBW102",
                read_queue_nums=queues,
                write_queue_nums=queues,
                perm=6,
                topic_filter_type="SINGLE_TAG",
                topic_sys_flag=0,
                order=False,
            )
        )
        assert answer.code == 0, answer.remark

    def _send_plain(self, peer: Peer) -> None:
        for number in range(20):
            body, key = f"{self.name} {number}".encode(), f"{self.name}-U{number}"
            properties = {"TAGS": f"T{number % 3}", "KEYS": f"K{number} shared", "UNIQ_KEY": key}
            answer = put(peer, send(self.topic("plain"), queue_id=number % QUEUES, properties=properties), body)
            self.sent[number % QUEUES, int(answer.ext("queueOffset") or -1)] = (body, key)
        elements = [
            BatchElement(
                f"{self.name} batch {number}".encode(), format_properties({"UNIQ_KEY": f"{self.name}-B{number}"})
            )
            for number in range(5)
        ]
        answer = put(peer, send(self.topic("plain"), queue_id=1, batch=True), encode_batch(elements))
        first = int((answer.ext("queueOffset") or "-1").split(",")[0])
        for number, element in enumerate(elements):
            self.sent[1, first + number] = (element.body, f"{self.name}-B{number}")

    def _consume(self, peer: Peer) -> None:
        for queue_id in range(QUEUES):
            self.offsets[queue_id] = 3 + queue_id % 2
            update = UpdateConsumerOffset(
                consumer_group=self.group,
                topic=self.topic("plain"),
                queue_id=queue_id,
                commit_offset=self.offsets[queue_id],
            )
            peer.post(update, oneway=True)
        eventually(lambda: self._offsets(peer) == self.offsets)
        (failed, *_) = decode_messages(peer.call(pull(self.topic("plain"), 0, group=self.group)).body)
        back = ConsumerSendMsgBack(
            offset=failed.physical_offset,
            group=self.group,
            delay_level=DELAY_LEVEL,
            origin_msg_id=failed.properties["UNIQ_KEY"],
            origin_topic=failed.topic,
            max_reconsume_times=RETRIES,
        )
        self.begun_ms = failed.store_time_ms
        assert peer.call(back).code == 0

    def _send_light(self, peer: Peer, bodies: list[str]) -> None:
        for body in bodies:
            properties = {"INNER_MULTI_DISPATCH": self.light_queue, "UNIQ_KEY": f"{self.name}-{body}"}
            put(peer, send(self.topic("light"), properties=properties), body.encode())
            self.light.append(body.encode())
        eventually(lambda: end_of(peer, self.light_queue) == len(self.light))

    def _begin_transactions(self, peer: Peer) -> None:
        assert heartbeat(peer, f"{self.name}-producer").code == 0
        for how in (_COMMIT, _ROLLBACK, None):
            key = f"{self.name}-{how}"
            properties = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "GP"}
            half_message = send(self.topic("tx"), properties=properties, sys_flag=4, born_ms=time_ns() // 1_000_000)
            answer = peer.call(half_message, key.encode())
            assert answer.code == 0, answer.remark
            half = int(answer.ext("queueOffset") or -1), OffsetId.parse(answer.ext("msgId") or "").physical_offset
            if how is not None:
                assert peer.call(end_of_half(*half, key, how)).code == 0
        eventually(lambda: end_of(peer, self.topic("tx")) == 1)

    def _pop_some(self, peer: Peer) -> None:
        topic, group = self.topic("pop"), self.group
        for number in range(12):
            put(peer, send(topic, properties={"UNIQ_KEY": f"{self.name}-P{number}"}), f"{number}".encode())
        taken: list[tuple[Message, Receipt]] = []
        while len(taken) < 8:
            taken += popped(pop(peer, topic, group, max_msg_nums=8 - len(taken), invisible_time=DELAY_S * 1_000))
        for message, receipt in taken[:4]:
            assert ack(peer, receipt, topic, group) == 0
            self.acknowledged.add(message.body.decode())
        _, receipt = taken[4]
        longer = ChangeInvisibleTime(
            consumer_group=group,
            topic=topic,
            queue_id=0,
            extra_info=str(receipt),
            offset=receipt.offset or 0,
            invisible_time=2 * DELAY_S * 1_000,
        )
        assert peer.call(longer).code == 0
        self.waiting = {f"{number}" for number in range(12)} - self.acknowledged

    # Judgement

    def is_kept(self, peer: Peer) -> None:
        """Everything that was done can be read: messages, ends, index, tables."""
        topics = TopicConfigTable.from_bytes(peer.call(GetAllTopicConfig()).body).topic_config_table
        assert topics[self.topic("plain")].write_queue_count == QUEUES
        groups = SubscriptionGroupTable.from_bytes(peer.call(GetAllSubscriptionGroupConfig()).body)
        assert groups.subscription_group_table[self.group].retry_max_times == RETRIES
        assert self._offsets(peer) == self.offsets
        read = {
            (queue_id, message.queue_offset): (message.body, message.properties["UNIQ_KEY"])
            for queue_id in range(QUEUES)
            for message in all_of(peer, self.topic("plain"), queue_id)
        }
        assert read == self.sent
        if self.has_light:
            assert [message.body for message in all_of(peer, self.light_queue, 0)] == self.light
            query = QueryConsumerOffset(consumer_group=self.group, topic=self.light_queue, queue_id=0)
            assert peer.call(query).ext("offset") == str(LIGHT_OFFSET)
        for key, is_unique, count in ((f"{self.name}-U7", True, 1), ("K7", False, 1), ("shared", False, 20)):
            assert len(self._queried(peer, key, is_unique=is_unique)) == count, key

    def _queried(self, peer: Peer, key: str, *, is_unique: bool) -> list[Message]:
        query = QueryMessage(
            topic=self.topic("plain"),
            key=key,
            max_num=64,
            begin_timestamp=0,
            end_timestamp=(1 << 63) - 1,
            unique_key_query=is_unique or None,
        )
        return decode_messages(peer.call(query).body)

    def _offsets(self, peer: Peer) -> dict[int, int]:
        answers = {
            queue_id: peer.call(
                QueryConsumerOffset(consumer_group=self.group, topic=self.topic("plain"), queue_id=queue_id)
            )
            for queue_id in range(QUEUES)
        }
        return {queue_id: int(answer.ext("offset") or -1) for queue_id, answer in answers.items()}

    def goes_on(self, peer: Peer) -> None:
        """What was begun is finished, once and in its time, and new messages follow the old ones."""
        for queue_id in range(QUEUES):
            end = 1 + max(offset for queue, offset in self.sent if queue == queue_id)
            body, key = f"{self.name} more {queue_id}".encode(), f"{self.name}-M{queue_id}"
            answer = put(peer, send(self.topic("plain"), queue_id=queue_id, properties={"UNIQ_KEY": key}), body)
            assert (answer.code, answer.ext("queueOffset")) == (0, str(end))
            self.sent[queue_id, end] = (body, key)
        if self.has_light:
            self._send_light(peer, ["light at last"])
        self._ends_transaction(peer)
        if self.is_v5:
            self._pops_the_rest(peer)
            self._comes(peer, self.topic("timed"), [b"timed"])
        self._comes(peer, self.topic("late"), [b"late"])
        self._comes(peer, retry_topic(self.group), [self.sent[0, 0][0]])
        self._answers_further_checks(peer)

    def _comes(self, peer: Peer, topic: str, bodies: list[bytes]) -> None:
        eventually(lambda: end_of(peer, topic) >= len(bodies), seconds=_COMES_S)
        messages = all_of(peer, topic, 0)
        assert [message.body for message in messages] == bodies
        assert all(message.store_time_ms >= self.begun_ms + DELAY_S * 1_000 - 1_000 for message in messages)

    def _ends_transaction(self, peer: Peer) -> None:
        topic, key = self.topic("tx"), f"{self.name}-None"
        assert [message.body for message in all_of(peer, topic, 0)] == [f"{self.name}-{_COMMIT}".encode()]
        assert heartbeat(peer, f"{self.name}-producer").code == 0
        checked: dict[str, tuple[int, int]] = {}
        while key not in checked:
            check = peer.asked(RequestCode.CHECK_TRANSACTION_STATE)
            halves = int(check.ext("tranStateTableOffset") or -1), int(check.ext("commitLogOffset") or -1)
            checked[decode_message(check.body).properties["UNIQ_KEY"]] = halves
        assert not checked.keys() & {f"{self.name}-{_COMMIT}", f"{self.name}-{_ROLLBACK}"}, "they have ended"
        assert peer.call(end_of_half(*checked[key], key, _COMMIT, checked=True)).code == 0
        eventually(lambda: end_of(peer, topic) == 2)
        assert all_of(peer, topic, 0)[-1].body == key.encode()

    @staticmethod
    def _answers_further_checks(peer: Peer) -> None:
        """A broker that was killed between a check and its offset asks for both copies; the second must not count."""
        for check in [command for command in peer.unasked if command.code == RequestCode.CHECK_TRANSACTION_STATE]:
            halves = int(check.ext("tranStateTableOffset") or -1), int(check.ext("commitLogOffset") or -1)
            key = decode_message(check.body).properties["UNIQ_KEY"]
            assert peer.call(end_of_half(*halves, key, _ROLLBACK, checked=True)).code == 0

    def _pops_the_rest(self, peer: Peer) -> None:
        topic, group = self.topic("pop"), self.group
        got: list[str] = []

        def has_all() -> bool:
            for message, receipt in popped(pop(peer, topic, group, invisible_time=300_000)):
                got.append(message.body.decode())
                assert ack(peer, receipt, topic, group) == 0
            return set(got) >= self.waiting

        eventually(has_all, seconds=_COMES_S)
        assert sorted(got, key=int) == sorted(self.waiting, key=int), "once each, and none that was acknowledged"


def end_of_half(half: int, physical: int, key: str, how: int, *, checked: bool = False) -> EndTransaction:
    """Returns the request that ends a transaction."""
    return EndTransaction(
        producer_group="GP",
        tran_state_table_offset=half,
        commit_log_offset=physical,
        commit_or_rollback=how,
        from_transaction_check=checked,
        msg_id=key,
    )


def end_of(peer: Peer, topic: str, queue_id: int = 0) -> int:
    """Returns the offset behind the last message of a queue; 0 where the topic has none."""
    return int(peer.call(GetMaxOffset(topic=topic, queue_id=queue_id)).ext("offset") or 0)


def all_of(peer: Peer, topic: str, queue_id: int) -> list[Message]:
    """Reads a queue from end to end."""
    first, end = (
        int(peer.call(request(topic=topic, queue_id=queue_id)).ext("offset") or 0)
        for request in (GetMinOffset, GetMaxOffset)
    )
    messages: list[Message] = []
    while first < end:
        answer = peer.call(pull(topic, first, queue_id=queue_id, group="reader"))
        assert answer.code == 0, (topic, queue_id, first, end, answer.code, answer.remark)
        messages += decode_messages(answer.body)
        first = messages[-1].queue_offset + 1
    return messages
