"""A bare name where one noun is meant: the same answer as with the option, two different ones are refused, the Tab."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mqctl.cli.options.bare_name import BARE_NAME, bare_option
from mqctl.main import load_command
from tests.conftest import Outcome
from tests.live.conftest import Run
from tests.live.test_completion import learn, tab

ONE_NOUN = [
    ("group", "lag"),
    ("group", "describe"),
    ("group", "members"),
    ("topic", "describe"),
    ("topic", "route"),
    ("allocation", "show"),
    ("subscription", "check"),
    ("doctor",),
    ("stacks", "dump"),
    ("dlq", "list"),
    ("message", "peek"),
]


def answer(outcome: Outcome) -> tuple[int, str, str]:
    """What was answered, without what moves from one look to the next."""
    moves = re.compile(r'^ *"\w+_(?:ms|s|at)": .*\n', re.MULTILINE)
    return outcome.exit_code, moves.sub("", outcome.stdout), outcome.stderr


def test_a_bare_name_is_the_option(live: Run) -> None:
    for words in ONE_NOUN:
        option = bare_option(" ".join(words))
        name = {"--group": "G", "--topic": "Pay"}[option]
        bare = answer(live(*words, name, "-o", "json"))
        assert bare == answer(live(*words, option, name, "-o", "json"))
        assert bare[0] not in (64, 70), (words, bare)


def test_names_and_options_stand_in_any_order(live: Run) -> None:
    assert [row["group"] for row in live("group", "lag", "-o", "json", "G").json["groups"]] == ["G"]
    assert live("topic", "route", "Pay", "--topic", "Pay", "-o", "json").json["topic"] == "Pay"
    missing = live("group", "lag", "G", "None")
    assert missing.exit_code == 66, missing.stderr
    assert "None" in missing.stderr


def test_a_snapshot_where_a_name_is_meant_is_answered_with_its_option(live: Run, tmp_path: Path) -> None:
    file = tmp_path / "night.snap"
    saved = live("snapshot", "save", file)
    assert f"mqctl doctor --snapshot {file}" in saved.stderr
    for words in (("doctor",), ("group", "lag"), ("subscription", "check")):
        refused = live(*words, file)
        assert (refused.exit_code, f"{file} is a file, not a group" in refused.stderr) == (64, True)
        line = refused.stderr.partition("next: mqctl ")[2].split()
        assert line == [*words, "--snapshot", str(file)]
    assert live("doctor", "--snapshot", file).exit_code in (0, 1, 2)


def test_a_key_and_its_topic_the_other_way_round(live: Run) -> None:
    refused = live("message", "get", "Pay", "K-17")
    assert (refused.exit_code, "there is no topic K-17: Pay is a topic" in refused.stderr) == (66, True)
    assert "next: mqctl message get K-17 -t Pay" in refused.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("group", "describe", "G", "-g", "H"), "two answers to --group: G and --group H"),
        (("group", "lag", "G", "-g", "G", "-g", "H"), "two answers to --group: G and --group G H"),
        (("topic", "route", "Pay", "--topic=Other"), "two answers to --topic: Pay and --topic Other"),
        (("message", "get", "K", "--id", "L", "-t", "Pay"), "two answers to --id: K and --id L"),
    ],
)
def test_two_names_that_differ_are_refused(live: Run, words: tuple[str, ...], problem: str) -> None:
    outcome = live(*words)
    assert (outcome.exit_code, outcome.stdout) == (64, "")
    assert problem in outcome.stderr
    assert "next: give it once" in outcome.stderr


def test_without_a_name_the_option_is_missing_as_before(live: Run) -> None:
    outcome = live("topic", "route")
    assert outcome.exit_code == 64
    assert "Missing option '-t' / '--topic'" in outcome.stderr


@pytest.mark.parametrize(
    "words", [("allocation", "simulate"), ("top",), ("report", "backlog"), ("export", "prometheus")]
)
def test_where_several_nouns_may_be_meant_no_bare_name_is_taken(words: tuple[str, ...]) -> None:
    assert BARE_NAME not in {parameter.name for parameter in load_command(words).params}


def test_the_tab_completes_bare_names(live: Run) -> None:
    learn(live)
    assert tab(live, "topic", "describe", "") == ["Pay"]
    assert "G" in tab(live, "group", "lag", "")
    assert tab(live, "producer", "list", "") == []
    assert tab(live, "group", "lag", "--store", "/x", "") == []
