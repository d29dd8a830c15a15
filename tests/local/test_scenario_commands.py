"""`mqctl local scenario` as a user runs it: found by other commands while it runs, nothing left however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import msgspec
import psutil
import pytest

from docs.schemas import SCHEMAS
from mqctl.local.scenario_files import scenario_names
from tests.conftest import REPOSITORY, Outcome
from tests.rings import rest_is_long

Run = Callable[..., Outcome]
_SECONDS = 90
_HEALTHY = """\
title: "Nothing is wrong"
planted: ["One group, one instance."]
topics: [{name: T, queues: 2}]
messages: [{topic: T, count: 10}]
consumers: [{name: one, group: G, topics: {T: "*"}}]
looks: [{finds: []}]
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    file = tmp_path / "healthy.yaml"
    file.write_text(_HEALTHY)
    return file


@pytest.fixture
def scenario(mqctl: Run, state: Path) -> Iterator[Run]:
    """Runs mqctl with a state directory of its own; whatever is left running is brought down."""
    run: Run = lambda *words: mqctl(*words, env={"MQCTL_STATE_DIR": str(state)})  # noqa: E731
    yield run
    run("local", "down", "--all")


class Foreground:
    """`mqctl local scenario run` in the foreground of nobody's terminal."""

    def __init__(self, file: Path, state: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mqctl", "local", "scenario", "run", str(file), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "MQCTL_STATE_DIR": str(state)},
        )
        self.children: set[int] = set()

    def until_told(self, text: str) -> None:
        assert self.process.stderr is not None
        while text not in (line := self.process.stderr.readline()):
            assert line, "it ended"
        self.children = {child.pid for child in psutil.Process(self.process.pid).children(recursive=True)}

    def end(self, number: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=_SECONDS)
        return self.process.returncode, said


def gone(pids: set[int]) -> bool:
    end = monotonic() + _SECONDS
    while any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids):
        if monotonic() > end:
            return False
        sleep(0.05)
    return True


@pytest.mark.parametrize("number", rest_is_long([signal.SIGINT, signal.SIGTERM], signal.SIGTERM))
def test_a_signal_ends_it_and_leaves_nothing(healthy: Path, state: Path, number: signal.Signals) -> None:
    running = Foreground(healthy, state)
    running.until_told("Ctrl-C ends it")
    assert len(running.children) == 2
    assert (state / "local" / "default.json").exists()
    code, said = running.end(number)
    assert (code, "Traceback" in said) == (0, False), said
    assert gone(running.children)
    assert [path.name for path in (state / "local").iterdir()] == ["default.lock"]


@pytest.mark.parametrize("number", rest_is_long([signal.SIGINT, signal.SIGTERM], signal.SIGINT))
def test_a_signal_while_it_starts_leaves_nothing(healthy: Path, state: Path, number: signal.Signals) -> None:
    running = Foreground(healthy, state)
    running.until_told("brokers broker-a")
    code, said = running.end(number)
    assert (code, "interrupted" in said, "Traceback" in said) == (130, True, False), said
    assert gone(running.children)
    assert [path.name for path in (state / "local").iterdir()] == ["default.lock"]


def test_when_it_is_killed_its_processes_end_by_themselves(healthy: Path, state: Path, scenario: Run) -> None:
    running = Foreground(healthy, state)
    running.until_told("Ctrl-C ends it")
    running.end(signal.SIGKILL)
    assert gone(running.children)
    assert scenario("local", "status").exit_code == 2
    assert scenario("local", "scenario", "run", healthy, "--", "topic", "list").exit_code == 0
    assert not list((state / "local").glob("default.scenario*"))


@pytest.mark.long
def test_a_drill_goes_on_when_enter_is_pressed(tmp_path: Path, state: Path, scenario: Run) -> None:
    file = tmp_path / "drill.yaml"
    file.write_text(
        "title: A broker is lost and comes back\nplanted: [It is broker-b.]\ntime_scale: 60\n"
        "clusters: [{brokers: [broker-a, broker-b]}]\n"
        "faults: [{do: kill-broker, broker: broker-b}, {do: start-broker, broker: broker-b}]\n"
    )
    running = Foreground(file, state, "--step")
    assert running.process.stdin is not None
    for said, brokers in (("Enter: the fault", 2), ("Enter: it ends", 1), ("Ctrl-C ends it", 2)):
        running.until_told(said)
        if brokers == 1 or said.startswith("Ctrl"):
            listed = scenario("broker", "list", "-o", "json").json["brokers"]
            assert [row["name"] for row in listed] == ["broker-a", "broker-b"]
            assert sum(row["problem"] is None for row in listed) == brokers
        running.process.stdin.write("\n")
        running.process.stdin.flush()
    code, stderr = running.end(signal.SIGINT)
    assert (code, "Traceback" in stderr) == (0, False), stderr
    for words in (["--step", "--detach"], ["--step", "--", "topic", "list"]):
        assert scenario("local", "scenario", "run", file, *words).exit_code == 64


def test_one_command_runs_against_it(scenario: Run, state: Path) -> None:
    outcome = scenario(
        "local", "scenario", "run", "tag-loss", "--", "subscription", "check", "-g", "settlement", "-o", "json"
    )
    assert (outcome.exit_code, outcome.json["consistent"]) == (2, False)
    assert not list((state / "local").glob("*.scenario"))
    bad = scenario("local", "scenario", "run", "tag-loss", "--", "nonsense")
    assert bad.exit_code == 64


@pytest.mark.long
def test_in_the_background_other_commands_find_it_and_its_time_scale(scenario: Run, state: Path) -> None:
    up = scenario("local", "scenario", "run", "tag-loss", "--detach", "-o", "json")
    assert up.exit_code == 0, up.stderr
    document = up.json
    assert document.pop("schema") == "local.scenario.run/1"
    msgspec.convert(document, SCHEMAS["local.scenario.run/1"], strict=True)
    (cluster,) = scenario("local", "status", "-o", "json").json["clusters"]
    assert (cluster["state"], cluster["namesrv"]) == ("running", document["namesrv"])
    children = {child.pid for child in psutil.Process(cluster["pid"]).children(recursive=True)}
    assert len(children) == 3
    report = scenario("doctor", "-o", "json")
    assert ([item["code"] for item in report.json["findings"]], report.json["time_scale"]) == (["MQ203"], 60)
    named = scenario("doctor", "--namesrv", document["namesrv"], "-o", "json")
    store = scenario("doctor", "--store", document["stores"]["broker-a"], "--quick", "-o", "json")
    assert (named.json["time_scale"], store.json["time_scale"]) == (60, 60)
    assert scenario("doctor", "--time-scale", "7", "-o", "json").json["time_scale"] == 7
    assert "Time scale 60: a minute of clients, brokers and rules is 1 s here." in scenario("doctor").stdout
    for command in document["next_commands"]:
        assert scenario(*command.split()[1:]).exit_code in {0, 1, 2}, command
    second = scenario("local", "scenario", "run", "backlog", "--detach")
    assert (second.exit_code, "runs already" in second.stderr) == (76, True)
    assert scenario("local", "down").exit_code == 0
    assert gone(children | {cluster["pid"]})
    assert not list((state / "local").glob("*.scenario"))


def test_what_cannot_be(scenario: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(_HEALTHY.replace("queues: 2", "queus: 2"))
    taken = tmp_path / "taken.yaml"
    taken.write_text(_HEALTHY + 'clusters: [{settings: {messageDelayLevel: "nonsense"}}]\n')
    for words, code, said in (
        (("nonsense",), 66, "there is no scenario nonsense"),
        ((str(tmp_path / "absent.yaml"),), 66, "absent.yaml"),
        ((str(broken),), 65, "queus"),
        ((str(taken),), 74, "messageDelayLevel"),
        (("tag-loss", "--name", "../x"), 64, "not a valid name for a local cluster"),
        (("tag-loss", "--detach", "--", "doctor"), 64, "cannot be combined"),
    ):
        outcome = scenario("local", "scenario", "run", *words)
        assert (outcome.exit_code, said in outcome.stderr) == (code, True), outcome.stderr


def test_a_scenario_that_does_not_become_what_it_declares_is_told(scenario: Run, tmp_path: Path) -> None:
    file = tmp_path / "hopeful.yaml"
    file.write_text(_HEALTHY.replace("finds: []", "finds: [{code: MQ203}]") + "settle_s: 1\n")
    outcome = scenario("local", "scenario", "run", file, "--detach", "-o", "json")
    assert (outcome.exit_code, outcome.json["as_declared"]) == (0, False)
    assert "MQ203 is missing" in outcome.json["trouble"]


@pytest.mark.quick
def test_the_list_names_all(scenario: Run) -> None:
    rows = scenario("local", "scenario", "list", "-o", "json").json["scenarios"]
    assert [row["name"] for row in rows] == list(scenario_names())
    assert {"tag-loss", "room-lost", "damaged-store"} <= {row["playbook"] for row in rows}
