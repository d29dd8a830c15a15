"""What-if: the same group with another strategy, other members, other queues, or a room less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqctl.allocation.rooms import RoomRule
from mqctl.allocation.strategies import Strategy
from mqctl.allocation.views import Ownership, View, ownership, sorted_clients, sorted_queues
from mqctl.errors import UsageError
from mqctl.model.queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Queues and members that see each other alike."""

    queues: tuple[MessageQueue, ...]
    clients: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one strategy makes of a layout.

    Attributes:
        loads: queues by client, in the clients' order.
        crossing_count: queues consumed from another room; None without a room rule.
        failure: why the strategy throws; nothing is allocated then.
    """

    strategy: str
    owners: Ownership
    loads: dict[str, int]
    crossing_count: int | None
    failure: str | None

    @property
    def idle(self) -> tuple[str, ...]:
        return tuple(client for client, count in self.loads.items() if not count)

    @property
    def most(self) -> int:
        return max(self.loads.values(), default=0)

    @property
    def least(self) -> int:
        return min(self.loads.values(), default=0)

    @property
    def imbalance(self) -> float:
        """Load of the busiest member over the mean; 1.0 is even."""
        total = sum(self.loads.values())
        return self.most * len(self.loads) / total if total else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A queue that changes its owner: what was in flight may be consumed twice, and out of order for a moment."""

    queue: MessageQueue
    before: str | None
    after: str | None


def simulate(layout: Layout, strategy: Strategy, rule: RoomRule | None = None) -> Result:
    """Computes who owns what when all members see the same."""
    clients, queues = sorted_clients(layout.clients), sorted_queues(layout.queues)
    views = [View(client_id=client, strategy=strategy, clients=clients, queues=queues) for client in clients]
    owners = ownership(views) if queues else Ownership(owners={}, intended={})
    return Result(
        strategy=strategy.name,
        owners=owners,
        loads=owners.loads(clients),
        crossing_count=_crossing(owners, rule),
        failure=next(iter(owners.failures.values()), None),
    )


def _crossing(owners: Ownership, rule: RoomRule | None) -> int | None:
    if rule is None:
        return None
    return sum(
        rule.broker_room(queue.broker_name) != rule.client_room(client)
        for queue, clients in owners.owners.items()
        for client in clients
    )


def moves(before: Ownership, after: Ownership) -> list[Move]:
    """Returns the queues of both layouts that change their owner, and those that lose or find one."""
    found = []
    for queue in sorted({*before.owners, *after.owners}):
        old, new = _owner(before, queue), _owner(after, queue)
        if old != new:
            found.append(Move(queue=queue, before=old, after=new))
    return found


def _owner(owners: Ownership, queue: MessageQueue) -> str | None:
    return next(iter(owners.owners.get(queue, ())), None)


def numbered_layout(
    topic: str, queue_count: int, client_count: int, *, broker_count: int = 1, rooms: Sequence[str] = ()
) -> Layout:
    """Makes a layout from numbers: brokers `broker-a`, clients `client-00`, with rooms `HT-broker-a`, `HT-client-00`.

    Args:
        queue_count: queues on each broker.
        client_count: clients in all, dealt out to the rooms in turn.
        broker_count: brokers in each room.

    Raises:
        UsageError: there is nothing to share out, or nobody to take it.
    """
    if queue_count < 1 or client_count < 1 or broker_count < 1:
        raise UsageError("a simulation needs queues, clients and brokers", remedy="use numbers above 0")
    prefixes = [f"{room}-" for room in rooms] or [""]
    width = max(2, len(str(client_count - 1)))
    return Layout(
        queues=tuple(
            MessageQueue(topic, f"{prefix}broker-{_letters(number)}", queue_id)
            for prefix in prefixes
            for number in range(broker_count)
            for queue_id in range(queue_count)
        ),
        clients=tuple(f"{prefixes[number % len(prefixes)]}client-{number:0{width}d}" for number in range(client_count)),
    )


def _letters(number: int) -> str:
    """Returns a, b, ..., z, aa, ab, ..."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def changed_layout(
    layout: Layout,
    rule: RoomRule | None,
    *,
    add_clients: int = 0,
    remove_clients: int = 0,
    queues_each: int | None = None,
    lose_room: str | None = None,
    lose_brokers: Sequence[str] = (),
) -> Layout:
    """Returns the layout after a change.

    Args:
        add_clients: new members, named like the last one.
        remove_clients: how many of the last members leave.
        queues_each: queues on each broker from now on.
        lose_room: a room whose members are gone; its brokers stay.
        lose_brokers: brokers whose queues are gone.

    Raises:
        UsageError: more members leave than there are, or a room or broker is not there.
    """
    clients = list(layout.clients)
    if remove_clients >= len(clients) and remove_clients:
        raise UsageError(f"cannot take away {remove_clients} of {len(clients)} clients")
    clients = clients[: len(clients) - remove_clients]
    clients += [f"{layout.clients[-1]}+{number}" for number in range(1, add_clients + 1)]
    if lose_room is not None:
        if rule is None or not any(rule.client_room(client) == lose_room for client in clients):
            raise UsageError(f"no client is in room {lose_room}", remedy="check --room-rule and the clients' ids")
        clients = [client for client in clients if rule.client_room(client) != lose_room]
    brokers = sorted({(queue.topic, queue.broker_name) for queue in layout.queues})
    unknown = set(lose_brokers) - {name for _, name in brokers}
    if unknown:
        raise UsageError(f"there is no broker {min(unknown)}")
    queues = layout.queues
    if queues_each is not None:
        queues = tuple(MessageQueue(topic, name, number) for topic, name in brokers for number in range(queues_each))
    return Layout(
        queues=tuple(queue for queue in queues if queue.broker_name not in lose_brokers), clients=tuple(clients)
    )
