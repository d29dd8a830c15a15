"""Where offsets are to go, as people say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence


@dataclass(frozen=True, slots=True)
class ToTime:
    """The first message stored at or after an instant (epoch milliseconds)."""

    time_ms: int
    text: str = ""

    def __str__(self) -> str:
        return sentence("targets-time", "to time {text}", text=self.text or self.time_ms)


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """The first message that is still there."""

    def __str__(self) -> str:
        return sentence("targets-earliest", "to earliest")


@dataclass(frozen=True, slots=True)
class ToLatest:
    """The end: nothing that is there now will be consumed."""

    def __str__(self) -> str:
        return sentence("targets-latest", "to latest")


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """The committed offset: brings queues without one, or with one outside their bounds, to a valid one."""

    def __str__(self) -> str:
        return sentence("targets-current", "to current")


@dataclass(frozen=True, slots=True)
class ToOffset:
    """One queue offset for every queue."""

    offset: int

    def __str__(self) -> str:
        return sentence("targets-offset", "to offset {offset}", offset=self.offset)


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """The committed offset plus a number of messages, negative to go back."""

    count: int

    def __str__(self) -> str:
        return sentence("targets-shift", "shift by {count:+}", count=self.count)


@dataclass(frozen=True, slots=True)
class ToGiven:
    """An offset for each queue, from a file or from another group."""

    offsets: Mapping[MessageQueue, int]
    text: str

    def __str__(self) -> str:
        return sentence("targets-offsets", "to the offsets of {text}", text=self.text)


Target: TypeAlias = ToTime | ToEarliest | ToLatest | ToCurrent | ToOffset | ShiftBy | ToGiven
