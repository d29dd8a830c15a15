"""Names that RocketMQ reserves, and the rules by which it derives one from another.

Source: `TopicValidator` and `MixAll` of 4.9.8, `TopicValidator` of 5.3.3.
"""

from __future__ import annotations

from collections.abc import Iterable

SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DISCARD_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
PROXY_HEARTBEAT_TOPIC = "DefaultHeartBeatSyncerTopic"
TRANSACTION_GROUP = "CID_RMQ_SYS_TRANS"
OFFSET_MOVED_TOPIC = "OFFSET_MOVED_EVENT"
AUTO_CREATE_TOPIC = "TBW102"
TIMER_TOPIC = "rmq_sys_wheel_timer"
REVIVE_TOPIC_PREFIX = "rmq_sys_REVIVE_LOG_"
MEMBER_TOPIC_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"
REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"

LONGEST_TOPIC = 127
"""Bytes of a topic's name, and what a record of the first layout has room for; derived names may be longer."""
LONGEST_DERIVED_TOPIC = 255

RETRY_PREFIX = "%RETRY%"
DLQ_PREFIX = "%DLQ%"
LMQ_PREFIX = "%LMQ%"
SYSTEM_TOPIC_PREFIX = "rmq_sys_"
SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"
REPLY_TOPIC_SUFFIX = "_REPLY_TOPIC"
BROADCAST_GROUP_SUFFIX = "@broadcast"
"""Under a group's name and this, brokers of 5.x keep how far its members that broadcast have got."""

TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
ROCKSDB_HALF_TOPIC = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"
"""Of 5.4.0 and newer, for half messages that a database keeps (`transRocksDBEnable`)."""

BROKERS_OWN_TOPICS = frozenset({SCHEDULE_TOPIC, TIMER_TOPIC, HALF_TOPIC, OP_TOPIC})
"""Topics from which a broker takes messages to where they belong; none of these may belong there."""

_SYSTEM_TOPICS = frozenset(
    {
        SCHEDULE_TOPIC,
        HALF_TOPIC,
        OP_TOPIC,
        DISCARD_TOPIC,
        OFFSET_MOVED_TOPIC,
        AUTO_CREATE_TOPIC,
        "BenchmarkTest",
        "SELF_TEST_TOPIC",
        TRACE_TOPIC,
        PROXY_HEARTBEAT_TOPIC,
        "CHECKPOINT_TOPIC",
        ROCKSDB_HALF_TOPIC,
        "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    }
)
_SYSTEM_GROUPS = frozenset(
    {
        "DEFAULT_PRODUCER",
        "DEFAULT_CONSUMER",
        "TOOLS_CONSUMER",
        "FILTERSRV_CONSUMER",
        "__MONITOR_CONSUMER",
        "CLIENT_INNER_PRODUCER",
        "SELF_TEST_P_GROUP",
        "SELF_TEST_C_GROUP",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_OWNER",
        "CID_ONSAPI_PULL",
        "CID_DefaultHeartBeatSyncerTopic",
    }
)


def retry_topic(group: str) -> str:
    """Returns the topic that holds the retries of consumer group `group`."""
    return RETRY_PREFIX + group


def dlq_topic(group: str) -> str:
    """Returns the topic that holds the dead letters of consumer group `group`."""
    return DLQ_PREFIX + group


def revive_topic(cluster: str) -> str:
    """Returns the topic in which the brokers of `cluster` note what was popped and acknowledged."""
    return REVIVE_TOPIC_PREFIX + cluster


def pop_retry_topic(group: str, topic: str, *, v2: bool = False) -> str:
    """Returns the topic from which `group` pops what it did not acknowledge of `topic` in time.

    The first form is ambiguous: group `A_B` with topic `C` and group `A` with topic `B_C` share it.
    """
    return f"{RETRY_PREFIX}{group}{'+' if v2 else '_'}{topic}"


def popped_topic(topic: str, group: str) -> str:
    """Returns the topic that `group` popped from: the original one of a pop retry topic, else `topic` itself."""
    for v2 in (True, False):
        prefix = pop_retry_topic(group, "", v2=v2)
        if topic.startswith(prefix):
            return topic[len(prefix) :]
    return topic


def retrying_group(topic: str, groups: Iterable[str]) -> tuple[str, bool] | None:
    """Returns whose retries a topic holds, and whether they are popped; None for a topic that is no retry topic.

    Args:
        groups: those that are known; of a pop retry topic of the first name only they tell the group, the longest name
            that fits.
    """
    if not topic.startswith(RETRY_PREFIX):
        return None
    name, known = topic.removeprefix(RETRY_PREFIX), set(groups)
    if "+" in name:
        return name.partition("+")[0], True
    cuts = [name[:at] for at, letter in enumerate(name) if letter == "_"]
    fitting = [] if name in known else [cut for cut in cuts if cut in known]
    return (fitting[-1], True) if fitting else (name, False)


def group_of(topic: str) -> str | None:
    """Returns the consumer group whose retry or dead-letter topic this is, or None."""
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if topic.startswith(prefix):
            return topic[len(prefix) :]
    return None


def is_retry_topic(topic: str) -> bool:
    """Tells whether clients subscribe `topic` by themselves; a dead-letter topic is subscribed like any other."""
    return topic.startswith(RETRY_PREFIX)


def is_system_topic(topic: str) -> bool:
    """Tells whether RocketMQ keeps `topic` for itself; retry and dead-letter topics belong to users."""
    return topic in _SYSTEM_TOPICS or topic.startswith(SYSTEM_TOPIC_PREFIX) or topic.endswith(REPLY_TOPIC_SUFFIX)


def is_system_group(group: str) -> bool:
    """Tells whether `group` belongs to the broker or to tools rather than to an application."""
    return group in _SYSTEM_GROUPS or group.startswith(SYSTEM_GROUP_PREFIX) or BROADCAST_GROUP_SUFFIX in group
