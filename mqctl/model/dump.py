"""Threads of a process at one moment, as a tool dumped them. What the tool did not tell is None, never a guess.

Times are epoch milliseconds, CPU times milliseconds since the thread began.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass


class DumpTool(StrEnum):
    """What wrote a dump, which decides what it can prove.

    Attributes:
        JSTACK: `jstack [-l]`, `jcmd PID Thread.print [-l]`, `kill -3`: one layout.
        REMOTE: the text in a consumer's running information (request 307): names, states, frames; no locks.
        PY_SPY: `py-spy dump`, text or JSON: frames and active or idle; no locks.
    """

    JSTACK = "jstack"
    REMOTE = "remote"
    PY_SPY = "py-spy"


class ThreadState(StrEnum):
    """What a thread does, in Java's words; py-spy knows only RUNNABLE (active) and IDLE.

    Attributes:
        IDLE: does not run: it waits for something that the tool cannot tell.
        UNKNOWN: not told, or told in words that nobody here knows; `StackThread.state_text` has them.
    """

    NEW = "NEW"
    RUNNABLE = "RUNNABLE"
    BLOCKED = "BLOCKED"
    WAITING = "WAITING"
    TIMED_WAITING = "TIMED_WAITING"
    TERMINATED = "TERMINATED"
    IDLE = "IDLE"
    UNKNOWN = "UNKNOWN"


class LockUse(StrEnum):
    """What a thread does with a lock.

    Attributes:
        HOLDS: has it: a monitor it entered or a synchronizer it owns.
        WAITS_FOR: wants it and another thread has it.
        WAITS_ON: gave it back to wait for a signal (`Object.wait`), or parks on it: no owner is to blame.
    """

    HOLDS = "holds"
    WAITS_FOR = "waits-for"
    WAITS_ON = "waits-on"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackLock:
    """A lock as one thread uses it.

    Attributes:
        id: its address in the dump (`0x00000000e1b2c3d8`); the same lock has the same id in one dump.
        kind: class of the lock object.
    """

    id: str
    use: LockUse
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFrame:
    """One call on a stack.

    Attributes:
        function: method name, or Python's qualified function name without its module.
        module: Java class with its package, or Python module where the tool tells it.
        file: source file; as long a path as the tool tells, `None` for native code.
        native: the method is native code.
        code: text of the source line, where whoever captured the dump could read it: without it nobody can tell a
            Python thread that sleeps from one that waits for a lock, C functions having no frames.
        locks: entered or wanted in this call.
    """

    function: str
    module: str | None = None
    file: str | None = None
    line: int | None = None
    native: bool = False
    code: str | None = None
    locks: tuple[StackLock, ...] = ()

    def __str__(self) -> str:
        """Returns it as Java writes it: `package.Class.method(File:line)`."""
        name = f"{self.module}.{self.function}" if self.module else self.function
        file = self.file.rsplit("/", 1)[-1] if self.file else None
        if self.native or file is None:
            return f"{name}(Native Method)" if self.native else name
        return f"{name}({file}:{self.line})" if self.line is not None else f"{name}({file})"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackThread:
    """One thread.

    Attributes:
        name: as dumped. A remote dump cuts nothing but pads to 40 characters, other tools cut at 40 or 15.
        id: the tool's own number: Java's `#27` or `TID: 27`, Python's ident.
        native_id: the operating system's thread id, by which CPU time per thread is found.
        state_text: the state as dumped, with its reason: `TIMED_WAITING (sleeping)`, `idle`, `active+gil`.
        cpu_ms: CPU time so far; from the dump (JDK 11 and later) or added by whoever captured it.
        frames: innermost call first.
        waiting_for: the lock it wants, or waits on.
        holds: locks it has.
        truncated: the dump ends, or is cut, within this thread.
    """

    name: str
    id: int | None = None
    native_id: int | None = None
    state: ThreadState = ThreadState.UNKNOWN
    state_text: str = ""
    cpu_ms: float | None = None
    frames: tuple[StackFrame, ...] = ()
    waiting_for: StackLock | None = None
    holds: tuple[StackLock, ...] = ()
    daemon: bool | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlock:
    """A deadlock that the JVM itself found: proven.

    Attributes:
        threads: names of the threads in the circle.
    """

    threads: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StackDump:
    """All threads of one process at one moment.

    Attributes:
        source: where it comes from, for people: a file, `pid 4711`, a client id.
        taken_at_ms: when; None when neither the dump nor its taker tells.
        pid: process id, where known.
        runtime: what ran: `Python v3.11.7`, `OpenJDK 64-Bit Server VM (17.0.15+6)`.
        with_locks: tells the locks that threads hold (`jstack -l`, or any Java dump that shows a monitor).
        deadlocks: what the JVM proved; empty is no proof that there is none.
        notes: what could not be read or was left out, in words.
        truncated: the dump is incomplete: what it does not show may exist.
        pause_ms: how long the process stood still for the dump; None when not measured or not stopped.
    """

    source: str
    tool: DumpTool
    threads: tuple[StackThread, ...] = ()
    taken_at_ms: int | None = None
    pid: int | None = None
    runtime: str | None = None
    with_locks: bool = False
    deadlocks: tuple[Deadlock, ...] = field(default=())
    notes: tuple[str, ...] = ()
    truncated: bool = False
    pause_ms: float | None = None
