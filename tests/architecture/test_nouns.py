"""Within the folder of a noun imports go down: verbs, what they are made of, views, rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from mqctl.cli.catalog import BY_PATH
from tests.conftest import REPOSITORY

_COMMANDS = REPOSITORY / "mqctl" / "commands"
_VERBS = {f"mqctl.commands.{entry.module}" for entry in BY_PATH.values()}
_ASKING = (
    "mqctl.client.admin",
    "mqctl.cli.sources",
    "mqctl.snapshot.live.asking",
    "mqctl.bench.command",
    "mqctl.changes.engine.run",
)
"""What asks a cluster, or changes one."""
_BELOW = {
    "verb": {"part", "view", "rows", "words"},
    "part": {"part", "view", "rows", "words"},
    "view": {"view", "rows", "words"},
    "rows": {"rows", "words"},
    "words": {"words"},
}
NOUNS = sorted(folder.name for folder in _COMMANDS.iterdir() if (folder / "__init__.py").exists())


@cache
def imports_of(noun: str) -> dict[str, set[str]]:
    """Returns what each module of a noun imports, wherever in it, names of modules in full."""
    return {_dotted(file): set(_imported(file)) for file in (_COMMANDS / noun).rglob("*.py") if file.stem != "__init__"}


def _dotted(file: Path) -> str:
    return ".".join(file.relative_to(REPOSITORY).with_suffix("").parts)


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def kind_of(module: str) -> str:
    """Returns "verb", "view", "rows", "words" or "part"."""
    last = module.rpartition(".")[2]
    if module in _VERBS:
        return "verb"
    return next((kind for kind in ("view", "rows", "words") if last == kind or last.endswith(f"_{kind}")), "part")


@pytest.mark.parametrize("noun", NOUNS)
def test_imports_within_a_noun_go_down(noun: str) -> None:
    own = imports_of(noun)
    upwards = {
        (module, each)
        for module, names in own.items()
        for each in names & own.keys()
        if kind_of(each) not in _BELOW[kind_of(module)]
    }
    assert not upwards
    order = TopologicalSorter({module: names & own.keys() for module, names in own.items()})
    order.prepare()  # raises CycleError


@pytest.mark.parametrize("noun", NOUNS)
def test_views_and_rows_ask_nobody(noun: str) -> None:
    asking = {
        (module, each)
        for module, names in imports_of(noun).items()
        if kind_of(module) in ("view", "rows", "words")
        for each in names
        if f"{each}.".startswith(tuple(f"{room}." for room in _ASKING))
    }
    assert not asking


def test_plans_do_not_know_what_performs_them() -> None:
    """What only plans cannot reach what sends: neither the noun's own performer nor one of `mqctl.changes`."""
    own = {module: names for noun in NOUNS for module, names in imports_of(noun).items()}
    plans = {module for module in own if module.endswith(("_plan", ".plan"))}
    performers = ("_perform", ".perform")
    assert plans and any(module.endswith(performers) for module in own)
    assert {(plan, name) for plan in plans for name in own[plan] if name.endswith(performers)} == set()
