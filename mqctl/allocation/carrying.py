"""What clients carry of what arrives in their queues, bounded by their threads and by what their listeners pass.

Source: `ConsumeMessageConcurrentlyService` shares a client's threads among its queues; `ConsumeMessageOrderlyService`
gives each queue one thread at a time, so that of a client's threads as many work as it has queues. A listener that
keeps the order of each key gives each key one thread at a time (RocketMQ's clients have none; ours has).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from mqctl.allocation.simulation import StrategyResult
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.room_rule import RoomRule

ALL = "all"


class Mode(StrEnum):
    """What a client's threads share: anything, a queue by one of them at a time, or a key."""

    CONCURRENT = "concurrent"
    ORDERLY = "orderly"
    KEY_ORDERED = "key-ordered"

    @classmethod
    def of(cls, *, orderly: bool) -> Mode:
        """Returns the mode of one of RocketMQ's own listeners."""
        return cls.ORDERLY if orderly else cls.CONCURRENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What one client could pass with all its threads at work.

    Attributes:
        tps: messages a second; None when not known.
        thread_count: its consume threads; None when not known.
    """

    tps: float | None = None
    thread_count: int | None = None
    mode: Mode = Mode.CONCURRENT

    @property
    def orderly(self) -> bool:
        return self.mode is Mode.ORDERLY

    def lanes(self, queue_count: int) -> int | None:
        """Returns how many of its threads can work at once on so many queues; None when not known."""
        if self.thread_count is None:
            return None
        if not queue_count:
            return 0
        return min(self.thread_count, queue_count) if self.orderly else self.thread_count

    def reachable_tps(self, queue_count: int) -> float | None:
        """Returns what it passes with that many queues, if their messages are spread evenly; None when not known."""
        if not queue_count:
            return 0.0
        if not self.orderly or self.tps is None:
            return self.tps
        lanes = self.lanes(queue_count)
        return self.tps * lanes / self.thread_count if lanes and self.thread_count else None

    def carried_tps(self, arriving: Sequence[float], keys: Iterable[float] = ()) -> float | None:
        """Returns how much it passes of what arrives, by queue.

        Of an ordered queue it is no more than one thread does, and so of an ordered key.

        Args:
            keys: what arrives of each key that may be too much for a thread, of all that arrives here.
        """
        reachable = self.reachable_tps(len(arriving))
        if reachable is None:
            return None
        if self.mode is not Mode.CONCURRENT and self.tps is not None and self.thread_count:
            lane = self.tps / self.thread_count
            if self.orderly:
                return min(reachable, sum(min(rate, lane) for rate in arriving))
            return min(reachable, sum(arriving, 0.0) - sum(max(0.0, rate - lane) for rate in keys))
        return min(reachable, sum(arriving, 0.0))


UNKNOWN = Capacity()


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one client has to carry, and can.

    Attributes:
        lanes: threads that can work at once.
        required_tps: what arrives in its queues; None when not known of one of them.
        capacity_tps: what it can pass with its queues.
        carried_tps: what it passes of what arrives.
    """

    client_id: str
    queue_count: int
    lanes: int | None
    required_tps: float | None
    capacity_tps: float | None
    carried_tps: float | None

    @property
    def enough(self) -> bool | None:
        """Whether it passes all that arrives; None when not known."""
        if self.required_tps is None or self.carried_tps is None:
            return None
        return self.carried_tps >= self.required_tps * (1 - 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomLoad:
    """What one room (or everybody, without a rule) has to carry, and can: sums over its clients.

    Attributes:
        enough: whether each of its clients carries what arrives in its queues; None when not known.
    """

    room: str
    client_count: int
    queue_count: int
    lanes: int | None
    required_tps: float | None
    capacity_tps: float | None
    carried_tps: float | None
    enough: bool | None


def client_loads(
    result: StrategyResult,
    arriving: Mapping[MessageQueue, float],
    capacities: Mapping[str, Capacity],
    usual: Capacity,
    keys: Mapping[MessageQueue, Mapping[str, float]] | None = None,
) -> list[Load]:
    """Returns the load of every client.

    Args:
        arriving: messages a second, by queue; a queue that is not there makes its owner's load unknown.
        usual: the capacity of a client that is not in `capacities`, such as one that is added.
        keys: how much of what arrives in a queue is of which key, for clients that keep the order of keys.
    """
    owned: dict[str, list[MessageQueue]] = {client: [] for client in result.loads}
    for queue, owners in result.owners.owners.items():
        for client in owners:
            owned[client].append(queue)
    loads = []
    for client, queues in owned.items():
        capacity = capacities.get(client, usual)
        rates = [arriving[queue] for queue in queues if queue in arriving]
        known = len(rates) == len(queues)
        of_keys: dict[str, float] = {}
        for queue in queues if keys and capacity.mode is Mode.KEY_ORDERED else ():
            for key, tps in keys.get(queue, {}).items() if keys else ():
                of_keys[key] = of_keys.get(key, 0.0) + tps
        loads.append(
            Load(
                client_id=client,
                queue_count=len(queues),
                lanes=capacity.lanes(len(queues)),
                required_tps=sum(rates, 0.0) if known else None,
                capacity_tps=capacity.reachable_tps(len(queues)),
                carried_tps=capacity.carried_tps(rates, of_keys.values()) if known else None,
            )
        )
    return loads


def room_loads(loads: Sequence[Load], rule: RoomRule | None) -> list[RoomLoad]:
    """Sums up the loads of clients by their room."""
    rooms: dict[str, list[Load]] = {}
    for load in loads:
        rooms.setdefault(((rule.client_room(load.client_id) or "?") if rule else ALL), []).append(load)
    return [
        RoomLoad(
            room=room,
            client_count=len(members),
            queue_count=sum(load.queue_count for load in members),
            lanes=parallelism(members),
            required_tps=_total(load.required_tps for load in members),
            capacity_tps=_total(load.capacity_tps for load in members),
            carried_tps=_total(load.carried_tps for load in members),
            enough=_all(load.enough for load in members),
        )
        for room, members in sorted(rooms.items())
    ]


def parallelism(loads: Iterable[Load]) -> int | None:
    """Returns how many messages (or batches) clients can work on at once; None when not known of one of them."""
    lanes = [load.lanes for load in loads]
    return sum(count or 0 for count in lanes) if None not in lanes else None


def _total(values: Iterable[float | None]) -> float | None:
    numbers = list(values)
    return sum(value or 0.0 for value in numbers) if None not in numbers else None


def _all(answers: Iterable[bool | None]) -> bool | None:
    distinct = set(answers)
    if False in distinct:
        return False
    return None if None in distinct else True
