"""How Kafka would share the same queues out: its classic assignors, with message queues in the place of partitions.

Kafka's group leader computes the whole assignment and counts for each topic only the members that subscribe to it;
every RocketMQ client computes its own share and counts all members of the group.

Sources: `RangeAssignor`, `RoundRobinAssignor` and `AbstractStickyAssignor` of the Kafka clients 3.7, without racks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import cycle, groupby

from mqctl.allocation.views import sorted_clients, sorted_queues
from mqctl.model.queue import MessageQueue

Wants = Mapping[str, frozenset[str]]
"""The topics of each client."""
Owners = Mapping[MessageQueue, str]


class KafkaAssignor(StrEnum):
    """Kafka's `partition.assignment.strategy`, by the names that the assignors give themselves."""

    RANGE = "range"
    ROUNDROBIN = "roundrobin"
    STICKY = "sticky"


def kafka_owners(
    assignor: KafkaAssignor, queues: Sequence[MessageQueue], wants: Wants, before: Owners | None = None
) -> dict[MessageQueue, str]:
    """Returns who would consume each queue; a topic that nobody subscribes to has no owners.

    Args:
        before: the assignment so far, which `sticky` keeps as far as the balance allows.
    """
    listed = sorted_queues(queues)
    match assignor:
        case KafkaAssignor.RANGE:
            return _range(listed, wants)
        case KafkaAssignor.ROUNDROBIN:
            return _round_robin(listed, wants)
        case KafkaAssignor.STICKY:
            return _Sticky(listed, wants, before or {}).owners


def _range(queues: Sequence[MessageQueue], wants: Wants) -> dict[MessageQueue, str]:
    """Each topic by itself in equal slices, the first members of each topic carry the remainder."""
    owners: dict[MessageQueue, str] = {}
    for topic, group in groupby(queues, key=lambda queue: queue.topic):
        members = _members(topic, wants)
        if not members:
            continue
        listed = list(group)
        size, rest = divmod(len(listed), len(members))
        start = 0
        for index, member in enumerate(members):
            end = start + size + (index < rest)
            owners |= dict.fromkeys(listed[start:end], member)
            start = end
    return owners


def _round_robin(queues: Sequence[MessageQueue], wants: Wants) -> dict[MessageQueue, str]:
    """All topics together, dealt out in turn to the next member that subscribes."""
    turn = cycle(sorted_clients(wants))
    wanted = {topic for topics in wants.values() for topic in topics}
    return {
        queue: next(member for member in turn if queue.topic in wants[member])
        for queue in queues
        if queue.topic in wanted
    }


def _members(topic: str, wants: Wants) -> list[str]:
    return [client for client in sorted_clients(wants) if topic in wants[client]]


class _Sticky:
    """Keeps what is owned, gives the rest to the members with least, then evens out while a move helps."""

    def __init__(self, queues: Sequence[MessageQueue], wants: Wants, before: Owners) -> None:
        self.owners: dict[MessageQueue, str] = {}
        self._wants = wants
        self._held: dict[str, list[MessageQueue]] = {client: [] for client in sorted_clients(wants)}
        self._members = {topic: _members(topic, wants) for topic in {queue.topic for queue in queues}}
        for queue in queues:
            owner = before.get(queue)
            if owner is not None and queue.topic in wants.get(owner, ()):
                self._give(queue, owner)
        # Topics with few subscribers first: later there may be nobody left with little.
        for queue in sorted(queues, key=lambda item: len(self._members[item.topic])):
            if queue not in self.owners and self._members[queue.topic]:
                self._give(queue, self._least(queue.topic))
        self._even_out()

    def _give(self, queue: MessageQueue, client: str) -> None:
        self.owners[queue] = client
        self._held[client].append(queue)

    def _least(self, topic: str) -> str:
        return min(self._members[topic], key=lambda client: len(self._held[client]))

    def _even_out(self) -> None:
        """Each move narrows a gap of two or more, so that the sum of squared loads falls and the loop ends."""
        moved = True
        while moved:
            moved = False
            for giver in sorted(self._held, key=lambda client: -len(self._held[client])):
                for queue in reversed(self._held[giver]):
                    taker = self._least(queue.topic)
                    if len(self._held[giver]) - len(self._held[taker]) > 1:
                        self._held[giver].remove(queue)
                        self._give(queue, taker)
                        moved = True
                        break
