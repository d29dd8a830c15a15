"""Brokers of a release that mqctl has never seen: answers and plans say so, and known releases stay as they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embedded_broker import Answer, EmbeddedCluster
from embedded_broker.release import RELEASES, Release
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.names import ROCKSDB_HALF_TOPIC
from mqctl.model.release import NEWEST, release_text
from mqctl.protocol.codes import RequestCode, version_ordinal
from mqctl.protocol.requests_admin import GetAllTopicConfig, GetBrokerConfig
from tests.each import each
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run

NEXT = "5.9.0"


@pytest.fixture(scope="module", params=["5.3.3", NEXT])
def cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """A broker with topic Pay and group G, of the newest release it can be, and of one to come that behaves alike."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RELEASES, NEXT, Release(NEXT, version_ordinal(NEXT), is_v5=True))
        with EmbeddedCluster(brokers=1, version=request.param) as cluster:
            address = cluster.broker("broker-a").address
            with Links() as links, Peer(address) as peer:
                links.ask(address, put_topic(TopicConfig(name="Pay")), Deadline(60_000))
                links.ask(address, put_group(SubscriptionGroupConfig(name="G")), Deadline(60_000))
                for number in range(5):
                    assert peer.call(send("Pay"), b"%d" % number).code == 0
                links.ask(address, commit_offset("G", "Pay", 0, 3), Deadline(60_000))
            yield cluster


def is_next(cluster: EmbeddedCluster) -> bool:
    return cluster.spec.version == NEXT


PLANS = (
    ("offset", "reset", "-g", "G", "-t", "Pay", "--to-earliest"),
    ("topic", "update", "-t", "Pay", "--queues", "8"),
    ("topic", "delete", "-t", "Pay", "--drop-unread"),
    ("broker", "set", "fileReservedTime=48", "--broker", "broker-a"),
    ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Pay"),
)


@each("words", PLANS)
def test_a_plan_for_a_newer_release_says_that_it_was_never_tried_there(
    mqctl: Run, cluster: EmbeddedCluster, words: tuple[str, ...]
) -> None:
    plan = mqctl(*words, "-n", cluster.namesrv, "-o", "json")
    assert plan.exit_code == 0, plan.stderr
    said = plan.json.get("cautions", [])
    shown = mqctl(*words, "-n", cluster.namesrv).stdout
    if not is_next(cluster):
        assert (said, "caution" in shown) == ([], False)
        return
    broker, namesrv = cluster.broker("broker-a").address, cluster.namesrv
    (caution,) = said
    assert caution["key"] == "plan-newer-release"
    assert caution["values"]["release"] == NEXT
    assert caution["values"]["newest"] == release_text(NEWEST)
    assert {namesrv, broker} & set(caution["values"]["addresses"])
    assert f"caution: {caution['text']}" in " ".join(shown.split())


def test_a_change_of_a_newer_release_is_made_all_the_same(mqctl: Run, cluster: EmbeddedCluster) -> None:
    words = ("offset", "reset", "-g", "G", "-t", "Pay", "--shift-by", "-1", "--clamp", "-n", cluster.namesrv)
    done = mqctl(*words, "--execute", "--confirm", "G")
    assert done.exit_code == 0, done.stderr
    assert ("try it on a small part first" in done.stderr) == is_next(cluster)
    mqctl("undo", "--last", "-n", cluster.namesrv, "--execute", "--confirm", "G")


JUDGING = (
    ("ha", "status"),
    ("delay", "levels"),
    ("transaction", "list"),
)


@each("words", JUDGING)
def test_a_judgement_that_rests_on_what_releases_change_is_not_checked(
    mqctl: Run, cluster: EmbeddedCluster, words: tuple[str, ...]
) -> None:
    answer = mqctl(*words, "-n", cluster.namesrv, "-o", "json")
    gaps = [gap for gap in answer.json.get("unavailable", []) if gap["cause"] == "unproven"]
    if not is_next(cluster):
        assert (answer.exit_code, gaps) == (0, [])
        return
    assert (answer.exit_code, {(gap["broker"], gap["key"]) for gap in gaps}) == (
        3,
        {("broker-a", "not-judged-newer-release")},
    )
    assert "not checked" in mqctl(*words, "-n", cluster.namesrv).stdout


def test_what_is_merely_shown_is_shown_with_a_word_about_who_told_it(mqctl: Run, cluster: EmbeddedCluster) -> None:
    answer = mqctl("broker", "config", "broker-a", "-n", cluster.namesrv, "-o", "json")
    assert answer.exit_code == 0
    assert ("GET_BROKER_CONFIG" in answer.stderr) == is_next(cluster)
    peeked = mqctl("message", "peek", "-t", "Pay", "-n", cluster.namesrv)
    assert (peeked.exit_code, peeked.stderr) == (0, "")  # clients of every release pull


def test_a_diagnosis_names_the_release_once(mqctl: Run, cluster: EmbeddedCluster) -> None:
    seen = mqctl("doctor", "-n", cluster.namesrv)
    assert (seen.exit_code == 3, NEXT in seen.stdout, "newer than those" in seen.stderr) == (
        is_next(cluster),
        is_next(cluster),
        False,
    )


@each("value", ["LITE", "PRIORITY", "NORMAL", "FIFO"])
def test_a_plan_for_a_topic_of_an_unknown_kind_says_so(mqctl: Run, empty: EmbeddedCluster, value: str) -> None:
    empty.reset()
    address = empty.broker("broker-a").address
    with Links() as links, Peer(address) as peer:
        links.ask(address, put_topic(TopicConfig(name="Pay", attributes={"message.type": "DELAY"})), Deadline(60_000))
        body = peer.call(GetAllTopicConfig()).body
    assert b'"message.type":"DELAY"' in body
    changed = body.replace(b'"message.type":"DELAY"', f'"message.type":"{value}"'.encode())
    empty.fault(RequestCode.GET_ALL_TOPIC_CONFIG, Answer(0, body=changed))
    plan = mqctl("topic", "update", "-t", "Pay", "--queues", "8", "-n", empty.namesrv, "-o", "json")
    said = [(item["key"], item["values"]["value"]) for item in plan.json.get("cautions", [])]
    assert (plan.exit_code, said) == (0, [("plan-odd-attribute", value)] if value in ("LITE", "PRIORITY") else [])


@pytest.fixture(scope="module")
def empty() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=1, version="5.3.3") as cluster:
        yield cluster


ENGINES = {
    "timers": ({"timerRocksDBEnable": "true"}, ("delay", "levels"), "timers-in-database"),
    "timers, back on the wheel": (
        {"timerRocksDBEnable": "true", "timerRocksDBStopScan": "true"},
        ("delay", "levels"),
        None,
    ),
    "transactions": (
        {"transRocksDBEnable": "true", "transWriteOriginTransHalfEnable": "false"},
        ("transaction", "list"),
        "transactions-in-database",
    ),
    "transactions, written to the topic as ever": ({"transRocksDBEnable": "true"}, ("transaction", "list"), None),
    "an engine to come": ({"storeType": "nextEngine"}, ("ha", "status"), "not-judged-odd-setting"),
}


@each("name", ENGINES)
def test_an_engine_that_no_request_tells_about_is_named(mqctl: Run, empty: EmbeddedCluster, name: str) -> None:
    settings, words, key = ENGINES[name]
    empty.reset()
    with Peer(empty.broker("broker-a").address) as peer:
        lines = peer.call(GetBrokerConfig()).body.decode().splitlines()
    kept = [line for line in lines if line.split("=")[0] not in settings]
    body = "\n".join([*kept, *(f"{name}={value}" for name, value in settings.items())]).encode()
    empty.fault(RequestCode.GET_BROKER_CONFIG, Answer(0, body=body))
    answer = mqctl(*words, "-n", empty.namesrv, "-o", "json")
    gaps = {gap["key"] for gap in answer.json.get("unavailable", [])}
    assert (gaps, answer.exit_code != 0) == ({key} if key else set(), key is not None)


@each("words", [("delay", "levels"), ("transaction", "list")])
def test_an_engine_that_a_broker_does_not_tell_is_not_taken_for_files(
    mqctl: Run, empty: EmbeddedCluster, words: tuple[str, ...]
) -> None:
    """A broker of 5.4.0 or newer has the topics of transactions in RocksDB from its start."""
    empty.reset()
    address = empty.broker("broker-a").address
    with Links() as links, Peer(address) as peer:
        links.ask(address, put_topic(TopicConfig(name="Pay")), Deadline(60_000))
        body = peer.call(GetAllTopicConfig()).body
    listed = body.replace(b'"Pay"', f'"{ROCKSDB_HALF_TOPIC}"'.encode())
    empty.fault(RequestCode.GET_ALL_TOPIC_CONFIG, Answer(0, body=listed))
    readable = mqctl(*words, "-n", empty.namesrv, "-o", "json")
    assert (readable.exit_code, readable.json.get("unavailable", [])) == (0, [])
    empty.fault(RequestCode.GET_BROKER_CONFIG, Answer(16, remark="no permission"))
    refused = mqctl(*words, "-n", empty.namesrv, "-o", "json")
    parts = {gap["part"] for gap in refused.json["unavailable"]}
    assert {"delay": "delay-timers", "transaction": "transactions"}[words[0]] in parts
    assert refused.exit_code != 0
    empty.reset()
    empty.fault(RequestCode.GET_ALL_TOPIC_CONFIG, Answer(0, body=listed))
    empty.fault(RequestCode.GET_BROKER_CONFIG, Answer(0, body=DATABASE))
    kept = mqctl(*words, "-n", empty.namesrv, "-o", "json")
    assert {gap["key"] for gap in kept.json["unavailable"]} == {f"{words[0]}s-in-database".replace("delay", "timer")}


DATABASE = b"timerRocksDBEnable=true\ntransRocksDBEnable=true\ntransWriteOriginTransHalfEnable=false\n"
