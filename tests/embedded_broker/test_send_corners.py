"""Sends, messages sent back and ended transactions where 4.9.8 and 5.3.3 differ, or answer in words that tools show."""

from __future__ import annotations

import pytest

from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import LockRequest
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.message_batch import BatchElement, encode_batch
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.properties import format_properties
from mqctl.protocol.requests_admin import GetAllTopicConfig, UpdateAndCreateSubscriptionGroup
from mqctl.protocol.requests_client import ConsumerSendMsgBack, EndTransaction, GetMinOffset, LockBatchMq
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.sides import Side

pytestmark = pytest.mark.both_releases

UNSET = "not set any response code"


def first(side: Side, topic: str, queue_id: int = 0) -> Message | None:
    answer = side.peer.call(pull(topic, 0, group="G", queue_id=queue_id))
    return next(iter(decode_messages(answer.body)), None) if answer.code == 0 else None


def test_5_stores_region_tracing_and_a_unique_id_with_each_message(side: Side) -> None:
    sent = side.peer.call(send("Plain", properties={"TAGS": "A", "POP_CK": "1 2 3"}), b"x")
    message = first(side, "Plain")
    assert message is not None
    names = {"TAGS", "CLUSTER"}
    if side.is_v5:
        names |= {"WAIT", "MSG_REGION", "TRACE_ON", "UNIQ_KEY"}
        key = message.properties["UNIQ_KEY"]
        assert (len(key), key.upper(), sent.ext("transactionId")) == (32, key, key)
    else:
        names |= {"POP_CK"}
        assert sent.ext("transactionId") is None
    assert set(message.properties) == names
    keyed = side.peer.call(send("Plain", properties={"UNIQ_KEY": "7F000001"}), b"x")
    assert keyed.ext("transactionId") == ("7F000001" if side.is_v5 else None)


def test_two_messages_without_id_get_different_ones(side: Side) -> None:
    if not side.is_v5:
        pytest.skip("4.9 gives no ids")
    keys = {side.peer.call(send("Plain"), b"x").ext("transactionId") for _ in range(3)}
    assert len(keys) == 3


@pytest.mark.parametrize("where", ["body", "properties"])
def test_messages_that_are_too_long(side: Side, where: str) -> None:
    side.set(maxMessageSize="1000")
    long = send("Plain", properties={"a": "b" * 40_000}) if where == "properties" else send("Plain")
    answer = side.peer.call(long, b"x" * (1001 if where == "body" else 1))
    assert (answer.code, answer.remark) == (
        ResponseCode.MESSAGE_ILLEGAL,
        "the message is illegal, maybe msg body or properties length not matched. msg body length limit 1000B, "
        "msg properties length limit 32KB.",
    )


def test_a_queue_that_is_not_there_and_a_topic_that_may_not_be_made(side: Side) -> None:
    answer = side.peer.call(send("T", queue_id=9), b"x")
    attributes = ", attributes={}" if side.is_v5 else ""
    assert answer.code == (ResponseCode.INVALID_PARAMETER if side.is_v5 else ResponseCode.SYSTEM_ERROR)
    assert answer.remark == (
        "request queueId[9] is illegal, TopicConfig [topicName=T, readQueueNums=4, writeQueueNums=4, perm=RW-, "
        f"topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false{attributes}] Producer: {side.peer.local}"
    )
    missing = side.peer.call(send("Missing", default_topic="T"), b"x")
    assert (missing.remark or "").startswith("topic[Missing] not exist, apply first please!\nSee http")


def test_a_batch_for_a_retry_topic_is_refused_by_5_and_stored_by_4(side: Side) -> None:
    body = encode_batch([BatchElement(b"one", format_properties({"KEYS": "k"}))])
    answer = side.peer.call(send("%RETRY%G", batch=True), body)
    if side.is_v5:
        remark = "batch request does not support retry group %RETRY%G"
        assert (answer.code, answer.remark) == (ResponseCode.MESSAGE_ILLEGAL, remark)
    else:
        assert answer.code == 0


def test_delay_levels_of_a_batch_are_refused_and_those_of_its_messages_do_nothing(side: Side) -> None:
    body = encode_batch([BatchElement(b"one", format_properties({"KEYS": "k", "DELAY": "3"}))])
    assert side.peer.call(send("Batch", batch=True, properties={"DELAY": "1"}), body).code == 13
    assert side.peer.call(send("Batch", batch=True), body).code == 0
    message = first(side, "Batch")
    assert message is not None
    assert message.body == b"one"


def test_the_last_delivery_of_a_retried_send(side: Side) -> None:
    """5.x compares with more than; 4.9.8 keeps the delay level, and the dead letter waits before it is one."""
    given = {"RETRY_TOPIC": "T", "DELAY": "1"}
    last = send("%RETRY%G", reconsume_times=3, max_reconsume_times=3, properties=given)
    assert side.peer.call(last, b"last").code == 0
    side.cluster.advance(2_000)
    assert (first(side, "%DLQ%G") is None) is side.is_v5
    beyond = send("%RETRY%G", reconsume_times=4, max_reconsume_times=3, properties=given)
    waiting = first(side, "%DLQ%G")
    assert side.peer.call(beyond, b"beyond").code == 0
    if side.is_v5:
        dead = first(side, "%DLQ%G")
        assert dead is not None
        assert (dead.body, dead.properties["DELAY"]) == (b"beyond", "-1")
    else:
        assert waiting is not None
        assert waiting.body == b"last"


def test_what_an_orderly_group_gives_up_is_a_dead_letter_at_once_in_5(side: Side) -> None:
    locked = LockRequest(consumer_group="G", client_id="one", mq_set=(MessageQueue("T", "broker-a", 0),))
    assert side.peer.call(LockBatchMq(), locked.to_bytes()).code == 0
    retried = send("%RETRY%G", reconsume_times=1, properties={"RETRY_TOPIC": "T"})
    assert side.peer.call(retried, b"x").code == 0
    assert (first(side, "%DLQ%G") is not None) is side.is_v5


def test_groups_that_are_not_there_in_the_words_of_sends(side: Side) -> None:
    side.set(autoCreateSubscriptionGroup="false")
    message = first(side, "T")
    assert message is not None
    back = ConsumerSendMsgBack(offset=message.physical_offset, group="nobody", delay_level=0)
    for answer in (side.peer.call(back), side.peer.call(send("%RETRY%nobody", reconsume_times=99), b"x")):
        assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
        assert (answer.remark or "").startswith("subscription group not exist, nobody \nSee http")


def test_a_group_without_retry_queues_gets_no_retry_topic(side: Side) -> None:
    without = {"groupName": "Without", "retryQueueNums": 0}
    assert side.peer.call(UpdateAndCreateSubscriptionGroup(), dump_bytes(without)).code == 0
    assert side.peer.call(ConsumerSendMsgBack(offset=1 << 50, group="Without", delay_level=0)).code == 0
    assert b"%RETRY%Without" not in side.peer.call(GetAllTopicConfig()).body


def test_a_dead_letter_that_was_sent_back_names_its_origin_as_every_retry_does(side: Side) -> None:
    message = first(side, "T")
    assert message is not None
    back = ConsumerSendMsgBack(offset=message.physical_offset, group="G", delay_level=-1)
    assert side.peer.call(back).code == 0
    dead = first(side, "%DLQ%G")
    assert dead is not None
    assert (dead.properties["RETRY_TOPIC"], "DLQ_ORIGIN_TOPIC" in dead.properties) == ("T", False)


def half(side: Side, **properties: str) -> EndTransaction:
    own = {"TRAN_MSG": "true", "PGROUP": "GP", "UNIQ_KEY": "K1", **properties}
    sent = side.peer.call(send("T", properties=own, sys_flag=4), b"half")
    assert sent.code == 0
    return EndTransaction(
        producer_group="GP",
        tran_state_table_offset=int(sent.ext("queueOffset") or ""),
        commit_log_offset=int((sent.ext("msgId") or "")[16:], 16),
        commit_or_rollback=12,
        msg_id="K1",
    )


def changed(end: EndTransaction, **fields: object) -> EndTransaction:
    given = {item.name: getattr(end, item.name) for item in EndTransaction.fields()}
    return EndTransaction(**{**given, **fields})


def test_ends_of_transactions_in_the_words_of_the_source(side: Side) -> None:
    end = half(side)
    missing = side.peer.call(changed(end, commit_log_offset=1 << 50))
    assert (missing.code, missing.remark) == (1, "Find prepared transaction message failed")
    assert side.peer.call(end).remark == UNSET, "a rollback"
    assert side.peer.call(changed(half(side), commit_or_rollback=8)).remark is None, "a commit"


def test_an_old_half_message_can_only_be_checked_in_5_whoever_asks(side: Side) -> None:
    end = changed(half(side, CHECK_IMMUNITY_TIME_IN_SECONDS="1"), producer_group="another")
    answer = side.peer.call(end)
    if side.is_v5:  # born long ago: the age counts before the group
        assert (answer.code, answer.remark) == (ResponseCode.ILLEGAL_OPERATION, UNSET)
    else:
        assert (answer.code, answer.remark) == (1, "The producer group wrong")


def test_5_answers_the_beginning_of_a_queue_with_an_empty_remark(side: Side) -> None:
    assert side.peer.call(GetMinOffset(topic="T", queue_id=0)).remark == ("" if side.is_v5 else None)
