"""Message properties as text, and `k=v` bodies of configuration requests.

Source: `MessageDecoder.string2messageProperties` and `messageProperties2String` of 4.9.8 and 5.3.3, `MixAll`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME_VALUE_SEPARATOR = "\x01"
PROPERTY_SEPARATOR = "\x02"
MAX_PROPERTIES_LENGTH = 32_767
_UNWRITABLE = re.compile("[\x01\x02\ud800-\udfff]")
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:\r\n|\r|\n)[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SHORT = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_PAIR = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    """Parses property text; a pair without name, value or separator is dropped, a later duplicate wins."""
    properties: dict[str, str] = {}
    for item in text.split(PROPERTY_SEPARATOR):
        name, _, value = item.partition(NAME_VALUE_SEPARATOR)
        if name and value:
            properties[name] = value
    return properties


def format_properties(properties: Mapping[str, str], *, trailing_separator: bool = False) -> str:
    """Writes property text. 5.x brokers store a separator behind the last pair, 4.9.8 does not."""
    text = PROPERTY_SEPARATOR.join([f"{name}{NAME_VALUE_SEPARATOR}{value}" for name, value in properties.items()])
    return text + PROPERTY_SEPARATOR if trailing_separator and text else text


def property_of(text: str, name: str) -> str | None:
    """Returns one property of property text without parsing the rest; the last one with a value counts."""
    start = name + NAME_VALUE_SEPARATOR
    at = text.rfind(start)
    while at >= 0:
        if at == 0 or text[at - 1] == PROPERTY_SEPARATOR:
            end = text.find(PROPERTY_SEPARATOR, at)
            value = text[at + len(start) : end] if end >= 0 else text[at + len(start) :]
            if value:
                return value
        at = text.rfind(start, 0, at)
    return None


def with_properties(text: str, changes: Mapping[str, str]) -> str:
    """Returns property text with some properties set."""
    items = text.split(PROPERTY_SEPARATOR)
    kept = [item for item in items if item and item.partition(NAME_VALUE_SEPARATOR)[0] not in changes]
    return PROPERTY_SEPARATOR.join(
        [*kept, *[f"{name}{NAME_VALUE_SEPARATOR}{value}" for name, value in changes.items()]]
    )


def without_property(text: str, name: str) -> str:
    """Returns property text without one property."""
    start = name + NAME_VALUE_SEPARATOR
    kept = [item for item in text.split(PROPERTY_SEPARATOR) if item and not item.startswith(start)]
    return PROPERTY_SEPARATOR.join(kept)


def joined_properties(first: str, second: str) -> str:
    """Returns two property texts as one; where both have a name, readers take the second's value."""
    return PROPERTY_SEPARATOR.join([text for text in (first.rstrip(PROPERTY_SEPARATOR), second) if text])


def unwritable_characters(text: str) -> str:
    """Returns what no name and no value of a property may hold, escaped and parted by blanks; empty when all is well.

    That are the two separators, which would make other properties of it, and what stands for bytes that are no UTF-8
    (`surrogateescape`), which Java would replace by question marks.
    """
    characters = dict.fromkeys(_UNWRITABLE.findall(text)) if _UNWRITABLE.search(text) else {}
    return " ".join([_escaped(character) for character in characters])


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code & 0xFF:02x}" if code <= 0xFF or 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def parse_settings(body: bytes) -> dict[str, str]:
    """Parses a `k=v` body or file as `java.util.Properties` does: comments, escapes, continued lines."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        text = body.decode("latin-1")
    settings: dict[str, str] = {}
    for line in _CONTINUED.sub(r"\1", text).splitlines():
        stripped = line.lstrip(" \t\f")
        match = _PAIR.fullmatch(stripped)
        if stripped and stripped[0] not in "#!" and match:
            settings[_unescaped(match[1])] = _unescaped(match[2])
    return settings


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _character(match[1]), text) if "\\" in text else text


def _character(code: str) -> str:
    return chr(int(code[1:], 16)) if len(code) > 1 else _SHORT.get(code, code)


def format_settings(settings: Mapping[str, str]) -> bytes:
    """Writes a `k=v` body as brokers do: one line each, nothing escaped."""
    return "".join([f"{name}={value}\n" for name, value in settings.items()]).encode()
