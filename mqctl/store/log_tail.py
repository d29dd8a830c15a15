"""Entries of consume queues as a broker makes them of its log, for queues that lack them.

Consume queues in RocksDB are written without RocksDB's own log (`ConsumeQueueRocksDBStorage`): a broker that is killed
loses what its tables in memory held, and makes it anew of the commit log when it starts. Source: `doDispatch`,
`CommitLog.checkMessageAndReturnSize`, `MultiDispatchUtils` of 5.3.3 and 5.5.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mqctl.model.delay_level import DelayLevelTable
from mqctl.model.message import DELAY
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.model.numbers import decimal
from mqctl.protocol.properties import NAME_VALUE_SEPARATOR
from mqctl.store.commitlog import CommitLog
from mqctl.store.dispatch_rules import is_consumable, tags_code
from mqctl.store.kernel import Headers, Stop
from mqctl.store.layouts import QUEUE_ENTRY_STRUCT
from mqctl.store.log_rows import tag_hashes
from mqctl.store.mapped_files import MappedFile
from mqctl.store.texts import property_spans, topic_codes

Place = tuple[str, int]
_DISPATCH, _OFFSETS = "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET"
_LEVELS = DelayLevelTable.parse()


def entries_behind(directories: Sequence[Path], dispatched: int) -> dict[Place, list[tuple[int, bytes]]]:
    """Returns the entries of all records from a physical offset on, by queue, in the order of their queue offsets.

    Raises:
        MqctlError: a file of the log cannot be read.
    """
    queues: dict[Place, dict[int, bytes]] = {}
    for file, rows in _records(CommitLog(tuple(directories)), dispatched):
        for place, offset, entry in _entries(file, rows):
            queues.setdefault(place, {}).setdefault(offset, entry)
    return {place: sorted(entries.items()) for place, entries in sorted(queues.items())}


def _records(log: CommitLog, start: int) -> Iterator[tuple[MappedFile, Headers]]:
    """Yields records from a physical offset on, up to where the log ends or is not sound: a broker cuts it there."""
    for file in log.files:
        if file.end <= start or not file.size_bytes:
            continue
        for rows, tail in log.scan(file, max(0, start - file.start)):
            if rows is not None and len(rows):
                yield file, rows
            if tail is not None and tail.stop not in (Stop.BLANK, Stop.END):
                return


def _entries(file: MappedFile, rows: Headers) -> Iterator[tuple[Place, int, bytes]]:
    buffer = file.buffer
    topics = topic_codes(buffer, rows)
    spans = property_spans(buffer, rows, ["TAGS", DELAY, _DISPATCH, _OFFSETS])
    levels, names, offsets = (spans[name].texts(buffer) for name in (DELAY, _DISPATCH, _OFFSETS))
    columns = (
        *(topics.codes, tag_hashes(buffer, spans["TAGS"].start, spans["TAGS"].size), rows.queue_id, rows.queue_offset),
        *(rows.position, rows.total_size, rows.sys_flag, rows.store_time_ms),
    )
    for row, (code, tag_hash, queue_id, offset, position, size, flag, stored_ms) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        topic = topics.names[code] if code >= 0 else ""
        if not _is_directory(topic) or queue_id < 0 or offset < 0 or not is_consumable(flag):
            continue
        waits = topic == SCHEDULE_TOPIC and levels[row]
        level = f"{DELAY}{NAME_VALUE_SEPARATOR}{levels[row]}"
        tags = tags_code(topic, level, stored_ms, _LEVELS) if waits else tag_hash
        entry = QUEUE_ENTRY_STRUCT.pack(file.start + position, size, tags)
        yield (topic, queue_id), offset, entry
        for name, at in _others(names[row] or "", offsets[row] or ""):
            yield (name, 0), at, entry


def _is_directory(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _others(names: str, offsets: str) -> Iterator[tuple[str, int]]:
    """Yields the further queues of a message with its places there; without places there are none."""
    for name, text in zip(names.split(","), offsets.split(","), strict=False):
        at = decimal(text)
        if _is_directory(name) and at is not None:
            yield name, at
