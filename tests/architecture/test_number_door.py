"""Text of others becomes a number through `mqctl.model.numbers` only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.conftest import REPOSITORY

_MAY_CALL = {
    "embedded_broker": {
        "clock.py", "log/unique_ids.py",  # floats of the machine's clock
        "acl/addresses.py", "remoting/outbound.py", "cluster.py",  # digits of any base, our own ports: ValueError
    },
    "mqctl/protocol": {
        "body.py", "frame.py", "header.py", "fastjson_reader.py", "fastjson.py",  # numbers of JSON, floats, our marks
        "message_record.py", "trace_records.py", "codes.py", "receipts.py",  # ValueError is caught; checked digits
        "properties.py", "ha_stream.py",  # four hex digits; a number already
    },
    "mqctl/client": {
        "consumer/lite_pull.py", "consumer/popping.py", "consumer/simple_consumer.py",  # clocks and switches
        "identity.py", "remoting/clock.py", "remoting/deadline.py",
    },
    "mqctl/snapshot/live": set(),
}  # fmt: skip
"""Rooms that read what others wrote, and their modules that may call `int` or `float`, with the reason."""


@pytest.mark.parametrize("room", _MAY_CALL)
def test_numbers_are_read_through_one_door(room: str) -> None:
    assert set(_calling(room)) <= _MAY_CALL[room]


def _calling(room: str) -> Iterator[str]:
    for path in (REPOSITORY / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_call = (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("int", "float")
            )
            if is_call and not any(code in ast.unparse(node) for code in ("exit_code", "ExitCode", "ResponseCode")):
                yield path.relative_to(REPOSITORY / room).as_posix()
