"""Clients in processes of their own that take commands and report events as lines of JSON."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self

_SECONDS = 60
_STOP_SECONDS = 60
_GLANCE_SECONDS = 0.02
_UNASKED = frozenset({"assigned", "message", "checked", "unanswered"})
"""Events that come by themselves, between a command and what answers it."""

Event = dict[str, Any]


class ClientFailed(AssertionError):
    """A client reported an error, ended early, or did not report what was waited for."""


class Client:
    """One client process.

    Attributes:
        name: for messages about it.
        events: everything it has reported, in order.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        settings: Mapping[str, Any],
        directory: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.events: list[Event] = []
        self._passed: list[Event] = []
        self._log = directory / f"{name}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, json.dumps(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=directory,
                env={**_environment(directory), **(environment or {})},
            )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(_STOP_SECONDS)
        self._reader.join(_STOP_SECONDS)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def tell(self, do: str, **values: object) -> None:
        """Gives a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **values}).encode() + b"\n")
        self._process.stdin.flush()

    def ask(self, do: str, **values: object) -> Event:
        """Gives a command and returns the event that answers it."""
        self.tell(do, **values)
        return self._next(f"an answer to {do}", lambda event: event["event"] not in _UNASKED)

    def wait(self, kind: str, wanted: Callable[[Event], bool] = lambda event: True) -> Event:
        """Returns the next event of a kind for which `wanted` holds, also one that came while another was waited for.

        A consumer may report its first message before it reports that it is ready.
        """

        def fits(event: Event) -> bool:
            return bool(event["event"] == kind and wanted(event))

        for number, event in enumerate(self._passed):
            if fits(event):
                return self._passed.pop(number)
        return self._next(kind, fits)

    def messages(self, count: int) -> list[Event]:
        """Returns its first messages, waiting until there are so many."""
        while len(heard := self.of("message")) < count:
            self.wait("message")
        return heard

    def of(self, kind: str) -> list[Event]:
        """Returns the events of a kind that have been waited for or passed over so far."""
        return [event for event in self.events if event["event"] == kind]

    def stop(self) -> None:
        """Has the client shut down as its users would, and requires that it ends well."""
        self.tell("stop")
        self.wait("stopped")
        if self._process.wait(_STOP_SECONDS) != 0:
            raise ClientFailed(f"{self.name} ended with {self._process.returncode}: {self._tail()}")

    def read(self, seconds: float) -> Event | None:
        """Returns its next event, or None if there is none within so long."""
        try:
            line = self._lines.get(timeout=max(0.001, seconds))
        except queue.Empty:
            return None
        if not line:
            raise ClientFailed(f"{self.name} ended after {self.events[-2:]}: {self._tail()}")
        event: Event = json.loads(line)
        self.events.append(event)
        if event["event"] == "error":
            raise ClientFailed(f"{self.name}: {event['reason']}")
        return event

    def _next(self, what: str, wanted: Callable[[Event], bool]) -> Event:
        deadline = monotonic() + _SECONDS
        while (event := self.read(deadline - monotonic())) is not None:
            if wanted(event):
                return event
            self._passed.append(event)
        raise ClientFailed(f"{self.name} did not report {what}; it reported {self.events[-5:]}; {self._tail()}")

    def _tail(self) -> str:
        return self._log.read_text(errors="replace")[-2000:]


def collect(clients: Sequence[Client], enough: Callable[[], bool]) -> None:
    """Reads what several clients report until it is enough."""
    deadline = monotonic() + _SECONDS
    while not enough():
        if monotonic() > deadline:
            raise ClientFailed("; ".join(f"{client.name} reported {client.events[-5:]}" for client in clients))
        for client in clients:
            client.read(_GLANCE_SECONDS)


def _environment(home: Path) -> dict[str, str]:
    """Returns a small environment: no proxies, a home of its own for what clients log there."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
