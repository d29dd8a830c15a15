"""Why something failed is told by types and causes: no text of an error or a gap is searched for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.conftest import REPOSITORY

_TEXTS = {"reason", "problem", "remedy"}
_SEARCHES = {
    "count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix", "rfind", "rpartition", "rsplit",
    "split", "startswith",
}  # fmt: skip


_OPENSSL = "mqctl/client/remoting/tls.py"
"""Its errors have words only."""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _TEXTS


def _searched(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            searches = any(isinstance(item, ast.In | ast.NotIn) for item in node.ops)
            if searches and any(_is_text(item) or _is_str_of_error(item) for item in node.comparators):
                yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in _SEARCHES and _is_text(node.value):
            yield node.lineno


def _is_str_of_error(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == "str" and ast.unparse(node) == "str(error)"


def test_no_text_of_an_error_is_searched() -> None:
    searches = [
        f"{file}:{line}"
        for file in sorted((REPOSITORY / "mqctl").rglob("*.py"))
        if file != REPOSITORY / _OPENSSL
        for line in _searched(ast.parse(file.read_text()))
    ]
    assert searches == []


def test_it_finds_what_it_looks_for() -> None:
    texts = ('" was refused by " in gap.reason', 'error.reason.startswith("no")', '"x" not in str(error)')
    assert [list(_searched(ast.parse(text))) for text in texts] == [[1], [1], [1]]
