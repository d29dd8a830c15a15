"""A client that nobody here wrote, in a process of its own, driven line by line."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from types import TracebackType
from typing import Any, Self

_SECONDS = 90.0


class ClientError(AssertionError):
    """The client failed at a command, or ended."""


class Driver:
    """One client process: commands in, answers and events out, every wait with a deadline."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path) -> None:
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            command, cwd=cwd, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        self._lines: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self.messages: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._next(lambda event: event["event"] == "ready")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._lines.put(json.loads(line))
        self._lines.put(None)

    def _next(self, wanted: Any) -> dict[str, Any]:
        end = monotonic() + _SECONDS
        while True:
            try:
                event = self._lines.get(timeout=max(0.0, end - monotonic()))
            except Empty:
                raise ClientError(f"nothing within {_SECONDS} s; got {self.messages}; see {self._log.name}") from None
            if event is None:
                raise ClientError(f"the client ended with {self._process.wait()}; see {self._log.name}")
            if event["event"] == "failed":
                raise ClientError(f"{event['do']}: {event['text']}")
            if event["event"] == "message":
                self.messages.append(event)
            if wanted(event):
                return event

    def do(self, verb: str, **words: object) -> Any:
        """Gives a command and returns its result."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": verb, **words}) + "\n")
        self._process.stdin.flush()
        return self._next(lambda event: event["event"] == "done" and event["do"] == verb).get("result")

    def received(self, count: int) -> list[dict[str, Any]]:
        """Waits until so many messages have come in all, and returns them."""
        while len(self.messages) < count:
            self._next(lambda event: event["event"] == "message")
        return self.messages

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()
