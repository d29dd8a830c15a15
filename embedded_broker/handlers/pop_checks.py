"""What the requests of POP consumption are checked for, and which messages they want."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Protocol

from embedded_broker.consumers.sql_filters import TAG, matches
from embedded_broker.consumers.subscriptions import wanted_by
from embedded_broker.handlers.send_checks import missing_topic_remark
from embedded_broker.pop.taking import queue_count
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.remoting.slices import at_once
from embedded_broker.tables.attributes import check_served
from mqctl.filter.sql_tokens import SqlSyntaxError
from mqctl.filter.tags import TagExpressionError
from mqctl.model.names import pop_retry_topic
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.receipts import ReceiptError

if TYPE_CHECKING:
    from collections.abc import Callable

    from embedded_broker.broker import Broker
    from embedded_broker.log.store import Dispatched
    from embedded_broker.pop.service import Pop
    from embedded_broker.pop.taking import PopOptions
    from embedded_broker.remoting.handler_table import Call, Words
    from embedded_broker.remoting.slices import Steps
    from mqctl.errors import MqctlError
    from mqctl.model.config import TopicConfig
    from mqctl.protocol.frame import RemotingCommand
    from mqctl.protocol.header import ExtHeader
    from mqctl.protocol.requests_pop import PopMessage

log = logging.getLogger("embedded_broker")

_TOO_LATE_MS = 500
_MOST = 32
FEW_QUEUES = 256
_AGAIN_MS = 1_000


def with_empty(reply: ExtHeader) -> Words:
    """Returns what a refusal says: a receipt handle that is none in a real broker's words, and `reply` in any case."""

    def words(_broker: Broker, error: Refusal | MqctlError) -> Refusal:
        if isinstance(error, Refusal):
            return Refusal(error.code, error.remark, reply.to_ext())
        remark = error.remark if isinstance(error, ReceiptError) else str(error)
        return Refusal(ResponseCode.SYSTEM_ERROR, remark, reply.to_ext())

    return words


class _Asks(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def consumer_group(self) -> str: ...
    @property
    def queue_id(self) -> int: ...


def pop_of(broker: Broker) -> Pop:
    """Returns what the broker keeps of POP consumption; a release without it does not know the requests."""
    assert broker.pop is not None
    return broker.pop


def in_slices(broker: Broker, call: Call, options: PopOptions, steps: Steps) -> RemotingCommand | None:
    """Returns what a look at a topic's queues ends with; where they are many, it is answered in slices.

    Raises:
        Refusal: too much long work waits already.
    """
    if queue_count(pop_of(broker).ground, options) <= FEW_QUEUES:
        return at_once(steps)
    broker.slices.answer(call, steps)
    return None


def looks_again_ms(broker: Broker, written_to: int, until_ms: int) -> int:
    """Returns when a look that found nothing is to be had again, at the latest.

    Args:
        written_to: where the log ended when the look began: what came since may be in a queue it had passed.
        until_ms: when the request has waited long enough.
    """
    if broker.storage.log.position == written_to:
        return until_ms
    return min(until_ms, broker.clock.now_ms() + _AGAIN_MS)


def check_readable(broker: Broker, what: str) -> None:
    """Refuses while the broker's permission forbids reading. Raises Refusal."""
    if not broker.readable:
        raise Refusal(
            ResponseCode.NO_PERMISSION, f"the broker[{broker.settings.broker_ip1}] {what} message is forbidden"
        )


def check_place(broker: Broker, request: _Asks, call: Call, what: str) -> None:
    """Looks at topic, queue and group of a request that wants messages. Raises Refusal."""
    topic = existing_topic(broker, request.topic)
    if not topic.readable:
        raise Refusal(ResponseCode.NO_PERMISSION, f"the topic[{topic.name}] {what} message is forbidden")
    check_served(topic)
    if request.queue_id >= topic.read_queue_count:
        raise Refusal(ResponseCode.INVALID_PARAMETER, illegal_queue(topic, request.queue_id, call))
    group = broker.groups.find_or_create(request.consumer_group)
    if group is None:
        raise Refusal(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"subscription group [{request.consumer_group}] does not exist, {broker.further_reading}",
        )
    if not group.consume_enable:
        raise Refusal(ResponseCode.NO_PERMISSION, f"subscription group no permission, {group.name}")


def existing_topic(broker: Broker, name: str) -> TopicConfig:
    """Returns a topic. Raises Refusal."""
    topic = broker.topics.find(name)
    if topic is None:
        raise Refusal(ResponseCode.TOPIC_NOT_EXIST, missing_topic_remark(broker, name))
    return topic


def illegal_queue(topic: TopicConfig, queue_id: int, call: Call) -> str:
    """Returns the remark about a queue that a topic does not have."""
    return (
        f"queueId[{queue_id}] is illegal, topic:[{topic.name}] "
        f"topicConfig.readQueueNums:[{topic.read_queue_count}] consumer:[/{call.connection.peer}]"
    )


def check_pop(broker: Broker, request: PopMessage, call: Call, born_ms: int) -> None:
    """Looks at a pop before anything of it is done. Raises Refusal."""
    ip = broker.settings.broker_ip1
    if broker.clock.now_ms() - born_ms - request.poll_time > _TOO_LATE_MS:
        raise Refusal(ResponseCode.POLLING_TIMEOUT, f"the broker[{ip}] pop message is timeout too much")
    check_readable(broker, "pop")
    if request.max_msg_nums > _MOST:
        raise Refusal(ResponseCode.INVALID_PARAMETER, f"the broker[{ip}] pop message's num is greater than {_MOST}")
    if not broker.settings.timer_wheel_enable:
        remark = f"the broker[{ip}] pop message is forbidden because timerWheelEnable is false"
        raise Refusal(ResponseCode.SYSTEM_ERROR, remark)
    check_place(broker, request, call, "peeking")
    if broker.timers is None:  # a slave cannot write the checkpoint without which a popped message may get lost
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"the broker[{ip}] is a slave and keeps no checkpoints of pops")


def filters_of(
    broker: Broker, request: PopMessage
) -> tuple[Callable[[int], bool] | None, Callable[[memoryview], bool] | None]:
    """Returns the tests of tags code and record that a pop's expression means. Raises Refusal."""
    subscribed, group = pop_of(broker).subscribed, request.consumer_group
    for topic in (request.topic, pop_retry_topic(group, request.topic, v2=broker.settings.enable_retry_topic_v2)):
        subscribed.add((topic, group))
    kind = (request.exp_type or TAG).upper()
    try:
        if kind != TAG and request.exp:
            return None, partial(matches, broker.filters.compile(request.exp))
        return wanted_by(request.exp), None
    except (SqlSyntaxError, TagExpressionError) as error:
        log.info("group %s pops %s: %s", request.consumer_group, request.topic, error)
        refusal = Refusal(ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed")
        raise refusal from error


def entry_test(broker: Broker, options: PopOptions) -> Callable[[Dispatched], bool] | None:
    """Returns the test by which a new message wakes a pop; None for every message."""
    wants, wants_record = options.wants, options.wants_record
    if wants is None and wants_record is None:
        return None

    def wanted(entry: Dispatched) -> bool:
        if wants is not None and not wants(entry.tags_code):
            return False
        if wants_record is None:
            return True
        record = broker.storage.message_at(entry.physical_offset)
        return record is not None and wants_record(memoryview(record))

    return wanted
