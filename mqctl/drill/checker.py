"""Judges the history of a drill in one pass over the file and one over its partitions.

Time is linear in the history; memory is bounded by a partition (65,536 messages of one producer, or as many offsets of
one queue), by the number of keys, and by what was seen of committed offsets.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from mqctl.drill.accusations import Accusations
from mqctl.drill.course import CommittedOffsets, Course
from mqctl.drill.history import At, HistoryFile, Kind, Rows
from mqctl.drill.messages_judged import MessageJudge
from mqctl.drill.queues_judged import QueueJudge
from mqctl.drill.spill import Spill
from mqctl.model.drill_verdict import DrillState, DrillVerdict, HistoryLine, Promise, PromiseCount
from mqctl.model.progress import Progress

_BLOCK_BITS = 16
_EXCERPTS = 3
_WIDTH = len(At)


class Checker:
    """Reads a history and judges it.

    Args:
        excerpts: of how many breaches of each promise the evidence is kept.
        progress: told how far it is.
    """

    def __init__(self, path: Path, excerpts: int = _EXCERPTS, progress: Progress | None = None) -> None:
        self._file = HistoryFile(path)
        self._course = Course()
        self._accusations = Accusations(self._course, excerpts)
        self._committed: dict[tuple[int, int], CommittedOffsets] = {}
        self._back: dict[int, list[tuple[Rows, Rows]]] = {}
        self._kinds: Counter[int] = Counter()
        self._events: list[HistoryLine] = []
        self._offsets_seen = 0
        self._progress = progress

    def judge(self) -> DrillVerdict:
        """Judges the file. Raises what `HistoryFile.pieces` raises; BadInputError for a contradiction in it."""
        with Spill(_WIDTH) as messages, Spill(_WIDTH) as queues:
            self._read(messages, queues)
            self._course.started()
            self._offsets_back()
            by_message = MessageJudge(self._course, self._accusations, self._committed)
            for (producer, block), rows in messages.partitions():
                by_message.judge(producer, rows, block << _BLOCK_BITS)
            by_queue = QueueJudge(self._course, self._accusations, self._committed)
            for (queue, _), rows in queues.partitions():
                by_queue.judge(queue, rows)
        return self._verdict({name: count for name, count in by_message.undecided.items() if count})

    def _read(self, messages: Spill, queues: Spill) -> None:
        total = self._file.path.stat().st_size if self._file.path.exists() else 0
        done = 0
        for piece in self._file.pieces():
            for line, raw, declaration in piece.declarations:
                shown = HistoryLine(line=line, text=raw.decode())
                self._events.append(shown)
                self._course.take(declaration, shown)
            self._take(piece.rows, messages, queues)
            done += piece.size_bytes
            if self._progress is not None:
                self._progress("reading the history", done, total)

    def _take(self, rows: Rows, messages: Spill, queues: Spill) -> None:
        if not len(rows):
            return
        self._course.last_us = max(self._course.last_us, int(rows[:, At.TIME].max()))
        kinds = rows[:, At.KIND]
        for kind, count in zip(*np.unique(kinds, return_counts=True), strict=True):
            self._kinds[int(kind)] += int(count)
        for row in rows[kinds == Kind.OFFSET]:
            self._offset(row)
        of_message = rows[(kinds != Kind.OFFSET) & (rows[:, At.PRODUCER] >= 0) & (rows[:, At.NUMBER] >= 0)]
        messages.deal(of_message, of_message[:, At.PRODUCER], of_message[:, At.NUMBER] >> _BLOCK_BITS)
        placed = (kinds == Kind.ACKNOWLEDGED) | (kinds == Kind.DELIVERED)
        of_queue = rows[placed & (rows[:, At.QUEUE] >= 0) & (rows[:, At.OFFSET] >= 0)]
        queues.deal(of_queue, of_queue[:, At.QUEUE], of_queue[:, At.OFFSET] >> _BLOCK_BITS)

    def _offset(self, row: Rows) -> None:
        group = int(row[At.ACTOR])
        seen = self._committed.setdefault((group, int(row[At.QUEUE])), CommittedOffsets())
        self._offsets_seen += 1
        before = seen.take(row.copy())
        if before is not None:
            self._back.setdefault(group, []).append((before, seen.last if seen.last is not None else row))

    def _offsets_back(self) -> None:
        self._accusations.look_at(Promise.OFFSET_BACK, self._offsets_seen)
        for reader in self._course.readers():
            pairs = self._back.pop(reader.group, [])
            since = np.array([before[At.TIME] for before, _ in pairs], np.int64)
            until = np.array([after[At.TIME] for _, after in pairs], np.int64)
            explained = self._course.overlapping(reader, since, until)
            self._accusations.accuse(
                Promise.OFFSET_BACK,
                reader,
                explained,
                lambda at, pairs=pairs: (  # type: ignore[misc]
                    f"committed offset went back from {pairs[at][0][At.OFFSET]} to {pairs[at][1][At.OFFSET]}",
                    pairs[at],
                ),
            )

    def _verdict(self, undecided: dict[str, int]) -> DrillVerdict:
        counts = self._accusations.counts()
        began = self._course.started()
        return DrillVerdict(
            state=_state(counts, undecided=bool(undecided), complete=self._course.ended, judged=self._judged(counts)),
            topic=began.topic,
            complete=self._course.ended,
            cut_bytes=self._file.cut_bytes,
            lasted_ms=self._course.last_us // 1000,
            sent=self._kinds[Kind.SENT],
            acknowledged=self._kinds[Kind.ACKNOWLEDGED],
            failed=self._kinds[Kind.FAILED],
            unknown=self._kinds[Kind.UNKNOWN],
            delivered=self._kinds[Kind.DELIVERED],
            promises=counts,
            undecided=undecided,
            breaches=self._accusations.breaches(),
            events=tuple(self._events),
        )

    def _judged(self, counts: tuple[PromiseCount, ...]) -> bool:
        """Tells whether anything was owed at all: silence about nothing is no verdict."""
        return any(each.looked_at for each in counts if each.promise is Promise.LOST)


def _state(counts: tuple[PromiseCount, ...], *, undecided: bool, complete: bool, judged: bool) -> DrillState:
    if any(each.outside for each in counts):
        return DrillState.VIOLATED
    return DrillState.KEPT if judged and complete and not undecided else DrillState.NOT_JUDGED
