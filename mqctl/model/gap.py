"""What could not be learnt, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Part(StrEnum):
    """Parts of a snapshot that rules ask for."""

    TOPICS = "topics"
    GROUPS = "subscription-groups"
    CONSUMER_OFFSETS = "consumer-offsets"
    QUEUES = "queues"
    STORE_TIMES = "store-times"
    OFFSET_JUMPS = "offset-jumps"
    DELAY = "delay"
    DELAY_QUEUES = "delay-queues"
    TRANSACTIONS = "transactions"
    STORAGE = "storage"
    VERIFICATION = "verification"
    CLOCKS = "clocks"
    ROUTES = "routes"
    MEMBERS = "members"
    RUNNING_INFO = "running-info"
    CONSUMPTION = "consumption"
    RUNTIME = "runtime"
    TAGS = "tags"
    CONFIG = "config"
    PROCESSES = "processes"
    STACKS = "stacks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A part that could not be read or asked: never a zero, never silence.

    Attributes:
        part: what is missing.
        reason: why, in one sentence without a final full stop.
        scope: the topic, queue or file it is limited to; None when the whole part is missing.
    """

    part: Part
    reason: str
    scope: str | None = None

    @property
    def refused(self) -> bool:
        """Whether somebody answered, and said no (the words of `mqctl.client.remoting.answers.AnswerError`)."""
        return " was refused by " in self.reason

    def at(self, broker: str | None) -> Gap:
        """Returns the gap with its broker's name before what it is limited to."""
        return replace(self, scope=" ".join(part for part in (broker, self.scope) if part) or None)
