"""Requests of 5.3.3 about many topics or groups at once, topics that a group may not read, and limits of cold reads."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.requests_client import PullMessage
from mqctl.protocol.requests_v5 import (
    CreateSubscriptionGroupList,
    CreateTopicList,
    GetColdDataFlowCtrInfo,
    GetSubscriptionGroupConfig,
    GetTopicConfig,
    RemoveColdDataFlowCtrConfig,
    UpdateColdDataFlowCtrConfig,
    UpdateGroupForbidden,
)
from mqctl.store.config_files import GROUPS, group_configs, read_config
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.wire import Peer


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3", virtual_time=True) as cluster:
        yield cluster


@pytest.fixture
def peer(cluster: EmbeddedCluster) -> Iterator[Peer]:
    with Peer(cluster.broker().address, version=479) as peer:
        yield peer


def topic(name: str, queues: int = 3, **attributes: str) -> dict[str, object]:
    return {
        "attributes": {f"+{key.replace('_', '.')}": value for key, value in attributes.items()}, "order": False,
        "perm": 6, "readQueueNums": queues, "topicFilterType": "SINGLE_TAG", "topicName": name, "topicSysFlag": 0,
        "writeQueueNums": queues,
    }  # fmt: skip


def body(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def test_topics_are_created_together_or_not_at_all(peer: Peer) -> None:
    wanted = body(topicConfigList=[topic("A", 5, message_type="FIFO"), topic("B")])
    assert peer.call(CreateTopicList(), wanted).code == 0
    config = json.loads(peer.call(GetTopicConfig(topic="A")).body)
    assert (config["readQueueNums"], config["attributes"]) == (5, {"message.type": "FIFO"})
    refused = peer.call(CreateTopicList(), body(topicConfigList=[topic("C"), topic("SCHEDULE_TOPIC_XXXX")]))
    assert refused.code != 0
    assert "conflict with system topic" in (refused.remark or "")
    assert peer.call(GetTopicConfig(topic="C")).code == ResponseCode.TOPIC_NOT_EXIST


def test_groups_are_created_together(peer: Peer) -> None:
    groups = [{"groupName": name, "retryMaxTimes": 3} for name in ("G1", "G2")]
    assert peer.call(CreateSubscriptionGroupList(), body(groupConfigList=groups)).code == 0
    assert json.loads(peer.call(GetSubscriptionGroupConfig(group="G2")).body)["retryMaxTimes"] == 3
    assert peer.call(CreateSubscriptionGroupList(), body()).code == ResponseCode.SYSTEM_ERROR


def test_a_group_does_not_pull_what_it_may_not_read(cluster: EmbeddedCluster, peer: Peer) -> None:
    assert peer.call(send("T"), b"x").code == 0
    assert heartbeat(peer, "c1", group="G", subscriptions={"T": "*"}).code == 0
    pull = PullMessage(
        consumer_group="G", topic="T", queue_id=0, queue_offset=0, max_msg_nums=32, sys_flag=0, commit_offset=0,
        suspend_timeout_millis=0, sub_version=0,
    )  # fmt: skip
    assert peer.call(pull).code == 0
    forbidden = peer.call(UpdateGroupForbidden(group="G", topic="T", readable=False))
    assert json.loads(forbidden.body) == {"group": "G", "readable": False, "topic": "T"}
    refused = peer.call(pull)
    assert (refused.code, refused.ext("forbiddenType")) == (ResponseCode.NO_PERMISSION, "5")
    assert refused.remark == "the consumer group[G] is forbidden for topic[T]"
    assert peer.call(CreateSubscriptionGroupList(), body(groupConfigList=[{"groupName": "G"}])).code == 0
    stored = group_configs(read_config(cluster.broker().store / "config", GROUPS))
    assert {one.name: dict(one.forbidden) for one in stored}["G"] == {"T": 4}, "settings change, that stays"
    assert json.loads(peer.call(UpdateGroupForbidden(group="G", topic="T")).body)["readable"] is False
    peer.call(UpdateGroupForbidden(group="G", topic="T", readable=True))
    assert peer.call(pull).code == 0


def test_limits_of_cold_reads_are_kept(peer: Peer) -> None:
    recorded = b'"cgColdReadThreshold":3145728,"globalColdReadThreshold":104857600,"globalAcc":0}'
    assert peer.call(GetColdDataFlowCtrInfo()).body == b'{"runtimeTable":{},"configTable":{},' + recorded
    assert peer.call(UpdateColdDataFlowCtrConfig(), b"CG_push=100000\nCG_other=fast\n").code == 0
    assert json.loads(peer.call(GetColdDataFlowCtrInfo()).body)["configTable"] == {"CG_push": 100_000}
    assert peer.call(RemoveColdDataFlowCtrConfig(), b"CG_push").code == 0
    assert json.loads(peer.call(GetColdDataFlowCtrInfo()).body)["configTable"] == {}
