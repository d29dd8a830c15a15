"""What a request wants of which resource, for the users and ACLs of 5.x.

Source: `DefaultAuthorizationContextBuilder` of 5.3.3 and the annotations of its request headers. Requests that are
not named here want nothing: any user may send them, as may be seen of 200, 25 and 26.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX
from mqctl.protocol.bodies_client import HeartbeatData, LockRequest
from mqctl.protocol.bodies_pop import BatchAcks
from mqctl.protocol.codes import RequestCode as Code
from mqctl.protocol.frame import RemotingCommand

Actions = tuple[str, ...]
_TOPIC = ("Topic", "topic")
_GROUP = ("Group", "consumerGroup")
_PLAIN_GROUP = ("Group", "group")

_NAMED: dict[int, tuple[Actions, tuple[tuple[str, str], ...]]] = {
    Code.RECALL_MESSAGE: (("Pub",), (_TOPIC,)),
    Code.END_TRANSACTION: (("Pub",), (_TOPIC,)),
    Code.CONSUMER_SEND_MSG_BACK: (("Sub",), (_PLAIN_GROUP,)),
    Code.QUERY_MESSAGE: (("Sub", "Get"), (_TOPIC,)),
    Code.VIEW_MESSAGE_BY_ID: (("Get",), (_TOPIC,)),
    Code.UNREGISTER_CLIENT: (("Sub",), (_GROUP,)),
    Code.GET_CONSUMER_LIST_BY_GROUP: (("Sub", "Get"), (_GROUP,)),
    Code.POP_MESSAGE: (("Sub",), (_GROUP, _TOPIC)),
    Code.ACK_MESSAGE: (("Sub",), (_GROUP, _TOPIC)),
    Code.PEEK_MESSAGE: (("Sub",), (_GROUP, _TOPIC)),
    Code.CHANGE_MESSAGE_INVISIBLETIME: (("Sub",), (_GROUP, _TOPIC)),
    Code.NOTIFICATION: (("Sub",), (_GROUP, _TOPIC)),
    Code.CONSUME_MESSAGE_DIRECTLY: (("Sub",), (_GROUP, _TOPIC)),
    Code.UPDATE_AND_CREATE_TOPIC: (("Create",), (_TOPIC,)),
    Code.DELETE_TOPIC_IN_BROKER: (("Delete",), (_TOPIC,)),
    Code.DELETE_SUBSCRIPTIONGROUP: (("Delete",), (("Group", "groupName"),)),
    Code.SEARCH_OFFSET_BY_TIMESTAMP: (("Get",), (_TOPIC,)),
    Code.GET_MAX_OFFSET: (("Get",), (_TOPIC,)),
    Code.GET_MIN_OFFSET: (("Get",), (_TOPIC,)),
    Code.GET_EARLIEST_MSG_STORETIME: (("Get",), (_TOPIC,)),
    Code.GET_TOPIC_STATS_INFO: (("Get",), (_TOPIC,)),
    Code.GET_CONSUME_STATS: (("Get",), (_GROUP, _TOPIC)),
    Code.GET_CONSUMER_CONNECTION_LIST: (("Get",), (_GROUP,)),
    Code.GET_CONSUMER_RUNNING_INFO: (("Get",), (_GROUP,)),
    Code.QUERY_TOPIC_CONSUME_BY_WHO: (("Get",), (_TOPIC,)),
    Code.QUERY_CONSUME_TIME_SPAN: (("Get",), (_TOPIC, _PLAIN_GROUP)),
    Code.QUERY_CONSUME_QUEUE: (("Get",), (_TOPIC, _GROUP)),
    Code.QUERY_TOPICS_BY_CONSUMER: (("Get",), (_PLAIN_GROUP,)),
    Code.QUERY_SUBSCRIPTION_BY_CONSUMER: (("Get",), (_PLAIN_GROUP, _TOPIC)),
    Code.GET_TOPIC_CONFIG: (("Get",), (_TOPIC,)),
    Code.GET_SUBSCRIPTIONGROUP_CONFIG: (("Get",), (_PLAIN_GROUP,)),
    Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: (("Get",), (_TOPIC, _PLAIN_GROUP)),
    Code.INVOKE_BROKER_TO_RESET_OFFSET: (("Update",), (_TOPIC, _PLAIN_GROUP)),
    Code.RESUME_CHECK_HALF_MESSAGE: (("Update",), (_TOPIC,)),
}
_OF_THE_CLUSTER: dict[int, Actions] = {
    **dict.fromkeys(
        (
            Code.GET_PRODUCER_CONNECTION_LIST,
            Code.AUTH_GET_USER,
            Code.AUTH_LIST_USER,
            Code.AUTH_GET_ACL,
            Code.AUTH_LIST_ACL,
        ),
        ("Get",),
    ),
    **dict.fromkeys(
        (
            Code.AUTH_CREATE_USER,
            Code.AUTH_UPDATE_USER,
            Code.AUTH_DELETE_USER,
            Code.AUTH_CREATE_ACL,
            Code.AUTH_UPDATE_ACL,
            Code.AUTH_DELETE_ACL,
        ),
        ("Update",),
    ),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Any of some actions on one resource, `Topic:name` and the like."""

    resource: str
    actions: Actions


def wanted_of(command: RemotingCommand, cluster: str) -> Iterable[Wanted]:
    """Returns what a request wants, in the order in which a broker checks it. Raises BodyError."""
    ext = command.ext_fields or {}
    code = command.code
    if code in _OF_THE_CLUSTER:
        return (Wanted(f"Cluster:{cluster}", _OF_THE_CLUSTER[code]),)
    if code in _NAMED:
        actions, places = _NAMED[code]
        named = ((kind, ext.get(field)) for kind, field in places)
        return [_named(kind, name, actions) for kind, name in named if name]
    if code == Code.SEND_MESSAGE:
        return _sent(ext.get("topic"), ext.get("group") or ext.get("producerGroup"))
    if code in (Code.SEND_MESSAGE_V2, Code.SEND_BATCH_MESSAGE):
        return _sent(ext.get("b"), ext.get("a"))
    return _of_consumers(command, ext)


_OF_A_QUEUE: dict[int, Actions] = {
    Code.PULL_MESSAGE: ("Sub",),
    Code.LITE_PULL_MESSAGE: ("Sub",),
    Code.QUERY_CONSUMER_OFFSET: ("Sub", "Get"),
    Code.UPDATE_CONSUMER_OFFSET: ("Sub", "Update"),
}


def _of_consumers(command: RemotingCommand, ext: Mapping[str, str]) -> Iterable[Wanted]:
    topic, code = ext.get("topic") or "", command.code
    if code in _OF_A_QUEUE:
        return _consumed(ext.get("consumerGroup") or "", (topic,), _OF_A_QUEUE[code], topics_first=True)
    if code == Code.HEART_BEAT:
        return list(_subscribed(HeartbeatData.from_bytes(command.body)))
    if code in (Code.LOCK_BATCH_MQ, Code.UNLOCK_BATCH_MQ):
        locks = LockRequest.from_bytes(command.body)
        return _consumed(locks.consumer_group, [queue.topic for queue in locks.mq_set], ("Sub",))
    if code == Code.BATCH_ACK_MESSAGE:
        return list(_acknowledged(BatchAcks.from_bytes(command.body) if command.body else BatchAcks()))
    if code == Code.GET_ROUTEINFO_BY_TOPIC:
        is_retry = topic.startswith(RETRY_PREFIX)
        return (_named("Topic", topic, ("Sub", "Get") if is_retry else ("Pub", "Sub", "Get")),)
    return ()


def _sent(topic: str | None, group: str | None) -> Iterable[Wanted]:
    if topic is not None and topic.startswith(RETRY_PREFIX):
        return (_named("Group", group or topic, ("Sub",)),)
    return (Wanted(f"Topic:{topic or ''}", ("Pub",)),)


def _acknowledged(batch: BatchAcks) -> Iterator[Wanted]:
    """As for each acknowledgement alone. A real 5.3.3 broker wants nothing of these: their names are in the body."""
    for group, topic in dict.fromkeys((ack.consumer_group, ack.topic) for ack in batch.acks):
        yield from (_named("Group", group, ("Sub",)), _named("Topic", topic, ("Sub",)))


def _subscribed(heartbeat: HeartbeatData) -> Iterator[Wanted]:
    for consumer in heartbeat.consumer_data_set:
        yield from _consumed(consumer.group_name, [item.topic for item in consumer.subscription_data_set], ("Sub",))


def _consumed(group: str, topics: Iterable[str], actions: Actions, *, topics_first: bool = False) -> list[Wanted]:
    """Returns what consumption wants: retry topics count as their group, which is asked for anyway."""
    listed = [Wanted(f"Topic:{topic}", actions) for topic in topics if not topic.startswith(RETRY_PREFIX)]
    listed.insert(len(listed) if topics_first else 0, _named("Group", group, actions))
    return listed


def _named(kind: str, name: str, actions: Actions) -> Wanted:
    """Names a resource; a retry topic is a group, of which only the prefix is cut, so that `g_t` stays of `g`."""
    if kind == "Topic" and name.startswith(RETRY_PREFIX):
        kind = "Group"
    if kind == "Group":
        name = name.removeprefix(RETRY_PREFIX).removeprefix(DLQ_PREFIX)
    return Wanted(f"{kind}:{name}", actions)
