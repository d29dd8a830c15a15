"""The read commands on a live cluster of each release: their numbers, their documented form, what cannot be asked."""

from __future__ import annotations

import os
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import pytest

from docs.schemas import LIVE
from embedded_broker import Drop, EmbeddedCluster
from mqctl.cli.catalog import BY_PATH
from mqctl.protocol.codes import RequestCode
from tests.argv import lines_without_argv
from tests.embedded_broker.messages import heartbeat
from tests.embedded_broker.wire import Peer
from tests.keys import sentences_without_key
from tests.live.cast import Cast, Scripted
from tests.live.changing import changes
from tests.live.conftest import Run
from tests.live.failing import fail

EXECUTED = ("--shift-by", "-1", "--clamp", "--execute", "--confirm", "G")
PUBLISHED = ("--execute", "--confirm", "Pay")
ASKED: dict[str, tuple[str, ...]] = {
    "acl.list/1": ("acl", "list"),
    "allocation.show/1": ("allocation", "show", "-g", "G"),
    "broker.config/1": ("broker", "config"),
    "broker.describe/1": ("broker", "describe", "broker-a"),
    "broker.list/1": ("broker", "list"),
    "broker.counters/1": ("broker", "describe", "--counters"),
    "cluster.config/1": ("cluster", "describe", "--config"),
    "cluster.describe/1": ("cluster", "describe"),
    "cluster.list/1": ("cluster", "list"),
    "cluster.kv/1": ("cluster", "kv"),
    "cluster.settings/1": ("cluster", "export"),
    "dlq.list/1": ("dlq", "list", "-g", "G"),
    "delay.levels/1": ("delay", "levels"),
    "group.advice/1": ("group", "lag", "-g", "G", "--advise", "--window", "300ms"),
    "dlq.plan/1": ("dlq", "resend", "-g", "G"),
    "dlq.resend/1": ("dlq", "resend", "-g", "G", "--execute", "--confirm", "G"),
    "group.describe/1": ("group", "describe", "-g", "G"),
    "group.lag.watch/1": ("group", "lag", "--watch", "--count", "1"),
    "group.list/1": ("group", "list"),
    "group.members/1": ("group", "members", "-g", "G"),
    "message.consume/1": ("message", "consume", "-t", "Pay", "--from-start", "--count", "1"),
    "message.list/1": ("message", "peek", "-t", "Pay"),
    "message.probe/1": ("message", "probe", "-t", "Pay", "--count", "2"),
    "message.send/1": ("message", "send", "-t", "Pay", "--body", "x"),
    "offset.change/1": (*("offset", "reset", "-g", "G", "-t", "Pay"), *EXECUTED),
    "offset.plan/1": ("offset", "reset", "-g", "G", "-t", "Pay", "--to-latest"),
    "producer.list/1": ("producer", "list"),
    "retry.list/1": ("retry", "list"),
    "stacks.find/1": ("stacks", "find"),
    "stacks.dump.watch/1": ("stacks", "dump", "--watch", "--pid", str(os.getpid()), "--count", "1"),
    "replay.follow-plan/1": ("replay", "follow", "-t", "Pay", "--to", "%DLQ%G"),
    "replay.preview/1": ("replay", "publish", "-t", "Pay", "--from-offset", "0", "--to", "Pay"),
    "replay.report/1": (*("replay", "publish", "-t", "Pay", "--from-offset", "4", "--to", "Pay"), *PUBLISHED),
    "bench.run/1": ("bench", "produce", "--count", "20", "--execute"),
    "settings.change/1": ("topic", "create", "-t", "Fresh", "--execute"),
    "settings.plan/1": ("topic", "update", "-t", "Pay", "--queues", "4"),
    "subscription.check/1": ("subscription", "check", "-g", "G"),
    "subscription.check-all/1": ("subscription", "check", "--all"),
    "subscription.simulate/1": (*("subscription", "simulate", "-g", "G", "-t", "Pay"), "--to", "B", "--instances", "1"),
    "top/1": ("top", "--once", "--every", "100ms"),
    "topic.describe/1": ("topic", "describe", "-t", "Pay"),
    "topic.entries/1": ("topic", "entries", "-t", "Pay", "-q", "0"),
    "topic.list/1": ("topic", "list"),
    "topic.route/1": ("topic", "route", "-t", "Pay"),
    "topic.traffic/1": ("topic", "traffic"),
    "ha.status/1": ("ha", "status"),
    "lock.show/1": ("lock", "show", "-g", "G"),
    "order.check/1": ("order", "check", "-t", "Pay", "--key", "none"),
    "transaction.check/1": ("transaction", "list", "--check"),
    "transaction.list/1": ("transaction", "list"),
}


ELSEWHERE = {"broker.reach/1", "acl.explain/1", "check/1", "group.member/1", "message.trace/1", "replay.follow/1"}
"""Those that need a file, or something that runs; tests of their own hold them to their form."""


def test_every_live_form_is_asked_here() -> None:
    assert ASKED.keys() | ELSEWHERE == LIVE.keys()


@pytest.mark.parametrize("schema", sorted(ASKED))
def test_the_machine_form_is_the_documented_one_and_people_see_a_table(
    live: Run, cluster: EmbeddedCluster, schema: str
) -> None:
    fail(cluster, "broker-a", 0, level=-1)
    with Cast(cluster) as members:
        if schema.startswith("subscription."):
            members.join(Scripted(client_id="one", topics={"Pay": "A"}))
        cluster.record_requests()
        outcome = live(*ASKED[schema], "-o", "json")
        table = live(*ASKED[schema])
    assert outcome.exit_code == 0, outcome.stderr
    document = outcome.json
    assert document.pop("schema") == schema
    msgspec.convert(document, LIVE[schema], strict=True)
    assert lines_without_argv(document) == []
    assert sentences_without_key(document) == []
    assert (table.exit_code, bool(table.stdout.strip())) == (0, True)
    if changes_nothing(ASKED[schema]):
        assert changes(cluster) == []


def changes_nothing(words: tuple[str, ...]) -> bool:
    """A command that reads, or the plan of one that has plans."""
    entry = BY_PATH.get(words[:2]) or BY_PATH[words[:1]]
    command = import_module(f"mqctl.commands.{entry.module}").command
    return "--execute" not in words and (entry.impact == "reads" or "execute" in signature(command).parameters)


def json(live: Run, *words: str) -> Any:
    outcome = live(*words, "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.json


def test_brokers_and_clusters(live: Run, cluster: EmbeddedCluster) -> None:
    rows = {row["name"]: row for row in json(live, "broker", "list")["brokers"]}
    assert rows.keys() == {"broker-a", "broker-b"}
    first = rows["broker-a"]
    assert (first["address"], first["put_today_count"], first["problem"]) == (
        cluster.broker("broker-a").address,
        5,
        None,
    )
    described = json(live, "broker", "describe", first["address"])
    assert described["raw"]["brokerVersionDesc"] == first["version"] == described["runtime"]["version"]
    (row,) = json(live, "cluster", "list")["clusters"]
    assert (row["cluster"], row["process_count"]) == ("DefaultCluster", 2)
    whole = json(live, "cluster", "describe", "DefaultCluster")
    counts = [whole[f"{what}_count"] for what in ("master", "slave", "topic", "group")]
    assert (counts, len(whole["brokers"])) == ([2, 0, 1, 1], 2)
    assert [(item["broker_count"], item["difference"]) for item in whole["name_servers"]] == [(2, None)] * 2
    keys = json(live, "broker", "config", "--key", "broker*", "--diff")["settings"]
    assert {item["key"] for item in keys} == {"brokerName"}


def test_topics(live: Run) -> None:
    (topic,) = json(live, "topic", "list")["topics"]
    assert (topic["topic"], topic["read_queue_count"], topic["perm"]) == ("Pay", 4, "RW-")
    kinds = {row["topic"]: row["kind"] for row in json(live, "topic", "list", "--all")["topics"]}
    assert (kinds["TBW102"], kinds["broker-a"], kinds["DefaultCluster"]) == ("system", "system", "system")
    stats = json(live, "topic", "describe", "-t", "Pay")
    assert (stats["message_count"], len(stats["queues"])) == (10, 4)
    assert {row["first_store_time_ms"] for row in stats["queues"]} == {None}
    kept = json(live, "topic", "describe", "-t", "Pay", "--retained")["queues"]
    assert [row["message_count"] for row in kept] == [5, 0, 5, 0]
    for row in kept:
        if row["message_count"]:
            assert 0 < row["first_store_time_ms"] <= row["last_store_time_ms"]
            assert row["retained_ms"] == row["last_store_time_ms"] - row["first_store_time_ms"]
        else:
            assert (row["first_store_time_ms"], row["retained_ms"]) == (None, None)
    assert json(live, "topic", "describe", "-t", "Pay")["groups"] == [
        {"group": "G", "brokers": "broker-a, broker-b", "consume_mode": None}
    ]
    route = json(live, "topic", "route", "-t", "Pay")
    assert ([row["broker"] for row in route["brokers"]], route["differing"]) == (["broker-a", "broker-b"], [])


def test_groups_and_members(live: Run, cluster: EmbeddedCluster) -> None:
    assert [row["member_count"] for row in json(live, "group", "list")["groups"]] == [0]
    with Peer(cluster.broker("broker-a").address) as one:
        one.version = 61
        heartbeat(one, "client-1", group="G", subscriptions={"Pay": "A"})
        (row,) = json(live, "group", "list")["groups"]
        assert (row["member_count"], row["topics"], row["message_model"]) == (1, "Pay", "CLUSTERING")
        outcome = live("group", "members", "-g", "G", "-o", "json")
        assert (outcome.exit_code, "too low" in outcome.stderr) == (76, True)
        (member,) = outcome.json["members"]
        assert (member["client_id"], member["queue_count"]) == ("client-1", None)
        (producer,) = json(live, "producer", "list", "-g", "GP")["producers"]
        assert producer["client_id"] == "client-1"


def test_messages_by_id_key_queue_and_time(live: Run) -> None:
    sent = json(live, "message", "send", "-t", "Pay", "--tag", "B", "--key", "mine", "--body", '{"n": 1}')
    assert sent["status"] == "SEND_OK"
    for words in (
        ("get", sent["offset_message_id"]),
        ("get", sent["message_id"], "-t", "Pay"),
        ("find", "-t", "Pay", "--key", "mine"),
        ("find", "-t", "Pay", "--unique-key", sent["message_id"]),
        ("peek", "-t", "Pay", "--tags", "B", "--from-start"),
    ):
        (message,) = json(live, "message", *words, "--body", "json")["messages"]
        assert (message["queue_offset"], message["body"], message["tags"]) == (sent["queue_offset"], {"n": 1}, "B"), (
            words
        )
    before = json(live, "group", "lag", "-g", "G")["groups"][0]["lag_count"]
    newest = json(live, "message", "peek", "-t", "Pay", "--broker", "broker-a", "-q", "0", "--count", "2")["messages"]
    assert len(newest) == 2
    since = str(newest[-1]["store_time_ms"])
    late = json(live, "message", "peek", "-t", "Pay", "--since", since, "--count", "99")["messages"]
    assert late
    assert all(item["store_time_ms"] >= int(since) for item in late)
    assert len(json(live, "message", "peek", "-t", "Pay", "--from-start", "--count", "99")["messages"]) == 11
    assert json(live, "group", "lag", "-g", "G")["groups"][0]["lag_count"] == before
    assert json(live, "message", "get", "-t", "Pay", "--key", "nothing")["messages"] == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("topic", "describe", "-t", "nope"), 66, "no topic nope"),
        (("topic", "route", "-t", "nope"), 66, "nope"),
        (("group", "describe", "-g", "nope"), 66, "no consumer group nope"),
        (("broker", "describe", "nope"), 66, "broker-a"),
        (("cluster", "describe", "nope"), 66, "DefaultCluster"),
        (("message", "get", "7F000001000000010000000000000000"), 66, "127.0.0.1:1"),
        (("message", "get", "-t", "Pay"), 64, "--key"),
        (("message", "get", "-t", "nope", "--key", "k"), 66, "there is no topic nope"),
        (("message", "peek", "-t", "nope"), 66, "next: mqctl topic list --all"),
        (("message", "peek", "-t", "Pya"), 66, "next: did you mean Pay? mqctl topic list --all"),
        (("doctor", "-t", "Pya"), 66, "next: did you mean Pay? mqctl topic list"),
        (("topic", "describe", "-t", "pay"), 66, "next: did you mean Pay? mqctl topic list --all"),
        (("broker", "describe", "broker-c"), 66, "did you mean broker-"),
        (("snapshot", "show", "/nonexistent"), 66, "mqctl snapshot save FILE"),
        (("message", "peek", "-t", "Pay", "--offset", "1", "--from-start"), 64, "cannot be combined"),
        (("message", "peek", "-t", "Pay", "-q", "77"), 66, "no such queue"),
        (("message", "send", "-t", "Pay"), 64, "--body"),
        (("message", "send", "-t", "Pay", "--body", "x", "--property", "novalue"), 64, "NAME=VALUE"),
        (("message", "send", "-t", "bad name", "--body", "x"), 64, "bad name"),
    ],
)
def test_what_is_not_there_or_makes_no_sense(live: Run, words: tuple[str, ...], code: int, said: str) -> None:
    outcome = live(*words)
    assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr


def test_a_silent_broker_is_listed_with_the_reason(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(28, Drop(), server="broker-b")
    outcome = live("broker", "list", "-o", "json", "--timeout", "3s")
    cluster.clear_faults()
    rows = {row["name"]: row for row in outcome.json["brokers"]}
    assert outcome.exit_code == 75
    assert rows["broker-a"]["problem"] is None
    assert "GET_BROKER_RUNTIME_INFO" in rows["broker-b"]["problem"]
    assert rows["broker-b"]["put_tps"] is None


@pytest.mark.parametrize("words", [("subscription", "check"), ("allocation", "show"), ("group", "members")])
def test_a_group_that_no_broker_knows_is_not_reported_as_a_quiet_one(live: Run, words: tuple[str, str]) -> None:
    outcome = live(*words, "-g", "misspelt")
    assert (outcome.exit_code, outcome.stdout) == (66, "")
    assert "there is no consumer group misspelt" in outcome.stderr


def test_a_misspelt_group_is_guessed(live: Run) -> None:
    assert live("group", "create", "-g", "billing", "--execute").exit_code == 0
    for words in (
        ("group", "describe", "-g", "biling"),
        ("group", "delete", "-g", "biling"),
        ("offset", "reset", "-g", "biling", "-t", "Pay", "--to-latest"),
        ("dlq", "list", "-g", "biling"),
        ("retry", "list", "-g", "biling"),
        ("doctor", "-g", "biling"),
        ("allocation", "show", "-g", "biling"),
        ("subscription", "check", "-g", "biling"),
        ("subscription", "simulate", "-g", "biling", "-t", "Pay", "--to", "a", "--instances", "1"),
        ("lock", "show", "-g", "biling"),
    ):
        outcome = live(*words)
        assert (outcome.exit_code, "did you mean billing?" in outcome.stderr) == (66, True), outcome.stderr


def test_a_list_of_brokers_fits_a_narrow_terminal(live: Run) -> None:
    assert max(map(len, live("broker", "list").stdout.splitlines())) <= 80
    assert "producer group" in live("producer", "list", "--help").stdout


def test_a_snapshot_tells_topics_of_the_cluster_from_those_of_applications(live: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.snap"
    assert live("snapshot", "save", file).exit_code == 0
    shown = live("snapshot", "show", file).stdout
    rows = {line.split()[0]: line.split() for line in shown.splitlines() if len(line.split()) > 4}
    kinds = {name: {"normal", "system"} & set(row) for name, row in rows.items()}
    assert (kinds["Pay"], kinds["DefaultCluster"], kinds["broker-a"]) == ({"normal"}, {"system"}, {"system"})
    assert ("OLDEST" in shown, "NEWEST" in shown) == (False, True)


def test_a_snapshot_is_not_written_over_and_nobody_is_asked(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    file = tmp_path / "x.snap"
    file.write_text("precious")
    cluster.record_requests()
    outcome = live("snapshot", "save", file)
    requests = cluster.requests(RequestCode.GET_BROKER_RUNTIME_INFO)
    cluster.record_requests(on=False)
    assert (outcome.exit_code, "--force" in outcome.stderr, file.read_text()) == (76, True, "precious")
    assert requests == []
