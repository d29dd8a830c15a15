"""A real terminal of any size for programs that draw on all of it: a server of tmux, of the test's own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.requires import need_program

_LIMIT_S = 90
_PATIENCE_S = 0.05


class Pane:
    """The terminal; its shell stays when the program has ended."""

    def __init__(self, server: Path) -> None:
        self._server = server

    def tmux(self, *words: str) -> str:
        """Runs tmux and returns what it prints."""
        command = ["tmux", "-S", str(self._server / "s"), "-f", "/dev/null", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=_LIMIT_S).stdout

    def text(self) -> str:
        """Returns what stands there now."""
        return self.tmux("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        """Types keys, by tmux's names."""
        self.tmux("send-keys", *keys)

    def see(self, *texts: str, without: str = "\0") -> str:
        """Waits until all of these stand there, and `without` does not; returns the whole screen."""
        return self.wait(lambda shown: all(text in shown for text in texts) and without not in shown, texts)

    def wait(self, holds: Callable[[str], bool], wanted: object) -> str:
        """Waits until a condition on the whole screen holds."""
        until = time.monotonic() + _LIMIT_S
        while not holds(shown := self.text()):
            assert time.monotonic() < until, f"{wanted} never came; there is:\n{shown}"
            time.sleep(_PATIENCE_S)
        return shown


@contextmanager
def pane(words: tuple[str, ...], env: Mapping[str, str], home: Path, *, columns: int, rows: int) -> Iterator[Pane]:
    """Runs mqctl in a terminal of that size."""
    need_program("tmux")
    settings = {
        "PATH": os.environ["PATH"],
        "TERM": "screen-256color",
        "HOME": str(home),
        "PYTHONPATH": str(REPOSITORY),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        **env,
    }
    environment = shlex.join(f"{name}={value}" for name, value in settings.items())
    command = f"env -i {environment} {shlex.quote(sys.executable)} -m mqctl {shlex.join(words)}"
    with tempfile.TemporaryDirectory(prefix="mq") as server:  # pytest's own directories are too long for a socket
        shown = Pane(Path(server))
        size = ("-x", str(columns), "-y", str(rows))
        shown.tmux("new-session", "-d", *size, f"{command}; echo ended with $?; exec sleep 600")
        try:
            shown.tmux("set-option", "-g", "set-clipboard", "on")
            yield shown
        finally:
            shown.tmux("kill-server")
