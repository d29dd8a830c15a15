"""What SECURITY.md names is there: tests, options, variables."""

from __future__ import annotations

import re

from mqctl.cli.catalog import ENTRIES, options_of
from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "SECURITY.md").read_text()


def test_the_tests_it_names_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)
    assert len(named) > 8
    assert [name for name in named if not (REPOSITORY / name).is_file()] == []


def test_the_options_and_variables_it_names_are_there() -> None:
    known = {option for entry in ENTRIES for option in options_of(entry.path)}
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) <= known
    source = "".join(file.read_text() for file in (REPOSITORY / "mqctl" / "cli").rglob("*.py"))
    assert [name for name in re.findall(r"\bMQCTL_[A-Z_]+\b", PAGE) if name not in source] == []
