"""Machine form of `group lag --advise`."""

from __future__ import annotations

from dataclasses import replace

from mqctl.allocation.key_forecast import KeyForecast
from mqctl.lag.advice import BacklogAdvice
from mqctl.lag.rates import QueueFlow
from mqctl.lag.remedies import Remedy
from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyRow:
    """One thing that could be added, and what it would do; `reason` is a key, `needed_count` how many in all.

    Attributes:
        forecast: of `keys`, from the keys of what waits; None where they were not read.
    """

    what: str
    effect: str
    reason: str
    needed_count: int | None
    forecast: KeyForecast | None

    @classmethod
    def of(cls, remedy: Remedy) -> RemedyRow:
        """Takes what is judged, with numbers as they are shown."""
        return cls(
            what=remedy.what,
            effect=remedy.effect.value,
            reason=remedy.reason,
            needed_count=remedy.needed_count,
            forecast=None if remedy.forecast is None else _rounded_forecast(remedy.forecast),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowRow:
    """One queue: rates a second, movement, and when it is empty (`drain`: keeps-up, drains, never, unknown)."""

    broker: str
    queue_id: int
    owner: str | None
    lag_count: int | None
    lag_ms: int | None
    in_tps: float | None
    out_tps: float | None
    movement: str
    drain: str
    drain_ms: int | None
    expires_in_ms: int | None
    waiting_count: int | None

    @classmethod
    def of(cls, flow: QueueFlow) -> FlowRow:
        """Takes what was measured, with rates as they are shown."""
        return cls(
            broker=flow.queue.broker_name,
            queue_id=flow.queue.queue_id,
            owner=flow.owner,
            lag_count=flow.lag_count,
            lag_ms=flow.lag_ms,
            in_tps=_rounded(flow.in_tps),
            out_tps=_rounded(flow.out_tps),
            movement=flow.movement.value,
            drain=flow.drain.outlook.value,
            drain_ms=flow.drain.after_ms,
            expires_in_ms=flow.expires_in_ms,
            waiting_count=flow.waiting_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceRow:
    """One group on one topic.

    Attributes:
        consume_mode: of the group, `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        consumed_tps: as all members tell; the drain goes by it where they do. `out_tps` is how fast offsets move.
        drain: `keeps-up`, `drains`, `never` or `unknown`; `drain_ms` says when it drains.
        expires_in_ms: time until retention may delete the first message that waits; `loses` whether that comes first.
        bound: what keeps the group from being faster.
        parallelism: batches that its instances can work on at once: of an orderly one no more than it has queues.
        target_ms: time that `needed_count` of the remedies is computed for.
        waiting_count: the lag, and in queues without a committed offset what is from the first message on that a member
            holds; None when nobody knows of a queue.
    """

    group: str
    consume_mode: str | None
    topic: str
    member_count: int
    queue_count: int
    lag_count: int | None
    lag_ms: int | None
    in_tps: float | None
    consumed_tps: float | None
    out_tps: float | None
    drain: str
    drain_ms: int | None
    expires_in_ms: int | None
    loses: bool | None
    bound: str
    orderly: bool | None
    thread_count: int | None
    parallelism: int | None
    consume_ms: float | None
    target_ms: int
    confidence: str
    waiting_count: int | None
    remedies: list[RemedyRow]
    queues: list[FlowRow]

    @classmethod
    def of(cls, advice: BacklogAdvice) -> AdviceRow:
        """Takes what is judged, with rates as they are shown."""
        return cls(
            group=advice.group,
            consume_mode=advice.consume_mode,
            topic=advice.topic,
            member_count=advice.member_count,
            queue_count=advice.queue_count,
            lag_count=advice.lag_count,
            lag_ms=advice.lag_ms,
            in_tps=_rounded(advice.in_tps),
            consumed_tps=_rounded(advice.consumed_tps),
            out_tps=_rounded(advice.out_tps),
            drain=advice.drain.outlook.value,
            drain_ms=advice.drain.after_ms,
            expires_in_ms=advice.expires_in_ms,
            loses=advice.loses,
            bound=advice.bound.value,
            orderly=advice.orderly,
            thread_count=advice.thread_count,
            parallelism=advice.parallelism,
            consume_ms=_rounded(advice.consume_ms),
            target_ms=advice.target_ms,
            confidence=advice.confidence.value,
            waiting_count=advice.waiting_count,
            remedies=[RemedyRow.of(item) for item in advice.remedies],
            queues=[FlowRow.of(flow) for flow in advice.queues],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceReport:
    """Machine form of `group lag --advise`; `window_ms` is 0 when there was one look only, and no rate."""

    observed_at_ms: int
    window_ms: int
    groups: list[AdviceRow]


def _rounded_forecast(forecast: KeyForecast) -> KeyForecast:
    return replace(
        forecast,
        busiest_share=round(forecast.busiest_share, 2),
        queue_tps=_rounded(forecast.queue_tps),
        key_tps=_rounded(forecast.key_tps),
        gain=round(forecast.gain, 2),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
