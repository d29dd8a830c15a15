"""The conformance suite on real brokers: what it asserts of the embedded broker, RocketMQ itself does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import REPOSITORY
from tests.real.artifacts import RELEASES
from tests.real.cluster import Plan, RealCluster

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]
# Where a release differs from what the suite asserts, with the reason.
_OF_5_4 = {
    "test_a_transaction_is_seen_when_it_is_committed": "a committed message has neither REAL_TOPIC nor REAL_QID",
}
DIFFERENCES = {"5.4.0": _OF_5_4, "5.5.0": _OF_5_4}


def outcomes(cluster: RealCluster, report: Path) -> dict[str, str]:
    """Runs the suite on a cluster; returns what became of each test (`passed`, `failure`, `error`, `skipped`)."""
    words = (
        "-m",
        "pytest",
        "-n0",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/conformance",
        "-k",
        "not 4.9.8 and not 5.3.3",
    )
    done = subprocess.run(
        [sys.executable, *words, f"--junitxml={report}"],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_TEST_NAMESRV": cluster.namesrv},
        capture_output=True,
        text=True,
        timeout=1_000,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return {
        case.attrib["name"]: next((part.tag for part in case if part.tag != "system-out"), "passed") for case in cases
    }


@pytest.mark.parametrize("real", [Plan(release=release) for release in RELEASES], indirect=True, ids=str)
def test_real_brokers_do_what_the_embedded_one_does(real: RealCluster, tmp_path: Path) -> None:
    seen = outcomes(real, tmp_path / "report.xml")
    failed = {name.partition("[")[0] for name, outcome in seen.items() if outcome in ("failure", "error")}
    assert failed == DIFFERENCES.get(real.release, {}).keys()
    assert sum(outcome == "passed" for outcome in seen.values()) > 50
    skipped = [name for name, outcome in seen.items() if outcome == "skipped"]
    assert not skipped or real.release.startswith("4."), "POP came with 5.0: nothing else may be left out"
