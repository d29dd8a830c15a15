"""The figures of a store's verification."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationSummary:
    """How much was looked at.

    Attributes:
        min_offset, max_offset: physical offsets of the first byte kept and behind the last accepted record.
    """

    record_count: int
    record_bytes: int
    queue_entry_count: int
    index_entry_count: int
    topic_count: int
    min_offset: int
    max_offset: int
    first_store_time_ms: int | None
    last_store_time_ms: int | None
