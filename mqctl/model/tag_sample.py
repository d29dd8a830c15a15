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
        counts: messages by tag; the empty text stands for none, `#` and a hash for a tag whose name is not known.
        complete: whether these are all messages of the queue, so that shares have no error.
    """

    queue: MessageQueue
    first_offset: int
    counts: Mapping[str, int]
    complete: bool = False

    @property
    def message_count(self) -> int:
        return sum(self.counts.values())
