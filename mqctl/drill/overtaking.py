"""Who overtook whom: running maxima along an order, carried from block to block, so that one pass is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mqctl.drill.course import Times
from mqctl.drill.history import At, Rows

_SPAN = 1 << 46
"""More than any time of a history."""


@dataclass(slots=True)
class Overtaking:
    """The latest so far of each lane, with the rows that show it."""

    latest: dict[int, tuple[int, tuple[Rows, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Pairs: an earlier member of a lane that came after a later one.

    Attributes:
        earlier, later: their rows, one array for each kind of row given, aligned.
    """

    earlier: tuple[Rows, ...]
    later: tuple[Rows, ...]

    def __len__(self) -> int:
        return len(self.earlier[0])

    @property
    def since(self) -> Times:
        """When the first of the four things of a pair happened."""
        earliest_us: Times = np.min([each[:, At.TIME] for each in (*self.earlier, *self.later)], axis=0)
        return earliest_us

    @property
    def until(self) -> Times:
        """When the last of them happened."""
        latest_us: Times = np.max([each[:, At.TIME] for each in (*self.earlier, *self.later)], axis=0)
        return latest_us

    @property
    def moved(self) -> np.typing.NDArray[np.bool_]:
        """Tells of each pair whether the two lie in different queues."""
        return np.asarray(self.earlier[0][:, At.QUEUE] != self.later[0][:, At.QUEUE])

    def pick(self, which: Times | np.typing.NDArray[np.bool_]) -> Overtaken:
        """Returns some of the pairs."""
        return Overtaken(tuple(each[which] for each in self.earlier), tuple(each[which] for each in self.later))

    def rows(self, at: int) -> list[Rows]:
        """Returns the rows of a pair, the later member's first."""
        return [each[at] for each in (*self.later, *self.earlier)]


def find_overtaken(state: Overtaking, lanes: Times, values: Times, limits: Times, rows: Sequence[Rows]) -> Overtaken:
    """Finds members that come after an earlier one of their lane has passed their limit.

    Args:
        state: what earlier blocks left; it is brought up to date.
        lanes: the lane of each member; members stand in the order that is promised.
        values: when a member came.
        limits: a member is overtaken by those before it whose value is above this; its own value is not.
        rows: kinds of rows, each aligned with the members.
    """
    if not len(lanes):
        return Overtaken(tuple(each[:0] for each in rows), tuple(each[:0] for each in rows))
    present = np.unique(lanes)
    carried = [(lane, state.latest[lane]) for lane in present.tolist() if lane in state.latest]
    if carried:
        before = np.array([value for _, (value, _) in carried], np.int64)
        lanes = np.concatenate(([lane for lane, _ in carried], lanes))
        values = np.concatenate((before, values))
        limits = np.concatenate((before, limits))
        rows = [
            np.concatenate((np.stack([shown[kind] for _, (_, shown) in carried]), each))
            for kind, each in enumerate(rows)
        ]
    order = np.argsort(lanes, kind="stable")
    base = np.searchsorted(present, lanes[order]) * _SPAN
    came = values[order] + base
    running = np.maximum.accumulate(came)
    holder = np.maximum.accumulate(np.where(came == running, np.arange(len(order)), 0))
    positions = np.flatnonzero(running > limits[order] + base)
    last = np.append(np.flatnonzero(np.diff(base)), len(order) - 1)
    for lane, end in zip(present.tolist(), holder[last].tolist(), strict=True):
        index = int(order[end])
        state.latest[lane] = (int(values[index]), tuple(each[index].copy() for each in rows))
    held, members = order[holder[positions]], order[positions]
    return Overtaken(tuple(each[held] for each in rows), tuple(each[members] for each in rows))
