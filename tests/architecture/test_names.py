"""One name for one thing: no class has the name of another, no function of a general name has a namesake, and what is
assigned says what it holds."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.conftest import REPOSITORY

PACKAGES = ("mqctl", "embedded_broker")
EVERYWHERE = frozenset({"command", "main"})
"""Functions that every module of a kind has: those of a command, and those that start a process."""

SAYS_NOTHING = frozenset({"asked", "found", "told"})
"""Participles that name how a value came, and not what it is."""


def public_names(source: str) -> Iterator[tuple[type[ast.stmt], str]]:
    """Yields the kind and the name of what a module defines for others."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            yield ast.ClassDef if isinstance(node, ast.ClassDef) else ast.FunctionDef, node.name


def namesakes(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the files of each public class, and of each function named by one word, that several files define."""
    files: dict[tuple[type[ast.stmt], str], list[str]] = defaultdict(list)
    for file, source in sources.items():
        for kind, name in public_names(source):
            if kind is ast.ClassDef or ("_" not in name and name not in EVERYWHERE):
                files[kind, name].append(file)
    return {name: sorted(modules) for (_, name), modules in files.items() if len(modules) > 1}


def names_that_say_nothing(source: str) -> set[tuple[int, str]]:
    """Returns line and name of each local, parameter and function that is named by a participle alone. Fields stand
    beside the name of their class, and some are in files that older releases wrote."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    names = {(node.lineno, node.name) for node in functions}
    for node in (node for function in functions for node in ast.walk(function)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add((node.lineno, name))
    return {(line, name) for line, name in names if name in SAYS_NOTHING}


def _locals_alone(source: str) -> set[tuple[int, str]]:
    """Returns those of them that are assigned: functions of tests are sentences, fixtures have their own names."""
    stored = {
        (node.lineno, node.id)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return names_that_say_nothing(source) & stored


def _sources(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    sources = {
        path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
        for package in packages
        for path in (REPOSITORY / package).rglob("*.py")
    }
    assert len(sources) > 500
    return sources


def test_a_class_has_its_name_for_itself() -> None:
    assert namesakes(_sources()) == {}


def test_what_is_assigned_says_what_it_holds() -> None:
    names = {file: names_that_say_nothing(source) for file, source in _sources().items()}
    names |= {file: _locals_alone(source) for file, source in _sources(("tests", "benchmarks")).items()}
    assert {file: places for file, places in names.items() if places} == {}


def test_a_name_that_says_nothing_is_seen() -> None:
    source = "class A:\n found: int\n def told(self, found: int) -> int:\n  asked = found\n  self.told = asked"
    assert names_that_say_nothing(source) == {(3, "told"), (3, "found"), (4, "asked")}


def test_a_namesake_is_seen() -> None:
    first = "class Look: ...\ndef run(): ...\ndef take_look(): ...\ndef command(): ..."
    second = "class Look: ...\nasync def run(): ...\ndef take_look(): ...\ndef command(): ...\nclass _Look: ..."
    assert namesakes({"a.py": first, "b.py": second}) == {"Look": ["a.py", "b.py"], "run": ["a.py", "b.py"]}
    assert namesakes({"a.py": first, "b.py": "class _Look: ..."}) == {}
