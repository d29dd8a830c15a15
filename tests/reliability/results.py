"""Where the figures of a run go: to stdout, and with `--save` to the file that docs/reliability.md is made from."""

from __future__ import annotations

import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "reliability"


def write(name: str, figures: dict[str, object], *, save: bool) -> None:
    """Prints figures as JSON; saved ones say when and on what they were measured."""
    measured = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "python": platform.python_version(), **figures}
    text = json.dumps(measured, indent=1) + "\n"
    sys.stdout.write(text)
    if save:
        DIRECTORY.mkdir(exist_ok=True)
        (DIRECTORY / f"{name}.json").write_text(text, encoding="utf-8")
