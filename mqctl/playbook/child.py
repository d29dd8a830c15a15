"""One command of mqctl as a child process: what it says as it says it, its JSON document, and an end in any case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic
from typing import IO

import msgspec

from mqctl.errors import StorageError
from mqctl.model.command_line import shell_words
from mqctl.store.own_files import write_whole
from mqctl.text import sentence

TEE_VARIABLE = "MQCTL_TEE_JSON"
PLAN_VARIABLE = "MQCTL_PLAN_FILE"
_GRACE_S = 10.0
_KEPT_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What became of a command.

    Attributes:
        exit_code: None when it was ended for its time.
        document: its JSON document, whatever format people saw; None when it wrote none.
        plan: of a change that it showed, for the command that carries it out; None when it showed none.
    """

    exit_code: int | None
    took_ms: int
    stdout: str
    stderr: str
    document: object
    plan: bytes | None = None


def run_child(
    words: Sequence[str],
    *,
    timeout_ms: int,
    environment: Mapping[str, str],
    heard: Callable[[str], None],
    plan: bytes | None = None,
    asks: bool = False,
) -> Spoken:
    """Runs `python -m mqctl` with `words` and waits for its end.

    A command that is out of time, or interrupted, is asked to end as Ctrl-C would, so that it can say in its journal
    what it did; one that does not is killed with all that it started.

    Args:
        heard: told of each line of stdout and stderr as it comes.
        plan: what an earlier command showed: this one does that, or refuses.
        asks: it reads answers from where this process reads.

    Raises:
        StorageError: it could not be started.
    """
    began = monotonic()
    with TemporaryDirectory(prefix="mqctl-playbook-") as directory:
        tee = Path(directory) / "document.json"
        shown = Path(directory) / "plan.json"
        if plan is not None:
            write_whole(shown, plan, durable=False)
        # What asks has its steps confirmed by people, not by a plan that was shown before.
        variables = {TEE_VARIABLE: str(tee)} if asks else {TEE_VARIABLE: str(tee), PLAN_VARIABLE: str(shown)}
        process = _started(words, {**environment, **variables}, stdin=None if asks else subprocess.DEVNULL)
        readers = [_Reader(stream, heard) for stream in (process.stdout, process.stderr) if stream is not None]
        try:
            code: int | None = process.wait(timeout_ms / 1000)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
        texts = [reader.text() for reader in readers]
        took_ms = round((monotonic() - began) * 1000)
        return Spoken(
            exit_code=code,
            took_ms=took_ms,
            stdout=texts[0],
            stderr=texts[1],
            document=_document(tee),
            plan=shown.read_bytes() if shown.is_file() else None,
        )


def _started(words: Sequence[str], environment: Mapping[str, str], *, stdin: int | None) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "mqctl", *words],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"},
            text=True,
            encoding="utf-8",
            errors="backslashreplace",
            start_new_session=True,
        )
    except OSError as error:
        raise StorageError(
            sentence("playbook-could-not-run", "could not run {value}", value=shell_words(["mqctl", *words])),
            reason=str(error),
        ) from error


class _Reader:
    """Takes the lines of a stream on a thread of its own; what is very long is kept in part."""

    def __init__(self, stream: IO[str], heard: Callable[[str], None]) -> None:
        self._stream = stream
        self._heard = heard
        self._lines: list[str] = []
        self._left = _KEPT_CHARACTERS
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            for line in self._stream:
                self._heard(line.rstrip("\n"))
                if self._left > 0:
                    self._lines.append(line)
                    self._left -= len(line)

    def text(self) -> str:
        self._thread.join(_GRACE_S)
        return "".join(self._lines) + ("" if self._left > 0 else "... (cut)\n")


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    _signal(process, signal.SIGINT)
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[str], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


def _document(tee: Path) -> object:
    try:
        return msgspec.json.decode(tee.read_bytes())
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return None
