"""Judges the history of a drill in one pass over the file and one over its partitions.

Time is linear in the history; memory is bounded by a partition (65,536 messages of one producer, or as many offsets of
one queue), by the number of keys, and by what was seen of committed offsets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import IntEnum
from pathlib import Path

import numpy as np

from mqctl.drill.accusations import Accusations
from mqctl.drill.course import CommittedOffsets, Course
from mqctl.drill.declarations import Declaration
from mqctl.drill.history import At, HistoryFile, Kind, Rows
from mqctl.drill.messages_judged import MessageJudge
from mqctl.drill.queues_judged import QueueJudge
from mqctl.drill.spill import Spill
from mqctl.model.drill_verdict import DrillState, DrillVerdict, HistoryLine, Promise, PromiseCount
from mqctl.model.progress import Progress
from mqctl.text import sentence

_BLOCK_BITS = 16
_EXCERPTS = 3
_WIDTH = len(At)


class JudgedBy(IntEnum):
    """What rows are brought together for."""

    MESSAGES = 0
    QUEUES = 1


def block_bits() -> int:
    """Returns how many bits of a message's number, or of an offset, tell places within a block."""
    return _BLOCK_BITS


def dealt(rows: Rows) -> Iterator[tuple[JudgedBy, Rows, Rows, Rows]]:
    """Yields for each role its rows, whose they are, and in which block of theirs they stand."""
    kinds = rows[:, At.KIND]
    of_message = rows[(kinds != Kind.OFFSET) & (rows[:, At.PRODUCER] >= 0) & (rows[:, At.NUMBER] >= 0)]
    yield JudgedBy.MESSAGES, of_message, of_message[:, At.PRODUCER], of_message[:, At.NUMBER] >> _BLOCK_BITS
    placed = (kinds == Kind.ACKNOWLEDGED) | (kinds == Kind.DELIVERED)
    of_queue = rows[placed & (rows[:, At.QUEUE] >= 0) & (rows[:, At.OFFSET] >= 0)]
    yield JudgedBy.QUEUES, of_queue, of_queue[:, At.QUEUE], of_queue[:, At.OFFSET] >> _BLOCK_BITS


class Checker:
    """Reads a history and judges it.

    Args:
        excerpts: of how many breaches of each promise the evidence is kept.
        progress: told how far it is.
        file: the opened file, where somebody else reads it.

    Attributes:
        course, committed: what declarations told, and what was seen of committed offsets.
    """

    def __init__(
        self,
        path: Path,
        excerpts: int = _EXCERPTS,
        progress: Progress | None = None,
        *,
        file: HistoryFile | None = None,
    ) -> None:
        self._file = file or HistoryFile(path)
        self.course = Course()
        self._accusations = Accusations(self.course, excerpts)
        self.committed: dict[tuple[int, int], CommittedOffsets] = {}
        self._back: dict[int, list[tuple[Rows, Rows]]] = {}
        self._kinds: Counter[int] = Counter()
        self._events: list[HistoryLine] = []
        self._offsets_seen = 0
        self._progress = progress

    def judge(self) -> DrillVerdict:
        """Judges the file. Raises what `HistoryFile.pieces` raises; BadInputError for a contradiction in it."""
        with Spill(_WIDTH) as messages, Spill(_WIDTH) as queues:
            self._read({JudgedBy.MESSAGES: messages, JudgedBy.QUEUES: queues})
            accusations = self.accusations()
            by_message = MessageJudge(self.course, accusations, self.committed)
            for (producer, block), rows in messages.partitions():
                by_message.judge(producer, rows, block << _BLOCK_BITS)
            by_queue = QueueJudge(self.course, accusations, self.committed)
            for (queue, _), rows in queues.partitions():
                by_queue.judge(queue, rows)
        return self.verdict({name: count for name, count in by_message.undecided.items() if count})

    def _read(self, spills: Mapping[JudgedBy, Spill]) -> None:
        total = self._file.path.stat().st_size if self._file.path.exists() else 0
        done = 0
        for piece in self._file.pieces():
            for line, raw, declaration in piece.declarations:
                self.declared(line, raw, declaration)
            rows = piece.rows
            if len(rows):
                kinds, counts = np.unique(rows[:, At.KIND], return_counts=True)
                number_of = dict(zip(kinds.tolist(), counts.tolist(), strict=True))
                self.counted(number_of, int(rows[:, At.TIME].max()), rows[rows[:, At.KIND] == Kind.OFFSET])
                for role, part, owners, blocks in dealt(rows):
                    spills[role].deal(part, owners, blocks)
            done += piece.size_bytes
            if self._progress is not None:
                self._progress(sentence("drill-reading-history", "reading the history"), done, total)

    def declared(self, line: int, raw: bytes, declaration: Declaration) -> None:
        """Takes a declaration, in the order of the file. Raises BadInputError for one that contradicts others."""
        shown = HistoryLine(line=line, text=raw.decode())
        self._events.append(shown)
        self.course.take(declaration, shown)

    def counted(self, kinds: Mapping[int, int], last_us: int, offsets: Rows) -> None:
        """Takes how many events of each kind there are, the moment of the last, and looks at committed offsets."""
        self.course.last_us = max(self.course.last_us, last_us)
        for kind, count in kinds.items():
            self._kinds[kind] += count
        for row in offsets:
            self._offset(row)

    def accusations(self) -> Accusations:
        """Returns where what is found goes, once all was read. Raises BadInputError: the start is missing."""
        self.course.started()
        self._offsets_back()
        return self._accusations

    def _offset(self, row: Rows) -> None:
        group = int(row[At.ACTOR])
        seen = self.committed.setdefault((group, int(row[At.QUEUE])), CommittedOffsets())
        self._offsets_seen += 1
        before = seen.take(row.copy())
        if before is not None:
            self._back.setdefault(group, []).append((before, seen.last if seen.last is not None else row))

    def _offsets_back(self) -> None:
        self._accusations.look_at(Promise.OFFSET_BACK, self._offsets_seen)
        for reader in self.course.readers():
            pairs = self._back.pop(reader.group, [])
            since = np.array([before[At.TIME] for before, _ in pairs], np.int64)
            until = np.array([after[At.TIME] for _, after in pairs], np.int64)
            explained = self.course.overlapping(reader, since, until)
            self._accusations.accuse(
                Promise.OFFSET_BACK,
                reader,
                explained,
                lambda at, pairs=pairs: (  # type: ignore[misc]
                    sentence(
                        "drill-committed-offset-went-back",
                        "committed offset went back from {pairs} to {pairs_2}",
                        pairs=pairs[at][0][At.OFFSET],
                        pairs_2=pairs[at][1][At.OFFSET],
                    ),
                    pairs[at],
                ),
            )

    def verdict(self, undecided: dict[str, int]) -> DrillVerdict:
        """Returns the verdict, once all was judged."""
        counts = self._accusations.counts()
        began = self.course.started()
        return DrillVerdict(
            state=_state(counts, undecided=bool(undecided), complete=self.course.ended, judged=self._judged(counts)),
            topic=began.topic,
            complete=self.course.ended,
            cut_bytes=self._file.cut_bytes,
            lasted_ms=self.course.last_us // 1000,
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
