"""docs/comparisons.md: each rule that compares answers of different moments is in one row, with its test."""

from __future__ import annotations

import re
from pathlib import Path

from mqctl.model.gap import Part
from mqctl.model.origin import OriginKind
from mqctl.rules import RULES
from mqctl.rules.engine.rule import Rule

ROOT = Path(__file__).resolve().parents[2]


def _compares(rule: Rule) -> bool:
    """Whether it looks at answers to several questions, of several brokers or of two looks. A recording is at rest."""
    several = len(rule.needs) > 1 or rule.cluster_judge is not None or rule.least_window is not None
    return several and rule.applies_to(OriginKind.LIVE) and Part.PAST not in rule.needs


def _rows() -> list[list[str]]:
    page = (ROOT / "docs" / "comparisons.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ") and "MQ" in line]
    return [line.strip("| ").split(" | ") for line in lines]


def _codes(cell: str) -> list[str]:
    """The codes that a cell names; of `MQ130 to MQ134` those that the page has to list."""
    listed: list[str] = []
    for first, last in re.findall(r"(MQ\d+)(?: to (MQ\d+))?", cell):
        among = [code for code in sorted(RULES) if first <= code <= (last or first) and _compares(RULES[code])]
        listed += among or [first]
    return listed


def test_each_rule_that_compares_is_in_one_row() -> None:
    listed = [code for row in _rows() for code in _codes(row[1])]
    assert sorted(listed) == sorted(code for code, rule in RULES.items() if _compares(rule))


def test_each_row_names_a_test_that_is_there() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for row in _rows():
        name = row[3].strip("`")
        assert f"def {name}(" in tests, row
