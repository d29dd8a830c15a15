"""What can be planted in a room: every fault that the operators of cosmic-ray know, but for those that change nothing.

cosmic-ray plants `x + 1` for `x - 1`, `<=` for `<`, `not` before a condition, `break` for `continue`, another number,
an empty loop, a decorator that is gone, and two hundred others.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path

from cosmic_ray.commands.init import init
from cosmic_ray.work_db import WorkDB
from cosmic_ray.work_item import MutationSpec

Position = tuple[int, int]

# The same for what is compared here: numbers that CPython keeps once, members of enumerations, None.
_ALIKE = ("Eq_Is", "Is_Eq", "NotEq_IsNot", "IsNot_NotEq")
_UNSEEN_DECORATORS = ("override", "final", "overload")


def faults(root: Path, modules: Iterable[Path]) -> list[MutationSpec]:
    """Returns all faults of modules, in order of module, place and kind.

    Args:
        modules: relative to `root`, which is the working directory: cosmic-ray keeps their paths as they are.
    """
    paths = list(modules)
    database = WorkDB(":memory:", WorkDB.Mode.create)
    init(paths, database, {})
    every = [item.mutations[0] for item in database.work_items]
    database.close()
    spans = {path: _Spans((root / path).read_text(encoding="utf-8")) for path in paths}
    kept = [item for item in every if not item.operator_name.endswith(_ALIKE) and item not in spans[item.module_path]]
    return sorted(kept, key=lambda item: (str(item.module_path), item.start_pos, item.operator_name, item.occurrence))


class _Spans:
    """Places of a module where a fault changes nothing that anybody sees: annotations, what only checkers of types look
    at, and whether instances have slots."""

    def __init__(self, text: str) -> None:
        spans = sorted((_start(node), _end(node)) for node in _unseen(ast.parse(text)))
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]
        for number in range(1, len(spans)):  # the outer ones first: whatever begins inside of one ends there
            self._ends[number] = max(self._ends[number], self._ends[number - 1])

    def __contains__(self, fault: MutationSpec) -> bool:
        before = bisect_right(self._starts, fault.start_pos)
        return before > 0 and fault.start_pos < self._ends[before - 1]


def _unseen(tree: ast.Module) -> Iterator[ast.expr | ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.returns is not None:
                yield node.returns
            yield from (item for item in node.decorator_list if _last_name(item) in _UNSEEN_DECORATORS)
        elif isinstance(node, ast.ClassDef):
            calls = (item for item in node.decorator_list if isinstance(item, ast.Call))
            yield from (word.value for call in calls for word in call.keywords if word.arg == "slots")
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
            yield node
        elif isinstance(node, ast.Assign) and _is_alias(node):
            yield node.value


def _is_alias(node: ast.Assign) -> bool:
    """Tells whether an assignment names a union of types: `Plain = str | int | None`."""
    (target, *more), value = node.targets, node.value
    named = (
        isinstance(target, ast.Name) and not more and target.id.lstrip("_")[:1].isupper() and not target.id.isupper()
    )
    return named and isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _start(node: ast.expr | ast.stmt) -> Position:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
