"""The epochs of brokers under a controller: which master wrote from which physical offset on."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Epoch:
    """The time of one master.

    Attributes:
        epoch: its number; numbers are left out, for an election that fails takes one, too.
        start: physical offset of its first byte.
    """

    epoch: int
    start: int


def meeting_point(one: Sequence[Epoch], one_end: int, other: Sequence[Epoch], other_end: int) -> int | None:
    """Returns the physical offset up to which two logs are the same by their epochs: where a slave is cut.

    Args:
        one_end, other_end: where the logs end.

    Returns: None where they have no epoch in common; then a slave closes and tries again for ever.
    """
    ends = dict(_with_ends(other, other_end))
    common = [min(end, ends[epoch]) for epoch, end in _with_ends(one, one_end) if epoch in ends]
    return common[-1] if common else None


def _with_ends(epochs: Sequence[Epoch], end: int) -> list[tuple[Epoch, int]]:
    return list(zip(epochs, [*(epoch.start for epoch in epochs[1:]), end], strict=True)) if epochs else []
