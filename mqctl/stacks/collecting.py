"""What a reader puts together from lines: threads into dumps, within limits that keep hostile input small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mqctl.model.dump import Deadlock, DumpTool, StackDump, StackFrame, StackThread
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpLimits:
    """How much of a text is kept. Beyond them the result is marked as truncated.

    Attributes:
        thread_count: in all dumps of one text together.
        thread_frame_count: of one thread; Java itself stops at 1,024.
        distinct_frame_count: different calls in one text; equal ones are kept once.
    """

    thread_count: int = 50_000
    thread_frame_count: int = 1_024
    distinct_frame_count: int = 200_000


@dataclass(slots=True, kw_only=True)
class OpenDump:
    """A dump that is being read. `complete` is None while nothing tells whether its end was seen."""

    tool: DumpTool
    taken_at_ms: int | None = None
    pid: int | None = None
    runtime: str | None = None
    complete: bool | None = None
    truncated: bool = False


class FrameTable:
    """Calls by the text they were read from, each kept once.

    Args:
        read: text to call; None for a text that is none.
    """

    def __init__(self, read: Callable[[str], StackFrame | None], limits: DumpLimits) -> None:
        self._read = read
        self._limit = limits.distinct_frame_count
        self._known: dict[str, StackFrame | None] = {}
        self.full = False

    def get(self, text: str) -> StackFrame | None:
        """Returns the call in `text`."""
        try:
            return self._known[text]
        except KeyError:
            pass
        if len(self._known) >= self._limit:
            self.full = True
            return None
        frame = self._known[text] = self._read(text)
        return frame


class Collector:
    """Dumps in the order in which they are read.

    Args:
        source: for people.
        taken_at_ms: of dumps that do not say it.
    """

    def __init__(self, source: str, taken_at_ms: int | None, limits: DumpLimits) -> None:
        self.source = source
        self.limits = limits
        self.full = False
        self._taken_at_ms = taken_at_ms
        self._dumps: list[StackDump] = []
        self._count = 0
        self._open: OpenDump | None = None
        self._threads: list[StackThread] = []
        self._seen: set[tuple[str, int | None, int | None]] = set()
        self._deadlocks: list[Deadlock] = []
        self._notes: dict[str, int] = {}

    @property
    def current(self) -> OpenDump | None:
        return self._open

    def open(self, dump: OpenDump) -> None:
        """Begins a dump; what was open is closed."""
        self.close()
        self._open = dump

    def add(self, tool: DumpTool, thread: StackThread) -> None:
        """Takes a thread; one that was there already begins another dump."""
        key = (thread.name, thread.id, thread.native_id)
        if self._open is None or self._open.tool is not tool or key in self._seen:
            self.open(OpenDump(tool=tool))
        if self._count >= self.limits.thread_count:
            self.full = True
            self.cut(
                sentence(
                    "stacks-first-threads-read",
                    "only the first {count:thread was/were} read",
                    count=self.limits.thread_count,
                )
            )
            return
        self._count += 1
        self._seen.add(key)
        self._threads.append(thread)

    def deadlock(self, names: tuple[str, ...]) -> None:
        """Takes a deadlock that the JVM found."""
        if names:
            self._deadlocks.append(Deadlock(threads=names))

    def note(self, text: str) -> None:
        """Says what could not be read; equal ones are counted."""
        if len(self._notes) < 20 or text in self._notes:
            self._notes[text] = self._notes.get(text, 0) + 1

    def cut(self, reason: str) -> None:
        """Marks the open dump as incomplete."""
        self.note(reason)
        if self._open is not None:
            self._open.truncated = True

    def close(self) -> None:
        """Ends the open dump. One without threads leaves nothing but its notes, which the next one carries."""
        dump, threads = self._open, self._threads
        if dump is None or not threads:
            self._open = None
            return
        truncated = dump.truncated or dump.complete is False or any(thread.truncated for thread in threads)
        if dump.complete is False:
            self.note(sentence("stacks-end-dump-missing", "the end of the dump is missing"))
        self._dumps.append(
            StackDump(
                source=self.source,
                tool=dump.tool,
                threads=tuple(threads),
                taken_at_ms=dump.taken_at_ms if dump.taken_at_ms is not None else self._taken_at_ms,
                pid=dump.pid,
                runtime=dump.runtime,
                with_locks=any(thread.holds or thread.waiting_for for thread in threads),
                deadlocks=tuple(self._deadlocks),
                notes=self._taken_notes(),
                truncated=truncated,
            )
        )
        self._open, self._threads, self._deadlocks = None, [], []
        self._seen = set()

    def _taken_notes(self) -> tuple[str, ...]:
        notes = tuple(
            text if times == 1 else sentence("stacks-times", "{text} ({times} times)", text=text, times=times)
            for text, times in self._notes.items()
        )
        self._notes = {}
        return notes

    def finish(self) -> list[StackDump]:
        """Returns all dumps. Notes that came after the last thread belong to the last dump."""
        self.close()
        if self._notes and self._dumps:
            last = self._dumps[-1]
            self._dumps[-1] = replace(last, notes=(*last.notes, *self._taken_notes()))
        return self._dumps
