"""The fastjson dialect: recorded files and bodies byte for byte, every documented form, and no surprise on garbage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.protocol.fastjson import FastjsonError, ObjectKey, dump_bytes, dumps, java_double, loads, queue_key
from tests.each import each

FILES = ["topics", "subscriptionGroup", "consumerOffset", "delayOffset", "consumerFilter"]


def _scalar_lists_as_sets(value: object) -> object:
    """Java's sets and int arrays stand on one line; in these files no list proper holds scalars."""
    if isinstance(value, dict):
        return {key: _scalar_lists_as_sets(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(value)
    return value


@pytest.mark.parametrize("store", ["store-clean", "store-killed", "store-rolled-clean", "store-5.3.3"])
def test_config_files_are_rewritten_byte_for_byte(golden_store: Callable[[str], Path], store: str) -> None:
    root = golden_store(store)
    paths = [path for name in FILES for path in root.rglob(f"{name}.json*")]
    assert len(paths) >= 4
    for path in paths:
        recorded = path.read_bytes()
        assert dump_bytes(_scalar_lists_as_sets(loads(recorded)), pretty=True) == recorded, path


def test_recorded_bodies_are_rewritten_byte_for_byte(full_golden: Path) -> None:
    entries = json.loads((full_golden / "rocketmq-4.9.8" / "index.json").read_text())
    bodies = {entry["body_text"] for entry in entries if str(entry.get("body_text")).startswith("{")}
    assert len(bodies) > 100
    for body in bodies:
        assert dumps(loads(body)) == body


@each(
    "text, value",
    [
        ("{0:10,1:2}", {0: 10, 1: 2}),
        ('{"0":10}', {"0": 10}),
        ("{-1:9223372036854775807}", {-1: 9223372036854775807}),
        ('{"a,1:b":"{2:"}', {"a,1:b": "{2:"}),
        ('{0:"x,1:y"}', {0: "x,1:y"}),
        ('{{"brokerName":"b","queueId":0,"topic":"T"}:5}', {queue_key("T", "b", 0): 5}),
        ("{ { topic : 'T', queueId: 0 , 'brokerName':\"b\"} : 5 }", {queue_key("T", "b", 0): 5}),
        (r'{"{\"brokerName\":\"b\"}":5}', {'{"brokerName":"b"}': 5}),
        ("{'a':'it\\'s',b_c:[1,2,],/* why */d:NaN,// end\n}", {"a": "it's", "b_c": [1, 2], "d": 0.0}),
        (" \n\t[true,false,null,1.5e3,-0.5]", [True, False, None, 1500.0, -0.5]),
        ("{a:12L,b:1.5E3,c:.5}", {"a": 12, "b": 1500.0, "c": 0.5}),
        ("", None),
        ("null", None),
        (r"{0:'\u0001\ud83d\ude00'}", {0: "\x01😀"}),
    ],
)
def test_reads_every_documented_form(text: str, value: object) -> None:
    assert loads(text) == value
    assert loads(text.encode()) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            '{"consumerTable":{"cid":{{"brokerName":"b","queueId":0,"topic":"T"}:5}},'
            '"messageQueueTable":{"$ref":"$.consumerTable.cid"}}',
            {"consumerTable": {"cid": {queue_key("T", "b", 0): 5}}, "messageQueueTable": {queue_key("T", "b", 0): 5}},
        ),
        ('[{"a":1},{"$ref":"$[0]"}]', [{"a": 1}, {"a": 1}]),
        ('{"c":[{"s":[{"t":"T"}]}],"d":{"$ref":"$.c[0].s[0]"}}', {"c": [{"s": [{"t": "T"}]}], "d": {"t": "T"}}),
        ('{"a":{"$ref":"$.b"},"b":{"$ref":"$.c"},"c":{"x":1}}', {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}),
        ('{"a":{"$ref":"$.nothing"}}', {"a": None}),
        ('{"a":{"$ref":"$.b"},"b":{"$ref":"$.a"}}', {"a": None, "b": None}),
    ],
)
def test_references_are_resolved(text: str, value: object) -> None:
    assert loads(text) == value


def test_reference_through_an_object_key_uses_its_java_text() -> None:
    path = r"$.m.MessageQueue\\ \\[topic\\=T\\,\\ brokerName\\=b\\-a\\,\\ queueId\\=0\\]"
    text = '{"m":{{"brokerName":"b-a","queueId":0,"topic":"T"}:{"n":7}},"r":{"$ref":"' + path + '"}}'
    value = loads(text)
    assert isinstance(value, dict)
    assert value["r"] == {"n": 7}


def test_references_to_enclosing_values() -> None:
    value = loads('{"root":{"$ref":"$"},"a":{"self":{"$ref":"@"},"up":{"$ref":".."}}}')
    assert isinstance(value, dict)
    assert value["root"] is value
    assert value["a"]["self"] is value["a"]
    assert value["a"]["up"] is value


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("{\n  'a' 1}", 2, 7), ("{a:1", 1, 5), ("[1 2]", 1, 4), ("{} x", 1, 4), ("hello", 1, 1), ("{'a':'x}", 1, 6)],
)
def test_errors_name_the_place(text: str, line: int, column: int) -> None:
    with pytest.raises(FastjsonError) as caught:
        loads(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert f"line {line}, column {column}" in str(caught.value)
    assert caught.value.reason


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_string_without_end_is_refused_at_once(quote: str) -> None:
    with pytest.raises(FastjsonError, match="no end"):
        loads("{a:" + quote + "0" * 100_000 + r"\n" * 1000)


@pytest.mark.parametrize("text", ["[" * 100_000, "{a:" * 5000, "{0:" * 5000 + "1" + "}" * 5000])
def test_depth_is_limited(text: str) -> None:
    with pytest.raises(FastjsonError):
        loads(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": None, "b": [None, True]}, '{"b":[null,true]}'),
        ({0: 10, 1: {}}, "{0:10,1:{}}"),
        ({queue_key("T", "b-a", 0): 5}, '{{"brokerName":"b-a","queueId":0,"topic":"T"}:5}'),
        (
            'KEYS\x01a"b\\/<é中\u2028\x02😀\t\n\x7f',
            '"KEYS\\u0001a\\"b\\\\/<é中\\u2028\\u0002😀\\t\\n\\u007F"',
        ),
    ],
)
def test_writes_the_documented_form(value: object, text: str) -> None:
    assert dumps(value) == text


def test_browser_compatible_form_is_standard_json() -> None:
    value = {"z": "中😀", "a": {10: "x", 2: "y"}}
    text = dumps(value, browser_compatible=True)
    assert text == '{"a":{"2":"y","10":"x"},"z":"\\u4E2D\\uD83D\\uDE00"}'
    assert json.loads(text)["z"] == "中😀"


def test_pretty_form_of_a_broadcast_offset_file() -> None:
    text = dumps({"offsetTable": {queue_key("T", "b-a", 0): 5}}, pretty=True)
    assert text == (
        '{\n\t"offsetTable":{{\n\t\t\t"brokerName":"b-a",\n\t\t\t"queueId":0,\n\t\t\t"topic":"T"\n\t\t}:5\n\t}\n}'
    )


@each(
    "value, text",
    [
        (0.0, "0.0"), (0.5, "0.5"), (1e-7, "1.0E-7"), (1e7, "1.0E7"), (123456789.125, "1.23456789125E8"),
        (0.001, "0.001"), (-0.00012, "-1.2E-4"), (float("nan"), "null"), (float("inf"), "null"), (1e22, "1.0E22"),
    ],
)  # fmt: skip
def test_doubles_are_written_as_java_does(value: float, text: str) -> None:
    assert java_double(value) == text


def test_unknown_types_are_refused() -> None:
    with pytest.raises(FastjsonError):
        dumps({"a": object()})


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
KEYS = TEXT | st.integers(-(2**63), 2**63 - 1) | st.dictionaries(TEXT, st.integers() | TEXT, max_size=3).map(ObjectKey)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


@settings(deadline=None)
@given(VALUES, st.booleans())
def test_round_trip(value: object, pretty: bool) -> None:
    assert loads(dumps(value, pretty=pretty)) == _without_nulls(value)


@settings(deadline=None)
@given(st.text(st.sampled_from("{}[]:,\"'\\01ab \n$ref./*-eu"), max_size=40))
def test_garbage_raises_only_the_declared_error(text: str) -> None:
    try:
        loads(text)
    except FastjsonError as error:
        assert 0 <= error.position <= len(text)


def test_half_a_surrogate_pair_is_replaced_as_it_is_read() -> None:
    """What cannot be sent again or printed does not come in; pairs and escaped backslashes stay."""
    assert loads(r'["\ud800", "a\uDC00b", "\ud83d\ude00", "\\ud800"]') == [
        "\ufffd",
        "a\ufffdb",
        "\U0001f600",
        r"\ud800",
    ]
