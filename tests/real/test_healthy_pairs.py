"""Two masters with a slave each, idle and under traffic with a consumer that keeps up: all is well at ten looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Outcome
from tests.real.artifacts import RELEASES
from tests.real.cluster import Plan, RealCluster
from tests.real.members import wait
from tests.real.traffic import flowing

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
Run = Callable[..., Outcome]
LOOKS, RATE, TRIES = 10, 300, 4
# A slave asks an empty master for its first bytes every few seconds, and copies its tables first after a minute; a
# consumer is known to each broker after half a minute.
SETTLED_S = 180.0
PAIRS = [Plan(release=release, brokers=2, slave=True) for release in RELEASES]


@pytest.fixture
def looked(real: RealCluster, mqctl: Run) -> Callable[..., Any]:
    """Runs a command against the cluster and returns its answer.

    On a busy machine a broker may not answer within its three seconds; the command says so, and is run again.
    """

    def run(*words: str) -> Any:
        for _ in range(TRIES):
            patience = () if words[0] == "playbook" else ("--timeout", "60s")
            outcome = mqctl(*words, "-n", real.namesrv, *patience, "-o", "json")
            if "no answer within" not in outcome.stdout + outcome.stderr:
                break
        assert outcome.stdout, f"{words}: {outcome.stderr}"
        return outcome.json

    return run


def all_is_well(looked: Callable[..., Any], *, window: bool) -> None:
    diagnosis = looked("doctor", *(("--window", "3s") if window else ()))
    said = [(item["code"], item["what"]) for item in diagnosis["findings"]]
    assert (said, diagnosis["not_judged"], diagnosis["verdict"]) == ([], [], "ok")
    assert [(row["state"], row["behind_bytes"]) for row in slaves(looked)] == [("in-sync", 0)] * 2


def slaves(looked: Callable[..., Any]) -> list[Any]:
    return [row for row in looked("ha", "status")["replicas"] if row["broker_id"]]


def has_settled(looked: Callable[..., Any]) -> bool:
    follow = all(row["state"] == "in-sync" for row in slaves(looked))
    copied = looked("doctor", "--only", "MQ139")["verdict"] != "unknown"
    keeps_up = all(row["lag_ms"] < 5_000 for row in looked("group", "lag", "-g", "fast")["groups"])
    return follow and copied and keeps_up


@pytest.mark.parametrize("real", PAIRS, indirect=True, ids=str)
def test_a_healthy_pair_is_healthy_at_every_look(real: RealCluster, looked: Callable[..., Any]) -> None:
    for number in range(2):
        all_is_well(looked, window=bool(number))
    looked("topic", "create", "-t", "flow", "--execute")
    with flowing(real, "flow", "fast", rate=RATE) as traffic:
        wait(lambda: has_settled(looked), real.members, "slaves and consumer have found their masters", SETTLED_S)
        before = traffic.consumed_count
        for number in range(LOOKS):
            all_is_well(looked, window=number % 2 == 1)
            dumped = looked("stacks", "dump", "-g", "fast")
            assert ([item["consume_mode"] for item in dumped["instances"]], dumped["findings"]) == (["PULL"], [])
        for words in (("slave-behind",), ("backlog", "-p", "group=fast")):
            assert looked("playbook", "run", *words, "-p", "window=3s")["ending"] == "done"
        assert traffic.consumed_count > before + LOOKS * RATE
    for number in range(2):
        all_is_well(looked, window=bool(number))
