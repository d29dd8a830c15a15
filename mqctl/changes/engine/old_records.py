"""Records as mqctl wrote them before all changes had one form: they are read, finished and taken back as any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from mqctl.changes.engine.records import (
    CONFIRMED,
    NOT_MOVED,
    PLANNED,
    SENT,
    UNKNOWN,
    AnyRecord,
    Doubt,
    LetterPart,
    OffsetRecord,
    QueuePart,
    ReplayRecord,
    ResendRecord,
    SettingPart,
    SettingRecord,
    StepPart,
    StepRecord,
    StretchPart,
)
from mqctl.model.plan import Callback
from mqctl.model.stretch import ReplayFilter

_STEP_WORDS = {"not-done": NOT_MOVED}
LETTER_WORDS = {"waiting": PLANNED, "sending": SENT, "sent": CONFIRMED, "failed": NOT_MOVED, "unknown": UNKNOWN}
"""What the states of letters were called, in the lines behind such a record too."""
_Record = TypeVar("_Record", bound=AnyRecord)


class _Head(msgspec.Struct, kw_only=True):
    id: str
    who: str
    made_at_ms: int
    ended: bool = False
    undoes: str | None = None


class _Offsets(_Head, kw_only=True):
    kind: str
    group: str
    target: str
    method: str
    cluster: str
    brokers: dict[str, str]
    queues: list[QueuePart]
    callbacks: list[Callback] = []


class _Settings(_Head, kw_only=True):
    kind: str
    noun: str
    subject: str
    cluster: str
    brokers: dict[str, str]
    steps: list[SettingPart]


class _Steps(_Head, kw_only=True):
    kind: str
    target: str
    confirm: str
    steps: list[StepPart]
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}


class _Letter(msgspec.Struct, kw_only=True):
    letter_id: str
    unique_key: str
    topic: str
    state: str = "waiting"
    copy_id: str | None = None
    reason: str | None = None


class _Resend(_Head, kw_only=True):
    group: str
    to_topic: str | None
    rate: float
    cluster: str
    brokers: dict[str, str]
    letters: list[_Letter]


class _Replay(_Head, kw_only=True):
    kind: str
    cluster: str
    brokers: dict[str, str]
    source: str
    ranges: list[StretchPart]
    group: str | None = None
    target: str | None = None
    filter: ReplayFilter = ReplayFilter()
    rate_per_s: float = 0
    in_flight: list[str] = []
    found: int = 0
    in_doubt: list[Doubt] = []


def read_old(data: bytes, kind: type[_Record]) -> _Record:
    """Reads a record of the kind in its old form. Raises msgspec.DecodeError, UnicodeDecodeError."""
    record = _READERS[kind](data)
    assert isinstance(record, kind)
    return record


def _offsets(data: bytes) -> OffsetRecord:
    old = msgspec.json.decode(data, type=_Offsets)
    return OffsetRecord(
        id=old.id,
        who=old.who,
        made_at_ms=old.made_at_ms,
        ended=old.ended,
        undoes=old.undoes,
        kind=old.kind,
        subject=old.group,
        cluster=old.cluster,
        brokers=old.brokers,
        parts=old.queues,
        target=old.target,
        method=old.method,
        callbacks=old.callbacks,
    )


def _settings(data: bytes) -> SettingRecord:
    old = msgspec.json.decode(data, type=_Settings)
    return SettingRecord(
        id=old.id,
        who=old.who,
        made_at_ms=old.made_at_ms,
        ended=old.ended,
        undoes=old.undoes,
        kind=old.kind,
        subject=old.subject,
        cluster=old.cluster,
        brokers=old.brokers,
        parts=old.steps,
        noun=old.noun,
    )


def _steps(data: bytes) -> StepRecord:
    old = msgspec.json.decode(data, type=_Steps)
    for part in old.steps:
        part.state = _STEP_WORDS.get(part.state, part.state)
    return StepRecord(
        id=old.id,
        who=old.who,
        made_at_ms=old.made_at_ms,
        ended=old.ended,
        undoes=old.undoes,
        kind=old.kind,
        subject=old.target,
        cluster="",
        brokers={},
        parts=old.steps,
        confirm=old.confirm,
        before=old.before,
        after=old.after,
    )


def _resend(data: bytes) -> ResendRecord:
    old = msgspec.json.decode(data, type=_Resend)
    letters = [
        LetterPart(
            letter_id=letter.letter_id,
            unique_key=letter.unique_key,
            topic=letter.topic,
            found=letter.copy_id,
            state=LETTER_WORDS.get(letter.state, letter.state),
            reason=letter.reason,
        )
        for letter in old.letters
    ]
    return ResendRecord(
        id=old.id,
        who=old.who,
        made_at_ms=old.made_at_ms,
        ended=old.ended,
        undoes=old.undoes,
        kind="dlq-resend",
        subject=old.group,
        cluster=old.cluster,
        brokers=old.brokers,
        parts=letters,
        to_topic=old.to_topic,
        rate=old.rate,
    )


def _replay(data: bytes) -> ReplayRecord:
    old = msgspec.json.decode(data, type=_Replay)
    for part in old.ranges:
        part.state = CONFIRMED if old.group is None and part.next == part.end else PLANNED
    return ReplayRecord(
        id=old.id,
        who=old.who,
        made_at_ms=old.made_at_ms,
        ended=old.ended,
        undoes=old.undoes,
        kind=f"replay-{old.kind}",
        subject=old.target or old.group or "",
        cluster=old.cluster,
        brokers=old.brokers,
        parts=old.ranges,
        source=old.source,
        group=old.group,
        target=old.target,
        filter=old.filter,
        rate_per_s=old.rate_per_s,
        in_flight=old.in_flight,
        found=old.found,
        in_doubt=old.in_doubt,
    )


_READERS: dict[type, Callable[[bytes], AnyRecord]] = {
    OffsetRecord: _offsets,
    SettingRecord: _settings,
    StepRecord: _steps,
    ResendRecord: _resend,
    ReplayRecord: _replay,
}
