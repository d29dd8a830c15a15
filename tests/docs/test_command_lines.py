"""Every mqctl line in any Markdown file is one that mqctl accepts."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
import typer

from mqctl.cli import catalog
from mqctl.errors import UsageError
from mqctl.main import load_command
from tests.docs import markdown
from tests.docs.markdown import CommandLine
from tests.each import each

PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_:.-]*|<[^>]+>")


@pytest.fixture(autouse=True)
def untouched_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")  # `--no-color` sets it while it is parsed


def complaint(line: CommandLine) -> str | None:
    """Returns what is wrong with a command line, None when mqctl accepts it."""
    words = list(line.words)
    if not words or words[0] in {"--version", "--help", "-h"}:
        return None
    path: tuple[str, ...] = ()
    while words and ((*path, words[0]) in catalog.BY_PATH or words[0] in catalog.children(path)):
        path = (*path, words.pop(0))
    if path not in catalog.BY_PATH:
        # A noun by itself may be mentioned; its verb may be a placeholder.
        if path and not line.whole and (not words or PLACEHOLDER.fullmatch(words[0])):
            return None
        return None if path and words and words[0] in {"-h", "--help"} else f"there is no command {line.words}"
    if {"-h", "--help"} & set(words):
        return None
    built = copy.deepcopy(load_command(path))  # every other line of this process gets the same one
    if not line.whole:  # a mention may leave out what it needs, and stand for more than one value
        words = ["1" if PLACEHOLDER.fullmatch(word) else word for word in words]
        for parameter in built.params:
            parameter.required = False
    try:
        built.make_context(" ".join(path), words)
    except (typer.TyperException, UsageError) as error:
        complaint_text = error.problem if isinstance(error, UsageError) else error.format_message()
        # `mqctl report run --save` in a sentence speaks of the option.
        return None if not line.whole and complaint_text.endswith("requires an argument.") else complaint_text
    return None


@each("file", markdown.files)
def test_every_mqctl_line_is_accepted(file: Path) -> None:
    wrong = complaints(file)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["commands.md", "rules.md", "schemas/README.md"])
def test_every_mqctl_line_of_the_references_is_accepted(name: str, references: Path) -> None:
    wrong = complaints(references / "docs" / name)
    assert not wrong, "\n".join(wrong)


def complaints(file: Path) -> list[str]:
    """Returns what is wrong with the command lines of a file."""
    return [f"{line.where}: mqctl {' '.join(line.words)}: {problem}" for line in markdown.command_lines(file)
            if (problem := complaint(line)) is not None]  # fmt: skip


def test_the_lines_are_found(references: Path) -> None:
    files = (*markdown.files(), references / "docs" / "commands.md")
    lines = [line for file in files for line in markdown.command_lines(file)]
    assert len([line for line in lines if line.whole]) > 200
    assert len([line for line in lines if not line.whole]) > 100
    named = {line.words[:count] for line in lines if line.whole for count in (1, 2, 3)}
    assert [entry.path for entry in catalog.ENTRIES if entry.path not in named] == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("jstack -l 1 | mqctl stacks dump --file - > out 2>&1", [("stacks", "dump", "--file", "-")]),
        ("mqctl doctor 2>/dev/null; mqctl top", [("doctor",), ("top",)]),
        (
            "A=b .venv/bin/mqctl group lag --until 'lag<100 and lost=0'",
            [("group", "lag", "--until", "lag<100 and lost=0")],
        ),
        ("echo $(mqctl --version)", [("--version",)]),
        ("mqctl top # mqctl nonsense", [("top",)]),
        ("pip install mqctl[spark]", []),
    ],
)
def test_shell_lines_are_taken_apart(line: str, words: list[tuple[str, ...]]) -> None:
    assert list(markdown.split(line)) == words


@pytest.mark.parametrize(
    ("words", "whole", "wrong"),
    [
        (("group", "lag", "--untill", "x"), True, "No such option"),
        (("group", "lagg"), True, "there is no command"),
        (("topic", "describe"), True, "Missing option"),
        (("topic", "describe"), False, None),
        (("group", "lag", "-o", "xml"), False, "xml"),
        (("offset",), False, None),
        (("offset",), True, "there is no command"),
    ],
)
def test_what_is_wrong_is_found(words: tuple[str, ...], whole: bool, wrong: str | None) -> None:
    problem = complaint(CommandLine("here", words, whole))
    assert (problem is None) if wrong is None else (problem is not None and wrong in problem)
