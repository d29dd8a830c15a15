"""Judging thousands of groups takes seconds: the work grows as the cluster does, and a group costs no more than agreed.

Work is counted in calls, which do not depend on what else the machine does. 2,000 groups and 40,000 queues took 2.4 s
of CPU over two looks at 6,300 calls a group (`python -m benchmarks.rules`); 2.5 s are agreed.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from benchmarks.rules import cluster
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import diagnose

_FEW, _MANY = 40, 120
_MOST_CALLS = {1: 3_900, 2: 7_000}


def looked_at(groups: int, looks: int) -> ClusterSnapshot:
    now = cluster(groups, groups * 5 // 2)
    then = replace(now, origin=replace(now.origin, observed_at_ms=now.origin.observed_at_ms - 60_000))
    return replace(now, earlier=then) if looks > 1 else now


def calls(snapshot: ClusterSnapshot) -> int:
    """Counts the calls of one judging."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        diagnosis = diagnose(snapshot)
    finally:
        sys.setprofile(None)
    assert diagnosis.findings == ()
    return count


@pytest.mark.parametrize("looks", [1, 2])
def test_work_grows_as_the_cluster_does_and_a_group_costs_no_more_than_agreed(looks: int) -> None:
    calls(looked_at(1, looks))  # what is imported and put together once
    few, many = (calls(looked_at(groups, looks)) for groups in (_FEW, _MANY))
    added = (many - few) / (_MANY - _FEW)
    assert added < _MOST_CALLS[looks]
    assert many < added * _MANY * 1.5
