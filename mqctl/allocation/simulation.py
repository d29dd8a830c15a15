"""What-if: the same group with another strategy, other members, other queues, or a room less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mqctl.allocation.kafka import KafkaAssignor, kafka_owners
from mqctl.allocation.rooms import selectable_queues
from mqctl.allocation.strategies import Strategy
from mqctl.allocation.views import QueueOwnership, View, ownership, sorted_clients, sorted_queues
from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.room_rule import RoomRule
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Queues and members that see each other alike.

    Attributes:
        wants: the topics of each member whose subscription is known to differ; the others subscribe to all.
    """

    queues: tuple[MessageQueue, ...]
    clients: tuple[str, ...]
    wants: Mapping[str, frozenset[str]] | None = None

    @property
    def topics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(queue.topic for queue in self.queues))

    def wanted_by(self, client: str) -> frozenset[str]:
        """Returns the topics that a member subscribes to."""
        return (self.wants or {}).get(client, frozenset(self.topics))


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyResult:
    """What one strategy makes of a layout.

    Attributes:
        loads: queues by client, in the clients' order.
        crossing_count: queues consumed from another room; None without a room rule.
        failure: why the strategy throws; nothing is allocated then.
    """

    strategy: str
    owners: QueueOwnership
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRoom:
    """A room that is added: so many brokers with so many queues each, and so many clients."""

    name: str
    broker_count: int
    queue_count: int
    client_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutChange:
    """What is different afterwards.

    Attributes:
        add_clients: new members, named like the last one.
        remove_clients: how many of the last members leave.
        join, leave: members by name.
        queues_each: queues on each broker from now on.
        lose_room: a room whose members are gone; its brokers stay unless `with_brokers`.
        lose_brokers: brokers whose queues are gone.
        add_brokers: new brokers, each with its number of queues.
    """

    add_clients: int = 0
    remove_clients: int = 0
    join: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    queues_each: int | None = None
    lose_room: str | None = None
    with_brokers: bool = False
    lose_brokers: tuple[str, ...] = ()
    add_brokers: tuple[tuple[str, int], ...] = ()
    add_rooms: tuple[NewRoom, ...] = ()


def simulate(layout: Layout, strategy: Strategy, rule: RoomRule | None = None) -> StrategyResult:
    """Computes who owns what when all members see the same: each takes its share of each topic by itself.

    A member takes its slot in the list of every topic of the group, also of those that it does not subscribe to.
    """
    clients = sorted_clients(layout.clients)
    queues_of: dict[str, list[MessageQueue]] = {}
    for queue in sorted_queues(layout.queues):
        queues_of.setdefault(queue.topic, []).append(queue)
    views = [
        View(
            client_id=client,
            strategy=strategy,
            clients=clients,
            queues=queues,
            subscribes=topic in layout.wanted_by(client),
        )
        for topic, queues in queues_of.items()
        for client in clients
    ]
    owners = ownership(views) if views else QueueOwnership(owners={}, intended={})
    return _result(strategy.name, owners, clients, rule)


def simulate_kafka(
    layout: Layout, assignor: KafkaAssignor, before: StrategyResult | None = None, rule: RoomRule | None = None
) -> StrategyResult:
    """Computes who would consume what if Kafka shared the same queues out; `before` is what `sticky` starts from."""
    wants = {client: layout.wanted_by(client) for client in layout.clients}
    kept = {queue: owners[0] for queue, owners in before.owners.owners.items() if owners} if before else None
    owned = kafka_owners(assignor, layout.queues, wants, kept)
    owners = {queue: (owned[queue],) if queue in owned else () for queue in sorted_queues(layout.queues)}
    shared_out = QueueOwnership(owners=owners, intended=owners)
    return _result(f"kafka {assignor}", shared_out, sorted_clients(layout.clients), rule)


def _result(strategy: str, owners: QueueOwnership, clients: Sequence[str], rule: RoomRule | None) -> StrategyResult:
    return StrategyResult(
        strategy=strategy,
        owners=owners,
        loads=owners.loads(clients),
        crossing_count=_crossing(owners, rule),
        failure=next(iter(owners.failures.values()), None),
    )


def _crossing(owners: QueueOwnership, rule: RoomRule | None) -> int | None:
    if rule is None:
        return None
    return sum(
        rule.broker_room(queue.broker_name) != rule.client_room(client)
        for queue, clients in owners.owners.items()
        for client in clients
    )


def moves(before: QueueOwnership, after: QueueOwnership) -> list[Move]:
    """Returns the queues of both layouts that change their owner, and those that lose or find one."""
    moved = []
    for queue in sorted({*before.owners, *after.owners}):
        old, new = _owner(before, queue), _owner(after, queue)
        if old != new:
            moved.append(Move(queue=queue, before=old, after=new))
    return moved


def _owner(owners: QueueOwnership, queue: MessageQueue) -> str | None:
    return next(iter(owners.owners.get(queue, ())), None)


def numbered_layout(
    topics: Sequence[str],
    queue_count: int,
    client_count: int,
    *,
    broker_count: int = 1,
    rooms: Sequence[str] = (),
    separator: str = "-",
) -> Layout:
    """Makes a layout from numbers: brokers `broker-a`, clients `client-00`, with rooms `HT-broker-a`, `HT-client-00`.

    Args:
        queue_count: queues of each topic on each broker.
        client_count: clients in all, dealt out to the rooms in turn.
        broker_count: brokers in each room.
        separator: what stands between a room and the rest of a name.

    Raises:
        UsageError: there is nothing to share out, or nobody to take it.
    """
    if queue_count < 1 or client_count < 1 or broker_count < 1:
        raise UsageError(
            sentence("allocation-simulation-needs-queues-clients", "a simulation needs queues, clients and brokers"),
            remedy=sentence("allocation-use-numbers-above", "use numbers above 0"),
        )
    prefixes = [f"{room}{separator}" for room in rooms] or [""]
    width = max(2, len(str(client_count - 1)))
    return Layout(
        queues=tuple(
            MessageQueue(topic, f"{prefix}broker-{_letters(number)}", queue_id)
            for topic in topics
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


def changed_layout(layout: Layout, rule: RoomRule | None, change: LayoutChange) -> Layout:
    """Returns the layout after a change.

    Raises:
        UsageError: no member is left, or a room, member or broker is not there, or is there already.
    """
    rooms = [_room_layout(layout, rule, room) for room in change.add_rooms]
    joining = [*change.join, *(client for room in rooms for client in room.clients)]
    clients = _clients_after(layout, rule, change, joining)
    queues = _queues_after(layout, rule, change)
    wants = {client: layout.wants[client] for client in clients if client in layout.wants} if layout.wants else None
    return Layout(
        queues=(*queues, *(queue for room in rooms for queue in room.queues)), clients=clients, wants=wants or None
    )


def _clients_after(
    layout: Layout, rule: RoomRule | None, change: LayoutChange, joining: Sequence[str]
) -> tuple[str, ...]:
    unknown, known = set(change.leave) - set(layout.clients), set(layout.clients) & set(joining)
    if unknown:
        raise UsageError(
            sentence("allocation-no-client-called", "no client is called {unknown}", unknown=min(unknown)),
            reason=sentence("common-there", "there are {there}", there=layout.clients[:10]),
        )
    if known:
        raise UsageError(sentence("allocation-client-already", "there is a client {known} already", known=min(known)))
    staying = [client for client in layout.clients if client not in change.leave]
    if change.remove_clients > len(staying):
        raise UsageError(
            sentence(
                "allocation-cannot-remove-clients",
                "cannot remove {remove_clients} of {staying} clients",
                remove_clients=change.remove_clients,
                staying=len(staying),
            )
        )
    staying = staying[: len(staying) - change.remove_clients]
    staying += [f"{layout.clients[-1]}+{number}" for number in range(1, change.add_clients + 1)]
    if change.lose_room is not None:
        if rule is None or not any(rule.client_room(client) == change.lose_room for client in staying):
            raise UsageError(
                sentence("allocation-no-client-room", "no client is in room {lose_room}", lose_room=change.lose_room),
                remedy=sentence("allocation-check-room-rule-clients", "check --room-rule and the clients' ids"),
            )
        staying = [client for client in staying if rule.client_room(client) != change.lose_room]
    if not staying and not joining:
        raise UsageError(
            sentence("allocation-leave-no-client", "this would leave no client"),
            remedy=sentence("allocation-leave-see-group-lag", "leave one, or see mqctl group lag --advise"),
        )
    return (*staying, *joining)


def _queues_after(layout: Layout, rule: RoomRule | None, change: LayoutChange) -> tuple[MessageQueue, ...]:
    topics = layout.topics
    brokers = sorted({queue.broker_name for queue in layout.queues})
    gone = set(change.lose_brokers)
    if gone - set(brokers):
        raise UsageError(
            sentence("no-broker", "there is no broker {broker}", broker=min(gone - set(brokers))),
            reason=sentence("common-there", "there are {there}", there=brokers),
        )
    if change.with_brokers and change.lose_room is not None and rule is not None:
        gone |= {name for name in brokers if rule.broker_room(name) == change.lose_room}
    queues = layout.queues
    if change.queues_each is not None:
        each = range(change.queues_each)
        queues = tuple(MessageQueue(topic, name, number) for topic in topics for name in brokers for number in each)
    for name, count in change.add_brokers:
        if name in brokers:
            raise UsageError(sentence("allocation-broker-already", "there is a broker {name} already", name=name))
        queues += tuple(MessageQueue(topic, name, number) for topic in topics for number in range(count))
    left = tuple(queue for queue in queues if queue.broker_name not in gone)
    if not left and not change.add_rooms:
        raise UsageError(sentence("allocation-leave-no-queue", "this would leave no queue"))
    return left


def _room_layout(layout: Layout, rule: RoomRule | None, room: NewRoom) -> Layout:
    """Names a new room's brokers and clients as numbers do, and asks the rule whether it reads the room from them."""
    made = numbered_layout(
        layout.topics,
        room.queue_count,
        room.client_count,
        broker_count=room.broker_count,
        rooms=(room.name,),
        separator="@" if all("@" in queue.broker_name for queue in layout.queues) else "-",
    )
    names = {queue.broker_name for queue in made.queues}
    read = rule is not None and all(rule.broker_room(name) == room.name for name in names)
    if rule is None or not read or any(rule.client_room(client) != room.name for client in made.clients):
        raise UsageError(
            sentence(
                "allocation-room-rule-not-read",
                "the room rule does not read {room} from {names}",
                room=room.name,
                names=min(names),
            ),
            remedy=sentence(
                "allocation-name-yourself-add-broker",
                "name them yourself, with --add-broker NAME=QUEUES and --add-client ID",
            ),
        )
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Which queues a producer uses that stays in its room: `own` is false when it has none there and takes all."""

    room: str
    own: bool
    queues: tuple[MessageQueue, ...]


def sending_sides(layout: Layout, rule: RoomRule) -> list[Sending]:
    """Returns the producer's choice for every room that brokers or clients are in."""
    names = [rule.broker_room(queue.broker_name) for queue in layout.queues]
    rooms = {room for room in (*names, *map(rule.client_room, layout.clients)) if room}
    return [
        Sending(room=room, own=room in names, queues=tuple(selectable_queues(layout.queues, room, rule)))
        for room in sorted(rooms)
    ]
