"""What verification takes from the bytes of a commit log file: records as columns, and whose bytes are not in order.

Two twins do the same: numpy with one call of zlib a record, and one compiled pass for large logs where numba is there.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import field
from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mqctl.model.java_hash import java_string_hash
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import SYSFLAG_BORN_HOST_V6, SYSFLAG_STORE_HOST_V6
from mqctl.store.commitlog import CommitLog
from mqctl.store.kernel import Headers, Int32s, Int64s, Tail, classify, gather, headers
from mqctl.store.layouts import CRC_MASK
from mqctl.store.log_window import COLUMNS, NO_KEY
from mqctl.store.mapped_files import Buffer, MappedFile
from mqctl.store.texts import factorize, java_hashes, odd_texts, property_spans, topic_codes
from mqctl.store.walk import record_limit

WORTH_BYTES = 256 << 20
"""Bytes of commit log from which on loading numba is worth it, which costs 0.2 to 0.4 s of CPU; compiling takes a few
seconds more where nothing is kept yet."""
_CHUNK_ROWS = 1 << 14
_BOOK_ROWS = 1 << 12


@dataclass(frozen=True, slots=True)
class Rows:
    """Some neighbouring records.

    Attributes:
        columns: one row a column, in the order of `COLUMNS`; that of the file numbers is left to the caller.
        bad_sums: rows whose body has another sum than the record says.
        bad_texts: rows whose topic or properties are no text.
    """

    columns: NDArray[np.int64]
    bad_sums: list[int]
    bad_texts: list[int]

    def without(self, left_out: NDArray[np.bool_]) -> Rows:
        """Leaves out the marked rows."""
        kept = ~left_out
        numbers = np.cumsum(kept) - 1
        sums, texts = (numbers[[row for row in rows if kept[row]]].tolist() for rows in (self.bad_sums, self.bad_texts))
        return Rows(self.columns[:, kept], sums, texts)


class RowScanner(Protocol):
    """Goes through files record by record; `topics` are those it met, by the numbers in its columns."""

    topics: dict[str, int]

    def scan(self, file: MappedFile, start: int) -> Iterator[tuple[Rows | None, Tail | None]]:
        """Walks a file from position `start`; the last pair carries the tail and no rows."""
        ...


def scanner(log: CommitLog, *, indexed: bool) -> RowScanner:
    """Returns the quicker of the twins for a log; `indexed`: the index hashes of unique keys are wanted, too."""
    local = not any(file.is_fetched for file in log.files)
    if local and sum(file.size_bytes for file in log.files) >= WORTH_BYTES and has_compiled():
        return CompiledScanner(log, indexed=indexed)
    return NumpyScanner(log, indexed=indexed)


def sum_of(view: memoryview, rows: Headers, row: int) -> int:
    """Returns the sum of a record's body as the record should say it."""
    start = int(rows.body_start[row])
    return zlib.crc32(view[start : start + int(rows.body_size[row])]) & CRC_MASK


@dataclass
class NumpyScanner:
    """The plain twin: columns by numpy, sums by zlib."""

    log: CommitLog
    indexed: bool
    topics: dict[str, int] = field(default_factory=dict)

    def scan(self, file: MappedFile, start: int) -> Iterator[tuple[Rows | None, Tail | None]]:
        for part, tail in self.log.scan(file, start):
            yield (self._rows(file.buffer, part) if part is not None and len(part) else None), tail

    def _rows(self, buffer: Buffer, headers: Headers) -> Rows:
        alphabet = topic_codes(buffer, headers)
        names = alphabet.names
        numbers = np.array([self.topics.setdefault(name, len(self.topics)) for name in names], dtype=np.int64)
        spans = property_spans(buffer, headers, ["TAGS", "UNIQ_KEY"] if self.indexed else ["TAGS"])
        columns = np.empty((len(COLUMNS), len(headers)), dtype=np.int64)
        values: dict[str, Any] = {
            "physical_offset": headers.physical_offset,
            "position": headers.position,
            "size": headers.total_size,
            "queue_id": headers.queue_id,
            "queue_offset": headers.queue_offset,
            "store_time_ms": headers.store_time_ms,
            "sys_flag": headers.sys_flag,
            "topic": numbers[alphabet.codes],
            "tag_hash": tag_hashes(buffer, spans["TAGS"].start, spans["TAGS"].size),
            "host": _store_hosts(buffer, headers),
            "born_lead_ms": headers.born_time_ms - headers.store_time_ms,
            "unique_hash": NO_KEY,
            "file_number": 0,
        }
        if self.indexed:
            seeds = np.array([java_string_hash(f"{name}#") for name in names], dtype=np.int32)[alphabet.codes]
            values["unique_hash"] = _index_hashes(buffer, spans["UNIQ_KEY"].start, spans["UNIQ_KEY"].size, seeds)
        for number, name in enumerate(COLUMNS):
            columns[number] = values[name]
        return Rows(columns, _bad_sums(buffer.data, headers), _bad_texts(buffer, headers))


@dataclass
class CompiledScanner:
    """The compiled twin."""

    log: CommitLog
    indexed: bool
    topics: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _numbers: Int64s = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _book: NDArray[np.int64] = field(default_factory=lambda: np.zeros((_BOOK_ROWS, 3), dtype=np.int64))

    def scan(self, file: MappedFile, start: int) -> Iterator[tuple[Rows | None, Tail | None]]:
        from mqctl.store.compiled.reading import address_of
        from mqctl.store.compiled.records import CRC_TABLES, check_records

        buffer = file.buffer
        base, limit = address_of(buffer), record_limit(buffer, self.log.capacity)
        columns = np.empty((len(COLUMNS), _CHUNK_ROWS), dtype=np.int64)
        flags = np.empty(_CHUNK_ROWS, dtype=np.uint8)
        at = start
        while True:
            count, seen = check_records(
                base + at, file.start + at, base + limit, base + len(buffer), CRC_TABLES,
                self._book, len(self._names), int(self.indexed), columns, flags,
            )  # fmt: skip
            if count:
                yield self._rows(file, columns[:, :count], flags[:count], seen), None
                at = int(columns[0, count - 1] + columns[2, count - 1]) - file.start
            if 2 * seen >= len(self._book):
                self._book = _grown(self._book)
            elif count < _CHUNK_ROWS:
                yield None, classify(buffer, at, file.start, limit)
                return

    def _rows(self, file: MappedFile, columns: NDArray[np.int64], flags: NDArray[np.uint8], seen: int) -> Rows:
        from mqctl.store.compiled.records import BAD_CRC, ODD_TAGS, ODD_TEXT

        buffer = file.buffer
        columns = columns.copy()
        columns[1] = columns[0] - file.start
        self._learn(buffer, columns, seen)
        columns[7] = self._numbers[columns[7]]
        odd = np.flatnonzero(flags & (ODD_TEXT | ODD_TAGS))
        bad_texts: list[int] = []
        if len(odd):
            parsed = headers(buffer, columns[1][odd])
            texts = _bad_texts(buffer, parsed, np.flatnonzero(flags[odd] & ODD_TEXT))
            bad_texts = odd[texts].tolist()
            tagged = np.flatnonzero(flags[odd] & ODD_TAGS)
            spans = property_spans(buffer, parsed.take(tagged), ["TAGS"])["TAGS"]
            columns[8][odd[tagged]] = tag_hashes(buffer, spans.start, spans.size)
        return Rows(columns, np.flatnonzero(flags & BAD_CRC).tolist(), bad_texts)

    def _learn(self, buffer: Buffer, columns: NDArray[np.int64], seen: int) -> None:
        """Names the topics that these records are the first of."""
        for number in range(len(self._names), seen):
            row = int(np.argmax(columns[7] == number))
            parsed = headers(buffer, columns[1][row : row + 1])
            start = int(parsed.topic_start[0])
            name = bytes(buffer[start : start + int(parsed.topic_size[0])]).decode("utf-8", "replace")
            self._names.append(name)
            self._numbers = np.append(self._numbers, self.topics.setdefault(name, len(self.topics)))


def _grown(book: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the table of topics with twice the room."""
    wider = np.zeros((2 * len(book), 3), dtype=np.int64)
    mask = len(wider) - 1
    for row in book[book[:, 1] > 0]:
        slot = int(row[0]) & mask
        while wider[slot, 1]:
            slot = (slot + 1) & mask
        wider[slot] = row
    return wider


def _bad_sums(view: memoryview, rows: Headers) -> list[int]:
    ends = rows.body_start + rows.body_size
    bodies = map(view.__getitem__, map(slice, rows.body_start.tolist(), ends.tolist()))
    sums = np.fromiter(map(zlib.crc32, bodies), dtype=np.int64, count=len(rows))
    bad: list[int] = np.flatnonzero((sums & CRC_MASK) != rows.body_crc).tolist()
    return bad


def _bad_texts(buffer: Buffer, rows: Headers, among: Int64s | None = None) -> list[int]:
    """Finds records whose topic or properties are no UTF-8, or hold a NUL; None looks among all that are not plain."""
    if among is None:
        plain = odd_texts(buffer, rows.topic_start, rows.topic_size)
        among = np.flatnonzero(plain | odd_texts(buffer, rows.properties_start, rows.properties_size))
    view = buffer.data
    bad = []
    for row in among.tolist():
        topic, properties = int(rows.topic_start[row]), int(rows.properties_start[row])
        topic_end = topic + int(rows.topic_size[row])
        if not (
            _is_text(view[topic:topic_end]) and _is_text(view[properties : properties + rows.properties_size[row]])
        ):
            bad.append(row)
    return bad


def _is_text(piece: memoryview) -> bool:
    data = bytes(piece)
    if data.isascii():
        return b"\0" not in data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _store_hosts(buffer: Buffer, rows: Headers) -> Int64s:
    """A number that is the same for the same store host (an IPv6 host by its first eight bytes and port)."""
    at = rows.position + 56 + 8 + 12 * ((rows.sys_flag & SYSFLAG_BORN_HOST_V6) != 0)
    host: Int64s = gather(buffer, ">i8", at).astype(np.int64)
    wide = np.flatnonzero(rows.sys_flag & SYSFLAG_STORE_HOST_V6)
    host[wide] ^= gather(buffer, ">i4", at[wide] + 16)
    return host


def tag_hashes(buffer: Buffer, start: Int64s, size: Int32s) -> Int32s:
    """Java's hash of each record's TAGS, which stand in these spans; 0 without."""
    values, known = java_hashes(buffer, start, size, np.zeros(len(start), np.int32))
    values[start < 0] = 0
    odd = np.flatnonzero((start >= 0) & ~known)
    if len(odd):
        alphabet = factorize(buffer, start[odd], size[odd])
        table = np.array([java_string_hash(name) for name in alphabet.names], dtype=np.int32)
        values[odd] = table[alphabet.codes]
    return values


def _index_hashes(buffer: Buffer, start: Int64s, size: Int32s, seeds: Int32s) -> Int64s:
    """The index hash of each record's UNIQ_KEY, which stands in these spans; NO_KEY where there is no plain one."""
    values, known = java_hashes(buffer, start, size, seeds)
    hashes = np.abs(values.astype(np.int64))
    hashes[hashes == 1 << 31] = 0
    return np.where(known, hashes, NO_KEY)


@cache
def has_compiled() -> bool:
    """Loads what the compiled functions need; tells whether they can be used."""
    try:
        import_module("mqctl.store.compiled.reading")
    except (ImportError, RuntimeError):  # not installed, not for this numpy, or no directory for its cache
        return False
    return True
