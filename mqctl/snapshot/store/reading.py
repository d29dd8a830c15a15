"""One pass over a store's cheap parts, shared by the gatherers: configuration, queue bounds, store times by offset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import cached_property

import numpy as np

from mqctl.errors import MqctlError
from mqctl.model.config_file import FileSource
from mqctl.model.gap import Cause, Gap, GapSubject, Part, cause_of
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqctl.store import config_files as configs
from mqctl.store.config_files import LoadedConfig, OffsetTable
from mqctl.store.consumequeue import ConsumeQueue, Entries, is_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int64s
from mqctl.store.layouts import MAGIC_V1, MAGIC_V2
from mqctl.store.unread_files import no_entries, odd_topics, queue_file_size, why_incomplete, why_unread
from mqctl.text import composed, sentence

_PARTS = {
    configs.TOPICS: Part.TOPICS,
    configs.GROUPS: Part.GROUPS,
    configs.CONSUMER_OFFSETS: Part.CONSUMER_OFFSETS,
    configs.DELAY_OFFSETS: Part.DELAY,
    configs.ORDER_INFOS: Part.POP,
    configs.REQUEST_MODES: Part.POP,
    configs.USERS: Part.ACCESS,
    configs.ACLS: Part.ACCESS,
}

_TOLD_BY = {
    SCHEDULE_TOPIC: (Part.DELAY_QUEUES,),
    TIMER_TOPIC: (Part.DELAY_TIMERS,),
    HALF_TOPIC: (Part.TRANSACTIONS,),
    OP_TOPIC: (Part.TRANSACTIONS,),
}
"""What queues of RocketMQ's own topics tell besides."""

_OF_QUEUES = (Part.DELAY_QUEUES, Part.DELAY_TIMERS, Part.TRANSACTIONS, Part.OFFSET_JUMPS)


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """A consume queue with its readable range [min_offset, max_offset)."""

    queue: ConsumeQueue
    min_offset: int
    max_offset: int


@dataclass
class Reading:
    """A store being read. What cannot be read is noted in `gaps` and left out, never guessed.

    Attributes:
        gone_queues: queues that lack files with messages, as verification shows.
        unread_queues: queues whose files could not be read.
        incomplete_queues: queues that do not show all of their messages.
    """

    store: StoreDirectory
    gaps: list[Gap] = field(default_factory=list)
    gone_queues: frozenset[tuple[str, int]] = frozenset()
    unread_queues: set[tuple[str, int]] = field(default_factory=set)
    incomplete_queues: set[tuple[str, int]] = field(default_factory=set)
    _configs: dict[str, LoadedConfig] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = self.store.with_logged_entries()

    def miss(self, part: Part, reason: str, *, subject: GapSubject | None = None, cause: Cause = Cause.DAMAGED) -> None:
        """Notes that `part`, or what `subject` says of it, could not be read."""
        self.gaps.append(Gap(part=part, cause=cause, reason=reason, subject=subject))

    def is_deleted(self, physical_offset: int) -> bool:
        """Whether the broker that runs on the store has deleted this part of its log since the look began."""
        if self.store.cut is None:
            return False
        now = StoreDirectory.open(self.store.path, commit_log_paths=self.store.commit_log_paths)
        return physical_offset < now.commit_log.min_offset

    def config(self, name: str) -> LoadedConfig:
        """Reads a configuration file as the broker would, once; what cannot be read is noted."""
        if name not in self._configs:
            try:
                self._configs[name] = self.store.config(name)
            except MqctlError as error:
                file = self._configs[name] = configs.unread_config(name, error)
                if name in _PARTS:
                    self.miss(
                        _PARTS[name],
                        sentence(
                            "snapshot-config",
                            "config/{name} {main_problem}",
                            name=name,
                            main_problem=file.state.main_problem,
                        ),
                    )
        return self._configs[name]

    @cached_property
    def offset_table(self) -> OffsetTable:
        """Committed consumer offsets; a file that is of no use is noted, for nobody committed is another matter."""
        file = self.config(configs.CONSUMER_OFFSETS)
        in_rocksdb = any(part.part == "config/consumerOffsets" for part in self.store.unreadable)
        if file.state.source is FileSource.NONE and not in_rocksdb:
            self.miss(
                Part.CONSUMER_OFFSETS,
                sentence(
                    "snapshot-backup-no-use",
                    "{state} and its backup are of no use: {main_problem}",
                    state=file.state.name,
                    main_problem=file.state.main_problem,
                ),
            )
        return configs.consumer_offsets(file)

    def was_written(self, queue: tuple[str, int]) -> bool:
        """Whether anything shows that messages came to a queue that has no files, or none that can be read."""
        topic, queue_id = queue
        consumed = (
            offsets.get(queue_id, 0) for (name, _), offsets in self.offset_table.offsets.items() if name == topic
        )
        return queue in self.gone_queues | self.unread_queues or any(consumed)

    @cached_property
    def bounds(self) -> dict[tuple[str, int], QueueBounds]:
        """Every consume queue by (topic, queue id) with its bounds; empty when they are kept in a RocksDB."""
        log_min = self.store.commit_log.min_offset
        table: dict[tuple[str, int], QueueBounds] = {}
        places = self.store.queue_ids()
        size = queue_file_size(self.store.consume_queue(*place) for place in places)

        def look(queue: ConsumeQueue) -> tuple[QueueBounds, str]:
            return QueueBounds(queue, queue.min_offset(log_min), queue.max_offset), why_incomplete(queue, size)

        for topic, queue_id in places:
            try:
                table[topic, queue_id], reason = self.store.look_at_queue(topic, queue_id, look)
                if reason:
                    self._miss_entries(table[topic, queue_id].queue, reason)
            except MqctlError as error:
                self.unread_queues.add((topic, queue_id))
                subject = GapSubject(topic=topic, queue_id=queue_id)
                for part in (Part.QUEUES, *_TOLD_BY.get(topic, ())):
                    self.miss(part, why_unread(self.store, error), subject=subject, cause=cause_of(error))
        for each in odd_topics(self.store):
            subject = GapSubject(topic=each.part.split("/")[1])
            self.miss(
                Part.QUEUES,
                composed("{part}: {reason}", part=each.part, reason=each.reason),
                subject=subject,
                cause=Cause.UNREADABLE,
            )
        if not table and self.lacks_queues:
            self._miss_queues(Part.QUEUES)
        return table

    def _miss_entries(self, queue: ConsumeQueue, reason: str) -> None:
        """Notes once that a queue does not show all of its messages."""
        if (queue.topic, queue.queue_id) not in self.incomplete_queues:
            self.incomplete_queues.add((queue.topic, queue.queue_id))
            subject = GapSubject(topic=queue.topic, queue_id=queue.queue_id)
            for part in (Part.QUEUES, *_TOLD_BY.get(queue.topic, ())):
                self.miss(part, reason, subject=subject)

    def _miss_queues(self, *parts: Part) -> None:
        for part in parts:
            self.miss(
                part,
                sentence(
                    "snapshot-no-consumequeue-directory-not",
                    "there is no consumequeue directory: not copied, or to be built from the log",
                ),
            )

    @cached_property
    def lacks_queues(self) -> bool:
        """Whether queues without files are no empty ones: all files of all queues are missing."""
        root, log = self.store.path, self.store.commit_log
        if (root / "consumequeue").is_dir():
            return False
        return log.max_offset != log.min_offset or not (root / "commitlog").is_dir()

    def note_unreadable_formats(self) -> None:
        """Notes the parts that live in a RocksDB, or in memory, and what queues would show that are not there."""
        if self.lacks_queues:
            self._miss_queues(*_OF_QUEUES)
        parts = {
            "consumequeue": (Part.QUEUES, *_OF_QUEUES),
            "config/topics": (Part.TOPICS,),
            "config/subscriptionGroups": (Part.GROUPS,),
            "config/consumerOffsets": (Part.CONSUMER_OFFSETS,),
            "rocksdbstore": (Part.TRANSACTIONS,),
            "rocksdbstore/trans": (Part.TRANSACTIONS,),
        }
        for unreadable in (*self.store.unreadable, *self.store.in_memory):
            for part in parts.get(unreadable.part, ()):
                self.miss(part, unreadable.reason, cause=Cause.UNREADABLE)
        if unknown := self.store.unknown:
            place = ", ".join(part.part for part in unknown)
            self.miss(Part.STORAGE, unknown[0].reason, subject=GapSubject(place=place), cause=Cause.UNREADABLE)

    def physical_offset(self, bounds: QueueBounds, offset: int) -> int | None:
        """Returns the physical offset of the entry at queue offset `offset`, or None outside the readable range."""
        if not bounds.min_offset <= offset < bounds.max_offset:
            return None
        entries = bounds.queue.entries(offset, offset + 1)
        if len(entries) == 1 and is_message(entries)[0]:
            return int(entries["physical_offset"][0])
        self._miss_entries(bounds.queue, no_entries(offset, offset + 1))
        return None

    def entries(self, bounds: QueueBounds, low: int | None = None) -> tuple[Int64s, Entries]:
        """Returns queue offsets and entries of messages from `low` (default: the minimum) to the end."""
        first = max(bounds.min_offset, bounds.min_offset if low is None else low)
        offsets, parts = [], []
        for start, entries in bounds.queue.runs(first, bounds.max_offset):
            keep = is_message(entries)
            if not keep.all():  # fillers are before the minimum
                holes = np.flatnonzero(~keep)
                self._miss_entries(bounds.queue, no_entries(start + int(holes[0]), start + int(holes[-1]) + 1))
            offsets.append(np.arange(start, start + len(entries), dtype=np.int64)[keep])
            parts.append(entries[keep])
        if not parts:
            return np.empty(0, dtype=np.int64), bounds.queue.entries(0, 0)
        return np.concatenate(offsets), np.concatenate(parts)

    def ext_tags(self, topic: str, queue_id: int, addresses: Int64s) -> Int64s:
        """Returns the tags codes that extension `addresses` (int64) stand for; -1 where no unit stands there."""
        units = self.store.consume_queue_ext(topic, queue_id).resolve(addresses)
        tags: Int64s = np.where(units.found, units.tags_code, -1)
        return tags

    def store_times(self, physical_offsets: Iterable[int]) -> dict[int, int]:
        """Returns the store time of every record that really starts at one of `physical_offsets`."""
        # Not np.unique: it imports numpy.ma, 10 ms that a lag question cannot spare.
        wanted = np.array(sorted({place for place in physical_offsets if place >= 0}), dtype=np.int64)
        times: dict[int, int] = {}
        log = self.store.commit_log
        for file in log.files:
            try:
                parts = log.headers(wanted, (file,))
            except MqctlError as error:
                self._miss_times(self.store.relative(file.path), error.reason or error.problem)
                continue
            for _, headers in parts:
                good = valid(headers, file.start)
                records = headers.take(good)
                times.update(zip(records.physical_offset.tolist(), records.store_time_ms.tolist(), strict=True))
        for odd in log.odd_files:
            low, high = np.searchsorted(wanted, log.odd_span(odd))
            if low < high:
                self._miss_times(self.store.relative(odd.path), odd.reason)
        return times

    def _miss_times(self, file: str, reason: str) -> None:
        """Notes once that a file of the log does not tell when its messages were stored."""
        subject = GapSubject(place=file)
        if not any(gap.part is Part.STORE_TIMES and gap.subject == subject for gap in self.gaps):
            self.miss(Part.STORE_TIMES, reason, subject=subject, cause=Cause.UNREADABLE)


def valid(headers: Headers, file_start: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Marks the headers of real records: a message's magic, and at home where they stand."""
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]] = ((headers.magic == MAGIC_V1) | (headers.magic == MAGIC_V2)) & (
        headers.physical_offset == headers.position + file_start
    )
    return mask
