"""One name for one thing: no class has the name of another, and no function of a general name has a namesake."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.conftest import REPOSITORY

PACKAGES = ("mqctl", "embedded_broker")
EVERYWHERE = frozenset({"command", "main"})
"""Functions that every module of a kind has: those of a command, and those that start a process."""


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
    return {name: sorted(found) for (_, name), found in files.items() if len(found) > 1}


def test_a_class_has_its_name_for_itself() -> None:
    sources = {
        path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8")
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*.py")
    }
    assert len(sources) > 700
    assert namesakes(sources) == {}


def test_a_namesake_is_seen() -> None:
    first = "class Look: ...\ndef run(): ...\ndef take_look(): ...\ndef command(): ..."
    second = "class Look: ...\nasync def run(): ...\ndef take_look(): ...\ndef command(): ...\nclass _Look: ..."
    assert namesakes({"a.py": first, "b.py": second}) == {"Look": ["a.py", "b.py"], "run": ["a.py", "b.py"]}
    assert namesakes({"a.py": first, "b.py": "class _Look: ..."}) == {}
