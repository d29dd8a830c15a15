"""`python -m tests.incidents`: builds every world of the corpus, judges it, and prints the score by row."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.incidents.corpus import INCIDENTS
from tests.incidents.incident import Stage, accusations, is_named


def main() -> int:
    """Prints a line a row; ends with 1 when a row does not score what it says, or its healthy twin is accused."""
    wrong, counts = 0, dict.fromkeys(("named", "shown", "open"), 0)
    with TemporaryDirectory() as directory:
        stage = Stage(Path(directory))
        try:
            for item in INCIDENTS:
                score, accused = item.score, []
                if score == "named":
                    score = "named" if is_named(item, stage) else "MISSED"
                    accused = accusations(item, stage)
                counts[item.score] += score == item.score
                wrong += score != item.score or bool(accused)
                by = item.code or item.shown_by or item.waits_for
                twin = f" (its healthy twin is accused: {', '.join(accused)})" if accused else ""
                sys.stdout.write(f"{item.number:2} {score:6} {by:24} {item.story}{twin}\n")
        finally:
            stage.close()
    sys.stdout.write(" ".join(f"{name} {count}" for name, count in counts.items()) + f" of {len(INCIDENTS)}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
