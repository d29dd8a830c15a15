"""Text of others becomes a number through `mqctl.model.numbers` only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tests.sources import Source, in_every_module

_DOOR = {"mqctl/model/numbers.py"}
_BOUNDED = {
    "mqctl/model/spans.py": "400 ASCII digits at most, as its pattern says; what is too long a span is refused then",
    "mqctl/model/java_hash.py": "one digit of base 31 after the other, of our own making",
    "mqctl/filter/sql.py": "a float of the tokens' pattern, with its range; floats of any length can be read",
    "mqctl/filter/sql_nodes.py": "a float of Java's pattern; floats of any length can be read",
    "mqctl/recording/kinds.py": "up to fifteen digits, as its pattern says",
    "mqctl/store/log_writer.py": "twenty ASCII digits, as names of log files have",
    "mqctl/store/index_writer.py": "the last three of seventeen digits, in a name that we made",
    "mqctl/protocol/fastjson.py": "numbers of JSON by their pattern; too many digits are refused by name",
    "mqctl/protocol/fastjson_reader.py": "numbers of JSON by their pattern; too many digits are refused by name",
    "mqctl/protocol/properties.py": "four hexadecimal digits, as its pattern says",
    "mqctl/protocol/message_record.py": "groups of an address, which the system wrote",
    "mqctl/protocol/trace_records.py": "a ValueError is an unreadable trace",
    "embedded_broker/acl/addresses.py": "digits of any base: a ValueError is no address",
}
"""Modules that read text into a number of themselves, and what holds it."""
_OURS = {
    "mqctl/capture/thread_cpu.py": "names and contents of /proc",
    "mqctl/store/lock_holder.py": "lines of /proc/locks",
    "mqctl/cli/catalog.py": "the catalog's own table",
    "mqctl/spark/scan/remote.py": "sizes that the file system's library tells",
    "embedded_broker/cluster.py": "our own ports",
    "embedded_broker/remoting/outbound.py": "our own ports",
}
"""Modules whose text is that of the system or of this program."""
_NUMBERS_ALREADY = {
    "mqctl": ("units.py",),
    "embedded_broker": ("clock.py", "log/unique_ids.py"),
    "mqctl/cli": ("completion/names.py", "exit.py"),
    "mqctl/client": (
        "consumer/lite_pull.py", "consumer/popping.py", "consumer/simple_consumer.py", "identity.py",
        "remoting/clock.py", "remoting/deadline.py",
    ),
    "mqctl/rules": ("mq1/brokers.py", "mq4/retries.py"),
    "mqctl/commands": (
        "export/exporter.py", "export/metrics.py", "export/metrics_detail.py", "local/gather.py", "playbook/world.py",
    ),
    "mqctl/drill": ("client.py",),
    "mqctl/changes": ("messages/replay.py",),
    "mqctl/model": ("access.py",),
    "mqctl/protocol": ("body.py", "codes.py", "frame.py", "ha_stream.py", "header.py", "receipts.py"),
    "mqctl/recording": ("past.py", "reader.py", "recent.py", "timeline/events.py", "timeline/presence.py"),
    "mqctl/render": ("reports/charts.py", "reports/drawing.py"),
    "mqctl/snapshot": ("store/health.py",),
    "mqctl/spark": ("reports/gathering.py", "runs.py"),
    "mqctl/stacks": ("processes.py",),
    "mqctl/store": ("directory.py", "ext_queue.py", "record_writer.py"),
}  # fmt: skip
"""Modules that round, or give a number another kind: clocks, codes, flags, floats for charts, bytes unpacked."""


class _Call(NamedTuple):
    path: str
    of_arrays: bool
    text: str
    is_of_text: bool


def _calls(source: Source) -> Iterator[_Call]:
    if "int(" not in source.text and "float(" not in source.text:
        return
    reads_arrays = "import numpy" in source.text or "/aggregates/" in source.name
    of_arrays = reads_arrays and source.name not in _BOUNDED
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is_conversion(node):
            yield _Call(source.name, of_arrays, ast.unparse(node), _is_of_text(node))


def _is_conversion(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Name)
        and call.func.id in ("int", "float")
        and not any(code in ast.unparse(call) for code in ("exit_code", "ExitCode", "ResponseCode"))
    )


def _is_of_text(call: ast.Call) -> bool:
    """Whether the argument is text for sure."""
    methods = {"group", "decode", "strip", "partition", "rpartition", "split", "get", "read_text", "name"}
    argument = call.args[0] if call.args else ast.Constant("")
    names = {it.attr for it in ast.walk(argument) if isinstance(it, ast.Attribute)}
    return bool(names & methods) or isinstance(argument, ast.JoinedStr | ast.Constant)


def _handing_on(source: Source) -> Iterator[str]:
    """Yields the module where it hands the conversion on: `map(int, words)`, `type=int`."""
    for node in source.nodes:
        if isinstance(node, ast.Call):
            mapped = node.args[:1] if isinstance(node.func, ast.Name) and node.func.id == "map" else []
            named = [keyword.value for keyword in node.keywords if keyword.arg in ("type", "key", "converter")]
            if any(isinstance(value, ast.Name) and value.id in ("int", "float") for value in [*mapped, *named]):
                yield source.name


_all_calls = in_every_module(_calls)
_all_handing_on = in_every_module(_handing_on)


def test_text_of_others_becomes_a_number_through_one_door() -> None:
    """What reads arrays makes numbers of numbers; any other module that calls `int` or `float` is named here, no other.

    A module of the list that calls neither any more is to leave it.
    """
    already = {f"{room}/{module}" for room, modules in _NUMBERS_ALREADY.items() for module in modules}
    assert {call.path for call in _all_calls() if not call.of_arrays} == {*_DOOR, *_BOUNDED, *_OURS, *already}


def test_readers_of_arrays_read_no_text() -> None:
    """Their values are those of rows and columns: a piece of a text, or a literal, is for the door."""
    assert [(call.path, call.text) for call in _all_calls() if call.of_arrays and call.is_of_text] == []


def test_nobody_hands_the_conversion_on() -> None:
    """`map(int, words)` and `type=int` convert as `int(word)` does; an option of a parser says what is no number."""
    assert set(_all_handing_on()) == {"embedded_broker/testing/options.py"}
