"""Words that readers stumble over do not come back: none of these patterns is in a text, a title or a help page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from docs import texts
from mqctl.cli import catalog
from mqctl.main import load_command

STUMBLES = {
    "is not a, is not an": r"(?<!there )(?<!There )\b(is|are) no (?!longer\b|more\b|other\b)[A-Za-z]",
    "continues": r"\b(goes|went) on\b",
    "is stuck": r"\bstands? still\b",
    "sample": r"\b(one|two|each|first|every|later) looks?\b(?!-)|\blook by look\b",
    "a client, a user, another process": r"\b(somebody|everybody)\b",
    "fix": r"\bmend",
    "indefinitely": r"\bfor ever\b",
    "repeatedly, is redelivered": r"\bagain and again\b|\bcomes? again\b",
    "this many": r"\bso many\b",
    "partly, completely": r"\bwholly\b",
    "plan, then --execute": r"\bby plan\b",
    "automatically": r"\bfind (it|them) by (itself|themselves)\b",
}


def written() -> Iterator[tuple[str, str]]:
    """Yields where each English text is, and the text."""
    for key, templates in texts.sources().items():
        yield from ((key, template) for template in templates)
    for name, summary in catalog.GROUPS.items():
        yield f"mqctl {name}", summary
    for entry in catalog.ENTRIES:
        where = f"mqctl {' '.join(entry.path)}"
        command = load_command(entry.path)
        yield where, entry.summary
        yield where, command.help or ""
        for parameter in command.params:
            yield f"{where} {parameter.opts[0]}", getattr(parameter, "help", None) or ""


def test_texts_and_help_are_in_plain_words() -> None:
    stumbles = [
        f"{where}: {match.group()!r}, better {better!r}: {' '.join(text.split())[:120]}"
        for where, text in written()
        for better, pattern in STUMBLES.items()
        for match in [re.search(pattern, " ".join(text.split()))]
        if match
    ]
    assert not stumbles, "\n".join(stumbles)


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("it is no YAML", "is not a, is not an"),
        ("two looks at one moment", "sample"),
        ("Delete a user, by plan.", "plan, then --execute"),
        ("these come again", "repeatedly, is redelivered"),
    ],
)
def test_a_pattern_finds_what_it_is_for(text: str, better: str) -> None:
    assert [name for name, pattern in STUMBLES.items() if re.search(pattern, text)] == [better]


@pytest.mark.parametrize(
    "text", ["there is no topic T", "it is no longer stored", "There is no commit log", "no member"]
)
def test_a_pattern_leaves_good_words_alone(text: str) -> None:
    assert not [name for name, pattern in STUMBLES.items() if re.search(pattern, text)]
