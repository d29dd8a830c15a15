"""Bodies of the requests about replication (`HARuntimeInfo` of 5.3.3)."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.protocol.body import EMPTY, Body


class HaClientInfo(Body):
    """A slave's own view of its connection; on a master everything is 0.

    Attributes:
        last_read_timestamp: epoch milliseconds; failed attempts to connect count, too.
        last_write_timestamp: epoch milliseconds of its last report.
        master_addr: where its master listens for slaves; stays when that is gone.
        max_offset: end of its commit log.
    """

    last_read_timestamp: int = 0
    last_write_timestamp: int = 0
    master_addr: str | None = None
    master_flush_offset: int = 0
    max_offset: int = 0
    transferred_byte_in_second: int = 0


class HaConnectionInfo(Body):
    """A master's view of one connection to its replication port, of a slave or of anybody.

    Attributes:
        addr: the other side's `ip:port`.
        diff: bytes that its last report was behind the end of the log; below 0 for one that is ahead.
        in_sync: whether that is less than `haMaxGapNotInSync`.
        slave_ack_offset: its last report, -1 before the first.
        transfer_from_where: where the next block begins, -1 before the first report.
    """

    addr: str = ""
    diff: int = 0
    in_sync: bool = False
    slave_ack_offset: int = 0
    transfer_from_where: int = 0
    transferred_byte_in_second: int = 0


class HaRuntimeInfo(Body):
    """How replication stands, in the eyes of one broker."""

    ha_client_runtime_info: HaClientInfo | None = None
    ha_connection_info: tuple[HaConnectionInfo, ...] = ()
    in_sync_slave_nums: int = 0
    master: bool = False
    master_commit_log_max_offset: int = 0


class ReplicaIdentity(Body):
    """A broker of a set that a controller looks after.

    Attributes:
        alive: whether its heartbeats reach the controller.
    """

    alive: bool = False
    broker_address: str = ""
    broker_id: int = 0
    broker_name: str = ""


class ReplicasInfo(Body):
    """A set of brokers of one name in the eyes of a controller (`BrokerReplicasInfo.ReplicasInfo` of 5.3.3)."""

    in_sync_replicas: tuple[ReplicaIdentity, ...] = ()
    master_address: str | None = None
    master_broker_id: int | None = None
    master_epoch: int = 0
    not_in_sync_replicas: tuple[ReplicaIdentity, ...] = ()
    sync_state_set_epoch: int = 0


class BrokerReplicasInfo(Body):
    """Sync state sets by broker name; names that the controller does not know are missing."""

    replicas_info_table: Mapping[str, ReplicasInfo] = EMPTY


class EpochEntry(Body):
    """One master's time in a log; the last one has no end (the largest 64-bit number)."""

    end_offset: int = 0
    epoch: int = 0
    start_offset: int = 0


class EpochEntryCache(Body):
    """The epochs of a broker under a controller, oldest first (`EpochEntryCache` of 5.3.3)."""

    broker_id: int = 0
    broker_name: str = ""
    cluster_name: str = ""
    epoch_list: tuple[EpochEntry, ...] = ()
    max_offset: int = 0
