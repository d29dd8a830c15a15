"""Who holds the locks of an ordered group's queues, put together from what instances say.

Brokers tell their lock table to nobody, and a request that asked for a lock would take it.

Source: `RebalanceLockManager` and `ConsumeMessageOrderlyService` of 4.9.8: a lock lives 60 s without renewal, owners
renew every 20 s, and stop consuming 30 s after the last success.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from mqctl.allocation.observed import QueueOwner, TopicAllocation
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence

LOCK_LIVES_MS = 60_000
LOCAL_VALID_MS = 30_000
HUNG_AFTER_MS = 60_000


class LockState(StrEnum):
    """How a queue's lock stands.

    HELD: one instance holds and renews it. EXPIRED: its holder has not renewed it for 30 s and consumes nothing. HUNG:
    its holder cannot let go, its listener does not come back. WAITING: whoever is to have it does not get it, and no
    instance says that it holds it: an owner that is gone still does. SPLIT: two instances hold it. UNKNOWN: nobody says
    so, and an instance did not tell. NOBODY: it belongs to no instance.
    """

    HELD = "held"
    EXPIRED = "expired"
    HUNG = "hung"
    WAITING = "waiting"
    SPLIT = "split"
    UNKNOWN = "unknown"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLock:
    """The lock of one queue.

    Attributes:
        holders: client ids that say that they hold it.
        waiting: client ids that are to have it and do not.
        last_lock_time_ms: when its holder last renewed it.
        free_time_ms: when the broker gives it to another at the latest, unless it is renewed; None when nobody can say.
        idle_ms: for how long the holder's listener has been silent, when it has messages in hand.
        note: what keeps it, in words.
    """

    queue: MessageQueue
    state: LockState
    holders: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    last_lock_time_ms: int | None = None
    free_time_ms: int | None = None
    idle_ms: int | None = None
    note: str = ""


def queue_locks(
    topics: Iterable[TopicAllocation],
    running: Iterable[RunningInfo],
    *,
    now_ms: int,
    hung_ms: int = HUNG_AFTER_MS,
    time_scale: float = 1.0,
) -> list[QueueLock]:
    """Returns the lock of every queue of a group's topics.

    Args:
        running: what the instances of the group say; those that did not answer are missing.
        hung_ms: a listener that has had messages for longer hangs.
        time_scale: what the periods of this cluster are divided by, those of a scenario.
    """
    infos = {info.client_id: info for info in running}
    limits = _Limits(
        now_ms=now_ms,
        hung_ms=round(hung_ms / time_scale),
        lives_ms=round(LOCK_LIVES_MS / time_scale),
        valid_ms=round(LOCAL_VALID_MS / time_scale),
    )
    locks = []
    for topic in topics:
        silent = tuple(item.client_id for item in topic.instances if item.client_id not in infos)
        for owner in topic.queues:
            held = {client: item for client, info in infos.items() for item in info.queues if item.queue == owner.queue}
            locks.append(_lock(owner, held, silent, limits))
    return locks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limits:
    now_ms: int
    hung_ms: int
    lives_ms: int
    valid_ms: int


def _lock(owner: QueueOwner, held: dict[str, HeldQueue], silent: tuple[str, ...], limits: _Limits) -> QueueLock:
    queue, expected = owner.queue, owner.expected
    holders = tuple(sorted(client for client, item in held.items() if item.locked))
    waiting = tuple(sorted(set(expected) - set(holders) - set(silent)))
    if len(holders) > 1:
        note = sentence(
            "allocation-two-instances-consume-order",
            "two instances consume it: order is broken (one client id twice, or a broker that restarted)",
        )
        return QueueLock(queue=queue, state=LockState.SPLIT, holders=holders, waiting=waiting, note=note)
    if holders:
        return _held(queue, holders[0], held[holders[0]], waiting, limits)
    if silent:
        note = sentence("allocation-did-not-report-holds", "{silent} did not report what it holds", silent=silent)
        return QueueLock(queue=queue, state=LockState.UNKNOWN, waiting=waiting, note=note)
    if not waiting:
        return QueueLock(
            queue=queue, state=LockState.NOBODY, note=sentence("allocation-no-instance", "no instance is to have it")
        )
    return QueueLock(
        queue=queue,
        state=LockState.WAITING,
        waiting=waiting,
        note=sentence(
            "allocation-no-instance-holds-owner",
            "no instance holds it: an owner that is gone has it for {limit_ms} after its "
            "last renewal, or the instance has not asked yet",
            limit_ms=limits.lives_ms,
        ),
    )


def _held(queue: MessageQueue, client: str, item: HeldQueue, waiting: tuple[str, ...], limits: _Limits) -> QueueLock:
    free_ms: int | None = item.last_lock_time_ms + limits.lives_ms if item.last_lock_time_ms else None
    silent_ms = limits.now_ms - item.last_consume_time_ms
    idle_ms = silent_ms if item.transaction_count else None
    state, note = LockState.HELD, ""
    if item.dropped and item.try_unlock_count:
        state, free_ms = LockState.HUNG, None
        times = counted(item.try_unlock_count, "time")
        note = sentence(
            "allocation-gave-queue-up-tried",
            "it gave the queue up and tried to let go {times}, but its listener has not come back",
            times=times,
        )
    elif item.transaction_count and silent_ms > limits.hung_ms:
        state, free_ms = LockState.HUNG, None
        note = sentence(
            "allocation-listener-since-lock-renewed",
            "its listener has had {transaction_count} since; the lock is renewed meanwhile",
            transaction_count=counted(item.transaction_count, "message"),
        )
    elif limits.now_ms - item.last_lock_time_ms > limits.valid_ms:
        state, note = (
            LockState.EXPIRED,
            sentence(
                "allocation-not-renewed-owner-consumes",
                "it has not been renewed: its owner consumes nothing until it is",
            ),
        )
    return QueueLock(
        queue=queue,
        state=state,
        holders=(client,),
        waiting=waiting,
        last_lock_time_ms=item.last_lock_time_ms or None,
        free_time_ms=free_ms,
        idle_ms=idle_ms,
        note=note,
    )
