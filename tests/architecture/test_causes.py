"""Why something failed is told by types and causes: no text of an error or a gap is searched for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.sources import Source, in_every_module, parsed

pytestmark = pytest.mark.slow

_TEXTS = {"reason", "problem", "remedy"}
_SEARCHES = {
    "count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix", "rfind", "rpartition", "rsplit",
    "split", "startswith",
}  # fmt: skip


_OPENSSL = "mqctl/client/remoting/tls.py"
"""Its errors have words only."""


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _TEXTS


def searches(source: Source) -> Iterator[str]:
    if not source.name.startswith("mqctl/") or source.name == _OPENSSL:
        return
    for node in source.nodes:
        if isinstance(node, ast.Compare):
            is_search = any(isinstance(item, ast.In | ast.NotIn) for item in node.ops)
            if is_search and any(_is_text(item) or _is_str_of_error(item) for item in node.comparators):
                yield f"{source.name}:{node.lineno}"
        elif isinstance(node, ast.Attribute) and node.attr in _SEARCHES and _is_text(node.value):
            yield f"{source.name}:{node.lineno}"


def _is_str_of_error(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == "str" and ast.unparse(node) == "str(error)"


all_searches = in_every_module(searches)


def test_no_text_of_an_error_is_searched() -> None:
    assert all_searches() == []


def test_it_finds_what_it_looks_for() -> None:
    texts = ('" was refused by " in gap.reason', 'error.reason.startswith("no")', '"x" not in str(error)')
    assert [list(searches(parsed("mqctl/x.py", text))) for text in texts] == [["mqctl/x.py:1"]] * 3
