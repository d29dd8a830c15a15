"""Long work in slices: between two of them the loop serves others.

A real broker has a thread pool for administration; here everything runs on one loop, so what takes longer than a moment
is a generator that pauses after every small step. One such piece of work runs at a time, which bounds what all of them
hold in memory; the others wait in the order they came.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Generator
from time import monotonic
from typing import TYPE_CHECKING

from embedded_broker.remoting.handler_table import Call
from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import MqctlError
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand

if TYPE_CHECKING:
    from embedded_broker.remoting.server import ServerConnection

SLICE_SECONDS = 0.008
"""Longer than a thread waits before it asks for the interpreter (`sys.getswitchinterval`, 5 ms).

With shorter slices a client in this process starves: whenever the loop polls it lets the interpreter go for an instant,
which begins the wait of the others anew, and takes it back before one of them woke up.
"""
_MOST_WAITING = 1_000

Steps = Generator[None, None, RemotingCommand | None]


class Slices:
    """The long work of one broker."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Call, Steps]] = deque()
        self._waits_for: Counter[ServerConnection] = Counter()
        self._running = False

    def answer(self, call: Call, steps: Steps) -> None:
        """Answers a request with what `steps` return in the end, or with what their errors become.

        They return None when the answer was given, or comes later.

        Raises:
            Refusal: too many wait already.
        """
        if len(self._waiting) >= _MOST_WAITING:
            raise Refusal(ResponseCode.SYSTEM_BUSY, f"{len(self._waiting)} long requests wait already")
        self._waiting.append((call, steps))
        self._waits_for[call.connection] += 1
        if not self._running:
            self._running = True
            self._turn()

    def waits_for(self, connection: ServerConnection) -> bool:
        """Whether a request of this connection waits: what follows it must not overtake it."""
        return bool(self._waits_for and self._waits_for[connection])

    def _turn(self) -> None:
        end = monotonic() + SLICE_SECONDS
        while self._waiting and monotonic() < end:
            call, steps = self._waiting[0]
            if call.connection.closed or self._has_ended(call, steps, end):
                self._waiting.popleft()
                self._waits_for[call.connection] -= 1
                steps.close()
        if not self._waiting:
            self._waits_for.clear()
        self._running = bool(self._waiting)
        if self._running:
            asyncio.get_running_loop().call_soon(self._turn)

    @staticmethod
    def _has_ended(call: Call, steps: Steps, end: float) -> bool:
        """Goes on with one piece of work until it or the slice ends; answers what has ended."""
        try:
            while monotonic() < end:
                next(steps)
        except StopIteration as done:
            if done.value is not None:
                call.respond(done.value)
            return True
        except (Refusal, MqctlError) as error:
            call.resume(lambda error=error: _raise(error))  # type: ignore[misc]
            return True
        return False

    def stop(self) -> None:
        """Forgets what waits; the connections are about to be closed."""
        self._waiting.clear()
        self._waits_for.clear()


def at_once(steps: Steps) -> RemotingCommand | None:
    """Returns what short work ends with, without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            answer: RemotingCommand | None = done.value
            return answer


def _raise(error: Exception) -> RemotingCommand:
    raise error
