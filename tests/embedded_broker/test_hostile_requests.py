"""Requests that parse but mean nothing: every handler gets odd texts, numbers and bodies; none fails by surprise."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from random import Random

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.release import as_version
from embedded_broker.remoting.handler_table import BROKER, NAMESRV, Handler, handlers_of
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand, encode
from mqctl.protocol.requests_admin import CreateTopic
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

_TEXTS = (
    "T", "GC", "", "%RETRY%GC", "%DLQ%GC", "broker-a", "a b", "x" * 300, "null", "SCHEDULE_TOPIC_XXXX", "\x01\x02",
    "*", "||", "SQL92", "TAG", "topic@group", "7F00000100002A9F0000000000000000", "ORDER_TOPIC_CONFIG", "é",
    "DefaultCluster",
)  # fmt: skip
_NUMBERS = ("0", "1", "-1", "3", "2147483647", "-2147483648")
_ODD_NUMBERS = (
    "9223372036854775807",
    "-9223372036854775808",
    "9" * 20,
    "abc",
    "",
    " 5",
    "1.5",
    "true",
    "1700000000000",
)
_BODIES = (
    b"", b"null", b"{}", b"[]", b'{"a":1}', b"\xff\xfe", b"x" * 100, b"[" * 2000, b"k=v\nbrokerPermission=abc\n",
    b'{"clientID":"c","consumerDataSet":[{"groupName":"GC","subscriptionDataSet":[{"topic":"T"}]}]}',
    b'{"clientId":"c","consumerGroup":"GC","mqSet":[{"topic":"T","brokerName":"broker-a","queueId":0}]}',
    b'{"clientId":1,"consumerGroup":{},"mqSet":[1,null]}', b"\x00\x00\x00\x20" + bytes(40),
    b'{"groupName":"GX","retryQueueNums":-5}', b'{"groupName":"GY","retryMaxTimes":"x"}',
    b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"Q":{"topicName":"Q","perm":"x"}}}}',
    b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":"a"}}}', b'{"counter":1}',
    b'{"subscriptionData":{"topic":"T","expressionType":"SQL92"}}',
)  # fmt: skip
_PER_CODE = 25
_PROBE = 1 << 30


def odd_request(random: Random, code: int, handler: Handler, opaque: int) -> RemotingCommand:
    ext: dict[str, str] = {}
    for field in handler.request.fields():
        if random.random() < 0.12:
            continue
        name = field.short if handler.request._short else field.wire
        if field.kind == "str":
            ext[name] = random.choice(_TEXTS)
        elif field.kind == "bool":
            ext[name] = random.choice(("true", "false", "x", ""))
        else:
            ext[name] = random.choice(_ODD_NUMBERS if random.random() < 0.2 else _NUMBERS)
    if "suspendTimeoutMillis" in ext:
        ext["suspendTimeoutMillis"] = "0"
    return RemotingCommand(
        code=code,
        opaque=opaque,
        version=random.choice((0, 30, 100, 409, 479)),
        ext_fields=ext if random.random() < 0.97 else None,
        body=random.choice(_BODIES),
    )


def torment(address: str, handlers: Mapping[int, Handler], probe: RequestCode, seed: int) -> None:
    random = Random(seed)
    with Peer(address) as peer:
        number = 0
        for code, handler in handlers.items():
            for _ in range(_PER_CODE):
                number += 1
                peer.socket.sendall(encode(odd_request(random, code, handler, number)))
            peer.socket.sendall(encode(RemotingCommand(code=probe, opaque=_PROBE)))
            peer.answer_to(_PROBE)
            peer.unasked.clear()


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_no_request_surprises_a_handler(version: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "embedded_broker"), EmbeddedCluster(version=version) as cluster:
        with Peer(cluster.broker().address) as peer:
            for queue_id in range(4):
                peer.call(send("T", queue_id=queue_id), b"x")
        release = as_version(version)
        torment(cluster.broker().address, handlers_of(BROKER, release), RequestCode.GET_ALL_DELAY_OFFSET, 1)
        torment(cluster.namesrv, handlers_of(NAMESRV, release), RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, 2)
    surprises = [record for record in caplog.records if record.exc_info]
    assert [str(record.exc_info[1]) for record in surprises if record.exc_info] == []


def test_a_topic_with_absurdly_many_queues_is_refused(broker: Peer) -> None:
    """One request more would have every question about the topic count to two thousand millions."""
    absurd = CreateTopic(
        topic="Absurd",
        default_topic="TBW102",
        read_queue_nums=2147483647,
        write_queue_nums=8,
        perm=6,
        topic_filter_type="SINGLE_TAG",
    )
    answer = broker.call(absurd)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "65536" in (answer.remark or "")
