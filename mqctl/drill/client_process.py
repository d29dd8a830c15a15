"""One client of a drill as a process: ours, or any program that speaks `mqctl.drill.client_lines`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread

import msgspec

from mqctl.drill.client_lines import READY, STOP, DrillTask
from mqctl.errors import DeadlineError, StorageError
from mqctl.store.own_files import new_stream
from mqctl.text import encoded, sentence

OURS = (sys.executable, "-m", "mqctl.drill.client")
_READY_S = 90
_STOP_S = 20
Said = Callable[[bytes], None]


class ClientProcess:
    """A producer or a consumer.

    Args:
        words: the program and its arguments.
        said: told each whole line after `ready`, on a thread of its own.

    Attributes:
        log: what it says on its standard error.
    """

    def __init__(self, task: DrillTask, words: Sequence[str], said: Said) -> None:
        self.task = task
        self.log = Path(task.directory) / f"{task.name}.log"
        self._said = said
        self._ready = Event()
        try:
            with new_stream(self.log) as errors:
                self._process = subprocess.Popen(
                    words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
                )
        except OSError as error:
            raise StorageError(
                sentence("drill-could-not-start-client", "could not start the client {words}", words=words[0]),
                reason=error.strerror or str(error),
            ) from error
        self._reading = Thread(target=self._read, name=f"drill-{task.name}", daemon=True)
        self._reading.start()
        self._tell(msgspec.json.encode(task, enc_hook=encoded))

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        for line in stream:
            if line == READY + b"\n":
                self._ready.set()
            elif line.endswith(b"\n"):
                self._said(line[:-1])
        self._ready.set()

    def wait_until_ready(self) -> None:
        """Waits for its `ready`.

        Raises:
            StorageError: it ended instead.
            DeadlineError: it said nothing in time.
        """
        if not self._ready.wait(_READY_S):
            raise DeadlineError(
                sentence(
                    "not-ready-within",
                    "{task} was not ready within {limit_ms}",
                    task=self.task.name,
                    limit_ms=_READY_S * 1000,
                ),
                reason=self.last_words(),
            )
        if not self._reading.is_alive():
            raise StorageError(
                sentence("did-not-start", "{task} did not start", task=self.task.name), reason=self.last_words()
            )

    def last_words(self) -> str:
        """Returns the end of what it said on its standard error."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return "; ".join(line.strip() for line in lines[-3:]) or sentence("process-said-nothing", "it said nothing")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def order(self, words: str) -> None:
        """Gives an order; one that is gone takes none."""
        self._tell(words.encode())

    def _tell(self, line: bytes) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(line + b"\n")
            stream.flush()
        except OSError:
            return  # it is gone, which the conductor sees by itself

    def stop(self) -> None:
        """Asks it to leave, and kills it when it does not; all that it said has been taken then."""
        self.order(STOP)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._end()

    def kill(self) -> None:
        """Ends it as kill -9 does; all that it said has been taken then."""
        self._process.kill()
        self._end()

    def _end(self) -> None:
        self._process.wait()
        self._reading.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue
