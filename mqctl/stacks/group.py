"""Dumps of one process put together: pools of consume threads first, equal stacks as one, the rest folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from mqctl.model.dump import DumpTool, StackDump, StackFrame, StackThread
from mqctl.model.lazy_dataclass import dataclass
from mqctl.stacks.classify import Classified, Classifier
from mqctl.stacks.frame_text import dotted
from mqctl.stacks.locks import circles, owner_of, owners, root_of
from mqctl.stacks.motion import WORKING_SHARE, Motion, Moved, Movements, key_of, span_ms
from mqctl.stacks.names import Role, understand
from mqctl.stacks.normal import normal_name
from mqctl.stacks.rules import StackClass
from mqctl.stacks.suspicion import suspected_circle

__all__ = ["Motion", "StackGroup", "StackReport", "report_threads"]

UNDECIDED = frozenset({"python-c-call", "none", "native"})
"""Rules for stacks that show no more than that a thread is in code which has no frames."""
MOVING = frozenset({StackClass.CPU, StackClass.SERIALISATION})
"""Classes whose innermost calls change from moment to moment: their threads are grouped by the application's line."""

_ORDER = {Role.CONSUME: 0, Role.OTHER: 1, Role.CLIENT: 2, Role.RUNTIME: 3}
_GC = ("GC Thread#", "GC task thread#", "G1 ", "ParGC", "Concurrent Mark", "ZWorker", "Shenandoah")


@dataclass(frozen=True, slots=True, kw_only=True)
class StackGroup:
    """Threads that do the same: equal stacks after normalising lambdas, proxies and ids.

    Attributes:
        role, group: consume threads of a consumer group, or others.
        cls, rule: what they do, and by which rule; phase: `connect`, `read` or `write` on a socket.
        names: of the threads, in the dump's order.
        line: the line of application code that they stand on; call: what the rule recognised, a library's call mostly.
        frames: the stack of one of them, in the newest dump.
        motions: how many threads moved how.
        cpu_share: mean share of one CPU that each used between the dumps; None when not known.
        owner: thread that holds the lock they wait for; root: the last in the chain of owners.
        owner_cls, root_cls: what these do.
    """

    role: Role
    group: str | None
    cls: str
    rule: str
    names: tuple[str, ...]
    line: StackFrame | None
    call: StackFrame | None
    frames: tuple[StackFrame, ...]
    motions: Mapping[Motion, int]
    cpu_share: float | None = None
    phase: str | None = None
    owner: str | None = None
    owner_cls: str | None = None
    root: str | None = None
    root_cls: str | None = None
    root_line: StackFrame | None = None

    @property
    def place(self) -> StackFrame | None:
        """Where they stand: the application's line, else what the rule recognised, else the innermost call."""
        return self.line or self.call or next(iter(self.frames), None)

    @property
    def count(self) -> int:
        return len(self.names)

    @property
    def motion(self) -> Motion:
        """What most of the threads do."""
        return max(self.motions, key=lambda motion: self.motions[motion])


@dataclass(frozen=True, slots=True, kw_only=True)
class StackReport:
    """One process, from one or several dumps of it.

    Attributes:
        dump_count: how many dumps; the newest one is what `groups` shows.
        span_ms: between the first and the last; None when not known.
        groups: consume threads first, the largest group first.
        deadlocks: circles of thread names, proven by the JVM.
        suspected: circles that were put together from locks, or threads that never move; not proven.
        gc_share: share of one CPU that the collector's threads used between the dumps; None when not known.
        notes: what could not be read.
    """

    source: str
    tool: DumpTool
    dump_count: int
    span_ms: int | None
    thread_count: int
    groups: tuple[StackGroup, ...]
    deadlocks: tuple[tuple[str, ...], ...] = ()
    suspected: tuple[tuple[str, ...], ...] = ()
    gc_share: float | None = None
    notes: tuple[str, ...] = ()
    truncated: bool = False

    def consuming(self, group: str | None = None) -> tuple[StackGroup, ...]:
        """Returns the groups of consume threads: of one consumer group, or of all."""
        mine = (item for item in self.groups if item.role is Role.CONSUME)
        return tuple(item for item in mine if group is None or item.group in (group, None) or _same(item.group, group))

    def consumer_groups(self) -> tuple[str | None, ...]:
        """Returns the consumer groups that have consume threads here; None for threads that do not name theirs."""
        return tuple(dict.fromkeys(item.group for item in self.consuming()))


def _same(short: str | None, whole: str) -> bool:
    """Tells whether a group from a cut thread name may be `whole`."""
    return short is not None and len(short) >= 10 and whole.startswith(short)


@dataclass(slots=True)
class _Part:
    """A group while threads are put into it."""

    role: Role
    group: str | None
    what: Classified
    thread: StackThread
    names: list[str] = field(default_factory=list)
    moved: list[Moved] = field(default_factory=list)


def report_threads(dumps: Sequence[StackDump], classifier: Classifier | None = None) -> StackReport:
    """Returns what the threads of one process do; `dumps` are of this one process, oldest first.

    Raises:
        ValueError: `dumps` is empty.
    """
    if not dumps:
        raise ValueError("no dump to look at")
    judge = classifier or Classifier()
    newest = dumps[-1]
    movements = Movements(dumps)
    held_by = owners(newest)
    parts: dict[tuple[object, ...], _Part] = {}
    classes: dict[int, Classified] = {}
    moves: dict[int, Moved] = {}
    pools = _pool_names(newest.threads)
    for thread in newest.threads:
        what = judge.classify(thread)
        moved = movements.of(thread, what.cls)
        what = _by_time(what, moved)
        classes[id(thread)], moves[id(thread)] = what, moved
        role, pool = pools[thread.name]
        owner = owner_of(thread, held_by)
        key = (role, pool, what.cls, what.line and str(what.line), _normal(thread, what), owner and owner.name)
        part = parts.get(key)
        if part is None:
            part = parts[key] = _Part(role, pool, what, thread)
        part.names.append(thread.name)
        part.moved.append(moved)
    groups = sorted(
        (_finished(part, classes, held_by) for part in parts.values()),
        key=lambda item: (_ORDER[item.role], item.group or "", item.cls == StackClass.IDLE, -item.count),
    )
    proven = tuple(deadlock.threads for deadlock in newest.deadlocks)
    return StackReport(
        source=newest.source,
        tool=newest.tool,
        dump_count=len(dumps),
        span_ms=span_ms(dumps),
        thread_count=len(newest.threads),
        groups=tuple(groups),
        deadlocks=proven,
        suspected=_suspected(newest, proven, held_by, classes, moves),
        gc_share=_gc_share(dumps),
        notes=tuple(dict.fromkeys(note for dump in dumps for note in dump.notes)),
        truncated=any(dump.truncated for dump in dumps),
    )


def _by_time(what: Classified, moved: Moved) -> Classified:
    """Returns the class of a thread whose stack decides nothing and whose processor time does.

    Python threads that compute take turns under the interpreter lock: all but one of them look as if they waited.
    """
    if what.rule in UNDECIDED and moved.cpu_share is not None and moved.cpu_share >= WORKING_SHARE:
        return replace(what, cls=StackClass.CPU, rule="cpu-time")
    return what


def _pool_names(threads: Sequence[StackThread]) -> dict[str, tuple[Role, str | None]]:
    """Returns role and consumer group by thread name; names that a tool cut are put with the group they belong to."""
    known = {thread.name: understand(thread.name) for thread in threads}
    whole = {name.group for name in known.values() if name.role is Role.CONSUME and name.group and not name.cut}
    pools: dict[str, tuple[Role, str | None]] = {}
    for text, name in known.items():
        pool = name.group if name.role is Role.CONSUME else None
        if name.cut and pool not in whole:
            pool = next((candidate for candidate in sorted(whole) if pool and candidate.startswith(pool)), pool)
        pools[text] = (name.role, pool)
    return pools


def _normal(thread: StackThread, what: Classified) -> tuple[str, ...]:
    """Returns what equal stacks have in common: their normalised calls, unless these change all the time."""
    if what.cls in MOVING:
        return ()
    return tuple([normal_name(dotted(frame)) for frame in thread.frames if frame.module is not None])


def _finished(part: _Part, classes: Mapping[int, Classified], held_by: Mapping[str, StackThread]) -> StackGroup:
    motions: dict[Motion, int] = {}
    for moved in part.moved:
        motions[moved.motion] = motions.get(moved.motion, 0) + 1
    shares = [moved.cpu_share for moved in part.moved if moved.cpu_share is not None]
    owner, root = owner_of(part.thread, held_by), root_of(part.thread, held_by)
    return StackGroup(
        role=part.role,
        group=part.group,
        cls=part.what.cls,
        rule=part.what.rule,
        names=tuple(part.names),
        line=part.what.line,
        call=part.what.frame,
        frames=part.thread.frames,
        motions=motions,
        cpu_share=sum(shares) / len(shares) if shares else None,
        phase=part.what.phase,
        owner=owner.name if owner else None,
        owner_cls=classes[id(owner)].cls if owner else None,
        root=root.name if root else None,
        root_cls=classes[id(root)].cls if root else None,
        root_line=classes[id(root)].line if root else None,
    )


def _suspected(
    dump: StackDump,
    proven: tuple[tuple[str, ...], ...],
    held_by: Mapping[str, StackThread],
    classes: Mapping[int, Classified],
    moves: Mapping[int, Moved],
) -> tuple[tuple[str, ...], ...]:
    if held_by:
        known = {frozenset(circle) for circle in proven}
        return tuple(circle for circle in circles(dump.threads, held_by) if frozenset(circle) not in known)
    circle = suspected_circle([(thread, classes[id(thread)], moves[id(thread)].motion) for thread in dump.threads])
    return (circle,) if circle else ()


def _gc_share(dumps: Sequence[StackDump]) -> float | None:
    span = span_ms(dumps)
    if span is None:
        return None
    first, last = (
        {key_of(thread): thread.cpu_ms for thread in dump.threads if thread.name.startswith(_GC)}
        for dump in (dumps[0], dumps[-1])
    )
    used = [cpu - before for key, cpu in last.items() if cpu is not None and (before := first.get(key)) is not None]
    return sum(used) / span if used else None
