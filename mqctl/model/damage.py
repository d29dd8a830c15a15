"""What can be wrong with the bytes of a store, and how much of it was looked at, as values.

The sentences live in the message catalogue; a `Damage` carries the place and the numbers that fill them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import Text, key_of, restored, values_of


class DamageGrade(StrEnum):
    """How a deviation is to be taken.

    DAMAGE: bytes contradict the format or each other; a broker would truncate, refuse to start or serve wrong data.
    EXPECTED: what a running, killed, cleaning or moved broker normally leaves; its own recovery mends what it must.
    ODD: legal but unusual; worth knowing when something else is wrong.
    """

    DAMAGE = "damage"
    EXPECTED = "expected"
    ODD = "odd"


class DamageCode(StrEnum):
    """Kinds of deviation, by the file that shows them."""

    # Commit log.
    COMMIT_LOG_GAP = "commit_log_gap"
    WRONG_FILE_SIZE = "wrong_file_size"
    ZERO_LENGTH_FILE = "zero_length_file"
    TORN_RECORD = "torn_record"
    BAD_MAGIC = "bad_magic"
    BAD_CRC = "bad_crc"
    BAD_TEXT = "bad_text"
    PHYSICAL_OFFSET_MISMATCH = "physical_offset_mismatch"
    LENGTH_MISMATCH = "length_mismatch"
    BLANK_LENGTH_MISMATCH = "blank_length_mismatch"
    FOREIGN_RECORD = "foreign_record"
    FOREIGN_ENTRY = "foreign_entry"
    HOLE = "hole"
    UNCONFIRMED_TAIL = "unconfirmed_tail"
    STORE_TIME_STEP_BACK = "store_time_step_back"
    # Consume queue.
    QUEUE_GAP = "queue_gap"
    QUEUE_TORN_ENTRY = "queue_torn_entry"
    QUEUE_ENTRY_DANGLING = "queue_entry_dangling"
    QUEUE_ENTRY_MISMATCH = "queue_entry_mismatch"
    QUEUE_TAG_MISMATCH = "queue_tag_mismatch"
    QUEUE_OFFSET_MISMATCH = "queue_offset_mismatch"
    QUEUE_BEHIND_LOG = "queue_behind_log"
    QUEUE_MISSING_RECORD = "queue_missing_record"
    QUEUE_GONE = "queue_gone"
    QUEUE_STALE_ENTRIES = "queue_stale_entries"
    # Consume queue extension.
    EXT_UNRESOLVED = "ext_unresolved"
    EXT_TAG_MISMATCH = "ext_tag_mismatch"
    # Index files.
    INDEX_HEADER = "index_header"
    INDEX_ENTRY_DANGLING = "index_entry_dangling"
    INDEX_CHAIN = "index_chain"
    INDEX_HASH_MISMATCH = "index_hash_mismatch"
    INDEX_BEHIND_LOG = "index_behind_log"
    # Timer files of 5.x.
    TIMER_LOG_GAP = "timer_log_gap"
    TIMER_CHECK = "timer_check"
    TIMER_SLOT = "timer_slot"
    TIMER_RECORD_UNLED = "timer_record_unled"
    TIMER_RECORD_DANGLING = "timer_record_dangling"
    TIMER_MESSAGE_MISSING = "timer_message_missing"
    # The rest.
    CHECKPOINT_UNREADABLE = "checkpoint_unreadable"
    CHECKPOINT_ZERO = "checkpoint_zero"
    CONFIG_UNPARSABLE = "config_unparsable"
    CONFIG_ON_BACKUP = "config_on_backup"
    CONFIG_MISSING = "config_missing"
    UNREADABLE_FILE = "unreadable_file"
    MISSING_PART = "missing_part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One deviation, or a run of alike ones side by side.

    Attributes:
        file: path relative to the store's root, with `/` between the parts.
        offset: byte position in `file` of the first deviation.
        physical_offset: commit log position concerned, where there is one.
        length_bytes: bytes concerned, where they form a range.
        count: number of records, entries or files that deviate in the same way; `offset` is the first's.
        topic, queue_id: the queue concerned.
        params: what else the sentence needs, such as `expected` and `found`.
        reason_key, reason_values: of the reason among them, where mqctl said it.
    """

    code: DamageCode
    grade: DamageGrade
    file: str
    offset: int | None = None
    physical_offset: int | None = None
    length_bytes: int | None = None
    count: int = 1
    topic: str | None = None
    queue_id: int | None = None
    params: Mapping[str, int | str] = field(default_factory=dict)
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        reason = self.params.get("reason")
        if isinstance(reason, Text):
            object.__setattr__(self, "reason_key", key_of(reason))
            object.__setattr__(self, "reason_values", values_of(reason))
        elif isinstance(reason, str) and self.reason_key is not None:
            again = restored(reason, self.reason_key, self.reason_values)
            object.__setattr__(self, "params", {**self.params, "reason": again})


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
