"""Verification of the commit log: every record's structure, body checksum and text.

The log is gone through in windows of some hundred thousand records, so that memory does not grow with the store; what
is compared with queues and index is compared window by window.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np

from mqctl.errors import MqctlError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import SYSFLAG_BORN_HOST_V6, SYSFLAG_STORE_HOST_V6
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int32s, Int64s, Stop, Tail, gather
from mqctl.store.layouts import CRC_MASK
from mqctl.store.log_window import COLUMNS, Clocks, LastRecord, LogFindings, LogTable
from mqctl.store.mapped_files import MappedFile
from mqctl.store.texts import factorize, java_hashes, property_spans, topic_codes

WINDOW_RECORDS = 1 << 19
_STOP_CODES = {
    Stop.BAD_MAGIC: DamageCode.BAD_MAGIC,
    Stop.TORN: DamageCode.TORN_RECORD,
    Stop.FOREIGN: DamageCode.PHYSICAL_OFFSET_MISMATCH,
    Stop.LENGTH_MISMATCH: DamageCode.LENGTH_MISMATCH,
}


class LogVerifier:
    """Verifies a log window by window; `found` is complete when `windows` has ended."""

    def __init__(self, store: StoreDirectory, progress: Callable[[str, int, int], None]) -> None:
        self.store = store
        self.root = store.path
        self.found = LogFindings()
        self.codes: dict[str, int] = {}
        self._progress = progress
        self._parts: list[tuple[Int64s, ...]] = []
        self._held = 0
        self._low = store.commit_log.min_offset
        self._files: list[MappedFile] = []
        self._clocks = Clocks()
        self._topic_counts = np.empty(0, dtype=np.int64)
        self._hosts: dict[int, tuple[int, MappedFile, int]] = {}

    def windows(self) -> Iterator[LogTable]:
        """Reads the whole log, yielding its accepted records; an empty log has no window."""
        log = self.store.commit_log
        nominal = log.file_size_bytes
        total = sum(file.size_bytes for file in log.files)
        if not log.files:
            self.found.damages.append(
                Damage(
                    code=DamageCode.MISSING_PART, grade=DamageGrade.ODD, file="commitlog", params={"reason": "no files"}
                )
            )
        for gap in log.gaps:
            self.damage(
                DamageCode.COMMIT_LOG_GAP, gap.before, None, length=gap.end - gap.start, start=gap.start, end=gap.end
            )
        done = 0
        for number, file in enumerate(log.files):
            if not self._readable(file, nominal):
                continue
            self._files.append(file)
            later = any(bool(other.size_bytes and other.buffer[:8].any()) for other in log.files[number + 1 :])
            for _ in self._verify_file(file, later=later):
                if self._held >= WINDOW_RECORDS:
                    yield self._window()
                    for passed in self._files[:-1]:
                        passed.release()
            done += file.size_bytes
            self._progress("commitlog", done, total)
        if self._held:
            yield self._window()
        self._finish()

    def _readable(self, file: MappedFile, nominal: int | None) -> bool:
        if file.size_bytes == 0:
            self.damage(DamageCode.ZERO_LENGTH_FILE, file, 0)
            return False
        if nominal is not None and file.size_bytes != nominal:
            self.damage(DamageCode.WRONG_FILE_SIZE, file, None, expected=nominal, found=file.size_bytes)
        try:
            return file.buffer is not None
        except MqctlError as error:
            self.damage(DamageCode.UNREADABLE_FILE, file, None, reason=str(error))
            return False

    def _window(self) -> LogTable:
        """Makes a table of what was gathered, and counts it."""
        table = LogTable(low=self._low, topics=list(self.codes), files=self._files)
        parts, self._parts, self._held = self._parts, [], 0
        for number, name in enumerate(COLUMNS):
            setattr(table, name, np.concatenate([part[number] for part in parts]))
        self._low = table.high = int(table.physical_offset[-1] + table.size[-1])
        found = self.found
        found.record_count += len(table)
        found.record_bytes += int(table.size.sum())
        if found.first_store_time_ms is None:
            found.first_store_time_ms = int(table.store_time_ms[0])
        found.last = LastRecord(
            int(table.physical_offset[-1]), int(table.size[-1]), int(table.store_time_ms[-1]),
            *table.place(self.root, -1),
        )  # fmt: skip
        counts = np.bincount(table.topic, minlength=len(self.codes))
        counts[: len(self._topic_counts)] += self._topic_counts
        self._topic_counts = counts
        self._clocks.add(self.root, table)
        hosts, first, host_counts = np.unique(table.host, return_index=True, return_counts=True)
        for host, row, count in zip(hosts.tolist(), first.tolist(), host_counts.tolist(), strict=True):
            known = self._hosts.get(host)
            file, position = self._files[int(table.file_number[row])], int(table.position[row])
            self._hosts[host] = (count, file, position) if known is None else (known[0] + count, *known[1:])
        return table

    def _finish(self) -> None:
        found = self.found
        if found.max_offset == 0:
            found.max_offset = self.store.commit_log.min_offset
        found.per_topic = dict(sorted(zip(self.codes, self._topic_counts.tolist(), strict=False)))
        found.clocks = self._clocks.state(found.record_count)
        if self._clocks.first is not None:
            file, position, physical_offset = self._clocks.first
            found.damages.append(
                Damage(
                    code=DamageCode.STORE_TIME_STEP_BACK,
                    grade=DamageGrade.ODD,
                    file=file,
                    offset=position,
                    physical_offset=physical_offset,
                    count=self._clocks.step_back_count,
                    params={"step_ms": self._clocks.max_step_back_ms},
                )
            )
        self._foreign_hosts()

    def _foreign_hosts(self) -> None:
        """Records that name another store host than most: another broker's file, or a broker that moved."""
        most = max((count for count, _, _ in self._hosts.values()), default=0)
        own = next((host for host in sorted(self._hosts) if self._hosts[host][0] == most), None)
        for host in sorted(self._hosts):
            if host == own:
                continue
            count, file, position = self._hosts[host]
            record = decode_message(file.buffer.data, position)
            self.found.damages.append(
                Damage(
                    code=DamageCode.FOREIGN_RECORD,
                    grade=DamageGrade.ODD,
                    file=LogTable.relative(self.root, file),
                    offset=position,
                    physical_offset=record.physical_offset,
                    count=count,
                    params={"store_host": record.store_host},
                )
            )

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
        self._held += len(rows)
        self._parts.append(
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
                np.full(len(rows), len(self._files) - 1, dtype=np.int64),
                _store_hosts(file, rows),
                rows.born_time_ms - rows.store_time_ms,
            )
        )

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

    def _verify_file(self, file: MappedFile, *, later: bool) -> Iterator[None]:
        """Goes through one file, pausing after every chunk of records."""
        log = self.store.commit_log
        position = 0
        while True:
            tail = Tail(Stop.END, position)
            for rows, end in log.scan(file, position):
                if rows is not None and len(rows):
                    self.add(file, rows)
                    self.found.max_offset = file.start + int(rows.position[-1] + rows.total_size[-1])
                    self.found.followed = False
                    yield
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
