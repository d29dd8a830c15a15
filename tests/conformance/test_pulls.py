"""What a pull is answered, and when: the checks, the subscription rules, limits, held pulls, offsets on the way."""

from __future__ import annotations

import json

import pytest

from mqctl.model.java_hash import java_string_hash
from mqctl.protocol.bodies_client import ConsumerData, HeartbeatData, SubscriptionData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import CreateTopic, UpdateAndCreateSubscriptionGroup
from mqctl.protocol.requests_client import GetMaxOffset, Heartbeat, PullMessage, QueryConsumerOffset
from tests.conformance.conftest import Site, eventually, put
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer


def test_what_a_pull_is_refused_for(broker: Peer, site: Site, topic: str, group: str) -> None:
    assert broker.call(pull(f"{topic}_none", 0, group=group)).code == ResponseCode.TOPIC_NOT_EXIST
    wrong_queue = ResponseCode.INVALID_PARAMETER if site.is_v5 else ResponseCode.SYSTEM_ERROR
    assert broker.call(pull(topic, 0, group=group, queue_id=4)).code == wrong_queue
    assert broker.call(pull(topic, 0, group=group, queue_id=-1)).code == wrong_queue
    write_only = CreateTopic(
        topic=f"{topic}_w", default_topic="TBW102", read_queue_nums=4, write_queue_nums=4, perm=2,
        topic_filter_type="SINGLE_TAG", topic_sys_flag=0, order=False,
    )  # fmt: skip
    assert broker.call(write_only).code == 0
    assert broker.call(pull(f"{topic}_w", 0, group=group)).code == ResponseCode.NO_PERMISSION
    stopped = json.dumps({"groupName": f"{group}_off", "consumeEnable": False}).encode()
    assert broker.call(UpdateAndCreateSubscriptionGroup(), stopped).code == 0
    assert broker.call(pull(topic, 0, group=f"{group}_off")).code == ResponseCode.NO_PERMISSION


def test_a_pull_without_subscription_stands_on_the_heartbeat(broker: Peer, topic: str, group: str) -> None:
    def subscribe(to: str, tag: str, version: int) -> None:
        subscription = SubscriptionData(
            topic=to, sub_string=tag, tags_set=(tag,), code_set=(java_string_hash(tag),), sub_version=version
        )
        data = HeartbeatData(
            client_id="one", consumer_data_set=(ConsumerData(group_name=group, subscription_data_set=(subscription,)),)
        )
        assert broker.call(Heartbeat(), data.to_bytes()).code == 0

    def pulled(version: int) -> tuple[int, list[bytes]]:
        answer = broker.call(pull(topic, 0, group=group, subscription=None, sub_version=version))
        return answer.code, [message.body for message in decode_messages(answer.body)]

    broker.call(pull(topic, 0, group=group))  # the group exists from here on
    for tag in ("A", "B"):
        assert put(broker, send(topic, properties={"TAGS": tag}), tag.encode()).code == 0
    subscribe(f"{topic}_other", "A", 5)
    assert pulled(5) == (ResponseCode.SUBSCRIPTION_NOT_EXIST, [])
    subscribe(topic, "B", 5)
    assert pulled(5) == (0, [b"B"])
    assert pulled(6) == (ResponseCode.SUBSCRIPTION_NOT_LATEST, [])
    subscribe(topic, "A", 4)
    assert pulled(4) == (0, [b"B"]), "an older subscription changes nothing"
    subscribe(topic, "A", 6)
    assert pulled(6) == (0, [b"A"])


def test_no_more_messages_than_asked_for_and_32_at_most(broker: Peer, topic: str, group: str) -> None:
    opaques = [broker.post(send(topic), b"%d" % number) for number in range(40)]
    for opaque in opaques:
        assert broker.answer_to(opaque).code == 0
    eventually(lambda: broker.call(GetMaxOffset(topic=topic, queue_id=0)).ext("offset") == "40")
    few = broker.call(pull(topic, 0, group=group, count=5))
    assert (len(decode_messages(few.body)), few.ext("nextBeginOffset"), few.ext("maxOffset")) == (5, "5", "40")
    many = broker.call(pull(topic, 5, group=group, count=1000))
    messages = decode_messages(many.body)
    assert [message.queue_offset for message in messages] == list(range(5, 5 + len(messages)))
    assert len(messages) <= 35
    assert many.ext("nextBeginOffset") == str(5 + len(messages))


def test_a_large_first_message_is_given_alone(broker: Peer, topic: str, group: str) -> None:
    for _ in range(3):
        assert put(broker, send(topic), bytes(200 * 1024)).code == 0
    answer = broker.call(pull(topic, 0, group=group))
    assert (len(decode_messages(answer.body)), answer.ext("nextBeginOffset")) == (1, "1")


@pytest.mark.parametrize("flags", ["held", "not held"])
def test_an_empty_pull_is_held_only_if_it_may_be(broker: Peer, other: Peer, topic: str, group: str, flags: str) -> None:
    opaque = broker.post(pull(topic, 0, group=group, wait_ms=20_000 if flags == "held" else 0))
    if flags == "not held":
        assert broker.answer_to(opaque).code == ResponseCode.PULL_NOT_FOUND
        return

    # It is not answered by a message in another queue, nor by one whose tag it does not want.
    def tagged_from(offset: int) -> PullMessage:
        return pull(topic, offset, group=group, queue_id=1, subscription="A", wait_ms=20_000)

    tagged = broker.post(tagged_from(0))
    assert other.call(send(topic, queue_id=1, properties={"TAGS": "B"}), b"b").code == 0
    assert other.call(send(topic, queue_id=1, properties={"TAGS": "A"}), b"a").code == 0
    answer = broker.answer_to(tagged)
    # What is held is also looked at by its offset alone, every few seconds (`PullRequestHoldService.checkHoldRequest`):
    # if that comes between the two messages, the client is sent back.
    while answer.code == ResponseCode.PULL_RETRY_IMMEDIATELY:
        answer = broker.call(tagged_from(int(answer.ext("nextBeginOffset") or 0)))
    (message,) = decode_messages(answer.body)
    assert message.body == b"a"
    assert other.call(send(topic, queue_id=0), b"x").code == 0
    (message,) = decode_messages(broker.answer_to(opaque).body)
    assert message.body == b"x"


def test_a_held_pull_ends_empty_after_its_time(broker: Peer, topic: str, group: str) -> None:
    answer = broker.call(pull(topic, 0, group=group, wait_ms=100))
    assert (answer.code, answer.ext("nextBeginOffset")) == (ResponseCode.PULL_NOT_FOUND, "0")


def test_pulls_of_one_connection_are_answered_as_they_can_be(broker: Peer, other: Peer, topic: str, group: str) -> None:
    held = broker.post(pull(topic, 0, group=group, queue_id=2, wait_ms=20_000))
    assert broker.call(pull(topic, 0, group=group, queue_id=3)).code == ResponseCode.PULL_NOT_FOUND
    assert other.call(send(topic, queue_id=2), b"x").code == 0
    assert broker.answer_to(held).code == 0


def test_a_pull_commits_whatever_it_finds(broker: Peer, topic: str, group: str) -> None:
    put(broker, send(topic), b"x")

    def committed() -> str | None:
        return broker.call(QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0)).ext("offset")

    assert broker.call(pull(topic, 1, group=group, commit=1)).code == ResponseCode.PULL_NOT_FOUND
    eventually(lambda: committed() == "1")
    assert broker.call(pull(topic, 0, group=group, commit=None)).code == 0
    assert committed() == "1"
