"""Stacks as flame graph tools take them: `outermost;...;innermost COUNT`, one line for each different stack."""

from __future__ import annotations

from collections.abc import Iterable

from mqctl.model.dump import StackDump, StackThread
from mqctl.stacks.frame_text import dotted
from mqctl.stacks.names import Role, understand
from mqctl.stacks.normal import normal_name


def collapsed(dumps: Iterable[StackDump], *, everything: bool = False) -> list[str]:
    """Returns the lines, sorted; each dump of a thread counts once.

    Args:
        everything: other threads than consume threads too.
    """
    counts: dict[str, int] = {}
    for dump in dumps:
        for thread in dump.threads:
            name = understand(thread.name)
            if everything or name.role is Role.CONSUME:
                pool = name.group or "ConsumeMessageThread" if name.role is Role.CONSUME else thread.name
                line = ";".join([_part(pool), *_calls(thread)])
                counts[line] = counts.get(line, 0) + 1
    return [f"{line} {count}" for line, count in sorted(counts.items())]


def _calls(thread: StackThread) -> list[str]:
    return [_part(normal_name(dotted(frame))) for frame in reversed(thread.frames)]


def _part(text: str) -> str:
    """Returns text without what separates parts and counts."""
    kept = "".join(char if char.isprintable() else "?" for char in text)
    return kept.replace(";", ":").replace(" ", "_")
