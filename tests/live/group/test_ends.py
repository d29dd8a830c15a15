"""The ends of queues are asked for all at once, not one after another."""

from __future__ import annotations

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.model.config import TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change

_MAX, _MIN = 30, 31
QUEUES = 6


def ends(cluster: EmbeddedCluster) -> list[tuple[int, str, int]]:
    """Codes, topics and queues of the requests for ends that broker-a got, in the order it got them."""
    return [
        (item.code, item.ext_fields["topic"], int(item.ext_fields["queueId"]))
        for item in cluster.requests(server="broker-a")
        if item.code in (_MAX, _MIN)
    ]


def test_both_ends_of_all_queues_are_one_flight(live: Run, cluster: EmbeddedCluster) -> None:
    change(cluster, "broker-a", put_topic(TopicConfig(name="Wide", read_queue_count=QUEUES, write_queue_count=QUEUES)))
    cluster.record_requests()
    assert live("message", "peek", "-t", "Wide", "-o", "json").exit_code == 0
    # A second flight would have all the ends behind all the beginnings.
    assert ends(cluster) == [(code, "Wide", queue) for queue in range(QUEUES) for code in (_MIN, _MAX)]


def test_so_are_those_of_transaction_topics(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        half = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": "u"}
        assert peer.call(send("Pay", properties=half, sys_flag=4), b"x").code == 0
    cluster.record_requests()
    cluster.fault(_MIN, Drop(), server="broker-a")
    outcome = live("transaction", "list", "--timeout", "3s", "-o", "json")
    assert outcome.exit_code == 75, outcome.stderr
    # The first answer never came; the other three questions did not wait for it.
    half_topic, op_topic = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
    assert sorted(ends(cluster)) == [(code, topic, 0) for code in (_MAX, _MIN) for topic in (half_topic, op_topic)]
