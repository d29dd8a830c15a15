"""Every example with output in the Markdown files is run and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs import markdown
from tests.docs.console import Session, same, steps
from tests.each import each
from tests.rings import rest_is_long

pytestmark = pytest.mark.slow

LANGUAGES = {"console", "sh", "python", "yaml", "json", "toml", "ini", "promql", "java", "text"}  # text: drawings


def sessions(page: Path) -> list[str]:
    return [block.text for block in markdown.blocks(page) if block.info == "console"]


def english(page: Path) -> Path:
    return page.with_name(page.name.replace(".zh.md", ".md"))


PAGES = [
    page
    for page in markdown.files()
    if sessions(page) and (page == english(page) or sessions(page) != sessions(english(page)))
]


# README shows `quickstart`, which CI runs as a stranger does.
@pytest.mark.parametrize(
    "page",
    rest_is_long(PAGES, *(page for page in PAGES if page.stem != "README")),
    ids=lambda page: str(page.relative_to(REPOSITORY)),
)
def test_examples_say_what_happens(page: Path, tmp_path: Path) -> None:
    session = Session(tmp_path)
    try:
        for step in steps(page):
            output = session.run(step.script)
            if step.expected is None:
                assert session.status == 0, f"{page.name}:{step.line}: {output}"
            else:
                assert same(step.expected, output), f"{page.name}:{step.line}: $ {step.script}\n{output}"
    finally:
        session.close()


def test_no_output_stands_where_it_is_not_compared() -> None:
    wrong = [
        f"{block.file.relative_to(REPOSITORY)}:{block.line}: `{block.info}`"
        for file in markdown.files()
        for block in markdown.blocks(file)
        if block.info not in LANGUAGES or (block.info != "console" and "$ mqctl" in block.text)
    ]
    assert wrong == []


@each(
    "expected, found, equal",
    [
        ("a  b", "a b\n", True),
        ("a", "b", False),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nd", True),
        ("a\n...\nd", "a\nb", False),
        ("a\n...", "a\nb\nc", True),
        ("at 2026-01-01 00:00:00+00:00, 5 s", "at 2027-02-03 10:20:30+00:00, 81.2 ms", True),
        ("3 messages", "4 messages", False),
    ],
)
def test_outputs_are_compared(expected: str, found: str, equal: bool) -> None:
    assert same(expected, found) is equal
