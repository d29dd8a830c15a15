"""A text: a sentence of ours, known by a key, with the values that it names.

The English stands where a text is made; other languages have it in a catalogue, by key (`mqctl.render.translation`).
A `str` that is no `Text` was said by somebody else, a broker, a file or a user: it is shown word for word everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from operator import index
from typing import Any, SupportsIndex

Plain = str | int | float | bool | None
Value = Plain | tuple[Any, ...]
"""What a text may name: a number, a name, another text, or several of them."""

_SEPARATOR = ", "
_PLACE = re.compile(r"\{(\w+)\}")


class Text(str):
    """A sentence of ours: a `str` that holds the English, and knows what it was made of.

    To put it into an f-string, or to join it, makes a mere `str` of it; `composed` and `joined` do not.

    Attributes:
        key: names the sentence in catalogues and in JSON; empty where there is nothing to translate but its values.
        template: the English with places (`{group}`, `{count:,}`) as `str.format` has them.
        values: what stands in the places, by name.
    """

    __slots__ = ("key", "template", "values")

    key: str
    template: str
    values: Mapping[str, Value]

    def __new__(cls, english: str, key: str, template: str, values: Mapping[str, Value]) -> Text:
        made = super().__new__(cls, english)
        made.key, made.template, made.values = key, template, values
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Text, (str.__str__(self), self.key, self.template, self.values)

    def __str__(self) -> str:
        return self  # `str(error)` is what was raised

    def __add__(self, other: str) -> str:
        return joined("", (self, other))

    def __radd__(self, other: str) -> str:
        return joined("", (other, self))


class Word(str):
    """A word of ours as a value, a state or a kind: catalogues have it among the words, as they have enumerations."""

    __slots__ = ()


def sentence(key: str, template: str, /, **values: object) -> str:
    """Returns the sentence `key`, in English `template`, with its values."""
    plain = {name: _plain(value) for name, value in values.items()}
    return Text(filled(template, plain), key, template, plain)


def composed(template: str, /, **values: object) -> str:
    """Returns texts and values in an order that is the same in all languages: `{problem}: {reason}`."""
    return sentence("", template, **values)


def joined(separator: str, parts: Iterable[str]) -> str:
    """Returns texts with a separator between them."""
    listed = {f"part{number}": part for number, part in enumerate(parts, 1)}
    return composed(literal(separator).join(f"{{{name}}}" for name in listed), **listed)


def literal(words: str) -> str:
    """Returns the template that stands for `words` themselves."""
    return words.replace("{", "{{").replace("}", "}}")


def filled(template: str, values: Mapping[str, Value]) -> str:
    """Returns a template with its places filled; several values stand with commas between them."""
    shown = {
        name: _SEPARATOR.join(map(str, value)) if isinstance(value, tuple) else value for name, value in values.items()
    }
    return template.format_map(shown)


def plain_values(values: Mapping[str, Value]) -> dict[str, Any]:
    """Returns values as JSON has them; a text among them is an object of its sentence, its key and its values."""
    return {name: _as_json(value) for name, value in values.items()}


def key_of(said: str) -> str | None:
    """Returns the key of a text, the template of one that has none; None for what somebody else said."""
    return (said.key or said.template) if isinstance(said, Text) else None


def values_of(said: str) -> dict[str, Any] | None:
    """Returns the values of a text as JSON has them; None for what somebody else said."""
    return plain_values(said.values) if isinstance(said, Text) else None


def restored(english: str, key: str | None, values: Mapping[str, Any] | None) -> str:
    """Returns a text from its JSON: what `key_of` and `values_of` returned. A file may hold anything in their place."""
    own = {name: _from_json(value) for name, value in (values or {}).items()}
    if key is None:
        return english
    if "{" not in key:
        return Text(english, key, literal(english), own)
    names, between = set(_PLACE.findall(key)), _PLACE.sub("", key)
    return english if "{" in between or "}" in between or names != own.keys() else Text(english, "", key, own)


def encoded(value: object) -> str:
    """Returns a text as JSON has it: its sentence. For msgspec, which asks about what is no `str` proper.

    Raises:
        NotImplementedError: it is something else.
    """
    if isinstance(value, Text | Word):
        return str.__str__(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON")


def _plain(value: object) -> Value:
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    if value is None or isinstance(value, str | int | float):
        return value
    return index(value) if isinstance(value, SupportsIndex) else str(value)  # a number of an array is a number


def _from_json(value: Any) -> Value:
    if isinstance(value, dict):
        return restored(value["text"], value["key"], value["values"])
    return tuple(map(_from_json, value)) if isinstance(value, list) else value


def _as_json(value: Any) -> Any:
    if isinstance(value, Text):
        return {"text": str.__str__(value), "key": key_of(value), "values": values_of(value)}
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    return str.__str__(value) if isinstance(value, Word) else value
