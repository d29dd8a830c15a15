"""Settings of the message store, under RocketMQ's names in snake case (`MessageStoreConfig` of 4.9.8)."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mqctl.store.layouts import COMMIT_LOG_FILE_BYTES, EXT_FILE_BYTES, INDEX_ENTRIES, INDEX_SLOTS, QUEUE_FILE_BYTES

ASYNC_FLUSH = "ASYNC_FLUSH"
SYNC_FLUSH = "SYNC_FLUSH"
_MEMORY_RATIO_PERCENT = 40


def _in_memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _MEMORY_RATIO_PERCENT // 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How a store is laid out and kept.

    Attributes:
        mapped_file_size_commit_log, mapped_file_size_consume_queue: bytes; a real broker that is to open the same
            directory needs the same sizes.
        enable_consume_queue_ext: entries point to units beside their queue, with store time and bit map.
        max_hash_slot_num, max_index_num: shape of an index file.
        flush_disk_type: SYNC_FLUSH makes data durable before it is acknowledged.
        flush_interval_commit_log: milliseconds between flushes of the log that nobody waits for.
        flush_consume_queue_thorough_interval: milliseconds between flushes of everything; they also write the
            checkpoint.
        file_reserved_time: hours that a log file is kept after it was written last.
        delete_when: local hours in which files past their time are deleted, separated by semicolons.
        clean_resource_interval: milliseconds between looks at what to delete.
        disk_max_used_space_ratio: percent of the disk in use above which files past their time go at any hour.
        disk_space_clean_forcibly_ratio, disk_space_warning_level_ratio: percent above which the oldest files go
            whatever their age, and above which sends are refused. A real broker has 85 and 90; 0 switches them off,
            which is the default here: the disk of a laptop or a build machine is full of other things, and a disk
            that is really full is refused by the write itself.
        in_memory_bytes: how far behind the log's end a pull may read before it counts as reading from disk
            (`accessMessageInMemoryMaxRatio`, 40 percent of the machine's memory).
        max_transfer_count_on_message_in_memory, max_transfer_bytes_on_message_in_memory: what one pull gets at most.
        max_transfer_count_on_message_in_disk, max_transfer_bytes_on_message_in_disk: the same of messages on disk.
        enable_lmq, enable_multi_dispatch: messages may name further queues (`LightQueues`); light ones need both.
        as_real: a record comes into its queue a moment after its send was answered, as in a real broker.
        is_v5: lay out as 5.x does: topics above 127 bytes in the second layout, the process id in `abort`.
    """

    mapped_file_size_commit_log: int = COMMIT_LOG_FILE_BYTES
    mapped_file_size_consume_queue: int = QUEUE_FILE_BYTES
    enable_consume_queue_ext: bool = False
    mapped_file_size_consume_queue_ext: int = EXT_FILE_BYTES
    max_hash_slot_num: int = INDEX_SLOTS
    max_index_num: int = INDEX_ENTRIES
    message_index_enable: bool = True
    max_message_size: int = 4 * 1024 * 1024
    flush_disk_type: str = ASYNC_FLUSH
    flush_interval_commit_log: int = 500
    flush_consume_queue_thorough_interval: int = 60_000
    file_reserved_time: int = 72
    delete_when: str = "04"
    clean_resource_interval: int = 10_000
    disk_max_used_space_ratio: int = 75
    disk_space_clean_forcibly_ratio: int = 0
    disk_space_warning_level_ratio: int = 0
    in_memory_bytes: int = _in_memory_bytes()
    max_transfer_count_on_message_in_memory: int = 32
    max_transfer_bytes_on_message_in_memory: int = 256 * 1024
    max_transfer_count_on_message_in_disk: int = 8
    max_transfer_bytes_on_message_in_disk: int = 64 * 1024
    enable_lmq: bool = False
    enable_multi_dispatch: bool = False
    as_real: bool = False
    is_v5: bool = False
