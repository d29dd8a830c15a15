"""What is assigned says what it holds."""

from __future__ import annotations

import ast
import re

import pytest

from tests.conftest import REPOSITORY
from tests.sources import Source, in_every_module, parsed

pytestmark = pytest.mark.slow

SAYS_NOTHING = frozenset({"asked", "found", "told"})
"""Participles that name how a value came, and not what it is."""
_WORD = re.compile(rf"\b(?:{'|'.join(sorted(SAYS_NOTHING))})\b")


def names_that_say_nothing(source: Source, *, in_tests: bool = False) -> list[str]:
    """Returns line and name of each local, parameter and function that is named by a participle alone. Fields stand
    beside the name of their class, and some are in files that older releases wrote; functions of tests are sentences,
    and their parameters fixtures with names of their own."""
    if not _WORD.search(source.text):
        return []
    names = set()
    for function in (node for node in source.nodes if isinstance(node, ast.FunctionDef)):
        inner = [*ast.walk(function)]
        names |= {(node.lineno, node.id) for node in inner if isinstance(node, ast.Name) and _is_assigned(node)}
        if not in_tests:
            names |= {(node.lineno, node.arg) for node in inner if isinstance(node, ast.arg)}
            names.add((function.lineno, function.name))
    return [f"{source.name}:{line}: {name}" for line, name in sorted(names) if name in SAYS_NOTHING]


def _is_assigned(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


all_names_that_say_nothing = in_every_module(names_that_say_nothing)


def test_what_is_assigned_says_what_it_holds() -> None:
    assert all_names_that_say_nothing() == []
    files = [file for room in ("tests", "benchmarks") for file in sorted((REPOSITORY / room).rglob("*.py"))]
    assert len(files) > 500
    sources = (parsed(str(file), text) for file in files if _WORD.search(text := file.read_text(encoding="utf-8")))
    assert [name for source in sources for name in names_that_say_nothing(source, in_tests=True)] == []


def test_a_name_that_says_nothing_is_seen() -> None:
    text = "class A:\n found: int\n def told(self, found: int) -> int:\n  asked = found\n  self.told = asked"
    source = parsed("a.py", text)
    assert names_that_say_nothing(source) == ["a.py:3: found", "a.py:3: told", "a.py:4: asked"]
    assert names_that_say_nothing(source, in_tests=True) == ["a.py:4: asked"]
