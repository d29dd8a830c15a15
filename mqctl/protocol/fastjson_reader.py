"""The tolerant half of the dialect: text that the C decoder refuses, and `$ref`.

Grammar beyond JSON: in key position an integer, an unquoted name or a whole object; strings in single quotes;
comments; a comma before a closing bracket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mqctl.protocol.fastjson_values import MAX_DEPTH, FastjsonError, ObjectKey
from mqctl.text import sentence

# Possessive repeats: with plain ones a string that never ends costs exponential time.
_BLANK = re.compile(r"(?:\s++|/\*.*?\*/|//[^\n]*+)*+", re.DOTALL)
_DOUBLE = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]++|\\.)*+)'", re.DOTALL)
_NUMBER = re.compile(r"(-?(?:\d+(\.\d*)?|(\.)\d+)([eE][-+]?\d+)?)[LlSsBbFfDd]?")
_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_SHORT |= {char: char for char in "\"'\\/"}
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "undefined": None, "NaN": 0.0}


class TolerantReader:
    """Reads one document, at most `MAX_DEPTH` levels deep."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0

    def read(self) -> object:
        """Returns the document's value; None for a blank one. Raises FastjsonError."""
        start = self._skip(0)
        if start == len(self._text):
            return None
        value, end = self._value(start)
        end = self._skip(end)
        if end != len(self._text):
            raise self._error(end, sentence("json-more-text", "there is more text behind the end of the document"))
        return value

    def _error(self, position: int, reason: str) -> FastjsonError:
        return FastjsonError.at(self._text, position, reason)

    def _skip(self, position: int) -> int:
        match = _BLANK.match(self._text, position)
        return match.end() if match else position

    def _value(self, position: int) -> tuple[object, int]:
        char = self._text[position : position + 1]
        if char == "{":
            return self._object(position)
        if char == "[":
            return self._array(position)
        if char in {'"', "'"}:
            return self._string(position)
        if number := _NUMBER.match(self._text, position):
            text, *fractional = number.groups()
            return self._number(text, position, whole=not any(fractional)), number.end()
        if (name := _NAME.match(self._text, position)) and name[0] in _WORDS:
            return _WORDS[name[0]], name.end()
        raise self._error(
            position,
            sentence("json-value-expected", "a value is expected, not {char!r}", char=char)
            if char
            else sentence("json-ends-at-value", "the text ends where a value is expected"),
        )

    def _number(self, text: str, position: int, *, whole: bool) -> int | float:
        if not whole:
            return float(text)
        try:
            return int(text)
        except ValueError:  # Python bounds the digits of an integer
            raise self._error(position, sentence("json-number-digits", "the number has too many digits")) from None

    def _string(self, position: int) -> tuple[str, int]:
        pattern = _DOUBLE if self._text[position] == '"' else _SINGLE
        match = pattern.match(self._text, position)
        if match is None:
            raise self._error(position, sentence("json-string-no-end", "the string has no end"))
        raw = match[1]
        return (self._unescaped(raw, match.start(1)) if "\\" in raw else raw), match.end()

    def _unescaped(self, raw: str, start: int) -> str:
        def replace(match: re.Match[str]) -> str:
            code = match[1]
            if len(code) > 1:
                return chr(int(code[1:], 16))
            if code not in _SHORT:
                raise self._error(
                    start + match.start(), sentence("json-no-escape", "\\{code} is not an escape sequence", code=code)
                )
            return _SHORT[code]

        text = _ESCAPE.sub(replace, raw)
        return _PAIR.sub(lambda pair: pair[0].encode("utf-16-be", "surrogatepass").decode("utf-16-be"), text)

    def _enter(self, position: int) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(
                position, sentence("json-nested-deeper", "it is nested more than {most} levels deep", most=MAX_DEPTH)
            )

    def _array(self, position: int) -> tuple[list[object], int]:
        self._enter(position)
        items: list[object] = []
        position = self._skip(position + 1)
        while self._text[position : position + 1] != "]":
            item, position = self._value(position)
            items.append(item)
            position = self._separator(position, "]")
        self._depth -= 1
        return items, position + 1

    def _object(self, position: int) -> tuple[dict[object, object], int]:
        self._enter(position)
        members: dict[object, object] = {}
        position = self._skip(position + 1)
        while self._text[position : position + 1] != "}":
            key, position = self._key(position)
            position = self._skip(position)
            if self._text[position : position + 1] != ":":
                raise self._error(position, sentence("json-colon-expected", "a colon is expected behind the name"))
            members[key], position = self._value(self._skip(position + 1))
            position = self._separator(position, "}")
        self._depth -= 1
        return members, position + 1

    def _separator(self, position: int, end: str) -> int:
        position = self._skip(position)
        char = self._text[position : position + 1]
        if char == ",":
            return self._skip(position + 1)
        if char != end:
            raise self._error(
                position,
                sentence("json-comma-expected", "a comma or {end} is expected", end=end)
                if char
                else sentence("json-ends-before", "the text ends before {end}", end=end),
            )
        return position

    def _key(self, position: int) -> tuple[object, int]:
        char = self._text[position : position + 1]
        if char in {'"', "'"}:
            return self._string(position)
        if char == "{":
            members, end = self._object(position)
            return ObjectKey({str(name): value for name, value in members.items()}), end
        if number := _NUMBER.match(self._text, position):
            text, *fractional = number.groups()
            return (text if any(fractional) else self._number(text, position, whole=True)), number.end()
        if name := _NAME.match(self._text, position):
            return name[0], name.end()
        raise self._error(
            position,
            sentence("json-name-expected", "a name is expected, not {char!r}", char=char)
            if char
            else sentence("json-ends-at-name", "the text ends where a name is expected"),
        )


# References

_STEP = re.compile(r"\.((?:\\.|[^.\[\\])+)|\[(\d+)\]", re.DOTALL)
_BACKSLASH = re.compile(r"\\(.)", re.DOTALL)


def resolve_references(root: object) -> object:
    """Replaces every `{"$ref": path}` in `root` by the value it names, None if there is no such value.

    `@` is the container that holds the reference, `..` the container around that, `$` the document, and `$.a[0].b` a
    path in it. References to an enclosing value make the result cyclic.
    """
    if (path := _reference(root)) is not None:
        return None if path == "$" else root
    if isinstance(root, dict | list):
        _resolve_in(root, [root], root, set())
    return root


def _reference(value: object) -> str | None:
    if isinstance(value, dict) and len(value) == 1:
        path = value.get("$ref")
        if isinstance(path, str):
            return path
    return None


def _resolve_in(
    container: dict[object, object] | list[object], parents: list[object], root: object, done: set[int]
) -> None:
    if id(container) in done:
        return
    done.add(id(container))
    places: Iterable[tuple[object, object]] = container.items() if isinstance(container, dict) else enumerate(container)
    for place, item in list(places):
        path = _reference(item)
        if path is None:
            if isinstance(item, dict | list):
                _resolve_in(item, [*parents, item], root, done)
        else:
            container[place] = _find(path, parents, root)  # type: ignore[call-overload]  # a name in an object, a number in a list


def _find(path: str, parents: list[object], root: object) -> object:
    seen: set[str] = set()
    while True:
        if path == "@":
            return parents[-1]
        if path == "..":
            return parents[-2] if len(parents) > 1 else parents[-1]
        if path == "$":
            return root
        value = _walk(path, root)
        further = _reference(value)
        if further is None:
            return value
        if further in seen or further in {"@", ".."}:
            return None
        seen.add(further)
        path = further


def _walk(path: str, root: object) -> object:
    if not path.startswith("$"):
        return None
    value, position = root, 1
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            return None
        position = step.end()
        value = _member(value, step[1], step[2])
        if value is None:
            return None
    return value


def _member(value: object, escaped: str | None, index: str | None) -> object:
    if isinstance(value, list):
        return value[int(index)] if index is not None and len(index) < 10 and int(index) < len(value) else None
    if not isinstance(value, dict):
        return None
    name = _BACKSLASH.sub(r"\1", escaped) if escaped is not None else str(index)
    if name in value:
        return value[name]
    for key, item in value.items():
        if not isinstance(key, str) and (key.java_text() if isinstance(key, ObjectKey) else str(key)) == name:
            return item
    return None
