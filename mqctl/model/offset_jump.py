"""Forced offset changes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetJump:
    """A forced offset change that the broker recorded in OFFSET_MOVED_EVENT (PULL_OFFSET_MOVED answers)."""

    group: str
    topic: str
    queue_id: int
    broker_name: str | None
    requested_offset: int
    corrected_offset: int
    store_time_ms: int
