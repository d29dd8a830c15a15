"""How inputs are made, what counts as a failure, and how many were tried.

Hypothesis makes, shrinks and repeats them; a seed of the corpus is edited a few times, blindly or with words of the
format. Allowed are the named errors of `mqctl.errors`; anything else is a failure, and so is an input that takes too
much processor time or memory.
"""

from __future__ import annotations

import signal
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from time import process_time

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from mqctl.errors import MqctlError

SECONDS_PER_INPUT = 5.0
MEMORY_PER_INPUT_BYTES = 256 << 20
_MEMORY_EVERY = 25
_LONGEST_INPUT = 1 << 17
_BATCH = 400
_SHOWN_BYTES = 600
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62, (1 << 64) - 1)


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
    """

    name: str
    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], object]
    words: tuple[bytes, ...] = ()
    weight: float = 1.0

    @cached_property
    def inputs(self) -> st.SearchStrategy[bytes]:
        return edited(tuple(self.seeds()) or (b"",), self.words)


@dataclass
class Tally:
    """What a target went through.

    Attributes:
        inputs: how many were tried.
        refused: how many of them ended in a named error.
        slowest_ms: processor time of the slowest one.
        failures: what went wrong, each with the input that shows it.
    """

    inputs: int = 0
    refused: int = 0
    slowest_ms: float = 0.0
    failures: list[str] = field(default_factory=list)


def edited(seeds: Sequence[bytes], words: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Seeds with up to eight edits: bits, numbers, words, cuts, repeats, zeros, and pieces of other seeds."""
    chosen = st.integers(0, len(seeds) - 1)
    edits = st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, (1 << 20) - 1), st.integers(0, (1 << 16) - 1), chosen), max_size=8
    )
    return st.builds(lambda number, steps: _applied(seeds, words, number, steps), chosen, edits)


def _applied(
    seeds: Sequence[bytes], words: Sequence[bytes], number: int, steps: Sequence[tuple[int, int, int, int]]
) -> bytes:
    data = bytearray(seeds[number])
    for kind, place, value, other in steps:
        at = place * (len(data) + 1) >> 20
        if kind == 0 and at < len(data):
            data[at] ^= 1 << (value & 7)
        elif kind == 1 and at < len(data):
            data[at] = value & 0xFF
        elif kind == 2:
            width = 1 << (value & 3)
            number_ = _NUMBERS[(value >> 2) % len(_NUMBERS)] + (value >> 12) - 1
            data[at : at + width] = (number_ & (1 << 8 * width) - 1).to_bytes(width, "big")
        elif kind == 3 and words:
            word = words[(value >> 1) % len(words)]
            data[at : at + (len(word) if value & 1 else 0)] = word
        elif kind == 4:
            del data[at : at + (value & 0xFF if value & 0x100 else value)]
        elif kind == 5:
            piece = data[at : at + (value & 0xFF)]
            data[at:at] = piece * (1 + (value >> 10))
        elif kind == 6:
            size = value & 0x3FF
            data[at : at + size] = bytes(min(size, len(data) - at))
        elif kind == 7:
            source = seeds[other]
            start = value * len(source) >> 16
            data[at:at] = source[start : start + 64]
    return bytes(data[:_LONGEST_INPUT])


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


def attempt(target: Target, data: bytes, tally: Tally) -> None:
    """Has `target` read one input. Raises what is no named error."""
    tally.inputs += 1
    measured = tally.inputs % _MEMORY_EVERY == 0
    if measured:
        tracemalloc.start()
    begin = process_time()
    try:
        with within(SECONDS_PER_INPUT):
            target.read(data)
    except MqctlError as error:
        tally.refused += 1
        assert error.problem, "an error has to say what was tried"
    finally:
        tally.slowest_ms = max(tally.slowest_ms, (process_time() - begin) * 1000)
        peak = tracemalloc.get_traced_memory()[1] if measured else 0
        if measured:
            tracemalloc.stop()
    if peak > MEMORY_PER_INPUT_BYTES:
        raise TooLarge(f"{peak >> 20} MiB for {len(data)} bytes")


def run(target: Target, *, inputs: int, seed_number: int, tally: Tally | None = None) -> Tally:
    """Tries `inputs` inputs, the same ones for the same seed; the first failure ends it, shrunk.

    Args:
        tally: counts of earlier runs to add to.
    """
    tally = tally or Tally()

    @seed(seed_number)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def one(data: bytes) -> None:
        try:
            attempt(target, data, tally)
        except Exception as error:
            shown = data[:_SHOWN_BYTES]
            error.add_note(f"target {target.name}, input of {len(data)} bytes: {shown!r}")
            raise

    try:
        one()
    except (Flaky, Exception) as error:  # noqa: BLE001 - whatever escapes a reader is the finding
        tally.failures.append(_told(error))
    return tally


def _told(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(error))[-6_000:]


def batch_of(target: Target) -> int:
    """How many inputs a target gets before it is another's turn."""
    return max(1, int(_BATCH * target.weight))
