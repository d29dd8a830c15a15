"""Dumps of one process put together: pools of consume threads first, equal stacks as one, the rest folded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mqctl.model.dump import StackDump, StackFrame
from mqctl.stacks.names import Role
from mqctl.stacks.rules import ClassRule


class Motion(StrEnum):
    """What several dumps together say of a thread.

    Attributes:
        STUCK: stands at the same place in all dumps and used no CPU.
        SLOW: works on something, but the innermost calls change.
        BUSY: used CPU for a good part of the time between dumps.
        IDLE: waits for work in all of them.
        UNKNOWN: a single dump, or the thread is not in the others.
    """

    STUCK = "stuck"
    SLOW = "slow"
    BUSY = "busy"
    IDLE = "idle"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackGroup:
    """Threads that do the same: equal stacks after normalising lambdas, proxies and ids.

    Attributes:
        role, group: consume threads of a consumer group, or others.
        cls, rule: what they do, and by which rule.
        names: of the threads, in the dump's order.
        line: the line of application code that they stand on.
        frames: the stack of one of them, in the newest dump.
        motions: how many threads moved how.
        cpu_share: mean share of one CPU that each used between the dumps; None when not known.
        owner: thread that holds the lock they wait for; root: the last in the chain of owners.
    """

    role: Role
    group: str | None
    cls: str
    rule: str
    names: tuple[str, ...]
    line: StackFrame | None
    frames: tuple[StackFrame, ...]
    motions: dict[Motion, int]
    cpu_share: float | None = None
    owner: str | None = None
    root: str | None = None

    @property
    def count(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackReport:
    """One process, from one or several dumps of it.

    Attributes:
        dump_count: how many dumps; the newest one is what `groups` shows.
        span_ms: between the first and the last; None when not known.
        groups: consume threads first, the largest group first.
        deadlocks: circles of thread names, proven by the JVM.
        suspected: circles that were put together from locks, or threads that never move; not proven.
        notes: what could not be read.
    """

    source: str
    dump_count: int
    span_ms: int | None
    thread_count: int
    groups: tuple[StackGroup, ...]
    deadlocks: tuple[tuple[str, ...], ...] = ()
    suspected: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    truncated: bool = False


def group(dumps: Sequence[StackDump], rules: Sequence[ClassRule] | None = None) -> StackReport:
    """Returns what the threads of one process do; `dumps` are of this one process, oldest first.

    Raises:
        ValueError: `dumps` is empty.
    """
    raise NotImplementedError
