"""The table of mqadmin's sub-commands: complete, and naming only what the parser takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mqctl.cli import catalog
from mqctl.cli.catalog_mqadmin import TABLE, CommandCoverage
from mqctl.main import load_command
from tests.conftest import Outcome
from tests.each import each

Run = Callable[..., Outcome]
VALUES = {"N": "1", "TIME": "-1h"}


@pytest.mark.quick
def test_every_sub_command_of_each_release_is_there_once() -> None:
    assert len({entry.name.lower() for entry in TABLE}) == len(TABLE)
    counts = Counter(release for entry in TABLE for release in entry.versions)
    assert counts == {"4.9.7": 57, "4.9.8": 56, "5.3.3": 89, "5.4.0": 90, "5.5.0": 96}
    assert sum({"4.9.8", "5.3.3"} <= set(entry.versions) for entry in TABLE) == 52


@pytest.mark.golden_full
def test_the_names_are_those_of_the_recorded_help(full_golden: Path) -> None:
    pages = (full_golden / "rocketmq-4.9.8" / "mqadmin_help").glob("help_*.out")
    assert {page.stem.removeprefix("help_") for page in pages} - {"all"} == {
        entry.name for entry in TABLE if "4.9.8" in entry.versions
    }


@each("line", sorted({line for entry in TABLE for line in entry.ours}))
def test_what_is_named_instead_is_what_the_parser_takes(line: str) -> None:
    words = [VALUES.get(word, word) for word in line.split()]
    path = max((path for path in catalog.BY_PATH if tuple(words[: len(path)]) == path), key=len)
    with load_command(path).make_context("mqctl", words[len(path) :]) as context:
        assert context.params


def test_what_is_not_offered_has_a_reason_and_what_is_has_a_command() -> None:
    for entry in TABLE:
        assert bool(entry.ours) == (entry.coverage is not CommandCoverage.NONE), entry.name
        assert entry.note or entry.coverage is CommandCoverage.WHOLE, entry.name


def test_a_name_is_found_in_any_case(mqctl: Run) -> None:
    assert mqctl("commands", "--mqadmin", "TOPICSTATUS", "-o", "json").json["commands"] == [
        {
            "mqadmin": "topicStatus",
            "versions": ["4.9.7", "4.9.8", "5.3.3", "5.4.0", "5.5.0"],
            "coverage": "whole",
            "commands": ["mqctl topic describe -t TOPIC"],
            "note": "",
            "commands_argv": [["mqctl", "topic", "describe", "-t", "TOPIC"]],
            "note_key": None,
            "note_values": None,
        }
    ]


def test_a_name_that_mqadmin_does_not_have_ends_with_66_and_near_ones(mqctl: Run) -> None:
    outcome = mqctl("commands", "--mqadmin", "topicstats")
    assert (outcome.exit_code, outcome.stdout) == (66, "")
    assert re.search("did you mean topicStatus", outcome.stderr)


@pytest.mark.quick
def test_without_a_name_every_command_is_listed_with_its_impact(mqctl: Run) -> None:
    listed = mqctl("commands", "-o", "json").json["commands"]
    assert {row["command"]: row["impact"] for row in listed} == {
        " ".join(entry.path): entry.impact for entry in catalog.ENTRIES
    }
