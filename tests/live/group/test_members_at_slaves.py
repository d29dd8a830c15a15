"""Where a master is gone, its slave is asked who is online: nobody says "no member" of whom it did not ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_broker import Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import Consumed
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import TopicConfig
from mqctl.protocol.codes import RequestCode
from tests.client.consuming import wait_until
from tests.live.conftest import Run


@pytest.mark.parametrize("release", ["4.9.8", "5.3.3"])
def test_members_are_known_when_their_master_is_gone(mqctl: Run, release: str) -> None:
    with EmbeddedCluster(version=release, slaves=1) as cluster, Cluster(cluster.namesrv) as client:
        topic = TopicConfig(name="Score", read_queue_count=2, write_queue_count=2)
        client.ask(cluster.broker().address, put_topic(topic), Deadline(60_000))
        consumer = PushConsumer(
            "scores", ClientSettings(name_servers=cluster.namesrv), lambda messages, context: Consumed.SUCCESS
        )
        consumer.subscribe("Score", "*")
        consumer.start()
        place = ("-n", cluster.namesrv)
        try:
            cluster.broker("broker-a").kill()
            wait_until(lambda: not client.masters(), "the name server to drop the master")
            members = mqctl("group", "members", *place, "-g", "scores", "-o", "json")
            assert members.exit_code == 0, members.stderr
            assert [item["client_id"] for item in members.json["members"]] == [consumer.instance.client_id]
            (row,) = (item for item in mqctl("group", "list", *place, "-o", "json").json["groups"])
            assert (row["group"], row["member_count"]) == ("scores", 1)
            doctor = mqctl("doctor", *place, "-o", "json")
            assert doctor.json["online_group_count"] == 1
            assert [item["code"] for item in doctor.json["findings"]] == ["MQ609"]
        finally:
            consumer.shutdown()


@pytest.mark.parametrize("release", ["4.9.8", "5.3.3"])
def test_members_are_known_when_their_master_hangs(mqctl: Run, release: str, tmp_path: Path) -> None:
    """It takes connections and answers nothing, and is registered all the same."""
    with EmbeddedCluster(version=release, slaves=2) as cluster, Cluster(cluster.namesrv) as client:
        topic = TopicConfig(name="Score", read_queue_count=2, write_queue_count=2)
        client.ask(cluster.broker().address, put_topic(topic), Deadline(60_000))
        consumer = PushConsumer(
            "scores", ClientSettings(name_servers=cluster.namesrv), lambda messages, context: Consumed.SUCCESS
        )
        consumer.subscribe("Score", "*")
        consumer.start()
        file = tmp_path / "x.snap"
        place = ("-n", cluster.namesrv)
        try:
            for code in RequestCode:
                cluster.fault(int(code), Drop(), server="broker-a")
            members = mqctl("group", "members", *place, "-g", "scores", "-o", "json")
            assert [item["client_id"] for item in members.json["members"]] == [consumer.instance.client_id], members
            (row,) = (item for item in mqctl("group", "list", *place, "-o", "json").json["groups"])
            assert (row["group"], row["member_count"]) == ("scores", 1)
            doctor = mqctl("doctor", *place, "-o", "json")
            assert doctor.json["online_group_count"] == 1, doctor.stdout
            assert "MQ620" in {item["code"] for item in doctor.json["findings"]}
            mqctl("snapshot", "save", *place, file)
            saved = mqctl("group", "members", "--snapshot", file, "-g", "scores", "-o", "json")
            assert [item["client_id"] for item in saved.json["members"]] == [consumer.instance.client_id], saved
        finally:
            cluster.clear_faults()
            consumer.shutdown()
