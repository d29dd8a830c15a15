"""What a report or a table is asked for: stores, names, and ranges of time and offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mqctl.model.names import is_system_topic
from mqctl.model.spans import FAR
from mqctl.store.kernel import Headers, Int64s

CLOCK_SLACK_MS = 600_000
"""How far store times of one broker may run backwards (its clock was set back) before pruning by time misses one."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A half-open range [low, high) of times or offsets."""

    low: int = -FAR
    high: int = FAR

    @property
    def is_everything(self) -> bool:
        return self.low <= -FAR and self.high >= FAR

    def meet(self, low: int, high: int) -> Bounds:
        """Returns what this range and [low, high) have in common."""
        return Bounds(max(self.low, low), min(self.high, high))

    def mask(self, values: Int64s) -> NDArray[np.bool_]:
        """Marks the values inside."""
        within: NDArray[np.bool_] = (values >= self.low) & (values < self.high)
        return within

    def touches(self, low: int, high: int) -> bool:
        """Tells whether [low, high] may hold a value inside."""
        return high >= self.low and low < self.high


EVERYTHING = Bounds()


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for.

    Attributes:
        stores: store directories or URLs, as the workers see them.
        brokers: the broker of each store, in their order; empty, or an empty name, where it is not known.
        groups, topics, queue_ids: only these; empty for all.
        system: RocketMQ's own groups and topics too.
        store_time_ms, queue_offset, physical_offset: only messages inside these ranges.
    """

    stores: tuple[str, ...]
    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    system: bool = False
    queue_ids: tuple[int, ...] = ()
    store_time_ms: Bounds = EVERYTHING
    queue_offset: Bounds = EVERYTHING
    physical_offset: Bounds = EVERYTHING
    brokers: tuple[str, ...] = ()

    def broker_of(self, store: str) -> str:
        """Returns the name of a store's broker; empty where it is not known."""
        return dict(zip(self.stores, self.brokers, strict=False)).get(store, "")

    def wants_topic(self, topic: str) -> bool:
        """Tells whether messages of `topic` are wanted; a topic that is named is, RocketMQ's own or not."""
        return topic in self.topics if self.topics else self.system or not is_system_topic(topic)

    def narrowed(self, *, topics: Sequence[str] | None = None, queue_ids: Sequence[int] | None = None) -> Selection:
        """Returns the same for fewer names; nothing is left of names that were not wanted before."""
        narrower = self
        if topics is not None:
            left = [name for name in topics if not self.topics or name in self.topics]
            narrower = replace(narrower, topics=tuple(left) or ("",))  # no topic has an empty name
        if queue_ids is not None:
            kept = [number for number in queue_ids if not self.queue_ids or number in self.queue_ids]
            narrower = replace(narrower, queue_ids=tuple(kept) or (-1,))
        return narrower

    def rows(self, headers: Headers) -> NDArray[np.bool_] | None:
        """Marks the records inside the ranges and queues; None when that is all of them."""
        masks = [
            bounds.mask(values)
            for bounds, values in (
                (self.store_time_ms, headers.store_time_ms),
                (self.queue_offset, headers.queue_offset),
                (self.physical_offset, headers.physical_offset),
            )
            if not bounds.is_everything
        ]
        if self.queue_ids:
            masks.append(np.isin(headers.queue_id, self.queue_ids))
        return np.logical_and.reduce(masks) if masks else None
