"""Every change made from this machine: offsets, settings, resent dead letters, replays, steps."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field, replace
from typing import Any

from mqctl.changes.engine.records import (
    CONFIRMED,
    INTERRUPTED,
    AnyRecord,
    OffsetRecord,
    QueuePart,
    ReplayRecord,
    ResendRecord,
    SettingRecord,
    StepRecord,
    face_state,
)
from mqctl.changes.engine.run import journal
from mqctl.changes.plan.follow import follow_again
from mqctl.cli.emit import note, tell
from mqctl.errors import BadInputError, ExitCode
from mqctl.model.column import CellKind, column
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part, exit_code_of
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import argv_of, keep_texts, printable, sentence

_REPAIR = "delay-repair"  # as `delay_repairs` has it, which reads stores and takes long to import
ACKNOWLEDGE = "store-acknowledge"
"""The kind of a change that `store acknowledge` makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One change made from this machine.

    Attributes:
        part_count: queues, letters or steps.
        cluster: None for a change of files.
        back: the command that undoes it or resumes it, `back_argv` its words; None where none is known here.
        undone_by: the change that took it back.
        group: whose offsets, settings or dead letters; None for a change of anything else.
        target, method, queues: of a change of offsets: where to, how, and each queue with its old offset.
    """

    id: str = field(metadata=column("id"))
    made_at_ms: int = field(metadata=column("when", CellKind.TIME_MS))
    kind: str = field(metadata=column("change"))
    subject: str = field(metadata=column("of"))
    part_count: int = field(metadata=column("parts", CellKind.COUNT))
    state: str = field(metadata=column("state", CellKind.WORDS))
    who: str = field(metadata=column("who", wide=True))
    cluster: str | None = field(metadata=column("cluster", wide=True))
    undoes: str | None = field(metadata=column("undoes", wide=True))
    back: str | None = field(metadata=column("undo with", none="none", wide=True))
    undone_by: str | None = field(default=None, metadata=column("undone by", none=""))
    back_argv: list[str] | None = None
    group: str | None = None
    target: str | None = field(default=None, metadata=column("target", none="", wide=True))
    method: str | None = None
    queues: list[QueuePart] | None = None
    target_key: str | None = None
    target_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "target")


class UnreadRecords:
    """Records that cannot be read: each is told at once, and is a gap in the answer."""

    def __init__(self) -> None:
        self._gaps: list[Gap] = []

    def __call__(self, error: BadInputError) -> None:
        self._gaps.append(Gap.of(Part.RECORDS, error))
        note(
            sentence("plan-left-out", "{error}; it is left out", error=printable(str(error)))
        )  # a file's name may hold line ends
        tell(sentence("remedy-line", "  next: {remedy}", remedy=error.remedy))

    @property
    def reasons(self) -> list[str]:
        """File and reason of each."""
        return [gap.reason for gap in self._gaps]

    @property
    def exit_code(self) -> ExitCode:
        return exit_code_of(self._gaps)


def entries(unread: UnreadRecords, groups: Collection[str] = ()) -> list[HistoryEntry]:
    """Returns all changes that can be read, the latest first; one that was undone has no way back any more.

    Args:
        groups: only changes of these consumer groups; none for all changes.
    """
    book = journal()
    listed: list[HistoryEntry] = [_entry(record) for record in book.offsets.all(unread)]
    listed += [_entry(record) for record in book.settings.all(unread)]
    listed += [_entry(record) for record in book.resends.all(unread)]
    listed += [_entry(record) for record in book.replays.all(unread) if record.group is None]
    for kind in book.step_kinds():
        listed += [_entry(record) for record in book.steps(kind).all(unread)]
    latest = sorted(listed, key=lambda entry: entry.made_at_ms, reverse=True)
    undone: dict[str | None, str] = {}
    for entry in latest:  # an undo that was taken back itself, later, undoes nothing
        if entry.state == CONFIRMED and entry.id not in undone:
            undone.setdefault(entry.undoes, entry.id)
    return [
        replace(entry, back=None, undone_by=undone[entry.id]) if entry.id in undone else entry
        for entry in latest
        if not groups or entry.group in groups
    ]


def newest_undoable(unread: UnreadRecords) -> HistoryEntry | None:
    """Returns the newest change that can be undone and is no undo itself: asked twice, one goes back two changes."""
    return next(
        (
            entry
            for entry in entries(unread)
            if entry.undoes is None and entry.back is not None and entry.back.endswith(f"undo {entry.id}")
        ),
        None,
    )


def _entry(record: AnyRecord) -> HistoryEntry:
    back = _back(record)
    for part in record.parts:
        part.keep_texts()
    offsets = record if isinstance(record, OffsetRecord) else None
    of_group = isinstance(record, OffsetRecord | ResendRecord) or (
        isinstance(record, SettingRecord) and record.noun == "group"
    )
    return HistoryEntry(
        id=record.id,
        made_at_ms=record.made_at_ms,
        kind=record.kind,
        subject=record.subject,
        part_count=len(record.parts),
        state=face_state(record),
        who=record.who,
        cluster=record.cluster or None,
        undoes=record.undoes,
        back=back,
        back_argv=argv_of(back),
        group=record.subject if of_group else None,
        target=None if offsets is None else offsets.target,
        method=None if offsets is None else offsets.method,
        queues=None if offsets is None else offsets.parts,
    )


def _back(record: AnyRecord) -> str | None:
    """Returns the command that takes a change back, or resumes it; None where there is none."""
    match record:
        case OffsetRecord():
            return None if record.is_nothing_done else command_line("mqctl undo {}", record.id)
        case SettingRecord():
            return None if record.is_nothing_done else command_line("mqctl undo {}", record.id)
        case ResendRecord():
            resume = command_line("mqctl dlq resend -g {} --resume {}", record.subject, record.id)
            return None if record.state == CONFIRMED else resume
        case ReplayRecord(selector=str(selector)):
            again = follow_again(record.parts[0].topic, record.subject, selector)
            return again if record.state == INTERRUPTED else None
        case ReplayRecord():
            return command_line("mqctl replay resume {}", record.id) if record.state == INTERRUPTED else None
        case StepRecord():
            ways = {_REPAIR: "mqctl delay repair --undo", ACKNOWLEDGE: "mqctl undo"}
            return command_line(f"{ways[record.kind]} {{}}", record.id) if record.kind in ways else None
