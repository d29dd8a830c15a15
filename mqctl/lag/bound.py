"""What bounds a group on a topic: nobody, its listener, its threads, instances or queues, or what reaches it.

Source: docs/models.md. `ConsumeMessageConcurrentlyService` shares an instance's threads among its queues;
`ConsumeMessageOrderlyService` gives each queue one thread at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from mqctl.allocation.carrying import Capacity, Mode
from mqctl.allocation.group_view import GroupView
from mqctl.allocation.strategies import Average, AverageByCircle, ConsistentHash, Strategy
from mqctl.lag.rates import Drain, Movement, Outlook, QueueFlow, drain_of, last_of
from mqctl.model.numbers import decimal
from mqctl.model.thresholds import Settings


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


def total(values: Iterable[float | None]) -> float | None:
    """Adds up what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


class BacklogCase:
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
        self.in_tps = total(flow.in_tps for flow in flows)
        self.consumed_tps = self._consumed_tps()

    def _consumed_tps(self) -> float | None:
        """Adds up what members consume; not known when one does not tell, nor when nobody is there to tell."""
        if self.view.silent or not self.view.running:
            return None
        return sum(map(self._tps_of, self.view.running))

    def _consume_ms(self) -> float | None:
        """Weighs what instances tell by how much each consumes."""
        times = [
            (rates.consume_rt_ms, rates.consume_ok_tps + rates.consume_failed_tps)
            for info in self.view.running.values()
            for rates in info.rates
            if rates.topic == self.topic and rates.consume_rt_ms > 0
        ]
        weight = sum(tps for _, tps in times)
        if not times:
            return None
        return sum(ms * tps for ms, tps in times) / weight if weight else max(ms for ms, _ in times)

    @property
    def batch(self) -> int:
        sizes = [info.properties.get("consumeMessageBatchMaxSize", "") for info in self.view.running.values()]
        return min((size for size in map(decimal, sizes) if size), default=1)

    def drain(self) -> Drain:
        """Queues of one concurrent instance share its threads; ordered ones, and those of nobody, stand alone."""
        if self.orderly:
            return last_of(flow.drain for flow in self.flows)
        units: dict[str, list[QueueFlow]] = {}
        for number, flow in enumerate(self.flows):
            units.setdefault(flow.owner or f"\0{number}", []).append(flow)
        return last_of(self._drain_of(owner, unit) for owner, unit in units.items())

    def _drain_of(self, owner: str, unit: Sequence[QueueFlow]) -> Drain:
        """Offsets move in leaps, by what members commit and by what others set: queues that drain by them do so as fast
        as their instance says that it consumes."""
        by_offsets = drain_of(unit)
        consumed_tps = self._tps_of(owner)
        if by_offsets.outlook is not Outlook.DRAINS or not consumed_tps:
            return by_offsets
        net = consumed_tps - sum(flow.in_tps or 0.0 for flow in unit)
        waiting = sum(flow.waiting_count or 0 for flow in unit if flow.behind)
        return Drain(Outlook.DRAINS, round(waiting / net * 1000)) if net > 0 else Drain(Outlook.NEVER, None)

    def _tps_of(self, client: str) -> float:
        info = self.view.running.get(client)
        rates = info.rates if info is not None else ()
        return sum(item.consume_ok_tps + item.consume_failed_tps for item in rates if item.topic == self.topic)

    def target_ms(self, expires_in_ms: int | None, drain: Drain) -> int:
        """Returns the time that remedies are measured by: an hour, or half of what it takes where that is less."""
        wanted = self.settings.scaled(self.settings.drain_target_ms)
        if drain.outlook is Outlook.DRAINS and drain.after_ms is not None:
            wanted = min(wanted, drain.after_ms // 2)
        return max(1, min(wanted, expires_in_ms)) if expires_in_ms is not None else wanted

    @property
    def spare_slots(self) -> int:
        """Instances that could be added and still get a queue."""
        return len(self.flows) - len(self.view.client_ids)

    @property
    def busy(self) -> bool | None:
        """Whether the listener takes most of the time of an instance that is behind; None when times are not known."""
        known = {client: self._worked(client) for client in self.owners}
        if any(known.values()):
            return True
        return None if not known or None in known.values() else False

    def _worked(self, client: str) -> bool | None:
        """Tells whether the threads of one instance that can work do, by the time that a batch takes."""
        if self.unmoved:
            out_tps: float | None = self._tps_of(client)
        else:
            out_tps = total(flow.out_tps for flow in self.flows if flow.owner == client)
        lanes = self._lanes(client)
        if not self.consume_ms or not lanes or out_tps is None:
            return None
        return out_tps * self.consume_ms / 1000 / self.batch >= self.settings.busy_share * lanes

    def _lanes(self, client: str) -> int | None:
        """Returns how many threads of one instance can work at once; None when it does not tell."""
        info = self.view.running.get(client)
        if info is None:
            return None
        owned = sum(flow.owner == client for flow in self.flows)
        return Capacity(thread_count=info.thread_count, mode=Mode.of(orderly=bool(info.orderly))).lanes(owned)

    def bound(self) -> Bound:
        """Names the first of the bounds that holds, from what nothing else can cure to what numbers decide."""
        if not self.behind:
            return Bound.NONE
        if any(flow.owner is None for flow in self.behind):
            # Who takes messages by POP, or assigns queues by hand, holds none of them for good.
            return Bound.UNKNOWN if self.view.silent or not self.view.shares else Bound.NOBODY
        if self.unmoved:
            # Members tell what they did in the last minute: one look shows that threads work, not why they do not.
            return self._by_work() if self.busy else Bound.UNKNOWN
        if self.stuck:
            return Bound.LISTENER
        return Bound.HOT_QUEUE if self._one_is_hot() else self._by_work()

    @property
    def unmoved(self) -> bool:
        """Whether no movement was seen of anything that waits: at one look, or in less time than commits take."""
        return all(flow.movement is Movement.UNKNOWN for flow in self.behind)

    @property
    def stuck(self) -> bool:
        """Whether instances hold messages of what waits and finish none.

        An orderly one with fewer threads than queues stays with a queue for up to a minute while others wait.
        """
        if self.unmoved:
            return False
        hampered = self.flows if self.orderly and self.lanes_short else self.behind
        moving = any(flow.out_tps for flow in hampered if flow.owner in self.owners)
        return any(flow.cached_count for flow in self.behind) and not moving

    def _one_is_hot(self) -> bool:
        """One queue has nearly all of the backlog, and more than its share of what arrives, if anything does."""
        waiting = sum(flow.waiting_count or 0 for flow in self.flows)
        arriving = sum(flow.in_tps or 0.0 for flow in self.flows)
        if len(self.flows) < 2 or (self._hottest.waiting_count or 0) < self.settings.hot_lag_share * waiting:
            return False
        return (self._hottest.in_tps or 0.0) * len(self.flows) >= self.settings.hot_queue_factor * arriving

    @property
    def _hottest(self) -> QueueFlow:
        return max(self.flows, key=lambda flow: flow.waiting_count or 0)

    @property
    def hot_stands_alone(self) -> bool:
        """Whether the hottest queue has all that one queue can have: a thread of its own, or all of its owner's."""
        if self.orderly:
            return not self.lanes_short
        others = [flow for flow in self.flows if flow.owner == self._hottest.owner and flow is not self._hottest]
        return not any(flow.in_tps or flow.behind for flow in others)

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
    def capacity(self) -> Capacity | None:
        """What one instance passes, on the average; None when threads, times or rates are not known."""
        if not self.thread_count or not self.consume_ms or self.in_tps is None:
            return None
        threads = max(1, self.thread_count // len(self.view.running))
        return Capacity(
            tps=threads * self.batch * 1000 / self.consume_ms,
            thread_count=threads,
            mode=Mode.of(orderly=bool(self.orderly)),
        )

    @property
    def strategy(self) -> Strategy:
        """The strategy that members name, where it needs nothing but names; else the default."""
        strategies = {info.strategy for info in self.view.running.values()}
        return next((item for item in (AverageByCircle(), ConsistentHash()) if strategies == {item.name}), Average())

    @property
    def parallelism(self) -> int | None:
        """How many batches its instances can work on at once; None when one does not tell its threads."""
        if self.view.silent:
            return None
        lanes = [self._lanes(client) for client in self.view.running]
        return sum(count or 0 for count in lanes) if None not in lanes else None

    @property
    def lanes_short(self) -> bool:
        """Whether an owner of what waits has fewer threads than queues."""
        for client in self.owners:
            info = self.view.running.get(client)
            threads = info.thread_count if info else None
            if threads is not None and threads < sum(flow.owner == client for flow in self.flows):
                return True
        return False
