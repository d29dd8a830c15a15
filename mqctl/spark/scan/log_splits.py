"""Scanning commit logs in splits: which byte ranges of which files hold what is wanted, and their records in chunks.

Splits are cut anywhere; where a record really begins is found from its magic and its own physical offset, by both
neighbours alike, so that every record belongs to exactly one split. Behind a damaged spot a split goes on at the next
sound record, as no broker would, and tells how many bytes it passed over.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from mqctl.spark.scan.planning import open_store
from mqctl.spark.scan.pruning import ranges_left, topic_places
from mqctl.spark.selection import CLOCK_SLACK_MS, Selection
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Stop, Tail, gather
from mqctl.store.layouts import HEADER_BYTES
from mqctl.store.mapped_files import Buffer, MappedFile
from mqctl.store.texts import Alphabet, topic_codes
from mqctl.store.walk import find_record, scan

SMALLEST_SPLIT_BYTES = 64 << 20
_BLOCK_WORDS = 1 << 18
_STEP_BYTES = 32 << 10
LARGEST_SPLIT_BYTES = 256 << 20
"""Bigger splits ship fewer partial groups and cost more memory: a worker stays below 300 MB with these."""


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class FileWalk(Protocol[T_co]):
    """Walks the records of a file from `start` on; the last pair has the tail."""

    def __call__(
        self, buffer: Buffer, file_start: int, start: int, /, *, capacity: int | None
    ) -> Iterator[tuple[T_co | None, Tail | None]]: ...


@dataclass(frozen=True, slots=True)
class LogSplit:
    """The records of one commit log file that begin at byte positions in [low, high).

    Attributes:
        start: physical offset of the file's first byte.
        end: position behind the file's last byte that is not zero: nothing is looked for behind it.
        is_followed: whether a later file of the log holds anything: zeros up to the end of this one are a hole then.
    """

    store: str
    start: int
    low: int
    high: int
    end: int
    is_followed: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some wanted records of one file, with their topics."""

    store: str
    buffer: Buffer
    found: Headers
    topics: Alphabet


@dataclass(slots=True)
class Coverage:
    """What a split was read as.

    Attributes:
        messages, bytes: sound records seen, wanted or not.
        skipped_bytes: bytes passed over between sound records, holes among them, or behind the last where something
            follows it that is no record.
        stop: why the walk ended at last.
        damaged_at: physical offsets of the first damaged spots.
        own_messages: wanted ones that mqctl itself sent; tracks leave them out.
    """

    store: str
    start: int
    messages: int = 0
    bytes: int = 0
    skipped_bytes: int = 0
    stop: str = Stop.END.value
    damaged_at: tuple[int, ...] = ()
    own_messages: int = 0


def log_splits(wanted: Selection, count: int) -> list[list[LogSplit]]:
    """Cuts the commit logs into at most about `count` shares of like size; files and ranges outside are left out."""
    stores = [(path, open_store(path)) for path in wanted.stores]
    total = sum(_about(file) for _, store in stores for file in store.commit_log.files)
    step = min(max(SMALLEST_SPLIT_BYTES, -(-total // max(1, count))), LARGEST_SPLIT_BYTES)
    splits = [split for path, store in stores for split in _splits_of(path, store, wanted, step)]
    splits.sort(key=lambda split: split.low - split.high)
    # Small files of many stores share a task: starting one costs more than reading them.
    shares: list[list[LogSplit]] = []
    sizes: list[int] = []
    for split in splits:
        size = split.high - split.low
        if sizes and sizes[-1] + size <= step:
            shares[-1].append(split)
            sizes[-1] += size
        else:
            shares.append([split])
            sizes.append(size)
    return shares


def _about(file: MappedFile) -> int:
    """The used bytes of a file; its size where looking for their end would have to query for some of them."""
    return file.size_bytes if file.is_fetched else used_bytes(file)


def _splits_of(path: str, store: StoreDirectory, wanted: Selection, step: int) -> Iterator[LogSplit]:
    """Yields the splits whose physical offsets, topics and store times may hold something wanted.

    A record's store time is at or after that of an earlier one, but for a clock that was set back; `CLOCK_SLACK_MS`
    is allowed for that.
    """
    log = store.commit_log
    left = ranges_left(topic_places(store, wanted, step), log.files, step, used_bytes)
    newest = next((file.start for file in reversed(log.files) if used_bytes(file)), -1)
    candidates = [
        LogSplit(path, file.start, low, min(low + step, end), end, is_followed)
        for file in log.files
        if wanted.physical_offset.touches(file.start, file.end) and left.get(file.start, True)
        for end, is_followed in [(used_bytes(file), file.start < newest)]
        for low in range(0, max(end, int(is_followed)), step)
        if low in left.get(file.start, range(low + 1))
        and wanted.physical_offset.touches(file.start + low, file.start + min(low + step, end) - 1)
    ]
    if wanted.store_time_ms.is_everything:
        yield from candidates
        return
    files = {file.start: file for file in log.files}
    times = [first_store_time(files[split.start], split.low, split.high) for split in candidates]
    for number, split in enumerate(candidates):
        first = times[number]
        if first is None and split.low:
            continue  # a record that reaches into this range begins in the one before
        following = next((time for time in times[number + 1 :] if time is not None), None)
        low = -(1 << 61) if first is None else first - CLOCK_SLACK_MS
        high = (1 << 61) if following is None else following + CLOCK_SLACK_MS
        if wanted.store_time_ms.touches(low, high):
            yield split


def used_bytes(file: MappedFile) -> int:
    """Returns the position behind the last byte of a file that is not zero, without reading its holes.

    Files are made in their full size before they are written; the unwritten rest is a hole, or zeros.
    """
    if file.is_fetched:
        return file.fetched_end()
    high = _data_end(file)
    words = file.buffer[: high // 8 * 8].view(np.uint64)
    if file.buffer[len(words) * 8 : high].any():
        return high
    while len(words):
        block = words[-_BLOCK_WORDS:]
        if block.any():
            return (len(words) - len(block) + int(np.flatnonzero(block)[-1]) + 1) * 8
        words = words[: len(words) - len(block)]
    return 0


def _data_end(file: MappedFile) -> int:
    """Returns where the last hole of a file begins, or its size where the file system does not tell."""
    size = min(file.size_bytes, len(file.buffer))
    if not hasattr(os, "SEEK_HOLE"):
        return size
    try:
        descriptor = os.open(file.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return size  # gone since it was mapped
    end = at = 0
    try:
        while at < size:
            begin = os.lseek(descriptor, at, os.SEEK_DATA)
            end = at = os.lseek(descriptor, begin, os.SEEK_HOLE)
    except OSError as error:
        if error.errno != errno.ENXIO:  # no more data
            return size
    finally:
        os.close(descriptor)
    return min(end, size)


def first_store_time(file: MappedFile, low: int, high: int) -> int | None:
    """Returns the store time (epoch ms) of the first record that begins in [low, high) of a file; None without one."""
    buffer, at = first_record(file, low, high)
    if at is None or at + HEADER_BYTES > len(buffer):
        return None
    sys_flag = int.from_bytes(bytes(buffer[at + 36 : at + 40]), "big")
    place = np.array([at + 56 + (12 if sys_flag & 0x10 else 0)], dtype=np.int64)
    return int(gather(buffer, ">i8", place)[0])


def first_record(file: MappedFile, low: int, high: int) -> tuple[Buffer, int | None]:
    """Returns the file's bytes and where the first record in [low, high) begins; no more is fetched than it takes."""
    high = min(high, len(file.known))
    step, end = _STEP_BYTES if file.is_fetched else high - low, low
    while end < high:
        begin, end = end, min(end + step, high)
        step *= 2
        buffer = file.view(begin, end + HEADER_BYTES)
        at = find_record(buffer, buffer.data, file.start, begin, end)
        if at is not None:
            return buffer, at
    return file.known, None


def chunks(split: LogSplit, wanted: Selection, covered: Coverage) -> Iterator[Chunk]:
    """Yields the wanted records of a split; `covered` is filled on the way."""
    for buffer, headers in sound_parts(split, covered, scan):
        covered.messages += len(headers)
        covered.bytes += int(headers.total_size.sum(dtype=np.int64))
        yield from _chunk(split.store, buffer, headers, wanted)


def sound_parts(split: LogSplit, covered: Coverage, read: FileWalk[T]) -> Iterator[tuple[Buffer, T]]:
    """Yields what `read` makes of the sound records of a split, with the file's bytes; notes where and why it stopped.

    `read` walks records from a position on until something is none, and tells what that is at last.
    """
    log = open_store(split.store).commit_log
    file = next((each for each in log.files if each.start == split.start), None)
    if file is None or not len(file.known):
        # Planned and gone: retention has deleted it since, or this host has another copy.
        covered.skipped_bytes += split.high - split.low
        covered.damaged_at = (split.start + split.low,)
        return
    buffer, capacity = file.known, log.capacity
    first = 0 if split.low == 0 else first_record(file, split.low, split.high)[1]
    if first is None:
        return
    end = min(split.end, len(buffer))
    following = first_record(file, split.high, end)[1] if split.high < end else None
    buffer = file.view(first, end if following is None else following)
    if following is not None:
        buffer, capacity = buffer[:following], None
    position: int | None = first
    spots: list[int] = []
    while position is not None:
        resume: int | None = None
        for part, tail in read(buffer, file.start, position, capacity=capacity):
            if part is not None:
                yield buffer, part
            if tail is not None:
                covered.stop = tail.stop.value
                resume, passed = _resume(buffer, split, tail, is_cut=following is not None)
                if passed is not None:
                    covered.skipped_bytes += passed
                    spots.append(file.start + tail.position)
        position = resume
    covered.damaged_at = tuple(spots[:10])


def _resume(buffer: Buffer, split: LogSplit, tail: Tail, *, is_cut: bool) -> tuple[int | None, int | None]:
    """Returns where sound records go on behind a damaged spot, and how many bytes are passed over.

    Zeros are the end of the log where nothing follows them, and a hole where something does.

    Args:
        is_cut: whether the buffer ends where a record of the next split begins.
    """
    if tail.is_clean and tail.stop is not Stop.UNWRITTEN:
        return None, None
    end = min(split.end, len(buffer))
    following = find_record(buffer, buffer.data, split.start, tail.position + 1, end)
    if following is not None:
        return following, following - tail.position
    if tail.stop is Stop.UNWRITTEN:
        return None, len(buffer) - tail.position if is_cut or split.is_followed else None
    return None, max(0, end - tail.position)


def _chunk(store: str, buffer: Buffer, headers: Headers, wanted: Selection) -> Iterator[Chunk]:
    mask = wanted.rows(headers)
    if mask is not None and not mask.all():
        headers = headers.take(mask)
    if not len(headers):
        return
    topics = topic_codes(buffer, headers)
    keep = np.array([wanted.wants_topic(name) for name in topics.names] + [False], dtype=bool)
    if not keep[:-1].all() or (topics.codes < 0).any():
        rows = keep[topics.codes]
        headers, topics = headers.take(rows), Alphabet(topics.codes[rows], topics.names)
    if len(headers):
        yield Chunk(store, buffer, headers, topics)


def shares_of(splits: Sequence[LogSplit], wanted: Selection) -> Iterator[tuple[Iterator[Chunk], Coverage]]:
    """Yields the chunks of each split with the coverage that is true once they are used up."""
    for split in splits:
        covered = Coverage(split.store, split.start)
        yield chunks(split, wanted, covered), covered
