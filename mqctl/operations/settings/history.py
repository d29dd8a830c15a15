"""Every change made from this machine: offsets, settings, resent dead letters, replays, steps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mqctl.cli.emit import note, tell
from mqctl.cli.places import state_dir
from mqctl.errors import BadInputError, ExitCode
from mqctl.execute.journal import CONFIRMED, NOT_MOVED, Journal, QueueRecord
from mqctl.execute.replays import PUBLISH, Replays
from mqctl.execute.resend_journal import SENT, ResendJournal
from mqctl.execute.setting_journal import SettingJournal, StepRecord
from mqctl.execute.step_journal import StepJournal
from mqctl.render.settings import HistoryEntry
from mqctl.render.text import printable

_OWN = frozenset({"settings", "resends"})
_REPAIR = "delay-repair"  # as `delay_repairs` has it, which reads stores and takes long to import


class Unread:
    """Records that cannot be read: each is told at once, and the exit code says that they are missing.

    Attributes:
        told: file and reason of each.
    """

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, error: BadInputError) -> None:
        self.told.append(str(error))
        note(f"{printable(str(error))}; it is left out")  # a file's name may hold line ends
        tell(f"  next: {error.remedy}")

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.UNREACHABLE if self.told else ExitCode.OK


def entries(unread: Unread) -> list[HistoryEntry]:
    """Returns all changes that can be read, the latest first; one that was undone has no way back any more."""
    directory = state_dir() / "journal"
    found = [
        *_offsets(directory, unread),
        *_settings(directory, unread),
        *_resends(directory, unread),
        *_publications(unread),
        *_step_changes(directory, unread),
    ]
    latest = sorted(found, key=lambda entry: entry.made_at_ms, reverse=True)
    undone: set[str | None] = set()
    for entry in latest:  # an undo that was taken back itself, later, undoes nothing
        if entry.state == CONFIRMED and entry.id not in undone:
            undone.add(entry.undoes)
    return [replace(entry, back=None) if entry.id in undone else entry for entry in latest]


def _nothing_done(parts: Sequence[QueueRecord] | Sequence[StepRecord]) -> bool:
    return all(part.state == NOT_MOVED for part in parts)


def _offsets(directory: Path, unread: Unread) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            id=record.id,
            made_at_ms=record.made_at_ms,
            kind=record.kind,
            subject=record.group,
            part_count=len(record.queues),
            state=record.state,
            who=record.who,
            cluster=record.cluster,
            undoes=record.undoes,
            back=None if _nothing_done(record.queues) else f"mqctl offset undo {record.id}",
        )
        for record in Journal(directory).all(unread)
    ]


def _settings(directory: Path, unread: Unread) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            id=record.id,
            made_at_ms=record.made_at_ms,
            kind=record.kind,
            subject=record.subject,
            part_count=len(record.steps),
            state=record.state,
            who=record.who,
            cluster=record.cluster,
            undoes=record.undoes,
            back=None if _nothing_done(record.steps) else f"mqctl undo {record.id}",
        )
        for record in SettingJournal(directory / "settings").all(unread)
    ]


def _resends(directory: Path, unread: Unread) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            id=record.id,
            made_at_ms=record.made_at_ms,
            kind="dlq-resend",
            subject=record.group,
            part_count=len(record.letters),
            state=record.state,
            who=record.who,
            cluster=record.cluster,
            undoes=None,
            back=None if record.state == SENT else f"mqctl dlq resend -g {record.group} --resume {record.id}",
        )
        for record in ResendJournal(directory / "resends").all(unread)
    ]


def _publications(unread: Unread) -> list[HistoryEntry]:
    return [
        HistoryEntry(
            id=record.id,
            made_at_ms=record.made_at_ms,
            kind="replay-publish",
            subject=record.target or "",
            part_count=len(record.ranges),
            state=record.state,
            who=record.who,
            cluster=record.cluster,
            undoes=None,
            back=f"mqctl replay resume {record.id}" if record.state == "interrupted" else None,
        )
        for record in Replays(state_dir() / "replays").all(unread)
        if record.kind == PUBLISH
    ]


def _step_changes(directory: Path, unread: Unread) -> list[HistoryEntry]:
    """Returns changes of files and messages, each kind in a directory of its own."""
    inside = (item for item in directory.glob("*") if item.name not in _OWN)
    kinds = sorted(item for item in inside if os.path.isdir(item))  # noqa: PTH112 - the method raises
    return [
        HistoryEntry(
            id=change.id,
            made_at_ms=change.made_at_ms,
            kind=change.kind,
            subject=change.target,
            part_count=len(change.steps),
            state=change.state,
            who=change.who,
            cluster=None,
            undoes=change.undoes,
            back=f"mqctl delay repair --undo {change.id}" if change.kind == _REPAIR else None,
        )
        for kind in kinds
        for change in StepJournal(kind).all(unread)
    ]
