"""What real brokers do differently from the embedded one: the conformance suite is run on them, and reported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.conftest import REPOSITORY
from tests.real.artifacts import is_v5
from tests.real.cluster import RealCluster

_OF_5_4 = {
    "test_a_transaction_is_seen_when_it_is_committed": "a committed message has neither REAL_TOPIC nor REAL_QID",
}
KNOWN: Mapping[str, Mapping[str, str]] = {"5.4.0": _OF_5_4, "5.5.0": _OF_5_4}
"""By release and test: where a release differs from what the suite asserts, with the reason."""
_SECONDS = 1_000
_WORDS = ["-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", "tests/conformance", "-k"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What became of the suite on a release.

    Attributes:
        failed: by test, what it said first.
        left_out: tests that were not to be run there, with the reason.
    """

    release: str
    passed_count: int
    failed: Mapping[str, str]
    left_out: Mapping[str, str]

    @property
    def unexpected(self) -> dict[str, str]:
        """What is not known: tests that failed, that failed no longer, or that were left out without right."""
        known = KNOWN.get(self.release, {})
        gone = {name: "no longer differs" for name in known if name not in self.failed}
        omitted = {name: f"was left out: {why}" for name, why in self.left_out.items() if is_v5(self.release)}
        return {**{name: said for name, said in self.failed.items() if name not in known}, **gone, **omitted}


def compared(cluster: RealCluster, report: Path) -> Comparison:
    """Runs the suite on a cluster.

    Args:
        report: where pytest is to write its own.
    """
    done = subprocess.run(
        [sys.executable, *_WORDS, "not 4.9.8 and not 5.3.3", f"--junitxml={report}"],
        cwd=REPOSITORY,
        env={**os.environ, "MQCTL_TEST_NAMESRV": cluster.namesrv},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed, left_out = _said(cases, "failure", "error"), _said(cases, "skipped")
    passed = [case for case in cases if not {part.tag for part in case} & {"failure", "error", "skipped"}]
    return Comparison(release=cluster.release, passed_count=len(passed), failed=failed, left_out=left_out)


def _said(cases: Iterable[ElementTree.Element], *kinds: str) -> dict[str, str]:
    parts = ((case, part) for case in cases for part in case if part.tag in kinds)
    return {case.attrib["name"].partition("[")[0]: part.get("message", "").partition("\n")[0] for case, part in parts}


def as_markdown(comparisons: Iterable[Comparison]) -> str:
    """Returns the report: how much was compared, and every difference with its reason or as a new one."""
    lines = ["# What real brokers did differently from the embedded one", ""]
    lines += ["| release | passed | differ | left out |", "|---|---|---|---|"]
    rows: list[str] = []
    for each in comparisons:
        lines.append(f"| {each.release} | {each.passed_count} | {len(each.failed)} | {len(each.left_out)} |")
        known = KNOWN.get(each.release, {})
        new = {name: f"**new**: {said}" for name, said in each.unexpected.items()}
        old = {name: f"known: {known[name]}" for name in each.failed if name in known}
        rows += [f"* {each.release}, `{name}`: {said}" for name, said in {**old, **new}.items()]
    return "\n".join([*lines, "", *(rows or ["Nothing differs."]), ""])
