"""A whole cluster as one thing to ask: its brokers, and questions to many of them at once (`DefaultMQAdminExt`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self, TypeVar

from mqctl.client.admin.nameserver import NameServers
from mqctl.client.remoting.addresses import TopAddressing, name_server_source
from mqctl.client.remoting.answers import not_asked
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import CALL_TIMEOUT_MS, IN_FLIGHT, AddressedQuestion, Outcome, fan_out
from mqctl.client.remoting.link import LinkSettings
from mqctl.client.remoting.links import Links, Unproven
from mqctl.client.remoting.question import Question
from mqctl.errors import NotFoundError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.release import Release
from mqctl.model.route import SeenBroker
from mqctl.protocol.bodies_cluster import BrokerData, ClusterInfo, TopicRouteData
from mqctl.text import sentence

T = TypeVar("T")
MASTER_ID = 0


@dataclass(frozen=True, slots=True, order=True)
class BrokerAddress:
    """One broker process. Id 0 is the master of its broker name."""

    cluster: str
    broker_name: str
    broker_id: int
    address: str

    @property
    def is_master(self) -> bool:
        return self.broker_id == MASTER_ID


def broker_addresses(info: ClusterInfo) -> tuple[BrokerAddress, ...]:
    """Returns every broker process that the name server knows, by cluster, name and id."""
    clusters = {name: cluster for cluster, names in info.cluster_addr_table.items() for name in names}
    addresses = [
        BrokerAddress(data.cluster or clusters.get(name, ""), name, broker_id, address)
        for name, data in info.broker_addr_table.items()
        for broker_id, address in data.broker_addrs.items()
    ]
    return tuple(sorted(addresses))


def readable_address(data: BrokerData) -> str | None:
    """Returns the address to read from: the master's, or the slave's with the smallest id."""
    return data.broker_addrs[min(data.broker_addrs)] if data.broker_addrs else None


def none_registered(name_servers: str) -> NotFoundError:
    """Returns the error of a cluster whose name servers answer and list no broker."""
    return NotFoundError(
        sentence("no-broker-registered", "no broker is registered"),
        reason=sentence(
            "client-answered-empty-list", "{name_servers} answered with an empty list", name_servers=name_servers
        ),
        remedy=sentence(
            "client-check-brokers-run-namesrvaddr",
            "check that the brokers run and that their namesrvAddr names it; they register every 30 s",
        ),
    )


class Cluster:
    """A cluster as its name servers describe it. Use as a context manager, or close.

    Args:
        name_servers: `host:port;host:port`, the URL of an address service, or what `name_server_source` returns.
        links: credentials, timeouts and the form of headers.
        in_flight: limit of requests in flight at each address.
        call_timeout_ms: limit of one request.
        proxies: addresses of the remoting ports of proxies (5.x), which alone know their clients.
        on_unproven: is called at the end, without an error, with those whose answers may mean something else than
            is known, unless `newer_than` or whoever judges by releases said it.
        on_brokers: is called with the brokers that are registered, the first time that they are asked for and when
            others are; returns those that ought to be registered and are not.

    Attributes:
        missing: what `on_brokers` returned; None before anybody asked for brokers.
        releases_told: whether unknown releases are named by whoever judges.
    """

    def __init__(
        self,
        name_servers: str | tuple[str, ...] | TopAddressing,
        links: LinkSettings | None = None,
        *,
        in_flight: int = IN_FLIGHT,
        call_timeout_ms: int = CALL_TIMEOUT_MS,
        proxies: tuple[str, ...] = (),
        on_brokers: Callable[[Cluster, tuple[BrokerAddress, ...]], tuple[SeenBroker, ...]] | None = None,
        on_unproven: Callable[[list[Unproven]], None] | None = None,
    ) -> None:
        self.proxies = proxies
        self._on_brokers = on_brokers
        self._on_unproven = on_unproven
        self.releases_told = False
        self._registered: set[str] = set()
        self.missing: tuple[SeenBroker, ...] | None = None
        source = name_server_source(name_servers) if isinstance(name_servers, str) else name_servers
        self.links = Links(links)
        self.name_servers = NameServers(self.links, source, call_timeout_ms=call_timeout_ms)
        self._in_flight = in_flight
        self._timeout_ms = call_timeout_ms

    def brokers(self, deadline: Deadline | None = None) -> tuple[BrokerAddress, ...]:
        """Returns every broker process; those that are gone may still be listed for two minutes.

        Raises:
            NotFoundError: none is registered.
        """
        addresses = broker_addresses(self.name_servers.cluster_info(deadline))
        if not addresses:
            raise none_registered(";".join(self.name_servers.addresses(deadline)))
        names = {broker.broker_name for broker in addresses}
        if self._on_brokers is not None and names != self._registered:
            self._registered = names
            self.missing = self._on_brokers(self, addresses)
        return addresses

    def masters(self, deadline: Deadline | None = None) -> tuple[BrokerAddress, ...]:
        """Returns the masters."""
        return tuple(broker for broker in self.brokers(deadline) if broker.is_master)

    def readable(self, deadline: Deadline | None = None) -> tuple[BrokerAddress, ...]:
        """Returns whom consumers read from: each master, or the first slave of a name whose master is gone."""
        first: dict[str, BrokerAddress] = {}
        for broker in self.brokers(deadline):  # by id within a name
            first.setdefault(broker.broker_name, broker)
        return tuple(first.values())

    def route(self, topic: str, deadline: Deadline | None = None) -> TopicRouteData:
        """Returns where a topic lives.

        Raises:
            NotFoundError: no broker has it.
        """
        return self.name_servers.route(topic, deadline)

    def broker(self, name_or_address: str, deadline: Deadline | None = None) -> BrokerAddress:
        """Finds a broker by name (its master, or else its first slave) or by address.

        Raises:
            NotFoundError: the name servers know no such broker.
        """
        for broker in self.brokers(deadline):
            if name_or_address in (broker.broker_name, broker.address):
                return broker
        raise NotFoundError(
            sentence("no-broker", "there is no broker {broker}", broker=name_or_address),
            reason=sentence("client-name-servers-not-know", "the name servers do not know this name or address"),
            remedy=sentence("client-broker-list-shows", "`mqctl broker list` shows them"),
        )

    def ask(self, address: str, question: Question[T], deadline: Deadline | None = None) -> T:
        """Puts one question to one address, unless the deadline has passed already (NotAskedError)."""
        if deadline is not None and not deadline.remaining_ms:
            raise not_asked(question.request.code, address, deadline)
        limit = deadline.within(self._timeout_ms) if deadline else Deadline(self._timeout_ms)
        return self.links.ask(address, question, limit)

    def ask_many(
        self,
        questions: Iterable[AddressedQuestion[T]],
        deadline: Deadline,
        *,
        relayed: bool = False,
        call_timeout_ms: int | None = None,
    ) -> Iterator[Outcome[T]]:
        """Puts many questions; outcomes come as they are ready, and all by the deadline.

        Args:
            relayed: brokers pass them on to clients (see `fan_out`).
            call_timeout_ms: a limit of one request that is shorter than the cluster's own.
        """
        limit_ms = self._timeout_ms if call_timeout_ms is None else min(self._timeout_ms, call_timeout_ms)
        return fan_out(
            self.links, questions, deadline, in_flight=self._in_flight, call_timeout_ms=limit_ms, relayed=relayed
        )

    def ask_brokers(
        self, brokers: Iterable[BrokerAddress], question: Callable[[BrokerAddress], Question[T]], deadline: Deadline
    ) -> Iterator[Outcome[T]]:
        """Puts one question to each of some brokers; outcomes are about broker names."""
        asks = [AddressedQuestion(broker.address, question(broker), broker.broker_name) for broker in brokers]
        return self.ask_many(asks, deadline)

    def newer_than(self, release: Release) -> list[Unproven]:
        """Returns who answered and is of a later release; it is said by whoever asks this."""
        self.releases_told = True
        return self.links.newer_than(release)

    def close(self) -> None:
        """Closes all connections."""
        self.links.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        unproven = self.links.unproven() if kind is None and not self.releases_told else []
        self.close()
        if unproven and self._on_unproven is not None:
            self._on_unproven(unproven)
