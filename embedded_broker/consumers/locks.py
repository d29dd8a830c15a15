"""Locks of message queues for orderly consumption (`RebalanceLockManager` of 4.9.8): in memory, per broker.

Theory of operation. A lock is a client id and the moment it was renewed; it is free for others when that is a minute
ago. Clients renew every 20 s, so a client that dies holds its queues for a minute, and one that is slow may find them
taken. Nothing is persisted: after a restart whoever asks first has the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from embedded_broker.clock import Clock
from mqctl.model.queue import MessageQueue

LOCK_LIVE_MS = 60_000
MOST_LOCKS = 1 << 18
"""Of all groups; each takes some 150 bytes."""
_SWEEP_MS = 1_000


@dataclass(slots=True)
class _Lock:
    client_id: str
    renewed_ms: int


class QueueLocks:
    """Group -> message queue -> owner; the queue counts as it was sent, whether it exists or not."""

    def __init__(self, clock: Clock, *, live_ms: int = LOCK_LIVE_MS) -> None:
        self._clock = clock
        self._live_ms = live_ms
        self._groups: dict[str, dict[MessageQueue, _Lock]] = {}
        self._count = 0
        self._swept_ms = 0

    def lock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        """Locks or renews what is free, expired or the client's own; returns those queues.

        Beyond MOST_LOCKS of all groups no further queue is locked: who asks for it is not given it.
        """
        now_ms = self._clock.now_ms()
        self._sweep(now_ms)
        table = self._groups.setdefault(group, {})
        granted = []
        for queue in queues:
            held = table.get(queue)
            if held is None and self._count >= MOST_LOCKS:
                continue
            if held is None or held.client_id == client_id or now_ms - held.renewed_ms > self._live_ms:
                self._count += held is None
                table[queue] = _Lock(client_id, now_ms)
                granted.append(queue)
        if not table:
            del self._groups[group]
        return granted

    def _sweep(self, now_ms: int) -> None:
        """Forgets expired locks, now and then, once there are many."""
        if self._count < MOST_LOCKS or now_ms - self._swept_ms < _SWEEP_MS:
            return
        self._swept_ms = now_ms
        for group in list(self._groups):
            self._unlock_if(group, lambda lock: now_ms - lock.renewed_ms > self._live_ms)

    def _unlock_if(self, group: str, is_over: Callable[[_Lock], bool]) -> None:
        """Releases those locks of a group."""
        kept = {queue: lock for queue, lock in self._groups[group].items() if not is_over(lock)}
        self._count -= len(self._groups[group]) - len(kept)
        self._groups[group] = kept
        if not kept:
            del self._groups[group]

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        """Releases the client's own locks; those of others stay."""
        table = self._groups.get(group, {})
        for queue in queues:
            held = table.get(queue)
            if held is not None and held.client_id == client_id:
                del table[queue]
                self._count -= 1
        if not table:
            self._groups.pop(group, None)

    def holds_any(self, group: str) -> bool:
        """Tells whether a queue is locked for a group."""
        now_ms = self._clock.now_ms()
        return any(now_ms - lock.renewed_ms <= self._live_ms for lock in self._groups.get(group, {}).values())

    def held(self, group: str) -> dict[MessageQueue, str]:
        """Returns the unexpired locks of a group with their owners."""
        now_ms = self._clock.now_ms()
        table = self._groups.get(group, {})
        return {queue: lock.client_id for queue, lock in table.items() if now_ms - lock.renewed_ms <= self._live_ms}
