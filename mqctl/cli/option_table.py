"""Writes the table of options that the Tab reads (`mqctl.cli.catalog_options`), from the commands themselves.

An option or argument a line, counted from 0: its names, its values where they are fixed, and its purpose. After an
empty line a command a line: the numbers of its options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def option_table(paths: Iterable[tuple[str, ...]], load_command: Callable[[tuple[str, ...]], Any]) -> str:
    """Returns the table of the commands at `paths`."""
    rows: dict[str, int] = {}
    commands = []
    for path in paths:
        own = [_option_row(names, parameter) for names, parameter in parameters(load_command(path))]
        numbers = [str(rows.setdefault(row, len(rows))) for row in own]
        commands.append(f"{' '.join(path)}: {' '.join(numbers)}")
    return "\n".join([*rows, "", *commands, ""])


def parameters(command: Any) -> Iterator[tuple[list[str], Any]]:
    """Yields the names under which each parameter is typed, with the parameter; positional ones have no dashes."""
    for parameter in command.params:
        if not getattr(parameter, "hidden", False):
            yield [*parameter.opts, *parameter.secondary_opts], parameter


def _option_row(names: Iterable[str], parameter: Any) -> str:
    choices = [str(getattr(choice, "value", choice)) for choice in getattr(parameter.type, "choices", ()) or ()]
    values = f"{{{','.join(choices)}}} " if choices else ""
    return f"{','.join(names)} {values}{_first_sentence(parameter.help or '')}"


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].partition("; ")[0].rstrip(".") + "."
