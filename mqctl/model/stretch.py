"""Messages to be taken again: stretches of queues, and what becomes of a message that is published once more.

Offsets are queue offsets; ends are exclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of one queue.

    Attributes:
        gone_count: messages of the stretch that are deleted already; `begin` lies behind them.
    """

    queue: MessageQueue
    begin: int
    end: int
    gone_count: int = 0

    @property
    def count(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFilter:
    """Which messages of the stretches; every condition that is given must hold.

    Attributes:
        tags: `a || b`.
        key: one of the message's keys.
        sql: a condition in SQL92.
    """

    tags: str | None = None
    key: str | None = None
    sql: str | None = None

    @property
    def words(self) -> str:
        parts = {"tags": self.tags, "key": self.key, "sql": self.sql}
        return ", ".join(f"{name} {text}" for name, text in parts.items() if text is not None) or sentence(
            "replay-every-message", "every message"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Republished:
    """A message as it is published again.

    Attributes:
        key: the provenance key, one of its keys, by which it is found again.
        properties: all of them, tags and keys too.
    """

    key: str
    flag: int
    body: bytes
    properties: Mapping[str, str] = field(default_factory=dict)
