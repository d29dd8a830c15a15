"""A text: a sentence of ours, known by a key, with the values that it names.

The English stands where a text is made; other languages have it in a catalogue, by key (`mqctl.render.translation`).
A `str` that is no `Text` was said by somebody else, a broker, a file or a user: it is shown word for word everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import Enum
from functools import cache
from operator import index
from string import Formatter
from typing import Any, NamedTuple, SupportsIndex

from mqctl.units import Count, Stand, by_unit, plain

Plain = str | int | float | bool | None
Value = Plain | tuple[Any, ...]
"""What a text may name: a number, a name, another text, or several of them."""

UNKNOWN = "unknown"
"""What stands for None."""
NONE = "none"
"""What stands for a list without anything in it."""
_SPELLED = {"+/-": "plus or minus", "%": "percent"}
_SIGNS = re.compile(r"\+/-|%")
_WORD = re.compile(r"[a-z0-9]+")
_NOUN = re.compile(r"\{(\w+):[a-z/秒 ]+\}")
"""A count with its noun or verb: `{lost:message is/are}`."""
_PLACE = re.compile(r"\{(\w+)\}")
_ARGV = "_argv"


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


class CommandLine(str):
    """A command line that is printed: a `str` as shells read it, which knows its words.

    JSON has the words beside it: `next_argv` beside `next` (see `argv_of`). `mqctl.model.command_line` makes them.
    """

    __slots__ = ("words",)

    words: tuple[str, ...]

    def __new__(cls, shown: str, words: Iterable[str]) -> CommandLine:
        made = super().__new__(cls, shown)
        made.words = tuple(words)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return CommandLine, (str.__str__(self), self.words)

    def __str__(self) -> str:
        return self  # as a text does


class Word(str):
    """A word of ours as a value, a state or a kind: catalogues have it among the words, as they have enumerations."""

    __slots__ = ()


def sentence(key: str, template: str, /, **values: object) -> str:
    """Returns the sentence `key`, in English `template`, with its values.

    A number is written by the unit that its name ends in, in all languages: `{waited_ms}`, `{size_bytes}`,
    `{used_share}` (see `mqctl.units.by_unit`). Several values go with
    the word in their place before the last one: `{near:or}`.
    """
    plain = {name: _plain(name, value) for name, value in values.items()}
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


class Sentence(NamedTuple):
    """A sentence whose values come later, for tables of sentences."""

    key: str
    template: str

    def __call__(self, **values: object) -> str:
        return sentence(self.key, self.template, **values)


def word_key(kind: str, words: str) -> str:
    """Returns the key of a head or a state: its words in lower case with hyphens, after `head-` or `word-`."""
    spelled = _SIGNS.sub(lambda sign: f" {_SPELLED[sign[0]]} ", words.lower())
    return f"{kind}-{'-'.join(_WORD.findall(spelled))}"


def filled(
    template: str, values: Mapping[str, Value], *, comma: str = ", ", unknown: str = UNKNOWN, none: str = NONE
) -> str:
    """Returns a template with its places filled; several values stand with commas between them."""
    nouns = _with_nouns(template)
    return template.format_map(
        {
            name: _shown(value if value != () else (none,), comma, unknown, is_counted=name in nouns)
            for name, value in values.items()
        }
    )


@cache
def _with_nouns(template: str) -> frozenset[str]:
    return frozenset(_NOUN.findall(template))


def _shown(value: Value, comma: str, unknown: str, *, is_counted: bool) -> object:
    if value is None:
        return Stand(unknown)
    if is_counted and type(value) is int:
        return Count(value)
    return _Several(map(format, value), comma) if isinstance(value, tuple) else value


class _Several(str):
    """Several values with commas between them, and the word that the template has in their place before the last."""

    __slots__ = ("comma", "items")

    items: tuple[str, ...]
    comma: str

    def __new__(cls, items: Iterable[str], comma: str) -> _Several:
        listed = tuple(items)
        made = super().__new__(cls, comma.join(listed))
        made.items, made.comma = listed, comma
        return made

    def __format__(self, word: str) -> str:
        if not word or len(self.items) < 2:
            return str.__str__(self)
        return f"{self.comma.join(self.items[:-1])} {word} {self.items[-1]}"


def places(template: str) -> list[str]:
    """Returns the names of a template's places."""
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def plain_values(values: Mapping[str, Value]) -> dict[str, Any]:
    """Returns values as JSON has them; a text among them is an object of its sentence, its key and its values.

    Beside a command line `command` are its words, `command_argv`.
    """
    shown: dict[str, Any] = {}
    for name, value in values.items():
        shown[name] = _as_json(value)
        if isinstance(value, CommandLine):
            shown[f"{name}{_ARGV}"] = list(value.words)
    return shown


def argv_of(said: str | None) -> list[str] | None:
    """Returns the words of a command line, for JSON; None for all else."""
    return list(said.words) if isinstance(said, CommandLine) else None


def key_of(said: str | None) -> str | None:
    """Returns the key of a text, the template of one that has none; None for others' words and for nothing."""
    return (said.key or said.template) if isinstance(said, Text) else None


def values_of(said: str | None) -> dict[str, Any] | None:
    """Returns the values of a text as JSON has them; None for what somebody else said."""
    return plain_values(said.values) if isinstance(said, Text) else None


def restored(english: str, key: str | None, values: Mapping[str, Any] | None, argv: Iterable[str] | None = None) -> str:
    """Returns a text from its JSON: what `key_of`, `values_of`, `argv_of` returned. A file may hold anything there."""
    if argv is not None:
        return CommandLine(english, argv)
    own = _own_values(values or {})
    if key is None:
        return english
    if "{" not in key:
        return Text(english, key, literal(english), own)
    names, between = set(_PLACE.findall(key)), _PLACE.sub("", key)
    return english if "{" in between or "}" in between or names != own.keys() else Text(english, "", key, own)


def keep_texts(holder: object, *names: str) -> None:
    """Sets the fields that a text leaves beside it, or makes it a text again by what a file has in them.

    For `__post_init__` of values that JSON shows or a file keeps: beside `reason` are `reason_key`, `reason_values`
    and, where there is such a field, `reason_argv`.
    """
    for name in names:
        keep_text(holder, name, f"{name}_key", f"{name}_values", f"{name}_argv")


def keep_text(holder: object, name: str, key: str, values: str, argv: str) -> None:
    """Does so for one text, in the fields of these names; None and others' words stay what they are."""
    text, has_argv = getattr(holder, name), hasattr(holder, argv)
    if text is None:
        return
    if isinstance(text, Text | CommandLine):
        _put(holder, key, key_of(text))
        _put(holder, values, values_of(text))
        if has_argv:
            _put(holder, argv, argv_of(text))
    else:
        words = getattr(holder, argv) if has_argv else None
        _put(holder, name, restored(text, getattr(holder, key), getattr(holder, values), words))


def _put(holder: object, name: str, value: object) -> None:
    try:
        object.__setattr__(holder, name, value)  # data classes are frozen
    except TypeError:  # msgspec's structs refuse that, and are not
        setattr(holder, name, value)


def carried(said: str) -> Any:
    """Returns what is said as JSON that `delivered` reads again, with all that a text or a command line knows."""
    if isinstance(said, CommandLine):
        return {"text": str.__str__(said), "argv": list(said.words)}
    return _as_json(said)


def delivered(said: Any) -> str:
    """Returns what was `carried`."""
    if isinstance(said, dict):
        return restored(said["text"], said.get("key"), said.get("values"), said.get("argv"))
    return str(said)


def with_replaced(said: str, old: str, new: str) -> str:
    """Returns what is said with another name in it: in the values of a text, anywhere in what is none."""
    if isinstance(said, CommandLine):
        return CommandLine(said.replace(old, new), (word.replace(old, new) for word in said.words))
    if not isinstance(said, Text):
        return said.replace(old, new)
    values = {name: _with_replaced(value, old, new) for name, value in said.values.items()}
    return Text(filled(said.template, values), said.key, said.template, values)


def _with_replaced(value: Value, old: str, new: str) -> Value:
    if isinstance(value, tuple):
        return tuple(_with_replaced(item, old, new) for item in value)
    return with_replaced(value, old, new) if isinstance(value, str) and old in value else value


def printable(text: str) -> str:
    """Returns `text` with control characters made visible, so that stored bytes cannot drive a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def encoded(value: object) -> str:
    """Returns a text as JSON has it: its sentence. For msgspec, which asks about what is no `str` proper.

    Raises:
        NotImplementedError: it is something else.
    """
    if isinstance(value, Text | Word | CommandLine):
        return str.__str__(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON")


def _plain(name: str, value: object) -> Value:
    if isinstance(value, int | float):
        return by_unit(name, value)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Collection) and not isinstance(value, bytes):
        return tuple(_plain(name, item) for item in value)
    if isinstance(value, SupportsIndex):  # a number of an array is a number
        return by_unit(name, index(value))
    return str(value)


def _own_values(values: Mapping[str, Any]) -> dict[str, Value]:
    own = {name: _plain(name, _from_json(value)) for name, value in values.items()}
    for name, value in values.items():
        if name.endswith(_ARGV) and isinstance(line := own.get(name.removesuffix(_ARGV)), str):
            own[name.removesuffix(_ARGV)] = CommandLine(line, value)
            del own[name]
    return own


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
    if isinstance(value, str):
        return str.__str__(value)
    return plain(value) if isinstance(value, int | float) else value
