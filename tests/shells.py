"""A real shell on a terminal: a line is typed with Tab in it, and the command that runs in the end is written down.

`mqctl` on the shell's PATH is a script that answers the shell's questions with the real mqctl and writes every other
command line into a file. So nothing depends on how a shell draws.
"""

from __future__ import annotations

import os
import pty
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.requires import need_program

SHELLS = ("bash", "zsh", "fish")
_LIMIT_S = 60
# A shell of its own session takes the terminal as its own before it starts; fish insists.
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execvp(sys.argv[1], sys.argv[1:])"
)
_START = {
    "bash": ("bash", "--norc", "--noprofile", "-i"),
    "zsh": ("zsh", "-f", "-i"),
    "fish": ("fish", "--no-config", "-i"),
}


def _set_up(shell: str, home: Path) -> str:
    files = REPOSITORY / "completions"
    if shell == "zsh":
        return f"fpath=({shlex.quote(str(files))} $fpath); autoload -Uz compinit; compinit -u -d {home}/dump"
    name = "mqctl.bash" if shell == "bash" else "mqctl.fish"
    return f"source {shlex.quote(str(files / name))}"


def typed(shell: str, line: str, home: Path, env: Mapping[str, str] | None = None) -> list[str]:
    """Types `line`, in which a Tab stands for itself, and Enter; returns the words that mqctl was run with.

    Args:
        home: an empty directory of the test's own, that is the working directory as well.
        env: added to the environment of the shell.
    """
    need_program(shell)
    program = home / "bin" / "mqctl"
    program.parent.mkdir(exist_ok=True)
    written = home / "written"
    for left in (written, home / "ready"):
        left.unlink(missing_ok=True)
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = __complete ]; then exec {shlex.quote(sys.executable)} -m mqctl "$@"; fi\n'
        f'for word in "$@"; do printf "%s\\n" "$word"; done > {written}.new\nmv {written}.new {written}\n'
    )
    program.chmod(0o755)
    settings = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(REPOSITORY),
        "TERM": "vt100",
        "LC_ALL": "C.UTF-8",
        **(env or {}),
    }
    ours, theirs = pty.openpty()
    words = (sys.executable, "-c", _TAKE_TERMINAL, *_START[shell])
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=settings, cwd=home, start_new_session=True
    )
    os.close(theirs)
    try:
        os.write(ours, f"{_set_up(shell, home)}; touch ready\n".encode())
        _read_until(ours, home / "ready")
        os.write(ours, f"{line}\n".encode())
        _read_until(ours, written)
        return written.read_text().splitlines()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read_until(terminal: int, file: Path) -> None:
    """Takes what the shell draws until `file` is there."""
    end, seen = time.monotonic() + _LIMIT_S, b""
    while not file.exists():
        if time.monotonic() > end:
            raise AssertionError(f"{file.name} was not written; the shell showed {seen.decode(errors='replace')}")
        if select.select([terminal], [], [], 0.05)[0]:
            seen += os.read(terminal, 65536)
