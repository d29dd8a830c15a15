"""Command lines that mqctl prints: an operator pastes them into a shell, and strangers chose the names in them."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mqctl.text import CommandLine

if TYPE_CHECKING:
    from pathlib import Path

_PLACE = re.compile(r"\{(\w*)\}")


def command_line(
    template: str, /, *values: str | int | Path | Sequence[str], **named: str | int | Path | Sequence[str]
) -> CommandLine:
    """Fills the template of a command, "mqctl group lag {source} -g {group}", and quotes each word of it.

    A place is a whole word or a part of one (`group={}`) and stays one word, whatever its value holds. Where a value in
    the place of an argument begins with `-`, all filled arguments move behind `--` to the end of the line.

    Args:
        template: the command. Directly behind a word that begins with `-` a place is the value of that option,
            elsewhere an argument.
        values: for the places without a name, in their order. A list is spliced in: options that are words already.
        named: for the places with a name.
    """
    words: list[str] = []
    arguments: list[int] = []
    rest = iter(values)
    before = ""
    for word in shlex.split(template):
        place = _PLACE.search(word)
        if place is None:
            words.append(word)
        else:
            value = named[place[1]] if place[1] else next(rest)
            if isinstance(value, list | tuple):
                words += value
            else:
                arguments += [len(words)] if place[0] == word and not before.startswith("-") else []
                words.append(word.replace(place[0], str(value)))
        before = word
    if any(words[place].startswith("-") for place in arguments):
        options = [word for place, word in enumerate(words) if place not in arguments]
        words = [*options, "--", *(words[place] for place in arguments)]
    return shell_words(words)


def shell_words(words: Iterable[str]) -> CommandLine:
    """Returns words as text from which sh, bash and zsh read the same words again."""
    known = tuple(words)
    return CommandLine(" ".join(map(shell_word, known)), known)


def shell_word(word: str) -> str:
    """Returns one word as shells read it.

    Control and format characters become their escapes, as in all output: raw, they could end the line on a terminal.
    """
    shown = word if word.isprintable() else "".join(map(_visible, word))
    return f"'{shown}'" if shown.startswith("=") and "'" not in shown else shlex.quote(shown)  # zsh expands =ls


def _visible(char: str) -> str:
    blank = unicodedata.category(char) == "Zs"  # of any width; Chinese names have U+3000
    return char if blank or char.isprintable() else char.encode("unicode_escape").decode()
