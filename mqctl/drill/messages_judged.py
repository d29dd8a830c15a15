"""What is judged message by message: a block holds some numbers of one producer with all that happened to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mqctl.drill.accusations import Accusations
from mqctl.drill.course import CommittedOffsets, Course, DrillReader, Times
from mqctl.drill.declarations import COMMITS_WHAT_IT_CONSUMED, KEY_ORDERED
from mqctl.drill.history import At, Kind, Rows
from mqctl.drill.overtaking import Overtaking, find_overtaken
from mqctl.model.drill_verdict import Promise
from mqctl.text import sentence

_NONE = -1
_NEVER = 1 << 60
_FATE, _SENDING = 0, 2
"""Where the rows of acknowledgements and of sendings stand among those of a pair."""


class MessageBlock:
    """Messages by their place in the block, from 0; each attribute is the index of a row, or -1.

    Attributes:
        due: when a message has to be there: sent, acknowledged, committed, its delay over.
    """

    def __init__(self, rows: Rows, base: int) -> None:
        self.rows = rows
        self.place = rows[:, At.NUMBER] - base
        self.size = int(self.place.max()) + 1
        self.sent, self.acknowledged, self.failed, self.unknown, self.committed, self.rolled_back = (
            self._first(kind)
            for kind in (
                Kind.SENT, Kind.ACKNOWLEDGED, Kind.FAILED, Kind.UNKNOWN, Kind.COMMITTED, Kind.ROLLED_BACK,
            )
        )  # fmt: skip
        self.sent_us = self.column(self.sent, At.TIME)
        self.acknowledged_us = self.column(self.acknowledged, At.TIME)
        self.key = self.column(self.sent, At.KEY)
        self.delay_us = np.maximum(self.column(self.sent, At.OFFSET), 0)
        self.transactional = self.column(self.sent, At.EXTRA) == 1
        self.due = np.maximum(
            np.maximum(self.acknowledged_us, self.sent_us + self.delay_us), self.column(self.committed, At.TIME)
        )
        decided = (self.committed >= 0) & (self.rolled_back < 0)
        self.owed = (self.acknowledged >= 0) & (self.sent >= 0) & (~self.transactional | decided)

    def _first(self, kind: Kind) -> Times:
        indices = np.flatnonzero(self.rows[:, At.KIND] == kind)[::-1]
        deliveries = np.full(self.size, _NONE, np.int64)
        deliveries[self.place[indices]] = indices
        return deliveries

    def column(self, indices: Times, column: At) -> Times:
        """Returns a column at these rows; -1 where there is none."""
        return np.where(indices >= 0, self.rows[indices, column], _NONE)

    def deliveries(self, actors: npt.NDArray[np.int64]) -> Times:
        """Returns the rows of what these consumers were given, by message and then by time."""
        mine = np.flatnonzero((self.rows[:, At.KIND] == Kind.DELIVERED) & np.isin(self.rows[:, At.ACTOR], actors))
        return mine[np.lexsort((self.rows[mine, At.LINE], self.rows[mine, At.TIME], self.place[mine]))]

    def first_of(self, deliveries: Times) -> Times:
        """Returns for each message the first of these rows, or -1."""
        rows = np.full(self.size, _NONE, np.int64)
        rows[self.place[deliveries[::-1]]] = deliveries[::-1]
        return rows

    def story(self, place: int, *others: int) -> list[Rows]:
        """Returns the rows of a message's sending, with these others."""
        fates = (self.sent, self.acknowledged, self.failed, self.unknown, self.committed, self.rolled_back)
        fate_rows = [int(each[place]) for each in fates if each[place] >= 0]
        return [self.rows[index] for index in (*fate_rows, *others) if index >= 0]


class MessageJudge:
    """Judges blocks; those of one producer come in the order of their numbers.

    Args:
        committed: what was seen of committed offsets, by group and queue.

    Attributes:
        undecided: how many messages each reader is still owed without being late for it.
    """

    def __init__(
        self, course: Course, accusations: Accusations, committed: dict[tuple[int, int], CommittedOffsets]
    ) -> None:
        self._course = course
        self._accusations = accusations
        self._committed = committed
        self._readers = course.readers()
        self._everyone = DrillReader(
            name="",
            group=-1,
            mode="",
            actors=np.concatenate([np.empty(0, np.int64), *(r.actors for r in self._readers)]),
        )
        self._began = course.started()
        self._overtaking: dict[tuple[str, int], Overtaking] = {}
        self.undecided: Counter[str] = Counter()

    def judge(self, producer: int, rows: Rows, base: int) -> None:
        """Judges one block."""
        block = MessageBlock(rows, base)
        self._unsent(block)
        for reader in self._readers:
            deliveries = block.deliveries(reader.actors)
            first = block.first_of(deliveries)
            taken = block.first_of(deliveries[rows[deliveries, At.EXTRA] == 0])
            self._lost(block, reader, taken)
            self._forbidden(block, reader, first)
            self._repeated(block, reader, deliveries)
            self._punctual(block, reader, first, taken)
            if reader.mode in KEY_ORDERED:
                self._key_order(block, reader, first, producer)

    def _unsent(self, block: MessageBlock) -> None:
        """A cut-off history may lack the sending of what it shows as delivered, so only a whole one is judged."""
        if not self._course.ended:
            return
        first = block.first_of(block.deliveries(self._everyone.actors))
        places = np.flatnonzero((first >= 0) & (block.sent < 0))
        self._accusations.look_at(Promise.UNSENT, int((first >= 0).sum()))
        self._accusations.accuse(
            Promise.UNSENT,
            None,
            np.full(len(places), _NONE, np.int64),
            lambda at: (
                sentence("drill-delivered-nobody-sent", "delivered, but never sent"),
                [block.rows[first[places[at]]]],
            ),
        )

    def _lost(self, block: MessageBlock, reader: DrillReader, taken: Times) -> None:
        owed = block.owed & (block.sent_us >= reader.from_us)
        patience_us = self._began.lost_after_us
        there = (taken >= 0) | (block.due + patience_us <= reader.until_us)
        alone = owed & ~there if reader.mode != "broadcast" else np.zeros(block.size, bool)
        owed &= there
        self._accusations.look_at(Promise.LOST, int(owed.sum()))
        missing = owed & (taken < 0)
        over = block.due + patience_us <= self._course.last_us
        self.undecided[reader.name] += int((missing & ~over).sum() + alone.sum())
        places = np.flatnonzero(missing & over)
        explained = self._course.explains_loss(reader, block.sent_us[places], block.acknowledged_us[places])

        def evidence(at: int) -> tuple[str, Sequence[Rows]]:
            place = int(places[at])
            rows = block.story(place)
            acknowledged = block.rows[block.acknowledged[place]]
            offsets = self._committed.get((reader.group, int(acknowledged[At.QUEUE])))
            passed = None
            if reader.mode in COMMITS_WHAT_IT_CONSUMED and offsets is not None:
                passed = offsets.passed(int(acknowledged[At.OFFSET]))
            beyond = (
                ""
                if passed is None
                else sentence("drill-group-committed-offset-passed", "; the group's committed offset passed it")
            )
            return sentence(
                "drill-acknowledged-never-consumed", "acknowledged and never consumed{beyond}", beyond=beyond
            ), rows if passed is None else [*rows, passed]

        self._accusations.accuse(Promise.LOST, reader, explained, evidence)

    def _forbidden(self, block: MessageBlock, reader: DrillReader, first: Times) -> None:
        rolled_back = (block.rolled_back >= 0) & (block.committed < 0)
        refused = (block.failed >= 0) & (block.acknowledged < 0) & (block.unknown < 0)
        for promise, forbidden, what in (
            (
                Promise.ROLLED_BACK,
                rolled_back,
                sentence("drill-rolled-back-delivered-all", "rolled back, and delivered all the same"),
            ),
            (
                Promise.REFUSED,
                refused,
                sentence("drill-producer-got-error-yet", "the producer got an error, yet it was delivered"),
            ),
        ):
            self._accusations.look_at(promise, int(forbidden.sum()))
            places = np.flatnonzero(forbidden & (first >= 0))

            def evidence(at: int, places: Times = places, what: str = what) -> tuple[str, Sequence[Rows]]:
                return what, block.story(int(places[at]), int(first[places[at]]))

            self._accusations.accuse(promise, reader, np.full(len(places), _NONE, np.int64), evidence)

    def _repeated(self, block: MessageBlock, reader: DrillReader, deliveries: Times) -> None:
        rows = block.rows
        self._accusations.look_at(Promise.REPEATED, len(deliveries))
        before, after = deliveries[:-1], deliveries[1:]
        same = (block.place[before] == block.place[after]) & (rows[before, At.EXTRA] == 0)
        before, after = before[same], after[same]
        # A message that was asked for again comes by the retry topic, later than what doubled it there.
        asked_us = np.full(block.size, _NEVER, np.int64)
        postponed = deliveries[rows[deliveries, At.EXTRA] == 1]
        asked_us[block.place[postponed]] = rows[postponed, At.TIME]
        first_us = np.minimum(rows[before, At.TIME], asked_us[block.place[after]])
        again_us = np.minimum(rows[after, At.TIME], asked_us[block.place[after]])
        explained = self._course.explains_repeat(reader, first_us, again_us)
        elsewhere = (rows[before, At.QUEUE] != rows[after, At.QUEUE]) | (
            rows[before, At.OFFSET] != rows[after, At.OFFSET]
        )
        places = block.place[after]
        doubtful = elsewhere & (block.unknown[places] >= 0)
        sending = self._course.overlapping(
            None, block.sent_us[places], np.maximum(block.due[places], block.sent_us[places])
        )
        explained = np.where((explained < 0) & elsewhere, sending, explained)
        kept = ~(doubtful & (explained < 0))  # a send without an answer may have been stored twice

        def evidence(at: int) -> tuple[str, Sequence[Rows]]:
            first, again = int(before[kept][at]), int(after[kept][at])
            from_where = (
                sentence("drill-another-place-log", "from another place of the log")
                if elsewhere[kept][at]
                else sentence("drill-same-place-log", "from the same place of the log")
            )
            return sentence(
                "drill-consumed-delivered-again", "consumed, and delivered again {from_where}", from_where=from_where
            ), block.story(int(block.place[again]), first, again)

        self._accusations.accuse(Promise.REPEATED, reader, explained[kept], evidence)

    def _punctual(self, block: MessageBlock, reader: DrillReader, first: Times, taken: Times) -> None:
        came = block.owed & (taken >= 0)
        took_us = block.column(taken, At.TIME)
        if self._began.late_after_us is not None:
            self._accusations.look_at(Promise.LATE, int(came.sum()))
            late = np.flatnonzero(came & (took_us - block.due > self._began.late_after_us))
            explained = self._course.overlapping(reader, block.due[late], took_us[late])

            def lateness(at: int) -> tuple[str, Sequence[Rows]]:
                place = int(late[at])
                what = sentence(
                    "drill-came-ms-after-due",
                    "came {late_ms} after it was due",
                    late_ms=(took_us[place] - block.due[place]) // 1000,
                )
                return what, block.story(place, int(taken[place]))

            self._accusations.accuse(Promise.LATE, reader, explained, lateness)
        delayed = (block.delay_us > 0) & (first >= 0)
        self._accusations.look_at(Promise.EARLY, int(delayed.sum()))
        first_us = block.column(first, At.TIME)
        soonest = block.sent_us + block.delay_us - self._began.early_us
        early = np.flatnonzero(delayed & (first_us < soonest))

        def earliness(at: int) -> tuple[str, Sequence[Rows]]:
            place = int(early[at])
            ahead_us = block.sent_us[place] + block.delay_us[place] - first_us[place]
            return sentence(
                "drill-came-ms-before-due", "came {early_ms} before it was due", early_ms=ahead_us // 1000
            ), block.story(place, int(first[place]))

        ahead_us = (block.sent_us + block.delay_us - first_us)[early]
        explained = self._course.explains_early(block.sent_us[early], first_us[early], ahead_us)
        self._accusations.accuse(Promise.EARLY, reader, explained, earliness)

    def _key_order(self, block: MessageBlock, reader: DrillReader, first: Times, producer: int) -> None:
        judged = np.flatnonzero(
            (block.acknowledged >= 0) & (first >= 0) & (block.key >= 0) & (block.delay_us == 0) & ~block.transactional
        )
        self._accusations.look_at(Promise.KEY_ORDER, len(judged))
        state = self._overtaking.setdefault((reader.name, producer), Overtaking())
        came = block.rows[first[judged], At.TIME]
        shown = [block.rows[block.acknowledged[judged]], block.rows[first[judged]], block.rows[block.sent[judged]]]
        pairs = find_overtaken(state, block.key[judged], came, came, shown)
        # `earlier` came late, `later` is what passed it: only a send that began after the other's answer is ordered.
        pairs = pairs.pick(pairs.earlier[_FATE][:, At.TIME] <= pairs.later[_SENDING][:, At.TIME])
        explained = self._course.overlapping(reader, pairs.since, pairs.until, routed=True)
        self._accusations.accuse(
            Promise.KEY_ORDER,
            reader,
            np.where(pairs.moved, explained, _NONE),
            lambda at: (
                sentence(
                    "drill-delivered-before-number-key",
                    "delivered before number {earlier} of its key, which was sent before it",
                    earlier=pairs.earlier[_FATE][at, At.NUMBER],
                ),
                pairs.rows(at),
            ),
        )
