"""What somebody declared about a cluster, and what became of each declaration. Spans are milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from mqctl.model.gap import Gap
from mqctl.model.lazy_dataclass import dataclass


class CheckState(StrEnum):
    """How one expectation fared."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


_GRAVITY = (CheckState.OK, CheckState.WARNING, CheckState.UNKNOWN, CheckState.ERROR)
_EXIT = {CheckState.OK: 0, CheckState.WARNING: 1, CheckState.ERROR: 2, CheckState.UNKNOWN: 3}


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a number may be before it is a warning, and before it is an error; None where there is none."""

    warning: float | None = None
    error: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupExpectation:
    """Of one consumer group, or of all whose names look like a pattern.

    Attributes:
        without: names and patterns of groups that a pattern does not mean.
        lag_count, lag_ms: of the worst of its topics, retry topic included.
        members_min, members_max: instances online.
        subscribes: topic -> expression that brokers filter by, in any order of tags.
        dead_letter_count, dead_letter_growth: messages in its dead-letter topic, and those that came within the window.
    """

    group: str
    without: tuple[str, ...] = ()
    lag_count: Limit | None = None
    lag_ms: Limit | None = None
    members_min: int | None = None
    members_max: int | None = None
    subscribes: Mapping[str, str] = field(default_factory=dict)
    dead_letter_count: Limit | None = None
    dead_letter_growth: Limit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicExpectation:
    """Of one topic, or of all whose names look like a pattern: read queues over all brokers, permission as `RW-`, how
    long nobody may have sent."""

    topic: str
    without: tuple[str, ...] = ()
    queue_count: int | None = None
    perm: str | None = None
    silent_ms: Limit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """All that a file declares.

    Attributes:
        cluster: name of the cluster that it is about.
        disk_used_share: of the disk of each broker's commit log, 0 to 1.
        delay_overdue_ms: how late a delayed message may be.
        brokers: names that must answer.
        broker_count: how many must answer at least.
        slave_count: how many slaves each broker must have at least.
        slave_behind_bytes: how far a slave's log may end before its master's.
    """

    cluster: str | None = None
    groups: tuple[GroupExpectation, ...] = ()
    topics: tuple[TopicExpectation, ...] = ()
    brokers: tuple[str, ...] = ()
    broker_count: int | None = None
    disk_used_share: Limit | None = None
    delay_overdue_ms: Limit | None = None
    slave_count: int | None = None
    slave_behind_bytes: Limit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One expectation and what was found.

    Attributes:
        check: what was looked at, a word of the file: `lag_time`, `members`.
        subject: of what, in words: `group order-service`.
        kind: what the subject is: `group`, `topic`, `broker`, `cluster`; of what has no name its words: `name servers`.
        name: the name alone, blanks included; None for what has none.
        value: the number found, in `unit`; None for what is no number, or not known.
        unit: `ms`, `share`, `bytes`, or empty for a count.
        message: one sentence without a final full stop; `key` and `values` are its own, None for others' words.
        gap: what it takes to know, and could not be asked.
        next_command: what to type about it, `next_command_argv` its words; None for what holds.
    """

    check: str
    subject: str
    state: CheckState
    message: str
    kind: str = ""
    name: str | None = None
    value: float | None = None
    unit: str = ""
    limit: Limit = field(default_factory=Limit)
    next_command: str | None = None
    gap: Gap | None = None
    next_command_argv: list[str] | None = None
    key: str | None = None
    values: dict[str, Any] | None = None


def worst(results: tuple[CheckResult, ...]) -> CheckState:
    """Returns the gravest state; unknown is graver than a warning and milder than what is certainly broken."""
    return max((item.state for item in results), key=_GRAVITY.index, default=CheckState.OK)


def exit_code(results: tuple[CheckResult, ...]) -> int:
    """Returns what a judging command ends with."""
    return _EXIT[worst(results)]
