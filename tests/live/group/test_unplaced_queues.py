"""A group without an offset: whether it begins at the end is what its broker answers (request 14)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.protocol.codes import RequestCode, ResponseCode
from tests.conftest import Outcome
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer

pytestmark = pytest.mark.slow


def test_n13_a_young_queue_without_an_answer_is_begun_at_its_end(mqctl: Callable[..., Outcome]) -> None:
    with EmbeddedCluster() as cluster:
        words = ("doctor", "-g", "N", "--only", "MQ415", "--namesrv", cluster.namesrv, "-o", "json")
        with Peer(cluster.broker().address) as peer:
            for _ in range(3):
                peer.call(send("T", queue_id=1), b"before the first consumer")
            heartbeat(peer, "192.0.2.9@new", group="N", subscriptions={"T": "*"})
            assert mqctl(*words).json["findings"] == []  # all in memory: the broker answers 0, and nothing is skipped
            gone = Answer(ResponseCode.QUERY_NOT_FOUND, "Not found, maybe this group consumer boot first")
            cluster.fault(RequestCode.QUERY_CONSUMER_OFFSET, gone, where={"consumerGroup": "N"})
            (finding,) = mqctl(*words).json["findings"]
    assert finding["code"] == "MQ415"
    assert finding["evidence"] == {"skipped_count": 3, "queue_count": 1}
