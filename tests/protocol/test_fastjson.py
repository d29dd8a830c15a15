"""The JSON dialect, against what real brokers wrote and what fastjson accepts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.protocol.fastjson import FastjsonError, ObjectKey, loads

QUEUE = ObjectKey({"brokerName": "b-a", "queueId": 0, "topic": "T"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"offsetTable":{"T@g":{0:10,1:2}}}', {"offsetTable": {"T@g": {0: 10, 1: 2}}}),
        ('{"offsetTable":{"T@g":{"0":10}}}', {"offsetTable": {"T@g": {"0": 10}}}),
        ('{"a":"{1:2}","b":{-1:0}}', {"a": "{1:2}", "b": {-1: 0}}),
        ('{{"brokerName":"b-a","queueId":0,"topic":"T"}:5}', {QUEUE: 5}),
        ("{'a':'it\\'s',b:1,}", {"a": "it's", "b": 1}),
        ('/* hand */ {"a":[1,2,],// end\n"n":NaN}', {"a": [1, 2], "n": 0.0}),
        ('{x:"\\uD83D\\uDE00"}', {"x": "😀"}),
        ("{a:12L,b:1.5E3,c:.5}", {"a": 12, "b": 1500.0, "c": 0.5}),
        ('{"s":{"x":1},"t":{"$ref":"$.s"}}', {"s": {"x": 1}, "t": {"x": 1}}),
        ('[{"a":1},{"$ref":"$[0]"}]', [{"a": 1}, {"a": 1}]),
        ('{"t":{{"brokerName":"b-a","queueId":0,"topic":"T"}:5}}', {"t": {QUEUE: 5}}),
        ('{"a":{"$ref":"$.nowhere"}}', {"a": None}),
    ],
)
def test_reads_the_dialect(text: str, value: object) -> None:
    assert loads(text) == value
    assert loads(text.encode()) == value


def test_a_reference_under_an_object_key_is_found_by_its_java_text() -> None:
    path = "$.mqTable.MessageQueue\\\\ \\\\[topic\\\\=T\\\\,\\\\ brokerName\\\\=b\\\\-a\\\\,\\\\ queueId\\\\=0\\\\]"
    text = '{"mqTable":{{"brokerName":"b-a","queueId":0,"topic":"T"}:{"x":1}},"again":{"$ref":"' + path + '"}}'
    assert loads(text) == {"mqTable": {QUEUE: {"x": 1}}, "again": {"x": 1}}


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("{", 1),
        ('{"a":{0:1', 9),
        ("{0:1}x", 5),
        ("{0 1}", 3),
        ('{0:"abc', 7),
        ("[1 2]", 3),
        ('{0:"\\uZZZZ"}', 4),
    ],
)
def test_says_where_a_text_breaks(text: str, position: int) -> None:
    with pytest.raises(FastjsonError) as caught:
        loads(text)
    assert caught.value.position == position


def test_depth_is_bounded() -> None:
    with pytest.raises(FastjsonError, match="nested"):
        loads("{0:" * 5_000)
    with pytest.raises(FastjsonError, match="nested"):
        loads("{" * 5_000)


@pytest.mark.parametrize("name", ["store-clean", "store-killed", "store-rolled-clean", "store-5.3.3"])
def test_every_recorded_configuration_file_reads(golden_store: Callable[[str], Path], name: str) -> None:
    files = [
        path
        for path in (golden_store(name) / "config").iterdir()
        if ".json" in path.name or path.name.startswith("timerm")
    ]
    assert files
    for path in files:
        value = loads(path.read_bytes())
        assert isinstance(value, dict)
        assert value


def _keys_as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _keys_as_text(item) for key, item in value.items()}
    return [_keys_as_text(item) for item in value] if isinstance(value, list) else value


_TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_TREES)
def test_strict_json_reads_as_the_standard_library_does(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    if "$ref" not in text:
        assert loads(text) == value


@given(st.dictionaries(st.integers(), st.text(), min_size=1))
def test_bare_keys_never_touch_strings(table: dict[int, str]) -> None:
    inner = ",".join(f"{key}:{json.dumps(text)}" for key, text in table.items())
    assert loads("{" + inner + "}") == table
    assert loads('{"$ref": "x", 1: {' + inner + "}}") == {"$ref": "x", 1: table}


@given(st.text())
def test_garbage_gives_a_value_or_the_declared_error(text: str) -> None:
    try:
        loads(text)
    except FastjsonError as error:
        assert 0 <= error.position <= len(text)
