"""Locks of message queues for orderly consumption (`RebalanceLockManager` of 4.9.8): in memory, per broker.

Theory of operation. A lock is a client id and the moment it was renewed; it is free for others when that is a minute
ago. Clients renew every 20 s, so a client that dies holds its queues for a minute, and one that is slow may find them
taken. Nothing is persisted: after a restart whoever asks first has the lock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from embedded_broker.clock import Clock
from mqctl.model.queue import MessageQueue

LOCK_LIVE_MS = 60_000


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

    def lock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> list[MessageQueue]:
        """Locks or renews what is free, expired or the client's own; returns those queues."""
        now_ms = self._clock.now_ms()
        table = self._groups.setdefault(group, {})
        granted = []
        for queue in queues:
            held = table.get(queue)
            if held is None or held.client_id == client_id or now_ms - held.renewed_ms > self._live_ms:
                table[queue] = _Lock(client_id, now_ms)
                granted.append(queue)
        return granted

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        """Releases the client's own locks; those of others stay."""
        table = self._groups.get(group, {})
        for queue in queues:
            held = table.get(queue)
            if held is not None and held.client_id == client_id:
                del table[queue]

    def held(self, group: str) -> dict[MessageQueue, str]:
        """Returns the unexpired locks of a group with their owners."""
        now_ms = self._clock.now_ms()
        table = self._groups.get(group, {})
        return {queue: lock.client_id for queue, lock in table.items() if now_ms - lock.renewed_ms <= self._live_ms}
