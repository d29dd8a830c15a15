"""What each thing that could be added would do about a backlog, and how many of it take it away in time.

What more instances would carry is computed as `allocation simulate` computes it. Source: docs/models.md. New
queues take new messages only.
"""

from __future__ import annotations

import math
from enum import StrEnum

from mqctl.allocation.carrying import client_loads
from mqctl.allocation.key_forecast import KeyForecast
from mqctl.allocation.simulation import Layout, simulate
from mqctl.lag.bound import BacklogCase, Bound
from mqctl.lag.rates import QueueFlow
from mqctl.model.lazy_dataclass import dataclass


class Effect(StrEnum):
    """Whether a remedy helps against what waits now."""

    YES = "yes"
    NO = "no"
    PARTLY = "partly"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing that could be added.

    Attributes:
        what: `instances`, `threads`, `keys` (one thread for each key, of orderly groups), `queues`, `brokers`,
            `downstream`.
        reason: key of the sentence that says why.
        needed_count: how many it takes in all (instances, or threads of each instance); None where no number helps.
        forecast: of `keys`, what the keys that wait say; None where they were not read.
    """

    what: str
    effect: Effect
    reason: str
    needed_count: int | None = None
    forecast: KeyForecast | None = None


_WORTH_IT = 1.1
"""How many times as fast keys must be than queues to be worth a change of the listener."""


def of_keys(forecast: KeyForecast, *, stuck: bool) -> Remedy:
    """Returns what one thread for each key would do, by the keys of what waits."""
    if stuck:
        return Remedy(what="keys", effect=Effect.PARTLY, reason="stuck", forecast=forecast)
    if forecast.gain < _WORTH_IT:
        return Remedy(what="keys", effect=Effect.NO, reason="one_key", forecast=forecast)
    reason = "gain" if forecast.key_tps is None else "rate"
    return Remedy(
        what="keys", effect=Effect.PARTLY, reason=reason, needed_count=forecast.thread_count, forecast=forecast
    )


def remedies(case: BacklogCase, bound: Bound, target_ms: int) -> tuple[Remedy, ...]:
    """Says of each thing that could be added what it would do; nothing where nothing waits."""
    if bound is Bound.NONE:
        return ()
    if bound is Bound.UNKNOWN:
        first = [Remedy(what=what, effect=Effect.UNKNOWN, reason="untold") for what in ("instances", "threads")]
        downstream = Remedy(what="downstream", effect=Effect.UNKNOWN, reason="untold")
    else:
        first = [_instances(case, bound, target_ms), _threads(case, bound, target_ms)]
        downstream = Remedy(what="downstream", effect=Effect.YES, reason="faster")
        if bound in (Bound.NOBODY, Bound.PULL):
            downstream = Remedy(what="downstream", effect=Effect.NO, reason="elsewhere")
    nobody = bound is Bound.NOBODY and not case.view.client_ids
    return (
        *first,
        *_keys(case, bound),
        Remedy(what="queues", effect=Effect.NO, reason="nobody")
        if nobody
        else Remedy(what="queues", effect=Effect.PARTLY, reason="new_only"),
        Remedy(what="brokers", effect=Effect.NO, reason="nobody")
        if nobody
        else Remedy(what="brokers", effect=Effect.PARTLY, reason="reads" if bound is Bound.PULL else "new_only_broker"),
        downstream,
    )


def _instances(case: BacklogCase, bound: Bound, target_ms: int) -> Remedy:
    needed = None
    if bound is Bound.NOBODY:
        nobody = not case.view.client_ids
        effect, reason = (Effect.YES, "start") if nobody else (Effect.NO, "orphans")
    elif case.spare_slots <= 0:
        effect, reason = Effect.NO, "no_slots"
    elif bound is Bound.PULL:
        effect, reason = Effect.NO, "idle"
    elif bound is Bound.HOT_QUEUE and case.hot_stands_alone:
        effect, reason = Effect.NO, "hot"
    elif bound is Bound.HOT_QUEUE:
        effect, reason = Effect.PARTLY, "hot_alone"
    elif case.stuck:
        effect, reason = Effect.PARTLY, "stuck_elsewhere"
    elif case.orderly and bound is Bound.QUEUES:
        effect, reason = Effect.NO, "lane_each"
    elif case.busy is False:
        effect, reason = Effect.PARTLY, "not_busy"
    else:
        needed = _instances_needed(case, target_ms)
        measured = case.capacity is not None
        effect, reason = (Effect.PARTLY, "slots_short") if measured and needed is None else (Effect.YES, "slots")
    return Remedy(what="instances", effect=effect, reason=reason, needed_count=needed)


def _instances_needed(case: BacklogCase, target_ms: int) -> int | None:
    """Returns how many instances in all carry what waits and what arrives; None when none do, or it is not known."""
    capacity = case.capacity
    if capacity is None or not capacity.tps:
        return None
    work = {flow.queue: _work_tps(flow, target_ms) for flow in case.flows}
    least = max(len(case.view.client_ids) + 1, math.ceil(sum(work.values()) / capacity.tps))
    for count in range(least, len(work) + 1):
        layout = Layout(queues=tuple(work), clients=tuple(f"{number:06d}" for number in range(count)))
        result = simulate(layout, case.strategy)
        if all(load.enough for load in client_loads(result, work, {}, capacity)):
            return count
    return None


def _threads(case: BacklogCase, bound: Bound, target_ms: int) -> Remedy:
    needed = None
    if bound is Bound.NOBODY:
        effect, reason = Effect.NO, "not_held"
    elif bound is Bound.PULL:
        effect, reason = Effect.NO, "idle"
    elif case.stuck:
        effect, reason = Effect.NO, "stuck"
    elif case.orderly:
        effect, reason = (Effect.YES, "lanes") if case.lanes_short else (Effect.NO, "one_lane")
    elif bound is Bound.LISTENER and case.busy is False:
        effect, reason = Effect.NO, "not_busy"
    else:
        needed = _threads_needed(case, target_ms)
        effect, reason = Effect.YES, "more"
    return Remedy(what="threads", effect=effect, reason=reason, needed_count=needed)


def _threads_needed(case: BacklogCase, target_ms: int) -> int | None:
    """Returns the threads that the instance with the most to do takes, by Little's law; None when times are unknown."""
    if not case.consume_ms or case.in_tps is None:
        return None
    work: dict[str | None, float] = {}
    for flow in case.flows:
        work[flow.owner] = work.get(flow.owner, 0.0) + _work_tps(flow, target_ms)
    return max(1, math.ceil(max(work.values(), default=0.0) * case.consume_ms / 1000 / case.batch))


def _keys(case: BacklogCase, bound: Bound) -> list[Remedy]:
    """One thread for each key instead of each queue: only a group that wants order has a reason to."""
    if not case.orderly:
        return []
    if bound in (Bound.NOBODY, Bound.PULL):
        return [Remedy(what="keys", effect=Effect.NO, reason="elsewhere")]
    if bound is Bound.UNKNOWN:
        return [Remedy(what="keys", effect=Effect.UNKNOWN, reason="untold")]
    return [Remedy(what="keys", effect=Effect.PARTLY, reason="stuck" if case.stuck else "per_key")]


def _work_tps(flow: QueueFlow, target_ms: int) -> float:
    """What has to be passed a second, so that what waits and what arrives is consumed within the target."""
    return (flow.waiting_count or 0) * 1000 / target_ms + (flow.in_tps or 0.0)
