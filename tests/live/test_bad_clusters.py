"""Clusters in every state but healthy: each command says what was asked of whom, ends with the right code, and shows
what could still be learnt."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import Answer, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.bodies_cluster import RegisterBrokerBody, TopicConfigTable
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.requests_namesrv import RegisterBroker
from tests.client.consuming import wait_until
from tests.conftest import Outcome
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change
from tests.rings import rest_is_long

NAMES = ("broker-a", "broker-b", "broker-c")
EVERYTHING: tuple[tuple[str, ...], ...] = (
    ("allocation", "show", "-g", "G"),
    ("broker", "config"),
    ("broker", "list"),
    ("broker", "describe", "--counters"),
    ("cluster", "describe"),
    ("cluster", "list"),
    ("doctor",),
    ("group", "describe", "-g", "G"),
    ("group", "lag"),
    ("group", "list"),
    ("group", "members", "-g", "G"),
    ("message", "get", "-t", "Pay", "--key", "k1"),
    ("message", "peek", "-t", "Pay"),
    ("message", "tail", "-t", "Pay"),
    ("producer", "list"),
    ("subscription", "check", "-g", "G"),
    ("top", "--once", "--every", "100ms"),
    ("topic", "describe", "-t", "Pay"),
    ("topic", "list"),
    ("topic", "route", "-t", "Pay"),
)
JUDGING = {"doctor", "subscription"}


@pytest.fixture(scope="module", params=["4.9.8", "5.3.3"])
def shared_three(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=3, version=request.param) as running:
        yield running


@pytest.fixture
def three(shared_three: EmbeddedCluster) -> Iterator[EmbeddedCluster]:
    """Three brokers with topic Pay (one queue each, five messages); group G has consumed three of each."""
    shared_three.reset()
    for name in NAMES:
        change(shared_three, name, put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)))
        with Peer(shared_three.broker(name).address) as peer:
            for number in range(5):
                assert peer.call(send("Pay", properties={"KEYS": f"k{number}"}), b"x").code == 0
        change(shared_three, name, put_group(SubscriptionGroupConfig(name="G")))
        change(shared_three, name, commit_offset("G", "Pay", 0, 3))
    yield shared_three
    shared_three.clear_faults()


@pytest.fixture
def asked(mqctl: Run, three: EmbeddedCluster, tmp_path: Path) -> Run:
    """Runs mqctl, which has not seen the brokers that another test registered."""
    places = {"MQCTL_NAMESRV": three.namesrv, "MQCTL_STATE_DIR": str(tmp_path / "state")}
    return lambda *words: mqctl(*words, env=places)


def lags(outcome: Outcome) -> dict[str, int]:
    return {row["broker_name"]: row["lag_count"] for row in outcome.json["queues"]}


# Name server down


def test_without_its_name_server_every_command_names_it_and_ends_with_69(asked: Run, three: EmbeddedCluster) -> None:
    address = three.namesrv
    three.stop_name_server(kill=True)
    try:
        outcomes = {words: asked(*words) for words in EVERYTHING}
    finally:
        three.start_name_server()
    for words, outcome in outcomes.items():
        assert (outcome.exit_code, outcome.stdout, address in outcome.stderr) == (69, "", True), (words, outcome)
        assert "next: " in outcome.stderr, words


# One broker of three


@pytest.fixture(params=rest_is_long(["down", "silent"], "down"))
def lost(request: pytest.FixtureRequest, three: EmbeddedCluster) -> tuple[str, int]:
    """The address of a third broker that is registered and cannot be asked: nobody listens, or nobody answers; and the
    exit code of a read command without it."""
    address = three.broker("broker-c").address
    if request.param == "down":
        three.broker("broker-c").kill()
    else:
        three.fault(None, Drop(), server="broker-c")
    return address, 69 if request.param == "down" else 75


def test_one_broker_of_three_costs_every_command_its_own_part_only(asked: Run, lost: tuple[str, int]) -> None:
    """All commands at once, for most of them wait for the same silence."""
    address, end = lost
    with ThreadPoolExecutor(len(EVERYTHING)) as pool:
        outcomes = pool.map(lambda words: asked(*words, "--timeout", "15s"), EVERYTHING)
    for words, outcome in zip(EVERYTHING, outcomes, strict=True):
        assert outcome.stdout.strip(), (words, outcome)
        assert "Traceback" not in outcome.stderr
        if outcome.exit_code in (0, 66):
            continue  # the name server has noticed, or the route was all that was asked
        if words[0] in JUDGING:
            assert outcome.exit_code in (1, 2, 3), (words, outcome)
        else:
            assert (outcome.exit_code, address in outcome.stderr) == (end, True), (words, outcome)


def test_a_broker_that_accepts_and_never_answers_leaves_the_numbers_of_the_others(
    asked: Run, three: EmbeddedCluster
) -> None:
    silent = three.broker("broker-c").address
    three.fault(None, Drop(), server="broker-c")
    lag = asked("group", "lag", "-g", "G", "-o", "json", "--timeout", "3s")
    assert (lag.exit_code, lags(lag)) == (75, {"broker-a": 2, "broker-b": 2})
    assert f"GET_ALL_CONSUMER_OFFSET was not answered by {silent}" in lag.stderr
    listed = asked("broker", "list", "-o", "json", "--timeout", "3s")
    problems = {row["name"]: row["problem"] for row in listed.json["brokers"]}
    assert (listed.exit_code, problems["broker-a"], silent in problems["broker-c"]) == (75, None, True)
    assert {row["put_tps"] is None for row in listed.json["brokers"] if row["name"] == "broker-c"} == {True}
    peeked = asked("message", "peek", "-t", "Pay", "-o", "json", "--timeout", "3s")
    assert (peeked.exit_code, len(peeked.json["messages"])) == (75, 6)
    assert "queues (broker-c Pay/0) not read" in peeked.stderr


# Routes that lie


def register(server: Peer, name: str, broker_id: int, address: str, topic: str | None = None) -> None:
    """Registers a broker that is not there; it stays as long as the connection."""
    table = TopicConfigTable(topic_config_table={topic: TopicConfig(name=topic)} if topic else {})
    request = RegisterBroker(
        broker_name=name,
        broker_addr=address,
        cluster_name="DefaultCluster",
        ha_server_addr=address,
        broker_id=broker_id,
        compressed=False,
        body_crc32=0,
    )
    assert server.call(request, RegisterBrokerBody(topic_config_serialize_wrapper=table).to_bytes()).code == 0


def test_a_route_that_names_a_dead_address(asked: Run, three: EmbeddedCluster) -> None:
    with Peer(three.namesrv) as server:
        register(server, "broker-x", 0, "127.0.0.1:1", "Ghost")
        route = asked("topic", "route", "-t", "Ghost", "-o", "json")
        assert (route.exit_code, route.json["brokers"][0]["broker"]) == (0, "broker-x")
        for words in (("message", "peek", "-t", "Ghost"), ("message", "tail", "-t", "Ghost")):
            outcome = asked(*words)
            assert (outcome.exit_code, "127.0.0.1:1" in outcome.stderr) == (69, True), (words, outcome)
        lag = asked("group", "lag", "-g", "G", "-o", "json")
        assert (lag.exit_code, lags(lag)) == (69, dict.fromkeys(NAMES, 2))
        assert "127.0.0.1:1" in lag.stderr
        listed = asked("broker", "list", "-o", "json")
        assert (listed.exit_code, len(listed.json["brokers"])) == (69, 4)


def test_a_slave_without_a_master(asked: Run, three: EmbeddedCluster) -> None:
    alive = three.broker("broker-a").address
    with Peer(three.namesrv) as slave:
        with Peer(three.namesrv) as master:
            register(master, "broker-s", 0, "127.0.0.1:1", "Pay")
            register(slave, "broker-s", 1, alive)

        def counts() -> tuple[int, int]:
            described = asked("cluster", "describe", "-o", "json").json
            return described["master_count"], described["slave_count"]

        wait_until(lambda: counts() == (3, 1), "the name server has noticed that the master is gone")
        lag = asked("group", "lag", "-g", "G", "-o", "json")
        assert (lag.exit_code, lags(lag)) == (0, dict.fromkeys((*NAMES, "broker-s"), 2))
        assert lag.json["slaves"] == ["broker-s"]
        words = ("message", "peek", "-t", "Pay", "--broker", "broker-s", "-q", "0", "--from-start", "-o", "json")
        read = asked(*words)
        assert read.exit_code == 0, read.stderr
        assert len(read.json["messages"]) == 3


# Answers that are none


@pytest.mark.parametrize("body", [b'{"offsetTable":5}', b"{", b"", b"[]", b'{"offsetTable":{"Pay@G":{"x":1}}}'])
def test_an_answer_with_wrong_fields_is_named_and_the_rest_is_shown(
    asked: Run, three: EmbeddedCluster, body: bytes
) -> None:
    three.fault(RequestCode.GET_ALL_CONSUMER_OFFSET, Answer(0, body=body), server="broker-b")
    outcome = asked("group", "lag", "-g", "G", "-o", "json")
    assert (outcome.exit_code, lags(outcome)) == (74, {"broker-a": 2, "broker-c": 2}), outcome.stderr
    message = f"The answer of {three.broker('broker-b').address} to GET_ALL_CONSUMER_OFFSET cannot be read"
    assert message in outcome.stderr


@pytest.mark.parametrize("body", [b'{"brokerAddrTable":7}', b"{", b"[1]"])
def test_a_name_server_with_wrong_fields_ends_with_65(asked: Run, three: EmbeddedCluster, body: bytes) -> None:
    three.fault(RequestCode.GET_BROKER_CLUSTER_INFO, Answer(0, body=body))
    for words in (("broker", "list"), ("group", "lag"), ("cluster", "list")):
        outcome = asked(*words)
        assert (outcome.exit_code, "GET_BROKER_CLUSTER_INFO cannot be read" in outcome.stderr) == (65, True), outcome


@pytest.mark.parametrize("offset", [-1, -5])
def test_negative_offsets_are_none(asked: Run, three: EmbeddedCluster, offset: int) -> None:
    table = b'{"offsetTable":{"Pay@G":{0:%d}}}' % offset
    three.fault(RequestCode.GET_ALL_CONSUMER_OFFSET, Answer(0, body=table), server="broker-b")
    rows = {row["broker_name"]: row for row in asked("group", "lag", "-g", "G", "-o", "json").json["queues"]}
    row = rows["broker-b"]
    assert (row["state"], row["lag_count"], row["consumer_offset"]) == ("never-committed", None, None)
    assert rows["broker-a"]["lag_count"] == 2


# Little to see


def test_a_group_with_no_members(asked: Run) -> None:
    members = asked("group", "members", "-g", "G", "-o", "json")
    assert (members.exit_code, members.json["members"]) == (0, [])
    described = asked("group", "describe", "-g", "G", "-o", "json")
    assert (described.exit_code, described.json["members"]) == (0, [])
    checked = asked("subscription", "check", "-g", "G", "-o", "json")
    assert (checked.exit_code, checked.json["consistent"]) == (3, None)
    owners = {tuple(row["owners"]) for row in asked("group", "lag", "-g", "G", "-o", "json").json["queues"]}
    assert owners == {()}


def test_a_topic_on_one_broker_only(asked: Run, three: EmbeddedCluster) -> None:
    change(three, "broker-b", put_topic(TopicConfig(name="Only", read_queue_count=2, write_queue_count=2)))
    change(three, "broker-b", commit_offset("G", "Only", 0, 0))
    answers: dict[str, Any] = {
        noun: asked("topic", noun, "-t", "Only", "-o", "json") for noun in ("describe", "groups", "route", "stats")
    }
    assert {noun: outcome.exit_code for noun, outcome in answers.items()} == dict.fromkeys(answers, 0)
    assert [row["broker"] for row in answers["describe"].json["brokers"]] == ["broker-b"]
    assert [row["broker"] for row in answers["route"].json["brokers"]] == ["broker-b"]
    assert {row["broker"] for row in answers["stats"].json["queues"]} == {"broker-b"}
    assert [(row["group"], row["brokers"]) for row in answers["groups"].json["groups"]] == [("G", "broker-b")]
    lag = asked("group", "lag", "-g", "G", "-t", "Only", "-o", "json")
    assert (lag.exit_code, {row["broker_name"] for row in lag.json["queues"]}) == (0, {"broker-b"})
    assert asked("message", "peek", "-t", "Only", "-o", "json").json["messages"] == []


# Access control


ACL = "org.apache.rocketmq.acl.common.AclException: No acl config for this access key"


@pytest.mark.parametrize(("code", "remark"), [(1, ACL), (16, "no permission")])
@pytest.mark.parametrize(
    "words",
    [
        ("broker", "config"),
        ("broker", "list"),
        ("group", "lag"),
        ("group", "list"),
        ("message", "peek", "-t", "Pay"),
        ("message", "tail", "-t", "Pay"),
        ("topic", "list"),
        ("topic", "describe", "-t", "Pay"),
    ],
    ids=" ".join,
)
def test_access_denied_ends_with_77(
    asked: Run, three: EmbeddedCluster, words: tuple[str, ...], code: int, remark: str
) -> None:
    for name in NAMES:
        three.fault(None, Answer(code, remark=remark), server=name)
    outcome = asked(*words)
    assert (outcome.exit_code, "was refused by" in outcome.stderr) == (77, True), outcome
    assert remark in outcome.stderr
