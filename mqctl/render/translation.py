"""Sentences in the language of the command line, looked up by their keys in a catalogue.

The catalogue of a language is a `.po` file, as translators and their tools have it: the key is the msgid, the English
is the comment above it. It is read when the first sentence is spoken in that language, in English never.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from mqctl.model.lang import Lang
from mqctl.text import NONE, UNKNOWN, CommandLine, Text, Value, Word, filled, word_key

CATALOGUE = Path(__file__).with_name("messages") / "zh" / "texts.po"
_ENTRY = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"(?:\n|\Z))+)', re.MULTILINE)
_SEPARATORS = re.compile(r"(, | \(|\)|; )")


def spoken(said: str, lang: Lang | None) -> str:
    """Returns what is said in a language: a text of ours translated, its values word for word, all else as it is.

    A text that the catalogue lacks stays English.
    """
    if lang is not Lang.ZH or not isinstance(said, Text):
        return said
    if not said.key:
        if all(isinstance(value, CommandLine) for value in said.values.values()):
            return said  # a shell reads what is between them
        return _filled(said.template.replace("; ", "；"), said.values)
    template = _chinese().get(said.key)
    try:
        return _filled(template, said.values) if template else said
    except (KeyError, ValueError):  # a file of another mqctl, whose sentence of this key names something else
        return said


def words(state: str) -> str:
    """Returns words of ours in Chinese: states, parts of a snapshot, also several of them."""
    return "".join(_word(part) for part in _SEPARATORS.split(state))


def read_catalogue(text: str) -> dict[str, str]:
    """Returns the translations of a `.po` file by key; empty ones are left out."""
    entries = ((_unquoted(key), _unquoted(translation)) for key, translation in _ENTRY.findall(text))
    return {key: translation for key, translation in entries if key and translation}


def _word(english: str) -> str:
    return _chinese().get(word_key("word", english), english)


@cache
def _chinese() -> Mapping[str, str]:
    return read_catalogue(CATALOGUE.read_text(encoding="utf-8"))


def _unquoted(lines: str) -> str:
    if "\\" not in lines and lines.count('"') == 2:
        return lines.strip()[1:-1]  # most of them; ten times as fast
    return "".join(json.loads(line, strict=False) for line in lines.splitlines())


def _filled(template: str, values: Mapping[str, Value]) -> str:
    spoken_values = {name: _spoken_value(value) for name, value in values.items()}
    return filled(template, spoken_values, comma="、", unknown=words(UNKNOWN), none=words(NONE))


def _spoken_value(value: Any) -> Value:
    if isinstance(value, Enum | Word):
        return words(str(value))
    if isinstance(value, tuple):
        return tuple(_spoken_value(item) for item in value)
    return spoken(value, Lang.ZH) if isinstance(value, Text) else value
