"""`mqctl drill run`, as typed: a sound cluster keeps its promises, and a broken client is accused of what it did."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_queries import group_configs, topic_configs
from mqctl.client.admin.cluster import Cluster
from tests.client.consuming import wait_until
from tests.drill import broken_client
from tests.drill.broken_client import DROPPED, LATE, REFUSED, SWAPPED, TWICE
from tests.live.conftest import Run

SMALL = """
title: A consumer is killed and a broker dies
cluster: {brokers: [broker-a]}
time_scale: 40
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 60s}
producers: [{name: orders, sends: keyed, keys: 10, messages: 200, rate: 200}]
groups: [{name: ledger, mode: orderly, consumers: 2}]
schedule:
  - {at: 300ms, do: kill, consumer: ledger-1}
  - {at: 500ms, do: kill-broker, broker: broker-a, back_after: 500ms}
"""
STRICT = """
title: Nothing happens, and nothing is allowed
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 6s, late_after: 4s, settle: 0s, repeats_back: 0s}
producers: [{name: orders, sends: keyed, keys: 10, messages: 200, rate: 200}]
groups: [{name: ledger, mode: key-ordered, consumers: 1, threads: 1}]
"""


def test_a_sound_cluster_keeps_its_promises_while_things_die(mqctl: Run, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    history = tmp_path / "small.history"
    outcome = mqctl("drill", "run", tmp_path / "small.yaml", "--history", history, "-o", "json")
    assert outcome.exit_code == 0, (outcome.stdout, outcome.stderr)
    assert (outcome.json["state"], outcome.json["sent"]) == ("kept", 200)
    assert "ledger-1 was killed" in outcome.stderr
    assert "broker-a was killed, and came back" in outcome.stderr
    assert mqctl("drill", "check", history).exit_code == 0


ROOM = """
title: The room of broker-b is lost for good, with the slave of broker-a; a group begins afterwards
cluster: {brokers: [broker-a, broker-b], slaves: 1}
time_scale: 40
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 60s}
producers: [{name: orders, messages: 100, rate: 400}]
groups: [{name: ledger, mode: concurrent, consumers: 0}]
schedule:
  - {at: 1500ms, do: kill-broker, broker: broker-b}
  - {at: 1500ms, do: kill-broker, broker: broker-a-s}
  - {at: 1600ms, do: join, group: ledger, consumers: 2}
"""


def test_a_lost_room_takes_its_slaves_along_and_those_of_the_other_room_serve(mqctl: Run, tmp_path: Path) -> None:
    """Half of the messages are nowhere but on the slave of the broker that never comes back."""
    (tmp_path / "room.yaml").write_text(ROOM)
    outcome = mqctl("drill", "run", tmp_path / "room.yaml", "--history", tmp_path / "room.history", "-o", "json")
    assert outcome.exit_code == 0, (outcome.stdout, outcome.stderr)
    verdict = outcome.json
    assert (verdict["state"], verdict["sent"], verdict["acknowledged"]) == ("kept", 100, 100)
    assert "broker-a-s was killed" in outcome.stderr
    (tmp_path / "room.yaml").write_text(ROOM.replace("broker-a-s", "broker-a-s2"))
    wrong = mqctl("drill", "run", tmp_path / "room.yaml")
    assert (wrong.exit_code, "there is no broker broker-a-s2" in wrong.stderr) == (65, True)


def own_things(cluster: EmbeddedCluster) -> set[str]:
    """The topics and groups of drills that the broker has."""
    with Cluster(cluster.namesrv) as admin:
        (master,) = admin.masters()
        names = {*admin.ask(master.address, topic_configs()), *admin.ask(master.address, group_configs())}
    return {name for name in names if "MQCTL_DRILL_" in name}


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    """Somebody's cluster."""
    with EmbeddedCluster(brokers=1) as running:
        yield running


def test_a_broken_client_is_accused_of_exactly_what_it_did(
    mqctl: Run, tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    (tmp_path / "strict.yaml").write_text(STRICT)
    client = f"{sys.executable} {broken_client.__file__}"
    words = ("drill", "run", tmp_path / "strict.yaml", "--namesrv", cluster.namesrv, "--history", tmp_path / "h")
    env = {"MQCTL_STATE_DIR": str(tmp_path / "state")}
    outcome = mqctl(*words, "--client", client, "-o", "json", "--execute", env=env)
    assert own_things(cluster) == set(), outcome.stderr
    changes = [each["subject"] for each in mqctl("history", "-o", "json", env=env).json["changes"]]
    assert [subject for subject in changes if subject.startswith("MQCTL_DRILL_strict-")] == changes
    assert len(changes) == 2
    assert outcome.exit_code == 2, (outcome.stdout, outcome.stderr)
    breaches = [(each["promise"], each["number"]) for each in outcome.json["breaches"]]
    # A commit that was seen while a message was held back, or before it says it came, proves the same fault again.
    ahead = {number for promise, number in breaches if promise == "committed-ahead"}
    assert ahead <= {SWAPPED, LATE}
    accused = {promise: number for promise, number in breaches if promise != "committed-ahead"}
    assert accused == {
        "lost": DROPPED,
        "delivered-though-refused": REFUSED,
        "repeated": TWICE,
        "late": LATE,
        "key-order": SWAPPED + 10,
    }
    counts = {each["promise"]: each["outside"] for each in outcome.json["promises"] if each["outside"]}
    assert counts == dict.fromkeys(accused, 1) | ({"committed-ahead": len(ahead)} if ahead else {})


def test_a_killed_drill_leaves_a_history_that_is_judged_and_what_clean_removes(
    mqctl: Run, tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    (tmp_path / "endless.yaml").write_text(STRICT.replace("messages: 200, rate: 200", "messages: 900, rate: 50"))
    history, env = tmp_path / "h", {"MQCTL_STATE_DIR": str(tmp_path / "state"), "MQCTL_NAMESRV": cluster.namesrv}
    words = ("drill", "run", tmp_path / "endless.yaml", "--history", history, "--execute")
    (tmp_path / "scratch").mkdir()
    outside = {**os.environ, **env, "TMPDIR": str(tmp_path / "scratch")}
    check = [sys.executable, "-m", "mqctl", "drill", "check", str(history), "-o", "json"]
    with subprocess.Popen([sys.executable, "-m", "mqctl", *map(str, words)], env=outside) as process:
        wait_until(lambda: history.exists() and history.read_bytes().count(b"\nd ") > 20, "20 deliveries")
        judged = subprocess.run(check, env=outside, capture_output=True, text=True, check=False)
        assert "which a drill that was killed left" not in judged.stderr, "it is still running"
        process.kill()
    (left,) = (tmp_path / "scratch").iterdir()
    judged = subprocess.run(check, env=outside, capture_output=True, text=True, check=False)
    verdict = msgspec.json.decode(judged.stdout)
    assert (judged.returncode, verdict["state"], verdict["complete"]) == (3, "not-judged", False), judged.stdout
    assert sum(each["outside"] for each in verdict["promises"]) == 0
    assert f"removed {left}, which a drill that was killed left" in judged.stderr
    assert not left.exists()
    # Its clients end with it: nobody is a member any more, and what is left is removed.
    wait_until(lambda: mqctl("bench", "clean", "--execute", env=env).exit_code == 0, "the members are gone")
    assert own_things(cluster) == set()


ASKING = """
title: Somebody else restarts a broker
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 60s}
producers: [{name: orders, sends: keyed, keys: 10, messages: 100, rate: 100}]
groups: [{name: ledger, mode: concurrent, consumers: 1}]
schedule: [{at: 300ms, do: ask, text: Upgrade the broker}]
"""


def test_an_upgrade_that_is_really_made_when_it_is_asked_for_is_kept(
    mqctl: Run, tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    """Whoever answers restarts the broker first, and then presses Enter."""
    (tmp_path / "asking.yaml").write_text(ASKING)
    history = tmp_path / "h"
    env = {**os.environ, "MQCTL_STATE_DIR": str(tmp_path / "state"), "MQCTL_NAMESRV": cluster.namesrv}
    words = [sys.executable, "-m", "mqctl", "drill", "run", str(tmp_path / "asking.yaml"), "--history", str(history)]
    with subprocess.Popen(
        [*words, "--execute", "-o", "json"], env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stderr is not None
        lines: list[str] = []
        while "NOW: Upgrade the broker" not in (lines or [""])[-1]:
            lines.append(process.stderr.readline())
            assert lines[-1], lines
        broker = cluster.broker("broker-a")
        broker.stop()
        broker.start()
        stdout, rest = process.communicate("\n", timeout=90)
    assert process.returncode == 0, (stdout, lines, rest)
    verdict = msgspec.json.decode(stdout)
    assert (verdict["state"], verdict["sent"], own_things(cluster)) == ("kept", 100, set())
    assert b"done: Upgrade the broker" in history.read_bytes()


def test_what_nobody_answers_is_not_taken_for_done(mqctl: Run, tmp_path: Path, cluster: EmbeddedCluster) -> None:
    """With its input at an end the drill stops, cleans up after itself, and its history is not whole."""
    (tmp_path / "asking.yaml").write_text(ASKING)
    history, env = tmp_path / "h", {"MQCTL_STATE_DIR": str(tmp_path / "state"), "MQCTL_NAMESRV": cluster.namesrv}
    outcome = mqctl("drill", "run", tmp_path / "asking.yaml", "--history", history, "--execute", env=env)
    assert (outcome.exit_code, "there is no answer at the terminal" in outcome.stderr) == (64, True), outcome.stderr
    assert own_things(cluster) == set()
    assert b"done: " not in history.read_bytes()
    judged = mqctl("drill", "check", history, "-o", "json")
    assert (judged.exit_code, judged.json["complete"]) == (3, False), judged.stdout


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("rate: 200", "rate: 0"),
        ("mode: orderly", "mode: sideways"),
        ("messages: 200", "messages: 2000"),
        ("broker: broker-a,", "broker: broker-z,"),
        ("at: 300ms", "at: soon"),
    ],
)
def test_a_plan_that_contradicts_itself_ends_with_65(mqctl: Run, tmp_path: Path, wrong: str, reason: str) -> None:
    (tmp_path / "plan.yaml").write_text(SMALL.replace(wrong, reason))
    outcome = mqctl("drill", "run", tmp_path / "plan.yaml", "--history", tmp_path / "h")
    assert (outcome.exit_code, (tmp_path / "h").exists()) == (65, False)


@pytest.mark.parametrize(
    ("right", "wrong", "known"),
    [
        ("do: kill,", "do: murder,", "there are join, leave, kill, burst, kill-broker, stop-broker, lose-power, "),
        ("consumer: ledger-1", "victim: ledger-1", "there are at, consumer"),
        ("sends: keyed", "sends: letters", "there are normal, keyed, delayed, transactional"),
        ("lost_after:", "lost:", "there are lost_after, late_after, early, settle, repeats_back"),
    ],
)
def test_a_word_that_no_plan_knows_is_answered_with_those_that_may_stand_there(
    mqctl: Run, tmp_path: Path, right: str, wrong: str, known: str
) -> None:
    (tmp_path / "plan.yaml").write_text(SMALL.replace(right, wrong, 1))
    outcome = mqctl("drill", "run", tmp_path / "plan.yaml", "--history", tmp_path / "h")
    assert (outcome.exit_code, known in outcome.stderr) == (65, True), outcome.stderr


POWER = """
title: The power of a broker that flushes once a minute is cut
cluster: {brokers: [broker-a], settings: {flushIntervalCommitLog: "60000"}}
time_scale: 20
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 8s}
producers: [{name: orders, sends: keyed, keys: 10, messages: 300, rate: 200}]
groups: [{name: ledger, mode: orderly, consumers: 1, work_ms: 60}]
schedule: [{at: 1s, do: lose-power, broker: broker-a, back_after: 300ms, loses_back: 10s}]
"""


@pytest.mark.long
def test_a_power_cut_loses_what_was_not_flushed_and_a_plan_that_forbids_it_is_violated(
    mqctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "power.yaml").write_text(POWER)
    history = tmp_path / "power.history"
    allowed = mqctl("drill", "run", tmp_path / "power.yaml", "--history", history, "-o", "json")
    history.write_bytes(history.read_bytes().replace(b'"loses_back_us":10000000', b'"loses_back_us":0'))
    forbidden = mqctl("drill", "check", history, "-o", "json")
    assert (allowed.exit_code, forbidden.exit_code) == (0, 2), (allowed.stdout, forbidden.stdout)
    first, second = (
        next((each["outside"], each["inside"]) for each in judged.json["promises"] if each["promise"] == "lost")
        for judged in (allowed, forbidden)
    )
    assert first[0] == 0 and first[1] > 20, allowed.stdout
    assert second[0] > 20, forbidden.stdout


def test_on_another_cluster_nothing_is_done_without_execute(
    mqctl: Run, tmp_path: Path, cluster: EmbeddedCluster
) -> None:
    words = ("drill", "run", "upgrade", "--namesrv", cluster.namesrv, "--history", tmp_path / "h", "-o", "json")
    outcome = mqctl(*words, env={"MQCTL_STATE_DIR": str(tmp_path / "state")})
    assert outcome.exit_code == 0, outcome.stderr
    assert {step["subject"].split("-")[0] for step in outcome.json["steps"]} == {"MQCTL_DRILL_upgrade"}
    assert any("at most 100,000 messages, 64 MiB of bodies" in line for line in outcome.json["warnings"])
    chinese = mqctl(*words[:-2], "--lang", "zh", env={"MQCTL_STATE_DIR": str(tmp_path / "state")})
    assert "届时请您操作：请升级并重启第一个 Broker" in chinese.stdout + chinese.stderr
    assert "upgrade: 在您的集群上逐个升级 Broker 和消费者" in chinese.stderr
    assert (own_things(cluster), (tmp_path / "h").exists()) == (set(), False)
