"""Recorded dumps of threads whose names tell what they do."""

from __future__ import annotations

from pathlib import Path

from mqctl.model.dump import StackDump
from mqctl.stacks.parse import read_dumps

DUMPS = Path(__file__).parents[1] / "golden" / "dumps"
FILES = sorted(path.name for path in DUMPS.glob("*-*"))


def text(name: str) -> str:
    """Returns a recorded file."""
    return (DUMPS / name).read_text(encoding="utf-8")


def dumps(name: str) -> list[StackDump]:
    """Returns the dumps in a recorded file."""
    return read_dumps(text(name), source=name)
