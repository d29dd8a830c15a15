"""Requests that change a broker's topics, groups, offsets and settings, or what its clients do (`MQClientAPIImpl`)."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.client.remoting.question import Question, body_of, nothing
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol import requests_admin as admin
from mqctl.protocol import requests_client as client
from mqctl.protocol.bodies_client import ConsumeMessageDirectlyResult, LockedQueues, LockRequest
from mqctl.protocol.bodies_cluster import QueueOffsets
from mqctl.protocol.body import write_group_config
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.properties import format_settings


def put_topic(config: TopicConfig, *, default_topic: str = "TBW102") -> Question[None]:
    """Create or change a topic on one broker."""
    attributes = ",".join(f"+{name}={value}" for name, value in config.attributes.items())
    request = admin.CreateTopic(
        topic=config.name,
        default_topic=default_topic,
        read_queue_nums=config.read_queue_count,
        write_queue_nums=config.write_queue_count,
        perm=config.perm,
        topic_filter_type=config.filter_type,
        topic_sys_flag=config.sys_flag,
        order=config.order,
        attributes=attributes or None,
    )
    return Question(request, nothing)


def delete_topic(topic: str) -> Question[None]:
    """Delete a topic on one broker; its route and its offsets stay."""
    return Question(admin.DeleteTopic(topic=topic), nothing)


def put_group(config: SubscriptionGroupConfig, *, is_v5: bool = False) -> Question[None]:
    """Replace the settings of a consumer group on one broker; `is_v5` writes what only 5.x knows."""
    body = dump_bytes(write_group_config(config, is_v5))
    return Question(admin.UpdateAndCreateSubscriptionGroup(), nothing, body=body)


def delete_group(group: str, *, with_offsets: bool) -> Question[None]:
    """Delete a consumer group on one broker."""
    request = admin.DeleteSubscriptionGroup(group_name=group, remove_offset=with_offsets, clean_offset=with_offsets)
    return Question(request, nothing)


def put_broker_settings(settings: Mapping[str, str]) -> Question[None]:
    """Change properties of a broker; it rewrites its whole configuration file."""
    return Question(admin.UpdateBrokerConfig(), nothing, body=format_settings(settings))


def commit_offset(group: str, topic: str, queue_id: int, offset: int) -> Question[None]:
    """Set the committed offset of a queue, forward or backward."""
    request = client.UpdateConsumerOffset(consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=offset)
    return Question(request, nothing)


def reset_offsets(topic: str, group: str, time_ms: int, *, force: bool) -> Question[QueueOffsets]:
    """Reset an online group by store time (-1: to the end) through its clients; refused with 206 when none is online.

    Args:
        force: move forward as well, not only back.
    """
    request = admin.InvokeBrokerToResetOffset(topic=topic, group=group, timestamp=time_ms, is_force=force)
    return Question(request, body_of(QueueOffsets))


def reset_offset_here(group: str, topic: str, queue_id: int, offset: int) -> Question[QueueOffsets]:
    """Have a 5.x broker with `useServerSideResetOffset` set one queue's offset and tell its consumer's next pull."""
    request = admin.InvokeBrokerToResetOffset(
        topic=topic, group=group, timestamp=-1, is_force=True, queue_id=queue_id, offset=offset
    )
    return Question(request, body_of(QueueOffsets))


def clone_offsets(source: str, target: str, topic: str, *, offline: bool) -> Question[None]:
    """Copy the offsets of one group on a topic to another; always answered with success."""
    request = admin.CloneGroupOffset(src_group=source, dest_group=target, topic=topic, offline=offline)
    return Question(request, nothing)


def consume_directly(group: str, client_id: str, offset_id: str) -> Question[ConsumeMessageDirectlyResult]:
    """Have one client consume one message now; ask the broker that stores it."""
    request = client.ConsumeMessageDirectly(consumer_group=group, client_id=client_id, msg_id=offset_id)
    return Question(request, body_of(ConsumeMessageDirectlyResult))


def send_back(
    group: str,
    *,
    physical_offset: int,
    delay_level: int = 0,
    topic: str | None = None,
    message_id: str | None = None,
    max_reconsume_times: int | None = None,
) -> Question[None]:
    """Have a stored message delivered to a group again.

    Args:
        delay_level: 0 lets the broker decide, below 0 means the dead-letter topic at once.
    """
    request = client.ConsumerSendMsgBack(
        offset=physical_offset,
        group=group,
        delay_level=delay_level,
        origin_msg_id=message_id,
        origin_topic=topic,
        max_reconsume_times=max_reconsume_times,
    )
    return Question(request, nothing)


def lock_queues(group: str, client_id: str, queues: tuple[MessageQueue, ...]) -> Question[frozenset[MessageQueue]]:
    """Lock queues for one client; the value holds the ones granted."""
    body = LockRequest(client_id=client_id, consumer_group=group, mq_set=queues).to_bytes()
    return Question(
        client.LockBatchMq(), lambda answer: frozenset(LockedQueues.from_bytes(answer.body).lock_ok_mq_set), body=body
    )


def unlock_queues(group: str, client_id: str, queues: tuple[MessageQueue, ...]) -> Question[None]:
    """Release locks of one client."""
    body = LockRequest(client_id=client_id, consumer_group=group, mq_set=queues).to_bytes()
    return Question(client.UnlockBatchMq(), nothing, body=body)


def clean_expired_queues() -> Question[None]:
    """Have the broker delete stale consume queue files now."""
    return Question(admin.CleanExpiredConsumeQueue(), nothing)


def clean_unused_topics() -> Question[None]:
    """Have the broker delete the queues of topics it does not know now."""
    return Question(admin.CleanUnusedTopic(), nothing)


def delete_expired_commit_log() -> Question[None]:
    """Have the broker run its file cleaner now (4.9.4 and later)."""
    return Question(admin.DeleteExpiredCommitLog(), nothing)


def recall_message(topic: str, recall_handle: str) -> Question[str]:
    """Have a timer message not delivered; returns its unique id."""
    request = client.RecallMessage(topic=topic, recall_handle=recall_handle, producer_group="MQCTL_PRODUCER")
    return Question(request, lambda answer: client.RecallMessageReply.from_ext(answer.ext_fields).msg_id)


def check_half_message_again(message_id: str, topic: str | None = None) -> Question[None]:
    """Put a discarded half message back to the half topic."""
    return Question(admin.ResumeCheckHalfMessage(msg_id=message_id, topic=topic), nothing)
