"""In the embedded broker text becomes a number through `mqctl.model.numbers` only."""

from __future__ import annotations

import ast

from tests.conftest import REPOSITORY

_OWN_NUMBERS = {"clock.py", "log/unique_ids.py"}  # floats of the machine's clock
_CHECKED = {"acl/addresses.py", "remoting/outbound.py", "cluster.py"}  # digits of any base, our own ports: ValueError
"""Modules that may call `int` or `float`, and why."""


def test_the_embedded_broker_reads_numbers_through_one_door() -> None:
    room = REPOSITORY / "embedded_broker"
    calling = set()
    for path in room.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_call = (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("int", "float")
            )
            if is_call and "exit_code" not in ast.unparse(node) and "ExitCode" not in ast.unparse(node):
                calling.add(str(path.relative_to(room)))
    assert calling <= _OWN_NUMBERS | _CHECKED
