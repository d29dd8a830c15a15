"""The six allocation strategies, with the formulas of `org.apache.rocketmq.client.consumer.rebalance` of 4.9.8.

Those of 5.3.3 are the same.

A strategy computes the queues of one client. It takes queues and clients as they are given: whoever calls sorts them,
see `views.sorted_clients`.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.text import sentence

Queues = Sequence[MessageQueue]
Clients = Sequence[str]
VIRTUAL_NODES = 10


class AllocationError(UsageError):
    """A strategy that throws: the client keeps what it has for that topic until the next round."""


class Strategy(Protocol):
    """Computes what one client of a group takes."""

    @property
    def name(self) -> str:
        """The name that the strategy's class gives itself."""

    def allocate(self, client_id: str, queues: Queues, clients: Clients) -> list[MessageQueue]:
        """Returns the queues of `client_id`; none when it is not among `clients`.

        Args:
            queues: readable queues of one topic, sorted by topic, broker name and queue id.
            clients: all client ids of the group, sorted; one that is there twice counts where it comes first.

        Raises:
            AllocationError: the real strategy throws.
        """


def _checked(client_id: str, queues: Queues, clients: Clients) -> None:
    for empty, what in ((not client_id, "client id"), (not queues, "queues"), (not clients, "clients")):
        if empty:
            raise AllocationError(
                sentence("cannot-allocate-without", "cannot allocate without {what}", what=what),
                reason=sentence("strategy-throws-illegal-argument", "the strategy throws IllegalArgumentException"),
            )


def even_slice(index: int, queue_count: int, client_count: int) -> range:
    """Returns the positions of AVG for the client at `index`."""
    rest = queue_count % client_count
    extra = rest > 0 and index < rest
    size = 1 if queue_count <= client_count else queue_count // client_count + extra
    start = index * size if extra else index * size + rest
    return range(start, min(start + size, queue_count))


@dataclass(frozen=True, slots=True)
class Average:
    """AVG, the default (`AllocateMessageQueueAveragely`): neighbouring queues in equal slices.

    The first clients carry the remainder.
    """

    name: str = "AVG"

    def allocate(self, client_id: str, queues: Queues, clients: Clients) -> list[MessageQueue]:
        _checked(client_id, queues, clients)
        if client_id not in clients:
            return []
        return [queues[position] for position in even_slice(clients.index(client_id), len(queues), len(clients))]


@dataclass(frozen=True, slots=True)
class AverageByCircle:
    """AVG_BY_CIRCLE (`AllocateMessageQueueAveragelyByCircle`): queues dealt out in turn."""

    name: str = "AVG_BY_CIRCLE"

    def allocate(self, client_id: str, queues: Queues, clients: Clients) -> list[MessageQueue]:
        _checked(client_id, queues, clients)
        return list(queues[clients.index(client_id) :: len(clients)]) if client_id in clients else []


@dataclass(frozen=True, slots=True)
class ByConfig:
    """CONFIG (`AllocateMessageQueueByConfig`): a fixed list for each client, whatever topics and queues there are."""

    queues_of: Mapping[str, Sequence[MessageQueue]]
    name: str = "CONFIG"

    def allocate(self, client_id: str, queues: Queues, clients: Clients) -> list[MessageQueue]:
        return list(self.queues_of.get(client_id, ()))


@dataclass(frozen=True, slots=True)
class ByMachineRoom:
    """MACHINE_ROOM (`AllocateMessageQueueByMachineRoom`): only queues of brokers named `room@rest` with a listed room.

    Nobody gets the others.
    """

    rooms: frozenset[str]
    name: str = "MACHINE_ROOM"

    def allocate(self, client_id: str, queues: Queues, clients: Clients) -> list[MessageQueue]:
        _checked(client_id, queues, clients)
        if client_id not in clients:
            return []
        kept = [queue for queue in queues if self._room(queue.broker_name) in self.rooms]
        index, size = clients.index(client_id), len(kept) // len(clients)
        taken = kept[index * size : (index + 1) * size]
        if index < len(kept) % len(clients):
            taken.append(kept[index + size * len(clients)])
        return taken

    @staticmethod
    def _room(broker_name: str) -> str | None:
        """Splits as Java does: empty parts at the end do not count."""
        parts = broker_name.rstrip("@").split("@")
        return parts[0] if len(parts) == 2 else None


@dataclass(frozen=True, slots=True)
class NearbyRoom:
    """MACHINE_ROOM_NEARBY (`AllocateMachineRoomNearby`): an inner strategy within each room.

    A room without clients is shared by all.

    Attributes:
        broker_room, client_room: the resolver; an empty room or None makes the strategy throw.
    """

    inner: Strategy
    broker_room: Callable[[str], str | None]
    client_room: Callable[[str], str | None]

    @property
    def name(self) -> str:
        return f"MACHINE_ROOM_NEARBY-{self.inner.name}"

    def allocate(self, client_id: str, queues: Queues, clients: Clients) -> list[MessageQueue]:
        _checked(client_id, queues, clients)
        if client_id not in clients:
            return []
        rooms = self.rooms(queues, clients)
        own = self.client_room(client_id) or ""
        taken: list[MessageQueue] = []
        if own in rooms.queues:
            taken += self.inner.allocate(client_id, rooms.queues[own], rooms.clients[own])
        for room in sorted(rooms.queues, key=lambda name: name.encode("utf-16-be")):
            if room not in rooms.clients:
                taken += self.inner.allocate(client_id, rooms.queues[room], clients)
        return taken

    def rooms(self, queues: Queues, clients: Clients) -> Rooms:
        """Sorts queues and clients into their rooms.

        Raises:
            AllocationError: something has no room.
        """
        return Rooms(
            _by_room(queues, lambda queue: self.broker_room(queue.broker_name), "the broker of"),
            _by_room(clients, self.client_room, "client"),
        )


@dataclass(frozen=True, slots=True)
class Rooms:
    """Queues and clients by room."""

    queues: Mapping[str, list[MessageQueue]]
    clients: Mapping[str, list[str]]


T = TypeVar("T")


def _by_room(items: Sequence[T], room_of: Callable[[T], str | None], what: str) -> dict[str, list[T]]:
    rooms: dict[str, list[T]] = {}
    for item in items:
        room = room_of(item)
        if not room:
            raise AllocationError(
                sentence("no-room-of-name", "no room for {what} {item}", what=what, item=item),
                reason=sentence(
                    "resolver-gives-no-room", "the resolver gives none, and the strategy throws for the entire topic"
                ),
                remedy=sentence(
                    "name-clients-by-room", "name brokers and clients so that their room can be recognised"
                ),
            )
        rooms.setdefault(room, []).append(item)
    return rooms


@dataclass(frozen=True, slots=True)
class ConsistentHash:
    """CONSISTENT_HASH (`AllocateMessageQueueConsistentHash`): a ring of virtual nodes.

    A queue belongs to the next node at or after its hash.
    """

    virtual_nodes: int = VIRTUAL_NODES
    name: str = "CONSISTENT_HASH"

    def allocate(self, client_id: str, queues: Queues, clients: Clients) -> list[MessageQueue]:
        _checked(client_id, queues, clients)
        if client_id not in clients:
            return []
        return [queue for queue, owner in self.owners(queues, clients) if owner == client_id]

    def owners(self, queues: Queues, clients: Clients) -> list[tuple[MessageQueue, str]]:
        """Returns each queue with its owner; the ring is built once. Nobody owns anything with 0 virtual nodes."""
        ring = self._ring(clients)
        points = sorted(ring)
        if not points:
            return []
        pairs = []
        for queue in queues:
            position = bisect.bisect_left(points, _hash(queue_key(queue)))
            pairs.append((queue, ring[points[position % len(points)]]))
        return pairs

    def _ring(self, clients: Clients) -> dict[int, str]:
        """Equal hashes: the later node wins. A client id that is there twice continues its own numbering."""
        if self.virtual_nodes < 0:
            raise AllocationError(
                sentence("negative-virtual-nodes", "cannot allocate with a negative number of virtual nodes")
            )
        ring: dict[int, str] = {}
        seen: dict[str, int] = {}
        for client in clients:
            first = seen.get(client, 0)
            for number in range(first, first + self.virtual_nodes):
                ring[_hash(f"{client}-{number}")] = client
            seen[client] = first + self.virtual_nodes
        return ring


def queue_key(queue: MessageQueue) -> str:
    """Returns the text by which CONSISTENT_HASH places a queue: Java's `MessageQueue.toString`."""
    return f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"


def _hash(key: str) -> int:
    digest = hashlib.md5(key.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")
