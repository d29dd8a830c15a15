"""Where the figures of a run go: to stdout, and with `--save` to the file that docs/reliability.md is made from."""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Protocol

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "reliability"


def write(name: str, figures: dict[str, object], *, save: bool) -> None:
    """Prints figures as JSON; saved ones say when and on what they were measured."""
    measured = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "python": platform.python_version(),
        "commit": _commit(),
        **figures,
    }
    text = json.dumps(measured, indent=1) + "\n"
    sys.stdout.write(text)
    if save:
        DIRECTORY.mkdir(exist_ok=True)
        (DIRECTORY / f"{name}.json").write_text(text, encoding="utf-8")


def _commit() -> str:
    """The commit that is checked out here; a plus sign when files differ from it."""
    words = ["git", "-C", str(DIRECTORY.parent), "describe", "--always", "--dirty=+", "--abbrev=10", "--exclude=*"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


class Figures(Protocol):
    """What rounds came to; every field is written down."""

    problems: list[str]


def add_save(parser: argparse.ArgumentParser) -> None:
    """Gives a command line the option whose value `write` takes."""
    parser.add_argument("--save", action="store_true", help="write the figures that docs/reliability.md shows")


def run_rounds(
    name: str, about: str | None, run: Callable[[int, int], Figures], words: Sequence[str], *, rounds: int
) -> int:
    """Runs what goes in rounds from a seed, by its command line. Returns 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.reliability.{name}", description=about)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seed", type=int, default=1)
    add_save(parser)
    options = parser.parse_args(words)
    begun = monotonic()
    figures = run(options.rounds, options.seed)
    minutes = round((monotonic() - begun) / 60, 1)
    write(name, {"seed": options.seed, "minutes": minutes, **vars(figures)}, save=options.save)
    return 1 if figures.problems else 0
