"""The processes of a scenario: started with their input held open, so that they end when their starter is gone."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGINT, SIGTERM, raise_signal, signal
from threading import current_thread, main_thread
from time import monotonic

from mqctl.errors import DeadlineError, StorageError
from mqctl.store.own_files import new_stream
from mqctl.text import sentence

_READY_SECONDS = 60
_STOP_SECONDS = 10
_TOLD_LINES = 3


class Child:
    """One process.

    Attributes:
        log: file with what it said on stderr.
    """

    def __init__(self, name: str, module: str, words: Sequence[str], directory: Path) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        try:
            with new_stream(self.log, instead=True) as errors:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", module, *words],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
        except OSError as error:
            raise StorageError(
                sentence("local-could-not-start", "could not start {name}", name=name), reason=str(error)
            ) from error

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def first_line(self) -> bytes:
        """Returns the line by which it says that it is there.

        Raises:
            StorageError: it ended instead.
            DeadlineError: it said nothing in time.
        """
        stream = self._process.stdout
        assert stream is not None
        line = b""
        end = monotonic() + _READY_SECONDS
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([stream], [], [], max(0.0, end - monotonic()))
            if not readable:
                raise DeadlineError(
                    sentence(
                        "not-ready-within",
                        "{task} was not ready within {limit_ms}",
                        task=self.name,
                        limit_ms=_READY_SECONDS * 1000,
                    ),
                    reason=self._said(),
                )
            part = stream.readline()
            if not part:
                raise StorageError(
                    sentence("did-not-start", "{task} did not start", task=self.name), reason=self._said()
                )
            line += part
        return line

    def _said(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if lines:
            return "; ".join(line.strip() for line in lines[-_TOLD_LINES:])
        if self.alive:
            return sentence("process-said-nothing", "it said nothing")
        return sentence("local-process-ended-with", "its process ended with {code}", code=self._process.wait())

    def kill(self) -> None:
        """Ends it as kill -9 does, and waits for it."""
        self._process.kill()
        self._close()

    def end(self) -> None:
        """Ends it as a signal does; kills it when it does not listen."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._close()

    def _close(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


@contextmanager
def held_back() -> Iterator[None]:
    """Has Ctrl-C and SIGTERM wait until the end of the block: a process that is started in it is known to its starter.

    Signals interrupt the main thread only: in another one there is nothing to hold back.
    """
    if current_thread() is not main_thread():
        yield
        return
    arrived: list[int] = []
    before = {number: signal(number, lambda number, _: arrived.append(number)) for number in (SIGINT, SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal(number, handler)
    for caught in arrived:
        raise_signal(caught)
