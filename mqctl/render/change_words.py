"""The states of changes as the machine forms of each command call them, and how a change is undone."""

from __future__ import annotations

from mqctl.execute.records import (
    CONFIRMED,
    NOT_MOVED,
    PLANNED,
    SENT,
    UNKNOWN,
    AnyRecord,
    ReplayRecord,
    ResendRecord,
    StepRecord,
)
from mqctl.model.command_line import command_line
from mqctl.text import sentence

STEP_WORDS = {NOT_MOVED: "not-done"}
LETTER_WORDS = {PLANNED: "waiting", SENT: "sending", CONFIRMED: "sent", NOT_MOVED: "failed"}
REPLAY_WORDS = {CONFIRMED: "complete", UNKNOWN: "in-doubt"}
_WORDS: dict[type, dict[str, str]] = {StepRecord: STEP_WORDS, ResendRecord: LETTER_WORDS, ReplayRecord: REPLAY_WORDS}


def way_back(change_id: str, command: str = "mqctl undo") -> str:
    """Says how a change is undone: in the same words wherever that is said."""
    line = command_line(f"{command} {{}}", change_id)
    return sentence(
        "change-words-undo-shows-plan-execute", "undo: {line} (shows its plan; --execute does it)", line=line
    )


def face_state(record: AnyRecord) -> str:
    """Returns the state of a change in the words of its own command."""
    return _WORDS.get(type(record), {}).get(record.state, record.state)
