"""Requests that name servers answer (`RequestCode`)."""

from __future__ import annotations

from mqctl.protocol.codes import RequestCode as Code
from mqctl.protocol.declared import field
from mqctl.protocol.header import ExtHeader, Int32, Int64, Request


class GetRouteInfo(Request, code=Code.GET_ROUTEINFO_BY_TOPIC, steady=True, reply_body="TopicRouteData"):
    """Ask where a topic lives. Standard JSON comes back from version 401 on, or when asked for."""

    topic: str
    accept_standard_json_only: bool | None = field(default=None, since="4.9.4")


class RegisterBrokerReply(ExtHeader):
    """Told to a slave: its master."""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class RegisterBroker(
    Request, code=Code.REGISTER_BROKER, reply=RegisterBrokerReply, body="RegisterBrokerBody", reply_body="KVTable"
):
    """A broker's registration, every 30 s."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Int64
    compressed: bool = False
    body_crc32: Int32 = 0
    heartbeat_timeout_millis: Int64 | None = field(default=None, since="5.0.0")
    enable_acting_master: bool | None = field(default=None, since="5.0.0")


class QueryDataVersionReply(ExtHeader):
    """Whether the broker has to register its topics again."""

    changed: bool


class QueryDataVersion(
    Request,
    code=Code.QUERY_DATA_VERSION,
    reply=QueryDataVersionReply,
    body="DataVersion",
    reply_body="DataVersion",
    since="4.3",
):
    """Ask whether the topic table differs from the name server's."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class UnRegisterBroker(Request, code=Code.UNREGISTER_BROKER):
    """A broker leaves."""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Int64


class PutKVConfig(Request, code=Code.PUT_KV_CONFIG):
    """Set one value of a namespace."""

    namespace: str
    key: str
    value: str


class GetKVConfigReply(ExtHeader):
    """The value."""

    value: str | None = None


class GetKVConfig(Request, code=Code.GET_KV_CONFIG, reply=GetKVConfigReply):
    """Get one value of a namespace."""

    namespace: str
    key: str


class DeleteKVConfig(Request, code=Code.DELETE_KV_CONFIG):
    """Delete one key of a namespace."""

    namespace: str
    key: str


class GetKVListByNamespace(Request, code=Code.GET_KVLIST_BY_NAMESPACE, reply_body="KVTable"):
    """Get all of a namespace; order topics live in `ORDER_TOPIC_CONFIG`."""

    namespace: str


class GetBrokerClusterInfo(Request, code=Code.GET_BROKER_CLUSTER_INFO, steady=True, reply_body="ClusterInfo"):
    """Ask for all clusters and broker addresses; always in the form with bare keys."""


class WipeWritePermReply(ExtHeader):
    """How many topics the broker has."""

    wipe_topic_count: Int32


class WipeWritePermOfBroker(Request, code=Code.WIPE_WRITE_PERM_OF_BROKER, reply=WipeWritePermReply):
    """Clear the write permission of all topics of a broker, until its next changed registration."""

    broker_name: str


class AddWritePermReply(ExtHeader):
    """How many topics the broker has."""

    add_topic_count: Int32


class AddWritePermOfBroker(Request, code=Code.ADD_WRITE_PERM_OF_BROKER, reply=AddWritePermReply, since="4.9.2"):
    """Set permission 6 on all topics of a broker."""

    broker_name: str


class GetAllTopicList(Request, code=Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, steady=True, reply_body="TopicList"):
    """List all topics."""


class GetTopicsByCluster(Request, code=Code.GET_TOPICS_BY_CLUSTER, reply_body="TopicList"):
    """List the topics of a cluster."""

    cluster: str


class GetSystemTopicListFromNs(Request, code=Code.GET_SYSTEM_TOPIC_LIST_FROM_NS, reply_body="TopicList"):
    """List cluster and broker names, with one broker's address."""


class GetUnitTopicList(Request, code=Code.GET_UNIT_TOPIC_LIST, reply_body="TopicList"):
    """List unit topics."""


class GetHasUnitSubTopicList(Request, code=Code.GET_HAS_UNIT_SUB_TOPIC_LIST, reply_body="TopicList"):
    """List topics with a unit subscription."""


class GetHasUnitSubUnUnitTopicList(Request, code=Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, reply_body="TopicList"):
    """List topics with a unit subscription that are no unit topics."""


class DeleteTopicFromNamesrv(Request, code=Code.DELETE_TOPIC_IN_NAMESRV):
    """Drop a topic's route, of one cluster or of all."""

    topic: str
    cluster_name: str | None = None


class RegisterTopic(Request, code=Code.REGISTER_TOPIC_IN_NAMESRV, body="TopicRouteData", since="5.0.0"):
    """Put route entries of a topic."""

    topic: str


class UpdateNamesrvConfig(Request, code=Code.UPDATE_NAMESRV_CONFIG, body="properties"):
    """Change properties of the name server."""


class GetNamesrvConfig(Request, code=Code.GET_NAMESRV_CONFIG, reply_body="properties"):
    """Dump the properties of the name server."""


class GetBrokerMemberGroup(
    Request, code=Code.GET_BROKER_MEMBER_GROUP, reply_body="BrokerMemberGroupBody", since="5.0.0"
):
    """Ask for the members of a broker name."""

    cluster_name: str | None = None
    broker_name: str | None = None


class NotifyMinBrokerIdChange(Request, code=Code.NOTIFY_MIN_BROKER_ID_CHANGE, since="5.0.0"):
    """Told to the brokers of a broker name by a name server: another one has the lowest id; no answer is wanted."""

    min_broker_id: Int64 | None = None
    broker_name: str | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None


class BrokerHeartbeat(Request, code=Code.BROKER_HEARTBEAT, since="5.0.0"):
    """A light heartbeat between registrations."""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Int64 | None = None
    epoch: Int32 | None = None
    max_offset: Int64 | None = None
    confirm_offset: Int64 | None = None
    heartbeat_timeout_mills: Int64 | None = None
    election_priority: Int32 | None = None
