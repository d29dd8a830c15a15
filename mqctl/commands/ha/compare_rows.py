"""What a comparison of two stores found: the machine form of `ha compare`, and what it means for scripts."""

from __future__ import annotations

from typing import Any

from mqctl.errors import ExitCode
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import keep_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDifference:
    """A configuration table in which two stores differ.

    Attributes:
        differing_count: entries that are in one only, or differ.
        examples: the first of them.
    """

    table: str
    only_a_count: int
    only_b_count: int
    differing_count: int
    examples: str
    table_key: str | None = None
    table_values: dict[str, Any] | None = None
    examples_key: str | None = None
    examples_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "table", "examples")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadTable:
    """A table, or the epochs, of a store that could not be read, so that nothing is known of it."""

    store: str
    table: str
    reason: str
    table_key: str | None = None
    table_values: dict[str, Any] | None = None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "table", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSeen:
    """A message where the logs begin to differ."""

    topic: str
    queue_id: int
    queue_offset: int
    keys: list[str]
    unique_id: str | None
    stored_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochSeen:
    """One master's time: `epoch` began at the physical offset `start`."""

    epoch: int
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOnly:
    """Messages of a queue that only one store has.

    Attributes:
        store: `A` or `B`.
        place: `start` of its log (the other one begins later), `middle` (a file of the other one is missing), or `end`:
            behind the other one's end, or with other bytes than the other one has there.
        first_offset, last_offset: queue offsets. From a difference on both stores may use the same ones for different
            messages.
    """

    store: str
    place: str
    topic: str
    queue_id: int
    message_count: int
    first_offset: int
    last_offset: int
    stored_from_ms: int
    stored_to_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerEffect:
    """What a group's consumers meet on a topic when one store serves them in place of the other.

    Attributes:
        serving: the store that serves, with its own offsets: `A` or `B`.
        read_again_count: messages that were consumed by the other store's offsets, and not by its own.
        missed_count: messages that only the other store has, and that were not consumed by its offsets.
        without_offset_count: queues that the group has an offset for in the other store only.
    """

    serving: str
    group: str
    topic: str
    read_again_count: int
    missed_count: int
    without_offset_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreComparison:
    """Machine form of `ha compare`.

    Attributes:
        state: `equal`, `b-behind`, `b-ahead`, `a-empty`, `b-empty`, `different`, `file-missing` or `nothing-in-common`.
        a_start, a_end, b_start, b_end: physical bounds of the logs, the ends behind the last record that can be read.
        a_unread_bytes, b_unread_bytes: written behind that: half a record, or remains of other ones.
        a_cut_bytes, b_cut_bytes: of a slave that its controller's master cut: whole records behind the end, which are
            no part of its log; a restart brings them back.
        a_is_open, b_is_open: whether a broker on this machine has the store open.
        a_has_abort, b_has_abort: whether its broker had not stopped cleanly: it ran, or was killed.
        a_file_bytes, b_file_bytes: size of the log's files.
        compared_bytes: of the range that both have.
        first_difference: physical offset of the first record that differs; `different_byte`: of the byte.
        equal_again_at: from where on both are equal again up to the end of what both have; None where they are not.
        a_record, b_record: the message there; None where no record can be read.
        a_confirm_offset, b_confirm_offset: of brokers under a controller: up to where the whole set had it.
        a_epochs, b_epochs: of brokers under a controller: which masters wrote from which offset on.
        epochs_meet_at: up to where both logs are the same by their epochs: a slave is cut there.
        a_only_message_count, b_only_message_count: messages that cannot be read in the other one.
        queues: the same by queue.
        tables: those that differ; `unread_tables`: those that nobody could compare.
        consumers: what groups read again, and what they miss, if A serves in place of B, and B in place of A.
    """

    a: str
    b: str
    state: str
    a_start: int
    a_end: int
    b_start: int
    b_end: int
    a_unread_bytes: int
    b_unread_bytes: int
    a_cut_bytes: int
    b_cut_bytes: int
    a_is_open: bool
    b_is_open: bool
    a_has_abort: bool
    b_has_abort: bool
    a_file_bytes: int | None
    b_file_bytes: int | None
    compared_bytes: int
    first_difference: int | None
    different_byte: int | None
    equal_again_at: int | None
    a_record: RecordSeen | None
    b_record: RecordSeen | None
    a_confirm_offset: int | None
    b_confirm_offset: int | None
    a_epochs: list[EpochSeen] | None
    b_epochs: list[EpochSeen] | None
    epochs_meet_at: int | None
    a_only_message_count: int
    b_only_message_count: int
    queues: list[QueueOnly]
    tables: list[TableDifference]
    unread_tables: list[UnreadTable]
    consumers: list[ConsumerEffect]

    def exit_code(self) -> ExitCode:
        """0 equal, 1 one has less or tables differ, 2 the logs differ, 3 not all could be compared."""
        if self.state == "different":
            return ExitCode.ERROR
        if self.state in ("nothing-in-common", "file-missing") or self.unread_tables:
            return ExitCode.UNKNOWN
        is_same = (
            self.state == "equal"
            and self.a_start == self.b_start
            and self.a_unread_bytes == self.b_unread_bytes
            and not (self.a_cut_bytes or self.b_cut_bytes or self.tables or self.has_other_files)
            and self.epochs_fit
        )
        return ExitCode.OK if is_same else ExitCode.WARNING

    @property
    def has_other_files(self) -> bool:
        """Whether the log files of both have different sizes, with which a slave cannot follow."""
        return None not in (self.a_file_bytes, self.b_file_bytes) and self.a_file_bytes != self.b_file_bytes

    @property
    def epochs_fit(self) -> bool:
        """Whether neither would be cut as a slave of the other one, as far as epochs tell."""
        if self.a_epochs is None or self.b_epochs is None:
            return self.a_epochs is self.b_epochs
        return self.epochs_meet_at is not None and self.epochs_meet_at >= max(self.a_end, self.b_end)
