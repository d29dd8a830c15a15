"""`mqctl doctor` on a live cluster: silence on a healthy one, and the same findings from a saved snapshot."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_broker_settings, put_topic
from mqctl.client.admin.cluster import Cluster
from mqctl.client.admin.nameserver import cluster_info
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import TopicConfig
from mqctl.protocol.bodies_cluster import ClusterInfo
from tests.embedded_broker.messages import heartbeat
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change


def codes(report: Any) -> list[str]:
    return [finding["code"] for finding in report["findings"]]


def test_a_healthy_cluster_is_silent(live: Run) -> None:
    outcome = live("doctor", "-o", "json")
    assert (outcome.exit_code, outcome.json["findings"], outcome.json["not_judged"]) == (0, [], []), outcome.stdout


def test_faults_are_named_live_and_from_a_snapshot_alike(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    change(cluster, "broker-a", put_topic(TopicConfig(name="Half", read_queue_count=1, write_queue_count=1)))
    change(cluster, "broker-b", put_broker_settings({"brokerPermission": "4"}))
    file = tmp_path / "x.snap"
    outcome = live("doctor", "-o", "json")
    assert outcome.exit_code == 2
    assert {"MQ606", "MQ610"} <= set(codes(outcome.json))
    assert live("snapshot", "save", file).exit_code == 0
    saved = live("doctor", "--snapshot", file, "-o", "json")
    assert (saved.exit_code, codes(saved.json)) == (outcome.exit_code, codes(outcome.json))


def test_members_that_cannot_tell_what_they_do_are_unknown(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as one, Peer(cluster.broker("broker-b").address) as two:
        for peer in (one, two):
            peer.version = 61
            heartbeat(peer, "client-1", group="G", subscriptions={"Pay": "*"})
            heartbeat(peer, "client-1", group="G", subscriptions={"Pay": "*"})
        outcome = live("doctor", "-g", "G", "-o", "json")
        assert outcome.exit_code in (1, 3)
        assert any("too low" in gap["reason"] for gap in outcome.json["not_judged"])


def test_a_registered_broker_that_is_silent_is_a_finding(live: Run, cluster: EmbeddedCluster) -> None:
    from embedded_broker import Drop

    cluster.fault(None, Drop(), server="broker-b")
    outcome = live("doctor", "-o", "json", "--timeout", "3s")
    cluster.clear_faults()
    (finding,) = outcome.json["findings"]
    assert (outcome.exit_code, finding["code"], finding["confidence"]) == (2, "MQ620", "medium")
    assert "did not answer in time" in finding["what"]
    assert {gap["subject"] for gap in outcome.json["not_judged"]} == {"broker-b"}


def test_what_it_says_to_type_next_works_as_pasted(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    change(cluster, "broker-a", put_topic(TopicConfig(name="Half", read_queue_count=1, write_queue_count=1)))
    keys = tmp_path / "my keys.yaml"
    keys.write_text("accessKey: me\nsecretKey: 's3cret-word'\n")
    keys.chmod(0o600)
    assert live("profile", "add", "one", "-n", cluster.namesrv).exit_code == 0
    bare = {"MQCTL_NAMESRV": ""}
    for words, expected in (
        (("--profile", "one"), "--profile one"),
        (("-n", cluster.namesrv, "--acl-file", keys), f"--namesrv '{cluster.namesrv}' --acl-file '{keys}'"),
    ):
        findings = live("doctor", *words, "-o", "json", env=bare).json["findings"]
        (finding,) = (item for item in findings if item["code"] == "MQ606")
        line = finding["next_command"]
        assert line == f"mqctl topic route {expected} -t Half"
        assert finding["playbook_command"].endswith(expected)
        assert live(*shlex.split(line)[1:], env=bare).exit_code == 0


def test_a_broker_that_name_servers_forgot_is_missed(live: Run, cluster: EmbeddedCluster) -> None:
    assert live("doctor").exit_code == 0
    cluster.fault(106, Answer(0, body=without(cluster, "broker-b")))
    outcome = live("doctor", "--only", "MQ617", "-o", "json")
    output = live("doctor", "--only", "MQ617").stdout
    cluster.clear_faults()
    (finding,) = outcome.json["findings"]
    assert (outcome.exit_code, finding["subject"], finding["severity"]) == (2, "broker-b", "error")
    assert (finding["evidence"]["queue_count"], finding["evidence"]["group_count"]) == (2, 1)
    assert finding["evidence"]["last_address"] == cluster.broker("broker-b").address
    assert "No name server knows broker-b any more, and it answers at" in output
    assert "Out of reach with it: 2 queues, from which 1 group consumes." in " ".join(output.split())
    assert "mqctl playbook run broker-down -p broker=broker-b" in output
    assert live("doctor").exit_code == 0


def test_a_broker_that_the_profile_names_is_missed_though_nobody_ever_saw_it(
    live: Run, cluster: EmbeddedCluster
) -> None:
    add = ("profile", "add", "prod", "--namesrv", cluster.namesrv, "--brokers", "broker-a, broker-b,broker-z")
    assert live(*add).exit_code == 0
    assert (
        live("profile", "show", "prod", "-o", "json").json["profiles"][0]["brokers"] == "broker-a, broker-b, broker-z"
    )
    outcome = live("doctor", "--profile", "prod", "--only", "MQ617", env={"MQCTL_NAMESRV": ""})
    assert (outcome.exit_code, outcome.stdout.count("MQ617")) == (2, 1), outcome
    assert "No name server knows broker-z, which is part of profile prod." in outcome.stdout
    listed = live("group", "lag", "--profile", "prod", env={"MQCTL_NAMESRV": ""})
    assert "broker-z is not registered, and is part of profile prod: its queues are in no answer" in listed.stderr


def test_a_check_misses_a_broker_that_was_there_a_moment_ago_unless_it_says_how_many_there_are(
    live: Run, cluster: EmbeddedCluster
) -> None:
    line = ("check", "--group", "G", "--max-lag", "1000")
    assert live(*line).exit_code == 0
    cluster.fault(106, Answer(0, body=without(cluster, "broker-b")))
    try:
        missed, declared, more = live(*line), live(*line, "--brokers", "1"), live(*line, "--brokers", "2")
    finally:
        cluster.clear_faults()
    assert (missed.exit_code, "broker broker-b" in missed.stdout) == (3, True), missed
    assert "the backlog of its queues is not known" in missed.stdout
    assert (declared.exit_code, more.exit_code) == (0, 2), (declared, more)


def without(cluster: EmbeddedCluster, broker: str) -> bytes:
    """Returns what name servers tell of all brokers, less one."""
    with Cluster(cluster.namesrv) as whole:
        info = whole.ask(whole.name_servers.addresses()[0], cluster_info(), Deadline(60_000))
    table = {name: data for name, data in info.broker_addr_table.items() if name != broker}
    return ClusterInfo(broker_addr_table=table, cluster_addr_table=info.cluster_addr_table).to_bytes()


@pytest.mark.parametrize("words", [("broker", "list"), ("cluster", "list"), ("top", "--once", "--every", "100ms")])
def test_the_first_doctor_misses_a_broker_that_a_list_showed(
    live: Run, cluster: EmbeddedCluster, words: tuple[str, ...]
) -> None:
    assert live(*words).exit_code == 0
    cluster.fault(106, Answer(0, body=without(cluster, "broker-b")))
    output = live("doctor", "--only", "MQ617").stdout
    cluster.clear_faults()
    assert "No name server knows broker-b any more" in output
    assert "1 broker: broker-a" in output


def test_doctor_names_the_brokers_that_are_registered(live: Run) -> None:
    assert "2 brokers: broker-a, broker-b" in live("doctor").stdout
    assert "2 个 Broker：broker-a、broker-b" in live("doctor", "--lang", "zh").stdout


def test_a_note_of_brokers_that_cannot_be_kept_keeps_nobody_from_looking(
    live: Run, cluster: EmbeddedCluster, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no directory")
    env = {"MQCTL_STATE_DIR": str(tmp_path / "file")}
    assert live("doctor", env=env).exit_code == 0
    state = tmp_path / "state"
    assert live("doctor", env={"MQCTL_STATE_DIR": str(state)}).exit_code == 0
    (note,) = (state / "seen").iterdir()
    note.write_text("{torn")
    assert live("doctor", env={"MQCTL_STATE_DIR": str(state)}).exit_code == 0


def test_known_states_are_set_aside_until_their_day(live: Run, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    change(cluster, "broker-a", put_topic(TopicConfig(name="Half", read_queue_count=1, write_queue_count=1)))
    assert codes(live("doctor", "-o", "json").json) == ["MQ606"]
    known = tmp_path / "known.yaml"
    known.write_text("- {code: MQ606, subject: Half, reason: by design, until: 2999-01-01}\n")
    outcome = live("doctor", "--known", known, "-o", "json")
    assert (outcome.exit_code, outcome.json["findings"]) == (0, [])
    assert outcome.json["silenced"] == [
        {"code": "MQ606", "subject": "Half", "reason": "by design", "until": "2999-01-01"}
    ]
    assert "by design" in live("doctor", "--known", known).stdout
    known.write_text("- {code: MQ6*, reason: by design, until: 2001-01-01}\n")
    late = live("doctor", "--known", known, "-o", "json")
    assert (late.exit_code, "2001-01-01" in late.stderr) == (1, True)
    known.write_text("- {code: MQ606, until: 2999-01-01}\n")
    broken = live("doctor", "--known", known)
    assert (broken.exit_code, "reason" in broken.stderr) == (78, True)
    assert live("doctor", "--known", tmp_path / "nothing").exit_code == 66
