"""Command lines in JSON have their words beside them: `next_argv` beside `next`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from mqctl.cli import catalog

_NOUNS = {path[0] for path in catalog.BY_PATH}


def lines_without_argv(node: Any, path: str = "") -> list[str]:
    """The places of command lines whose words are not beside them, or are others."""
    return list(_without(node, path))


def _without(node: Any, path: str) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from _without(item, f"{path}[*]")
    if not isinstance(node, dict):
        return
    for name, value in node.items():
        inside = f"{path}.{name}"
        if f"keyed_{name}" in node or (name == "text" and node.get("key")):  # sentences, whose values have the words
            continue
        lines = value if isinstance(value, list) else [value]
        if any(map(_is_command_line, lines)):
            words = node.get(f"{name}_argv")
            several = words if words and isinstance(words[0], list) else [words]
            if [shlex.split(line) for line in lines if _is_command_line(line)] != several:
                yield f"{inside}: {value}"
        yield from _without(value, inside)


def _is_command_line(value: Any) -> bool:
    if not isinstance(value, str) or not value.startswith("mqctl "):
        return False
    try:
        words = shlex.split(value)
    except ValueError:
        return False
    return len(words) > 1 and words[1] in _NOUNS
