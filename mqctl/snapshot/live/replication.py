"""Replication of a live cluster: what brokers of 5.x tell of it, and how old what a slave lacks is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.broker_messages import message_at
from mqctl.client.admin.cluster import BrokerAddress
from mqctl.model.config import DataVersion
from mqctl.model.gap import Part
from mqctl.model.names import is_system_group, is_system_topic
from mqctl.model.numbers import decimal
from mqctl.model.replication import CopiedTables, HaConnection, HaView
from mqctl.protocol.bodies_cluster import SubscriptionGroupTable, TopicConfigTable
from mqctl.protocol.bodies_ha import HaRuntimeInfo
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.controllers import ask_controllers, is_controlled

# A broker that does not know request 907 (before 5.0) answers 3.
_NOT_SUPPORTED = frozenset({3})


def ask_replication(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks brokers of 5.x that have a slave, are one, or wait for one; others have nothing to tell."""
    names = [broker.name for broker in brokers]
    wanted = [
        broker
        for broker in brokers
        if not broker.lost
        and broker.runtime.get("brokerVersionDesc", "").startswith("V5")
        and (names.count(broker.name) > 1 or broker.config.get("brokerRole") == "SYNC_MASTER" or is_controlled(broker))
    ]
    answers = asking.put((number, item.address.address, ask.ha_status()) for number, item in enumerate(wanted))
    for number, broker in enumerate(wanted):
        error = answers.errors.get(number)
        if error is None:
            broker.replication = _view(answers.values[number])
        elif not refused_with(error, _NOT_SUPPORTED):
            broker.miss(Part.RUNTIME, error)
    _ask_ends(asking, [broker for broker in wanted if broker.replication and broker.replication.is_master])
    ask_controllers(asking, [broker for broker in wanted if is_controlled(broker)])


def _ask_ends(asking: Asking, masters: list[LiveBroker]) -> None:
    """Asks masters for the end of their log once more where a position seems to be beyond it: they read the end before
    the positions, and a slave may have reported a message that was stored in between."""
    some = [
        (broker, broker.replication)
        for broker in masters
        if broker.replication is not None
        and any(one.acknowledged_offset > (broker.replication.log_end or 0) for one in broker.replication.connections)
    ]
    answers = asking.put((number, item.address.address, ask.runtime_info()) for number, (item, _) in enumerate(some))
    for number, (broker, view) in enumerate(some):
        table = answers.values.get(number)
        if table is None:
            broker.miss(Part.RUNTIME, answers.errors[number])
        end = decimal(table.table.get("commitLogMaxOffset")) if table is not None else None
        broker.replication = replace(view, log_end=end)


def ask_copies(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks slaves for the tables that they copy; their masters must have been asked for theirs."""
    own: dict[BrokerAddress, _Tables] = {}
    masters = {broker.name: broker for broker in brokers if broker.address.is_master}
    slaves = [broker for broker in brokers if not broker.address.is_master and not broker.lost]
    topics = asking.put((number, item.address.address, ask.topic_table()) for number, item in enumerate(slaves))
    groups = asking.put((number, item.address.address, ask.group_table()) for number, item in enumerate(slaves))
    offsets = asking.put(
        (number, item.address.address, ask.all_consumer_offsets()) for number, item in enumerate(slaves)
    )
    for number, broker in enumerate(slaves):
        error = topics.errors.get(number) or groups.errors.get(number)
        if error is not None:
            broker.miss(Part.TOPICS if number in topics.errors else Part.GROUPS, error)
            continue
        tables = _Tables(topics.values[number], groups.values[number])
        table = offsets.values.get(number)
        broker.copied = CopiedTables(
            topics=tuple(sorted(tables.topics.topic_config_table)),
            groups=tuple(sorted(tables.groups.subscription_group_table)),
            offset_count=sum(map(len, table.offset_table.values())) if table is not None else None,
        )
        own[broker.address] = tables
    _compare(asking, slaves, masters, own)


@dataclass(frozen=True)
class _Tables:
    """The tables of one broker that slaves copy."""

    topics: TopicConfigTable
    groups: SubscriptionGroupTable

    @property
    def versions(self) -> dict[Part, DataVersion]:
        return {Part.TOPICS: self.topics.data_version, Part.GROUPS: self.groups.data_version}

    def names(self) -> set[tuple[Part, str]]:
        """Returns the topics and groups of applications."""
        topics = {(Part.TOPICS, name) for name in self.topics.topic_config_table if not is_system_topic(name)}
        return topics | {
            (Part.GROUPS, name) for name in self.groups.subscription_group_table if not is_system_group(name)
        }

    def differing(self, master: _Tables) -> Iterator[str]:
        """Yields topics and groups of applications with other settings than the master's, or unknown to it."""
        pairs = (
            (self.topics.topic_config_table, master.topics.topic_config_table, is_system_topic),
            (self.groups.subscription_group_table, master.groups.subscription_group_table, is_system_group),
        )
        for mine, theirs, is_system in pairs:
            yield from sorted(
                name for name, config in mine.items() if not is_system(name) and theirs.get(name) != config
            )


def _compare(
    asking: Asking,
    slaves: list[LiveBroker],
    masters: Mapping[str, LiveBroker],
    own: Mapping[BrokerAddress, _Tables],
) -> None:
    """Compares the tables of slaves with their masters'. Where versions differ, masters are asked once more, after
    their slaves, and contents are compared: a change in between is a recent one then."""
    other = []
    for slave in slaves:
        master, tables = masters.get(slave.name), own.get(slave.address)
        if tables is None or slave.copied is None or master is None or not master.table_versions:
            continue
        if master.table_versions == tables.versions:
            slave.copied = replace(slave.copied, is_same=True, changed_ms=_newest(tables.versions))
        elif not master.lost:
            other.append((slave, slave.copied, tables, master))
    topics = asking.put((number, item[3].address.address, ask.topic_table()) for number, item in enumerate(other))
    groups = asking.put((number, item[3].address.address, ask.group_table()) for number, item in enumerate(other))
    for number, (slave, copied, tables, master) in enumerate(other):
        error = topics.errors.get(number) or groups.errors.get(number)
        if error is not None:
            master.miss(Part.TOPICS if number in topics.errors else Part.GROUPS, error)
            continue
        newest = _Tables(topics.values[number], groups.values[number])
        differing = tuple(name for name in tables.differing(newest) if name not in slave.reserved)
        lacks = newest.names() - tables.names()
        slave.copied = replace(
            copied, is_same=not (differing or lacks), differing=differing, changed_ms=_newest(newest.versions)
        )


def _newest(versions: Mapping[Part, DataVersion]) -> int:
    return max(version.timestamp_ms for version in versions.values())


def _view(info: HaRuntimeInfo) -> HaView:
    client = info.ha_client_runtime_info
    if not info.master and client is not None:
        return HaView(
            is_master=False, master_address=client.master_addr, written_ms=client.last_write_timestamp or None
        )
    connections = tuple(
        HaConnection(address=one.addr, acknowledged_offset=one.slave_ack_offset, is_in_sync=one.in_sync)
        for one in info.ha_connection_info
    )
    return HaView(is_master=info.master, connections=connections, log_end=info.master_commit_log_max_offset)


def missing_since(asking: Asking, wanted: Mapping[tuple[str, int], tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Returns the store times of the first messages that slaves do not have, by broker name and id.

    Where a slave's log ends, its master's next record begins. One whose log ends within a record, for blocks are cut
    anywhere, is left out.

    Args:
        wanted: the master's address and the end of the slave's log.
    """
    answers = asking.put((key, address, message_at(offset)) for key, (address, offset) in wanted.items())
    return {
        key: message.store_time_ms
        for key, message in answers.values.items()
        if message.physical_offset == wanted[key][1]
    }
