"""What a name server knows: brokers, their addresses, and where each topic lives (`RouteInfoManager` of 4.9.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from embedded_broker.clock import Clock
from embedded_broker.remoting.server import ServerConnection
from mqctl.model.config import PERM_WRITE, DataVersion, TopicConfig
from mqctl.protocol.bodies_cluster import BrokerData, BrokerMemberGroup, ClusterInfo, QueueData, TopicRouteData

_READ_WRITE = 6
_UNIT, _UNIT_SUB = 1, 2


@dataclass(slots=True)
class BrokerLiveInfo:
    """One registered address.

    Attributes:
        seen_ms: last registration, epoch milliseconds.
        timeout_ms: silence after which it is forgotten.
        body_crc: checksum of its last registration, 0 when it gave none.
    """

    connection: ServerConnection
    seen_ms: int
    timeout_ms: int
    data_version: DataVersion
    ha_address: str
    body_crc: int = 0


@dataclass(slots=True)
class BrokerName:
    """Addresses of one broker name by broker id; 0 is the master.

    Attributes:
        has_acting_master: whether its brokers let a slave stand in for a lost master (`enableSlaveActingMaster`, 5.x).
    """

    cluster: str
    addresses: dict[int, str] = field(default_factory=dict)
    has_acting_master: bool = False

    def is_acting(self, broker_id: int) -> bool:
        """Whether this broker is a slave that stands in for its lost master: the one with the lowest id."""
        return self.has_acting_master and 0 not in self.addresses and broker_id == min(self.addresses, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistration:
    """What a broker says about itself."""

    cluster: str
    name: str
    broker_id: int
    address: str
    ha_address: str
    timeout_ms: int
    body_crc: int = 0
    has_acting_master: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LowestIdChange:
    """Another broker than before has the lowest id of a broker name.

    Attributes:
        members: whom it concerns: all that are left, or, when one came, all but that one.
        broker_id, address: the one with the lowest id.
        gone: address of the one that had it and left.
        ha_address: where the one that came gives its log.
    """

    members: tuple[str, ...]
    broker_id: int
    address: str
    gone: str | None = None
    ha_address: str | None = None


class RouteTable:
    """Routes and live brokers."""

    def __init__(self, clock: Clock) -> None:
        self.live: dict[str, BrokerLiveInfo] = {}
        self.brokers: dict[str, BrokerName] = {}
        self.topics: dict[str, dict[str, QueueData]] = {}
        self._clock = clock
        self._on_lowest_id: Callable[[LowestIdChange], object] | None = None

    def on_lowest_id(self, listener: Callable[[LowestIdChange], object]) -> None:
        """Has `listener` called when the lowest id of a broker name with acting masters changes."""
        self._on_lowest_id = listener

    # Brokers

    def repeated(self, broker: BrokerRegistration) -> DataVersion | None:
        """Returns the version of a registration that is byte for byte the one before; such bodies need not be read."""
        live = self.live.get(broker.address)
        if live is None or not broker.body_crc or live.body_crc != broker.body_crc:
            return None
        return live.data_version if self.knows(broker, live.data_version) else None

    def knows(self, broker: BrokerRegistration, version: DataVersion) -> bool:
        """Tells whether the topics of this registration are those that the table holds already."""
        live = self.live.get(broker.address)
        known = self.brokers.get(broker.name)
        return (
            live is not None
            and live.data_version == version
            and known is not None
            and known.addresses.get(broker.broker_id) == broker.address
        )

    def register(
        self,
        broker: BrokerRegistration,
        connection: ServerConnection,
        version: DataVersion,
        topics: Iterable[TopicConfig] | None,
        *,
        only_missing: bool = False,
    ) -> str | None:
        """Takes a registration in; topics missing from it are kept.

        Args:
            topics: None when they are known to be unchanged.
            only_missing: takes what the table does not have, and leaves the rest as it is.

        Returns:
            the address of the master, for a slave whose master is known.
        """
        known = self.brokers.setdefault(broker.name, BrokerName(broker.cluster))
        known.cluster = broker.cluster
        known.has_acting_master = broker.has_acting_master
        lowest = min(known.addresses, default=0)
        for broker_id in [number for number, address in known.addresses.items() if address == broker.address]:
            if broker_id != broker.broker_id:
                del known.addresses[broker_id]
        known.addresses[broker.broker_id] = broker.address
        is_acting = known.is_acting(broker.broker_id)
        if (broker.broker_id == 0 or is_acting) and topics is not None:
            self._put_topics(broker.name, topics, writable=not is_acting, only_missing=only_missing)
        self.live[broker.address] = BrokerLiveInfo(
            connection, self._clock.now_ms(), broker.timeout_ms, version, broker.ha_address, broker.body_crc
        )
        if broker.broker_id < lowest:
            others = tuple(address for number, address in known.addresses.items() if number != broker.broker_id)
            self._lowest_id_changed(known, others or (broker.address,), ha_address=broker.ha_address)
        return known.addresses.get(0) if broker.broker_id != 0 else None

    def _put_topics(self, name: str, topics: Iterable[TopicConfig], *, writable: bool, only_missing: bool) -> None:
        for topic in topics:
            queues = self.topics.setdefault(topic.name, {})
            if only_missing and name in queues:
                continue
            queues[name] = QueueData(
                broker_name=name,
                perm=topic.perm if writable else topic.perm & ~PERM_WRITE,
                read_queue_nums=topic.read_queue_count,
                topic_sys_flag=topic.sys_flag,
                write_queue_nums=topic.write_queue_count,
            )

    def _lowest_id_changed(
        self, known: BrokerName, members: tuple[str, ...], *, gone: str | None = None, ha_address: str | None = None
    ) -> None:
        if known.has_acting_master and self._on_lowest_id is not None:
            lowest = min(known.addresses)
            change = LowestIdChange(
                members=members, broker_id=lowest, address=known.addresses[lowest], gone=gone, ha_address=ha_address
            )
            self._on_lowest_id(change)

    def unregister(self, name: str, address: str, broker_id: int) -> None:
        """Takes a broker out."""
        self.live.pop(address, None)
        known = self.brokers.get(name)
        if known is not None and broker_id in known.addresses:
            self._take_out(name, known, broker_id)

    def forget_connection(self, connection: ServerConnection) -> None:
        """Takes out the brokers that registered through `connection`."""
        for address in [address for address, live in self.live.items() if live.connection is connection]:
            self.forget_address(address)

    def forget_address(self, address: str) -> None:
        """Takes out whatever is registered at `address`."""
        self.live.pop(address, None)
        for name, known in list(self.brokers.items()):
            for broker_id in [number for number, taken in known.addresses.items() if taken == address]:
                self._take_out(name, known, broker_id)

    def _take_out(self, name: str, known: BrokerName, broker_id: int) -> None:
        """Takes out one id of a broker name; a name without master that has an acting one is only read from."""
        gone = known.addresses.pop(broker_id)
        if known.addresses:
            if known.has_acting_master and 0 not in known.addresses:
                self.change_write_permission(name, writable=False)
            if broker_id < min(known.addresses):
                self._lowest_id_changed(known, tuple(known.addresses.values()), gone=gone)
            return
        self.brokers.pop(name, None)
        for topic, queues in list(self.topics.items()):
            if queues.pop(name, None) is not None and not queues:
                del self.topics[topic]

    def expired(self) -> list[tuple[str, BrokerLiveInfo]]:
        """Returns the addresses that have been silent for too long."""
        now_ms = self._clock.now_ms()
        return [item for item in self.live.items() if now_ms - item[1].seen_ms > item[1].timeout_ms]

    def change_write_permission(self, name: str, *, writable: bool) -> int:
        """Sets (permission 6) or clears the write bit of all topics of a broker; returns how many it has."""
        count = 0
        for queues in self.topics.values():
            data = queues.get(name)
            if data is not None:
                perm = _READ_WRITE if writable else data.perm & ~PERM_WRITE
                queues[name] = _with_perm(data, perm)
                count += 1
        return count

    # Questions

    def route(self, topic: str, *, is_v5: bool = False, shows_acting: bool = False) -> TopicRouteData | None:
        """Returns where a topic lives, or None when no broker of it has an address.

        Args:
            shows_acting: a slave that stands in for its master has the master's id, unless it may be written to.
        """
        queues = self.topics.get(topic)
        if not queues:
            return None
        datas = tuple(
            self._broker_data(name, is_v5=is_v5, acts=shows_acting and not queues[name].perm & PERM_WRITE)
            for name in dict.fromkeys(queues)
            if name in self.brokers
        )
        if not datas:
            return None
        return TopicRouteData(broker_datas=datas, queue_datas=tuple(queues.values()))

    def _broker_data(self, name: str, *, is_v5: bool, acts: bool = False) -> BrokerData:
        known = self.brokers[name]
        addresses = dict(known.addresses)
        if acts and known.has_acting_master and 0 not in addresses:
            addresses[0] = addresses.pop(min(addresses))
        return BrokerData(
            broker_addrs=addresses,
            broker_name=name,
            cluster=known.cluster,
            enable_acting_master=known.has_acting_master if is_v5 else None,
        )

    def clusters(self) -> dict[str, tuple[str, ...]]:
        """Returns the broker names of each cluster."""
        table: dict[str, list[str]] = {}
        for name, known in self.brokers.items():
            table.setdefault(known.cluster, []).append(name)
        return {cluster: tuple(names) for cluster, names in table.items()}

    def cluster_info(self, *, is_v5: bool) -> ClusterInfo:
        """Returns all brokers and clusters."""
        return ClusterInfo(
            broker_addr_table={name: self._broker_data(name, is_v5=is_v5) for name in self.brokers},
            cluster_addr_table=self.clusters(),
        )

    def members(self, cluster: str | None, name: str | None) -> BrokerMemberGroup:
        """Returns who is registered under a broker name; nobody for one that is not known."""
        known = self.brokers.get(name or "")
        addresses = {} if known is None else dict(sorted(known.addresses.items()))
        return BrokerMemberGroup(broker_addrs=addresses, broker_name=name, cluster=cluster)

    def topics_of_cluster(self, cluster: str) -> tuple[str, ...]:
        """Returns the topics that live on the cluster's brokers."""
        names = set(self.clusters().get(cluster, ()))
        return tuple(topic for topic, queues in self.topics.items() if names & queues.keys())

    def topics_with_flags(self, wanted: int, unwanted: int = 0) -> tuple[str, ...]:
        """Returns the topics whose first queue data has these bits in its system flag, and not those."""
        names = []
        for topic, queues in self.topics.items():
            flag = next(iter(queues.values())).topic_sys_flag
            if flag & wanted and not flag & unwanted:
                names.append(topic)
        return tuple(names)

    def unit_topics(self) -> tuple[str, ...]:
        return self.topics_with_flags(_UNIT)

    def unit_sub_topics(self, *, only_not_unit: bool) -> tuple[str, ...]:
        return self.topics_with_flags(_UNIT_SUB, _UNIT if only_not_unit else 0)

    def delete_topic(self, topic: str, cluster: str | None) -> None:
        """Drops a topic's route, of one cluster or of all."""
        for live in self.live.values():
            live.body_crc = 0  # what a broker registers next is read, even if it is what it registered before
        if not cluster:
            self.topics.pop(topic, None)
            return
        queues = self.topics.get(topic, {})
        for name in self.clusters().get(cluster, ()):
            queues.pop(name, None)
        if not queues:
            self.topics.pop(topic, None)

    def put_queues(self, topic: str, queues: Iterable[QueueData]) -> None:
        """Adds route entries of a topic, of brokers that are known."""
        for data in queues:
            if data.broker_name in self.brokers:
                self.topics.setdefault(topic, {})[data.broker_name] = data


def _with_perm(data: QueueData, perm: int) -> QueueData:
    from mqctl.protocol.declared import replaced

    return replaced(data, perm=perm)
