"""What to do about a backlog: what bounds the group, what each remedy would and would not do, retention before drain.

Source: docs/models.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from mqctl.allocation.group_view import GroupView, group_views
from mqctl.lag.bound import BacklogCase, Bound, total
from mqctl.lag.rates import Drain, Movement, Outlook, QueueFlow, queue_flows
from mqctl.lag.remedies import Remedy, remedies
from mqctl.model.finding import Confidence
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import broadcasting_groups
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings

_WORSE = [
    *(Movement.OK, Movement.CATCHING_UP, Movement.WAITING, Movement.UNKNOWN, Movement.FALLING_BEHIND),
    *(Movement.STALLED, Movement.STOPPED, Movement.REWINDING),
]

_TOGETHER = (Movement.CATCHING_UP, Movement.WAITING, Movement.FALLING_BEHIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogAdvice:
    """One group on one topic.

    Attributes:
        lag_count: what waits in all queues with an offset; None when there is no offset at all.
        waiting_count: the same, of queues without an offset by what members hold; None when nobody knows of a queue.
        in_tps, out_tps: sums of what was measured, `out_tps` by how offsets moved; None when nothing was.
        consumed_tps: what its members say that they consume; None when one does not tell.
        drain: when the backlog is gone at these rates; by what is consumed where that is known.
        expires_in_ms: time until retention may delete the first message that waits.
        loses: whether retention comes first; None when either time is not known.
        parallelism: batches that its instances can work on at once: of an orderly one no more than it has queues.
        thread_count: consume threads of all instances; None when one does not tell.
        consume_ms: mean time of the listener for one batch; None when no instance tells.
        lane_tps: messages a second that one thread passes at that.
        is_stuck: whether its members hold messages and finish none.
        is_busy: whether listeners take most of the time of an instance that is behind; None when nobody tells.
        consume_mode: of the group, `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        confidence: low when the look was shorter than consumers commit.
    """

    group: str
    topic: str
    member_count: int
    queue_count: int
    lag_count: int | None
    waiting_count: int | None
    lag_ms: int | None
    in_tps: float | None
    consumed_tps: float | None
    out_tps: float | None
    drain: Drain
    expires_in_ms: int | None
    loses: bool | None
    bound: Bound
    orderly: bool | None
    thread_count: int | None
    parallelism: int | None
    consume_ms: float | None
    lane_tps: float | None
    target_ms: int
    confidence: Confidence
    remedies: tuple[Remedy, ...]
    queues: tuple[QueueFlow, ...]
    is_stuck: bool = False
    is_busy: bool | None = None
    consume_mode: str | None = None

    @property
    def movement(self) -> Movement:
        """The worst of its queues; of all of them together where some wait for others of their owner."""
        movements = {flow.movement for flow in self.queues}
        worst = max(movements, key=_WORSE.index, default=Movement.OK)
        if Movement.WAITING not in movements or worst not in _TOGETHER:
            return worst
        return Movement.CATCHING_UP if (self.out_tps or 0.0) > (self.in_tps or 0.0) else Movement.FALLING_BEHIND


def backlog_advice(
    snapshot: ClusterSnapshot, settings: Settings, *, only: Collection[tuple[str, str]] | None = None
) -> list[BacklogAdvice]:
    """Returns advice for every group and topic, those that never end first, then the longest; none for groups whose
    members broadcast: nobody but they knows how far they are.

    Args:
        only: the groups and topics in question; None for all.
    """
    views = {view.group: view for view in group_views(snapshot)}
    local = broadcasting_groups(entry for broker in snapshot.brokers for entry in broker.memberships)
    flows: dict[tuple[str, str], list[QueueFlow]] = {}
    for flow in queue_flows(snapshot, settings):
        if flow.group not in local and (only is None or (flow.group, flow.queue.topic) in only):
            flows.setdefault((flow.group, flow.queue.topic), []).append(flow)
    window_ms = snapshot.origin.observed_at_ms - snapshot.earlier.origin.observed_at_ms if snapshot.earlier else 0
    sure = window_ms >= settings.scaled(settings.drain_window_ms)
    nobody = GroupView(group="", memberships={}, running={})
    advices = [
        _advice(views.get(group, replace(nobody, group=group)), topic, listed, settings, sure=sure)
        for (group, topic), listed in flows.items()
    ]
    modes = snapshot.consume_modes()
    advices = [replace(advice, consume_mode=modes.get(advice.group)) for advice in advices]
    order = {Outlook.NEVER: 0, Outlook.UNKNOWN: 1, Outlook.DRAINS: 2, Outlook.KEEPS_UP: 3}
    return sorted(
        advices, key=lambda item: (order[item.drain.outlook], -(item.waiting_count or 0), item.group, item.topic)
    )


def _advice(
    view: GroupView,
    topic: str,
    flows: Sequence[QueueFlow],
    settings: Settings,
    *,
    sure: bool,
) -> BacklogAdvice:
    case = BacklogCase(view, topic, flows, settings)
    drain = case.drain()
    expires_in_ms = min((flow.expires_in_ms for flow in flows if flow.expires_in_ms is not None), default=None)
    bound = case.bound()
    target_ms = case.target_ms(expires_in_ms, drain)
    lags = [flow.lag_count for flow in flows if flow.lag_count is not None]
    waiting = [flow.waiting_count for flow in flows if flow.waiting_count is not None]
    return BacklogAdvice(
        group=view.group,
        topic=topic,
        member_count=len(view.client_ids),
        queue_count=len(flows),
        lag_count=sum(lags) if lags else None,
        waiting_count=sum(waiting) if len(waiting) == len(flows) else None,
        lag_ms=max((flow.lag_ms for flow in flows if flow.lag_ms is not None), default=None),
        in_tps=total(flow.in_tps for flow in flows),
        consumed_tps=case.consumed_tps,
        out_tps=total(flow.out_tps for flow in flows),
        drain=drain,
        expires_in_ms=expires_in_ms,
        loses=_loses(drain, expires_in_ms),
        bound=bound,
        orderly=case.orderly,
        thread_count=case.thread_count,
        parallelism=case.parallelism,
        consume_ms=case.consume_ms,
        lane_tps=case.batch * 1000 / case.consume_ms if case.consume_ms else None,
        target_ms=target_ms,
        confidence=Confidence.HIGH if sure and not view.silent else Confidence.LOW,
        remedies=remedies(case, bound, target_ms),
        queues=tuple(flows),
        is_stuck=case.stuck,
        is_busy=case.busy,
    )


def _loses(drain: Drain, expires_in_ms: int | None) -> bool | None:
    if drain.outlook is Outlook.KEEPS_UP:
        return False
    if expires_in_ms is None or drain.outlook is Outlook.UNKNOWN:
        return None
    return drain.after_ms is None or drain.after_ms > expires_in_ms
