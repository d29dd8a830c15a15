"""The JSON dialect of fastjson, in which RocketMQ writes header, bodies and configuration files.

Beyond plain JSON it has bare integer keys (`{0:10}`), whole objects as keys (`{{"queueId":0,...}:5}`) and `$ref`;
hand-edited files also bring single quotes, unquoted names, comments and trailing commas. `loads` reads all of it,
`dumps` writes the bytes that fastjson 1.2.69 (RocketMQ 4.9.8) and 1.2.83 (5.3.3) write.

Values are those of the stdlib's `json`, with three differences: bare integer keys are ints, object keys are
`ObjectKey`, NaN reads as 0.0 (as Java does). A tuple is written like a Java set or array: on one line even in the
pretty form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from math import isfinite

from mqctl.protocol.fastjson_values import FastjsonError, ObjectKey
from mqctl.text import sentence

__all__ = [
    "FastjsonError",
    "ObjectKey",
    "dump_bytes",
    "dumps",
    "java_double",
    "json_string",
    "loads",
    "queue_key",
]

_MARK = "\x01"
_REF = "$ref"
_BARE_INT_KEY = re.compile(r"([{,]\s*)(-?\d+)(\s*:)")
_QUEUE_KEY = re.compile(r'\{"brokerName":"([^"\\]*)","queueId":(\d+),"topic":"([^"\\]*)"\}:')


def queue_key(topic: str, broker_name: str, queue_id: int) -> ObjectKey:
    """Returns the key under which RocketMQ's tables hold the values of one message queue."""
    key = ObjectKey.__new__(ObjectKey)
    key.items = (("brokerName", broker_name), ("queueId", queue_id), ("topic", topic))
    key._hash = hash(key.items)
    return key


# Reading


def _constant(name: str) -> float:
    if name == "NaN":
        return 0.0
    raise ValueError(f"{name} is no number of the dialect")


def _restore_keys(value: dict[str, object]) -> object:
    """Turns the marked names that `_standardised` made back into ints and object keys."""
    if _MARK not in "".join(value):
        return value
    restored: dict[object, object] = {}
    for name, item in value.items():
        if name[:1] != _MARK:
            restored[name] = item
        elif name.count(_MARK) == 1:
            restored[int(name[1:])] = item
        else:
            _, broker_name, queue_id, topic = name.split(_MARK)
            restored[queue_key(topic, broker_name, int(queue_id))] = item
    return restored


_PLAIN = json.JSONDecoder(strict=False, parse_constant=_constant)
_MARKED = json.JSONDecoder(strict=False, parse_constant=_constant, object_hook=_restore_keys)


def _standardised(text: str) -> str:
    """Quotes bare integer keys and message queue keys behind a mark, so that the C decoder can read them.

    Never wrong, whatever strings hold: a match that begins inside a string puts a quote there, which ends the string,
    with the mark behind it outside of any string, and then the decoder refuses the text (and the tolerant reader
    takes over).
    """
    text = _QUEUE_KEY.sub(rf'"{_MARK}\1{_MARK}\2{_MARK}\3":', text)
    return _BARE_INT_KEY.sub(rf'\1"{_MARK}\2"\3', text)


_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
"""An escape, of a pair as one; the group is half a pair alone."""


def loads(text: str | bytes | bytearray | memoryview) -> object:
    """Reads one document; no text, or white space only, is None.

    Bytes are UTF-8; malformed sequences become U+FFFD, as in Java, and so do halves of surrogate pairs: nothing that is
    sent or printed can hold one.

    Raises:
        FastjsonError: the text is not in the dialect, or nested deeper than `fastjson_values.MAX_DEPTH`.
    """
    if not isinstance(text, str):
        text = str(text, "utf-8", "replace")
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPES.sub(lambda parsed: "\\uFFFD" if parsed[1] else parsed[0], text)
    try:
        value = _read(text)
        if _REF in text:
            from mqctl.protocol.fastjson_reader import resolve_references

            value = resolve_references(value)
    except RecursionError:
        raise FastjsonError(
            sentence("wire-json-text-read", "JSON text cannot be read"),
            reason=sentence("nested-too-deeply", "it is nested too deeply"),
        ) from None
    return value


def _read(text: str) -> object:
    try:
        return _PLAIN.decode(text)
    except ValueError:
        pass
    if _MARK not in text and "\\u0001" not in text:
        try:
            return _MARKED.decode(_standardised(text))
        except ValueError:
            pass
    from mqctl.protocol.fastjson_reader import TolerantReader

    return TolerantReader(text).read()


# Writing

_SPECIAL = re.compile('[\x00-\x1f"\\\\\x7f\u2028\u2029]')
_NOT_PLAIN_ASCII = re.compile("[^ !#-\\[\\]-~]")
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", '"': '\\"', "\\": "\\\\"}


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    short = _SHORT.get(char)
    if short is not None:
        return short
    point = ord(char)
    if point > 0xFFFF:
        point -= 0x10000
        return f"\\u{0xD800 + (point >> 10):04X}\\u{0xDC00 + (point & 0x3FF):04X}"
    return f"\\u{point:04X}"


def json_string(text: str) -> str:
    """Returns `text` as a JSON string, escaped as fastjson does by default."""
    return f'"{_SPECIAL.sub(_escape, text)}"' if _SPECIAL.search(text) else f'"{text}"'


def _quoted_ascii(text: str) -> str:
    return f'"{_NOT_PLAIN_ASCII.sub(_escape, text)}"'


def java_double(value: float) -> str:
    """Returns `Double.toString(value)`; not-a-number and infinity are `null`, as fastjson writes them."""
    if not isfinite(value):
        return "null"
    text = repr(value)
    if 1e-3 <= abs(value) < 1e7 or value == 0:
        return text
    sign, text = ("-", text[1:]) if text[0] == "-" else ("", text)
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    power = int(exponent or 0) + len(whole) - 1 - leading
    digits = digits.strip("0") or "0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def dumps(value: object, *, pretty: bool = False, browser_compatible: bool = False) -> str:
    """Writes `value` as fastjson does; maps keep their order, None in a map is left out.

    Args:
        pretty: the form of configuration files: tabs, maps with integer or object keys on one line.
        browser_compatible: the standard JSON of route answers (`acceptStandardJsonOnly`): quoted integer keys, sorted
            maps, ASCII only.

    Raises:
        FastjsonError: a value of a type that JSON has no form for, or nested too deeply.
    """
    writer = _Writer(pretty=pretty, browser_compatible=browser_compatible)
    try:
        writer.write(value, 0)
    except RecursionError:
        raise FastjsonError(
            sentence("wire-value-written-json", "The value cannot be written as JSON"),
            reason=sentence("nested-too-deeply", "it is nested too deeply"),
        ) from None
    return "".join(writer.out)


def dump_bytes(value: object, *, pretty: bool = False, browser_compatible: bool = False) -> bytes:
    """Writes `value` like `dumps`, as UTF-8; lone surrogates become `?`, as in Java."""
    return dumps(value, pretty=pretty, browser_compatible=browser_compatible).encode("utf-8", "replace")


_INTEGERS = {int}


class _Writer:
    def __init__(self, *, pretty: bool, browser_compatible: bool) -> None:
        self.out: list[str] = []
        self.pretty = pretty
        self.browser_compatible = browser_compatible
        self.quote: Callable[[str], str] = _quoted_ascii if browser_compatible else json_string

    def write(self, value: object, indent: int) -> None:
        if isinstance(value, str):
            self.out.append(self.quote(value))
        elif value is None or isinstance(value, bool):
            self.out.append("null" if value is None else "true" if value else "false")
        elif isinstance(value, int):
            self.out.append(str(int(value)))
        elif isinstance(value, float):
            self.out.append(java_double(value))
        elif isinstance(value, dict):
            self._write_map(value.items(), indent)
        elif isinstance(value, list | tuple):
            self._write_list(value, indent)
        elif isinstance(value, ObjectKey):
            self._write_map(value.items, indent)
        else:
            raise FastjsonError(
                sentence("wire-value-written-json", "The value cannot be written as JSON"),
                reason=sentence("wire-no-json-form", "{kind} has no JSON form", kind=type(value).__name__),
            )

    def _write_map(self, pairs: Iterable[tuple[object, object]], indent: int) -> None:
        out, quote = self.out, self.quote
        shown = [pair for pair in pairs if pair[1] is not None]
        if self.browser_compatible:
            shown.sort(key=_by_key)
        if not shown:
            out.append("{}")
            return
        line = "\n" + "\t" * (indent + 1) if self.pretty else ""
        before = "{"
        for key, item in shown:
            if isinstance(key, str):
                out.append(f"{before}{line}{quote(key)}:")
            elif isinstance(key, int):
                out.append(f'{before}"{key}":' if self.browser_compatible else f"{before}{key}:")
            else:
                out.append(before)
                self.write(key, indent + 1)
                out.append(":")
            before = ","
            self.write(item, indent + 1)
        out.append("\n" + "\t" * indent + "}" if self.pretty else "}")

    def _write_list(self, items: list[object] | tuple[object, ...], indent: int) -> None:
        out = self.out
        multi_line = self.pretty and isinstance(items, list) and items
        if not multi_line and set(map(type, items)) == _INTEGERS:
            out.append(f"[{','.join(map(str, items))}]")
            return
        line = "\n" + "\t" * (indent + 1) if multi_line else ""
        before = "["
        for item in items:
            out.append(before + line)
            before = ","
            self.write(item, indent + 1)
        if before == "[":
            out.append("[")
        out.append("\n" + "\t" * indent + "]" if multi_line else "]")


def _by_key(pair: tuple[object, object]) -> tuple[bool, int, str]:
    key = pair[0]
    if isinstance(key, int):
        return False, key, ""
    return True, 0, key if isinstance(key, str) else repr(key)
