"""What several dumps of one process say of each thread: stuck, slow, busy or idle."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from mqctl.model.dump import StackDump, StackThread, ThreadState
from mqctl.model.lazy_dataclass import dataclass
from mqctl.stacks.rules import StackClass

BUSY_SHARE = 0.3
"""Share of one CPU from which a thread counts as busy: below, what it waits for matters more."""
WORKING_SHARE = 0.02
"""Share of one CPU that nobody uses by waiting; fifty threads under one interpreter lock have it each."""
STILL_CPU_MS = 0.5
"""CPU time between two dumps up to which a thread did nothing: a wake-up that found nothing to do costs less."""


class Motion(StrEnum):
    """What several dumps together say of a thread.

    Attributes:
        STUCK: stands at the same place in all dumps and used no CPU.
        SLOW: works on something: the innermost calls change, or it used a little CPU in between.
        BUSY: used CPU for a good part of the time between dumps.
        IDLE: waits for work in all of them.
        UNKNOWN: a single dump, or the thread is not in the others.
    """

    STUCK = "stuck"
    SLOW = "slow"
    BUSY = "busy"
    IDLE = "idle"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Moved:
    """How one thread moved, and the share of one CPU that it used; None when not known."""

    motion: Motion
    cpu_share: float | None = None


_Key = tuple[str, int | None]


def key_of(thread: StackThread) -> _Key:
    """Returns what a thread is known by in all dumps of its process."""
    return (thread.name, thread.native_id if thread.native_id is not None else thread.id)


def span_ms(dumps: Sequence[StackDump]) -> int | None:
    """Returns the time between the first and the last dump; None when not known, or none passed."""
    first, last = dumps[0].taken_at_ms, dumps[-1].taken_at_ms
    return last - first if first is not None and last is not None and last > first else None


class Movements:
    """All threads of all dumps, to be asked thread by thread.

    Args:
        dumps: of one process, oldest first.
    """

    def __init__(self, dumps: Sequence[StackDump]) -> None:
        self._earlier = [{key_of(thread): thread for thread in dump.threads} for dump in dumps[:-1]]
        self._span_ms = span_ms(dumps)

    def of(self, thread: StackThread, cls: str) -> Moved:
        """Returns how a thread of the newest dump, whose class there is `cls`, moved."""
        key = key_of(thread)
        looks = [look[key] for look in self._earlier if key in look]
        if not looks or len(looks) < len(self._earlier):
            return Moved(Motion.UNKNOWN)
        used_ms = _used_ms(looks[0], thread)
        share = used_ms / self._span_ms if used_ms is not None and self._span_ms else None
        if share is not None and share >= BUSY_SHARE:
            return Moved(Motion.BUSY, share)
        still = all(_stands(earlier, thread) for earlier in looks)
        if cls == StackClass.IDLE:
            return Moved(Motion.IDLE if still else Motion.SLOW, share)
        if not still:
            busy = share is None and cls == StackClass.CPU and all(map(_runs, looks))
            return Moved(Motion.BUSY if busy else Motion.SLOW, share)
        if used_ms is None:
            busy = cls == StackClass.CPU and _runs(thread) and all(map(_runs, looks))
            return Moved(Motion.BUSY if busy else Motion.STUCK, share)
        return Moved(Motion.STUCK if used_ms <= STILL_CPU_MS else Motion.SLOW, share)


def _runs(thread: StackThread) -> bool:
    return thread.state is ThreadState.RUNNABLE


def _used_ms(before: StackThread, after: StackThread) -> float | None:
    if before.cpu_ms is None or after.cpu_ms is None:
        return None
    return max(0.0, after.cpu_ms - before.cpu_ms)


def _stands(before: StackThread, after: StackThread) -> bool:
    """Tells whether two stacks are the same, call by call and line by line."""
    if before.frames is after.frames:
        return True
    if len(before.frames) != len(after.frames):
        return False
    return all(
        one.line == other.line and one.function == other.function and one.module == other.module
        for one, other in zip(before.frames, after.frames, strict=True)
    )
