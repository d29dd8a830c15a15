"""Requests that only 5.x knows (recorded from 5.3.3), without those of POP consumption: `requests_pop`."""

from __future__ import annotations

from mqctl.protocol.codes import RequestCode as Code
from mqctl.protocol.header import ExtHeader, Int32, Int64, Request

# Topics and groups


class CreateTopicList(Request, code=Code.UPDATE_AND_CREATE_TOPIC_LIST, body="json", since="5.3.0"):
    """Create or change many topics."""


class CreateSubscriptionGroupList(
    Request, code=Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body="json", since="5.3.1"
):
    """Create or change many groups."""


class QueryTopicsByConsumer(Request, code=Code.QUERY_TOPICS_BY_CONSUMER, reply_body="TopicList", since="5.0.0"):
    """List the topics of a group."""

    group: str


class QuerySubscriptionByConsumer(Request, code=Code.QUERY_SUBSCRIPTION_BY_CONSUMER, reply_body="json", since="5.0.0"):
    """Ask for a group's subscription of a topic."""

    group: str
    topic: str


class GetTopicConfig(Request, code=Code.GET_TOPIC_CONFIG, reply_body="TopicConfig", since="5.0.0"):
    """Ask for the settings of one topic."""

    topic: str
    lo: bool | None = None


class GetSubscriptionGroupConfig(
    Request, code=Code.GET_SUBSCRIPTIONGROUP_CONFIG, reply_body="SubscriptionGroupConfig", since="5.0.0"
):
    """Ask for the settings of one group."""

    group: str


class UpdateGroupForbidden(Request, code=Code.UPDATE_AND_GET_GROUP_FORBIDDEN, reply_body="json", since="5.0.0"):
    """Ban or allow a group on a topic."""

    group: str
    topic: str
    readable: bool | None = None


class CreateStaticTopic(Request, code=Code.UPDATE_AND_CREATE_STATIC_TOPIC, body="json", since="5.0.0"):
    """Create or change a topic with logical queues."""

    topic: str
    default_topic: str
    read_queue_nums: Int32
    write_queue_nums: Int32
    perm: Int32
    topic_filter_type: str
    topic_sys_flag: Int32 | None = None
    order: bool = False
    force: bool | None = None


# Store


class GetTimerCheckPoint(Request, code=Code.GET_TIMER_CHECK_POINT, reply_body="raw", since="5.0.0"):
    """Ask for the timer store's checkpoint."""


class GetTimerMetrics(Request, code=Code.GET_TIMER_METRICS, reply_body="json", since="5.0.0"):
    """Ask how many timer messages each topic has."""


class CheckRocksdbCqWriteProgress(Request, code=Code.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, reply_body="json", since="5.3.1"):
    """Compare consume queues in files with those in RocksDB."""

    topic: str
    check_store_time: Int64 | None = None


class ExportRocksdbConfigToJson(Request, code=Code.EXPORT_ROCKSDB_CONFIG_TO_JSON, since="5.3.2"):
    """Write configuration kept in RocksDB to JSON files."""

    config_type: str


class GetBrokerHaStatus(Request, code=Code.GET_BROKER_HA_STATUS, reply_body="HaRuntimeInfo", since="5.0.0"):
    """Ask for the state of replication."""


class ExchangeBrokerHaInfoReply(ExtHeader):
    """Where a master is; nothing after its own addresses were told."""

    master_ha_address: str | None = None
    master_flush_offset: Int64 | None = None
    master_address: str | None = None


class ExchangeBrokerHaInfo(Request, code=Code.EXCHANGE_BROKER_HA_INFO, reply=ExchangeBrokerHaInfoReply, since="5.0.0"):
    """Ask a master for its addresses with nothing; with them, a master tells a slave its own."""

    master_ha_address: str | None = None
    master_flush_offset: Int64 | None = None
    master_address: str | None = None


class GetBrokerEpochCache(Request, code=Code.GET_BROKER_EPOCH_CACHE, reply_body="EpochEntryCache", since="5.0.0"):
    """Ask for the epochs of a broker."""

    broker_name: str | None = None


class GetMetadataInfoReply(ExtHeader):
    """Who leads the controllers."""

    group: str | None = None
    controller_leader_id: str | None = None
    controller_leader_address: str | None = None
    is_leader: bool | None = None
    peers: str | None = None


class GetMetadataInfo(Request, code=Code.CONTROLLER_GET_METADATA_INFO, reply=GetMetadataInfoReply, since="5.0.0"):
    """Ask a controller who leads."""


class GetSyncStateData(
    Request,
    code=Code.CONTROLLER_GET_SYNC_STATE_DATA,
    body="json",
    reply_body="BrokerReplicasInfo",
    since="5.0.0",
):
    """Ask the leading controller who is in sync, for the broker names in the body."""


class UpdateColdDataFlowCtrConfig(
    Request, code=Code.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, body="properties", since="5.1.2"
):
    """Limit reads of cold data by group."""


class RemoveColdDataFlowCtrConfig(Request, code=Code.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, body="raw", since="5.1.2"):
    """Take back the limit of a group; its name is the body."""


class GetColdDataFlowCtrInfo(Request, code=Code.GET_COLD_DATA_FLOW_CTR_INFO, reply_body="json", since="5.1.2"):
    """Ask for the limits of cold reads."""


# Users and ACL


class CreateUser(Request, code=Code.AUTH_CREATE_USER, body="UserInfo", since="5.3.0"):
    """Create a user; the password travels as plain text."""

    username: str


class UpdateUser(Request, code=Code.AUTH_UPDATE_USER, body="UserInfo", since="5.3.0"):
    """Change a user; the password travels as plain text."""

    username: str


class DeleteUser(Request, code=Code.AUTH_DELETE_USER, since="5.3.0"):
    """Delete a user."""

    username: str


class GetUser(Request, code=Code.AUTH_GET_USER, reply_body="UserInfo", since="5.3.0"):
    """Ask for a user; the password comes back as plain text."""

    username: str


class ListUsers(Request, code=Code.AUTH_LIST_USER, reply_body="json", since="5.3.0"):
    """List users."""

    filter: str | None = None


class CreateAcl(Request, code=Code.AUTH_CREATE_ACL, body="AclInfo", since="5.3.0"):
    """Create the ACL of a subject."""

    subject: str


class UpdateAcl(Request, code=Code.AUTH_UPDATE_ACL, body="AclInfo", since="5.3.0"):
    """Change the ACL of a subject."""

    subject: str


class DeleteAcl(Request, code=Code.AUTH_DELETE_ACL, since="5.3.0"):
    """Delete the ACL of a subject, or one policy of it."""

    subject: str
    policy_type: str | None = None
    resource: str | None = None


class GetAcl(Request, code=Code.AUTH_GET_ACL, reply_body="AclInfo", since="5.3.0"):
    """Ask for the ACL of a subject."""

    subject: str


class ListAcls(Request, code=Code.AUTH_LIST_ACL, reply_body="json", since="5.3.0"):
    """List ACLs."""

    subject_filter: str | None = None
    resource_filter: str | None = None
