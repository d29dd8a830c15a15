"""Two lists of business keys beside each other: what one has and the other has not, or more often."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.report_rows import StoreRead


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledKey:
    """A key on which both sides differ.

    Attributes:
        first_ms, last_ms: store times of its messages, epoch milliseconds, of the side that has any.
    """

    key: str
    expected_count: int
    stored_count: int
    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """What is expected and what is stored, by key.

    Attributes:
        expected, stored: where each side comes from.
        key: property that holds the keys of messages.
        expected_count, stored_count: rows or messages with a key; a message with several keys counts for each.
        expected_keyless_count, stored_keyless_count: those without one; they cannot be reconciled.
        missing_key_count: expected keys that are not stored at all.
        extra_key_count: stored keys that nobody expected.
        repeated_key_count: keys stored more often than expected.
        short_key_count: keys stored less often than expected, but at least once.
        missing, extra, repeated, short: the first of each by key.
        read: what was read of each store; bytes that are no records may hide a key.
    """

    expected: str
    stored: str
    key: str
    expected_count: int
    expected_key_count: int
    expected_keyless_count: int
    stored_count: int
    stored_key_count: int
    stored_keyless_count: int
    matched_key_count: int
    missing_key_count: int
    extra_key_count: int
    repeated_key_count: int
    short_key_count: int
    missing: list[ReconciledKey]
    extra: list[ReconciledKey]
    repeated: list[ReconciledKey]
    short: list[ReconciledKey]
    read: list[StoreRead]

    @property
    def lost(self) -> bool:
        """Whether something that is expected is not there."""
        return bool(self.missing_key_count or self.short_key_count)

    @property
    def surplus(self) -> bool:
        """Whether something is there that nobody expected."""
        return bool(self.extra_key_count or self.repeated_key_count)
