"""Groups behind a proxy of 5.x: no broker knows their members, and its remoting port tells them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group
from mqctl.errors import DeadlineError
from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.gap import Cause
from mqctl.protocol.frame import RemotingCommand
from mqctl.snapshot.live.running import _not_passed_on
from tests.client.wire_server import Peer as Asker
from tests.client.wire_server import WireServer, closed_address
from tests.embedded_broker.messages import heartbeat, send
from tests.embedded_broker.test_pop import ack, pop, popped
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change
from tests.pop_recording import recorded_pop_frames

CLIENTS = ("client-host@1@1@cons", "client-host@1@4@push")
MEMBERS, IDS, INFO = 203, 38, 307
NOBODY = "no member of the group is online"


@pytest.fixture(scope="module")
def shared_cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(brokers=2, version="5.3.3") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def recorded() -> Mapping[int, RemotingCommand]:
    """What a real 5.3.3 answered about gRPC clients: who they are, and nothing to what they do."""
    frames = [frame for frame in recorded_pop_frames() if frame.session == "local_proxy" and frame.command.is_response]
    return {frame.request_code: frame.command for frame in frames if frame.request_code in (MEMBERS, INFO)}


@pytest.fixture
def proxy(recorded: Mapping[int, RemotingCommand]) -> Iterator[WireServer]:
    def answer(peer: Asker, command: RemotingCommand) -> None:
        group = (command.ext_fields or {}).get("consumerGroup")
        if group != "G":
            peer.send(command.answer(206, remark=f"the consumer group[{group}] not online"))
        elif command.code == IDS:
            peer.send(command.answer(0, body=json.dumps({"consumerIdList": CLIENTS}).encode()))
        elif command.code in recorded:
            answers = recorded[command.code]
            peer.send(command.answer(answers.code, body=answers.body, remark=answers.remark))
        else:
            peer.send(command.answer(3, remark=f"request type {command.code} not supported"))

    with WireServer(answer) as server:
        yield server


def test_members_are_those_that_the_proxy_knows(live: Run, proxy: WireServer) -> None:
    outcome = live("group", "members", "-g", "G", "--proxy", proxy.address, "-o", "json")
    assert outcome.exit_code == 0, outcome
    rows = outcome.json["members"]
    assert [(row["client_id"], row["brokers"]) for row in rows] == [
        (name, f"proxy {proxy.address}") for name in CLIENTS
    ]
    assert [row["language"] for row in rows] == ["PYTHON", "PYTHON"]
    assert [(row["topic"], row["broker"]) for row in outcome.json["subscriptions"]] == [
        ("GTN", f"proxy {proxy.address}")
    ]
    assert "ask no gRPC client" in outcome.stderr


def test_what_a_proxy_does_not_answer_is_said_of_the_kind_of_client_that_it_is() -> None:
    """No sentence names a release: what was seen of one is said of others as well."""
    for client, key in (
        (CLIENTS[0], "snapshot-proxy-asks-no-grpc"),
        ("192.0.2.7@4711#1", "snapshot-proxy-gave-no-answer"),
    ):
        gap = _not_passed_on(("G", client), DeadlineError("late"))
        assert (gap.key, gap.cause, release_words(gap.reason)) == (key, Cause.UNSUPPORTED, [])


def release_words(text: str) -> list[str]:
    return re.findall(r"\b[45]\.\d+\.\d+\b", text)


def test_the_profile_names_the_proxy(live: Run, cluster: EmbeddedCluster, proxy: WireServer) -> None:
    saved = live("profile", "add", "here", "--namesrv", cluster.namesrv, "--proxy", proxy.address)
    assert saved.exit_code == 0, saved
    listed = live("group", "list", "--profile", "here", "-o", "json").json["groups"]
    assert [(row["group"], row["member_count"]) for row in listed if row["group"] == "G"] == [("G", 2)]
    shown = live("group", "describe", "-g", "G", "--profile", "here")
    assert (shown.exit_code, CLIENTS[1] in shown.stdout) == (0, True), shown
    assert live("profile", "add", "bad", "--namesrv", cluster.namesrv, "--proxy", "host:port").exit_code == 64


def test_a_group_behind_a_proxy_is_online(live: Run, proxy: WireServer) -> None:
    """Neither its lag nor the doctor takes it for one that nobody consumes for."""
    assert live("group", "lag", "--online", "-o", "json").json["groups"] == []
    online = live("group", "lag", "--online", "--proxy", proxy.address, "-o", "json").json["groups"]
    assert [row["group"] for row in online] == ["G"]
    owned = live("group", "lag", "-g", "G", "--proxy", proxy.address, "-o", "json").json["queues"]
    assert {row["owners"] is None for row in owned} == {True}, owned
    alone = live("doctor", "-g", "G").stdout
    known = live("doctor", "-g", "G", "--proxy", proxy.address).stdout
    assert (NOBODY in alone, NOBODY in known) == (True, False), known


def test_a_proxy_that_is_out_of_reach_leaves_its_groups_unknown(live: Run) -> None:
    gone = closed_address()
    outcome = live("group", "members", "-g", "G", "--proxy", gone, "-o", "json")
    assert (outcome.exit_code, outcome.json["members"], gone in outcome.stderr) == (69, [], True), outcome
    judged = live("doctor", "-g", "G", "--proxy", gone)
    assert (judged.exit_code, NOBODY in judged.stdout, gone in judged.stdout) == (3, False, True), judged


def test_stacks_of_clients_that_nobody_asks_are_told_to_be_missing(live: Run, proxy: WireServer) -> None:
    outcome = live("stacks", "dump", "-g", "G", "--proxy", proxy.address)
    assert outcome.exit_code != 0
    assert "ask no gRPC client" in outcome.stderr + outcome.stdout


def test_a_group_that_is_served_unseen_is_named_as_probably_behind_a_proxy(mqctl: Run, proxy: WireServer) -> None:
    def told(*words: str) -> bool:
        return "MQCTL_PROXY=HOST:PORT" in mqctl("group", *words, env={"MQCTL_NAMESRV": cluster.namesrv}).stderr

    with (
        EmbeddedCluster(version="5.3.3", virtual_time=True) as cluster,
        Peer(cluster.broker().address, version=479) as peer,
    ):
        for number in range(20):
            assert peer.call(send("Pay", queues=1), f"{number}".encode()).code == 0
        for _, receipt in popped(pop(peer, "Pay", "G")):
            assert ack(peer, receipt, "Pay", "G") == 0
        assert not told("members", "-g", "G"), "nothing is counted yet"
        cluster.advance(11_000)
        assert told("members", "-g", "G")
        assert told("describe", "-g", "G")
        assert told("lag", "-g", "G")
        assert not told("lag", "-g", "G", "--proxy", proxy.address)
        cluster.advance(120_000)
        assert not told("members", "-g", "G"), "nothing was handed out lately"


def test_members_are_known_by_what_proxies_tell_each_other(live: Run, cluster: EmbeddedCluster) -> None:
    """No proxy is named: recorded heartbeats of one lie on a broker. They count while a proxy is connected."""
    heartbeats = [
        frame.command.body
        for frame in recorded_pop_frames()
        if frame.request_code == 310 and not frame.is_ours and b'"group":"GGN","heartbeatType"' in frame.command.body
    ]
    topic, address = "DefaultHeartBeatSyncerTopic", cluster.broker("broker-a").address
    change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name="GGN")))
    change(cluster, "broker-a", commit_offset("GGN", "Pay", 0, 1))
    with Peer(address, version=479) as proxy:
        for body in heartbeats:
            assert proxy.call(send(topic, queues=1), body).code == 0
        assert live("group", "members", "-g", "GGN", "-o", "json").json["members"] == [], "no proxy is connected"
        assert "proxy" not in live("producer", "list").stderr
        heartbeat(proxy, "192.0.2.2@DEFAULT", group=f"CID_{topic}", subscriptions={topic: "*"})
        assert "brokers know the proxy itself (192.0.2.2@DEFAULT)" in live("producer", "list").stderr
        outcome = live("group", "members", "-g", "GGN", "-o", "json")
        assert {row["brokers"] for row in outcome.json["members"]} == {"proxy 127.0.0.1:18080"}, outcome
        assert {row["language"] for row in outcome.json["members"]} == {"PYTHON"}
        assert "MQCTL_PROXY=127.0.0.1:18080" in outcome.stderr
        assert NOBODY not in live("doctor", "-g", "GGN").stdout
        online = live("group", "lag", "--online", "-o", "json").json["groups"]
        assert [row["group"] for row in online] == ["GGN"]
        last = json.loads(heartbeats[-1])
        left = {**last, "heartbeatType": "UNREGISTER", "lastUpdateTimestamp": last["lastUpdateTimestamp"] + 1}
        assert proxy.call(send(topic, queues=1), json.dumps(left).encode()).code == 0
        still = live("group", "members", "-g", "GGN", "-o", "json").json["members"]
        assert last["clientId"] not in {row["client_id"] for row in still}
