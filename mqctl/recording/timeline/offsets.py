"""Offsets and ends of queues over time: lag and rates by group and topic, and offsets that stop or go back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from mqctl.model.spans import HOUR_MS
from mqctl.recording.kinds import RowKind
from mqctl.recording.reader import Recording
from mqctl.recording.timeline.filling import Filling, Flags, Indices, Numbers, padded
from mqctl.recording.timeline.question import LookSpan, TimelineQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """One queue whose consumer offset stood still with messages behind it; `until_ms` None: to the end."""

    place: int
    since_ms: int
    until_ms: int | None
    lag_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBack:
    """Offsets of a group on a topic that went back between two looks."""

    place: int
    look: int
    queue_count: int
    message_count: int


@dataclass(slots=True)
class OffsetsOverTime:
    """What the offsets tell.

    Attributes:
        names: group and topic of each row of the figures.
        moments: of each column.
        lags: messages behind; NaN where the group has no offset there.
        incoming, outgoing: messages sent and consumed since the column before; negative after a step back.
        queues: queues of each row.
    """

    names: list[tuple[str, str]]
    moments: Indices
    lags: Numbers
    incoming: Numbers
    outgoing: Numbers
    queues: Indices
    standstills: list[Standstill] = field(default_factory=list)
    steps_back: list[StepBack] = field(default_factory=list)


def offsets_over_time(recording: Recording, question: TimelineQuestion, stretch: LookSpan) -> OffsetsOverTime:
    """Compares the offsets of all looks of a stretch."""
    walk = _Walk(recording, question)
    blocks = []
    since_ms = stretch.base_ms
    for moments in _hours(stretch):
        until_ms = min((moments[-1] // HOUR_MS + 1) * HOUR_MS - 1, stretch.answered[-1])
        blocks.append(walk.block(since_ms, until_ms, np.array(moments, dtype=np.int64)))
        since_ms = until_ms + 1
    walk.end()
    count = len(walk.places)
    lags, incoming, outgoing = (
        np.concatenate([_taller(block[index], count, fill) for block in blocks], axis=1)
        for index, fill in ((0, np.nan), (1, 0.0), (2, 0.0))
    )
    return OffsetsOverTime(
        names=list(walk.places),
        moments=np.array(stretch.used, dtype=np.int64),
        lags=lags,
        incoming=incoming,
        outgoing=outgoing,
        queues=np.bincount(walk.place_of, minlength=count),
        standstills=walk.standstills,
        steps_back=walk.steps_back,
    )


def _hours(stretch: LookSpan) -> Iterator[list[int]]:
    for _, moments in groupby(stretch.used, key=lambda moment: moment // HOUR_MS):
        yield list(moments)


def _taller(block: Numbers, count: int, fill: float) -> Numbers:
    return np.concatenate([block, np.full((count - len(block), block.shape[1]), fill)])


class _Walk:
    """Goes through a recording hour by hour; what it must remember of each offset is one number of each kind."""

    def __init__(self, recording: Recording, question: TimelineQuestion) -> None:
        self._ends = Filling(
            recording,
            RowKind.QUEUES,
            "max_offset",
            lambda key: question.wants(broker=str(key[0]), topic=str(key[1])),
        )
        self._offsets = Filling(
            recording,
            RowKind.OFFSETS,
            "offset",
            lambda key: question.wants(broker=str(key[0]), group=str(key[1]), topic=str(key[2])),
        )
        self._stopped_ms = question.stopped_ms
        self.places: dict[tuple[str, str], int] = {}
        self.place_of: Indices = np.empty(0, np.int64)
        self._queue_of: Indices = np.empty(0, np.int64)
        self._last_ends: Numbers = np.empty(0)
        self._last_offsets: Numbers = np.empty(0)
        self._moved_ms: Numbers = np.empty(0)
        self._open: dict[int, tuple[int, int]] = {}
        self._column = 0
        self.standstills: list[Standstill] = []
        self.steps_back: list[StepBack] = []

    def block(self, since_ms: int, until_ms: int, moments: Indices) -> tuple[Numbers, Numbers, Numbers]:
        """Returns lag, sent and consumed messages by place at these moments."""
        ends_by_queue = self._ends.between(since_ms, until_ms, moments)
        offsets = self._offsets.between(since_ms, until_ms, moments)
        self._grow()
        known = self._queue_of >= 0
        ends = np.full(offsets.shape, np.nan)
        ends[known] = ends_by_queue[self._queue_of[known]]
        lags = np.maximum(ends - offsets, 0)
        sent = np.diff(ends, axis=1, prepend=self._last_ends[:, None])
        consumed = np.diff(offsets, axis=1, prepend=self._last_offsets[:, None])
        self._note_steps_back(consumed)
        self._note_standstills(lags, consumed, moments)
        if len(moments):
            self._last_ends, self._last_offsets = ends[:, -1], offsets[:, -1]
        self._column += len(moments)
        count = len(self.places)
        return (
            _summed(lags, self.place_of, count, none=np.nan),
            _summed(np.maximum(sent, 0), self.place_of, count),
            _summed(consumed, self.place_of, count),
        )

    def end(self) -> None:
        """Notes what still stands."""
        for key, (since_ms, lag) in self._open.items():
            self._note(key, since_ms, None, lag)

    def _grow(self) -> None:
        """Makes room for keys that are new, and finds the queues that were not there before."""
        keys = list(self._offsets.numbers)
        self.place_of = np.array(
            [self.places.setdefault((str(group), str(topic)), len(self.places)) for _, group, topic, _ in keys],
            dtype=np.int64,
        )
        queues = self._ends.numbers
        self._queue_of = np.array(
            [queues.get((broker, topic, queue), -1) for broker, _, topic, queue in keys], dtype=np.int64
        )
        self._last_ends = padded(self._last_ends, len(keys))
        self._last_offsets = padded(self._last_offsets, len(keys))
        self._moved_ms = padded(self._moved_ms, len(keys))

    def _note_steps_back(self, consumed: Numbers) -> None:
        keys, columns = np.nonzero(consumed < 0)
        steps: dict[tuple[int, int], list[int]] = {}
        for key, column in zip(keys.tolist(), columns.tolist(), strict=True):
            steps.setdefault((column, int(self.place_of[key])), []).append(-int(consumed[key, column]))
        self.steps_back += [
            StepBack(place=place, look=self._column + column, queue_count=len(back), message_count=sum(back))
            for (column, place), back in sorted(steps.items())
        ]

    def _note_standstills(self, lags: Numbers, consumed: Numbers, moments: Indices) -> None:
        if not len(moments) or not len(lags):
            return
        stands = (lags > 0) & ~(consumed != 0)  # NaN: nothing to compare with, so the clock starts
        moved = np.where(stands & ~np.isnan(consumed), np.nan, moments.astype(np.float64))
        begun = np.fmax.accumulate(np.concatenate([self._moved_ms[:, None], moved], axis=1), axis=1)[:, 1:]
        stopped = (lags > 0) & (moments - begun >= self._stopped_ms)
        was = np.zeros((len(lags), 1), dtype=bool)
        was[list(self._open)] = True
        self._note_edges(stopped, np.concatenate([was, stopped[:, :-1]], axis=1), begun, lags, moments)
        self._moved_ms = begun[:, -1]

    def _note_edges(self, stopped: Flags, was: Flags, begun: Numbers, lags: Numbers, moments: Indices) -> None:
        for key, column in np.argwhere(stopped != was).tolist():
            if stopped[key, column]:
                self._open[key] = int(begun[key, column]), int(lags[key, column])
            else:
                since_ms, lag = self._open.pop(key)
                last = int(np.nan_to_num(lags[key, column - 1])) if column else 0
                self._note(key, since_ms, int(moments[column]), max(lag, last))
        for key, (since_ms, lag) in self._open.items():
            if lags[key, -1] > lag:
                self._open[key] = since_ms, int(lags[key, -1])

    def _note(self, key: int, since_ms: int, until_ms: int | None, lag: int) -> None:
        place = int(self.place_of[key])
        self.standstills.append(Standstill(place=place, since_ms=since_ms, until_ms=until_ms, lag_count=lag))


def _summed(numbers: Numbers, places: Indices, count: int, none: float = 0.0) -> Numbers:
    """Adds up the rows of each place; `none` where none of its rows has a number."""
    sums = np.zeros((count, numbers.shape[1]))
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    firsts = np.flatnonzero(np.diff(ordered, prepend=-1))
    if not len(firsts):
        return sums
    rows = numbers[order]
    sums[ordered[firsts]] = np.add.reduceat(np.nan_to_num(rows), firsts, axis=0)
    if np.isnan(none):
        there = np.add.reduceat(~np.isnan(rows), firsts, axis=0, dtype=np.int64) > 0
        whole = np.zeros(sums.shape, dtype=bool)
        whole[ordered[firsts]] = there
        sums[~whole] = np.nan
    return sums
