"""What has just been started: a name server that knows nobody, a slave that has not copied its master's topics."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import TopicConfig
from tests.live.conftest import Run


def test_a_name_server_that_knows_nobody_is_no_all_clear_and_one_finding(mqctl: Run) -> None:
    with EmbeddedCluster(brokers=2) as cluster, EmbeddedCluster(brokers=["away"]) as other:
        other.broker("away").stop()
        empty = other.namesrv
        both = f"{cluster.namesrv};{empty}"
        assert mqctl("doctor", "--namesrv", cluster.namesrv).exit_code == 0
        outcome = mqctl("doctor", "--namesrv", both, "-o", "json")
    (finding,) = outcome.json["findings"]
    assert (outcome.exit_code, finding["code"], finding["confidence"]) == (1, "MQ635", "low")
    assert f"{empty} does not list 2 of 2 brokers that others list: broker-a, broker-b" in finding["what"]


def test_a_slave_that_copies_topics_in_a_moment_is_not_judged_yet(mqctl: Run) -> None:
    with EmbeddedCluster(brokers=["broker-a"], slaves=1, version="5.3.3") as cluster:
        with Cluster(cluster.namesrv) as whole:
            config = TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)
            whole.ask(cluster.broker("broker-a").address, put_topic(config), Deadline(60_000))
        outcome = mqctl("doctor", "--namesrv", cluster.namesrv, "--only", "MQ139", "-o", "json")
    assert (outcome.exit_code, outcome.json["findings"]) == (3, [])
    assert "was started a moment ago" in outcome.json["not_judged"][0]["reason"]
