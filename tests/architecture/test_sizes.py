"""How long a module and a function may be, for all of them: nobody is let off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.conftest import REPOSITORY

FUNCTION_LINES = 60
MODULE_LINES = {"mqctl": 400, "embedded_broker": 400, "docs": 400, "tests": 600, "benchmarks": 600}


def _modules(room: str) -> Iterator[tuple[str, str]]:
    for path in sorted((REPOSITORY / room).rglob("*.py")):
        name = path.relative_to(REPOSITORY).as_posix()
        if "node_modules" not in path.parts:
            yield name, path.read_text(encoding="utf-8")


def too_long(name: str, source: str, limit: int) -> list[str]:
    """Names what of a module is over its limit: the module, and functions from `def` to their last line."""
    long_ones = []
    if (lines := len(source.splitlines())) > limit:
        long_ones.append(f"{name}: {lines} lines, {limit} are allowed")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                long_ones.append(f"{name}: {node.name} has {lines} lines, {FUNCTION_LINES} are allowed")
    return long_ones


@pytest.mark.parametrize("room", MODULE_LINES)
def test_no_module_and_no_function_is_longer_than_agreed(room: str) -> None:
    modules = list(_modules(room))
    assert modules != []
    assert [each for name, source in modules for each in too_long(name, source, MODULE_LINES[room])] == []


def test_a_line_too_many_is_seen() -> None:
    short = "def command(\n    name: str,\n) -> None:\n" + "    name = name\n" * 57
    assert too_long("short.py", short, 60) == []
    assert too_long("long.py", f"{short}    name = name\n", 60) == [
        "long.py: 61 lines, 60 are allowed",
        "long.py: command has 61 lines, 60 are allowed",
    ]
