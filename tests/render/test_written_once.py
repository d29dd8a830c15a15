"""Numbers with units, and lists, are written by one place for both languages: sentences have no unit beside a value.

A unit in a template would be written again in each language, and a list that is joined beforehand has English in it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from string import Formatter

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.lang import Lang
from mqctl.render.translation import spoken
from mqctl.text import Text, encoded, key_of, restored, sentence, values_of
from mqctl.units import by_unit
from tests.each import each
from tests.render.catalogues import CHINESE, ENGLISH
from tests.sources import Source, in_every_module

_OF_ENGLISH = r"ms|milliseconds?|s|sec|seconds?|min|minutes?|h|hours?|d|days?|[KMGT]i?B|B|bytes?|%|percent|/ ?s"
_OF_CHINESE = rf"毫秒|秒|分钟|小时|天|字节|{_OF_ENGLISH}"
_PLACE = r"\{(\w+)(?::[^{}]*)?\}"
_LAST = ("and", "or", "和", "或")
ORDINAL = "an ordinal: which byte, not how many"
BY_HAND = {
    "wire-lengths-byte-disagree": ORDINAL,
    "wire-message-byte-cut-off": ORDINAL,
}


def by_hand(template: str, units: str) -> list[str]:
    """The places of a template that have a unit written behind them."""
    return [place[1] for place in re.finditer(rf"{_PLACE}[ -]?(?:{units})(?![a-zA-Z/])", template)]


def counted(template: str) -> set[str]:
    """The places that count to the last one, `{size_bytes:byte}` or `{size_bytes:,}`: Chinese has the noun itself."""
    return {
        name for _, name, spec, _ in Formatter().parse(template) if name and re.fullmatch(r",|[a-z/ ]+", spec or "")
    }


def test_no_sentence_writes_a_unit_itself() -> None:
    english = {key: by_hand(template, _OF_ENGLISH) for key, template in ENGLISH.items()}
    chinese = {
        key: [name for name in by_hand(template, _OF_CHINESE) if name not in counted(ENGLISH[key])]
        for key, template in CHINESE.items()
        if key in ENGLISH
    }
    wrong = {key: names for said in (english, chinese) for key, names in said.items() if names}
    assert wrong.keys() - BY_HAND.keys() == set(), wrong
    assert BY_HAND.keys() - wrong.keys() == set(), "it is none any more"


@each(
    "template, found",
    [
        ("no answer within {limit_ms} ms", ["limit_ms"]),
        ("{used:.1f}% of {size:,.2f} MiB", ["used", "size"]),
        ("in {rate}/s", ["rate"]),
        ("{a} 秒内", ["a"]),
        ("{coming_tps} in/s, {limit_ms}, {size:byte}, {name} said", []),
    ],
)
def test_units_beside_places_are_seen(template: str, found: list[str]) -> None:
    assert by_hand(template, _OF_CHINESE) == found


def test_a_list_ends_in_both_languages_with_a_word_of_that_language() -> None:
    listed = {key: _lists(template) for key, template in ENGLISH.items() if _lists(template)}
    assert {"did-mean": {"near"}}.items() <= listed.items()
    assert {key: names for key, names in listed.items() if _lists(CHINESE[key]) != names} == {}
    assert {key for key, names in listed.items() for name in names if f"{{{name}:或}}" not in CHINESE[key]} == {
        key for key, names in listed.items() for name in names if f"{{{name}:or}}" not in ENGLISH[key]
    }


def _lists(template: str) -> set[str]:
    return {name for _, name, spec, _ in Formatter().parse(template) if name and spec in _LAST}


_WRITING = {"count", "change", "rate", "size", "duration", "span", "instant", "share", "ratio"}
_IN_WORDS = re.compile(r"[A-Za-z]{2,}")
_TO_TYPE = ("mqctl ", "--")
ALONE = {"mqctl/rules/engine/rule.py": "for who writes a rule"}


def written_before(source: Source) -> Iterator[str]:
    """Yields the values of sentences that are words or written numbers already, and lists that are joined by words."""
    for node in source.nodes if source.name.startswith("mqctl/") and source.name not in ALONE else ():
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=" and " | " or " | "、" | "和" | "或"), attr="join")
            ):
                yield f"{source.name}:{node.lineno}: joined"
            case ast.Call(func=ast.Name(id="sentence" | "composed"), keywords=named):
                yield from (f"{source.name}:{node.lineno}: {item.arg}" for item in named if _is_written(item.value))


def _is_written(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(value=ast.Name(id="units"), attr=name)):
            return name in _WRITING
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=", "), attr="join")):
            return True
        case ast.JoinedStr(values=[ast.FormattedValue(format_spec=spec)]):
            return spec is not None
        case ast.JoinedStr(values=parts):
            return any(isinstance(part, ast.Constant) and bool(_IN_WORDS.search(str(part.value))) for part in parts)
        case ast.Constant(value=str(words)):
            return bool(_IN_WORDS.search(words)) and not words.startswith(_TO_TYPE)
        case ast.IfExp(body=one, orelse=other):
            return _is_written(one) or _is_written(other)
        case ast.BoolOp(values=several):
            return any(map(_is_written, several))
    return False


all_written_before = in_every_module(written_before)


def test_values_of_sentences_are_numbers_names_and_lists() -> None:
    assert list(all_written_before()) == []


UNITS = {
    "limit_ms": 1_500,
    "waited_ms": 61_000,
    "mean_ms": 0.352,
    "pause_ms": 1_234.5,
    "size_bytes": 1_536,
    "used_share": 0.25,
    "in_tps": 12.0,
    "per_s": 1_200,
    "count": 1_200,
}


def test_units_stand_in_names() -> None:
    template = ", ".join(f"{{{name}}}" for name in UNITS)
    said = sentence("in-no-catalogue", template, **UNITS)
    assert said == "1.5 s, 1 min 1 s, 0.352 ms, 1.23 s, 1.5 KiB, 25%, 12.0, 1,200, 1,200"
    assert values_of(said) == UNITS
    assert (
        sentence("in-no-catalogue", "{a_count:+,} {b_bytes:byte} {c_bytes:,}", a_count=5, b_bytes=2048, c_bytes=2048)
        == "+5 2,048 bytes 2,048"
    )


@given(st.sampled_from(sorted(UNITS)), st.integers(min_value=0, max_value=1 << 40) | st.floats(0, 1e12))
def test_a_number_that_was_json_is_written_as_before(name: str, value: float) -> None:
    said = sentence("in-no-catalogue", f"{{{name}}} of {{{name}}}", **{name: value})
    assert isinstance(said, Text)
    form = json.loads(msgspec.json.encode({"key": key_of(said), "values": values_of(said)}, enc_hook=encoded))
    again = restored(str(said), form["key"], form["values"])
    assert isinstance(again, Text)
    assert {key: type(value) for key, value in again.values.items()} == {name: type(by_unit(name, value))}


@each(
    "near, english, chinese",
    [
        ([], "did you mean none? x", "是不是 无？x"),
        (["a"], "did you mean a? x", "是不是 a？x"),
        (["a", "b"], "did you mean a or b? x", "是不是 a 或 b？x"),
        (["a", "b", "c"], "did you mean a, b or c? x", "是不是 a、b 或 c？x"),
    ],
)
def test_several_values_end_with_the_word_of_their_language(near: list[str], english: str, chinese: str) -> None:
    said = sentence("did-mean", "did you mean {near:or}? {listed}", near=near, listed="x")
    assert said == english
    assert spoken(said, Lang.ZH) == chinese
