"""A broker that answers as real ones do: before its queues have the message, and out of order."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from embedded_broker.testing.options import parse
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import GetMaxOffset
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

PULL_NOT_FOUND = 19


def test_a_send_is_answered_before_its_message_can_be_read() -> None:
    with (
        EmbeddedCluster(virtual_time=True, as_real=True) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        offsets = [peer.call(send("T"), b"%d" % number).ext("queueOffset") for number in range(3)]
        assert offsets == ["0", "1", "2"]
        early = peer.call(pull("T", 0))
        assert (early.code, early.remark) == (PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE")
        cluster.advance(1)
        assert [message.body for message in decode_messages(peer.call(pull("T", 0)).body)] == [b"0", b"1", b"2"]


def test_a_held_pull_gets_what_is_dispatched_later_and_a_kill_loses_nothing() -> None:
    with EmbeddedCluster(virtual_time=True, as_real=True) as cluster:
        with Peer(cluster.broker().address) as peer, Peer(cluster.broker().address) as other:
            assert other.call(send("T", queue_id=1), b"makes the topic").code == 0
            held = peer.post(pull("T", 0, wait_ms=20_000))
            assert other.call(send("T"), b"first").code == 0
            cluster.advance(1)
            assert peer.answer_to(held).code == 0
            assert other.call(send("T"), b"second").code == 0
        cluster.broker().kill()
        cluster.broker().start()
        with Peer(cluster.broker().address) as peer:
            assert peer.call(GetMaxOffset(topic="T", queue_id=0)).ext("offset") == "2"


def test_requests_of_one_connection_are_answered_in_another_order() -> None:
    with EmbeddedCluster(as_real=True) as cluster, Peer(cluster.broker().address) as peer:
        pending = [peer.post(GetMaxOffset(topic="TBW102", queue_id=0)) for _ in range(50)]
        answered = [peer.receive(lambda command: command.is_response).opaque for _ in pending]
        assert sorted(answered) == pending
        assert answered != pending


def test_the_command_line_has_the_switch() -> None:
    assert parse(["--as-real"]).spec.settings["asReal"] == "true"
    assert "asReal" not in parse([]).spec.settings
