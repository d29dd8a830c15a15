"""Plans on brokers, topics, groups and stores of kinds that mqctl has never seen: what they do not know is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.fastjson import loads
from mqctl.protocol.recall_handle import RecallHandle
from mqctl.protocol.requests_admin import GetAllSubscriptionGroupConfig, GetAllTopicConfig, GetBrokerConfig
from tests.each import each
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run

RETRIED = {"RETRY_TOPIC": "Pay", "ORIGIN_MESSAGE_ID": "7F0000010000000000000000", "UNIQ_KEY": "7F0000010001"}
HANDLE = str(RecallHandle("Pay", "broker-a", 4_000_000_000_000, "7F0000010002"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    """Topics Pay and New, group G with an offset, one dead letter and one message that waits on level 18."""
    with EmbeddedCluster(brokers=1, version="5.3.3", settings={"recallMessageEnable": "true"}) as cluster:
        address = cluster.broker("broker-a").address
        with Links() as links, Peer(address) as peer:
            for topic in ("Pay", "New", "%DLQ%G"):
                # An attribute that is known: the answers of a healthy broker have a place for one that is not.
                known = TopicConfig(name=topic, attributes={"message.type": "NORMAL"})
                links.ask(address, put_topic(known), Deadline(60_000))
            links.ask(address, put_group(SubscriptionGroupConfig(name="G")), Deadline(60_000))
            for number in range(5):
                assert peer.call(send("Pay"), b"%d" % number).code == 0
            assert peer.call(send("Pay", properties={"DELAY": "18", "UNIQ_KEY": "7F0000010003"}), b"late").code == 0
            assert peer.call(send("%DLQ%G", properties=RETRIED), b"dead").code == 0
            links.ask(address, commit_offset("G", "Pay", 0, 3), Deadline(60_000))
        yield cluster


def spoilt(cluster: EmbeddedCluster, seed: int) -> tuple[str, str, str]:
    """Has the broker answer with a type of topics, an attribute of groups and an engine to come; returns those."""
    random = Random(seed)
    kind, attribute, engine = ("next" + "".join(random.choices("abcdefgh", k=random.randint(1, 9))) for _ in range(3))
    with Peer(cluster.broker("broker-a").address) as peer:
        topics = peer.call(GetAllTopicConfig()).body.replace(b'":"NORMAL"', f'":"{kind}"'.encode())
        groups = json.loads(peer.call(GetAllSubscriptionGroupConfig()).body)
        lines = peer.call(GetBrokerConfig()).body.decode().splitlines()
    assert kind.encode() in topics
    groups["subscriptionGroupTable"]["G"]["attributes"] = {attribute: "1"}
    settings = "\n".join([*(line for line in lines if not line.startswith("storeType=")), f"storeType={engine}"])
    cluster.fault(RequestCode.GET_ALL_TOPIC_CONFIG, Answer(0, body=topics))
    cluster.fault(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, Answer(0, body=json.dumps(groups).encode()))
    cluster.fault(RequestCode.GET_BROKER_CONFIG, Answer(0, body=settings.encode()))
    return kind, attribute, engine


PLANS: dict[tuple[str, ...], str] = {
    ("offset", "reset", "-g", "G", "-t", "Pay", "--to-earliest"): "topic group engine",
    ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "New"): "topic engine",
    ("replay", "follow", "-t", "Pay", "--to", "New"): "topic engine",
    ("dlq", "resend", "-g", "G"): "topic group engine",
    ("delay", "repair", "--resend", "--level", "18"): "topic engine",
    ("message", "recall", HANDLE): "topic engine",
    ("topic", "update", "-t", "Pay", "--queues", "8"): "topic engine",
    ("topic", "delete", "-t", "Pay", "--drop-unread"): "topic engine",
    ("group", "update", "-g", "G", "--retry-max", "3"): "group engine",
    ("broker", "set", "fileReservedTime=48", "--broker", "broker-a"): "engine",
    ("broker", "write", "broker-a", "off"): "",
}


@each("words", PLANS)
def test_a_plan_names_what_it_touches_and_does_not_know(
    mqctl: Run, cluster: EmbeddedCluster, words: tuple[str, ...]
) -> None:
    cluster.clear_faults()
    healthy = mqctl(*words, "-n", cluster.namesrv, "-o", "json")
    assert (healthy.exit_code, healthy.json.get("cautions", [])) == (0, []), healthy.stderr
    kinds = dict(zip(("topic", "group", "engine"), spoilt(cluster, len(" ".join(words))), strict=True))
    plan = mqctl(*words, "-n", cluster.namesrv, "-o", "json")
    assert plan.exit_code == 0, plan.stderr
    said = " ".join(caution["text"] for caution in plan.json.get("cautions", []))
    assert {name for name, word in kinds.items() if word in said} == set(PLANS[words].split()), said


def test_what_a_broker_does_not_tell_of_its_kinds_was_not_checked(mqctl: Run, cluster: EmbeddedCluster) -> None:
    cluster.clear_faults()
    cluster.fault(RequestCode.GET_BROKER_CONFIG, Answer(1, remark="not today"))
    plan = mqctl("dlq", "resend", "-g", "G", "-n", cluster.namesrv, "-o", "json")
    (caution,) = plan.json["cautions"]
    assert (plan.exit_code, caution["key"], caution["values"]["broker"]) == (0, "plan-kinds-not-told", "broker-a")
    assert "not today" in caution["text"]


def test_a_plan_for_a_store_names_what_no_broker_writes_there(
    mqctl: Run, cluster: EmbeddedCluster, store_copy: Callable[[str], Path]
) -> None:
    cluster.clear_faults()
    store = store_copy("store-clean")
    repair = ("delay", "repair", "--store", store, "-o", "json")
    source = ("--store", store, "-t", "TopicTest", "--from-offset", "0")
    publish = ("replay", "publish", *source, "--to", "New", "-n", cluster.namesrv, "-o", "json")
    for words in (repair, publish):
        assert "cautions" not in mqctl(*words).json
    (store / "nextEngine").mkdir()
    for name in ("delayOffset.json", "subscriptionGroup.json"):
        file = store / "config" / name
        document: Any = loads(file.read_bytes())
        file.write_text(json.dumps({**document, "nextTable": {}}))
    (repaired,), (published,) = (mqctl(*words).json["cautions"] for words in (repair, publish))
    assert (repaired["key"], published["key"]) == ("plan-odd-store", "plan-odd-store")
    assert repaired["values"]["parts"] == ["nextEngine", "config/delayOffset.json: nextTable"]
    assert published["values"]["parts"] == ["nextEngine"]
