"""Where one message got to: what clients traced, and which groups are past it."""

from __future__ import annotations

from enum import StrEnum

from mqctl.model.lazy_dataclass import dataclass


class TrackState(StrEnum):
    """What a group's offset says of a message.

    CONSUMED: the group is online, is past it, and wants it, the queue's owner as well. FILTERED: is past it, and its
    broker or the queue's owner does not want it. PASSED: is past it; whether it wanted it is not known. BROADCASTING:
    its members keep their offsets to themselves. POPPED: it was handed out (5.x), which moves the offset: whether it
    was consumed or comes again the offset does not say.
    """

    CONSUMED = "consumed"
    FILTERED = "filtered"
    PASSED = "passed"
    NOT_YET = "not-yet"
    NEVER_COMMITTED = "never-committed"
    BROADCASTING = "broadcasting"
    POPPED = "popped"
    UNKNOWN = "unknown"


class TrackType(StrEnum):
    """mqadmin's words for the same (`TrackType` of 4.9.8): it looks only at groups that are online."""

    CONSUMED = "CONSUMED"
    CONSUMED_BUT_FILTERED = "CONSUMED_BUT_FILTERED"
    PULL = "PULL"
    NOT_CONSUME_YET = "NOT_CONSUME_YET"
    NOT_ONLINE = "NOT_ONLINE"
    CONSUME_BROADCASTING = "CONSUME_BROADCASTING"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One group and one message.

    Attributes:
        track_type: as mqadmin has it.
        online: None when it could not be asked.
        consumer_offset: of the message's queue; None when the group committed none, or it is not known.
        owner: who holds the message's queue now, as members tell; None where nobody tells.
        consume_mode: `POP` or `PULL`, of the message's topic; None where brokers have nothing set and nobody is online.
    """

    group: str
    state: TrackState
    track_type: TrackType
    online: bool | None
    consumer_offset: int | None
    consume_mode: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendTrace:
    """One send, commit, rollback or recall that a producer traced. None means that the trace does not say."""

    kind: str
    time_ms: int | None
    group: str | None
    topic: str | None
    client_host: str | None
    store_host: str | None
    cost_ms: int | None
    message_type: str | None
    succeeded: bool | None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumeTrace:
    """One call of a listener that a consumer traced; without an end it is still going on, or its end is not stored."""

    group: str | None
    client_host: str | None
    began_ms: int | None
    ended_ms: int | None
    cost_ms: int | None
    retries: int | None
    succeeded: bool | None
    outcome: str | None
