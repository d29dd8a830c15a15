"""How often tags occur in a queue, from a sample or from all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mqctl.model.queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class TagSample:
    """The tags of some neighbouring messages of one queue.

    Attributes:
        first_offset: where the sample begins.
        counts: messages by tag; the empty text stands for none.
    """

    queue: MessageQueue
    first_offset: int
    counts: Mapping[str, int]

    @property
    def message_count(self) -> int:
        return sum(self.counts.values())
