"""mqctl on a terminal: what it draws, and keys for it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import REPOSITORY


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run on a terminal left behind; `text` with its control sequences."""

    exit_code: int
    text: str


Terminal = Callable[..., Seen]


def run_on_terminal(words: tuple[object, ...], env: Mapping[str, str], keys: Mapping[str, bytes], home: Path) -> Seen:
    """Runs mqctl with a terminal of 24 lines by 100 columns, unless `env` says otherwise.

    Args:
        keys: what is typed once a text has been seen.
    """
    ours, theirs = pty.openpty()
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(REPOSITORY),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
        "COLUMNS": "100",
        "LINES": "24",
        **env,
    }
    command = [sys.executable, "-m", "mqctl", *map(str, words)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=settings, cwd=home)
    os.close(theirs)
    seen = b""
    waiting = dict(keys)
    try:
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end was closed: the process has ended
                break
            if not part:
                break
            seen += part
            for text in [text for text in waiting if text.encode() in seen]:
                os.write(ours, waiting.pop(text))
    finally:
        os.close(ours)
    _, errors = process.communicate(timeout=60)
    return Seen(process.returncode, (seen + errors).decode())
