"""Every change made from this machine: offsets, settings, resent dead letters."""

from __future__ import annotations

from mqctl.cli.places import state_dir
from mqctl.execute.journal import Journal
from mqctl.execute.resend_journal import SENT, ResendJournal
from mqctl.execute.setting_journal import SettingJournal
from mqctl.render.settings import HistoryEntry


def entries() -> list[HistoryEntry]:
    """Returns all changes, the latest first. Raises BadInputError when one cannot be read."""
    directory = state_dir() / "journal"
    found = [
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
            back=f"mqctl offset undo {record.id}",
        )
        for record in Journal(directory).all()
    ]
    found += [
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
            back=f"mqctl undo {record.id}",
        )
        for record in SettingJournal(directory / "settings").all()
    ]
    found += [
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
        for record in ResendJournal(directory / "resends").all()
    ]
    return sorted(found, key=lambda entry: entry.made_at_ms, reverse=True)
