"""Failures in Chinese.

What failed, why, and what to do next are written in English where they are raised. The Chinese of each such sentence,
with `{}` for what is filled in, is in messages/zh/errors.txt; a test holds that none is missing. A sentence that is not
there, of a server for instance, stays as it is.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from mqctl.model.lang import Lang

_SENTENCES = Path(__file__).with_name("messages") / "zh" / "errors.txt"
_DEPTH = 3


def chinese_sentences() -> dict[str, str]:
    """Returns the Chinese of each English sentence. A line is English, the next one, indented, its Chinese."""
    lines = _SENTENCES.read_text(encoding="utf-8").splitlines()
    return {english: chinese.removeprefix("\t") for english, chinese in zip(lines[::2], lines[1::2], strict=True)}


def failure_text(text: str, lang: Lang | None, depth: int = _DEPTH) -> str:
    """Returns a sentence about a failure in a language; what is filled in is looked up as well, if it has words."""
    if lang is not Lang.ZH or not text or not depth:
        return text
    for pattern, chinese in _patterns():
        match = pattern.fullmatch(text)
        if match:
            filled = (failure_text(part, lang, depth - 1) if " " in part else part for part in match.groups())
            return chinese.format(*filled)
    return text


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Returns what each English sentence looks like, those with most words of their own first."""
    known = sorted(chinese_sentences().items(), key=lambda item: len(item[0].replace("{}", "")), reverse=True)
    return [(_pattern(english), _with_places(chinese)) for english, chinese in known]


def _pattern(english: str) -> re.Pattern[str]:
    return re.compile("(.*?)".join(map(re.escape, english.split("{}"))), re.DOTALL)


def _with_places(chinese: str) -> str:
    """Makes a template of `format`: only `{}` is filled in."""
    return "{}".join(part.replace("{", "{{").replace("}", "}}") for part in chinese.split("{}"))
