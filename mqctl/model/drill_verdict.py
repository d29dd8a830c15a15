"""What a drill's history shows: which promises were kept, and the evidence where one was broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass


class Promise(StrEnum):
    """What can be broken, one name for each kind; docs/drill.md holds the definitions."""

    LOST = "lost"
    ROLLED_BACK = "delivered-though-rolled-back"
    REFUSED = "delivered-though-refused"
    UNSENT = "delivered-though-unsent"
    REPEATED = "repeated"
    KEY_ORDER = "key-order"
    QUEUE_ORDER = "queue-order"
    STORED_ORDER = "stored-order"
    LATE = "late"
    EARLY = "early"
    OFFSET_BACK = "offset-back"
    COMMITTED_AHEAD = "committed-ahead"


class DrillState(StrEnum):
    """The verdict on a drill."""

    KEPT = "kept"
    VIOLATED = "violated"
    NOT_JUDGED = "not-judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One line of a history that belongs to a piece of evidence.

    Attributes:
        line: its number in the file, from 1.
    """

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """One broken promise.

    Attributes:
        reader: the group, or the instance of a broadcast group; empty where it is about the broker alone.
        producer: who sent the message; None where it is about offsets.
        number: the message's number at its producer.
        allowed_by: the event that explains it within what the protocol allows; None when nothing does.
        excerpt: the smallest piece of the history that shows it.
    """

    promise: Promise
    reader: str
    producer: str | None
    number: int | None
    what: str
    allowed_by: str | None
    excerpt: tuple[HistoryLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseCount:
    """How often a promise was broken.

    Attributes:
        inside: explained by an event of the schedule, within what the protocol allows at it.
        outside: explained by nothing.
        looked_at: messages (or offsets) that the promise was held against; 0 when there was nothing of the kind.
    """

    promise: Promise
    looked_at: int
    inside: int
    outside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillVerdict:
    """The judgement of a history.

    Attributes:
        complete: the history has its end; one without was interrupted, or its end is cut off.
        cut_bytes: length of a torn last line, which was left out.
        undecided: messages whose time was not up when the history ended, by reader.
    """

    state: DrillState
    topic: str
    complete: bool
    cut_bytes: int
    lasted_ms: int
    sent: int
    acknowledged: int
    failed: int
    unknown: int
    delivered: int
    promises: tuple[PromiseCount, ...]
    undecided: Mapping[str, int] = field(default_factory=dict)
    breaches: tuple[Breach, ...] = ()
    events: tuple[HistoryLine, ...] = ()
