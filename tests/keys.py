"""Sentences of mqctl in JSON have keys beside them: `reason_key` beside `reason`, `keyed_notes` beside `notes`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from string import Formatter
from typing import Any

from docs import texts

_WORDS = re.compile(r"[^\W\d_]{2,}\W+[^\W\d_]{2,}\W+[^\W\d_]{2,}")
"""Three words that stand in a template itself: less may be a name, or words that a name makes a sentence of."""
_TITLE = re.compile(r"mq\d+-title|scenario-.+")
"""Names of rules and scenarios, which playbooks may have in their files too."""
_APART = ("values", "argv")
"""How fields end that say what a sentence or a command line is made of."""


def sentences_without_key(node: Any) -> list[str]:
    """The sentences of the catalogue in a document that have no key beside them, each with its place."""
    return list(_without(node, ""))


def _without(node: Any, path: str) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _without(item, f"{path}[*]")
    if not isinstance(node, dict):
        return
    for name, value in node.items():
        if name.endswith(_APART) or f"keyed_{name}" in node:
            continue
        # A finding, a gap and a sentence in a list have one key; the other sentences of a finding go by it too.
        if f"{name}_key" not in node and "key" not in node:
            for said in value if isinstance(value, list) else [value]:
                if isinstance(said, str) and (key := key_of_sentence(said)):
                    yield f"{path}.{name}: {key}: {said}"
        yield from _without(value, f"{path}.{name}")


def key_of_sentence(said: str) -> str | None:
    """Returns the key of the sentence of mqctl that this is, with whatever values; None where it is none."""
    return next((key for words, form, key in _forms() if words in said and form.fullmatch(said)), None)


@cache
def _forms() -> list[tuple[str, re.Pattern[str], str]]:
    """The sentences with three words or more: their longest piece between two places, an expression, the key."""
    forms = []
    for key, templates in texts.sources().items():
        for template in () if _TITLE.fullmatch(key) else templates:
            pieces = [(text, name) for text, name, _, _ in Formatter().parse(template)]
            longest = max((text for text, _ in pieces), key=len)
            if _WORDS.search(longest):
                form = "".join(re.escape(text) + (".*" if name is not None else "") for text, name in pieces)
                forms.append((longest, re.compile(form, re.DOTALL), key))
    return forms
