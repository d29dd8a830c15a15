"""What RocketMQ's protocol allows at each kind of event, from the periods that its clients and brokers keep.

Offsets travel to the broker every 5 s (`persistConsumerOffsetInterval`), and from there to its disk every 5 s
(`flushConsumerOffsetInterval`); a slave has them 10 s later. Members agree on their queues within two rebalances of 20
s, a lock of a lost member lasts 60 s, routes are looked up every 30 s.
"""

from __future__ import annotations

from msgspec.structs import replace

from mqctl.drill.declarations import Allowances
from mqctl.drill.plan import DrillLimits, DrillPlan
from mqctl.model.spans import span_ms

_PERSIST_MS, _FLUSH_MS, _SLAVE_MS = 5_000, 5_000, 10_000
_REBALANCES_MS, _LOCK_MS, _ROUTE_MS = 40_000, 60_000, 30_000
_MARGIN_MS = 3_000
"""For machines: it is not scaled."""
_EVER_US = 1 << 45


def span_us(text: str) -> int:
    """Returns a span that the plan's reader has accepted, in microseconds."""
    return round((span_ms(text) or 0) * 1000)


class Protocol:
    """Allowances at a plan's time scale."""

    def __init__(self, plan: DrillPlan) -> None:
        self._scale = plan.time_scale
        self._limits: DrillLimits = plan.limits

    def membership(self) -> Allowances:
        """A consumer joins, leaves or dies."""
        return self._allow(_PERSIST_MS, _REBALANCES_MS + _LOCK_MS)

    def broker(self) -> Allowances:
        """A broker stops, dies, comes back, or its slave takes over reading."""
        return self._allow(_PERSIST_MS + _FLUSH_MS + _SLAVE_MS, _REBALANCES_MS + _LOCK_MS + _ROUTE_MS, moves_route=True)

    def power(self, loses_back: str) -> Allowances:
        """A broker loses what it had not flushed; its offsets and those of its slave may be older, too."""
        return replace(self.broker(), loses_back_us=span_us(loses_back))

    def clock(self, by_us: int) -> Allowances:
        """Clocks of brokers jump: locks and members expire early, delays end early or late.

        A clock that is set back makes delayed messages due at once whose delay would end later than if they came only
        now (`correctDeliverTimestamp`).
        """
        allowed = self._allow(_PERSIST_MS, _REBALANCES_MS + _LOCK_MS)
        return replace(allowed, settle_us=allowed.settle_us + max(0, -by_us), early_us=by_us if by_us > 0 else _EVER_US)

    def reset(self) -> Allowances:
        """Offsets are moved back: anything may come again, within the time that a message may take at all."""
        allowed = self._allow(_PERSIST_MS, _REBALANCES_MS)
        again_us = allowed.settle_us + span_us(self._limits.lost_after)
        return replace(allowed, repeats_back_us=_EVER_US, again_us=again_us)

    def _allow(self, back_ms: int, settle_ms: int, *, moves_route: bool = False) -> Allowances:
        back, settle = self._limits.repeats_back, self._limits.settle
        return Allowances(
            repeats_back_us=self._scaled_us(back_ms) if back is None else span_us(back),
            settle_us=self._scaled_us(settle_ms) if settle is None else span_us(settle),
            moves_route=moves_route,
        )

    def _scaled_us(self, period_ms: int) -> int:
        return round((period_ms / self._scale + _MARGIN_MS) * 1000)
