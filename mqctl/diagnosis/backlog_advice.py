"""What to do about a backlog: what bounds the group, what each remedy would and would not do, retention before drain.

Source: `diagnosis-rules` 4.3 and 4.4. `ConsumeMessageConcurrentlyService` shares an instance's threads among its
queues; `ConsumeMessageOrderlyService` gives each queue one thread at a time. New queues take new messages only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mqctl.diagnosis.backlog_rates import Drain, Movement, Outlook, QueueFlow, drain_of, last_of, queue_flows
from mqctl.diagnosis.group_view import GroupView, group_views
from mqctl.diagnosis.settings import Settings
from mqctl.model.finding import Confidence
from mqctl.model.snapshot import ClusterSnapshot

_WORSE = [
    *(Movement.OK, Movement.CATCHING_UP, Movement.UNKNOWN, Movement.FALLING_BEHIND),
    *(Movement.STALLED, Movement.STOPPED, Movement.REWINDING),
]


class Bound(StrEnum):
    """What keeps a group from being faster.

    NOBODY: queues that no instance holds. LISTENER: the consumer's own code. PULL: what arrives at the instances.
    """

    NONE = "none"
    NOBODY = "nobody"
    LISTENER = "listener"
    HOT_QUEUE = "hot_queue"
    THREADS = "threads"
    INSTANCES = "instances"
    QUEUES = "queues"
    PULL = "pull"
    UNKNOWN = "unknown"


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
        what: `instances`, `threads`, `queues`, `brokers`, `downstream`.
        reason: key of the sentence that says why.
        needed_count: how many it takes in all (instances, or threads of each instance); None where no number helps.
    """

    what: str
    effect: Effect
    reason: str
    needed_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogAdvice:
    """One group on one topic.

    Attributes:
        lag_count: what waits in all queues with an offset; None when there is no offset at all.
        in_tps, out_tps: sums of what was measured; None when nothing was.
        drain: when the backlog is gone at these rates.
        expires_in_ms: time until retention may delete the first message that waits.
        loses: whether retention comes first; None when either time is not known.
        thread_count: consume threads of all instances; None when one does not tell.
        consume_ms: mean time of the listener for one batch; None when no instance tells.
        confidence: low when the look was shorter than consumers commit.
    """

    group: str
    topic: str
    member_count: int
    queue_count: int
    lag_count: int | None
    lag_ms: int | None
    in_tps: float | None
    out_tps: float | None
    drain: Drain
    expires_in_ms: int | None
    loses: bool | None
    bound: Bound
    orderly: bool | None
    thread_count: int | None
    consume_ms: float | None
    target_ms: int
    confidence: Confidence
    remedies: tuple[Remedy, ...]
    queues: tuple[QueueFlow, ...]

    @property
    def movement(self) -> Movement:
        """The worst of what the group does in its queues."""
        return max((flow.movement for flow in self.queues), key=_WORSE.index, default=Movement.OK)


def backlog_advice(snapshot: ClusterSnapshot, settings: Settings) -> list[BacklogAdvice]:
    """Returns advice for every group and topic, those that never end first, then the longest."""
    views = {view.group: view for view in group_views(snapshot)}
    flows: dict[tuple[str, str], list[QueueFlow]] = {}
    for flow in queue_flows(snapshot, settings):
        flows.setdefault((flow.group, flow.queue.topic), []).append(flow)
    window_ms = snapshot.origin.observed_at_ms - snapshot.earlier.origin.observed_at_ms if snapshot.earlier else 0
    sure = window_ms >= settings.scaled(settings.drain_window_ms)
    nobody = GroupView(group="", memberships={}, running={})
    found = [
        _advice(views.get(group, replace(nobody, group=group)), topic, listed, settings, sure=sure)
        for (group, topic), listed in flows.items()
    ]
    order = {Outlook.NEVER: 0, Outlook.UNKNOWN: 1, Outlook.DRAINS: 2, Outlook.KEEPS_UP: 3}
    return sorted(found, key=lambda item: (order[item.drain.outlook], -(item.lag_count or 0), item.group, item.topic))


def _advice(
    view: GroupView,
    topic: str,
    flows: Sequence[QueueFlow],
    settings: Settings,
    *,
    sure: bool,
) -> BacklogAdvice:
    case = _Case(view, topic, flows, settings)
    drain = case.drain()
    expires_in_ms = min((flow.expires_in_ms for flow in flows if flow.expires_in_ms is not None), default=None)
    bound = case.bound()
    lags = [flow.lag_count for flow in flows if flow.lag_count is not None]
    return BacklogAdvice(
        group=view.group,
        topic=topic,
        member_count=len(view.client_ids),
        queue_count=len(flows),
        lag_count=sum(lags) if lags else None,
        lag_ms=max((flow.lag_ms for flow in flows if flow.lag_ms is not None), default=None),
        in_tps=_sum(flow.in_tps for flow in flows),
        out_tps=_sum(flow.out_tps for flow in flows),
        drain=drain,
        expires_in_ms=expires_in_ms,
        loses=_loses(drain, expires_in_ms),
        bound=bound,
        orderly=case.orderly,
        thread_count=case.thread_count,
        consume_ms=case.consume_ms,
        target_ms=case.target_ms(expires_in_ms),
        confidence=Confidence.HIGH if sure and not view.silent else Confidence.LOW,
        remedies=case.remedies(bound, case.target_ms(expires_in_ms)),
        queues=tuple(flows),
    )


def _loses(drain: Drain, expires_in_ms: int | None) -> bool | None:
    if drain.outlook is Outlook.KEEPS_UP:
        return False
    if expires_in_ms is None or drain.outlook is Outlook.UNKNOWN:
        return None
    return drain.after_ms is None or drain.after_ms > expires_in_ms


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class _Case:
    """One group on one topic under examination."""

    def __init__(self, view: GroupView, topic: str, flows: Sequence[QueueFlow], settings: Settings) -> None:
        self.view = view
        self.topic = topic
        self.flows = flows
        self.settings = settings
        self.behind = [flow for flow in flows if flow.behind]
        self.owners = {flow.owner for flow in self.behind if flow.owner is not None}
        kinds = {info.orderly for info in view.running.values()}
        self.orderly = next(iter(kinds)) if len(kinds) == 1 else None
        threads = [info.thread_count for info in view.running.values()]
        known = [count for count in threads if count is not None]
        self.thread_count = sum(known) if known and len(known) == len(threads) and not view.silent else None
        self.consume_ms = self._consume_ms()

    def _consume_ms(self) -> float | None:
        """Weighs what instances tell by how much each consumes."""
        told = [
            (rates.consume_rt_ms, rates.consume_ok_tps + rates.consume_failed_tps)
            for info in self.view.running.values()
            for rates in info.rates
            if rates.topic == self.topic and rates.consume_rt_ms > 0
        ]
        weight = sum(tps for _, tps in told)
        if not told:
            return None
        return sum(ms * tps for ms, tps in told) / weight if weight else max(ms for ms, _ in told)

    @property
    def batch(self) -> int:
        sizes = [info.properties.get("consumeMessageBatchMaxSize", "") for info in self.view.running.values()]
        return min((int(size) for size in sizes if size.isdecimal() and int(size)), default=1)

    def drain(self) -> Drain:
        """Queues of one concurrent instance share its threads; ordered ones, and those of nobody, stand alone."""
        if self.orderly:
            return last_of(flow.drain for flow in self.flows)
        units: dict[str, list[QueueFlow]] = {}
        for number, flow in enumerate(self.flows):
            units.setdefault(flow.owner or f"\0{number}", []).append(flow)
        return last_of(drain_of(unit) for unit in units.values())

    def target_ms(self, expires_in_ms: int | None) -> int:
        wanted = self.settings.scaled(self.settings.drain_target_ms)
        return max(1, min(wanted, expires_in_ms)) if expires_in_ms is not None else wanted

    @property
    def spare_slots(self) -> int:
        """Instances that could be added and still get a queue."""
        return len(self.flows) - len(self.view.client_ids)

    @property
    def busy(self) -> bool | None:
        """Whether listeners take most of their threads' time; None when nobody tells how long they take."""
        out_tps = _sum(flow.out_tps for flow in self.flows)
        if not self.consume_ms or not self.thread_count or out_tps is None:
            return None
        lanes = self.thread_count if not self.orderly else min(self.thread_count, len(self.flows))
        return out_tps * self.consume_ms / 1000 / self.batch >= self.settings.busy_share * lanes

    def bound(self) -> Bound:
        """Names the first of the bounds that holds, from what nothing else can cure to what numbers decide."""
        if not self.behind:
            return Bound.NONE
        if any(flow.owner is None for flow in self.behind):
            # Who takes messages by POP, or assigns queues by hand, holds none of them for good.
            return Bound.UNKNOWN if self.view.silent or not self.view.shares else Bound.NOBODY
        if all(flow.movement is Movement.UNKNOWN for flow in self.behind):
            return Bound.UNKNOWN
        if self.stuck:
            return Bound.LISTENER
        return Bound.HOT_QUEUE if self._one_is_hot() else self._by_work()

    @property
    def stuck(self) -> bool:
        """Whether instances hold messages of what waits and finish none."""
        return any(flow.cached_count for flow in self.behind) and not any(flow.out_tps for flow in self.behind)

    def _one_is_hot(self) -> bool:
        """One queue has nearly all of the backlog, and more than its share of what arrives, if anything does."""
        hottest = max(self.flows, key=lambda flow: flow.lag_count or 0)
        total = sum(flow.lag_count or 0 for flow in self.flows)
        arriving = sum(flow.in_tps or 0.0 for flow in self.flows)
        if len(self.flows) < 2 or (hottest.lag_count or 0) < self.settings.hot_lag_share * total:
            return False
        return (hottest.in_tps or 0.0) * len(self.flows) >= self.settings.hot_queue_factor * arriving

    def _by_work(self) -> Bound:
        """Tells idle threads from busy ones, and what would give more of them."""
        busy = self.busy
        if not busy and not any(flow.cached_count for flow in self.behind):
            return Bound.PULL
        if busy is False or (self.consume_ms or 0.0) >= self.settings.slow_listener_ms:
            return Bound.LISTENER
        if self.orderly:
            return Bound.THREADS if self.lanes_short else Bound.QUEUES
        if self.thread_count is None or self.thread_count < self.settings.many_threads * len(self.view.running):
            return Bound.THREADS
        return Bound.INSTANCES if self.spare_slots > 0 else Bound.QUEUES

    @property
    def lanes_short(self) -> bool:
        """Whether an owner of what waits has fewer threads than queues."""
        for client in self.owners:
            info = self.view.running.get(client)
            threads = info.thread_count if info else None
            if threads is not None and threads < sum(flow.owner == client for flow in self.flows):
                return True
        return False

    def needed_lanes(self, target_ms: int) -> int | None:
        """Threads that a drain within the target takes, by Little's law; None when times are not known."""
        in_tps = _sum(flow.in_tps for flow in self.flows)
        if in_tps is None or not self.consume_ms:
            return None
        lag = sum(flow.lag_count or 0 for flow in self.flows)
        return max(1, math.ceil((lag * 1000 / target_ms + in_tps) * self.consume_ms / 1000 / self.batch))

    def remedies(self, bound: Bound, target_ms: int) -> tuple[Remedy, ...]:
        """Says of each thing that could be added what it would do; nothing where nothing waits."""
        if bound is Bound.NONE:
            return ()
        if bound is Bound.UNKNOWN:
            untold = [Remedy(what=what, effect=Effect.UNKNOWN, reason="untold") for what in ("instances", "threads")]
            downstream = Remedy(what="downstream", effect=Effect.UNKNOWN, reason="untold")
        else:
            lanes = self.needed_lanes(target_ms)
            untold = [self._instances(bound, lanes), self._threads(bound, lanes)]
            downstream = Remedy(what="downstream", effect=Effect.YES, reason="faster")
            if bound in (Bound.NOBODY, Bound.PULL):
                downstream = Remedy(what="downstream", effect=Effect.NO, reason="elsewhere")
        reads = "reads" if bound is Bound.PULL else "new_only_broker"
        return (
            *untold,
            Remedy(what="queues", effect=Effect.PARTLY, reason="new_only"),
            Remedy(what="brokers", effect=Effect.PARTLY, reason=reads),
            downstream,
        )

    def _instances(self, bound: Bound, lanes: int | None) -> Remedy:
        needed = None
        if bound is Bound.NOBODY:
            nobody = not self.view.client_ids
            effect, reason = (Effect.YES, "start") if nobody else (Effect.NO, "orphans")
        elif bound is Bound.HOT_QUEUE:
            effect, reason = Effect.NO, "hot"
        elif self.spare_slots <= 0:
            effect, reason = Effect.NO, "no_slots"
        elif self.stuck:
            effect, reason = Effect.PARTLY, "stuck_elsewhere"
        elif self.orderly and bound is Bound.QUEUES:
            effect, reason = Effect.NO, "lane_each"
        else:
            if lanes and self.thread_count and not self.orderly:
                needed = math.ceil(lanes * len(self.view.running) / self.thread_count)
            effect, reason = Effect.YES if (needed or 0) <= len(self.flows) else Effect.PARTLY, "slots"
        return Remedy(what="instances", effect=effect, reason=reason, needed_count=needed)

    def _threads(self, bound: Bound, lanes: int | None) -> Remedy:
        needed = None
        if bound is Bound.NOBODY:
            effect, reason = Effect.NO, "not_held"
        elif bound is Bound.PULL:
            effect, reason = Effect.NO, "idle"
        elif self.stuck:
            effect, reason = Effect.NO, "stuck"
        elif self.orderly:
            effect, reason = (Effect.YES, "lanes") if self.lanes_short else (Effect.NO, "one_lane")
        elif bound is Bound.LISTENER and self.busy is False:
            effect, reason = Effect.NO, "not_busy"
        else:
            needed = math.ceil(lanes / len(self.view.running)) if lanes else None
            effect, reason = Effect.YES, "more"
        return Remedy(what="threads", effect=effect, reason=reason, needed_count=needed)
