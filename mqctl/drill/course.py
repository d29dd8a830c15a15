"""The course of a drill as its declarations tell it: who read what, what happened when, and what that allows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mqctl.drill.declarations import (
    MODES,
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
)
from mqctl.drill.history import At, Rows
from mqctl.errors import BadInputError
from mqctl.model.drill_verdict import HistoryLine
from mqctl.text import sentence

Times = npt.NDArray[np.int64]
_NEVER = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """A span in which the protocol allows what it does not otherwise.

    Attributes:
        group: whose promises it touches; None for all.
    """

    at_us: int
    until_us: int
    group: int | None
    allows: Allowances
    line: HistoryLine

    @property
    def settled_us(self) -> int:
        """When all is quiet again."""
        return self.until_us + self.allows.settle_us

    @property
    def repeats_until_us(self) -> int:
        """What comes again later than this is explained by nothing."""
        return self.until_us + max(self.allows.settle_us, self.allows.again_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillReader:
    """Who is owed every message: a group, or each instance of a broadcast group.

    Attributes:
        actors: consumers whose deliveries count.
        from_us, until_us: what was sent in between is owed.
    """

    name: str
    group: int
    mode: str
    actors: npt.NDArray[np.int64]
    from_us: int = -1
    until_us: int = _NEVER


@dataclass(slots=True)
class _Member:
    name: str
    group: int
    joined_us: int
    left_us: int = _NEVER


@dataclass(slots=True)
class Course:
    """Collects declarations in order; afterwards says who is owed what and which event explains what."""

    began: DrillBegan | None = None
    ended: bool = False
    last_us: int = 0
    groups: dict[int, GroupNamed] = field(default_factory=dict)
    queues: dict[int, QueueNamed] = field(default_factory=dict)
    producers: dict[int, str] = field(default_factory=dict)
    disturbances: list[Disturbance] = field(default_factory=list)
    _members: dict[int, _Member] = field(default_factory=dict)

    def take(self, declaration: Declaration, line: HistoryLine) -> None:
        """Takes a declaration. Raises BadInputError for one that contradicts those before it."""
        self.last_us = max(self.last_us, declaration.at_us)
        match declaration:
            case DrillBegan():
                self.began = declaration
            case GroupNamed():
                if declaration.mode not in MODES:
                    raise _contradiction(
                        line,
                        sentence(
                            "drill-mode-none-of",
                            "mode {mode!r} is none of {modes}",
                            mode=declaration.mode,
                            modes=MODES,
                        ),
                    )
                self.groups[declaration.group] = declaration
            case QueueNamed():
                self.queues[declaration.queue] = declaration
            case ProducerNamed():
                self.producers[declaration.actor] = declaration.name
            case ConsumerJoined():
                if declaration.group not in self.groups:
                    raise _contradiction(
                        line,
                        sentence("drill-group-not-declared", "group {group} is not declared", group=declaration.group),
                    )
                self._members[declaration.actor] = _Member(declaration.name, declaration.group, declaration.at_us)
                self._membership(declaration.at_us, declaration.group, line)
            case ConsumerLeft():
                member = self._members.get(declaration.actor)
                if member is None:
                    raise _contradiction(
                        line,
                        sentence(
                            "drill-consumer-never-joined",
                            "consumer {consumer} never joined",
                            consumer=declaration.actor,
                        ),
                    )
                member.left_us = declaration.at_us
                self._membership(declaration.at_us, member.group, line)
            case Happened():
                until_us = declaration.at_us if declaration.until_us is None else declaration.until_us
                self._disturb(declaration.at_us, until_us, None, declaration.allows, line)
            case DrillEnded():
                self.ended = True

    def _membership(self, at_us: int, group: int, line: HistoryLine) -> None:
        if self.began is not None:
            self._disturb(at_us, at_us, group, self.began.membership, line)

    def _disturb(self, at_us: int, until_us: int, group: int | None, allows: Allowances, line: HistoryLine) -> None:
        self.disturbances.append(Disturbance(at_us=at_us, until_us=until_us, group=group, allows=allows, line=line))

    def started(self) -> DrillBegan:
        """Returns the first declaration. Raises BadInputError: there is none."""
        if self.began is None:
            raise BadInputError(
                sentence("drill-could-not-judge-history", "could not judge the history"),
                reason=sentence("start-drill-missing", "the start of the drill is missing from it"),
            )
        return self.began

    def readers(self) -> list[DrillReader]:
        """Returns everybody who is owed messages; a group that nobody ever joined is one as well."""
        actors: defaultdict[int, list[int]] = defaultdict(list)
        for actor, member in self._members.items():
            actors[member.group].append(actor)
        readers: list[DrillReader] = []
        for number, group in self.groups.items():
            if group.mode != "broadcast":
                mine = np.array(actors[number], np.int64)
                last_us = max((self._members[actor].left_us for actor in actors[number]), default=_NEVER)
                readers.append(
                    DrillReader(name=group.name, group=number, mode=group.mode, actors=mine, until_us=last_us)
                )
                continue
            for actor in actors[number]:
                member = self._members[actor]
                readers.append(
                    DrillReader(
                        name=f"{group.name}/{member.name}",
                        group=number,
                        mode=group.mode,
                        actors=np.array([actor], np.int64),
                        from_us=member.joined_us,
                        until_us=member.left_us,
                    )
                )
        return readers

    def is_topics_own(self, queue: int) -> bool:
        """Tells whether a queue is one of the drill's topic, and not of a group's retry topic."""
        named = self.queues.get(queue)
        return named is None or named.topic == self.started().topic

    # What explains what. Each returns the index of a disturbance, or -1.

    def explains_repeat(self, reader: DrillReader, first: Times, again: Times) -> Times:
        """For what was consumed at `first` and came again at `again`."""
        event_numbers = np.full(len(first), -1, np.int64)
        for number, each in self._of(reader):
            near = (first >= each.at_us - each.allows.repeats_back_us) & (first <= each.settled_us)
            event_numbers[near & (again >= each.at_us) & (again <= self._served_again_us(reader, each))] = number
        return event_numbers

    def _served_again_us(self, reader: DrillReader, event: Disturbance) -> int:
        """Returns when an event's repeats are over; the time in which nobody of the group was there does not count.

        Whoever joins then begins at the offset that was committed before.
        """
        over_us = event.repeats_until_us
        for left_us, joined_us in self._absences(reader.group):
            if event.until_us < joined_us and left_us <= over_us:
                over_us += joined_us - max(left_us, event.until_us)
        return over_us

    def _absences(self, group: int) -> Iterator[tuple[int, int]]:
        """Yields when the last member of a group left, and when the next one joined."""
        here_until_us = 0
        members = [each for each in self._members.values() if each.group == group]
        for member in sorted(members, key=lambda each: each.joined_us):
            if member.joined_us > here_until_us:
                yield here_until_us, member.joined_us
            here_until_us = max(here_until_us, member.left_us)

    def explains_early(self, sent: Times, first: Times, ahead: Times) -> Times:
        """For delayed messages that came `ahead` too soon: a clock that was set meanwhile by at least as much."""
        explained = np.full(len(sent), -1, np.int64)
        for number, each in enumerate(self.disturbances):
            jumped = (sent <= each.at_us) & (first >= each.at_us) & (ahead <= each.allows.early_us)
            explained[jumped & (each.allows.early_us > 0)] = number
        return explained

    def explains_loss(self, reader: DrillReader, sent: Times, acknowledged: Times) -> Times:
        """For acknowledged messages that never came.

        A queue that lost its end gives its offsets a second time: readers that were beyond them pass by what is stored
        there, until a pull corrects them.
        """
        event_numbers = np.full(len(sent), -1, np.int64)
        for number, each in self._of(reader):
            if each.allows.loses_back_us:
                back_us = each.at_us - each.allows.loses_back_us
                event_numbers[(acknowledged >= back_us) & (acknowledged <= each.settled_us)] = number
            if each.allows.skips:
                event_numbers[sent < each.at_us] = number
        return event_numbers

    def overlapping(
        self, reader: DrillReader | None, since: Times, until: Times, *, losing: bool = False, routed: bool = False
    ) -> Times:
        """For spans: a disturbance between `since` and `until`, only one that loses or skips, or moves routes."""
        event_numbers = np.full(len(since), -1, np.int64)
        for number, each in self._of(reader):
            if losing and not (each.allows.loses_back_us or each.allows.skips):
                continue
            if routed and not each.allows.moves_route:
                continue
            begin_us = each.at_us - each.allows.loses_back_us
            event_numbers[(since <= each.settled_us) & (until >= begin_us)] = number
        return event_numbers

    def _of(self, reader: DrillReader | None) -> list[tuple[int, Disturbance]]:
        return [
            (number, each)
            for number, each in enumerate(self.disturbances)
            if each.group is None or (reader is not None and each.group == reader.group)
        ]


def _contradiction(line: HistoryLine, reason: str) -> BadInputError:
    return BadInputError(
        sentence(
            "drill-could-not-judge-history-line", "could not judge the history from line {line} on", line=line.line
        ),
        reason=reason,
    )


@dataclass(slots=True)
class CommittedOffsets:
    """What was seen of a group's committed offset in a queue: each advance, with the row that shows it."""

    offsets: list[int] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)
    last: Rows | None = None

    def take(self, row: Rows) -> Rows | None:
        """Takes the next row in the order of time; returns the one before it when the offset went back."""
        before, self.last = self.last, row
        if not self.offsets or row[At.OFFSET] > self.offsets[-1]:
            self.offsets.append(int(row[At.OFFSET]))
            self.rows.append(row)
        return before if before is not None and row[At.OFFSET] < before[At.OFFSET] else None

    def passed(self, offset: int) -> Rows | None:
        """Returns the first row that shows a position as passed."""
        from bisect import bisect_right

        at = bisect_right(self.offsets, offset)
        return self.rows[at] if at < len(self.rows) else None
