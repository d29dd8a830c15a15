"""Clusters of each release come up as asked for; a broker that ends without a word is named with its log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Outcome
from tests.real.artifacts import RELEASES
from tests.real.cluster import Plan, RealCluster, up
from tests.real.conftest import require, turn
from tests.real.members import NotUpError

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
PLANS = [
    *(Plan(release=release, slave=True) for release in RELEASES),
    Plan(release="5.5.0", brokers=2, proxy=True),
    Plan(release="5.5.0", controller=True),
]


@pytest.mark.parametrize("real", PLANS, indirect=True, ids=str)
def test_a_cluster_has_the_brokers_of_its_plan(real: RealCluster, mqctl: Callable[..., Outcome]) -> None:
    rows = mqctl("broker", "list", "-n", real.namesrv, "--timeout", "60s", "-o", "json").json["brokers"]
    brokers = [member for member in real.members if member.name.startswith("broker")]
    assert {row["address"] for row in rows} == {member.address for member in brokers}
    assert {row["version"] for row in rows} == {"V" + real.release.replace(".", "_")}
    assert all(member.process() for member in real.members)


def test_a_broker_that_ends_without_a_word_is_named_with_its_log(tmp_path: Path) -> None:
    require("5.5.0")
    with turn(), pytest.raises(NotUpError, match=r"(?s)^broker-a ended by itself .*rocksdbCQ is not ready for LMQ"):
        up(Plan(release="5.5.0", settings={"rocksdbCQDoubleWriteEnable": "true"}), tmp_path)
