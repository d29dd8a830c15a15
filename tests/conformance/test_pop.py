"""POP consumption: who is refused, what is taken and acknowledged, what comes again, and who is told to pop."""

from __future__ import annotations

import pytest

from mqctl.model.message import Message
from mqctl.protocol.bodies_pop import BatchAck, BatchAcks, MessageRequestMode, MessageRequestModes, bit_set
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.receipts import Receipt
from mqctl.protocol.requests_client import QueryConsumerOffset
from mqctl.protocol.requests_pop import (
    BatchAckMessage,
    ChangeInvisibleTime,
    GetAllMessageRequestMode,
    PeekMessage,
    PollingInfo,
    SetMessageRequestMode,
)
from tests.conformance.conftest import Site, eventually, put
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_pop import ack, bodies, pop, popped
from tests.embedded_broker.wire import Peer


@pytest.fixture(autouse=True)
def _of_5(site: Site, broker: Peer) -> None:
    if not site.is_v5:
        assert broker.call(GetAllMessageRequestMode()).code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        pytest.skip("4.9 knows no POP consumption")


def test_who_is_refused(broker: Peer, topic: str, group: str) -> None:
    assert pop(broker, f"{topic}_none", group).code == ResponseCode.TOPIC_NOT_EXIST
    assert pop(broker, topic, group, max_msg_nums=33).code == ResponseCode.INVALID_PARAMETER
    assert pop(broker, topic, group, queue_id=99).code == ResponseCode.INVALID_PARAMETER
    assert pop(broker, topic, group, exp_type="SQL92", exp="a >").code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert pop(broker, topic, group, poll_time=1, born_time=1).code == ResponseCode.POLLING_TIMEOUT
    assert pop(broker, topic, group).code == ResponseCode.POLLING_TIMEOUT


def test_what_is_popped_moves_the_offset_and_comes_again_until_it_is_acknowledged(
    broker: Peer, site: Site, topic: str, group: str
) -> None:
    for number in range(3):
        assert put(broker, send(topic), f"{number}".encode()).code == 0
    peek = PeekMessage(topic=topic, queue_id=0, max_msg_nums=2, consumer_group=group)
    eventually(lambda: bodies(broker.call(peek)) == ["0", "1"])
    first = popped(pop(broker, topic, group, invisible_time=1_000), site.broker_name)
    assert [message.body for message, _ in first] == [b"0", b"1", b"2"]
    assert bodies(pop(broker, topic, group)) == []
    offset = QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0)
    eventually(lambda: broker.call(offset).ext("offset") == "3")
    for _, receipt in first[:2]:
        assert ack(broker, receipt, topic, group) == 0
    seen: list[tuple[bytes, int, str]] = []

    def again() -> bool:
        for message, receipt in popped(pop(broker, topic, group, invisible_time=60_000), site.broker_name):
            seen.append((message.body, message.reconsume_times, message.topic))
            assert ack(broker, receipt, topic, group) == 0
        return len(seen) == 1

    eventually(again)
    assert seen == [(b"2", 1, topic)], "a retried message bears the topic it was popped from"


def test_modes_are_kept_by_topic_and_group(broker: Peer, topic: str, group: str) -> None:
    pop(broker, topic, group)  # makes the group
    mode = MessageRequestMode(topic=topic, consumer_group=group, mode="POP", pop_share_queue_num=2)
    assert broker.call(SetMessageRequestMode(), mode.to_bytes()).code == 0
    table = MessageRequestModes.from_bytes(broker.call(GetAllMessageRequestMode()).body)
    assert table.message_request_mode_map[topic][group] == mode
    retry = MessageRequestMode(topic=f"%RETRY%{group}", consumer_group=group, mode="POP")
    assert broker.call(SetMessageRequestMode(), retry.to_bytes()).code == ResponseCode.NO_PERMISSION
    waiting = PollingInfo(consumer_group=group, topic=topic, queue_id=-1)
    assert broker.call(waiting).ext("pollingNum") == "0"


def test_an_ordered_queue_gives_out_one_batch_at_a_time_and_goes_on_when_it_is_acknowledged(
    broker: Peer, site: Site, topic: str, group: str
) -> None:
    for number in range(3):
        assert put(broker, send(topic), f"{number}".encode()).code == 0
    eventually(lambda: bodies(broker.call(PeekMessage(topic=topic, max_msg_nums=3, consumer_group=group))) != [])
    wanted = {"queue_id": 0, "max_msg_nums": 2, "order": True, "invisible_time": 60_000}
    first = popped(pop(broker, topic, group, attempt_id="a", **wanted), site.broker_name)
    assert [message.body for message, _ in first] == [b"0", b"1"]
    assert pop(broker, topic, group, attempt_id="b", **wanted).code == ResponseCode.POLLING_TIMEOUT
    again = popped(pop(broker, topic, group, attempt_id="a", **wanted), site.broker_name)
    assert [message.body for message, _ in again] == [b"0", b"1"], "the same attempt gets its batch once more"
    for _, receipt in again:
        assert ack(broker, receipt, topic, group) == 0
    assert bodies(pop(broker, topic, group, attempt_id="b", **wanted)) == ["2"]


def test_messages_of_one_pop_are_acknowledged_together_and_an_invisible_time_is_changed(
    broker: Peer, site: Site, topic: str, group: str
) -> None:
    for number in range(4):
        assert put(broker, send(topic), f"{number}".encode()).code == 0
    pairs: list[tuple[Message, Receipt]] = []

    def all_came() -> bool:
        pairs.extend(popped(pop(broker, topic, group, invisible_time=60_000), site.broker_name))
        return len(pairs) == 4

    eventually(all_came)
    for _, receipt in pairs[:3]:
        batch = BatchAck(
            consumer_group=group, topic=topic, retry=receipt.retry, start_offset=receipt.start_offset,
            queue_id=receipt.queue_id or 0, revive_queue=receipt.revive_queue, pop_ms=receipt.pop_ms,
            invisible_ms=receipt.invisible_ms, bits=bit_set([(receipt.offset or 0) - receipt.start_offset]),
        )  # fmt: skip
        assert (
            broker.call(BatchAckMessage(), BatchAcks(broker_name=site.broker_name, acks=(batch,)).to_bytes()).code == 0
        )
    last, receipt = pairs[3]
    changed = ChangeInvisibleTime(
        consumer_group=group, topic=topic, queue_id=receipt.queue_id or 0, extra_info=str(receipt),
        offset=receipt.offset or 0, invisible_time=1_000,
    )  # fmt: skip
    answer = broker.call(changed)
    assert (answer.code, answer.ext("invisibleTime")) == (0, "1000")
    came: list[bytes] = []

    def came_again() -> bool:
        came.extend(message.body for message, _ in popped(pop(broker, topic, group), site.broker_name))
        return bool(came)

    eventually(came_again)
    assert came == [last.body], "the others were acknowledged"
