"""Sentences of failures, plans and talk in Chinese.

What failed, what a plan does and came to, and what is said on stderr is written in English where it is known. The
Chinese of each such sentence, with `{}` for what is filled in, is in messages/zh: in errors.txt, plans.txt and
scenarios.txt; tests hold that none is missing. A sentence that is not there, of a server for instance, stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from mqctl.model.lang import Lang

FILES = ("errors", "plans", "scenarios")
PLACE = re.compile(r"\{[nw]?\}")
"""Where something is filled in: `{w}` takes words of ours (a state, parts of a snapshot), `{n}` numbers only."""
_FRAMES = ("note: {}", "warning: {}", "left out: {}", "undo: {}")
"""What stands before any other sentence."""
_MESSAGES = Path(__file__).with_name("messages") / "zh"
_DEPTH = 4
_LEAD = re.compile(r"(?:mqctl: |  next: |  \d+\. )?")
_SEPARATORS = re.compile(r"(, | \(|\)|; )")

_Known = tuple[re.Pattern[str], tuple[str, ...], tuple[str, ...]]


@cache
def chinese_sentences(file: str) -> dict[str, str]:
    """Returns the Chinese of each English sentence. A line is English, the next one, indented, its Chinese."""
    lines = (_MESSAGES / f"{file}.txt").read_text(encoding="utf-8").splitlines()
    return {english: chinese.removeprefix("\t") for english, chinese in zip(lines[::2], lines[1::2], strict=True)}


def spoken_text(text: str, lang: Lang | None, depth: int = _DEPTH) -> str:
    """Returns a sentence in a language; what is filled in is looked up as well, if it has words."""
    if lang is not Lang.ZH or not text or not depth:
        return text
    if whole := _whole().get(text):
        return whole
    for pattern, own_words, parts in _known():
        match = pattern.fullmatch(text) if all(words in text for words in own_words) else None
        if match:
            filled = zip(PLACE.findall(" ".join(parts)), match.groups(), strict=True)
            values = [words(value) if place == "{w}" else _value(value, lang, depth - 1) for place, value in filled]
            return "".join(values.pop(0) if PLACE.fullmatch(part) else part for part in parts)
    head, colon, rest = text.partition(": ")
    if not colon:
        return text
    return f"{_value(head, lang, depth - 1)}: {_value(rest, lang, depth - 1)}"


def talk(text: str, lang: Lang | None) -> str:
    """Returns lines of talk in a language; what a line begins with (`mqctl: `, `  next: `) is the same in all."""
    if lang is not Lang.ZH:
        return text
    return "\n".join(_line(line, lang) for line in text.split("\n"))


def _line(line: str, lang: Lang) -> str:
    sentence = line.lstrip(" ")
    if whole := _whole().get(sentence):  # known without what sets it in
        return line.removesuffix(sentence) + whole
    lead = match[0] if (match := _LEAD.match(line)) else ""
    return lead + spoken_text(line.removeprefix(lead), lang)


def _value(text: str, lang: Lang, depth: int) -> str:
    return spoken_text(text, lang, depth) if " " in text else text


def words(text: str) -> str:
    """Returns words of ours in Chinese: states, parts of a snapshot, also several of them."""
    from mqctl.render.messages.zh.words import WORDS

    return "".join(WORDS.get(part, part) for part in _SEPARATORS.split(text))


@cache
def _whole() -> dict[str, str]:
    """Returns the Chinese of the sentences into which nothing is filled."""
    known = (pair for file in FILES for pair in chinese_sentences(file).items())
    return {english: chinese for english, chinese in known if "{}" not in english}


@cache
def _known() -> list[_Known]:
    """Returns what each English sentence looks like, those with most words of their own first."""
    known = [pair for file in FILES for pair in chinese_sentences(file).items() if "{}" in pair[0]]
    leads = tuple(frame.removesuffix("{}") for frame in _FRAMES)
    longest = sorted(
        known,
        key=lambda item: (item[0].startswith(leads), len(item[0].replace("{}", "")), "{w}" not in item[1]),
        reverse=True,
    )
    return [_entry(english, chinese) for english, chinese in longest]


def _entry(english: str, chinese: str) -> _Known:
    own_words = english.split("{}")
    places = [*("([0-9,.]+)" if place == "{n}" else "(.*?)" for place in PLACE.findall(chinese)), ""]
    pattern = "".join(map(str.__add__, map(re.escape, own_words), places))
    return re.compile(pattern, re.DOTALL), tuple(own_words), tuple(re.split(f"({PLACE.pattern})", chinese))
