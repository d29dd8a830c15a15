"""Half messages: where they lie is kept here, by topic and transaction id, until they are ended.

A half that this endpoint neither stored nor was asked about lately cannot be ended here, as at a proxy.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.statuses import PROXY_ERROR, Refused

if TYPE_CHECKING:
    from embedded_broker.clock import Clock

_LIFE_MS = 30_000
_MOST_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class KnownHalf:
    """Where a half message lies."""

    broker: str
    message_id: str
    queue_offset: int
    until_ms: int


class KnownHalves:
    """The half messages that may be ended here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._halves: OrderedDict[tuple[str, str], KnownHalf] = OrderedDict()

    def note_half(self, topic: str, transaction_id: str, broker: str, message_id: str, queue_offset: int) -> None:
        """Notes a half message, and forgets those whose time is over."""
        now_ms = self._clock.now_ms()
        key = (topic, transaction_id)
        self._halves[key] = KnownHalf(broker, message_id, queue_offset, now_ms + _LIFE_MS)
        self._halves.move_to_end(key)
        while len(self._halves) > _MOST_KEPT or next(iter(self._halves.values())).until_ms < now_ms:
            self._halves.popitem(last=False)

    def take_half(self, topic: str, transaction_id: str) -> KnownHalf:
        """Returns a half message that is noted; once only. Raises Refused."""
        half = self._halves.pop((topic, transaction_id), None)
        if half is None or half.until_ms < self._clock.now_ms():
            raise Refused(pb.Code.INTERNAL_SERVER_ERROR, f"{PROXY_ERROR}cannot found transaction data")
        return half
