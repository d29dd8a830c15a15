"""Every instance computes its share alone: what each one takes by its own view, and what comes out for the queues.

Source: `RebalanceImpl.rebalanceByTopic` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from mqctl.allocation.strategies import (
    AllocationError,
    Average,
    AverageByCircle,
    ConsistentHash,
    NearbyRoom,
    Strategy,
    even_slice,
)
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue


def utf16_key(text: str) -> bytes:
    """Returns a sort key for Java's order of strings: by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def sorted_clients(clients: Iterable[str]) -> list[str]:
    """Sorts client ids as clients do; duplicates stay."""
    return sorted(clients, key=utf16_key)


def sorted_queues(queues: Iterable[MessageQueue]) -> list[MessageQueue]:
    """Sorts queues as clients do: by topic, broker name (both by UTF-16 code units) and queue id."""
    return sorted(queues, key=lambda queue: (utf16_key(queue.topic), utf16_key(queue.broker_name), queue.queue_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one instance sees and wants.

    Attributes:
        clients: the client ids that it was told; they decide its slot.
        subscribes: whether it wants the topic. One that does not still takes a slot in everybody's list.
    """

    client_id: str
    strategy: Strategy
    clients: Sequence[str]
    queues: Sequence[MessageQueue]
    subscribes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOwnership:
    """What all views together come to.

    Attributes:
        owners: client ids by queue, sorted; empty for an orphan, several for a queue consumed twice.
        intended: which slot each queue fell to, subscribers or not.
        failures: instances whose strategy throws, with the reason.
    """

    owners: Mapping[MessageQueue, tuple[str, ...]]
    intended: Mapping[MessageQueue, tuple[str, ...]]
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def orphans(self) -> tuple[MessageQueue, ...]:
        return tuple(queue for queue, clients in self.owners.items() if not clients)

    @property
    def doubles(self) -> tuple[MessageQueue, ...]:
        return tuple(queue for queue, clients in self.owners.items() if len(clients) > 1)

    def loads(self, clients: Iterable[str]) -> dict[str, int]:
        """Returns how many queues each of `clients` owns."""
        counts = dict.fromkeys(clients, 0)
        for owners in self.owners.values():
            for client in owners:
                counts[client] = counts.get(client, 0) + 1
        return counts


def ownership(views: Sequence[View]) -> QueueOwnership:
    """Computes what every instance takes, and joins it by queue. Queues are those that any view sees, sorted.

    Instances with equal views are computed together, so that ten thousand queues and a thousand clients take a moment.
    """
    seen = {id(view.queues): view.queues for view in views}
    everything = sorted_queues({queue for listed in seen.values() for queue in listed})
    intended: dict[MessageQueue, list[str]] = {queue: [] for queue in everything}
    owners: dict[MessageQueue, list[str]] = {queue: [] for queue in everything}
    failures: dict[str, str] = {}
    for view, taken in _taken(views):
        if isinstance(taken, AllocationError):
            failures[view.client_id] = str(taken)
            continue
        for queue in taken:
            intended.setdefault(queue, []).append(view.client_id)
            if view.subscribes:
                owners.setdefault(queue, []).append(view.client_id)
    return QueueOwnership(
        owners={queue: tuple(sorted(clients)) for queue, clients in owners.items()},
        intended={queue: tuple(sorted(clients)) for queue, clients in intended.items()},
        failures=failures,
    )


def _taken(views: Sequence[View]) -> Iterable[tuple[View, Sequence[MessageQueue] | AllocationError]]:
    tables: dict[tuple[int, int, int], _Table] = {}
    lists: dict[tuple[str, ...], int] = {}
    numbers: dict[int, int] = {}
    for view in views:
        number = numbers.get(id(view.clients))
        if number is None:
            # Equal lists of different instances are one list; hashing a list is what costs.
            number = numbers[id(view.clients)] = lists.setdefault(tuple(view.clients), len(lists))
        key = (id(view.strategy), number, id(view.queues))
        table = tables.get(key)
        if table is None:
            table = tables[key] = _Table(view.strategy, view.queues, view.clients)
        yield view, table.of(view.client_id)


class _Table:
    """One strategy over one view: computed for all clients at once where the strategy allows it."""

    def __init__(self, strategy: Strategy, queues: Sequence[MessageQueue], clients: Sequence[str]) -> None:
        self._strategy = strategy
        self._queues = queues
        self._clients = clients
        self._all: dict[str, list[MessageQueue]] | None = None
        self._failure: AllocationError | None = None
        self._computed = False

    def of(self, client_id: str) -> Sequence[MessageQueue] | AllocationError:
        if not self._computed:
            self._computed = True
            try:
                self._all = together(self._strategy, self._queues, self._clients)
            except AllocationError as error:
                self._failure = error
        if self._failure is not None:
            return self._failure
        if self._all is not None:
            return self._all.get(client_id, ())
        try:
            return self._strategy.allocate(client_id, self._queues, self._clients)
        except AllocationError as error:
            return error


def together(
    strategy: Strategy, queues: Sequence[MessageQueue], clients: Sequence[str]
) -> dict[str, list[MessageQueue]] | None:
    """Allocates for all clients of one view at once; None for strategies that only know one client at a time.

    Raises:
        AllocationError: the strategy throws for every client.
    """
    match strategy:
        case Average() | AverageByCircle():
            if not queues or not clients:
                strategy.allocate("any", queues, clients)
            first: dict[str, int] = {}
            for index, client in enumerate(clients):
                first.setdefault(client, index)
            return {client: _slice(strategy, index, queues, len(clients)) for client, index in first.items()}
        case ConsistentHash():
            if not queues or not clients:
                strategy.allocate("any", queues, clients)
            owned: dict[str, list[MessageQueue]] = {client: [] for client in clients}
            for queue, owner in strategy.owners(queues, clients):
                owned[owner].append(queue)
            return owned
        case NearbyRoom():
            return _nearby(strategy, queues, clients)
        case _:
            return None


def _slice(
    strategy: Average | AverageByCircle, index: int, queues: Sequence[MessageQueue], client_count: int
) -> list[MessageQueue]:
    """Returns the queues of the client at `index` without looking the client up."""
    if isinstance(strategy, AverageByCircle):
        return list(queues[index::client_count])
    return [queues[position] for position in even_slice(index, len(queues), client_count)]


def _nearby(
    strategy: NearbyRoom, queues: Sequence[MessageQueue], clients: Sequence[str]
) -> dict[str, list[MessageQueue]] | None:
    if not queues or not clients:
        strategy.allocate("any", queues, clients)
    rooms = strategy.rooms(queues, clients)
    taken: dict[str, list[MessageQueue]] = {client: [] for client in clients}
    for room, members in rooms.clients.items():
        if room in rooms.queues and not _add(taken, strategy.inner, rooms.queues[room], members):
            return None
    for room in sorted(rooms.queues):
        if room not in rooms.clients and not _add(taken, strategy.inner, rooms.queues[room], clients):
            return None
    return taken


def _add(
    taken: dict[str, list[MessageQueue]], inner: Strategy, queues: Sequence[MessageQueue], clients: Sequence[str]
) -> bool:
    owners = together(inner, queues, clients)
    for client, held in (owners or {}).items():
        taken[client] += held
    return owners is not None
