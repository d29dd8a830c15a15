"""Transactional sends against the embedded cluster."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ReceivedMessage
from mqctl.client.producer.transactions import LocalTransactionState, TransactionProducer
from mqctl.errors import MqctlError
from mqctl.protocol.frame import decode
from tests.client.consuming import Heard, create_topic, quick, quick_client, wait_until
from tests.protocol.conftest import RecordedFrame

SCALE = 20.0


@pytest.fixture(params=["4.9.8", "5.3.3"])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version=request.param) as running:
        create_topic(running, "T")
        yield running


def never(message: ReceivedMessage) -> LocalTransactionState:
    raise AssertionError(f"nobody should ask about {message}")


def consumer(cluster: EmbeddedCluster, heard: Heard) -> PushConsumer:
    made = PushConsumer("G", quick_client(cluster), heard, quick())
    made.subscribe("T")
    return made


def test_what_is_committed_arrives_and_what_is_rolled_back_does_not(cluster: EmbeddedCluster) -> None:
    heard = Heard()
    seen: list[tuple[bytes, str]] = []

    def execute(message: OutgoingMessage, message_id: str) -> LocalTransactionState:
        seen.append((message.body, message_id))
        return LocalTransactionState.COMMIT if message.body.startswith(b"good") else LocalTransactionState.ROLLBACK

    with TransactionProducer("TG", quick_client(cluster), never) as producer, consumer(cluster, heard):
        results = [
            producer.send(OutgoingMessage(topic="T", body=body, tags="A", delay_level=3), execute)
            for body in (b"bad 1", b"good 1", b"bad 2", b"good 2")
        ]
        messages = heard.wait_for(2)
    assert [result.state.name for result in results] == ["ROLLBACK", "COMMIT", "ROLLBACK", "COMMIT"]
    assert seen == [(body, result.sent.message_id) for (body, _), result in zip(seen, results, strict=True)]
    assert sorted(message.body for message in messages) == [b"good 1", b"good 2"]
    assert {message.message_id for message in messages} == {results[1].sent.message_id, results[3].sent.message_id}


def test_an_end_means_what_java_s_means(cluster: EmbeddedCluster, recorded_frames: list[RecordedFrame]) -> None:
    cluster.record_requests()
    with TransactionProducer("TG", quick_client(cluster), never) as producer:
        result = producer.send(OutgoingMessage(topic="T", body=b"x"), lambda *_: LocalTransactionState.COMMIT)
        wait_until(lambda: bool(cluster.requests(37)), "ended")
    (end,) = cluster.requests(37)
    assert end.oneway
    assert (end.ext_fields["commitOrRollback"], end.ext_fields["fromTransactionCheck"]) == ("8", "false")
    assert end.ext_fields["msgId"] == result.sent.message_id
    (send,) = cluster.requests(310)
    assert send.ext_fields["f"] == "4"
    theirs = [
        command.ext_fields or {}
        for frame in recorded_frames
        if frame.request_code == 37 and frame.name.startswith("4.9.8")
        for command in [decode(frame.data)]
    ]
    assert theirs
    for ext in theirs:
        assert ext.keys() - end.ext_fields.keys() <= {"transactionId"}


def test_a_local_transaction_that_fails_leaves_the_outcome_to_the_check() -> None:
    with EmbeddedCluster(
        time_scale=SCALE, settings={"transactionCheckInterval": "1000", "transactionTimeOut": "1000"}
    ) as cluster:
        create_topic(cluster, "T")
        heard = Heard()
        checked: list[ReceivedMessage] = []

        def check(message: ReceivedMessage) -> LocalTransactionState:
            checked.append(message)
            if len(checked) == 1:
                raise ValueError("database away")
            return LocalTransactionState.COMMIT

        def broken(message: OutgoingMessage, message_id: str) -> LocalTransactionState:
            raise ValueError("database away")

        client = quick_client(
            cluster, time_scale=SCALE, time_origin_ms=cluster.time_origin_ms, heartbeat_period_ms=30_000
        )
        with TransactionProducer("TG", client, check) as producer, consumer(cluster, heard):
            result = producer.send(OutgoingMessage(topic="T", body=b"x", keys="k"), broken)
            assert (result.state, str(result.error)) == (LocalTransactionState.UNKNOWN, "database away")
            (message,) = heard.wait_for(1)
            assert message.message_id == result.sent.message_id
        assert {(one.topic, one.message_id, one.body) for one in checked} == {("T", result.sent.message_id, b"x")}
        assert any("database away" in str(trouble.error) for trouble in list(producer.producer.instance.troubles.last))


def test_a_half_message_that_is_refused_runs_no_transaction(cluster: EmbeddedCluster) -> None:
    cluster.fault(310, Answer(16, "the broker sending transaction message is forbidden"))
    ran = Event()

    def execute(message: OutgoingMessage, message_id: str) -> LocalTransactionState:
        ran.set()
        return LocalTransactionState.COMMIT

    with (
        TransactionProducer("TG", quick_client(cluster), never) as producer,
        pytest.raises(MqctlError, match="forbidden"),
    ):
        producer.send(OutgoingMessage(topic="T", body=b"x"), execute)
    assert not ran.is_set()
