"""The health of a store directory."""

from __future__ import annotations

from enum import StrEnum

from mqctl.model.config_file import ConfigFileState
from mqctl.model.damage import Damage
from mqctl.model.lazy_dataclass import dataclass


class CheckpointStatus(StrEnum):
    """What the checkpoint file is worth."""

    OK = "ok"
    ZERO = "zero"
    MISSING = "missing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointState:
    """Store times up to which commit log, consume queues and index were flushed.

    Attributes:
        confirm_offset: of a broker of 5.x: physical offset up to which its log was confirmed.
    """

    status: CheckpointStatus
    physic_time_ms: int | None = None
    logics_time_ms: int | None = None
    index_time_ms: int | None = None
    confirm_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLogState:
    """The commit log.

    Attributes:
        min_offset: physical offset of the first file.
        max_offset: end of the last accepted record.
        file_count: files, a pre-created empty one included.
        newest_store_time_ms: of the last accepted record.
    """

    min_offset: int
    max_offset: int
    file_count: int
    oldest_store_time_ms: int | None = None
    newest_store_time_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CutTail:
    """What a controller's slave was cut of, and is still in its files.

    Attributes:
        physical_offset: where its log was cut.
        size_bytes: of the records behind.
    """

    physical_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnconfirmedTail:
    """A last record that nothing else vouches for (acceptance rule 11 of offline reading)."""

    physical_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueBehind:
    """A consume queue that lacks entries for messages of the commit log.

    Attributes:
        max_offset: end of the consume queue.
        log_max_offset: end according to the commit log.
    """

    topic: str
    queue_id: int
    max_offset: int
    log_max_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockState:
    """Clocks as the messages show them.

    Attributes:
        sampled_count: messages looked at.
        born_ahead_count: messages born later than stored by more than the tolerance (10 s).
        max_born_ahead_ms: the largest such lead, None without messages.
        step_back_count: messages stored earlier than their predecessor in the commit log.
        max_step_back_ms: the largest such step.
    """

    sampled_count: int
    born_ahead_count: int = 0
    max_born_ahead_ms: int | None = None
    step_back_count: int = 0
    max_step_back_ms: int | None = None
    first_step_back_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedFile:
    """A file of a store that was deleted while a process has it open.

    Attributes:
        file: where it was, relative to the root of the store.
        size_bytes: what it takes of the disk until it is closed.
    """

    file: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """A process that holds the lock of a store.

    Attributes:
        since_ms: when the process was started; None where that cannot be told.
        open_file_count, open_file_limit: files and connections that it has open, and may; None where not told.
        deleted: files of the store that are gone and that it has open; None where not told.
    """

    pid: int
    since_ms: int | None = None
    open_file_count: int | None = None
    open_file_limit: int | None = None
    deleted: tuple[DeletedFile, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A part of the commit log that a recovery put aside.

    Attributes:
        place: its directory, relative to the root of the store.
        reason: `cut` for what lay behind a record that is none, `gap` for files that did not follow one another.
        at_ms: when; None where no note says so.
        size_bytes: how much of it was written.
        sound_record_count: whole records in it; None when they were not counted.
    """

    place: str
    reason: str
    at_ms: int | None = None
    physical_offset: int = 0
    size_bytes: int = 0
    file_count: int = 1
    sound_record_count: int | None = None
    acknowledged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageState:
    """What the files say about the store itself.

    Attributes:
        has_abort: the `abort` marker is there: the broker runs, or it did not stop cleanly.
        commit_log, checkpoint, clocks: None when not read.
        verified: whether the whole store was verified; `damages`, `behind` and `tail` are complete only then.
        dispatched_offset: end of the last record that any consume queue knows.
        disk_used_share: used share of the file system the directory lies on now; of the copy, if it is one.
        config_files: every configuration file that was looked for.
        holder: the process that holds the store's lock on this machine; None where nobody does, or it cannot be told.
        set_aside: parts of the commit log that recoveries put aside.
        mapped_file_count: files that a broker on this store maps into memory.
        map_limit: mappings that this machine lets one process have (vm.max_map_count); None where it does not say.
        file_system: type of the file system that the directory lies on, `ext4` say; None where it cannot be told.
        cut: what the broker was cut of as a slave under a controller.
    """

    has_abort: bool
    commit_log: CommitLogState | None = None
    checkpoint: CheckpointState | None = None
    clocks: ClockState | None = None
    config_files: tuple[ConfigFileState, ...] = ()
    verified: bool = False
    damages: tuple[Damage, ...] = ()
    behind: tuple[QueueBehind, ...] = ()
    tail: UnconfirmedTail | None = None
    dispatched_offset: int | None = None
    disk_used_share: float | None = None
    holder: LockHolder | None = None
    set_aside: tuple[SetAside, ...] = ()
    mapped_file_count: int | None = None
    map_limit: int | None = None
    file_system: str | None = None
    cut: CutTail | None = None
