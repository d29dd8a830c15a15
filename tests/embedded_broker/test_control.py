from __future__ import annotations

from time import monotonic

import pytest

from embedded_broker import Answer, CloseConnection, CutFrame, Delay, Drop, EmbeddedCluster
from mqctl.protocol.requests_client import GetMaxOffset
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

_MAX = GetMaxOffset(topic="T", queue_id=0)


def test_another_answer_as_often_as_told(cluster: EmbeddedCluster, broker: Peer) -> None:
    fault = cluster.fault(310, Answer(2, remark="busy"), times=2, where={"b": "T"})
    answers = [broker.call(send("T"), b"x") for _ in range(3)]
    assert [answer.code for answer in answers] == [2, 2, 0]
    assert answers[0].remark == "busy"
    assert fault.hits == 2
    cluster.fault(310, Answer(2), where={"b": "Other"})
    assert broker.call(send("T"), b"x").code == 0


def test_a_request_is_dropped(cluster: EmbeddedCluster, broker: Peer) -> None:
    cluster.fault(30, Drop(), times=1)
    broker.post(_MAX)
    second = broker.post(_MAX)
    assert broker.receive(lambda command: command.is_response).opaque == second


def test_the_connection_is_closed(cluster: EmbeddedCluster, broker: Peer) -> None:
    cluster.fault(None, CloseConnection(), times=1, server="broker-a")
    broker.post(_MAX)
    assert broker.closed()


def test_a_frame_is_cut_in_half(cluster: EmbeddedCluster, broker: Peer) -> None:
    cluster.fault(30, CutFrame(), times=1)
    broker.post(_MAX)
    with pytest.raises(ConnectionError):
        broker.receive(lambda _: True)
    assert broker._decoder.pending_bytes > 0


def test_a_delay_obeys_the_clock() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        cluster.fault(30, Delay(60_000), times=1)
        late = peer.post(_MAX)
        prompt = peer.post(_MAX)
        assert peer.receive(lambda command: command.is_response).opaque == prompt
        cluster.advance(60_000)
        assert peer.answer_to(late).code == 0


def test_requests_are_logged_when_asked_for(cluster: EmbeddedCluster, broker: Peer) -> None:
    broker.call(send("T"), b"x")
    assert cluster.requests() == []
    cluster.record_requests()
    broker.call(send("T"), b"body")
    broker.call(pull("T", 0))
    (sent,) = cluster.requests(310)
    assert (sent.server, sent.peer, sent.ext_fields["b"], sent.body) == ("broker-a", broker.local, "T", b"body")
    assert len(cluster.requests(server="broker-a")) == 2


def test_a_clock_on_a_scale_makes_minutes_short() -> None:
    with EmbeddedCluster(time_scale=1000.0) as cluster, Peer(cluster.broker().address) as peer:
        began = monotonic()
        peer.call(send("T"), b"x")
        assert peer.call(pull("T", 1, wait_ms=30_000)).code == 19
        assert monotonic() - began < 25  # not the thirty seconds that it was told
        assert cluster.now_ms() > 0
