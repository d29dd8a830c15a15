"""Verification of consume queues against the commit log: joined by physical offset, window by window of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from mqctl.errors import MqctlError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.names import LMQ_PREFIX, SCHEDULE_TOPIC
from mqctl.store.commitlog import gaps
from mqctl.store.consumequeue import ConsumeQueue, Entries, is_filler, written_entries_linear
from mqctl.store.consumequeue_ext import ConsumeQueueExt, is_address
from mqctl.store.directory import StoreDirectory
from mqctl.store.dtypes import QUEUE_ENTRY_NATIVE
from mqctl.store.kernel import Int64s, Mask
from mqctl.store.layouts import QUEUE_ENTRY_BYTES
from mqctl.store.log_window import LogTable
from mqctl.store.mapped_files import MappedFile, OddFileError
from mqctl.store.mapping_guard import BadSpotError
from mqctl.store.unread_files import queue_file_size
from mqctl.store.verify_coverage import EntryCoverage
from mqctl.store.verify_plan import CheckedQueues, QueueFindings, QueuePlan, QueueRun, leading_below

_PIECE_BYTES = 1 << 20
_LOOKS = 100
_MOST_READ = 100_000


class QueueVerifier:
    """Verifies all consume queues of a store.

    First `prepare`, then `check` with every window of the log, or `join` with what others checked, then `finish`.
    """

    def __init__(
        self, store: StoreDirectory, progress: Callable[[str, int, int], None], plan: QueuePlan | None = None
    ) -> None:
        self.found = QueueFindings()
        self.plan = plan or QueuePlan()
        self._store = store
        self._progress = progress
        self._root = store.place_of("consumequeue")
        self._checked = [0] * len(self.plan.runs)
        self._share = CheckedQueues()
        self._coverage = EntryCoverage(store)

    @property
    def _is_there(self) -> bool:
        return self._store.consume_queue_kind == "file" and self._store.place_of("consumequeue").is_dir()

    @property
    def directories(self) -> frozenset[tuple[str, int]]:
        """Queues that had a directory when it was looked for them."""
        return frozenset(self.plan.queues)

    @property
    def share(self) -> CheckedQueues:
        """What was checked so far."""
        self._share.unknown = self._coverage.unknown
        return self._share

    def prepare(self) -> None:
        """Looks at every queue's files by themselves."""
        if self._store.consume_queue_kind == "file" and not self._is_there:
            self.found.damages.append(Damage(code=DamageCode.MISSING_PART, grade=DamageGrade.ODD, file="consumequeue"))
        if not self._is_there:
            return
        plan = self.plan
        plan.queues = self._store.queue_ids()
        size_bytes = queue_file_size(self._store.consume_queue(*each) for each in plan.queues)
        for number, (topic, queue_id) in enumerate(plan.queues):
            queue = self._store.consume_queue(topic, queue_id)
            damages = plan.damages[number] = []
            try:
                plan.max_offsets[topic, queue_id] = queue.max_offset
                damages += _files(self._store, queue, size_bytes)
                for run in _runs(number, queue, self._root):
                    self._add(run)
            except MqctlError as error:
                plan.max_offsets.setdefault((topic, queue_id), 0)
                plan.unread.add((topic, queue_id))
                damages.append(self._unreadable((topic, queue_id), queue.directory, error))
            self._progress("consumequeue", number + 1, len(plan.queues))
        self._checked = [0] * len(plan.runs)

    def _unreadable(self, queue: tuple[str, int], path: Path, error: MqctlError) -> Damage:
        file = self._store.relative(error.path if isinstance(error, BadSpotError | OddFileError) else path)
        reason = error.reason or error.problem
        return Damage(
            code=DamageCode.UNREADABLE_FILE, grade=DamageGrade.DAMAGE, topic=queue[0], queue_id=queue[1],
            file=file, params={"reason": reason},
        )  # fmt: skip

    def _entries(self, run: QueueRun) -> Entries:
        return run.raw(self._root).astype(QUEUE_ENTRY_NATIVE)

    def _add(self, run: QueueRun) -> None:
        entries = self._entries(run)
        self.found.entry_count += len(entries)
        if run.first == 0 and entries["size"][0] > 0 and not is_filler(entries[:1])[0]:
            self.plan.begins[run.queue] = int(entries["physical_offset"][0])
        live, stale = self._live(entries)
        self._report(run, 0, DamageCode.QUEUE_STALE_ENTRIES, np.flatnonzero(stale), entries, grade=DamageGrade.EXPECTED)
        offsets = entries["physical_offset"][live]
        if len(offsets):
            low, topic = int(offsets.min()), run.queue[0]
            plain = bool(live.all() and (np.diff(offsets) > 0).all())
            self.plan.runs.append(replace(run, low=low, high=int(offsets.max()), is_plain=plain))
            self.plan.topics[topic] = min(low, self.plan.topics.get(topic, low))

    def _live(self, entries: Entries) -> tuple[Mask, Mask]:
        """Marks entries that lead to records still kept, and those whose records are gone."""
        real = (entries["size"] > 0) & ~is_filler(entries)
        stale = real & (entries["physical_offset"] < self._store.commit_log.min_offset)
        return real & ~stale, stale

    def check(self, table: LogTable) -> None:
        """Compares one window of the log with the entries that lead into it."""
        if self._store.consume_queue_kind != "file":
            return
        covered = np.zeros(len(table), bool)
        for number in self._touching(table.low, table.high):
            try:
                self._check_run(number, table, covered)
            except MqctlError as error:  # it could be read a moment ago
                run = self.plan.runs[number]
                self._share.unread.add(run.queue)
                self._share.reported[run.number, run.start, 8] = self._unreadable(
                    run.queue, self._root / run.path, error
                )
        if not len(table):
            return
        for topic, queue_id in self._store.batch_queue_ids():
            at, hit = table.rows_of(self._store.batch_consume_queue(topic, queue_id).units["physical_offset"])
            covered[at[hit]] = True
        self._share.confirms_last = bool(covered[-1])
        if covered.any():
            last = int(np.flatnonzero(covered)[-1])
            self._share.dispatched_offset = int(table.physical_offset[last] + table.size[last])
        if self._is_there:
            self._coverage.add(table, covered, self.plan.max_offsets, self.plan.begins, self.plan.topics)

    def _touching(self, low: int, high: int) -> list[int]:
        bounds = np.array([(run.low, run.high) for run in self.plan.runs], dtype=np.int64).reshape(-1, 2)
        numbers: list[int] = np.flatnonzero((bounds[:, 0] < high) & (bounds[:, 1] >= low)).tolist()
        return numbers

    def _check_run(self, number: int, table: LogTable, covered: Mask) -> None:
        run = self.plan.runs[number]
        if run.is_plain:
            raw = run.raw(self._root)
            skipped = leading_below(raw, table.low, self._checked[number])
            self._checked[number] = leading_below(raw, table.high, skipped)
            entries = raw[skipped : self._checked[number]].astype(QUEUE_ENTRY_NATIVE)
            inside = np.arange(len(entries))
        else:
            skipped, entries = 0, self._entries(run)
            live, _ = self._live(entries)
            offsets = entries["physical_offset"]
            inside = np.flatnonzero(live & (offsets >= table.low) & (offsets < table.high))
        at, hit = table.rows_of(entries["physical_offset"][inside])
        run = replace(run, first=run.first + skipped)
        lacking = table.missing(entries["physical_offset"][inside], hit)
        self._report(run, 2, DamageCode.QUEUE_ENTRY_DANGLING, inside[lacking], entries)
        rows, at = inside[hit], at[hit]
        topic, queue_id = run.queue
        own = (table.topic[at] == table.numbers.get(topic, -1)) & (table.queue_id[at] == queue_id)
        wrong = (table.size[at] != entries["size"][rows]) | ~(own | self._are_dispatched(topic, table, at, own))
        self._report(run, 3, DamageCode.QUEUE_ENTRY_MISMATCH, rows[wrong], entries)
        rows, at, own = rows[~wrong], at[~wrong], own[~wrong]
        covered[at[own]] = True
        shifted = own & (table.queue_offset[at] != run.first + rows)
        self._report(run, 4, DamageCode.QUEUE_OFFSET_MISMATCH, rows[shifted], entries)
        self._check_tags(run, table, entries, rows, at)

    def _are_dispatched(self, topic: str, table: LogTable, at: Int64s, own: Mask) -> Mask:
        """Marks records of other queues that may have an entry in this one: `INNER_MULTI_DISPATCH` names it.

        All that leads to a light queue (LMQ) is taken for that; 4.x takes names of any kind. Of a queue most of whose
        entries are wrong, not every record is read.
        """
        if topic.startswith(LMQ_PREFIX):
            return ~own
        marked = np.zeros(len(at), bool)
        for row in np.flatnonzero(~own)[:_MOST_READ]:
            properties = self._store.commit_log.record_at(int(table.physical_offset[at[row]])).properties
            marked[row] = topic in properties.get("INNER_MULTI_DISPATCH", "").split(",")
        return marked

    def _check_tags(self, run: QueueRun, table: LogTable, entries: Entries, rows: Int64s, at: Int64s) -> None:
        """Compares tag codes; schedule queues hold due times instead, which must not lie before the store time."""
        codes = entries["tags_code"][rows].astype(np.int64)
        times = table.store_time_ms[at]
        addressed = is_address(codes)
        if addressed.any():
            units = ConsumeQueueExt(self._store.consume_queue_ext(*run.queue).directory).resolve(codes)
            lost = addressed & ~units.found
            self._report(run, 5, DamageCode.EXT_UNRESOLVED, rows[lost], entries)
            other = units.found & (units.store_time_ms != times)
            self._report(run, 6, DamageCode.EXT_TAG_MISMATCH, rows[other], entries)
            codes = np.where(units.found, units.tags_code, codes)
            kept = ~(lost | other)
            rows, at, times, codes = rows[kept], at[kept], times[kept], codes[kept]
        wrong = (codes < times) if run.queue[0] == SCHEDULE_TOPIC else (codes != table.tag_hash[at])
        self._report(run, 7, DamageCode.QUEUE_TAG_MISMATCH, rows[wrong], entries)

    def _report(
        self, run: QueueRun, rank: int, code: DamageCode, rows: Int64s, entries: Entries, *,
        grade: DamageGrade = DamageGrade.DAMAGE, **params: int | str,
    ) -> None:  # fmt: skip
        """Reports the entries `rows` of a run, if any, under the first one's place; windows add to one another."""
        if not len(rows):
            return
        key = (run.number, run.start, rank)
        logical = run.first + int(rows[0])
        damage = Damage(
            code=code,
            grade=grade,
            file=self._store.relative(self._root / run.path),
            offset=logical * QUEUE_ENTRY_BYTES - run.start,
            physical_offset=int(entries["physical_offset"][rows[0]]),
            count=len(rows),
            topic=run.queue[0],
            queue_id=run.queue[1],
            params={"queue_offset": logical, **params},
        )
        self._add_reported(key, damage)

    def _add_reported(self, key: tuple[int, int, int], damage: Damage) -> None:
        known = self._share.reported.get(key)
        if known is not None:
            first = known if (known.offset or 0) <= (damage.offset or 0) else damage
            damage = replace(first, count=known.count + damage.count)
        self._share.reported[key] = damage

    def join(self, later: CheckedQueues) -> None:
        """Takes what was checked with the part of the log behind."""
        for key, damage in later.reported.items():
            self._add_reported(key, damage)
        if later.confirms_last is not None:
            self._share.confirms_last = later.confirms_last
        if later.dispatched_offset is not None:
            self._share.dispatched_offset = later.dispatched_offset
        self._share.unread |= later.unread
        self._coverage.join(later.unknown)

    def finish(self, log_end: int) -> None:
        """Finds entries that lead behind the log and records that no queue knows.

        Args:
            log_end: physical offset behind the last accepted record, or the log's minimum when there is none.
        """
        plan, share = self.plan, self._share
        for run in plan.runs:
            # Never in a store that is being written: it is looked at up to there.
            if run.high is not None and run.high >= log_end:
                entries = self._entries(run)
                live, _ = self._live(entries)
                beyond = np.flatnonzero(live & (entries["physical_offset"] >= log_end))
                self._report(run, 1, DamageCode.QUEUE_ENTRY_DANGLING, beyond, entries, log_end=log_end)
        for (number, _, _), damage in sorted(share.reported.items(), key=lambda item: item[0]):
            plan.damages[number].append(damage)
        for number in range(len(plan.queues)):
            self.found.damages += plan.damages[number]
        self.found.confirms_last = bool(share.confirms_last)
        self.found.dispatched_offset = share.dispatched_offset
        damages, self.found.behind = self._coverage.judge(
            end=share.dispatched_offset or 0,
            max_offsets=plan.max_offsets,
            topics=plan.topics,
            unread=plan.unread | share.unread,
        )
        self.found.damages += damages


def _runs(number: int, queue: ConsumeQueue, root: Path) -> Iterator[QueueRun]:
    for file in queue.files:
        first = file.start // QUEUE_ENTRY_BYTES
        end = min(queue.max_offset, first + file.size_bytes // QUEUE_ENTRY_BYTES)
        if first < end:
            path = file.path.relative_to(root).as_posix()
            yield QueueRun(number, (queue.topic, queue.queue_id), path, file.start, file.size_bytes, first, end - first)


def _files(store: StoreDirectory, queue: ConsumeQueue, size: int | None) -> list[Damage]:
    """Checks names, sizes and written ends of a queue's files; `size` is that of all consume queues."""
    ends = {file.start: written_entries_linear(file.buffer) * QUEUE_ENTRY_BYTES for file in queue.files}
    used = [file for file in queue.files if ends[file.start]]
    killed = store.abort()
    damages: list[Damage] = []

    def report(code: DamageCode, file: MappedFile, offset: int, grade: DamageGrade, **params: int) -> None:
        damages.append(
            Damage(
                code=code, grade=grade, file=store.relative(file.path), offset=offset,
                topic=queue.topic, queue_id=queue.queue_id, params=params,
            )
        )  # fmt: skip

    for gap in gaps(queue.files, size):
        report(
            DamageCode.QUEUE_GAP, gap.before, gap.before.size_bytes, DamageGrade.DAMAGE, start=gap.start, end=gap.end
        )
    for file in queue.files:
        if file.size_bytes == 0:
            report(DamageCode.ZERO_LENGTH_FILE, file, 0, DamageGrade.DAMAGE)
            continue
        if file.size_bytes != size or file.size_bytes % QUEUE_ENTRY_BYTES:
            params = {"expected": size or 0, "found": file.size_bytes}
            report(DamageCode.WRONG_FILE_SIZE, file, file.size_bytes, DamageGrade.DAMAGE, **params)
        last = bool(used) and file is used[-1]
        end, torn = _looked_at_again(file, ends[file.start])
        if torn:
            torn_only = last and killed and not _any_written(file, end + QUEUE_ENTRY_BYTES)
            grade = DamageGrade.EXPECTED if torn_only else DamageGrade.DAMAGE
            report(DamageCode.QUEUE_TORN_ENTRY, file, end, grade)
        elif used and not last and file.size_bytes - end >= QUEUE_ENTRY_BYTES and file.start < used[-1].start:
            report(DamageCode.QUEUE_GAP, file, end, DamageGrade.DAMAGE, start=file.start + end, end=file.end)
    return damages


def _any_written(file: MappedFile, begin: int) -> bool:
    """Tells whether there is anything but zeros from byte `begin` on."""
    spans = file.data_spans(begin, file.size_bytes)
    pieces = ((low, min(low + _PIECE_BYTES, high)) for start, high in spans for low in range(start, high, _PIECE_BYTES))
    return any(file.buffer[low:high].any() for low, high in pieces)


def _looked_at_again(file: MappedFile, end: int) -> tuple[int, bool]:
    """Returns where the entries of a file end, and whether anything stands behind.

    What a broker writes between two looks seems to stand behind; then the place where entries ended is filled as well.
    """
    for _ in range(_LOOKS):
        if not _any_written(file, end):
            return end, False
        before, end = end, written_entries_linear(file.buffer) * QUEUE_ENTRY_BYTES
        if end == before:
            return end, True
    return end, False
