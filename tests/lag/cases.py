"""Queues and members of one group, made by hand: what a backlog is judged from."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.allocation.group_view import GroupView
from mqctl.lag.bound import BacklogCase
from mqctl.lag.rates import Movement, QueueFlow
from mqctl.model.member import POP, GroupMembership, HeldQueue, RunningInfo, Subscription, TopicRates
from mqctl.model.queue import MessageQueue
from mqctl.model.thresholds import Settings


def flow(
    number: int = 0,
    *,
    owner: str | None = "a",
    waiting: int | None = 100,
    in_tps: float | None = 0.0,
    out_tps: float | None = 10.0,
    movement: Movement = Movement.CATCHING_UP,
    cached: int = 5,
    expires_in_ms: int | None = None,
) -> QueueFlow:
    return QueueFlow(
        group="G",
        queue=MessageQueue("T", "b", number),
        owner=owner,
        lag_count=waiting,
        next_offset=0,
        waiting_count=waiting,
        lag_ms=None,
        in_tps=in_tps,
        out_tps=out_tps,
        movement=movement,
        expires_in_ms=expires_in_ms,
        cached_count=cached,
    )


def standing(*, cached: int = 5) -> QueueFlow:
    """A queue that its owner holds and does not move in."""
    return flow(movement=Movement.STALLED, out_tps=0.0, cached=cached)


def info(
    client: str = "a",
    *,
    threads: int | None = 2,
    orderly: bool | None = False,
    rt_ms: float = 0.0,
    tps: float = 0.0,
    failed_tps: float = 0.0,
    topic: str = "T",
    queues: Sequence[HeldQueue] = (),
    **properties: str,
) -> RunningInfo:
    said = dict(properties)
    if threads is not None:
        said["PROP_THREADPOOL_CORE_SIZE"] = str(threads)
    if orderly is not None:
        said["PROP_CONSUMEORDERLY"] = str(orderly).lower()
    rates = TopicRates(topic=topic, consume_rt_ms=rt_ms, consume_ok_tps=tps, consume_failed_tps=failed_tps)
    return RunningInfo(group="G", client_id=client, rates=(rates,), properties=said, queues=tuple(queues))


def view(*running: RunningInfo, silent: Sequence[str] = (), pops: bool = False) -> GroupView:
    """A group whose members are those that tell, and those that are silent."""
    membership = GroupMembership(
        group="G",
        client_ids=(*(item.client_id for item in running), *silent),
        consume_type=POP if pops else "CONSUME_PASSIVELY",
        subscriptions=(Subscription(topic="T"),),
    )
    return GroupView(group="G", memberships={"b": membership}, running={item.client_id: item for item in running})


def case(
    flows: Sequence[QueueFlow], *running: RunningInfo, settings: Settings | None = None, silent: Sequence[str] = ()
) -> BacklogCase:
    return BacklogCase(view(*running, silent=silent), "T", flows, settings or Settings())
