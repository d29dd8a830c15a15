"""Every scenario that comes with mqctl, run: `doctor` shows exactly what it declares, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import pytest

from mqctl.errors import BadInputError, NotFoundError
from mqctl.local.scenario import DoctorRun
from mqctl.local.scenario_files import load_scenario, read_scenario, scenario_names
from mqctl.local.stage import Stage
from mqctl.render.scenarios import RunningScenario, ScenarioRow, running_document
from mqctl.rules.engine.playbooks import PLAYBOOKS
from mqctl.rules.engine.rule import RULES
from tests.conftest import Outcome
from tests.requires import need_extra
from tests.rings import rest_is_long

_SECONDS = 90


def codes(report: Any) -> set[str]:
    return {finding["code"] for finding in report["findings"]}


def expected(finding: Any, look: DoctorRun) -> bool:
    named = {finding["subject"], *map(str, finding["names"].values())}
    return any(
        (finding["code"], finding["playbook"]) == (item.code, item.playbook)
        and all(name is None or any(name in text for text in named) for name in (item.group, item.topic))
        for item in look.finds
    )


@pytest.mark.parametrize("name", rest_is_long(scenario_names(), "pop-stuck", "stuck-consumer", "tag-loss"))
def test_doctor_shows_what_is_declared(name: str, mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    scenario = load_scenario(name)
    if any(consumer.client == "grpc" for consumer in scenario.consumers):
        need_extra("interop", "rocketmq.v5")
    stage = Stage(scenario, tmp_path / "stage")
    with stage:
        for when in ("last", "back") if stage.scenario.ends_well else ("last",):
            if when == "back":
                stage.advance("back")
            stage.settle(_SECONDS)
            look_at(stage, [look for look in stage.scenario.looks if look.when == when], mqctl)
        pids = stage.pids
    assert not any(map(psutil.pid_exists, pids))
    assert not stage.directory.exists()


def look_at(stage: Stage, looks: list[DoctorRun], mqctl: Callable[..., Outcome]) -> None:
    for look in looks:
        words = stage.doctor_words(look)
        end = monotonic() + _SECONDS
        while True:
            outcome = mqctl(*words, "-o", "json")
            report = outcome.json
            wanted = {item.code for item in look.finds}
            # What came back a moment ago is not judged yet.
            if wanted <= codes(report) <= wanted | set(look.also) and not report["not_judged"]:
                break
            assert monotonic() < end, outcome.stdout[-4000:]
        assert report["time_scale"] == stage.scenario.time_scale
        assert all(expected(finding, look) or finding["code"] in look.also for finding in report["findings"])


@pytest.mark.parametrize("name", scenario_names())
def test_a_file_names_rules_and_their_playbooks(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.playbook is None or scenario.playbook in PLAYBOOKS
    for look in scenario.looks:
        for item in look.finds:
            rule = RULES[item.code]
            assert item.playbook in {rule.playbook, *rule.other_playbooks.values()}
    assert scenario.planted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title: x\nplanted: [y]\ntopcis: []\n", "topcis"),
        ("title: x\nplanted: [y]\nconsumers: [{name: a, group: G, topics: {}, does: naps}]\n", "naps"),
        ("title: x\nplanted: [y]\nmessages: [{topic: nowhere}]\n", "topic nowhere is not declared"),
        ("title: x\nplanted: [y]\nfaults: [{do: kill-broker, broker: broker-z}]\n", "broker-z"),
        ("title: x\nplanted: [y]\nlooks: [{cluster: 1}]\n", "no cluster 1"),
        ("title: x\nplanted: [y]\ntime_scale: 0\n", "0 times as fast"),
        ("title: [", "scenario s"),
    ],
)
def test_a_file_that_declares_what_cannot_be(text: str, said: str) -> None:
    with pytest.raises(BadInputError) as raised:
        read_scenario("s", text.encode(), "s.yaml")
    assert said in str(raised.value)


def test_a_scenario_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        load_scenario("nonsense")
    with pytest.raises(NotFoundError):
        load_scenario(str(tmp_path / "nonsense.yaml"))


def test_n8_what_to_type_next_can_be_typed() -> None:
    for name in scenario_names():
        for command in load_scenario(name).next_commands:
            words = command.split()
            if words[1:3] == ["allocation", "simulate"]:
                assert {"-g", "-t"} <= set(words) and "--queues" not in words, f"{name}: {command}"


def test_n8_without_a_next_command_none_is_promised() -> None:
    row = ScenarioRow(
        **{item.name: "" for item in fields(ScenarioRow)} | {"planted": [], "time_scale": 1.0}  # type: ignore[arg-type]
    )
    running = {item.name: {} if item.name == "stores" else "" for item in fields(RunningScenario)}
    made = RunningScenario(**running | {"scenario": row, "next_commands": [], "trouble": None})  # type: ignore[arg-type]
    assert len(running_document(made).blocks) == 2
