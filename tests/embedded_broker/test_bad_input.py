from __future__ import annotations

import logging
import struct

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.server import Limits
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import FLAG_ONEWAY, RemotingCommand, encode
from mqctl.protocol.requests_client import GetMaxOffset, Heartbeat
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

_FINE = GetMaxOffset(topic="T", queue_id=0)


def frame(header: bytes, *, kind: int = 0) -> bytes:
    return struct.pack(">iI", 4 + len(header), kind << 24 | len(header)) + header


@pytest.mark.parametrize(
    "data",
    [
        frame(b"no json"),
        frame(b"[]"),
        frame(b'{"code":"x"}'),
        frame(b"{}", kind=7),
        frame(b"\0\1", kind=1),
        struct.pack(">i", -1),
        struct.pack(">i", 3),
        struct.pack(">i", 20 * 1024 * 1024),
        struct.pack(">iI", 8, 100) + b"1234",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_no_frame_closes_the_connection_with_one_line(
    cluster: EmbeddedCluster, broker: Peer, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "embedded_broker"):
        broker.socket.sendall(data)
        assert broker.closed()
    assert len([record for record in caplog.records if "connection closed" in record.getMessage()]) == 1
    with Peer(cluster.broker().address) as other:
        assert other.call(_FINE).code == 0


def test_requests_before_the_bad_bytes_are_answered(broker: Peer) -> None:
    good = encode(_FINE.command(opaque=77))
    broker.socket.sendall(good + struct.pack(">i", -5))
    assert broker.answer_to(77).code == 0
    assert broker.closed()


def test_an_unknown_code_is_answered_and_the_connection_stays(broker: Peer) -> None:
    broker.socket.sendall(encode(RemotingCommand(code=9999, opaque=5)))
    answer = broker.answer_to(5)
    assert (answer.code, answer.remark) == (
        ResponseCode.REQUEST_CODE_NOT_SUPPORTED, " request type 9999 not supported",
    )  # fmt: skip
    assert broker.call(_FINE).code == 0


def test_a_name_server_of_4x_says_nothing_to_an_unknown_code(namesrv: Peer) -> None:
    namesrv.socket.sendall(encode(RemotingCommand(code=9999, opaque=5)))
    namesrv.socket.sendall(encode(RemotingCommand(code=206, opaque=6)))
    assert namesrv.receive(lambda _: True).opaque == 6


def test_a_oneway_request_gets_no_answer_even_when_it_is_unknown(broker: Peer) -> None:
    broker.socket.sendall(encode(RemotingCommand(code=9999, opaque=5, flag=FLAG_ONEWAY)))
    broker.socket.sendall(encode(_FINE.command(opaque=6)))
    assert broker.receive(lambda _: True).opaque == 6


def test_a_response_to_nothing_is_ignored(broker: Peer) -> None:
    broker.socket.sendall(encode(RemotingCommand(code=0, opaque=5, flag=1)))
    assert broker.call(_FINE).code == 0


def test_missing_and_unreadable_fields(broker: Peer) -> None:
    broker.socket.sendall(encode(RemotingCommand(code=30, opaque=5, ext_fields={"topic": "T"})))
    answer = broker.answer_to(5)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith("java.lang.NullPointerException")
    broker.socket.sendall(encode(RemotingCommand(code=310, opaque=6, ext_fields={"b": "T", "e": "many"})))
    answer = broker.answer_to(6)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert broker.call(_FINE).code == 0


@pytest.mark.parametrize("body", [b"", b"null", b"{", b'{"consumerDataSet":1,"clientID":"x"}', b"\xff\xfe"])
def test_bodies_that_do_not_match(broker: Peer, body: bytes) -> None:
    assert broker.call(Heartbeat(), body).code == ResponseCode.SYSTEM_ERROR
    assert broker.call(_FINE).code == 0


def test_a_frame_in_single_bytes_is_a_frame(broker: Peer) -> None:
    for byte in encode(_FINE.command(opaque=5)):
        broker.socket.sendall(bytes((byte,)))
    assert broker.answer_to(5).code == 0


def test_many_frames_in_one_piece(broker: Peer) -> None:
    broker.socket.sendall(b"".join(encode(_FINE.command(opaque=number)) for number in range(500)))
    for number in range(500):
        assert broker.receive(lambda _: True).opaque == number


def test_half_a_frame_that_never_ends(caplog: pytest.LogCaptureFixture) -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(_FINE).code == 0
        peer.socket.sendall(encode(send("T").command(opaque=9, body=bytes(100)))[:-1])
        with Peer(cluster.broker().address) as other:
            assert other.call(_FINE).code == 0
            cluster.advance(25_000)
            assert other.call(_FINE).code == 0
            cluster.advance(10_000)
            assert peer.closed()
            assert other.call(_FINE).code == 0
    assert any("has not ended" in record.getMessage() for record in caplog.records)


def test_connections_that_say_nothing_are_closed() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster:
        silent = [Peer(cluster.broker().address) for _ in range(200)]
        with Peer(cluster.broker().address) as other:
            assert other.call(_FINE).code == 0
            cluster.advance(115_000)
            assert other.call(_FINE).code == 0
            cluster.advance(10_000)
            assert all(peer.closed() for peer in silent)
            assert other.call(_FINE).code == 0
        for peer in silent:
            peer.socket.close()


def test_more_connections_than_the_limit() -> None:
    with EmbeddedCluster(limits=Limits(connections=3)) as cluster:
        peers = [Peer(cluster.broker().address) for _ in range(3)]
        assert all(peer.call(_FINE).code == 0 for peer in peers)
        with Peer(cluster.broker().address) as late:
            assert late.closed()
        peers.pop().socket.close()
        assert all(peer.call(_FINE).code == 0 for peer in peers)
        for peer in peers:
            peer.socket.close()


def test_a_full_disk_answers_14_and_recovers() -> None:
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(send("T"), b"before").code == 0
        cluster.broker().limit_disk(0)
        answer = peer.call(send("T"), b"lost")
        assert (answer.code, answer.ext("MSG_REGION")) == (ResponseCode.SERVICE_NOT_AVAILABLE, "DefaultRegion")
        assert peer.call(pull("T", 0)).code == 0
        cluster.broker().limit_disk(None)
        assert peer.call(send("T"), b"after").ext("queueOffset") == "1"
