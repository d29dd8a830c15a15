"""What consumers of a broker's queues have in their hands: how far they pulled, who they are, how fast they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import GroupMembership, HeldQueue, RunningInfo
from mqctl.model.queue import MessageQueue

QueueKey = tuple[str, str, int]
"""Group, topic, queue id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """Consumption of one broker's queues; what is missing is not known.

    Attributes:
        pull_offsets: next offset to hand out.
        owners: client ids by queue.
        tps: messages handed out per second over the last minute, by group and topic.
        consumed_tps: messages consumed per second over the last minute, by group and topic, as members tell; of the
            whole group, whatever the broker.
        cached: messages that the owner holds and has not finished.
        addresses: of the connections that this broker has with a client, by group and client id.
    """

    pull_offsets: Mapping[QueueKey, int] = field(default_factory=dict)
    owners: Mapping[QueueKey, tuple[str, ...]] = field(default_factory=dict)
    tps: Mapping[tuple[str, str], float] = field(default_factory=dict)
    consumed_tps: Mapping[tuple[str, str], float] = field(default_factory=dict)
    cached: Mapping[QueueKey, int] = field(default_factory=dict)
    addresses: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def in_flight(self, queue: QueueKey, consumer_offset: int | None) -> int | None:
        """Returns how many messages of a queue are handed out and not committed; None when nobody told."""
        pulled = self.pull_offsets.get(queue)
        if consumer_offset is not None and pulled is not None:
            return max(0, pulled - consumer_offset)
        return 0 if self.owners.get(queue) == () else None

    def owner_addresses(self, queue: QueueKey) -> tuple[str, ...] | None:
        """Returns the addresses of a queue's owners, in their order; None when one is not known."""
        owners = self.owners.get(queue)
        places = [self.addresses.get((queue[0], name)) for name in owners or ()]
        known = tuple(place for place in places if place is not None)
        return known if owners is not None and len(known) == len(places) else None


def addresses_of(memberships: Iterable[GroupMembership]) -> dict[tuple[str, str], str]:
    """Returns the addresses of clients as one broker sees them, by group and client id."""
    addresses: dict[tuple[str, str], list[str]] = {}
    for item in memberships:
        for member in item.members:
            addresses.setdefault((item.group, member.client_id), []).append(member.address)
    return {key: ", ".join(dict.fromkeys(places)) for key, places in addresses.items()}


class QueueOwners:
    """Who holds which queue, from what the instances say of themselves.

    Args:
        clients: client ids of each group whose members are known.
        running: what the instances told; a group of which one did not tell is not known.
    """

    def __init__(self, clients: Mapping[str, Collection[str]], running: Iterable[RunningInfo]) -> None:
        self._held: dict[tuple[str, MessageQueue], list[tuple[str, HeldQueue]]] = {}
        self._rates: dict[tuple[str, str], float] = {}
        by_host: dict[str, set[str]] = {}
        for info in running:
            by_host.setdefault(info.group, set()).add(info.client_id)
            for item in info.queues:
                if not item.dropped:
                    self._held.setdefault((info.group, item.queue), []).append((info.client_id, item))
            for rates in info.rates:
                key = (info.group, rates.topic)
                self._rates[key] = self._rates.get(key, 0.0) + rates.consume_ok_tps + rates.consume_failed_tps
        self._empty = {group for group, ids in clients.items() if not ids}
        self._known = {group for group, ids in clients.items() if set(ids) <= by_host.get(group, set())}

    def is_empty(self, group: str) -> bool:
        """Tells whether a group is known to have no members."""
        return group in self._empty

    def owners(self, group: str, queue: MessageQueue) -> tuple[str, ...] | None:
        """Returns the client ids that hold `queue`; None when the group is not known in full."""
        if group not in self._known:
            return None
        return tuple(sorted(client for client, _ in self._held.get((group, queue), ())))

    def consumed_tps(self, group: str, topic: str) -> float | None:
        """Returns what all members consume a second; None when one did not tell."""
        return self._rates.get((group, topic), 0.0) if group in self._known else None

    def cached(self, group: str, queue: MessageQueue) -> int | None:
        """Returns how many messages the holders of `queue` have in their caches; None when that is not known."""
        if group not in self._known:
            return None
        return sum(item.cached_count for _, item in self._held.get((group, queue), ()))

    def pull_offset(self, group: str, queue: MessageQueue) -> int | None:
        """Returns how far the owner has pulled: brokers before 5.0 do not tell, but the owner knows what it holds."""
        ends = [
            max(item.commit_offset, item.cached_max_offset + 1 if item.cached_count else 0)
            for _, item in self._held.get((group, queue), ())
        ]
        return max(ends, default=None)
