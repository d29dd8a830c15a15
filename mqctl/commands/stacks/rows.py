"""Rows of `stacks dump`: instances, their pools, and threads that do the same."""

from __future__ import annotations

from dataclasses import field

from mqctl.model.dump import StackFrame
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said, said
from mqctl.rules.judge_stacks import JudgedInstance
from mqctl.stacks.group import Motion, StackGroup, StackReport
from mqctl.stacks.normal import shown_frame
from mqctl.stacks.rules import StackClass


@dataclass(frozen=True, slots=True, kw_only=True)
class StackGroupRow:
    """Threads of one instance that do the same.

    Attributes:
        role: `consume`, `client`, `runtime` or `other`; group: consumer group, None where the names do not tell it.
        cls: what they do; phase: `connect`, `read` or `write` on a socket.
        motion: what most of them do between dumps: `stuck`, `slow`, `busy`, `idle`; None with a single dump.
        motions: number of threads by motion.
        cpu_share: share of one processor that each used between the dumps, None where it is not known.
        line: the line of application code that they stand on.
        place: the same, or a library's call where there is none.
        owner, root: thread that holds their lock, and the last in the chain of owners.
        calls: the stack of one of them, innermost call first.
    """

    source: str
    role: str
    group: str | None
    cls: str
    phase: str | None
    rule: str
    thread_count: int
    motion: str | None
    motions: dict[str, int]
    cpu_share: float | None
    line: str | None
    place: str | None
    owner: str | None
    owner_cls: str | None
    root: str | None
    root_cls: str | None
    root_line: str | None
    threads: list[str]
    calls: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """The consume threads of one group in one instance.

    Attributes:
        configured_count: size of the pool as the instance tells it; None where it does not.
        line: the line of application code that most of the threads stand on.
    """

    group: str | None
    thread_count: int
    idle_count: int
    configured_count: int | None
    line: str | None
    line_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StackInstanceRow:
    """One instance.

    Attributes:
        consume_mode: of the group, `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        span_ms: between the first and the last dump; None when not known.
        pause_ms: how long the process stood still for a dump, at most.
        deadlocks: proven circles of threads; suspected: others.
        gc_share: share of one processor that the garbage collector used.
        truncated: the dump is incomplete: what it does not show may exist.
    """

    source: str
    group: str | None
    client_id: str | None
    tool: str
    runtime: str | None
    dump_count: int
    span_ms: int | None
    pause_ms: float | None
    thread_count: int
    pools: list[PoolRow]
    groups: list[StackGroupRow]
    deadlocks: list[list[str]]
    suspected: list[list[str]]
    gc_share: float | None
    truncated: bool
    notes: list[str]
    consume_mode: str | None
    keyed_notes: list[Said] = field(default_factory=list)


def instance_row(item: JudgedInstance) -> StackInstanceRow:
    """Builds the row of one instance with its pools and groups of threads."""
    report, instance = item.report, item.instance
    pauses = [dump.pause_ms for dump in instance.dumps if dump.pause_ms is not None]
    return StackInstanceRow(
        source=instance.source,
        group=instance.group,
        client_id=instance.client_id,
        tool=str(report.tool),
        runtime=next((dump.runtime for dump in instance.dumps if dump.runtime), None),
        dump_count=report.dump_count,
        span_ms=report.span_ms,
        pause_ms=max(pauses) if pauses else None,
        thread_count=report.thread_count,
        pools=[_pool_row(report, name, item) for name in report.consumer_groups()],
        groups=[_group_row(item, group) for group in report.groups],
        deadlocks=[list(circle) for circle in report.deadlocks],
        suspected=[list(circle) for circle in report.suspected],
        gc_share=report.gc_share,
        truncated=report.truncated,
        notes=list(report.notes),
        keyed_notes=said(report.notes),
        consume_mode=instance.consume_mode,
    )


def _pool_row(report: StackReport, name: str | None, item: JudgedInstance) -> PoolRow:
    groups = [group for group in report.consuming() if group.group == name]
    info = item.instance.info
    mine = info is not None and (name is None or name == info.group or info.group.startswith(name))
    lines: dict[str, int] = {}
    for group in groups:
        if group.line is not None:
            text = shown_frame(group.line)
            lines[text] = lines.get(text, 0) + group.count
    line = max(lines, key=lambda text: lines[text], default=None)
    return PoolRow(
        group=name if name is not None else item.instance.group,
        thread_count=sum(group.count for group in groups),
        idle_count=sum(group.count for group in groups if group.cls == StackClass.IDLE),
        configured_count=info.thread_count if info is not None and mine else None,
        line=line,
        line_count=lines[line] if line else 0,
    )


def _group_row(item: JudgedInstance, group: StackGroup) -> StackGroupRow:
    report, info = item.report, item.instance.info
    motion = group.motion
    if motion is Motion.STUCK and group.group is not None and info is not None and info.all_threads_work:
        motion = Motion.SLOW  # it finishes messages: seconds at one place are the time of one
    return StackGroupRow(
        source=item.instance.source,
        role=str(group.role),
        group=group.group,
        cls=group.cls,
        phase=group.phase,
        rule=group.rule,
        thread_count=group.count,
        motion=str(motion) if report.dump_count > 1 and motion is not Motion.UNKNOWN else None,
        motions={str(motion): number for motion, number in group.motions.items()},
        cpu_share=group.cpu_share,
        line=_frame(group.line),
        place=_frame(group.place),
        owner=group.owner,
        owner_cls=group.owner_cls,
        root=group.root,
        root_cls=group.root_cls,
        root_line=_frame(group.root_line),
        threads=list(group.names),
        calls=[shown_frame(frame) for frame in group.frames],
    )


def _frame(frame: StackFrame | None) -> str | None:
    return shown_frame(frame) if frame is not None else None
