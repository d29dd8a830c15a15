"""Runs a command, or one send in a broker, and writes which functions of ours ran. A process of its own:

    python -P tracing.py RESULT client mqctl WORDS...
    python -P tracing.py RESULT broker DIRECTORY

Ours is what lies in the packages mqctl and embedded_broker on PYTHONPATH. Bodies of modules and classes do not count,
nor does what an import calls: that is start-up. A comprehension or generator expression belongs to its function.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from itertools import count, pairwise
from pathlib import Path
from types import CodeType, FrameType

_OPTIMIZED = 1  # bodies of functions are, those of modules and classes are not
_PARTS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
_SENDS, _QUIET_SECONDS, _SEND = 5, 0.05, 310


class _Kind(Enum):
    MODULE = auto()
    FUNCTION = auto()
    OTHER = auto()


class Calls:
    """The calls of our functions, in order, by thread."""

    def __init__(self) -> None:
        self.by_thread: dict[int, list[CodeType]] = {}
        here = Path(os.environ["PYTHONPATH"]).resolve()
        self._roots = tuple(f"{here / package}{os.sep}" for package in ("mqctl", "embedded_broker"))
        self._kinds: dict[CodeType, _Kind] = {}
        self._importing = 0

    def install(self) -> None:
        """Counts from here on, in this thread and in those that begin later."""
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def clear(self) -> None:
        """Forgets the calls so far."""
        self.by_thread = {}

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call":
            kind = self._kinds.get(code)
            if kind is None:
                kind = self._kinds[code] = self._kind(code)
            if kind is _Kind.MODULE:
                self._importing += frame.f_globals.get("__name__") != "__main__"
            elif kind is _Kind.FUNCTION and not self._importing:
                self.by_thread.setdefault(threading.get_ident(), []).append(code)
        elif event == "return" and self._kinds.get(code) is _Kind.MODULE:
            self._importing -= frame.f_globals.get("__name__") != "__main__"

    def _kind(self, code: CodeType) -> _Kind:
        if code.co_name == "<module>":
            return _Kind.MODULE
        ours = code.co_filename.startswith(self._roots)
        return _Kind.FUNCTION if ours and code.co_flags & _OPTIMIZED and code.co_name not in _PARTS else _Kind.OTHER

    def summary(self) -> dict[str, int]:
        """Returns the numbers of all threads; a hop is a call in another file than the thread's call before it.

        Raises:
            RuntimeError: no function of ours ran: the packages came from elsewhere.
        """
        threads = self.by_thread.values()
        codes = [code for calls in threads for code in calls]
        if not codes:
            raise RuntimeError(f"no function of {' or '.join(self._roots)} ran")
        return {
            "files": len({code.co_filename for code in codes}),
            "functions": len({(code.co_filename, code.co_firstlineno, code.co_qualname) for code in codes}),
            "calls": len(codes),
            "file hops": sum(
                one.co_filename != other.co_filename for calls in threads for one, other in pairwise(calls)
            ),
        }

    def total(self) -> int:
        """Returns how many calls there were."""
        return sum(map(len, self.by_thread.values()))


def _frame(opaque: int, topic: str, queue_id: int) -> bytes:
    values = ("measures", topic, "TBW102", 4, queue_id, 0, round(time.time() * 1000), 0, "", 0, "false", 0, "false")
    fields = {name: str(value) for name, value in zip("abcdefghijklm", values, strict=True)}
    head = {"code": _SEND, "language": "JAVA", "version": 401, "opaque": opaque, "flag": 0, "extFields": fields}
    header = json.dumps(head).encode()
    body = b"one message"
    return struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header + body


@contextmanager
def sender(address: str) -> Iterator[Callable[[str, int], None]]:
    """Gives a function that sends one message to a queue of the broker at `address` and waits for the answer.

    It writes the bytes itself (SEND_MESSAGE_V2 with a JSON header), so that it works for any state of the packages.
    """
    host, _, port = address.rpartition(":")
    opaques = count(1)
    with socket.create_connection((host, int(port)), timeout=10) as link, link.makefile("rb") as answers:

        def send(topic: str, queue_id: int) -> None:
            link.sendall(_frame(next(opaques), topic, queue_id))
            (length,) = struct.unpack(">i", answers.read(4))
            answer = answers.read(length)
            header = json.loads(answer[4 : 4 + int.from_bytes(answer[1:4], "big")])
            if header["code"] != 0:
                raise RuntimeError(f"the broker refused a message: {header}")

        yield send


def _drive(calls: Calls, ready: int, summaries: list[dict[str, int]]) -> None:
    """Sends messages to the broker of this process; the first makes the topic."""
    try:
        with os.fdopen(ready) as lines:
            address = json.loads(lines.readline())["brokers"][0]["address"]
        with sender(address) as send:
            for number in range(1 + _SENDS):
                _until_quiet(calls)
                calls.clear()
                send("measures", 0)
                _until_quiet(calls)
                if number:
                    summaries.append(calls.summary())
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _until_quiet(calls: Calls) -> None:
    before = -1
    while before != (before := calls.total()):
        time.sleep(_QUIET_SECONDS)


def _client(module: str, words: list[str]) -> dict[str, int]:
    calls = Calls()
    sys.argv = [module, *words]
    calls.install()
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return calls.summary()


def _broker(directory: str) -> dict[str, int]:
    """Returns the numbers of the send with the fewest calls: the others met a timer of the broker."""
    calls = Calls()
    reading, writing = os.pipe()
    os.dup2(writing, 1)
    summaries: list[dict[str, int]] = []
    driver = threading.Thread(target=_drive, args=(calls, reading, summaries), daemon=True)
    driver.start()
    sys.argv = ["embedded_broker", "--brokers", "1", "--data-dir", directory]
    calls.install()
    try:
        runpy.run_module("embedded_broker", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    driver.join()
    return min(summaries, key=lambda summary: summary["calls"])


if __name__ == "__main__":
    result, kind, *rest = sys.argv[1:]
    numbers = _broker(rest[0]) if kind == "broker" else _client(rest[0], rest[1:])
    Path(result).write_text(json.dumps(numbers), encoding="utf-8")
