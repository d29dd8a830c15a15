"""Every playbook, run against its scenario: it finds the planted fault, and says what to do about it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.changes.offsets.holders import holders
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.local import breaking
from mqctl.local.scenario_files import load_scenario
from mqctl.local.stage import Stage
from mqctl.playbook.places import slugs
from tests.conftest import Outcome
from tests.rings import rest_is_long

_SECONDS = 90
# Every playbook's decisions are tried in tests/live/playbook, every scenario in test_scenarios.py.
Run = Callable[..., Outcome]


@dataclass(frozen=True, kw_only=True)
class Case:
    """How a playbook fares on its scenario.

    Attributes:
        given: parameters; `{name}` stands for the store directory of that broker.
        choose: decisions.
        confirm: names of changes that are made; without any, changes are only planned.
        ending: of the run.
        held: results that must hold, by step.
        changed, planned: steps that changed the cluster, or planned to.
        rests: the group whose listeners must have had nothing to do for a minute before: so long they report failures.
    """

    given: Mapping[str, str]
    ending: str
    held: Mapping[str, str] = field(default_factory=dict)
    choose: Mapping[str, str] = field(default_factory=dict)
    confirm: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()
    rests: str | None = None


CASES: dict[str, Case] = {
    "backlog": Case(given={"group": "analytics", "window": "2s"}, choose={"way": "scale"}, ending="complete"),
    "broker-down": Case(
        given={"broker": "broker-b", "store": "{broker-b}", "window": "1s"}, choose={"way": "start"}, ending="complete"
    ),
    "cluster-mixup": Case(
        given={"group": "checkout"}, held={"judge": "mixed"}, choose={"way": "clients"}, ending="complete"
    ),
    "damaged-store": Case(
        given={"store": "{broker-a}", "topic": "orders"}, choose={"way": "rebuild"}, ending="complete"
    ),
    "dead-letters": Case(
        given={"group": "invoicing", "window": "1s"},
        choose={"way": "this_group"},
        confirm=("invoicing",),
        changed=("resend_here",),
        rests="invoicing",
        ending="complete",
    ),
    "delay-late": Case(given={"broker": "broker-a"}, held={"judge": "overdue", "end": "late"}, ending="attention"),
    "expired-before-consumption": Case(
        given={"group": "archive", "topic": "audit", "hours": "96"},
        choose={"missing": "accept"},
        confirm=("archive", "broker-a"),
        changed=("lengthen", "inside"),
        ending="complete",
    ),
    "failover-drill": Case(
        given={
            "broker": "HT-broker-a",
            "group": "settle",
            "store": "{HT-broker-a}",
            "slave_store": "{HT-broker-a-s}",
        },
        held={"replicas": "lost", "serves": "reads"},
        choose={"phase": "down"},
        ending="complete",
    ),
    "slave-behind": Case(
        given={"broker": "broker-a", "store": "{broker-a}", "slave_store": "{broker-a-s}", "window": "1s"},
        held={"rules": "stands"},
        choose={"way": "mend"},
        ending="complete",
    ),
    "master-lost": Case(
        given={"broker": "broker-a", "group": "shipping", "store": "{broker-a}", "slave_store": "{broker-a-s}"},
        held={"replicas": "lost", "tables": "serves"},
        choose={"way": "start"},
        ending="complete",
    ),
    "room-lost": Case(
        given={"group": "fulfil", "topic": "orders", "room": "CP", "window": "1s"},
        held={"rules": "lost", "owners": "carried"},
        choose={"way": "carry"},
        ending="complete",
    ),
    "skip-and-replay": Case(
        given={"group": "display", "topic": "prices", "replay_plan": "backlog.json"},
        choose={"way": "reset"},
        confirm=("display",),
        changed=("skip",),
        ending="complete",
    ),
    "subscription-change": Case(
        given={"group": "notify", "topic": "legacy-orders"},
        held={"rules": "left"},
        choose={"way": "leave_topic"},
        confirm=("notify",),
        changed=("leave",),
        ending="complete",
    ),
    "transaction-pending": Case(given={}, held={"producers": "nobody", "end": "waits"}, ending="attention"),
    "hot-key": Case(
        given={"topic": "trades", "group": "matching", "order": "broker-a:4"},
        choose={"way": "fix_order"},
        confirm=("trades",),
        changed=("configure",),
        ending="complete",
    ),
    "scale-out": Case(
        given={"topic": "frames", "group": "render", "queues": "8", "new": "frames-wide", "window": "2s"},
        held={"rules": "idle"},
        confirm=("frames",),
        changed=("enlarge",),
        ending="complete",
    ),
    "stuck-consumer": Case(
        given={"group": "billing", "window": "2s"}, held={"stacks": "outside", "verdict": "stands"}, ending="attention"
    ),
    "pop-stuck": Case(given={"group": "billing"}, held={"stacks": "look", "end": "stands"}, ending="attention"),
    "tag-loss": Case(
        given={"group": "settlement", "topic": "orders", "since": "-1h", "replay_group": "settlement-again"},
        choose={"way": "align"},
        confirm=("settlement-again",),
        changed=("replay",),
        ending="complete",
    ),
    "unconsumed-queue": Case(given={"group": "warehouse", "window": "2s"}, held={"wants": "topics"}, ending="complete"),
}


SHORT_DRILL = """
title: A consumer is killed
cluster: {brokers: [broker-a]}
time_scale: 40
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 60s}
producers: [{name: orders, messages: 50, rate: 100}]
groups: [{name: ledger, mode: concurrent, consumers: 2}]
schedule: [{at: 200ms, do: kill, consumer: ledger-1}]
"""


@pytest.fixture
def play(mqctl: Run, tmp_path: Path) -> Iterator[Callable[[str], tuple[Stage, Callable[..., Outcome]]]]:
    """Starts the scenario of a playbook; gives its stage and a function that runs mqctl there."""
    with ExitStack() as open_stages:

        def start(slug: str) -> tuple[Stage, Callable[..., Outcome]]:
            stage = Stage(load_scenario(slug), tmp_path / "stage")
            open_stages.callback(stage.stop)
            stage.start("consuming" if slug == "room-lost" else "last")
            stage.settle(_SECONDS)
            places = {name: str(tmp_path / name) for name in ("MQCTL_CONFIG_DIR", "MQCTL_STATE_DIR", "MQCTL_CACHE_DIR")}

            def run(*words: object) -> Outcome:
                return mqctl(*words, env={**places, **stage.environment})

            return stage, run

        yield start


def test_every_playbook_is_played() -> None:
    assert sorted([*CASES, "promise-drill"]) == slugs()


def test_a_rehearsal_is_played_without_any_cluster_to_name(mqctl: Run, tmp_path: Path) -> None:
    """It makes its cluster, writes the page, and ends with the verdict."""
    (tmp_path / "short.yaml").write_text(SHORT_DRILL)
    page, history = tmp_path / "drill.html", tmp_path / "drill.history"
    given = (f"plan={tmp_path / 'short.yaml'}", f"history={history}", f"page={page}")
    words = [word for each in given for word in ("-p", each)]
    outcome = mqctl("playbook", "run", "promise-drill", *words, "-o", "json")
    assert (outcome.exit_code, outcome.json["ending"]) == (0, "done"), outcome.stderr
    (step,) = outcome.json["steps"]
    assert (step["result"], step["captured"]["state"], step["captured"]["sent"]) == ("kept", "kept", 50)
    assert "KEPT: none of the" in page.read_text()
    assert history.read_bytes().startswith(b"mqctl-drill-history 1")


ASKING_DRILL = """
title: Somebody restarts a broker
quota: {messages: 1000, mebibytes: 1, time: 3m}
limits: {lost_after: 60s}
producers: [{name: orders, messages: 50, rate: 100}]
groups: [{name: ledger, mode: concurrent, consumers: 1}]
schedule: [{at: 100ms, do: ask, text: Restart broker-a}]
"""


def test_a_rehearsal_on_somebody_s_cluster_is_announced_and_with_execute_asks_for_each_step(
    mqctl: Run, tmp_path: Path
) -> None:
    (tmp_path / "asking.yaml").write_text(ASKING_DRILL)
    places = {"plan": "asking.yaml", "history": "drill.history", "page": "drill.html"}
    words = ["playbook", "run", "promise-drill", "-o", "json"]
    words += [word for name, file in places.items() for word in ("-p", f"{name}={tmp_path / file}")]
    with EmbeddedCluster(brokers=1) as cluster:
        env = {"MQCTL_STATE_DIR": str(tmp_path / "state"), "MQCTL_NAMESRV": cluster.namesrv}
        announced = mqctl(*words, env=env)
        (step,) = announced.json["steps"]
        assert (announced.exit_code, step["result"], (tmp_path / "drill.history").exists()) == (1, "announced", False)
        with subprocess.Popen(
            [sys.executable, "-m", "mqctl", *words, "--execute"], env={**os.environ, **env}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stderr is not None
            lines: list[str] = []
            while "NOW: Restart broker-a" not in (lines or [""])[-1]:
                lines.append(process.stderr.readline())
                assert lines[-1], lines
            broker = cluster.broker("broker-a")
            broker.stop()
            broker.start()
            stdout, rest_of_it = process.communicate("\n", timeout=90)
    (step,) = json.loads(stdout)["steps"]
    assert (process.returncode, step["result"], step["captured"]["sent"]) == (0, "kept", 50), (lines, rest_of_it)
    assert step["command"].endswith("--execute")
    assert "KEPT: none of the" in (tmp_path / "drill.html").read_text()


def rest(stage: Stage, group: str) -> None:
    addresses = {broker.address for ready in stage.clusters for broker in ready.brokers}
    pause, end = Event(), monotonic() + 2 * _SECONDS
    with Cluster(stage.namesrv) as cluster:
        while any(holders(cluster, addresses, group, Deadline(60_000)).consumed.values()):
            assert monotonic() < end, "the listeners never rest"
            pause.wait(0.5)


@pytest.mark.parametrize("slug", rest_is_long(sorted(CASES), "backlog", "transaction-pending"))
def test_a_playbook_finds_what_its_scenario_planted(
    play: Callable[[str], tuple[Stage, Callable[..., Outcome]]], slug: str
) -> None:
    case = CASES[slug]
    stage, run = play(slug)
    if slug == "room-lost":
        until_all_is_well(run, "--choose", "way=carry")
        stage.advance("last")
        stage.settle(_SECONDS)
    if case.rests is not None:
        rest(stage, case.rests)
    words: list[str] = ["playbook", "run", slug]
    for name, value in case.given.items():
        words += ["-p", f"{name}={value.format_map({broker: str(path) for broker, path in stage.stores.items()})}"]
    for name, choice in case.choose.items():
        words += ["--choose", f"{name}={choice}"]
    words += ["--execute"] if case.confirm else []
    for name in case.confirm:
        words += ["--confirm", name]
    end = monotonic() + _SECONDS
    while True:
        outcome = run(*words, "-o", "json")
        assert outcome.stdout, outcome.stderr
        document = outcome.json
        steps = {step["id"]: step for step in document["steps"]}
        held = {name: steps.get(name, {}).get("result") for name in case.held}
        if (document["ending"], held) == (case.ending, dict(case.held)):
            break
        assert monotonic() < end, (document["ending"], document["why"], held, outcome.stderr[-6000:])
    assert tuple(name for name, step in steps.items() if step["state"] == "changed") == case.changed, outcome.stderr
    assert tuple(name for name, step in steps.items() if step["state"] == "planned") == case.planned, outcome.stderr
    assert all(step["change"] for step in steps.values() if step["state"] == "changed")
    assert {step["exit_code"] for step in steps.values() if step["state"] == "changed"} <= {0}, outcome.stderr
    assert not any(step["state"] == "unexpected" for step in steps.values())
    if slug == "failover-drill":
        play_the_drill_to_its_end(stage, run, steps)
    if slug == "room-lost":
        stage.advance("back")
        changing = ("--choose", "way=keep_away", "-p", "broker=CP-broker-a", "--execute", "--confirm", "CP-broker-a")
        assert until_all_is_well(run, *changing)["away"]["state"] == "changed"


def until_all_is_well(run: Callable[..., Outcome], *how: str) -> dict[str, Any]:
    """Before room CP is lost, and when it is back: nothing is wrong, and the other room could carry both."""
    words = ["playbook", "run", "room-lost", "-p", "group=fulfil", "-p", "topic=orders", "-p", "room=CP"]
    end = monotonic() + _SECONDS
    while True:
        outcome = run(*words, "-p", "window=1s", *how, "-o", "json")
        steps = {step["id"]: step for step in outcome.json["steps"]}
        held = tuple(steps.get(name, {}).get("result") for name in ("rules", "owners", "drill"))
        if (outcome.json["ending"], held) == ("complete", (None, None, "carries")):
            return steps
        assert monotonic() < end, outcome.stderr[-6000:]


def read_again(comparison: Mapping[str, Any]) -> int:
    return sum(item["read_again_count"] for item in comparison["consumers"] if item["serving"] == "A")


def play_the_drill_to_its_end(stage: Stage, run: Callable[..., Outcome], steps: Mapping[str, Any]) -> None:
    """What nobody could read is counted, and what would be read twice; then the master comes back, and all is there."""
    assert steps["lost_and_twice"]["captured"]["not_readable"] == 12
    assert steps["goes_on"]["captured"]["from_slaves"] == "HT-broker-a"
    end = monotonic() + _SECONDS
    stores = [str(stage.stores[name]) for name in ("HT-broker-a", "HT-broker-a-s")]
    while not read_again(run("ha", "compare", "--store", stores[0], "--store", stores[1], "-o", "json").json):
        assert monotonic() < end, "nobody consumes from the slave"
    control = stage.clusters[0].control
    assert control is not None
    breaking.control(control, "start_broker", name="HT-broker-a")
    for phase, step, result in (("back", "returns", "settled"), ("before", "ready", None)):
        words = ["playbook", "run", "failover-drill", "-p", "group=settle", "-p", "window=1s"]
        while True:
            document = run(*words, "--choose", f"phase={phase}", "-o", "json").json
            by_step = {item["id"]: item for item in document["steps"]}
            if (
                document["ending"] == "complete"
                and by_step[step]["result"] == result
                and by_step[step]["exit_code"] == 0
            ):
                break
            assert monotonic() < end, document
