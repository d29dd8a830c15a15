"""A master and a slave in motion, on the wire: with every answer that either gives, the master's log has grown.

What both tell is true at its moment, and no two answers are of the same one. Time passes with answers only, so that a
world is the same whenever it is made from the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, cycle
from threading import Lock

from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.config import DataVersion, SubscriptionGroupConfig, TopicConfig
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.protocol.bodies_cluster import (
    BrokerData,
    ClusterInfo,
    ConsumerOffsetTable,
    KVTable,
    SubscriptionGroupTable,
    TopicConfigTable,
)
from mqctl.protocol.bodies_ha import HaClientInfo, HaConnectionInfo, HaRuntimeInfo
from mqctl.protocol.body import Body
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.snapshot.live.gatherer import gather_live
from tests.client.wire_server import Answer, Peer, WireServer
from tests.rules.live_snapshots import HOUR, MINUTE, NOW

BEGIN = 1_000_000
_NAME = "broker-a"
_REFUSED = int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Topics and groups of one broker, and the versions it counts."""

    topics: Mapping[str, TopicConfig]
    groups: Mapping[str, SubscriptionGroupConfig]
    version: DataVersion
    offset_count: int = 3


TABLES = Tables(
    topics={"Pay": TopicConfig(name="Pay", read_queue_count=4, write_queue_count=4)},
    groups={"G": SubscriptionGroupConfig(name="G")},
    version=DataVersion(counter=2, timestamp_ms=NOW - HOUR),
)


@dataclass(kw_only=True)
class MovingPair:
    """What happens between the answers.

    Attributes:
        grows: bytes that reach the master's log before each answer, again and again.
        late: how many answers ago the slave's log was the master's, before each answer; None for one that gets nothing.
        dispatch_late: the same for what the slave has put into its queues; None for one that reads nothing of it.
        kept_from: where the master's log begins: what was before is deleted.
        stranger: an offset that something else reported to the replication port.
        master, slave: their tables; `changed` are the master's from the answer number `changes_at` on, which the slave
            copies `copies_after` answers later.
    """

    grows: Sequence[int]
    late: Sequence[int | None] = (0,)
    dispatch_late: Sequence[int | None] = (0,)
    kept_from: int = 0
    stranger: int | None = None
    version: str = "V5_5_0"
    master: Tables = TABLES
    slave: Tables = TABLES
    changed: Tables | None = None
    changes_at: int = 0
    copies_after: int = 0
    _ends: list[int] = field(default_factory=lambda: [BEGIN])
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        growth = accumulate(cycle(self.grows), initial=BEGIN)
        self._ends = [next(growth) for _ in range(2)]
        self._growth = growth
        self._late, self._dispatch_late = cycle(self.late), cycle(self.dispatch_late)
        self._slave_end = self._dispatched = BEGIN

    def look(self) -> ClusterSnapshot:
        """Gathers what both tell."""
        return next(self.looks(1))

    def looks(self, count: int) -> Iterator[ClusterSnapshot]:
        """Gathers again and again, 10 s apart by the clock of the rules; each look has the one before as earlier."""
        with self._served() as namesrv, Cluster(namesrv) as client:
            earlier: ClusterSnapshot | None = None
            for number in range(count):
                now_ms = NOW - 10_000 * (count - 1 - number)
                seen = replace(gather_live(client, Deadline(60_000), now_ms=now_ms), earlier=earlier)
                yield seen
                earlier = replace(seen, earlier=None)

    @contextmanager
    def _served(self) -> Iterator[str]:
        with (
            WireServer(self._answering(self._master, "ASYNC_MASTER")) as master,
            WireServer(self._answering(self._slave, "SLAVE")) as slave,
        ):
            addresses = {0: master.address, 1: slave.address}
            data = BrokerData(broker_addrs=addresses, broker_name=_NAME, cluster="C")
            info = ClusterInfo(broker_addr_table={_NAME: data}, cluster_addr_table={"C": (_NAME,)})

            def registered(command: RemotingCommand) -> Body | None:
                return info if command.code == RequestCode.GET_BROKER_CLUSTER_INFO else None

            with WireServer(self._answering(registered, "")) as name_server:
                yield name_server.address

    def _answering(self, told: Callable[[RemotingCommand], Body | None], role: str) -> Answer:
        def answer(peer: Peer, command: RemotingCommand) -> None:
            with self._lock:
                if command.code == RequestCode.GET_BROKER_CONFIG:
                    return peer.send(command.answer(0, body=f"brokerRole={role}\n".encode()))
                body = told(command)
            if body is None:
                return peer.send(command.answer(_REFUSED))
            return peer.send(command.answer(0, body=body.to_bytes()))

        return answer

    def _step(self) -> int:
        """Lets time pass; returns the end of the master's log."""
        self._ends.append(next(self._growth))
        late, dispatch_late = next(self._late), next(self._dispatch_late)
        if late is not None:
            self._slave_end = max(self._slave_end, self._ends[max(0, len(self._ends) - 1 - late)])
        if dispatch_late is not None:
            reached = self._ends[max(0, len(self._ends) - 1 - dispatch_late)]
            self._dispatched = max(self._dispatched, min(self._slave_end, reached))
        return self._ends[-1]

    def _runtime(self, end: int, dispatched: int, start: int = 0) -> KVTable:
        return KVTable(
            table={
                "brokerVersionDesc": self.version,
                "bootTimestamp": str(NOW - HOUR),
                "commitLogMinOffset": str(start),
                "commitLogMaxOffset": str(end),
                "dispatchBehindBytes": str(end - dispatched),
            }
        )

    def _master(self, command: RemotingCommand) -> Body | None:
        end = self._step()
        if command.code == RequestCode.GET_BROKER_RUNTIME_INFO:
            return self._runtime(end, end, self.kept_from)
        if command.code == RequestCode.GET_BROKER_HA_STATUS:
            self._step()  # the end is read before the connections
            positions = [self._slave_end, *([] if self.stranger is None else [self.stranger])]
            connections = tuple(
                HaConnectionInfo(addr=f"192.0.2.8:{5_000 + number}", slave_ack_offset=position, in_sync=True)
                for number, position in enumerate(positions)
            )
            return HaRuntimeInfo(master=True, master_commit_log_max_offset=end, ha_connection_info=connections)
        changed = self.changed is not None and len(self._ends) > self.changes_at
        return self._told(self.changed if changed and self.changed else self.master, command)

    def _slave(self, command: RemotingCommand) -> Body | None:
        self._step()
        if command.code == RequestCode.GET_BROKER_RUNTIME_INFO:
            return self._runtime(self._slave_end, self._dispatched)
        if command.code == RequestCode.GET_BROKER_HA_STATUS:
            client = HaClientInfo(last_write_timestamp=NOW - 1_000, master_addr="192.0.2.8:10912")
            return HaRuntimeInfo(master=False, ha_client_runtime_info=client)
        copied = self.changed is not None and len(self._ends) > self.changes_at + self.copies_after
        return self._told(self.changed if copied and self.changed else self.slave, command)

    def _told(self, tables: Tables, command: RemotingCommand) -> Body | None:
        if command.code == RequestCode.GET_ALL_TOPIC_CONFIG:
            return TopicConfigTable(data_version=tables.version, topic_config_table=tables.topics)
        if command.code == RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG:
            return SubscriptionGroupTable(data_version=tables.version, subscription_group_table=tables.groups)
        if command.code == RequestCode.GET_ALL_CONSUMER_OFFSET:
            queues = {number: number for number in range(tables.offset_count)}
            return ConsumerOffsetTable(offset_table={"Pay@G": queues} if queues else {})
        return None


JUST_NOW = NOW - MINUTE // 12
