"""What the checker has found so far: counts of everything, and evidence of the first few of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from mqctl.drill.course import Course, DrillReader, Times
from mqctl.drill.history import At, Rows, row_text
from mqctl.model.drill_verdict import Breach, HistoryLine, Promise, PromiseCount

Evidence = Callable[[int], tuple[str, Sequence[Rows]]]


class Accused(msgspec.Struct, frozen=True):
    """What one of several that judge parts of a history has found.

    Attributes:
        counts: promise, whether an event allows it, how many.
        kept: the evidence with the part that it is of.
    """

    looked_at: list[tuple[Promise, int]]
    counts: list[tuple[Promise, bool, int]]
    kept: list[tuple[tuple[int, int, int], Breach]]


class Accusations:
    """Collects breaches.

    Args:
        most: how many of each promise are kept with their evidence, apart inside and outside of what is allowed.

    Attributes:
        at: the part that is being judged.
    """

    def __init__(self, course: Course, most: int) -> None:
        self._course = course
        self._most = most
        self._counts: Counter[tuple[Promise, bool]] = Counter()
        self._looked_at: Counter[Promise] = Counter()
        self._breaches: list[tuple[tuple[int, int, int], Breach]] = []
        self.at = (0, 0, 0)

    def look_at(self, promise: Promise, count: int) -> None:
        """Notes how much a promise was held against."""
        self._looked_at[promise] += count

    def accuse(self, promise: Promise, reader: DrillReader | None, explained: Times, evidence: Evidence) -> None:
        """Takes breaches.

        Args:
            explained: for each the disturbance that explains it, or -1.
            evidence: returns in words what happened, and the rows that show it, that of the message first.
        """
        for allowed in (False, True):
            of_kind = np.flatnonzero((explained >= 0) == allowed)
            key = (promise, allowed)
            wanted = max(0, self._most - self._counts[key])
            self._counts[key] += len(of_kind)
            for number in of_kind[:wanted].tolist():
                what, rows = evidence(number)
                self._keep(promise, reader, what, rows, int(explained[number]))

    def _keep(
        self, promise: Promise, reader: DrillReader | None, what: str, shown: Sequence[Rows], number: int
    ) -> None:
        lines = {int(row[At.LINE]): HistoryLine(line=int(row[At.LINE]), text=row_text(row)) for row in shown}
        explained = self._course.disturbances[number] if number >= 0 else None
        if explained is not None:
            lines[explained.line.line] = explained.line
        producer = int(shown[0][At.PRODUCER])
        breach = Breach(
            promise=promise,
            reader=reader.name if reader is not None else "",
            producer=None if producer < 0 else self._course.producers.get(producer, str(producer)),
            number=None if producer < 0 else int(shown[0][At.NUMBER]),
            what=what,
            allowed_by=explained.line.text if explained is not None else None,
            excerpt=tuple(lines[number] for number in sorted(lines)),
        )
        self._breaches.append((self.at, breach))

    def accused(self) -> Accused:
        """Returns all of it, for who puts parts together."""
        counts = [(promise, allowed, count) for (promise, allowed), count in self._counts.items()]
        return Accused(looked_at=list(self._looked_at.items()), counts=counts, kept=self._breaches)

    def add(self, others: Sequence[Accused]) -> None:
        """Takes what others found in parts of the history: evidence of the first parts is kept."""
        for part in others:
            for promise, count in part.looked_at:
                self._looked_at[promise] += count
            for promise, allowed, count in part.counts:
                self._counts[promise, allowed] += count
        left = Counter({(promise, allowed): self._most for promise in Promise for allowed in (False, True)})
        for at, breach in sorted((each for part in others for each in part.kept), key=lambda item: item[0]):
            key = (breach.promise, breach.allowed_by is not None)
            left[key] -= 1
            if left[key] >= 0:
                self._breaches.append((at, breach))

    def counts(self) -> tuple[PromiseCount, ...]:
        """Returns one count for each promise."""
        return tuple(
            PromiseCount(
                promise=promise,
                looked_at=self._looked_at[promise],
                inside=self._counts[promise, True],
                outside=self._counts[promise, False],
            )
            for promise in Promise
        )

    def breaches(self) -> tuple[Breach, ...]:
        """Returns what was kept: what nothing explains first, then by promise."""
        order = list(Promise)
        return tuple(
            sorted(
                (breach for _, breach in self._breaches),
                key=lambda each: (each.allowed_by is not None, order.index(each.promise)),
            )
        )
