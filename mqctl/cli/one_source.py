"""A command that reads one store or one snapshot does not take a second one in silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqctl.errors import UsageError
from mqctl.text import sentence

_SOURCES = ("--store", "--snapshot")


def refuse_second_source(params: Sequence[Any], words: Sequence[str]) -> None:
    """Raises UsageError where a source is named twice and the command takes one: of several the parser keeps the last.

    Args:
        params: the parameters of the command.
        words: what was typed after the command.
    """
    single = {
        name for param in params for name in param.opts if name in _SOURCES and not getattr(param, "multiple", False)
    }
    for name in sorted(single):
        named = [
            after if word == name else word.partition("=")[2]
            for word, after in zip(words, [*words[1:], ""], strict=True)
            if word == name or word.startswith(f"{name}=")
        ]
        if len(set(named)) > 1:
            raise UsageError(
                sentence("cli-one-source", "{option} names one, and there are {count}", option=name, count=len(named)),
                reason=sentence("cli-one-source-read", "this command reads one of them at a time"),
                remedy=sentence("cli-one-source-each", "ask once for each"),
            )
