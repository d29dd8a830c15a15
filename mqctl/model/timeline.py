"""What happened to a cluster, in order, as a recording shows it."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Any

from mqctl.model.finding import Severity
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.past import RecordingGapKind
from mqctl.model.said import Said
from mqctl.text import keep_texts


class EventKind(StrEnum):
    """What happened. Each has a sentence in the message catalogue, `event_<name>`."""

    MEMBER_JOINED = "member-joined"
    MEMBER_LEFT = "member-left"
    MEMBER_FLAPPED = "member-flapped"
    QUEUES_MOVED = "queues-moved"
    QUEUES_SHARED = "queues-shared"
    SUBSCRIPTION_CHANGED = "subscription-changed"
    OFFSET_STOPPED = "offset-stopped"
    OFFSET_RESUMED = "offset-resumed"
    OFFSET_SKIPPED = "offset-skipped"
    OFFSET_WENT_BACK = "offset-went-back"
    BACKLOG_BEGAN = "backlog-began"
    BACKLOG_PEAKED = "backlog-peaked"
    BACKLOG_DRAINED = "backlog-drained"
    BROKER_LOST = "broker-lost"
    BROKER_BACK = "broker-back"
    ROLE_CHANGED = "role-changed"
    DISK_FILLED = "disk-filled"
    DISK_FREED = "disk-freed"
    SETTING_CHANGED = "setting-changed"
    CHANGE_MADE = "change-made"
    NOT_RECORDED = "not-recorded"
    CLOCK_JUMPED = "clock-jumped"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCause:
    """What a rule said of the cluster at the moment of an event."""

    code: str
    severity: Severity
    what: str
    what_key: str | None = None
    what_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "what")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEvent:
    """One thing that happened.

    Attributes:
        moment_ms: the look that showed it first; of a stretch, when it began.
        after_ms: the look before, which did not show it yet; None where it was so when the recording began.
        until_ms: of a stretch, the look at which it was over; None where it was not, or for what has no length.
        queue_count: message queues it is about.
        message_count: messages behind (backlog, stopped), passed over or coming again (offsets).
        in_per_s, out_per_s: messages sent and consumed a second, up to this event of a backlog.
        before, after: values, brokers' roles, subscriptions or members.
        times: how often, where one line stands for several.
        cause: what the rules named at that moment; None where none was named, or nobody judged it.
        who, change_id: from the journal of this machine, where the change was made with mqctl.
        jump_ms: how far a clock jumped.
        reason: in the recorder's words.
    """

    moment_ms: int
    kind: EventKind
    severity: Severity
    after_ms: int | None = None
    until_ms: int | None = None
    broker: str | None = None
    group: str | None = None
    topic: str | None = None
    client: str | None = None
    queue_count: int | None = None
    message_count: int | None = None
    in_per_s: float | None = None
    out_per_s: float | None = None
    before: str | None = None
    after: str | None = None
    times: int = 1
    cause: EventCause | None = None
    who: str | None = None
    change_id: str | None = None
    gap: RecordingGapKind | None = None
    jump_ms: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSeries:
    """One group on one topic over time; `None` where nothing was recorded.

    Attributes:
        moments_ms: of all lists; the rates are those since the moment before.
    """

    group: str
    topic: str
    moments_ms: list[int]
    lag_counts: list[int | None]
    in_per_s: list[float | None]
    out_per_s: list[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSeries:
    """How many members a group had, from each moment on."""

    group: str
    moments_ms: list[int]
    member_counts: list[int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineReported:
    """Machine form of `timeline`.

    Attributes:
        since_ms, until_ms: the first and the last answered look of it.
        wanted_since_ms, wanted_until_ms: what was asked for; None where it was open.
        look_count: answered looks; `used_look_count` of them were compared for offsets.
        unreadable: files that cannot be read, and why.
        unjudged_count: graver events whose cause no rule was asked for; `--causes` says of how many moments they are.
    """

    recording: str
    cluster: str
    since_ms: int
    until_ms: int
    wanted_since_ms: int | None
    wanted_until_ms: int | None
    look_count: int
    used_look_count: int
    events: list[TimelineEvent]
    unreadable: list[str]
    unjudged_count: int
    keyed_unreadable: list[Said] = field(default_factory=list)
