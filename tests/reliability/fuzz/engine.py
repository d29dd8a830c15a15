"""What counts as a failure of a reader, how many inputs were tried, and how far they got.

Inputs are made by `mutation` of a corpus that grows by `coverage`; the same seed makes the same inputs as long as code
and corpus are the same. Allowed are the named errors of `mqctl.errors`; anything else is a failure, and so is an input
that takes too much processor time or memory. A failing input is shrunk before it is told.
"""

from __future__ import annotations

import resource
import signal
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from time import process_time

from mqctl.errors import MqctlError
from tests.reliability.fuzz.coverage import Guide, words_of
from tests.reliability.fuzz.mutation import edited, shrunk

SECONDS_PER_INPUT = 5.0
MEMORY_PER_INPUT_BYTES = 256 << 20
_MEMORY_EVERY = 25
_RESIDENT_SINCE_EVERY = 500
_UNEDITED_EVERY = 64
_BATCH = 400
_TRACE_COSTS = 4
_SHOWN_BYTES = 600


class TooSlow(Exception):
    """An input took more processor time than any may."""


class TooLarge(Exception):
    """An input took more memory than any may."""


@dataclass(frozen=True)
class Target:
    """One reader under fire.

    Attributes:
        name: what people call it on the command line.
        seeds: inputs to start from.
        read: takes an input; raises named errors only.
        words: tokens of the format, for edits that get past its first check.
        weight: share of the inputs it gets; slow targets have less.
        guided: whether its corpus grows; what reads in another thread cannot be traced.
    """

    name: str
    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], object]
    words: tuple[bytes, ...] = ()
    weight: float = 1.0
    guided: bool = True

    @cached_property
    def guide(self) -> Guide:
        return Guide(tuple(self.seeds()) or (b"",))


@dataclass
class Tally:
    """What a target went through.

    Attributes:
        inputs: how many were tried.
        refused: how many of them ended in a named error.
        seconds: processor time that all of it took.
        slowest_ms: processor time of the slowest one.
        failures: what went wrong, each with the input that shows it.
    """

    inputs: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest_ms: float = 0.0
    failures: list[str] = field(default_factory=list)


class _Resident:
    """The largest resident memory of the process since the last `reset`: it sees what C libraries take, too."""

    def __init__(self) -> None:
        self._base = 0

    def reset(self) -> None:
        with suppress(OSError):  # no Linux: the peak since the start
            Path("/proc/self/clear_refs").write_text("5")
        self._base = self._peak()

    def grown_bytes(self) -> int:
        return self._peak() - self._base

    @staticmethod
    def _peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


_resident = _Resident()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises TooSlow in the block once it has used so much processor time. Main thread only."""

    def stop(_signal: int, _frame: object) -> None:
        raise TooSlow(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def attempt(target: Target, data: bytes, tally: Tally) -> MqctlError | None:
    """Has `target` read one input; returns the named error it ended in. Raises what is none."""
    tally.inputs += 1
    refusal: MqctlError | None = None
    traced = 0
    measured = tally.inputs % _MEMORY_EVERY == 0
    if tally.inputs % _RESIDENT_SINCE_EVERY == 1:
        _resident.reset()
    if measured:
        tracemalloc.start()
    begin = process_time()
    try:
        with within(SECONDS_PER_INPUT):
            target.read(data)
    except MqctlError as error:
        tally.refused += 1
        assert error.problem, "an error has to say what was tried"
        refusal = error
    finally:
        tally.slowest_ms = max(tally.slowest_ms, (process_time() - begin) * 1000)
        if measured:
            traced = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    peak = max(traced, _resident.grown_bytes())
    if peak > MEMORY_PER_INPUT_BYTES // 2:
        _resident.reset()
    if peak > MEMORY_PER_INPUT_BYTES:
        raise TooLarge(f"{peak >> 20} MiB for {len(data)} bytes")
    return refusal


def run(target: Target, *, inputs: int, seed_number: int, tally: Tally | None = None) -> Tally:
    """Tries `inputs` inputs, the same ones for the same seed and corpus; the first failure ends it, shrunk.

    Args:
        tally: counts of earlier runs to add to.
    """
    tally = tally or Tally()
    random = Random(f"{target.name} {seed_number}")
    guide = target.guide
    began = process_time()

    def traced(data: bytes) -> None:
        with within(_TRACE_COSTS * SECONDS_PER_INPUT):
            target.read(data)

    if target.guided:
        guide.begin(traced, random)
    for number in range(inputs):
        data = guide.choose(random)
        if number % _UNEDITED_EVERY:
            data = edited(random, data, guide.seeds, target.words)
        try:
            ending = words_of(attempt(target, data, tally))
        except Exception as error:  # noqa: BLE001 - whatever escapes a reader is the finding
            tally.failures.append(_told(target, data, error))
            break
        if target.guided:
            guide.look(traced, data, ending)
    tally.seconds += process_time() - began
    return tally


def _told(target: Target, data: bytes, error: Exception) -> str:
    import traceback

    def fails(candidate: bytes) -> bool:
        nonlocal error
        try:
            attempt(target, candidate, Tally(inputs=_MEMORY_EVERY - 1))
        except type(error) as again:
            error = again
            return True
        except Exception:  # noqa: BLE001 - another failure than the one to show
            return False
        return False

    small = shrunk(data, fails)
    error.add_note(f"target {target.name}, input of {len(small)} bytes: {small[:_SHOWN_BYTES]!r}")
    return "".join(traceback.format_exception(error))[-6_000:]


def batch_of(target: Target) -> int:
    """How many inputs a target gets before it is another's turn."""
    return max(1, int(_BATCH * target.weight))
