"""Replication of a live cluster: what brokers of 5.x tell of it, and how old what a slave lacks is."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.broker_messages import message_at
from mqctl.model.gap import Part
from mqctl.model.replication import CopiedTables, HaConnection, HaView
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
    ask_controllers(asking, [broker for broker in wanted if is_controlled(broker)])


def ask_copies(asking: Asking, brokers: list[LiveBroker]) -> None:
    """Asks slaves for the tables that they copy; their masters must have been asked for theirs."""
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
        own = {
            Part.TOPICS: topics.values[number].data_version,
            Part.GROUPS: groups.values[number].data_version,
        }
        master = masters.get(broker.name)
        versions = master.table_versions if master is not None else {}
        is_known = versions.keys() >= own.keys()
        table = offsets.values.get(number)
        broker.copied = CopiedTables(
            topics=tuple(sorted(topics.values[number].topic_config_table)),
            groups=tuple(sorted(groups.values[number].subscription_group_table)),
            offset_count=sum(map(len, table.offset_table.values())) if table is not None else None,
            is_same=all(versions[part] == own[part] for part in own) if is_known else None,
            changed_ms=max(versions[part].timestamp_ms for part in own) if is_known else None,
        )


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
    return HaView(is_master=info.master, connections=connections)


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
