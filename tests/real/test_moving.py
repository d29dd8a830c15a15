"""A master and its slave, with and without a proxy and with consumers of all kinds: no false alarm, at any rate.

`MQCTL_JUDGE_MINUTES` has it looked at for longer; `python -m tests.real judge` does the same by hand.
"""

from __future__ import annotations

import os

import pytest

from tests.real.artifacts import RELEASES, is_v5
from tests.real.cluster import Plan, RealCluster
from tests.real.moving import Looker, Run, in_motion, judge

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
SECONDS = 60 * float(os.environ.get("MQCTL_JUDGE_MINUTES", "0.25"))
PLANS = [
    Plan(release=release, slave=True, proxy=proxy)
    for release in RELEASES
    for proxy in ((False, True) if is_v5(release) else (False,))
]


@pytest.mark.parametrize("real", PLANS, indirect=True, ids=str)
@pytest.mark.parametrize("rate", [0, 100, 2_000])
def test_a_cluster_in_motion_is_accused_of_nothing(real: RealCluster, mqctl: Run, rate: int) -> None:
    looker = Looker(real, mqctl)
    with in_motion(looker, rate) as traffics:
        report = judge(looker, traffics, SECONDS)
    assert report.alarms == [], str(report)
    assert rate == 0 or all(report.consumed.values()), str(report)
