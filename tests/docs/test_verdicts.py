"""docs/verdicts.md and docs/verdicts-tried.md: numbers are counted, each row of what was wrong names its test."""

from __future__ import annotations

import re
from pathlib import Path

from mqctl.rules import RULES
from tests.incidents.corpus import INCIDENTS

ROOT = Path(__file__).resolve().parents[2]


def test_every_test_that_the_page_names_is_there() -> None:
    page = (ROOT / "docs" / "verdicts-tried.md").read_text(encoding="utf-8")
    wrong = page.partition("## What was wrong")[2].partition("\n## ")[0]
    rows = [line for line in wrong.splitlines() if line.startswith("| ")][1:]
    named = [re.findall(r"`(test_\w+)`", row) for row in rows]
    assert rows and all(len(names) == 1 for names in named)
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for (name,) in named if f"def {name}(" not in tests] == []


def test_every_number_of_the_first_list_has_its_tests() -> None:
    page = (ROOT / "docs" / "verdicts-tried.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([AFN]\d+) \| .+? \| (.+) \|$", page, re.MULTILINE)
    assert [number for number, _ in rows] == [
        f"{kind}{number}" for kind, most in (("A", 15), ("F", 9), ("N", 16)) for number in range(1, most + 1)
    ]
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    named = {number: re.findall(r"`(test_\w+)`", cells) for number, cells in rows}
    assert [number for number, names in named.items() if not names] == []
    assert [name for names in named.values() for name in names if f"def {name}(" not in tests] == []


def test_the_numbers_of_the_summary_are_counted() -> None:
    """A page that promises numbers goes stale by itself."""
    summary = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    tried = (ROOT / "docs" / "verdicts-tried.md").read_text(encoding="utf-8")
    wrong, right = (
        len([line for line in tried.partition(f"## {head}")[2].partition("\n## ")[0].splitlines() if line[:2] == "| "])
        - 1
        for head in ("What was wrong", "What was right at once")
    )
    named = sum(incident.score == "named" for incident in INCIDENTS)
    generated = [
        path for path in (ROOT / "tests" / "rules").rglob("test_*.py") if "\n@given(" in path.read_text("utf-8")
    ]
    numbers = {
        "rules": len(RULES),
        "tried and wrong at first": wrong,
        "tried and right at once": right,
        "incidents": len(INCIDENTS),
        "incidents named": named,
        "modules with generators": len(generated),
    }
    assert dict(re.findall(r"^\| (.+?) \| ([0-9]+) \|", summary, re.MULTILINE)) == {
        name: str(number) for name, number in numbers.items()
    }
    assert len(summary.splitlines()) <= 100, "two screens"
