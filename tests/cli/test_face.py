"""The face that every command shares: help, usage errors, exit codes, completion."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from mqctl import __version__
from mqctl.cli import catalog
from mqctl.cli.completion.answer import candidates
from tests.conftest import REPOSITORY, Outcome
from tests.each import each

Run = Callable[..., Outcome]


def test_version(mqctl: Run) -> None:
    assert mqctl("--version").stdout == f"mqctl {__version__}\n"


def test_no_arguments_shows_the_commands(mqctl: Run) -> None:
    outcome = mqctl()
    assert outcome.exit_code == 0
    listed = outcome.stdout.partition("Commands:\n")[2].partition("\n\n")[0]
    assert "More" not in listed, "a new first word belongs into a section of catalog.SECTIONS"
    assert set(catalog.children(())) <= set(listed.split())


def test_the_help_fits_a_screen(mqctl: Run) -> None:
    shown = mqctl("--help", env={"COLUMNS": "80", "LINES": "24"}).stdout.splitlines()
    assert len(shown) < 24
    assert max(map(len, shown)) <= 80
    for noun in catalog.children(()).keys() & catalog.GROUPS:
        shown = mqctl(noun, "--help", env={"COLUMNS": "80", "LINES": "24"}).stdout.splitlines()
        assert max(map(len, shown)) <= 80, noun


@each("entry", catalog.ENTRIES)
def test_help_begins_with_examples(mqctl: Run, entry: catalog.Entry) -> None:
    outcome = mqctl(*entry.path, "--help")
    assert outcome.exit_code == 0
    usage, _, rest = outcome.stdout.partition("\n\n")
    assert usage.startswith(f"Usage: mqctl {' '.join(entry.path)}")
    assert rest.startswith(f"Examples:\n  mqctl {' '.join(entry.path)}")
    assert f"Impact: {entry.impact}." in rest
    # What carries plans out changes something; the reverse is not so, as harmless changes need no plan.
    assert entry.impact in {"changes", "destroys"} or "--execute" not in rest


@pytest.mark.parametrize(
    ("words", "problem", "remedy"),
    [
        (["completio"], "No such command 'completio'. Did you mean 'completion'?", "mqctl --help"),
        (["completion", "--nonsense"], "No such option: --nonsense", "mqctl completion --help"),
        (["completion"], "Missing argument", "mqctl completion --help"),
        (["broker", "describe"], "one broker is described at a time", "name one BROKER; --counters shows several"),
        (
            ["allocation", "simulate", "-g", "G", "-t", "T", "--clients", "3"],
            "--clients begins with numbers, so it also needs --queues",
            "use both; with a live group (-g GROUP -t TOPIC) --add-clients N",
        ),
    ],
)
def test_usage_errors_end_with_64_and_say_what_next(mqctl: Run, words: list[str], problem: str, remedy: str) -> None:
    outcome = mqctl(*words)
    assert (outcome.exit_code, outcome.stdout) == (64, "")
    assert problem in outcome.stderr
    assert f"next: {remedy}" in outcome.stderr


@pytest.mark.parametrize("words", [(), ("group",), ("group", "lag"), ("doctor",)])
def test_help_is_asked_for_in_either_order(mqctl: Run, words: tuple[str, ...]) -> None:
    before, behind = mqctl("help", *words), mqctl(*words, "--help")
    assert (before.exit_code, before.stdout, before.stderr) == (0, behind.stdout, "")
    assert "Usage: mqctl" in before.stdout


def test_choices_of_an_argument_are_told_on_one_line(mqctl: Run) -> None:
    assert "Choose from: bash, zsh, fish\n" in mqctl("completion").stderr


@pytest.mark.parametrize("flag", [["-o", "json"], ["--output", "json"], ["--output=json"], ["-ojson"]])
def test_errors_are_one_json_object_in_json_mode(mqctl: Run, flag: list[str]) -> None:
    outcome = mqctl("nonsense", *flag)
    assert outcome.exit_code == 64
    error = json.loads(outcome.stderr)
    assert (error["schema"], error["exit_code"]) == ("error/1", 64)
    assert "nonsense" in error["problem"]


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m mqctl --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_static_completion_knows_commands_and_choices(mqctl: Run) -> None:
    words = [line.split("\t")[0] for line in mqctl("__complete", "").stdout.splitlines()]
    assert words == list(catalog.children(()))
    assert mqctl("__complete", "completion", "z").stdout == "zsh\t\n"


def test_an_answer_without_a_table_is_one_row_of_csv(mqctl: Run) -> None:
    assert mqctl("filter", "test", "a > 1", "--prop", "a=2", "-o", "csv").stdout.splitlines() == [
        "expression,expression_type,verdict,reason",
        "a > 1,SQL92,delivered,",
    ]
    refused = mqctl("explain", "partition", "-o", "csv")
    assert (refused.exit_code, refused.stdout) == (64, "")
    assert "this answer has no rows for -o csv" in refused.stderr


@each("old", catalog.ALIASES)
def test_an_old_name_is_the_command_it_was_merged_into(mqctl: Run, old: catalog.Path) -> None:
    before, _, after = catalog.ALIASES[old].partition("...")
    given = [word for word in before.split() if not word.endswith("=")]
    path = tuple(given[:2])
    assert path in catalog.BY_PATH and old not in catalog.BY_PATH
    assert catalog.present_words([*old, "--help"]) == [*given, "--help", *after.split()]
    assert mqctl(*old, "--help").stdout == mqctl(*path, "--help").stdout
    assert candidates(list(old), "-") == candidates([*given, *after.split()], "-")


def test_old_names_are_printed_nowhere() -> None:
    """Texts, documents and playbooks name the present commands only; the changelog tells what was."""
    old = "|".join(" ".join(path) for path in catalog.ALIASES)
    places = ["mqctl", "playbooks", "docs", "README.md", "README.zh.md", "tests"]
    command = ["git", "grep", "--untracked", "-nP", rf"\bmqctl ({old})(?![\w-])", "--", *places]
    searched = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (searched.returncode, searched.stdout) == (1, "")
