"""The conformance suite on real brokers: what it asserts of the embedded broker, RocketMQ itself does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.artifacts import RELEASES
from tests.real.cluster import Plan, RealCluster
from tests.real.differences import as_markdown, compared

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(3_600)]


@pytest.mark.parametrize("real", [Plan(release=release) for release in RELEASES], indirect=True, ids=str)
def test_real_brokers_do_what_the_embedded_one_does(real: RealCluster, tmp_path: Path) -> None:
    comparison = compared(real, tmp_path / "report.xml")
    assert not comparison.unexpected, as_markdown([comparison])
    assert comparison.passed_count > 50
