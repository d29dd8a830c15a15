"""What tests find in the sources of mqctl and the embedded broker: each module is parsed once for all of them.

Modules of tests that use `in_every_module` go to the same worker (`unit_of` in conftest.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tests.conftest import REPOSITORY

PACKAGES = ("mqctl", "embedded_broker")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """A module as it is written.

    Attributes:
        name: its path from the root of the repository.
        nodes: of its tree, all of them.
    """

    name: str
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]

    @property
    def module(self) -> str:
        """Its name as an import has it."""
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def parsed(name: str, text: str) -> Source:
    """Returns a module with its tree."""
    tree = ast.parse(text)
    return Source(name, text, tree, tuple(ast.walk(tree)))


Finder = Callable[[Source], Iterable[T]]
_found: dict[Finder[Any], list[Any] | None] = {}
"""What each finder has found; None before anybody has asked."""


def in_every_module(find: Finder[T]) -> Callable[[], list[T]]:
    """Makes of what finds something in one module a function that returns what is found in all, in the order of paths.

    The first call parses every module once for all functions made so far: trees are too large to be kept.
    """
    _found[find] = None

    def found_everywhere() -> list[T]:
        if _found[find] is None:
            _look()
        return _found[find] or []

    return found_everywhere


def _look() -> None:
    findings: dict[Finder[Any], list[Any]] = {find: [] for find, known in _found.items() if known is None}
    for source in map(_read, sorted(file for name in PACKAGES for file in (REPOSITORY / name).rglob("*.py"))):
        for find, items in findings.items():
            items.extend(find(source))
    _found.update(findings)


def _read(file: Path) -> Source:
    return parsed(file.relative_to(REPOSITORY).as_posix(), file.read_text(encoding="utf-8"))
