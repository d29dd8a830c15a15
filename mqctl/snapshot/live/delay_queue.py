"""One schedule queue of a live broker: its raw entries (request 321), some of their records, copies by unique key."""

from __future__ import annotations

from itertools import groupby, pairwise

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.model.delay_state import DelayQueueState, DelayRun
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.names import SCHEDULE_TOPIC
from mqctl.model.spans import FAR
from mqctl.protocol.fastjson import FastjsonError, loads
from mqctl.snapshot.delay_records import SLACK_MS, dead_letter_topics, failing_topics, head_problem, target
from mqctl.snapshot.live.asking import Asking, out_of_reach
from mqctl.store.layouts import EXT_ADDRESS_LIMIT

_ALL = 2_048
_PAGE = 512
_MAX_RUNS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelQuestion:
    """What to look at.

    Attributes:
        delay_ms: configured delay of the level; None when the table has no such level.
        recorded: next offset to deliver as the broker tells it; None when it tells none.
        now_ms: entries due before it (less a slack of 2 s) are overdue.
        records: of how many entries the record is read at most.
    """

    address: str
    level: int
    delay_ms: int | None
    recorded: int | None
    min_offset: int
    max_offset: int
    now_ms: int
    records: int


@dataclass(frozen=True, slots=True)
class _Entry:
    """A raw entry; `due_ms` is None when only an address stands in it and nothing says what it stands for."""

    offset: int
    physical: int
    due_ms: int | None


def queue_state(asking: Asking, question: LevelQuestion) -> DelayQueueState:
    """Looks at a schedule queue; what is not overdue is not asked about further.

    Queues of up to 2,048 entries are read whole. Of longer ones the head is read, and counts come from a bisection,
    for due times ascend within a level.

    Raises:
        UnreachableError, DeadlineError: the broker stopped answering.
        AnswerError: it does not answer request 321.
    """
    return _Scan(asking, question).state()


class _Scan:
    """The questions about one queue."""

    def __init__(self, asking: Asking, question: LevelQuestion) -> None:
        self._asking = asking
        self._wanted = question
        high, low = question.max_offset, question.min_offset
        self._first = min(high, max(low, low if question.recorded is None else question.recorded))
        self._whole = high - low <= _ALL

    def state(self) -> DelayQueueState:
        wanted = self._wanted
        read = self._read(wanted.min_offset if self._whole else self._first)
        records, gone = self._records(read)
        read = [self._with_due(entry, records.get(entry.physical)) for entry in read]
        waiting = [entry for entry in read if entry.offset >= self._first]
        overdue_end, due_end = self._ends(waiting)
        late = [entry for entry in waiting if entry.offset < overdue_end]
        copies = (
            self._delivered([entry for entry in late if entry.physical not in gone], records)
            if len(late) == overdue_end - self._first
            else None
        )
        undelivered = [entry for entry in late if copies is None or entry.physical not in copies]
        first_left = undelivered[0].offset if undelivered else overdue_end
        head = waiting[0] if waiting else None
        missing = [entry for entry in waiting if entry.physical in gone]
        falls = _falls(read)
        delays = _delays(read, records)
        runs = _runs(delays)
        looked_at = len(records) + len(gone)
        read_waiting = [records[entry.physical] for entry in waiting if entry.physical in records]
        return DelayQueueState(
            min_offset=wanted.min_offset,
            max_offset=wanted.max_offset,
            waiting_count=max(0, wanted.max_offset - self._first),
            not_due_count=wanted.max_offset - due_end,
            overdue_count=overdue_end - self._first,
            redelivered_count=None if copies is None else len(copies),
            head_due_time_ms=head.due_ms if head else None,
            oldest_overdue_time_ms=undelivered[0].due_ms if undelivered else None,
            first_undelivered_offset=first_left if first_left < wanted.max_offset else None,
            head_problem=head_problem(records[head.physical]) if head and head.physical in records else None,
            head_physical_offset=head.physical if head else None,
            dead_letter_topics=dead_letter_topics(read_waiting),
            failing_topics=failing_topics(read_waiting),
            missing_record_count=len(missing),
            first_missing_offset=missing[0].offset if missing else None,
            descending_count=len(falls),
            first_descending_offset=falls[0] if falls else None,
            beyond_horizon_count=self._beyond_horizon(waiting),
            changed_waiting_count=self._changed(delays),
            runs=tuple(runs[:_MAX_RUNS]),
            run_count=len(runs),
            sampled_count=None if self._whole and looked_at == len(read) else looked_at,
        )

    def _beyond_horizon(self, waiting: list[_Entry]) -> int:
        if self._wanted.delay_ms is None:
            return 0
        # What came since the look began is due later than that by as long as the look takes.
        horizon = self._wanted.now_ms + self._wanted.delay_ms + self._asking.deadline.whole.limit_ms
        return sum(entry.due_ms is not None and entry.due_ms > horizon for entry in waiting)

    def _changed(self, delays: dict[int, int]) -> int:
        if self._wanted.delay_ms is None:
            return 0
        return sum(offset >= self._first and delay != self._wanted.delay_ms for offset, delay in delays.items())

    def _read(self, start: int) -> list[_Entry]:
        """Reads entries from `start` on: all of a queue that is read whole, the head of another."""
        wanted = self._wanted
        end = wanted.max_offset if self._whole else min(wanted.max_offset, start + _PAGE)
        entries: list[_Entry] = []
        while start < end:
            page = self._page(start, end - start)
            entries += page
            if not page:
                break
            start = page[-1].offset + 1
        return entries

    def _page(self, start: int, count: int) -> list[_Entry]:
        question = ask.queue_entries(SCHEDULE_TOPIC, self._wanted.level - 1, start, min(_PAGE, count))
        data = self._asking.cluster.ask(self._wanted.address, question, self._asking.deadline)
        if data is None:
            return []
        return [
            _Entry(start + number, item.physic_offset, _due(item.tags_code, item.extend_data_json))
            for number, item in enumerate(data.queue_data[:count])
        ]

    def _with_due(self, entry: _Entry, record: Message | None) -> _Entry:
        """Brokers reckon a due time that they cannot look up from the store time and the level's delay."""
        if entry.due_ms is not None or record is None or self._wanted.delay_ms is None:
            return entry
        return _Entry(entry.offset, entry.physical, record.store_time_ms + self._wanted.delay_ms)

    def _records(self, read: list[_Entry]) -> tuple[dict[int, Message], set[int]]:
        """Reads the records of entries, spread evenly; returns them and the places where none is."""
        step = max(1, -(-len(read) // self._wanted.records))
        ahead = [entry for entry in read if entry.offset >= self._first]
        places = dict.fromkeys(entry.physical for entry in (*ahead[:1], *read[::step], *read[-1:]))
        answers = self._asking.put(
            (place, self._wanted.address, messages.message_at(place)) for place in places if place >= 0
        )
        for error in answers.errors.values():
            if out_of_reach(error):
                raise error
        records = {place: message for place, message in answers.values.items() if message.physical_offset == place}
        return records, set(places) - set(records)

    def _ends(self, waiting: list[_Entry]) -> tuple[int, int]:
        """Returns the offsets at which what is overdue and what is due end."""
        wanted = self._wanted
        limits = (wanted.now_ms - SLACK_MS, wanted.now_ms + 1)
        if self._whole:
            due = [entry.due_ms for entry in waiting]
            counts = [sum(time is not None and time < limit for time in due) for limit in limits]
            return self._first + counts[0], self._first + counts[1]
        return self._bisect(limits[0]), self._bisect(limits[1])

    def _bisect(self, limit_ms: int) -> int:
        low, high = self._first, self._wanted.max_offset
        while low < high:
            middle = (low + high) // 2
            page = self._page(middle, 1)
            if page and (page[0].due_ms is None or page[0].due_ms >= limit_ms):
                high = middle
            else:
                low = middle + 1
        return low

    def _delivered(self, late: list[_Entry], records: dict[int, Message]) -> dict[int, int] | None:
        """Looks for delivered copies of overdue entries; None when there are too many of them to look for all."""
        if any(entry.physical not in records for entry in late):
            return None
        asks = []
        for entry in late:
            record = records[entry.physical]
            place = target(record)
            if place is not None and record.unique_key is not None and entry.due_ms is not None:
                question = messages.messages_by_key(
                    place[0], record.unique_key, begin_ms=entry.due_ms, end_ms=FAR, unique=True
                )
                asks.append(((entry.physical, record.unique_key, entry.due_ms), self._wanted.address, question))
        answers = self._asking.put(asks)
        for error in answers.errors.values():
            raise error
        return {
            physical: copy.store_time_ms
            for (physical, key, due_ms), message in answers.values.items()
            for copy in message
            if copy.unique_key == key and copy.physical_offset > physical and copy.store_time_ms >= due_ms
        }


def _due(code: int, extension: str | None) -> int | None:
    if code > EXT_ADDRESS_LIMIT:
        return code
    try:
        unit = loads(extension.encode()) if extension else None
    except FastjsonError:
        return None
    due_ms = unit.get("tagsCode") if isinstance(unit, dict) else None
    return due_ms if isinstance(due_ms, int) else None


def _delays(read: list[_Entry], records: dict[int, Message]) -> dict[int, int]:
    """Returns how long after its store time each entry is due, by queue offset."""
    return {
        entry.offset: entry.due_ms - records[entry.physical].store_time_ms
        for entry in read
        if entry.due_ms is not None and entry.physical in records
    }


def _falls(read: list[_Entry]) -> list[int]:
    """Returns the offsets of entries that are due before their predecessor."""
    return [
        after.offset
        for before, after in pairwise(read)
        if before.due_ms is not None and after.due_ms is not None and after.due_ms < before.due_ms
    ]


def _runs(delays: dict[int, int]) -> list[DelayRun]:
    runs = []
    for delay_ms, group in groupby(sorted(delays.items()), key=lambda item: item[1]):
        members = list(group)
        runs.append(DelayRun(first_offset=members[0][0], message_count=len(members), delay_ms=delay_ms))
    return runs
