"""Two masters with a slave each, idle and under traffic with a consumer that keeps up: all is well at ten looks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import Outcome
from tests.real.artifacts import RELEASES
from tests.real.cluster import Plan, RealCluster
from tests.real.members import wait
from tests.real.moving import Looker
from tests.real.traffic import flowing

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
Run = Callable[..., Outcome]
LOOKS, RATE = 10, 300
SETTLED_S = 180.0
PAIRS = [Plan(release=release, brokers=2, slave=True) for release in RELEASES]


@pytest.fixture
def looked(real: RealCluster, mqctl: Run) -> Looker:
    """Asks the cluster."""
    return Looker(real, mqctl)


def all_is_well(looked: Looker, *, window: bool) -> None:
    diagnosis = looked("doctor", *(("--window", "3s") if window else ()))
    said = [(item["code"], item["what"]) for item in diagnosis["findings"]]
    assert (said, diagnosis["not_judged"], diagnosis["verdict"]) == ([], [], "ok")
    assert [(row["state"], row["behind_bytes"]) for row in looked.slaves()] == [("in-sync", 0)] * 2


@pytest.mark.parametrize("real", PAIRS, indirect=True, ids=str)
def test_a_healthy_pair_is_healthy_at_every_look(real: RealCluster, looked: Looker) -> None:
    for number in range(2):
        all_is_well(looked, window=bool(number))
    looked("topic", "create", "-t", "flow", "--execute")
    with flowing(real, "flow", "push:fast", rate=RATE) as traffic:
        wait(
            lambda: looked.has_settled("fast"), real.members, "slaves and consumer have found their masters", SETTLED_S
        )
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
