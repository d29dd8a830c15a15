"""The delay level table (`messageDelayLevel`).

Source: `ScheduleMessageService.parseDelayLevel` of 4.9.8: single blanks separate the items, the last character is the
unit, and the first bad item aborts the parse while the items before it stay.
"""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.spans import UNIT_MS

DEFAULT_LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
_UNITS = frozenset("smhd")


@dataclass(frozen=True, slots=True)
class DelayLevelTable:
    """Delays of levels 1, 2, 3, ... in milliseconds.

    Attributes:
        delays_ms: delay of level `n` at index `n - 1`.
        bad_item: the item at which parsing stopped, or None when the whole text was understood. A real broker
            does not start with a bad item.
    """

    delays_ms: tuple[int, ...]
    bad_item: str | None = None

    @property
    def max_level(self) -> int:
        return len(self.delays_ms)

    def delay_ms(self, level: int) -> int | None:
        """Returns the delay of `level`, or None when the table has no such level."""
        return self.delays_ms[level - 1] if 1 <= level <= len(self.delays_ms) else None

    @classmethod
    def parse(cls, text: str = DEFAULT_LEVELS) -> DelayLevelTable:
        """Parses `text` as the broker does."""
        delays: list[int] = []
        for item in text.strip().split(" "):
            unit_ms = UNIT_MS[item[-1]] if item[-1:] in _UNITS else None
            count = decimal(item[:-1])
            if unit_ms is None or count is None:
                return cls(tuple(delays), bad_item=item)
            delays.append(count * unit_ms)
        return cls(tuple(delays))


DEFAULT_TABLE = DelayLevelTable.parse()
