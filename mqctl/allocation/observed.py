"""A live group: what each instance's own view gives it, against what it says that it holds."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.allocation.strategies import AllocationError, Average, AverageByCircle, ConsistentHash, NearbyRoom, Strategy
from mqctl.allocation.views import View, ownership, sorted_clients
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import GroupMembership, RunningInfo
from mqctl.model.queue import MessageQueue
from mqctl.model.room_rule import RoomRule
from mqctl.model.snapshot import ClusterSnapshot

UNKNOWN = "?"
# Where a topic is consumed by POP, brokers share out messages: no queue belongs to anybody.
POP_SHARED = "POP"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOwner:
    """One queue of a topic.

    Attributes:
        expected: whom the instances' own views give it to.
        holders: who says that it holds it.
        slot: whose slot it falls to, wanted or not.
        marks: `orphan`, `double`, `cross-room`, `moving` (expected and held differ), `unknown` (somebody did not tell),
            `pop` (consumed by POP: it is everybody's).
        lag_count: messages waiting; None when not known.
    """

    queue: MessageQueue
    expected: tuple[str, ...]
    holders: tuple[str, ...]
    slot: tuple[str, ...]
    room: str | None
    lag_count: int | None
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceShare:
    """One instance.

    Attributes:
        strategy: name of the strategy whose result it holds, else the one that it prints; `?` when it tells neither.
        subscribes: whether it wants the topic; None when it did not tell.
    """

    client_id: str
    room: str | None
    strategy: str
    subscribes: bool | None
    expected_count: int
    held_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicAllocation:
    """One topic of a group."""

    topic: str
    queues: tuple[QueueOwner, ...]
    instances: tuple[InstanceShare, ...]
    failure: str | None

    @property
    def orphan_count(self) -> int:
        return self._marked("orphan")

    @property
    def double_count(self) -> int:
        return self._marked("double")

    @property
    def crossing_count(self) -> int:
        return self._marked("cross-room")

    def _marked(self, mark: str) -> int:
        return sum(mark in item.marks for item in self.queues)

    @property
    def loads(self) -> tuple[int, ...]:
        """Queues of each instance: what it says that it holds, or what its own view gives it where it does not tell."""
        return tuple(item.expected_count if item.held_count is None else item.held_count for item in self.instances)

    @property
    def idle(self) -> tuple[str, ...]:
        """Client ids of instances that want the topic and hold none of it."""
        loads = zip(self.instances, self.loads, strict=True)
        return tuple(item.client_id for item, load in loads if not load and item.subscribes is not False)

    @property
    def even(self) -> bool:
        """Whether the queues are a multiple of the instances, so that everybody can carry the same."""
        return bool(self.instances) and len(self.queues) % len(self.instances) == 0

    @property
    def imbalance(self) -> float | None:
        """Queues of the busiest instance over the mean; 1.0 is even, None without instances or owners."""
        total = sum(self.loads)
        return max(self.loads) * len(self.loads) / total if total else None

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies that instances use, as inferred from what they hold or printed by them."""
        return tuple(sorted({item.strategy for item in self.instances}))


def addresses_of(snapshot: ClusterSnapshot, group: str) -> dict[str, str]:
    """Returns the hosts that each instance of a group connects from, by client id."""
    hosts: dict[str, set[str]] = {}
    for held in snapshot.members_of(group).values():
        for member in held.members:
            hosts.setdefault(member.client_id, set()).add(member.address)
    return {client: ", ".join(sorted(addresses)) for client, addresses in hosts.items()}


def observed_allocation(
    snapshot: ClusterSnapshot, group: str, *, strategy: Strategy | None = None, rule: RoomRule | None = None
) -> list[TopicAllocation]:
    """Computes and compares, topic by topic; retry topics are left out.

    Args:
        strategy: what all instances are said to use; None infers each one's from what it holds, AVG where that fails.
        rule: how names tell their room.
    """
    memberships = snapshot.members_of(group)
    running = {info.client_id: info for info in snapshot.running if info.group == group}
    routes = snapshot.routes()
    wanted = {item.topic for info in running.values() for item in info.subscriptions}
    wanted |= {item.topic for held in memberships.values() for item in held.subscriptions}
    popped = {topic for held in memberships.values() for topic in held.popped_topics}
    lags = _lags(snapshot, group)
    allocations = []
    for topic in sorted(name for name in wanted if name in routes and not name.startswith("%")):
        queues = list(routes[topic].readable_queues())
        examined = _Topic(
            topic=topic, queues=queues, memberships=memberships, running=running, given=strategy, rule=rule
        )
        examined.popped = topic in popped or snapshot.pops(group, topic)
        allocations.append(examined.allocation(lags))
    return allocations


def _lags(snapshot: ClusterSnapshot, group: str) -> dict[MessageQueue, int]:
    ends = {
        MessageQueue(queue.topic, broker.name or "", queue.queue_id): queue
        for broker in snapshot.brokers
        for queue in broker.queues
    }
    committed = {
        MessageQueue(item.topic, broker.name or "", item.queue_id): item.offset
        for broker in snapshot.brokers
        for item in broker.consumer_offsets
        if item.group == group
    }
    return {queue: max(0, state.max_offset - committed.get(queue, state.min_offset)) for queue, state in ends.items()}


@dataclass(kw_only=True)
class _Topic:
    """One topic under examination."""

    topic: str
    queues: Sequence[MessageQueue]
    memberships: dict[str, GroupMembership]
    running: dict[str, RunningInfo]
    given: Strategy | None
    rule: RoomRule | None
    popped: bool = False

    def __post_init__(self) -> None:
        self.clients = sorted_clients({client for held in self.memberships.values() for client in held.client_ids})
        self.strategies = {client: self.given or self._inferred(client) for client in self.clients}

    def _seen(self, client: str) -> list[str]:
        """Returns the list of ids that an instance is told, by a broker that knows it."""
        lists = [held.client_ids for held in self.memberships.values() if client in held.client_ids]
        return sorted_clients(lists[0]) if lists else []

    def _candidates(self) -> list[Strategy]:
        plain: list[Strategy] = [Average(), AverageByCircle(), ConsistentHash()]
        if self.rule is not None:
            plain.insert(0, NearbyRoom(Average(), self.rule.broker_room, self.rule.client_room))
        return plain

    def _inferred(self, client: str) -> Strategy | None:
        info = self.running.get(client)
        held = self._held(client)
        if info is None or held is None or not self.queues:
            return None
        for candidate in sorted(self._candidates(), key=lambda item: not item.name.startswith(info.strategy or "?")):
            try:
                if set(candidate.allocate(client, self.queues, self._seen(client))) == held:
                    return candidate
            except AllocationError:
                continue
        return None

    def _printed(self, client: str) -> str:
        """Returns the strategy that a member prints in its settings, where what it holds fits none that is known."""
        info = self.running.get(client)
        return (info.strategy if info else None) or UNKNOWN

    def _held(self, client: str) -> set[MessageQueue] | None:
        info = self.running.get(client)
        if info is None:
            return None
        return {item.queue for item in info.queues if item.queue.topic == self.topic and not item.dropped}

    def _subscribes(self, client: str) -> bool | None:
        info = self.running.get(client)
        return None if info is None else any(item.topic == self.topic for item in info.subscriptions)

    def allocation(self, lags: dict[MessageQueue, int]) -> TopicAllocation:
        views = [
            View(
                client_id=client,
                strategy=self.strategies[client] or Average(),
                clients=self._seen(client),
                queues=self.queues,
                subscribes=self._subscribes(client) is not False,
            )
            for client in self.clients
        ]
        expected = ownership(views)
        holders: dict[MessageQueue, list[str]] = {}
        for client in self.clients:
            for queue in self._held(client) or ():
                holders.setdefault(queue, []).append(client)
        rows = tuple(
            self._row(
                queue,
                (expected.owners.get(queue, ()), expected.intended.get(queue, ())),
                tuple(holders.get(queue, ())),
                lags.get(queue),
            )
            for queue in self.queues
        )
        loads = expected.loads(self.clients)
        return TopicAllocation(
            topic=self.topic,
            queues=rows,
            instances=tuple(self._share(client, loads[client]) for client in self.clients),
            failure=next(iter(expected.failures.values()), None),
        )

    def _share(self, client: str, expected: int) -> InstanceShare:
        held = self._held(client)
        strategy = self.strategies[client]
        return InstanceShare(
            client_id=client,
            room=self.rule.client_room(client) if self.rule else None,
            strategy=POP_SHARED if self.popped else strategy.name if strategy else self._printed(client),
            subscribes=self._subscribes(client),
            expected_count=0 if self.popped else expected,
            held_count=len(held) if held is not None else None,
        )

    def _row(
        self,
        queue: MessageQueue,
        views: tuple[tuple[str, ...], tuple[str, ...]],
        holders: tuple[str, ...],
        lag_count: int | None,
    ) -> QueueOwner:
        if self.popped:
            return QueueOwner(
                queue=queue, expected=(), holders=(), slot=(), room=None, lag_count=lag_count, marks=("pop",)
            )
        expected, slot = views
        silent = any(client not in self.running for client in self.clients)
        room = self.rule.broker_room(queue.broker_name) if self.rule else None
        marks = []
        if not holders and not expected:
            marks.append("orphan")
        elif not holders:
            marks.append("unknown" if silent else "orphan")
        if len(holders) > 1 or len(expected) > 1:
            marks.append("double")
        if holders and expected and set(holders) != set(expected):
            marks.append("moving")
        if self.rule and any(self.rule.client_room(client) != room for client in holders or expected):
            marks.append("cross-room")
        return QueueOwner(
            queue=queue,
            expected=expected,
            holders=holders,
            slot=slot,
            room=room,
            lag_count=lag_count,
            marks=tuple(marks),
        )
