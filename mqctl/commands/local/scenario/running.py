"""Scenarios as rows, what is to be known of one that runs, and a command that runs beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from mqctl.local.faults import When
from mqctl.local.keeping import Keeper
from mqctl.local.looks import namesrv_by_room, typed_words
from mqctl.local.scenario import Scenario
from mqctl.local.state import LocalCluster
from mqctl.model.said import said
from mqctl.render.scenarios import RunningScenario, ScenarioRow, commands_to_type


def scenario_row(scenario: Scenario) -> ScenarioRow:
    """Returns a scenario as a row."""
    codes = dict.fromkeys(item.code for look in scenario.looks for item in look.finds)
    return ScenarioRow(
        name=scenario.name,
        title=scenario.title,
        playbook=scenario.playbook,
        findings=", ".join(codes),
        time_scale=scenario.time_scale,
        broker_count=sum(len(cluster.brokers) for cluster in scenario.clusters),
        consumer_count=len(scenario.consumers),
        planted=list(scenario.planted),
        keyed_planted=said(scenario.planted),
    )


def running_scenario(scenario: Scenario, state: LocalCluster, when: When = "last") -> RunningScenario:
    """Returns what a reader needs to know of a scenario that runs, and of which a part was played last.

    While it is the only local cluster, commands find it and its time scale by themselves.
    """
    stores = {broker.name: broker.store for broker in state.ready.brokers}
    of_room = namesrv_by_room(scenario.clusters[0], state.ready.namesrv)
    doctor = [typed_words(look, stores, of_room) for look in scenario.looks if look.when == when]
    commands = commands_to_type(doctor, scenario.next_commands, stores)
    return RunningScenario(
        scenario=scenario_row(scenario),
        cluster=state.name,
        namesrv=state.ready.namesrv,
        stores=stores,
        as_declared=not state.trouble,
        trouble=state.trouble,
        doctor=doctor,
        next_commands=list(commands),
        next_commands_argv=[list(line.words) for line in commands],
    )


def run_beside(keeper: Keeper, words: Sequence[str]) -> int:
    """Runs one command of mqctl against a scenario and returns its exit code."""
    sys.stdout.flush()
    environment = {**os.environ, **keeper.stage.environment}
    return subprocess.run([sys.executable, "-m", "mqctl", *words], env=environment, check=False).returncode
