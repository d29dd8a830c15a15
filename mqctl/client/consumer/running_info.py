"""A consumer's running information, in the shape of Java's (`DefaultMQPushConsumerImpl.consumerRunningInfo`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from mqctl.client.consumer.consume_rates import ConsumeRates
from mqctl.client.consumer.consumer_settings import ConsumeMode, ConsumerSettings
from mqctl.client.consumer.offset_store import OffsetStore
from mqctl.client.consumer.process_queue import ProcessQueue
from mqctl.client.consumer.start_offset import HALF_AN_HOUR_MS
from mqctl.client.consumer.thread_dump import thread_dump
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumerRunningInfo, SubscriptionData
from mqctl.protocol.codes import version_text


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningInfoParts:
    """What does not change while a consumer runs."""

    group: str
    mode: ConsumeMode
    strategy: str
    settings: ConsumerSettings
    name_servers: tuple[str, ...]
    version: int
    started_ms: int
    consume_type: str = "CONSUME_PASSIVELY"


def running_info(
    parts: RunningInfoParts,
    *,
    subscriptions: tuple[SubscriptionData, ...],
    process_queues: Mapping[MessageQueue, ProcessQueue],
    offsets: OffsetStore,
    rates: ConsumeRates,
    with_stacks: bool,
) -> ConsumerRunningInfo:
    """Returns the running information."""
    return ConsumerRunningInfo(
        properties=_properties(parts),
        subscription_set=tuple(sorted(subscriptions, key=lambda item: item.topic)),
        mq_table={
            queue: process_queue.info(offsets.in_memory(queue) or 0)
            for queue, process_queue in sorted(process_queues.items())
        },
        status_table={item.topic: rates.status(item.topic) for item in subscriptions},
        jstack=thread_dump() if with_stacks else None,
    )


def _properties(parts: RunningInfoParts) -> dict[str, str]:
    settings = parts.settings
    consume_ms = settings.consume_time_ms
    consume_ms = parts.started_ms - HALF_AN_HOUR_MS if consume_ms is None else consume_ms
    ordered = parts.mode is not ConsumeMode.CONCURRENT
    values: dict[str, object] = {
        "PROP_NAMESERVER_ADDR": "".join(f"{address};" for address in parts.name_servers),
        "PROP_CONSUME_TYPE": parts.consume_type,
        "PROP_CLIENT_VERSION": "V" + version_text(parts.version).replace(".", "_"),
        "PROP_THREADPOOL_CORE_SIZE": settings.threads,
        "PROP_CONSUMEORDERLY": ordered,
        "PROP_CONSUMER_START_TIMESTAMP": parts.started_ms,
        "consumerGroup": parts.group,
        "messageModel": settings.message_model,
        "consumeFromWhere": settings.consume_from,
        "consumeTimestamp": datetime.fromtimestamp(consume_ms / 1000).astimezone().strftime("%Y%m%d%H%M%S"),
        "allocateMessageQueueStrategy": parts.strategy,
        "consumeMode": parts.mode,
        "consumeThreadMin": settings.threads,
        "consumeThreadMax": settings.threads,
        "consumeMessageBatchMaxSize": settings.batch_size,
        "consumeConcurrentlyMaxSpan": settings.max_span,
        "consumeTimeout": settings.consume_timeout_ms // 60_000,
        "pullBatchSize": settings.pull_batch_size,
        "pullInterval": settings.pull_interval_ms,
        "pullThresholdForQueue": settings.pull_threshold_for_queue,
        "pullThresholdSizeForQueue": settings.pull_threshold_mib_for_queue,
        "pullThresholdForTopic": settings.pull_threshold_for_topic,
        "pullThresholdSizeForTopic": settings.pull_threshold_mib_for_topic,
        "maxReconsumeTimes": settings.max_reconsume_times,
        "suspendCurrentQueueTimeMillis": settings.suspend_queue_ms,
        "postSubscriptionWhenPull": settings.post_subscription_when_pull,
        "unitMode": settings.unit_mode,
        "awaitTerminationMillisWhenShutdown": settings.await_termination_ms,
    }
    return {name: _text(value) for name, value in values.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
