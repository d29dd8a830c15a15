"""The processes of a bench: started with their input held open, read line by line, ended by closing it."""

from __future__ import annotations

import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

import msgspec

from mqctl.bench.task import BenchTask, EndTold, SecondTold, Told
from mqctl.errors import DeadlineError, StorageError, UnreachableError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import encoded, sentence

_READY_S = 60.0
_READ_BYTES = 1 << 16


@dataclass
class CrewMember:
    """One process, and what it has told."""

    process: subprocess.Popen[bytes]
    seconds: list[SecondTold] = field(default_factory=list)
    end: EndTold | None = None
    is_ready: bool = False
    trouble: str = ""
    rest: bytes = b""

    def hear(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            report = msgspec.json.decode(line, type=Told)
            self.is_ready |= report.is_ready
            self.trouble = report.trouble or self.trouble
            self.end = report.end or self.end
            if report.second is not None:
                self.seconds.append(report.second)


class Crew:
    """The processes of one run."""

    def __init__(self, members: list[CrewMember], selector: selectors.BaseSelector) -> None:
        self.members = members
        self._selector = selector
        self._open = len(members)

    def wait_ready(self) -> None:
        """Waits until all are connected.

        Raises:
            UnreachableError: one of them could not connect.
            DeadlineError: one of them says nothing.
        """
        limit = time.monotonic() + _READY_S
        while not all(member.is_ready for member in self.members):
            self._hear(1.0)
            for member in self.members:
                if member.trouble or (member.process.poll() is not None and not member.is_ready):
                    raise UnreachableError(
                        sentence("bench-could-not-begin", "the bench could not begin"),
                        reason=member.trouble or sentence("bench-process-ended", "a process ended"),
                    )
            if time.monotonic() > limit:
                raise DeadlineError(
                    sentence("bench-could-not-begin", "the bench could not begin"),
                    reason=sentence(
                        "bench-process-not-ready",
                        "a process was not ready in {limit_ms}",
                        limit_ms=round(_READY_S * 1000),
                    ),
                )

    def begin(self) -> None:
        """Lets all of them send."""
        for member in self.members:
            _write(member.process, b"go\n")

    def stop(self) -> None:
        """Ends their input: they wait for what is under way, tell the end and go."""
        for member in self.members:
            stream = member.process.stdin
            if stream is not None and not stream.closed:
                try:
                    stream.close()
                except OSError:
                    continue  # it is gone already

    def wait(self, heard: Callable[[], None]) -> None:
        """Reads until all have ended; `heard` is called after each line and at least twice a second."""
        while self._open:
            self._hear(0.5)
            heard()

    def _hear(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            member: CrewMember = key.data
            stream = member.process.stdout
            assert stream is not None
            data = stream.read1(_READ_BYTES)  # type: ignore[attr-defined]
            if data:
                member.hear(data)
            else:
                self._selector.unregister(stream)
                self._open -= 1


@contextmanager
def crew(tasks: Sequence[BenchTask]) -> Iterator[Crew]:
    """Starts a process for each task; none of them outlives the context.

    Raises:
        StorageError: a process cannot be started.
    """
    members: list[CrewMember] = []
    selector = selectors.DefaultSelector()
    try:
        for task in tasks:
            members.append(CrewMember(_started(task)))
            selector.register(members[-1].process.stdout or sys.stdin, selectors.EVENT_READ, members[-1])
        yield Crew(members, selector)
    finally:
        selector.close()
        for member in members:
            _end(member.process)


def _started(task: BenchTask) -> subprocess.Popen[bytes]:
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "mqctl.bench.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    except OSError as error:
        raise StorageError(
            sentence("bench-could-not-start-process", "could not start a process of the bench"), reason=str(error)
        ) from error
    _write(process, msgspec.json.encode(task, enc_hook=encoded) + b"\n")
    return process


def _write(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(line)
        process.stdin.flush()
    except BrokenPipeError:
        return  # what it said before tells why


def _end(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None and not stream.closed:
            try:
                stream.close()
            except OSError:
                continue
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
