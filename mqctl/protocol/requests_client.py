"""Requests of producers and consumers, and the callbacks of brokers to them (`RequestCode`)."""

from __future__ import annotations

from mqctl.protocol.codes import RequestCode as Code
from mqctl.protocol.declared import field
from mqctl.protocol.header import ExtHeader, Int32, Int64, Request


class ClientRequest(Request, steady=True):
    """What producers and consumers of every release send, and what brokers send to them."""


# Producer


class SendMessageReply(ExtHeader):
    """Where a message was stored; of a batch: comma-joined ids and the first queue offset."""

    msg_id: str
    queue_id: Int32
    queue_offset: Int64
    transaction_id: str | None = None
    batch_uniq_id: str | None = field(default=None, since="5.0.0")
    recall_handle: str | None = field(default=None, since="5.3.2")
    region: str | None = field("MSG_REGION", default=None)
    trace_on: bool | None = field("TRACE_ON", default=None)


class SendMessage(ClientRequest, code=Code.SEND_MESSAGE, reply=SendMessageReply, body="payload"):
    """Store one message; long field names."""

    producer_group: str = field(short="a")
    topic: str = field(short="b")
    default_topic: str = field(short="c")
    default_topic_queue_nums: Int32 = field(short="d")
    queue_id: Int32 = field(short="e")
    sys_flag: Int32 = field(short="f")
    born_timestamp: Int64 = field(short="g")
    flag: Int32 = field(short="h")
    properties: str | None = field(short="i", default=None)
    reconsume_times: Int32 | None = field(short="j", default=None)
    unit_mode: bool | None = field(short="k", default=None)
    max_reconsume_times: Int32 | None = field(short="l", default=None)
    batch: bool | None = field(short="m", default=None)
    bname: str | None = field(short="n", default=None, since="4.9.5")


class SendMessageV2(SendMessage, code=Code.SEND_MESSAGE_V2, short=True, fast=True):
    """Store one message; one-letter field names, Java's default."""


class SendBatchMessage(SendMessage, code=Code.SEND_BATCH_MESSAGE, body="batch", since="4.1", short=True, fast=True):
    """Store an encoded batch; the broker goes by the field `batch`, not by this code."""


class SendReplyMessage(SendMessage, code=Code.SEND_REPLY_MESSAGE, since="4.6"):
    """Answer a request message."""


class SendReplyMessageV2(SendMessage, code=Code.SEND_REPLY_MESSAGE_V2, since="4.6", short=True, fast=True):
    """Answer a request message; one-letter field names."""


class EndTransaction(ClientRequest, code=Code.END_TRANSACTION, oneway=True):
    """Commit (8) or roll back (12) a half message; 0 leaves it pending. The remark is the local exception's text."""

    producer_group: str
    tran_state_table_offset: Int64
    commit_log_offset: Int64
    commit_or_rollback: Int32
    from_transaction_check: bool = False
    msg_id: str
    transaction_id: str | None = None
    topic: str | None = field(default=None, since="5.0.0")


class RecallMessageReply(ExtHeader):
    """Id of the timer message that will not be delivered."""

    msg_id: str
    region: str | None = field("MSG_REGION", default=None)


class RecallMessage(Request, code=Code.RECALL_MESSAGE, reply=RecallMessageReply, since="5.3.2"):
    """Cancel a timer message by the handle its send answered."""

    producer_group: str | None = None
    topic: str
    recall_handle: str


# Both


class HeartbeatReply(ExtHeader):
    """What a 5.x broker says about V2 heartbeats."""

    supports_v2: bool | None = field("IS_SUPPORT_HEART_BEAT_V2", default=None, since="5.1.0")
    subscription_changed: bool | None = field("IS_SUB_CHANGE", default=None, since="5.1.0")


class Heartbeat(ClientRequest, code=Code.HEART_BEAT, reply=HeartbeatReply, body="HeartbeatData"):
    """Register a client with its groups and subscriptions."""


class UnregisterClient(ClientRequest, code=Code.UNREGISTER_CLIENT):
    """Leave a producer group, a consumer group, or both."""

    client_id: str = field("clientID")
    producer_group: str | None = None
    consumer_group: str | None = None


# Consumer


class PullMessageReply(ExtHeader):
    """Where to go on; present with every result of a pull."""

    suggest_which_broker_id: Int64
    next_begin_offset: Int64
    min_offset: Int64
    max_offset: Int64
    offset_delta: Int64 | None = field(default=None, since="5.0.0")
    topic_sys_flag: Int32 | None = field(default=None, since="5.0.0")
    group_sys_flag: Int32 | None = field(default=None, since="5.0.0")
    forbidden_type: Int32 | None = field(default=None, since="5.0.0")


class PullMessage(ClientRequest, code=Code.PULL_MESSAGE, reply=PullMessageReply, reply_body="messages", fast=True):
    """Fetch messages of one queue; bits of `sys_flag`: 1 commit, 2 suspend, 4 subscription, 8 class filter, 16 lite."""

    consumer_group: str
    topic: str
    queue_id: Int32
    queue_offset: Int64
    max_msg_nums: Int32
    sys_flag: Int32
    commit_offset: Int64
    suspend_timeout_millis: Int64
    subscription: str | None = None
    sub_version: Int64
    expression_type: str | None = field(default=None, since="4.1")
    max_msg_bytes: Int32 | None = field(default=None, since="5.0.0")
    request_source: Int32 | None = field(default=None, since="5.0.0")
    proxy_forward_client_id: str | None = field("proxyFrowardClientId", default=None, since="5.0.0")


class LitePullMessage(PullMessage, code=Code.LITE_PULL_MESSAGE, since="5.0.0", fast=True):
    """Fetch messages for a lite consumer."""


class OffsetReply(ExtHeader):
    """One queue offset."""

    offset: Int64


class QueryConsumerOffset(ClientRequest, code=Code.QUERY_CONSUMER_OFFSET, reply=OffsetReply):
    """Read the committed offset of a group."""

    consumer_group: str
    topic: str
    queue_id: Int32
    set_zero_if_not_found: bool | None = field(default=None, since="5.0.0")


class UpdateConsumerOffset(ClientRequest, code=Code.UPDATE_CONSUMER_OFFSET, oneway=True):
    """Commit an offset, forward or backward."""

    consumer_group: str
    topic: str
    queue_id: Int32
    commit_offset: Int64


class GetConsumerListByGroup(ClientRequest, code=Code.GET_CONSUMER_LIST_BY_GROUP, reply_body="ConsumerIds"):
    """List the client ids of a group."""

    consumer_group: str


class ConsumerSendMsgBack(ClientRequest, code=Code.CONSUMER_SEND_MSG_BACK):
    """Have a message delivered later, or moved to the dead-letter topic (`delay_level` below 0)."""

    offset: Int64
    group: str
    delay_level: Int32
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool | None = False
    max_reconsume_times: Int32 | None = None


class LockBatchMq(ClientRequest, code=Code.LOCK_BATCH_MQ, body="LockRequest", reply_body="LockedQueues"):
    """Lock queues for orderly consumption."""


class UnlockBatchMq(ClientRequest, code=Code.UNLOCK_BATCH_MQ, body="LockRequest"):
    """Release locks."""


class CheckClientConfig(Request, code=Code.CHECK_CLIENT_CONFIG, body="ClientConfigCheck", since="4.1"):
    """Ask whether a filter expression compiles."""


class SearchOffset(ClientRequest, code=Code.SEARCH_OFFSET_BY_TIMESTAMP, reply=OffsetReply):
    """Find the queue offset for a store time (epoch milliseconds)."""

    topic: str
    queue_id: Int32
    timestamp: Int64
    boundary_type: str | None = field(default=None, since="5.0.0")


class GetMaxOffset(ClientRequest, code=Code.GET_MAX_OFFSET, reply=OffsetReply):
    """Ask for the end of a queue: its last offset plus one."""

    topic: str
    queue_id: Int32
    committed: bool | None = field(default=None, since="5.0.0")


class GetMinOffset(ClientRequest, code=Code.GET_MIN_OFFSET, reply=OffsetReply):
    """Ask for the start of a queue."""

    topic: str
    queue_id: Int32


class StoretimeReply(ExtHeader):
    """A store time in epoch milliseconds, -1 when the queue is empty."""

    timestamp: Int64


class GetEarliestMsgStoretime(ClientRequest, code=Code.GET_EARLIEST_MSG_STORETIME, reply=StoretimeReply):
    """Ask for the store time of a queue's first message."""

    topic: str
    queue_id: Int32


# Callbacks: broker to client


class CheckTransactionState(ClientRequest, code=Code.CHECK_TRANSACTION_STATE, body="message", oneway=True):
    """Ask a producer for the state of a half message."""

    tran_state_table_offset: Int64
    commit_log_offset: Int64
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None
    topic: str | None = field(default=None, since="5.0.0")


class NotifyConsumerIdsChanged(ClientRequest, code=Code.NOTIFY_CONSUMER_IDS_CHANGED, oneway=True):
    """Have a client rebalance."""

    consumer_group: str


class ResetOffset(ClientRequest, code=Code.RESET_CONSUMER_CLIENT_OFFSET, body="QueueOffsets", oneway=True):
    """Have a push consumer take other offsets; clients in C++ get the list form of the body."""

    topic: str
    group: str
    timestamp: Int64
    is_force: bool = False
    queue_id: Int32 | None = field(default=None, since="5.0.0")
    offset: Int64 | None = field(default=None, since="5.0.0")


class GetConsumerStatus(ClientRequest, code=Code.GET_CONSUMER_STATUS_FROM_CLIENT, reply_body="ConsumerStatus"):
    """Ask a client for the offsets in its memory."""

    topic: str
    group: str
    client_addr: str | None = None


class GetConsumerRunningInfo(ClientRequest, code=Code.GET_CONSUMER_RUNNING_INFO, reply_body="ConsumerRunningInfo"):
    """Ask a client, through its broker, what it is doing."""

    consumer_group: str
    client_id: str
    jstack_enable: bool = False


class ConsumeMessageDirectly(
    Request, code=Code.CONSUME_MESSAGE_DIRECTLY, body="message", reply_body="ConsumeMessageDirectlyResult"
):
    """Have one client consume one message now."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = field(default=None, since="5.0.0")
    topic_sys_flag: Int32 | None = field(default=None, since="5.0.0")
    group_sys_flag: Int32 | None = field(default=None, since="5.0.0")


class ReplyMessage(ClientRequest, code=Code.PUSH_REPLY_MESSAGE_TO_CLIENT, body="payload", since="4.6"):
    """Deliver the answer of a request message."""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: Int32
    queue_id: Int32
    sys_flag: Int32
    born_timestamp: Int64
    flag: Int32
    properties: str | None = None
    reconsume_times: Int32 | None = None
    unit_mode: bool | None = False
    born_host: str
    store_host: str
    store_timestamp: Int64
