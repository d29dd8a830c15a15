"""Where topics live, as name servers tell it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import field

from mqctl.model.config import PERM_READ
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue

MASTER_ID = 0
RECENT_MS = 86_400_000
"""How long one that nobody declares is missed: one that was removed on purpose does not come back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpoint:
    """The addresses of one broker name.

    Attributes:
        addresses: `ip:port` by broker id; 0 is the master.
        also_in: other clusters that list the name: brokers of several register under it.
    """

    cluster: str
    name: str
    addresses: Mapping[int, str] = field(default_factory=dict)
    also_in: tuple[str, ...] = ()

    @property
    def master(self) -> str | None:
        return self.addresses.get(MASTER_ID)

    def any_address(self) -> str | None:
        """Returns the master's address, else that of the lowest id, else None."""
        return self.addresses[min(self.addresses)] if self.addresses else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteQueues:
    """The queues of a topic on one broker."""

    broker_name: str
    read_queue_count: int
    write_queue_count: int
    perm: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRoute:
    """Where one topic lives.

    Attributes:
        endpoints: brokers of the route that have an address.
        order_conf: `broker:n;broker:n` of an ordered topic, None without one.
    """

    topic: str
    queues: tuple[RouteQueues, ...] = ()
    endpoints: tuple[BrokerEndpoint, ...] = ()
    order_conf: str | None = None

    def readable_queues(self) -> tuple[MessageQueue, ...]:
        """Returns the queues that consumers share out, sorted as they sort them."""
        return tuple(
            sorted(
                MessageQueue(self.topic, item.broker_name, number)
                for item in self.queues
                if item.perm & PERM_READ
                for number in range(item.read_queue_count)
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NameServerView:
    """What one name server answers; several of them ought to agree.

    Attributes:
        address: `host:port`.
        endpoints: all brokers it knows.
        routes: by topic, for the topics that were asked.
        unknown_topics: those that were asked and that it does not know.
    """

    address: str
    endpoints: tuple[BrokerEndpoint, ...] = ()
    routes: tuple[TopicRoute, ...] = ()
    unknown_topics: tuple[str, ...] = ()

    def unlisted(self, broker_name: str, address: str | None, topics: Iterable[str]) -> set[str]:
        """Returns those of a master's topics that were asked and that this name server does not list there; none where
        it does not list the master itself."""
        if not any(item.name == broker_name and item.master == address for item in self.endpoints):
            return set()
        elsewhere = {
            route.topic for route in self.routes if all(queues.broker_name != broker_name for queues in route.queues)
        }
        return {*topics} & (elsewhere | set(self.unknown_topics))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressAnswer:
    """What came of asking the last known address of a broker that no name server lists.

    Attributes:
        name, broker_id: who answered, by its own properties (request 26); None where nobody told.
        namesrv: the name servers with which it registers, by the same.
        problem: why nobody told, in words; None where somebody did.
    """

    name: str | None = None
    broker_id: int | None = None
    namesrv: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenProcess:
    """One process of a broker name, as it was registered for the last time that is known."""

    broker_id: int
    address: str
    last_seen_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBroker:
    """A broker name that name servers knew when they were last asked about all brokers from here, or ought to know.

    Attributes:
        address: of the master, else of any process; None where none was told.
        last_seen_time_ms: when it was registered for the last time that is known; None where it never was.
        expected_by: who says that it is part of the cluster: `local cluster default`, `profile prod`; None for nobody.
        queue_count, group_count: application queues that it had, and groups with offsets in them or members that
            subscribe them, when these were looked at for the last time; None where they never were.
        answer: what came of asking its address, of one that is missed; None where that was not asked.
        processes: its processes by their ids, slaves among them.
    """

    cluster: str
    name: str
    address: str | None
    last_seen_time_ms: int | None = None
    expected_by: str | None = None
    queue_count: int | None = None
    group_count: int | None = None
    answer: AddressAnswer | None = None
    processes: tuple[SeenProcess, ...] = ()


def gone_processes(seen: SeenBroker, registered: Mapping[int, str], now_ms: int) -> tuple[SeenProcess, ...]:
    """Returns the processes of a broker that were registered within a day and are not, though others of it are.

    One that came back at another address has its id, one that became the master its address; and where as many are
    registered as were seen, none is missing.

    Args:
        registered: addresses by id, of all processes of that name.
    """
    recent = [item for item in seen.processes if now_ms - item.last_seen_time_ms < RECENT_MS]
    gone = (item for item in recent if item.broker_id not in registered and item.address not in registered.values())
    return tuple(gone)[: max(0, len(recent) - len(registered))] if registered else ()


def missed_brokers(seen: Iterable[SeenBroker], registered: Set[str], now_ms: int) -> tuple[SeenBroker, ...]:
    """Returns the brokers without which an answer about queues and offsets is part of one.

    Where it is declared who belongs to the cluster, these; elsewhere those that were registered within a day.

    Args:
        registered: names.
    """
    known = list(seen)
    declared = any(item.expected_by for item in known)
    return tuple(
        item
        for item in known
        if item.name not in registered
        and (item.expected_by or (not declared and now_ms - (item.last_seen_time_ms or 0) < RECENT_MS))
    )
