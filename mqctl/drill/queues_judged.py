"""What is judged queue by queue: a block holds some offsets of one queue with what was stored and read there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mqctl.drill.accusations import Accusations
from mqctl.drill.course import CommittedOffsets, Course, DrillReader, Times
from mqctl.drill.declarations import COMMITS_WHAT_IT_CONSUMED, QUEUE_ORDERED
from mqctl.drill.history import At, Kind, Rows
from mqctl.drill.overtaking import Overtaking, find_overtaken
from mqctl.model.drill_verdict import Promise
from mqctl.text import sentence


class QueueJudge:
    """Judges blocks; those of one queue come in the order of their offsets.

    Args:
        committed: what was seen of committed offsets, by group and queue.
    """

    def __init__(
        self, course: Course, accusations: Accusations, committed: dict[tuple[int, int], CommittedOffsets]
    ) -> None:
        self._course = course
        self._accusations = accusations
        self._committed = committed
        self._readers = course.readers()
        self._stored: dict[int, Overtaking] = {}
        self._read: dict[tuple[str, int], Overtaking] = {}

    def judge(self, queue: int, rows: Rows) -> None:
        """Judges one block; queues of retry topics are none of it."""
        if not self._course.is_topics_own(queue):
            return
        stored = rows[rows[:, At.KIND] == Kind.ACKNOWLEDGED]
        stored = stored[np.lexsort((-stored[:, At.TIME], stored[:, At.OFFSET]))]  # of one place, the newer one first
        self._stored_order(queue, stored)
        delivered = rows[rows[:, At.KIND] == Kind.DELIVERED]
        for reader in self._readers:
            first = _by_offset(delivered[np.isin(delivered[:, At.ACTOR], reader.actors)])
            first = first[np.concatenate(([True], np.diff(first[:, At.OFFSET]) > 0))] if len(first) else first
            if reader.mode in QUEUE_ORDERED:
                self._read_order(queue, reader, first)
            if reader.mode in COMMITS_WHAT_IT_CONSUMED:
                self._committed_ahead(queue, reader, stored, first)

    def _stored_order(self, queue: int, stored: Rows) -> None:
        """A message sent after another one's acknowledgement lies behind it, and not in its place."""
        self._accusations.look_at(Promise.STORED_ORDER, len(stored))
        lanes = np.zeros(len(stored), np.int64)
        began_us = stored[:, At.TIME] - np.maximum(stored[:, At.EXTRA], 0)
        state = self._stored.setdefault(queue, Overtaking())
        pairs = find_overtaken(state, lanes, began_us, stored[:, At.TIME], [stored])
        explained = self._course.overlapping(None, pairs.since, pairs.until, losing=True)
        self._accusations.accuse(
            Promise.STORED_ORDER,
            None,
            explained,
            lambda at: (
                sentence(
                    "drill-stored-not-before-offset",
                    "stored not before offset {earlier}, which was sent after its acknowledgement",
                    earlier=pairs.earlier[0][at, At.OFFSET],
                ),
                pairs.rows(at),
            ),
        )

    def _read_order(self, queue: int, reader: DrillReader, first: Rows) -> None:
        self._accusations.look_at(Promise.QUEUE_ORDER, len(first))
        state = self._read.setdefault((reader.name, queue), Overtaking())
        came = first[:, At.TIME] * 1
        pairs = find_overtaken(state, np.zeros(len(first), np.int64), came, came, [first])
        explained = self._course.overlapping(reader, pairs.since, pairs.until, losing=True)
        self._accusations.accuse(
            Promise.QUEUE_ORDER,
            reader,
            explained,
            lambda at: (
                sentence(
                    "drill-delivered-before-offset-queue",
                    "delivered before offset {earlier} of its queue, which lies before it",
                    earlier=pairs.earlier[0][at, At.OFFSET],
                ),
                pairs.rows(at),
            ),
        )

    def _committed_ahead(self, queue: int, reader: DrillReader, stored: Rows, first: Rows) -> None:
        """A committed offset says that everything before it was consumed; what never came at all is lost instead."""
        offsets = self._committed.get((reader.group, queue))
        if offsets is None or not len(first):
            return
        self._accusations.look_at(Promise.COMMITTED_AHEAD, len(first))
        at = np.searchsorted(np.array(offsets.offsets, np.int64), first[:, At.OFFSET], side="right")
        passed = np.flatnonzero(at < len(offsets.offsets))
        passed_us = np.array([row[At.TIME] for row in offsets.rows], np.int64)[at[passed]]
        ahead = first[passed, At.TIME] > passed_us
        late, seen_us = passed[ahead], passed_us[ahead]
        explained = self._course.overlapping(reader, seen_us, first[late, At.TIME], losing=True)

        def evidence(number: int) -> tuple[str, Sequence[Rows]]:
            row = first[late[number]]
            shown = offsets.passed(int(row[At.OFFSET]))
            acknowledged = stored[stored[:, At.OFFSET] == row[At.OFFSET]]
            rows = [row, *acknowledged[:1], *([shown] if shown is not None else [])]
            return sentence(
                "drill-consumed-after-group-committed",
                "consumed after the group's committed offset had passed it",
            ), rows

        self._accusations.accuse(Promise.COMMITTED_AHEAD, reader, explained, evidence)


def _by_offset(rows: Rows) -> Rows:
    order: Times = np.lexsort((rows[:, At.LINE], rows[:, At.TIME], rows[:, At.OFFSET]))
    return rows[order]
