"""The JSON dialect of RocketMQ's bodies and configuration files, read tolerantly.

fastjson (1.2.69 in 4.9.8, 1.2.83 in 5.3.3) writes integer map keys bare, object map keys as nested objects, and
repeated objects as `{"$ref": path}`; hand-edited files add single quotes, unquoted names, comments and trailing
commas. `loads` accepts all of it; strict JSON takes the fast way through the standard library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[Key, Json] | None"

_MAX_DEPTH = 200
_SPACE = re.compile(r"(?:[ \t\r\n\f\b]+|/\*.*?\*/|//[^\n]*)*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[LlSsBbFfDd]?")
_WORD = re.compile(r"[A-Za-z_$][\w$.\-@%]*")
_PLAIN = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_BARE_KEY = re.compile(r'("(?:[^"\\]|\\.)*")|([{,]\s*)(-?\d+)(?=\s*:)')
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_WORDS = {"true": True, "false": False, "null": None, "NaN": 0.0, "undefined": None}
_INTEGER = re.compile(r"-?\d+")


class FastjsonError(ValueError):
    """Text that even fastjson would not read.

    Attributes:
        position: index of the first character that does not fit.
        line, column: the same place, counted from 1.
    """

    def __init__(self, reason: str, text: str, position: int) -> None:
        self.reason = reason
        self.position = position
        self.line = text.count("\n", 0, position) + 1
        self.column = position - text.rfind("\n", 0, position)
        super().__init__(f"{reason} at line {self.line} column {self.column}")


class ObjectKey(Mapping[str, object]):
    """An object in key position, such as a message queue; hashable, equal to another with the same fields."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[Any, object]) -> None:
        self._fields = {str(name): value for name, value in fields.items()}

    def __getitem__(self, name: str) -> object:
        return self._fields[name]

    def __iter__(self) -> Any:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __hash__(self) -> int:
        return hash(frozenset((name, str(value)) for name, value in self._fields.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectKey) and self._fields == other._fields

    def __repr__(self) -> str:
        return f"ObjectKey({self._fields!r})"


Key: TypeAlias = "str | int | ObjectKey"


def loads(text: str | bytes) -> Json:
    """Reads one document.

    Bare integer keys become int, quoted ones stay str, object keys become `ObjectKey`. References are resolved.

    Raises:
        FastjsonError: the text is no document of the dialect; bytes that are no UTF-8 likewise.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise FastjsonError(f"byte 0x{text[error.start]:02x} is no UTF-8", "", error.start) from error
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        value = _loads_bare_keys(text)
    return _resolve_references(value) if "$ref" in text else value


def _loads_bare_keys(text: str) -> Json:
    """Tries the commonest deviation, bare integer keys, with one substitution outside strings."""
    marked = _BARE_KEY.sub(lambda match: match[1] or f'{match[2]}"\\u0000{match[3]}"', text)
    try:
        return json.loads(marked, object_pairs_hook=_unmark)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        return _Reader(text).document()


def _unmark(pairs: list[tuple[str, Json]]) -> Json:
    return {
        int(name[1:]) if name[:1] == "\0" and _INTEGER.fullmatch(name[1:]) else name: value for name, value in pairs
    }


class _Reader:
    """The tolerant reader: one pass, one position."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> Json:
        value = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._error("text after the end of the document")
        return value

    def _error(self, reason: str) -> FastjsonError:
        return FastjsonError(reason, self._text, min(self._at, len(self._text)))

    def _skip(self) -> str:
        """Passes white space and comments; returns the next character, empty at the end."""
        found = _SPACE.match(self._text, self._at)
        if found:
            self._at = found.end()
        return self._text[self._at : self._at + 1]

    def _value(self, depth: int) -> Json:
        if depth > _MAX_DEPTH:
            raise self._error(f"nested deeper than {_MAX_DEPTH}")
        char = self._skip()
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._array(depth)
        if char in ('"', "'"):
            return self._string(char)
        number = _NUMBER.match(self._text, self._at)
        if number:
            self._at = number.end()
            return _number(number.group())
        word = _WORD.match(self._text, self._at)
        if word and word.group() in _WORDS:
            self._at = word.end()
            return _WORDS[word.group()]
        raise self._error("a value is missing" if char else "the text ends before the document does")

    def _array(self, depth: int) -> list[Json]:
        self._at += 1
        items: list[Json] = []
        while True:
            char = self._skip()
            if char == "]":
                self._at += 1
                return items
            if char == ",":
                self._at += 1
                continue
            items.append(self._value(depth + 1))
            self._after_member("]")

    def _object(self, depth: int) -> dict[Key, Json]:
        self._at += 1
        members: dict[Key, Json] = {}
        while True:
            char = self._skip()
            if char == "}":
                self._at += 1
                return members
            if char == ",":
                self._at += 1
                continue
            key = self._key(char, depth)
            if self._skip() != ":":
                raise self._error("a colon is missing after a name")
            self._at += 1
            members[key] = self._value(depth + 1)
            self._after_member("}")

    def _after_member(self, closing: str) -> None:
        char = self._skip()
        if char not in (",", closing) or not char:
            raise self._error(f"a comma or {closing} is missing" if char else "the text ends before the document does")

    def _key(self, char: str, depth: int) -> Key:
        if char in ('"', "'"):
            return self._string(char)
        if char == "{":
            if depth >= _MAX_DEPTH:
                raise self._error(f"nested deeper than {_MAX_DEPTH}")
            return ObjectKey(self._object(depth + 1))
        for pattern in (_INTEGER, _WORD):
            found = pattern.match(self._text, self._at)
            if found:
                self._at = found.end()
                return int(found.group()) if pattern is _INTEGER else found.group()
        raise self._error("a name is missing" if char else "the text ends before the document does")

    def _string(self, quote: str) -> str:
        self._at += 1
        parts: list[str] = []
        while True:
            plain = _PLAIN[quote].match(self._text, self._at)
            if plain:
                parts.append(plain.group())
                self._at = plain.end()
            if self._at >= len(self._text):
                raise self._error("a string does not end")
            if self._text[self._at] == quote:
                self._at += 1
                return _join_surrogates("".join(parts))
            parts.append(self._escape())

    def _escape(self) -> str:
        code = self._text[self._at + 1 : self._at + 2]
        width = {"u": 4, "x": 2}.get(code)
        if width is None:
            self._at += 2
            return _ESCAPES.get(code, code)
        digits = self._text[self._at + 2 : self._at + 2 + width]
        try:
            char = chr(int(digits, 16))
        except ValueError:
            raise self._error(f"\\{code}{digits} is no character") from None
        self._at += 2 + width
        return char


def _join_surrogates(text: str) -> str:
    """Joins `\\uD83D\\uDE00` pairs as Java does; lone ones stay."""
    if not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass" if _lone(text) else "strict")


def _lone(text: str) -> bool:
    try:
        text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return True
    return False


def _number(text: str) -> int | float:
    bare = text.rstrip("LlSsBbFfDd")
    return int(bare) if _INTEGER.fullmatch(bare) else float(bare)


# Greatest common part of the reference forms that fastjson writes: `$`, `..`, `@`, and paths of names and indices.
_STEP = re.compile(r"\.((?:\\.|[^.\[\\])+)|\[(\d+)\]")


def _resolve_references(root: Json) -> Json:
    """Replaces `{"$ref": path}` objects by what they name; an unknown path becomes None, as fastjson does."""

    def visit(value: Json, parents: tuple[Json, ...]) -> Json:
        if isinstance(value, list):
            for position, item in enumerate(value):
                value[position] = visit(item, (*parents, value))
        elif isinstance(value, dict):
            path = value.get("$ref")
            if len(value) == 1 and isinstance(path, str):
                return _follow(path, root, parents)
            for key, item in value.items():
                value[key] = visit(item, (*parents, value))
        return value

    return visit(root, ())


def _follow(path: str, root: Json, parents: tuple[Json, ...]) -> Json:
    if path == "$":
        return root
    if path == "@":
        return parents[-1] if parents else root
    if path == "..":
        return parents[-2] if len(parents) > 1 else root
    value: Json = root
    for step in _STEP.finditer(path.removeprefix("$")):
        if step[2] is not None:
            index = int(step[2])
            value = value[index] if isinstance(value, list) and index < len(value) else None
        else:
            value = _member(value, re.sub(r"\\(.)", r"\1", step[1]))
    return value


def _member(value: Json, name: str) -> Json:
    """Finds the member `name`; an object key is named by its Java text, `MessageQueue [topic=T, brokerName=b, ...]`."""
    if not isinstance(value, dict):
        return None
    for key, item in value.items():
        if key == name or str(key) == name or (isinstance(key, ObjectKey) and _java_text(key) == name):
            return item
    return None


def _java_text(key: ObjectKey) -> str:
    return f"MessageQueue [topic={key.get('topic')}, brokerName={key.get('brokerName')}, queueId={key.get('queueId')}]"
