"""Bodies of clients: heartbeats, connections, locks, running information. Times are epoch milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from mqctl.model.queue import MessageQueue
from mqctl.protocol.body import EMPTY, Body, BodyError
from mqctl.protocol.declared import field
from mqctl.text import sentence

MOST_MEMBERS = 10_000
"""Members of a group that are read, far beyond what anybody runs; RocketMQ has no limit of its own."""


class SubscriptionData(Body):
    """One subscription. `code_set` holds the Java hashes of the tags; `sub_version` is the time of the subscription."""

    class_filter_mode: bool = False
    code_set: tuple[int, ...] = ()
    expression_type: str = "TAG"
    sub_string: str = "*"
    sub_version: int = 0
    tags_set: tuple[str, ...] = ()
    topic: str


class ConsumerData(Body):
    """One consumer group of a client."""

    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    consume_type: str = "CONSUME_PASSIVELY"
    group_name: str
    message_model: str = "CLUSTERING"
    subscription_data_set: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False


class ProducerData(Body):
    """One producer group of a client."""

    group_name: str


class HeartbeatData(Body):
    """A client with its groups."""

    client_id: str = field("clientID")
    consumer_data_set: tuple[ConsumerData, ...] = ()
    heartbeat_fingerprint: int | None = field(default=None, since="5.1.0")
    producer_data_set: tuple[ProducerData, ...] = ()
    without_sub: bool | None = field(default=None, since="5.1.0")


class ClientConfigCheck(Body):
    """A subscription whose expression is to be compiled."""

    client_id: str | None = None
    group: str | None = None
    namespace: str | None = field(default=None, since="5.0.0")
    subscription_data: SubscriptionData


class LockRequest(Body):
    """Queues to lock or unlock."""

    client_id: str
    consumer_group: str
    mq_set: tuple[MessageQueue, ...] = ()
    only_this_broker: bool | None = field(default=None, since="5.0.0")


class LockedQueues(Body):
    """Queues whose lock was granted."""

    lock_ok_mq_set: tuple[MessageQueue, ...] = field("lockOKMQSet", default=())


def _check_members(count: int) -> None:
    if count > MOST_MEMBERS:
        reason = sentence(
            "wire-names-members-most-read",
            "it names {count:member}, and mqctl reads at most {most_members:,}",
            count=count,
            most_members=MOST_MEMBERS,
        )
        raise BodyError(sentence("wire-members-group-read", "The members of a group cannot be read"), reason=reason)


class ConsumerIds(Body):
    """Client ids of a group, unsorted, perhaps twice."""

    consumer_id_list: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Reads the answer. Raises BodyError, also when it names more members than any group has."""
        ids = super().from_json(value)
        _check_members(len(ids.consumer_id_list))
        return ids


class Connection(Body):
    """One connection of a client."""

    client_addr: str
    client_id: str
    language: str | None = None
    version: int = 0


class ConsumerConnection(Body):
    """Connections, subscriptions and attributes of a group."""

    connection_set: tuple[Connection, ...] = ()
    consume_from_where: str | None = None
    consume_type: str | None = None
    message_model: str | None = None
    subscription_table: Mapping[str, SubscriptionData] = EMPTY

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Reads the answer. Raises BodyError, also when it names more members than any group has."""
        connection = super().from_json(value)
        _check_members(len(connection.connection_set))
        return connection


class ProxyHeartbeat(Body):
    """What a proxy of 5.x tells the others of one client, by a message (`HeartbeatSyncerData`).

    Attributes:
        channel_data: JSON text of the client's channel.
        heartbeat_type: `REGISTER` or `UNREGISTER`.
        local_proxy_id: host, remoting port and gRPC port of the proxy, between `%`.
    """

    channel_data: str = ""
    client_id: str
    consume_from_where: str | None = None
    consume_type: str | None = None
    group: str
    heartbeat_type: str
    language: str | None = None
    last_update_timestamp: int = 0
    local_proxy_id: str = ""
    message_model: str | None = None
    subscription_data_set: tuple[SubscriptionData, ...] = ()
    version: int = 0


class ProducerConnection(Body):
    """Connections of a producer group."""

    connection_set: tuple[Connection, ...] = ()


class ProducerClient(Body):
    """One client of a producer group; `remote_ip` has a leading slash."""

    client_id: str
    language: str | None = None
    last_update_timestamp: int = 0
    remote_ip: str = field("remoteIP", default="")
    version: int = 0


class ProducerTable(Body):
    """All producer groups."""

    data: Mapping[str, tuple[ProducerClient, ...]] = EMPTY


class ProcessQueueInfo(Body):
    """State of one queue inside a consumer."""

    cached_msg_count: int = 0
    cached_msg_max_offset: int = 0
    cached_msg_min_offset: int = 0
    cached_msg_size_in_mib: int = field("cachedMsgSizeInMiB", default=0)
    commit_offset: int = 0
    dropped: bool = field("droped", default=False)
    last_consume_timestamp: int = 0
    last_lock_timestamp: int = 0
    last_pull_timestamp: int = 0
    locked: bool = False
    transaction_msg_count: int = 0
    transaction_msg_max_offset: int = 0
    transaction_msg_min_offset: int = 0
    try_unlock_times: int = 0


class PopProcessQueueInfo(Body):
    """State of one queue that a consumer pops; number -1 stands for all queues of a broker."""

    dropped: bool = field("droped", default=False)
    last_pop_timestamp: int = 0
    wait_ack_count: int = 0


class ConsumeStatus(Body):
    """Rates of one topic inside a consumer: times in milliseconds, messages per second."""

    consume_failed_msgs: int = 0
    consume_failed_tps: float = field("consumeFailedTPS", default=0.0)
    consume_ok_tps: float = field("consumeOKTPS", default=0.0)
    consume_rt: float = field("consumeRT", default=0.0)
    pull_rt: float = field("pullRT", default=0.0)
    pull_tps: float = field("pullTPS", default=0.0)


class ConsumerRunningInfo(Body):
    """What a consumer is doing; `jstack` are its threads as free text."""

    jstack: str | None = None
    mq_pop_table: Mapping[MessageQueue, PopProcessQueueInfo] | None = field(default=None, since="5.0.0")
    mq_table: Mapping[MessageQueue, ProcessQueueInfo] = EMPTY
    properties: Mapping[str, str] = EMPTY
    status_table: Mapping[str, ConsumeStatus] = EMPTY
    subscription_set: tuple[SubscriptionData, ...] = ()
    user_consumer_info: Mapping[str, str] | None = field(default=None, since="5.0.0")


class ConsumeMessageDirectlyResult(Body):
    """How one message fared in one client."""

    auto_commit: bool = True
    consume_result: str | None = None
    order: bool = False
    remark: str | None = None
    spent_time_mills: int = 0
