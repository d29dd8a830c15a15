"""Defects of released brokers that mqctl must name, where the same rules are silent on healthy pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Outcome
from tests.real.cluster import Plan, RealCluster
from tests.real.members import wait
from tests.real.traffic import flowing

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
# Tables are copied first a minute after the start, and judged a minute later.
COPIED_S = 300.0


@pytest.mark.parametrize("real", [Plan(release="5.5.0", slave=True, proxy=True)], indirect=True, ids=str)
def test_slaves_of_5_5_0_that_lose_offsets_are_named_with_their_defect(
    real: RealCluster, mqctl: Callable[..., Outcome]
) -> None:
    """Behind a proxy the table of offsets has offsets of pulling, which a slave of 5.5.0 cannot read."""
    answers: list[Any] = []

    def is_judged() -> bool:
        words = ("doctor", "--only", "MQ139", "-n", real.namesrv, "--timeout", "60s", "-o", "json")
        answers.append(mqctl(*words).json)
        return answers[-1]["verdict"] in ("error", "fatal")

    with flowing(real, "flow", "push:fast", rate=20):
        wait(is_judged, real.members, "the slave without offsets is named", COPIED_S)
    (finding,) = answers[-1]["findings"]
    assert "It is a defect of RocketMQ 5.5.0" in finding["what"] and "apache/rocketmq#10287" in finding["advice"]
    assert "SyncConsumerOffset Exception" in "".join(
        file.read_text(errors="replace") for file in real.member("broker-a-s").home.rglob("broker.log")
    )
