"""Administration and observation of brokers (`RequestCode`)."""

from __future__ import annotations

from mqctl.protocol.codes import RequestCode as Code
from mqctl.protocol.declared import field
from mqctl.protocol.header import ExtHeader, Int32, Int64, Request

# Topics and groups


class CreateTopic(Request, code=Code.UPDATE_AND_CREATE_TOPIC):
    """Create or change a topic; `default_topic` and `order` are ignored by 4.9.8."""

    topic: str
    default_topic: str
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    topic_filter_type: str
    topic_sys_flag: Int32 | None = None
    order: bool = False
    attributes: str | None = field(default=None, since="5.0.0")
    force: bool | None = field(default=None, since="5.0.0")


class DeleteTopic(Request, code=Code.DELETE_TOPIC_IN_BROKER):
    """Delete a topic on one broker; the name server is not told."""

    topic: str


class GetAllTopicConfig(Request, code=Code.GET_ALL_TOPIC_CONFIG, steady=True, reply_body="TopicConfigTable"):
    """Dump the topic table."""

    topic_seq: Int32 | None = field(default=None, since="5.3.0")
    max_topic_num: Int32 | None = field(default=None, since="5.3.0")
    data_version: str | None = field(default=None, since="5.3.0")


class UpdateAndCreateSubscriptionGroup(
    Request, code=Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body="SubscriptionGroupConfig"
):
    """Replace the settings of a group as a whole."""


class GetAllSubscriptionGroupConfig(
    Request, code=Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, steady=True, reply_body="SubscriptionGroupTable"
):
    """Dump the group table."""


class DeleteSubscriptionGroup(Request, code=Code.DELETE_SUBSCRIPTIONGROUP):
    """Delete a group. The field that also deletes its offsets was renamed in 5.0: send both."""

    group_name: str
    remove_offset: bool | None = field(default=None, since="4.9.0")
    clean_offset: bool | None = field(default=None, since="5.0.0")


class UpdateBrokerConfig(Request, code=Code.UPDATE_BROKER_CONFIG, body="properties"):
    """Change properties of the broker."""


class GetBrokerConfigReply(ExtHeader):
    """The data version of the properties, as JSON text."""

    version: str


class GetBrokerConfig(Request, code=Code.GET_BROKER_CONFIG, reply=GetBrokerConfigReply, reply_body="properties"):
    """Dump the properties of the broker."""


class CleanExpiredConsumeQueue(Request, code=Code.CLEAN_EXPIRED_CONSUMEQUEUE):
    """Delete stale consume queue files."""


class CleanUnusedTopic(Request, code=Code.CLEAN_UNUSED_TOPIC):
    """Delete the queues of unknown topics."""


class DeleteExpiredCommitLog(Request, code=Code.DELETE_EXPIRED_COMMITLOG, since="4.9.4"):
    """Run the file cleaner now."""


class GetSystemTopicListFromBroker(Request, code=Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, reply_body="TopicList"):
    """List the broker's system topics."""


class CreateAccessConfig(Request, code=Code.UPDATE_AND_CREATE_ACL_CONFIG, since="4.5.2"):
    """Put an account of the plain ACL; gone in 5.3."""

    access_key: str
    secret_key: str | None = None
    white_remote_address: str | None = None
    admin: bool = False
    default_topic_perm: str | None = None
    default_group_perm: str | None = None
    topic_perms: str | None = None
    group_perms: str | None = None


class DeleteAccessConfig(Request, code=Code.DELETE_ACL_CONFIG, since="4.5.2"):
    """Drop an account of the plain ACL; gone in 5.3."""

    access_key: str


class GetBrokerAclConfigReply(ExtHeader):
    """Versions of the ACL files."""

    version: str
    all_acl_file_version: str | None = None
    broker_name: str
    broker_addr: str
    cluster_name: str


class GetBrokerAclConfig(Request, code=Code.GET_BROKER_CLUSTER_ACL_INFO, reply=GetBrokerAclConfigReply, since="4.5.2"):
    """Ask for the versions of the ACL files; no answer at all from a broker without ACL."""


class UpdateGlobalWhiteAddrsConfig(Request, code=Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, since="4.5.2"):
    """Replace the ACL's white list; gone in 5.3."""

    global_white_addrs: str
    acl_file_full_path: str | None = None


# Observation


class GetTopicStatsInfo(Request, code=Code.GET_TOPIC_STATS_INFO, steady=True, reply_body="TopicStatsTable"):
    """Ask for minimum, maximum and last time of each queue."""

    topic: str


class GetConsumeStats(Request, code=Code.GET_CONSUME_STATS, steady=True, reply_body="ConsumeStats"):
    """Ask how far a group is, on one topic or all."""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = field(default=None, since="5.3.0")


class GetConsumeStatsInBroker(Request, code=Code.GET_BROKER_CONSUME_STATS, reply_body="BrokerConsumeStats"):
    """Ask how far all groups are."""

    is_order: bool


class GetConsumerConnectionList(
    Request, code=Code.GET_CONSUMER_CONNECTION_LIST, steady=True, reply_body="ConsumerConnection"
):
    """List connections and subscriptions of a group."""

    consumer_group: str


class GetProducerConnectionList(
    Request, code=Code.GET_PRODUCER_CONNECTION_LIST, steady=True, reply_body="ProducerConnection"
):
    """List connections of a producer group."""

    producer_group: str


class GetAllProducerInfo(Request, code=Code.GET_ALL_PRODUCER_INFO, reply_body="ProducerTable", since="4.9.4"):
    """List all producer groups with their clients."""


class QueryTopicConsumeByWho(Request, code=Code.QUERY_TOPIC_CONSUME_BY_WHO, steady=True, reply_body="GroupList"):
    """List the groups of a topic; 5.x also names the topic itself."""

    topic: str


class QueryConsumeTimeSpan(Request, code=Code.QUERY_CONSUME_TIME_SPAN, reply_body="ConsumeTimeSpans"):
    """Ask for the times between which each queue holds and has delivered messages."""

    topic: str
    group: str


class GetBrokerRuntimeInfo(Request, code=Code.GET_BROKER_RUNTIME_INFO, reply_body="KVTable"):
    """Dump the broker's counters and states."""


class ViewBrokerStatsData(Request, code=Code.VIEW_BROKER_STATS_DATA, reply_body="BrokerStatsData"):
    """Ask for one statistics item."""

    stats_name: str
    stats_key: str


class QueryConsumeQueue(Request, code=Code.QUERY_CONSUME_QUEUE, reply_body="ConsumeQueueData", since="4.1"):
    """Read raw consume queue entries."""

    topic: str | None = None
    queue_id: Int32
    index: Int64
    count: Int32
    consumer_group: str | None = None


class GetAllConsumerOffset(Request, code=Code.GET_ALL_CONSUMER_OFFSET, steady=True, reply_body="ConsumerOffsetTable"):
    """Dump the offset table."""


class GetAllDelayOffset(Request, code=Code.GET_ALL_DELAY_OFFSET, reply_body="DelayOffsetTable"):
    """Dump the delivered offsets of the delay levels."""


class QueryMessageReply(ExtHeader):
    """State of the index that was asked."""

    index_last_update_timestamp: Int64
    index_last_update_phyoffset: Int64


class QueryMessage(Request, code=Code.QUERY_MESSAGE, steady=True, reply=QueryMessageReply, reply_body="messages"):
    """Find messages by key, or by unique key when the flag says so; hash collisions come along."""

    topic: str
    key: str
    max_num: Int32
    begin_timestamp: Int64
    end_timestamp: Int64
    unique_key_query: bool | None = field("_UNIQUE_KEY_QUERY", default=None)


class ViewMessage(Request, code=Code.VIEW_MESSAGE_BY_ID, steady=True, reply_body="message"):
    """Read the message at a commit log offset; compare what comes back."""

    offset: Int64
    topic: str | None = field(default=None, since="5.0.0")


class ResumeCheckHalfMessage(Request, code=Code.RESUME_CHECK_HALF_MESSAGE, since="4.5.2"):
    """Have a discarded half message checked again."""

    msg_id: str | None = None
    topic: str | None = field(default=None, since="5.0.0")


# Offsets


class InvokeBrokerToResetOffset(Request, code=Code.INVOKE_BROKER_TO_RESET_OFFSET, reply_body="QueueOffsets"):
    """Reset a group by time (-1: to the end) through its clients."""

    topic: str
    group: str
    timestamp: Int64
    is_force: bool
    queue_id: Int32 | None = field(default=None, since="5.0.0")
    offset: Int64 | None = field(default=None, since="5.0.0")


class InvokeBrokerToGetConsumerStatus(
    Request, code=Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, reply_body="ConsumerStatus"
):
    """Collect the offsets in the memory of a group's clients."""

    topic: str
    group: str
    client_addr: str | None = None


class CloneGroupOffset(Request, code=Code.CLONE_GROUP_OFFSET):
    """Copy offsets between groups; name the topic, a blank one copies nothing."""

    src_group: str
    dest_group: str
    topic: str | None = None
    offline: bool = False


class QueryCorrectionOffset(Request, code=Code.QUERY_CORRECTION_OFFSET, reply_body="CorrectionOffsets"):
    """Smallest offsets over all groups. `filter_groups` DELETES those groups' offsets on a real 4.9.8 broker."""

    filter_groups: str | None = None
    compare_group: str
    topic: str
