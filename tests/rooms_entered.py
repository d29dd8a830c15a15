"""Which quick test enters each room: what `tests/architecture/quick_rooms.txt` says, and how it is recorded.

`python -m tests.rooms_entered` runs `pytest -m quick` with an eye on every call, in the workers and in the commands
forked for them, and writes for each package of ours a test during which a function of it was called.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

REPOSITORY = Path(__file__).resolve().parents[1]
RECORD = REPOSITORY / "tests" / "architecture" / "quick_rooms.txt"
VARIABLE = "MQCTL_TEST_ROOMS"
_ROOTS = tuple(f"{REPOSITORY / root}{os.sep}" for root in ("mqctl", "embedded_broker"))
_IN_A_FUNCTION = 1  # CO_OPTIMIZED: bodies of modules and classes, which run when they are imported, are not


def environment() -> dict[str, str]:
    """Returns what commands need to record as well; nothing when nobody records."""
    names = (VARIABLE, "PYTEST_CURRENT_TEST") if VARIABLE in os.environ else ()
    return {name: os.environ[name] for name in names if name in os.environ}


def install() -> None:
    """Records from here on, if anybody wants that; also in processes forked from this one."""
    place = os.environ.get(VARIABLE)
    if place is None:
        return
    record = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    known: set[str] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code.co_filename in known or not code.co_flags & _IN_A_FUNCTION or code.co_name.startswith("<"):
            return
        known.add(code.co_filename)
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        if test and code.co_filename.startswith(_ROOTS):
            package = ".".join(Path(code.co_filename).relative_to(REPOSITORY).parts[:-1])
            os.write(record, f"{package}\t{test.partition('[')[0]}\n".encode())

    sys.settrace(called)
    threading.settrace(called)


def main() -> None:
    """Runs the quick tests and writes the record."""
    with TemporaryDirectory() as directory:
        raw = Path(directory) / "raw.txt"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "quick", *sys.argv[1:]],
            cwd=REPOSITORY,
            env={**os.environ, VARIABLE: str(raw)},
            check=False,
        )
        entered: dict[str, str] = {}
        for line in sorted(set(raw.read_text(encoding="utf-8").splitlines())):
            package, _, test = line.partition("\t")
            entered.setdefault(package, test)
    lines = [f"{package}\t{test}\n" for package, test in sorted(entered.items())]
    RECORD.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
