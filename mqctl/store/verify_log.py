"""Verification of the commit log: every record's structure, body checksum and text."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mqctl.errors import MqctlError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import SYSFLAG_BORN_HOST_V6, SYSFLAG_STORE_HOST_V6
from mqctl.model.storage_state import ClockState
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int32s, Int64s, Stop, Tail, gather
from mqctl.store.layouts import CRC_MASK
from mqctl.store.mapped_files import MappedFile
from mqctl.store.texts import factorize, java_hashes, property_spans, topic_codes

BORN_AHEAD_TOLERANCE_MS = 10_000
_STOP_CODES = {
    Stop.BAD_MAGIC: DamageCode.BAD_MAGIC,
    Stop.TORN: DamageCode.TORN_RECORD,
    Stop.FOREIGN: DamageCode.PHYSICAL_OFFSET_MISMATCH,
    Stop.LENGTH_MISMATCH: DamageCode.LENGTH_MISMATCH,
}


def _ints() -> Int64s:
    return np.empty(0, dtype=np.int64)


@dataclass
class LogTable:
    """The accepted records of a log as columns, ascending by physical offset; what queues and index are joined with.

    `topic` (int32) indexes `topics`; `tag_hash` is Java's hash of TAGS, 0 without; `file_number` indexes `files`.
    """

    physical_offset: Int64s = field(default_factory=_ints)
    position: Int64s = field(default_factory=_ints)
    size: Int64s = field(default_factory=_ints)
    queue_id: Int64s = field(default_factory=_ints)
    queue_offset: Int64s = field(default_factory=_ints)
    store_time_ms: Int64s = field(default_factory=_ints)
    sys_flag: Int64s = field(default_factory=_ints)
    topic: Int64s = field(default_factory=_ints)
    tag_hash: Int64s = field(default_factory=_ints)
    file_number: Int64s = field(default_factory=_ints)
    host: Int64s = field(default_factory=_ints)
    topics: list[str] = field(default_factory=list)
    files: list[MappedFile] = field(default_factory=list)

    def per_topic(self) -> dict[str, int]:
        """Counts records by topic, names sorted."""
        counts = np.bincount(self.topic, minlength=len(self.topics)).tolist()
        return dict(sorted(zip(self.topics, counts, strict=True)))

    @staticmethod
    def relative(root: Path, file: MappedFile) -> str:
        """Names a file by its path below the store's root, or in full when the log lives elsewhere."""
        return file.path.relative_to(root).as_posix() if file.path.is_relative_to(root) else file.path.as_posix()


_COLUMNS = (
    "physical_offset", "position", "size", "queue_id", "queue_offset", "store_time_ms", "sys_flag", "topic", "tag_hash",
    "file_number", "host",
)  # fmt: skip


@dataclass
class LogFindings:
    """What the log's verification found; `followed` says that a valid filler stands behind the last record."""

    table: LogTable = field(default_factory=LogTable)
    damages: list[Damage] = field(default_factory=list)
    clocks: ClockState = field(default_factory=lambda: ClockState(sampled_count=0))
    max_offset: int = 0
    followed: bool = False


class _Collector:
    """Gathers columns file by file and numbers topics over all of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.found = LogFindings()
        self.codes: dict[str, int] = {}
        self.parts: list[tuple[Int64s, ...]] = []
        self.born_ahead: list[Int64s] = []

    def damage(
        self, code: DamageCode, file: MappedFile, position: int | None, *,
        grade: DamageGrade = DamageGrade.DAMAGE, length: int | None = None, **params: int | str,
    ) -> None:  # fmt: skip
        self.found.damages.append(
            Damage(
                code=code,
                grade=grade,
                file=LogTable.relative(self.root, file),
                offset=position,
                physical_offset=None if position is None else file.start + position,
                length_bytes=length,
                params=params,
            )
        )

    def add(self, file: MappedFile, rows: Headers) -> None:
        """Takes the accepted records of one chunk, checking body and text of each."""
        self._check_bytes(file, rows)
        alphabet = topic_codes(file.buffer, rows)
        numbers = np.array([self.codes.setdefault(name, len(self.codes)) for name in alphabet.names], dtype=np.int64)
        self.parts.append(
            (
                rows.physical_offset,
                rows.position,
                rows.total_size.astype(np.int64),
                rows.queue_id.astype(np.int64),
                rows.queue_offset,
                rows.store_time_ms,
                rows.sys_flag.astype(np.int64),
                numbers[alphabet.codes],
                tag_hashes(file.buffer, rows).astype(np.int64),
                np.full(len(rows), len(self.found.table.files) - 1, dtype=np.int64),
                _store_hosts(file, rows),
            )
        )
        self.born_ahead.append(rows.born_time_ms - rows.store_time_ms)

    def _check_bytes(self, file: MappedFile, rows: Headers) -> None:
        view, crc32 = file.buffer.data, zlib.crc32
        bodies = zip(rows.body_start.tolist(), rows.topic_start.tolist(), strict=True)
        wide = (rows.magic & 4).tolist()  # the magics end with A7 and AB: this bit is V1's
        sums = [
            crc32(view[start : topic - (1 if v1 else 2)]) & CRC_MASK
            for (start, topic), v1 in zip(bodies, wide, strict=True)
        ]
        for row in np.flatnonzero(np.array(sums, dtype=np.int64) != rows.body_crc).tolist():
            self.damage(
                DamageCode.BAD_CRC, file, int(rows.position[row]), length=int(rows.total_size[row]),
                expected=int(rows.body_crc[row]), found=sums[row],
            )  # fmt: skip
        spans = (
            rows.position.tolist(), rows.topic_start.tolist(), rows.topic_size.tolist(),
            rows.properties_start.tolist(), rows.properties_size.tolist(),
        )  # fmt: skip
        for position, topic, topic_size, start, size in zip(*spans, strict=True):
            if not (_is_text(view[topic : topic + topic_size]) and _is_text(view[start : start + size])):
                self.damage(DamageCode.BAD_TEXT, file, position)

    def finish(self) -> LogFindings:
        table = self.found.table
        if self.parts:
            for name, column in zip(_COLUMNS, zip(*self.parts, strict=True), strict=True):
                setattr(table, name, np.concatenate(column))
        table.topics = list(self.codes)
        self.found.clocks = self._clocks()
        self._foreign_hosts()
        return self.found

    def _clocks(self) -> ClockState:
        table = self.found.table
        times = table.store_time_ms
        if not len(times):
            return ClockState(sampled_count=0)
        steps = np.diff(times)
        back = np.flatnonzero(steps < 0) + 1
        lead = np.concatenate(self.born_ahead)
        if len(back):
            first = int(back[0])
            self.found.damages.append(
                Damage(
                    code=DamageCode.STORE_TIME_STEP_BACK,
                    grade=DamageGrade.ODD,
                    file=table.relative(self.root, table.files[int(table.file_number[first])]),
                    offset=int(table.position[first]),
                    physical_offset=int(table.physical_offset[first]),
                    count=len(back),
                    params={"step_ms": int(-steps.min())},
                )
            )
        return ClockState(
            sampled_count=len(times),
            born_ahead_count=int((lead > BORN_AHEAD_TOLERANCE_MS).sum()),
            max_born_ahead_ms=int(lead.max()),
            step_back_count=len(back),
            max_step_back_ms=int(-steps.min()) if len(back) else None,
            first_step_back_offset=int(table.physical_offset[back[0]]) if len(back) else None,
        )

    def _foreign_hosts(self) -> None:
        """Records that name another store host than most: another broker's file, or a broker that moved."""
        table = self.found.table
        hosts, first, counts = np.unique(table.host, return_index=True, return_counts=True)
        for number in range(len(hosts)):
            if counts[number] == counts.max() and hosts[number] == hosts[counts.argmax()]:
                continue
            row = int(first[number])
            file = table.files[int(table.file_number[row])]
            record = decode_message(file.buffer.data, int(table.position[row]))
            self.found.damages.append(
                Damage(
                    code=DamageCode.FOREIGN_RECORD,
                    grade=DamageGrade.ODD,
                    file=table.relative(self.root, file),
                    offset=int(table.position[row]),
                    physical_offset=record.physical_offset,
                    count=int(counts[number]),
                    params={"store_host": record.store_host},
                )
            )


def _is_text(piece: memoryview) -> bool:
    data = bytes(piece)
    if data.isascii():
        return b"\0" not in data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _store_hosts(file: MappedFile, rows: Headers) -> Int64s:
    """A number that is the same for the same store host (an IPv6 host by its first eight bytes and port)."""
    at = rows.position + 56 + 8 + 12 * ((rows.sys_flag & SYSFLAG_BORN_HOST_V6) != 0)
    host: Int64s = gather(file.buffer, ">i8", at).astype(np.int64)
    wide = np.flatnonzero(rows.sys_flag & SYSFLAG_STORE_HOST_V6)
    host[wide] ^= gather(file.buffer, ">i4", at[wide] + 16)
    return host


def tag_hashes(buffer: np.ndarray[tuple[int], np.dtype[np.uint8]], rows: Headers) -> Int32s:
    """Java's hash of each record's TAGS, 0 without."""
    span = property_spans(buffer, rows, ["TAGS"])["TAGS"]
    values, known = java_hashes(buffer, span.start, span.size, np.zeros(len(rows), np.int32))
    values[~span.present] = 0
    odd = np.flatnonzero(span.present & ~known)
    if len(odd):
        alphabet = factorize(buffer, span.start[odd], span.size[odd])
        table = np.array([java_string_hash(name) for name in alphabet.names], dtype=np.int32)
        values[odd] = table[alphabet.codes]
    return values


def verify_log(store: StoreDirectory, progress: Callable[[str, int, int], None]) -> LogFindings:
    """Reads the whole commit log: damage, clocks, and the table of accepted records."""
    log = store.commit_log
    collect = _Collector(store.path)
    nominal = log.file_size_bytes
    total = sum(file.size_bytes for file in log.files)
    if not log.files:
        collect.found.damages.append(
            Damage(code=DamageCode.MISSING_PART, grade=DamageGrade.ODD, file="commitlog", params={"reason": "no files"})
        )
    for gap in log.gaps:
        collect.damage(
            DamageCode.COMMIT_LOG_GAP, gap.before, None, length=gap.end - gap.start, start=gap.start, end=gap.end
        )
    done = 0
    for number, file in enumerate(log.files):
        if file.size_bytes == 0:
            collect.damage(DamageCode.ZERO_LENGTH_FILE, file, 0)
            continue
        if nominal is not None and file.size_bytes != nominal:
            collect.damage(DamageCode.WRONG_FILE_SIZE, file, None, expected=nominal, found=file.size_bytes)
        try:
            buffer = file.buffer
        except MqctlError as error:
            collect.damage(DamageCode.UNREADABLE_FILE, file, None, reason=str(error))
            continue
        collect.found.table.files.append(file)
        later = any(bool(other.size_bytes and other.buffer[:8].any()) for other in log.files[number + 1 :])
        _verify_file(store, collect, file, later=later)
        done += len(buffer)
        progress("commitlog", done, total)
    found = collect.finish()
    if found.max_offset == 0:
        found.max_offset = log.min_offset
    return found


def _verify_file(store: StoreDirectory, collect: _Collector, file: MappedFile, *, later: bool) -> None:
    log = store.commit_log
    position = 0
    while True:
        tail = Tail(Stop.END, position)
        for rows, end in log.scan(file, position):
            if rows is not None and len(rows):
                collect.add(file, rows)
                last = int(rows.position[-1] + rows.total_size[-1])
                collect.found.max_offset = file.start + last
                collect.found.followed = False
            tail = end or tail
        if tail.stop in (Stop.END, Stop.BLANK):
            break
        onward = log.resync(file, tail.position)
        if tail.stop is not Stop.UNWRITTEN:
            _report_stop(store, collect, file, tail, onward, later=later)
        elif later or onward is not None:
            length = (file.size_bytes if onward is None else onward) - tail.position
            collect.damage(DamageCode.HOLE, file, tail.position, length=length)
        if onward is None:
            return
        position = onward
    left = file.size_bytes - tail.position
    if tail.stop is Stop.BLANK:
        collect.found.followed = True
        if tail.size != left:
            collect.damage(
                DamageCode.BLANK_LENGTH_MISMATCH, file, tail.position, grade=DamageGrade.ODD,
                expected=left, found=tail.size,
            )  # fmt: skip


def _report_stop(
    store: StoreDirectory, collect: _Collector, file: MappedFile, tail: Tail, onward: int | None, *, later: bool
) -> None:
    """Reports what ended a walk. At the very end of the log of a killed broker a torn record is what one expects."""
    end = file.size_bytes if onward is None else onward
    code = _STOP_CODES[tail.stop]
    params: dict[str, int | str] = {"size": tail.size, "magic": f"{tail.magic & 0xFFFFFFFF:08X}"}
    if tail.stop is Stop.FOREIGN:
        try:
            record = decode_message(file.buffer.data, tail.position)
        except RecordError:
            pass
        else:
            code = DamageCode.FOREIGN_RECORD
            params |= {"found": record.physical_offset, "store_host": record.store_host, "topic": record.topic}
    torn_end = onward is None and not later and store.abort() and code is not DamageCode.FOREIGN_RECORD
    grade = DamageGrade.EXPECTED if torn_end else DamageGrade.DAMAGE
    collect.damage(code, file, tail.position, grade=grade, length=end - tail.position, **params)
