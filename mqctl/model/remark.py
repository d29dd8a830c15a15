"""Words of another program in a sentence of ours: marked as its words, on one line, no longer than a reader needs."""

from __future__ import annotations

from mqctl.text import sentence

_AT = " - at "  # msgspec's, before the path of what it refused
LONGEST_REMARK = 300
"""Characters that are shown; the remarks of brokers are shorter, a stack trace or an attack is not."""


def quoted(words: str) -> str:
    """Returns `words` in quotation marks: what is no printable character is escaped, and what is cut is told.

    A remark with a line break could else write lines of its own, such as a `next:` that nobody here advises.
    """
    shown = "".join(map(_escaped, words[:LONGEST_REMARK]))
    if len(words) <= LONGEST_REMARK:
        return f'"{shown}"'
    return f'"{shown}"... ({LONGEST_REMARK} of {len(words):,} characters)'


def on_one_line(name: str) -> str:
    """Returns a name that others gave, as it is where it is one; else escaped and cut as their words are, unmarked."""
    if name.isprintable() and len(name) <= LONGEST_REMARK:
        return name
    shown = "".join(map(_escaped, name[:LONGEST_REMARK]))
    return shown if len(name) <= LONGEST_REMARK else f"{shown}... ({LONGEST_REMARK} of {len(name):,} characters)"


def of_decoder(error: Exception) -> str:
    """Returns what a decoder says of foreign data: a value that it repeats is cut, and its place is not."""
    if isinstance(error, RecursionError):
        return sentence("nested-too-deeply", "it is nested too deeply")
    words, at, place = str(error).rpartition(_AT)
    return f"{on_one_line(words)}{at}{on_one_line(place)}"


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else char.encode("unicode_escape").decode()
