"""Messages that a broker handed out to a group."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOut:
    """What one broker counts for one group and topic.

    Attributes:
        minute_count: messages of its last minute, which may have ended up to ten seconds ago: it samples so often.
    """

    group: str
    topic: str
    minute_count: int
