"""Writes what `console` blocks print into their page: `python -m tests.docs.fill docs/guides/on-call.md`.

Outputs that are as they should be stay as they are, `...` included; look at the difference before you commit it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.console import Session, same, steps


def fill(page: Path) -> None:
    """Runs a page and replaces what it shows where that is not what happens."""
    lines = page.read_text(encoding="utf-8").splitlines()
    replaced: list[tuple[int, int, list[str]]] = []
    with TemporaryDirectory() as home:
        session = Session(Path(home))
        try:
            for step in steps(page):
                output = session.run(step.script)
                if step.expected is None or same(step.expected, output):
                    continue
                first = step.line - 1 + len(step.script.splitlines())
                count = len(step.expected.splitlines())
                replaced.append((first, first + count, output.rstrip("\n").splitlines()))
        finally:
            session.close()
    for first, end, rows in reversed(replaced):
        lines[first:end] = [row.rstrip() for row in rows]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        fill(Path(name))
