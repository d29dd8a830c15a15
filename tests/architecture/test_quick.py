"""`pytest -m quick` comes by every room: for each package, a quick test during which a function of it was called."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.rooms_entered import RECORD

_AGAIN = f"mend the line of {RECORD.name}, or record all anew: python -m tests.rooms_entered"


@cache
def top_of(file: Path) -> list[ast.stmt]:
    return ast.parse(file.read_text(encoding="utf-8")).body


def has_functions(package: Path) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
        for file in package.glob("*.py")
        for node in ast.walk(ast.Module(top_of(file), []))
    )


def packages() -> set[str]:
    """Returns the packages with functions for others."""
    roots = (REPOSITORY / "mqctl", REPOSITORY / "embedded_broker")
    rooms = {file.parent for root in roots for file in root.rglob("__init__.py")}
    return {".".join(path.relative_to(REPOSITORY).parts) for path in rooms if has_functions(path)}


def is_marked(node: ast.AST, mark: str) -> bool:
    return any(isinstance(item, ast.Attribute) and item.attr == mark for item in ast.walk(node))


def quick_tests(file: Path) -> set[str]:
    """Returns the names of the tests of a module that `tests/conftest.py` makes quick."""
    tests = [node for node in top_of(file) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    marked = {node.name for node in tests if any(is_marked(item, "quick") for item in node.decorator_list)}
    whole = [node for node in top_of(file) if isinstance(node, ast.Assign) and is_marked(node, "slow")]
    return marked if marked or whole else {node.name for node in tests[:1]}


def test_every_room_is_entered_by_a_quick_test() -> None:
    entered = dict(line.split("\t") for line in RECORD.read_text(encoding="utf-8").splitlines())
    assert sorted(packages() - set(entered)) == [], f"no quick test enters these; {_AGAIN}"
    assert sorted(set(entered) - packages()) == [], f"these are gone; {_AGAIN}"
    strange = []
    for package, test in entered.items():
        module, _, name = test.partition("::")
        if not (REPOSITORY / module).is_file() or name not in quick_tests(REPOSITORY / module):
            strange.append((package, test))
    assert strange == [], f"these are no quick tests any more; {_AGAIN}"
