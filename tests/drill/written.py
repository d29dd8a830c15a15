"""Histories written line by line for tests, as a drill would write them."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from mqctl.drill.checker import Checker
from mqctl.drill.declarations import (
    Allowances,
    ConsumerJoined,
    ConsumerLeft,
    Declaration,
    DrillBegan,
    DrillEnded,
    GroupNamed,
    Happened,
    ProducerNamed,
    QueueNamed,
    declared_line,
)
from mqctl.drill.history import HEAD, Kind, event_line
from mqctl.model.drill_verdict import DrillVerdict, Promise

PRODUCER, CONSUMER, OTHER = 1, 2, 3
MEMBERSHIP = Allowances(repeats_back_us=5_000, settle_us=5_000)


class Written:
    """A history in the making; `now` moves on by 100 microseconds with each event unless `at` says otherwise."""

    def __init__(self, mode: str = "orderly", late_after_us: int | None = None) -> None:
        self.lines = [HEAD]
        self.now = 0
        self.declare(
            DrillBegan(
                topic="T", began_ms=1, lost_after_us=100_000, late_after_us=late_after_us, early_us=0,
                membership=MEMBERSHIP,
            ),
            GroupNamed(group=0, name="g", mode=mode),
            QueueNamed(queue=0, topic="T", broker="broker-a", queue_id=0),
            QueueNamed(queue=1, topic="T", broker="broker-b", queue_id=0),
            QueueNamed(queue=2, topic="%RETRY%g", broker="broker-a", queue_id=0),
            ProducerNamed(actor=PRODUCER, name="p"),
        )  # fmt: skip
        self.joins(CONSUMER)
        self.now = 1_000_000

    def declare(self, *declarations: Declaration) -> Self:
        self.lines += map(declared_line, declarations)
        return self

    def joins(self, actor: int) -> Self:
        return self.declare(ConsumerJoined(at_us=self.now, actor=actor, name=f"c{actor}", group=0))

    def leaves(self, actor: int) -> Self:
        return self.declare(ConsumerLeft(at_us=self.now, actor=actor, how="killed"))

    def happens(self, what: str, allows: Allowances, until_us: int | None = None) -> Self:
        return self.declare(Happened(at_us=self.now, what=what, allows=allows, until_us=until_us))

    def event(self, kind: Kind, *rest: int, at: int | None = None) -> Self:
        self.now += 100
        self.lines.append(event_line(kind, self.now if at is None else at, *rest))
        return self

    def sent(self, number: int, key: int = -1, delay_us: int = 0, transactional: int = 0) -> Self:
        return self.event(Kind.SENT, PRODUCER, PRODUCER, number, key, -1, delay_us, transactional)

    def acknowledged(self, number: int, offset: int = -1, queue: int = 0, took_us: int = 100) -> Self:
        return self.event(
            Kind.ACKNOWLEDGED, PRODUCER, PRODUCER, number, -1, queue if offset >= 0 else -1, offset, took_us
        )

    def fate(self, kind: Kind, number: int) -> Self:
        return self.event(kind, PRODUCER, PRODUCER, number, -1, -1, -1, -1)

    def stored(self, number: int, offset: int, key: int = -1, queue: int = 0) -> Self:
        return self.sent(number, key).acknowledged(number, offset, queue)

    def delivered(self, number: int, offset: int, *, queue: int = 0, actor: int = CONSUMER, later: int = 0) -> Self:
        return self.event(Kind.DELIVERED, actor, PRODUCER, number, -1, queue, offset, later)

    def committed(self, offset: int, queue: int = 0) -> Self:
        return self.event(Kind.OFFSET, 0, -1, -1, -1, queue, offset, 0)

    def passes(self, us: int) -> Self:
        self.now += us
        return self

    def ends(self) -> Self:
        self.now += 1_000_000
        return self.declare(DrillEnded(at_us=self.now))

    def file(self, directory: Path) -> Path:
        path = directory / "drill.history"
        path.write_bytes(b"".join(line + b"\n" for line in self.lines))
        return path

    def judged(self, directory: Path) -> DrillVerdict:
        return Checker(self.file(directory)).judge()


def accused(verdict: DrillVerdict) -> dict[Promise, tuple[int, int]]:
    """Returns what is broken: how often inside and outside of what is allowed."""
    return {each.promise: (each.inside, each.outside) for each in verdict.promises if each.inside or each.outside}
