"""What shells read from command lines that mqctl prints: the words that reach a program called mqctl."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

SHELLS = tuple(shell for shell in ("sh", "bash", "zsh") if shutil.which(shell))
_TELL = 'mqctl() { printf "%s\\0" "$#" "$@"; }'


def words_read(shell: str, lines: Sequence[str], directory: Path) -> list[list[str]]:
    """Returns the words behind `mqctl` of each line, as `shell` passes them on.

    Raises:
        AssertionError: a line did anything else, such as to write into `directory`.
    """
    before = sorted(directory.iterdir())
    script = "\n".join([_TELL, *lines]).encode()
    ran = subprocess.run([shell], input=script, capture_output=True, cwd=directory, check=False, timeout=120)
    assert ran.stderr == b""
    assert sorted(directory.iterdir()) == before
    parts = ran.stdout.decode().split("\0")
    assert parts.pop() == ""
    read = []
    while parts:
        count = int(parts.pop(0))
        read.append(parts[:count])
        del parts[:count]
    assert len(read) == len(lines)
    return read
