"""Verification of the commit log: every record's structure, body checksum and text.

The log is gone through in windows of some hundred thousand records, so that memory does not grow with the store; what
is compared with queues and index is compared window by window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import MqctlError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.store.bad_spots import read_past
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Stop, Tail, headers
from mqctl.store.layouts import HEADER_BYTES, PAGE_BYTES
from mqctl.store.log_rows import Rows, scanner, sum_of
from mqctl.store.log_window import (
    COLUMNS,
    FILE_NUMBER,
    POSITION,
    SIZE,
    LastRecord,
    LogFindings,
    LogTable,
    StoreHost,
)
from mqctl.store.mapped_files import MappedFile
from mqctl.store.mapping_guard import BadSpotError, RefusedPart, passed_over

WINDOW_RECORDS = 1 << 18
SAMPLED = 16
"""Deviations of a kind in one file that are listed each; the last of them stands for all that follow, too."""
_LOOKS = 3
_STOP_CODES = {
    Stop.BAD_MAGIC: DamageCode.BAD_MAGIC,
    Stop.TORN: DamageCode.TORN_RECORD,
    Stop.FOREIGN: DamageCode.PHYSICAL_OFFSET_MISMATCH,
    Stop.LENGTH_MISMATCH: DamageCode.LENGTH_MISMATCH,
}


@dataclass(slots=True)
class _Tally:
    """Deviations of one kind in a file: how many, the bytes of the last one listed and behind it, and its number."""

    count: int = 0
    length_bytes: int = 0
    number: int = 0

    def add(self, count: int, length_bytes: int) -> bool:
        """Counts; tells whether enough are listed already."""
        full = self.count >= SAMPLED
        self.count += count
        if self.count >= SAMPLED:
            self.length_bytes += length_bytes
        return full


_MIB = 1 << 20


def _oddness(size_bytes: int, start: int) -> DamageGrade | None:
    """Tells how odd the size of the only file of a log is, which has no other to be compared with; None for the sizes
    that brokers are set to.

    These are powers of two, at multiples of their size. Other whole MiB may be chosen as well, or be left of a cut.
    """
    if size_bytes % PAGE_BYTES == 0 and size_bytes & (size_bytes - 1) == 0 and start % size_bytes == 0:
        return None
    return DamageGrade.ODD if size_bytes % _MIB == 0 and start % size_bytes == 0 else DamageGrade.DAMAGE


class LogVerifier:
    """Verifies some neighbouring files of a log window by window; `found` is complete when `windows` has ended."""

    def __init__(self, store: StoreDirectory, progress: Callable[[str, int, int], None]) -> None:
        self.store = store
        self.root = store.path
        self.found = LogFindings()
        self._rows = scanner(store.commit_log, indexed=bool(store.index_files()))
        self.codes = self._rows.topics
        self._progress = progress
        self._tallies: dict[tuple[DamageCode, DamageGrade, int], _Tally] = {}
        self._parts: list[NDArray[np.int64]] = []
        self._held = 0
        self._done = self._total = 0
        self._low: int | None = None
        self._files: list[MappedFile] = []
        self._topic_counts = np.empty(0, dtype=np.int64)

    def windows(self, share: range) -> Iterator[LogTable]:
        """Reads the files with the numbers `share`, yielding their accepted records; without any there is no window.

        The first window begins with its first record, the others where the one before ends.
        """
        log = self.store.commit_log
        nominal = log.file_size_bytes
        self._total = sum(log.files[number].size_bytes for number in share)
        for gap in log.gaps if share.start == 0 else ():
            self.damage(
                DamageCode.COMMIT_LOG_GAP, gap.before, None, length=gap.end - gap.start, start=gap.start, end=gap.end
            )
        for odd in log.odd_files:
            self.found.unread.append(log.odd_span(odd))
        for number in share:
            file = log.files[number]
            if not self._readable(file, nominal):
                continue
            self._files.append(file)
            later = any(_was_written(other) for other in log.files[number + 1 :])
            for _ in self._verify_file(file, later=later):
                if self._held >= WINDOW_RECORDS:
                    yield self._window()
                    for passed in self._files[:-1]:
                        passed.release()
                self._progress("commitlog", self._done + self.found.max_offset - file.start, self._total)
            self._done += file.size_bytes
            self._progress("commitlog", self._done, self._total)
        if self._held:
            yield self._window()
        self._finish()

    def _readable(self, file: MappedFile, nominal: int | None) -> bool:
        if file.size_bytes == 0:
            self.damage(DamageCode.ZERO_LENGTH_FILE, file, 0)
            return False
        if nominal is not None and file.size_bytes != nominal:
            self.damage(DamageCode.WRONG_FILE_SIZE, file, None, expected=nominal, found=file.size_bytes)
        elif len(self.store.commit_log.files) == 1 and (grade := _oddness(file.size_bytes, file.start)) is not None:
            self.damage(DamageCode.WRONG_FILE_SIZE, file, None, grade=grade, found=file.size_bytes)
        try:
            return file.buffer is not None
        except MqctlError as error:
            self.damage(DamageCode.UNREADABLE_FILE, file, None, reason=str(error))
            return False

    def _window(self) -> LogTable:
        """Makes a table of what was gathered, and counts it."""
        names = list(self.codes)
        table = LogTable(numbers=self.codes, topics=names, files=self._files, unread=tuple(self.found.unread))
        parts, self._parts, self._held = self._parts, [], 0
        columns = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        for number, name in enumerate(COLUMNS):
            setattr(table, name, columns[number])
        table.low = int(table.physical_offset[0]) if self._low is None else self._low
        self._low = table.high = int(table.physical_offset[-1] + table.size[-1])
        report = self.found
        report.record_count += len(table)
        report.record_bytes += int(table.size.sum())
        if report.first_offset is None:
            report.first_offset, report.first_store_time_ms = table.low, int(table.store_time_ms[0])
        report.last = LastRecord(
            int(table.physical_offset[-1]), int(table.size[-1]), int(table.store_time_ms[-1]),
            *table.place(self.root, -1),
        )  # fmt: skip
        counts = np.bincount(table.topic, minlength=len(self.codes))
        counts[: len(self._topic_counts)] += self._topic_counts
        self._topic_counts = counts
        report.clocks.add(self.root, table)
        self._count_hosts(table)
        return table

    def _count_hosts(self, table: LogTable) -> None:
        one = bool((table.host == table.host[0]).all())  # sorting all of them takes longer than this look
        hosts, first, counts = (
            (table.host[:1], np.zeros(1, np.int64), np.array([len(table)]))
            if one
            else np.unique(table.host, return_index=True, return_counts=True)
        )
        for host, row, count in zip(hosts.tolist(), first.tolist(), counts.tolist(), strict=True):
            file, position = table.place(self.root, row)
            name = self.found.hosts[host].name if host in self.found.hosts else self._host_name(table, row)
            place = file, position, int(table.physical_offset[row])
            self.found.add_host(host, StoreHost(name, count, *place))

    def _host_name(self, table: LogTable, row: int) -> str:
        file = self._files[int(table.file_number[row])]
        return decode_message(file.buffer.data, int(table.position[row])).store_host

    def _finish(self) -> None:
        report = self.found
        for tally in self._tallies.values():
            if tally.count > SAMPLED:
                last = report.damages[tally.number]
                report.damages[tally.number] = replace(
                    last, count=tally.count - SAMPLED + 1, length_bytes=tally.length_bytes or None
                )
        report.per_topic = dict(zip(self.codes, self._topic_counts.tolist(), strict=False))

    def damage(
        self, code: DamageCode, file: MappedFile, position: int | None, *,
        grade: DamageGrade = DamageGrade.DAMAGE, length: int | None = None, **params: int | str,
    ) -> None:  # fmt: skip
        """Notes a deviation; behind the first few of a kind in a file they are only counted.

        What the disk does not give back reads as zeros, and is no deviation of the bytes.
        """
        if position is not None and self._is_unread(file, position, length or HEADER_BYTES):
            return
        tally = self._tallies.setdefault((code, grade, file.start), _Tally())
        if tally.add(1, length or 0):
            return
        tally.number = len(self.found.damages)
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

    def add(self, file: MappedFile, rows: Rows) -> None:
        """Takes the accepted records of one chunk, and notes whose bytes are not in order."""
        if self.found.unread:
            rows = self._read(file, rows)
        rows.columns[FILE_NUMBER] = len(self._files) - 1
        self._held += rows.columns.shape[1]
        self._parts.append(rows.columns)
        positions = rows.columns[POSITION]
        listed = sorted(
            [(row, True) for row in rows.bad_sums[:SAMPLED]] + [(row, False) for row in rows.bad_texts[:SAMPLED]]
        )
        headers_of = headers(file.buffer, positions[[row for row, _ in listed]])
        for number, (row, is_sum) in enumerate(listed):
            if is_sum:
                self.damage(
                    DamageCode.BAD_CRC, file, int(positions[row]), length=int(headers_of.total_size[number]),
                    expected=int(headers_of.body_crc[number]), found=sum_of(file.buffer.data, headers_of, number),
                )  # fmt: skip
            else:
                self.damage(DamageCode.BAD_TEXT, file, int(positions[row]))
        for code, more in ((DamageCode.BAD_CRC, rows.bad_sums), (DamageCode.BAD_TEXT, rows.bad_texts)):
            left = rows.columns[SIZE][more[SAMPLED:]]
            if len(left):
                size = int(left.sum()) if code is DamageCode.BAD_CRC else 0
                self._tallies[code, DamageGrade.DAMAGE, file.start].add(len(left), size)

    def _is_unread(self, file: MappedFile, position: int, length: int) -> bool:
        low = file.start + position
        return any(low < end and begin < low + length for begin, end in self.found.unread)

    def _read(self, file: MappedFile, rows: Rows) -> Rows:
        """Leaves out records that lie on pages which the disk refused."""
        low, high = np.array(self.found.unread, dtype=np.int64).T[:, :, None] - file.start
        begin, end = rows.columns[POSITION], rows.columns[POSITION] + rows.columns[SIZE]
        return rows.without(((begin < high) & (low < end)).any(axis=0))

    def _verify_file(self, file: MappedFile, *, later: bool) -> Iterator[None]:
        """Goes through one file, pausing after every chunk of records, and past what its disk refuses."""
        start, looks = 0, 0
        self._note_unread(file, passed_over(file.path))
        while True:
            try:
                for end in self._verify_from(file, start, later=later):
                    start = end
                    yield
                return
            except BadSpotError as error:
                looks += 1
                if error.path != file.path or looks > _LOOKS:
                    raise
                self._note_unread(file, read_past(file, error.reason))

    def _note_unread(self, file: MappedFile, parts: Sequence[RefusedPart]) -> None:
        for low, high, reason in parts:
            self.damage(DamageCode.UNREADABLE_FILE, file, low, length=high - low, reason=reason)
        self.found.unread.extend((file.start + low, file.start + high) for low, high, _ in parts)

    def _verify_from(self, file: MappedFile, position: int, *, later: bool) -> Iterator[int]:
        """Goes through a file from `position` on; yields where each chunk of records ends."""
        log = self.store.commit_log
        while True:
            tail = Tail(Stop.END, position)
            for rows, end in self._rows.scan(file, position):
                if rows is not None:
                    self.add(file, rows)
                    self.found.max_offset = int(rows.columns[0, -1] + rows.columns[SIZE, -1])
                    self.found.followed = False
                    yield self.found.max_offset - file.start
                tail = end or tail
            if tail.stop in (Stop.END, Stop.BLANK):
                break
            onward = log.resync(file, tail.position)
            if tail.stop is not Stop.UNWRITTEN:
                self._report_stop(file, tail, onward, later=later)
            elif later or onward is not None:
                length = (file.size_bytes if onward is None else onward) - tail.position
                self.damage(DamageCode.HOLE, file, tail.position, length=length)
            if onward is None:
                return
            position = onward
        left = file.size_bytes - tail.position
        if tail.stop is Stop.BLANK:
            self.found.followed = True
            if tail.size != left:
                self.damage(
                    DamageCode.BLANK_LENGTH_MISMATCH, file, tail.position, grade=DamageGrade.ODD,
                    expected=left, found=tail.size,
                )  # fmt: skip

    def _report_stop(self, file: MappedFile, tail: Tail, onward: int | None, *, later: bool) -> None:
        """Reports what ended a walk. At the very end of a killed broker's log a torn record is what one expects."""
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
        torn_end = onward is None and not later and self.store.abort() and code is not DamageCode.FOREIGN_RECORD
        grade = DamageGrade.EXPECTED if torn_end else DamageGrade.DAMAGE
        self.damage(code, file, tail.position, grade=grade, length=end - tail.position, **params)


def _was_written(file: MappedFile) -> bool:
    try:
        return bool(file.size_bytes and file.buffer[:8].any())
    except BadSpotError:
        return True


def oddities(log: LogFindings) -> Iterator[Damage]:
    """Yields what only shows when the whole log was looked at: clocks that went back, and records of other brokers."""
    clocks = log.clocks
    if clocks.first is not None:
        file, position, physical_offset = clocks.first
        yield Damage(
            code=DamageCode.STORE_TIME_STEP_BACK,
            grade=DamageGrade.ODD,
            file=file,
            offset=position,
            physical_offset=physical_offset,
            count=clocks.step_back_count,
            params={"step_ms": clocks.max_step_back_ms},
        )
    yield from _foreign_hosts(log.hosts)


def _foreign_hosts(hosts: Mapping[int, StoreHost]) -> Iterator[Damage]:
    """Records that name another store host than most: another broker's file, or a broker whose address changed.

    Containers get another address at each start, and half and delayed messages keep the older one when the broker
    stores them again: this is only worth knowing beside a deviation of the queues.
    """
    most = max((each.count for each in hosts.values()), default=0)
    own = next((host for host in sorted(hosts) if hosts[host].count == most), None)
    for host in sorted(hosts):
        if host == own:
            continue
        each = hosts[host]
        yield Damage(
            code=DamageCode.FOREIGN_RECORD,
            grade=DamageGrade.EXPECTED,
            file=each.file,
            offset=each.position,
            physical_offset=each.physical_offset,
            count=each.count,
            params={"store_host": each.name},
        )
