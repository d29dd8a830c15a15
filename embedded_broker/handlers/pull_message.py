"""11, 361: messages of one queue, perhaps after waiting for them (`PullMessageProcessor`).

361 is that of the lite consumers of 5.x; 4.9 stores an event for a pull beyond a queue's ends, 5.x does not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from embedded_broker.broker import Broker
from embedded_broker.consumers.pull_holds import Held
from embedded_broker.consumers.sql_filters import TAG, WantsRecord, is_retry, matches
from embedded_broker.consumers.subscriptions import subscription_of, wanted_codes
from embedded_broker.handlers.send_checks import missing_group_remark, missing_topic_remark
from embedded_broker.log.offset_moved import note_offset_moved
from embedded_broker.log.store import Dispatched, Read, ReadStatus
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.tables.attributes import check_served
from mqctl.errors import MqctlError
from mqctl.filter.sql_tokens import SqlSyntaxError
from mqctl.filter.tags import TagExpressionError
from mqctl.model.config import PERM_READ, SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.bodies_client import SubscriptionData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import LitePullMessage, PullMessage, PullMessageReply
from mqctl.store.ext_queue import ExtUnit

log = logging.getLogger("embedded_broker")

_COMMIT, _SUSPEND, _SUBSCRIPTION, _CLASS_FILTER = 1, 2, 4, 8
_BROKER, _GROUP, _TOPIC, _BROADCAST, _SUBSCRIBED = 1, 2, 3, 4, 5
_NO_EXPRESSION = "parse the consumer's subscription failed"
_BROADCASTING = "BROADCASTING"
_FOUND_BYTES = 256 * 1024
_CODES = {
    ReadStatus.FOUND: ResponseCode.SUCCESS,
    ReadStatus.NO_MATCHED_MESSAGE: ResponseCode.PULL_RETRY_IMMEDIATELY,
    ReadStatus.MESSAGE_WAS_REMOVING: ResponseCode.PULL_RETRY_IMMEDIATELY,
    ReadStatus.OFFSET_FOUND_NULL: ResponseCode.PULL_NOT_FOUND,
    ReadStatus.OFFSET_OVERFLOW_ONE: ResponseCode.PULL_NOT_FOUND,
    ReadStatus.OFFSET_OVERFLOW_BADLY: ResponseCode.PULL_OFFSET_MOVED,
    ReadStatus.OFFSET_TOO_SMALL: ResponseCode.PULL_OFFSET_MOVED,
    ReadStatus.OFFSET_RESET: ResponseCode.PULL_OFFSET_MOVED,
}


_BESIDE = frozenset(
    {
        ReadStatus.NO_MESSAGE_IN_QUEUE,
        ReadStatus.OFFSET_OVERFLOW_ONE,
        ReadStatus.OFFSET_OVERFLOW_BADLY,
        ReadStatus.OFFSET_TOO_SMALL,
    }
)


@dataclass(frozen=True, slots=True)
class _Pull:
    request: PullMessage
    call: Call
    topic: TopicConfig
    group: SubscriptionGroupConfig
    wants: Callable[[int], bool] | None
    wants_record: WantsRecord | None
    wants_unit: Callable[[ExtUnit], bool] | None = None


class _Forbidden(Refusal):
    """Pulls are closed; `kind` says by whom (`ForbiddenType` of 5.x)."""

    def __init__(self, kind: int, remark: str) -> None:
        super().__init__(ResponseCode.NO_PERMISSION, remark)
        self.kind = kind


def _words(broker: Broker, error: Refusal | MqctlError) -> Refusal | None:
    """5.x says what is closed in a field too."""
    if broker.release.is_v5 and isinstance(error, _Forbidden):
        return Refusal(error.code, error.remark, {"forbiddenType": str(error.kind)})
    return None


@handles(
    PullMessage,
    LitePullMessage,
    support="partial: class filters are refused; what 5.x proxies say of themselves is ignored",
    words=_words,
)
def pull_message(broker: Broker, request: PullMessage, call: Call) -> RemotingCommand | None:
    pull = _checked(broker, request, call)
    read = _read_or_reset(broker, pull)
    code = _code(broker, read, request)
    if request.sys_flag & _COMMIT and (broker.release.is_v5 or not broker.settings.is_slave):
        where = (request.consumer_group, request.topic, request.queue_id)
        if broker.offsets.has_room(*where):
            broker.offsets.commit(*where, request.commit_offset)
    if code == ResponseCode.PULL_NOT_FOUND and request.sys_flag & _SUSPEND and not broker.pull_holds.full:
        _hold(broker, pull)
        return None
    return _answer(broker, pull, read, code)


def _checked(broker: Broker, request: PullMessage, call: Call) -> _Pull:
    if not broker.readable:
        ip = broker.settings.broker_ip1
        raise _Forbidden(_BROKER, f"the broker[{ip}] pulling message is forbidden")
    group = broker.groups.find_or_create(request.consumer_group)
    if group is None:
        remark = missing_group_remark(broker, request.consumer_group)
        raise Refusal(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, remark)
    if not group.consume_enable:
        raise _Forbidden(_GROUP, f"subscription group no permission, {group.name}")
    topic = broker.topics.find(request.topic)
    if topic is None:
        raise Refusal(ResponseCode.TOPIC_NOT_EXIST, missing_topic_remark(broker, request.topic))
    if not topic.readable:
        raise _Forbidden(_TOPIC, f"the topic[{topic.name}] pulling message is forbidden")
    check_served(topic)
    if not 0 <= request.queue_id < topic.read_queue_count:
        code = ResponseCode.INVALID_PARAMETER if broker.release.is_v5 else ResponseCode.SYSTEM_ERROR
        raise Refusal(
            code,
            f"queueId[{request.queue_id}] is illegal, topic:[{topic.name}] "
            f"topicConfig.readQueueNums:[{topic.read_queue_count}] consumer:[/{call.connection.peer}]",
        )
    subscription = _subscription(broker, request, group)
    if subscription.class_filter_mode or request.sys_flag & _CLASS_FILTER:
        raise Refusal(ResponseCode.SYSTEM_ERROR, "The broker does not support consumer to filter message by class")
    kind = subscription.expression_type or TAG
    if kind == TAG:
        wants_record = broker.filters.wants_retry(group.name) if is_retry(topic.name) else None
        return _Pull(request, call, topic, group, wanted_codes(subscription), wants_record)
    return _Pull(request, call, topic, group, None, *_sql(broker, request, kind))


def _sql(broker: Broker, request: PullMessage, kind: str) -> tuple[WantsRecord, Callable[[ExtUnit], bool] | None]:
    """Returns the tests of a message by the SQL92 expression of the pull, or of its group: itself, and its bit map.

    An expression that the pull brings along was not known when bit maps were made.
    """
    filters, data = broker.filters, None
    if not request.sys_flag & _SUBSCRIPTION:
        data = filters.get(request.topic, request.consumer_group)
        if data is None:
            raise Refusal(
                ResponseCode.FILTER_DATA_NOT_EXIST,
                "The broker's consumer filter data is not exist!Your expression may be wrong!",
            )
        if data.client_version < request.sub_version:
            raise Refusal(ResponseCode.FILTER_DATA_NOT_LATEST, "the consumer's consumer filter data not latest")
    if not broker.settings.enable_property_filter:
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"The broker does not support consumer to filter message by {kind}")
    if data is not None:
        return data.wants, data.may_want
    try:
        return partial(matches, filters.compile(request.subscription or "")), None
    except SqlSyntaxError as error:
        log.info("group %s pulls %s: %s", request.consumer_group, request.topic, error)
        raise Refusal(ResponseCode.SUBSCRIPTION_PARSE_FAILED, _NO_EXPRESSION) from error


def _subscription(broker: Broker, request: PullMessage, group: SubscriptionGroupConfig) -> SubscriptionData:
    if request.sys_flag & _SUBSCRIPTION:
        if (request.expression_type or TAG) != TAG:
            return SubscriptionData(topic=request.topic, expression_type=str(request.expression_type))
        try:
            return subscription_of(request.topic, request.subscription)
        except TagExpressionError as error:
            log.info("group %s pulls %s: %s", request.consumer_group, request.topic, error)
            raise Refusal(ResponseCode.SUBSCRIPTION_PARSE_FAILED, _NO_EXPRESSION) from error
    online = broker.clients.consumers.get(request.consumer_group)
    if online is None:
        missing = f"the consumer's group info not exist{broker.further_reading}"
        raise Refusal(ResponseCode.SUBSCRIPTION_NOT_EXIST, missing)
    if not group.consume_broadcast_enable and online.message_model == _BROADCASTING:
        raise _Forbidden(_BROADCAST, f"the consumer group[{group.name}] can not consume by broadcast way")
    if group.forbidden.get(request.topic, 0) & PERM_READ:
        remark = f"the consumer group[{group.name}] is forbidden for topic[{request.topic}]"
        raise _Forbidden(_SUBSCRIBED, remark)
    subscription = online.subscriptions.get(request.topic)
    if subscription is None:
        missing = f"the consumer's subscription not exist{broker.further_reading}"
        raise Refusal(ResponseCode.SUBSCRIPTION_NOT_EXIST, missing)
    if subscription.sub_version < request.sub_version:
        raise Refusal(ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest")
    return subscription


def _read_or_reset(broker: Broker, pull: _Pull) -> Read:
    """5.x: the first pull after a server-side reset is sent to the new offset.

    What such a pull commits is stored all the same, over the offset of the reset (`tryCommitOffset` of 5.3.3).
    """
    where = (pull.request.consumer_group, pull.request.topic, pull.request.queue_id)
    reset = broker.offsets.take_reset(*where)
    if reset is not None and broker.settings.use_server_side_reset_offset:
        low, high = broker.storage.min_offset(*where[1:]), broker.storage.max_offset(*where[1:])
        read = Read(ReadStatus.OFFSET_RESET, reset, low, high)
    else:
        read = _read(broker, pull)
    if broker.release.is_v5:
        broker.offsets.note_pull(*where, read.next_offset)
    return read


def _read(broker: Broker, pull: _Pull) -> Read:
    request = pull.request
    return broker.storage.read(
        request.topic,
        request.queue_id,
        request.queue_offset,
        max_count=request.max_msg_nums,
        max_bytes=request.max_msg_bytes or _FOUND_BYTES,
        wants=pull.wants,
        wants_record=pull.wants_record,
        wants_unit=pull.wants_unit,
    )


def _code(broker: Broker, read: Read, request: PullMessage) -> ResponseCode:
    if read.status is ReadStatus.NO_MESSAGE_IN_QUEUE:
        code = ResponseCode.PULL_NOT_FOUND if request.queue_offset == 0 else ResponseCode.PULL_OFFSET_MOVED
    else:
        code = _CODES[read.status]
    return _of_slave(broker, code) if broker.settings.is_slave else code


def _is_left_alone(broker: Broker, read: Read) -> bool:
    """Whether a pull goes on where it was though nothing is there, for a slave may just be behind."""
    return read.status in _BESIDE and broker.settings.is_slave and not broker.settings.offset_check_in_slave


def _of_slave(broker: Broker, code: ResponseCode) -> ResponseCode:
    """A slave may just be behind: it moves nobody's offset; one of 5.x does not hold pulls either."""
    moves_nobody = code == ResponseCode.PULL_OFFSET_MOVED and not broker.settings.offset_check_in_slave
    if moves_nobody or (code == ResponseCode.PULL_NOT_FOUND and broker.release.is_v5):
        return ResponseCode.PULL_RETRY_IMMEDIATELY
    return code


def _hold(broker: Broker, pull: _Pull) -> None:
    request, settings = pull.request, broker.settings

    def again() -> RemotingCommand:  # the group, the topic or its subscription may have changed meanwhile
        now = _checked(broker, request, pull.call)
        read = _read_or_reset(broker, now)
        return _answer(broker, now, read, _code(broker, read, request))

    held = Held(
        (request.topic, request.queue_id),
        request.queue_offset,
        pull.wants,
        pull.call.connection,
        partial(pull.call.resume, again),
        wants_entry=_entry_test(broker, pull.wants_record),
    )
    timeout_ms = request.suspend_timeout_millis if settings.long_polling_enable else settings.short_polling_time_mills
    broker.pull_holds.hold(held, timeout_ms)


def _entry_test(broker: Broker, wants_record: WantsRecord | None) -> Callable[[Dispatched], bool] | None:
    if wants_record is None:
        return None

    def wants(entry: Dispatched) -> bool:
        record = broker.storage.message_at(entry.physical_offset)
        return record is not None and wants_record(memoryview(record))

    return wants


def _answer(broker: Broker, pull: _Pull, read: Read, code: ResponseCode) -> RemotingCommand:
    request = pull.request
    is_v5 = broker.release.is_v5
    suggested = 0
    if broker.settings.slave_read_enable:
        suggested = pull.group.which_broker_when_consume_slowly if read.on_disk else pull.group.broker_id
        suggested = 0 if is_v5 and broker.settings.is_slave else suggested
    reply = PullMessageReply(
        suggest_which_broker_id=suggested,
        next_begin_offset=request.queue_offset if _is_left_alone(broker, read) else read.next_offset,
        min_offset=read.min_offset,
        max_offset=read.max_offset,
        topic_sys_flag=pull.topic.sys_flag if is_v5 else None,
        group_sys_flag=pull.group.group_sys_flag if is_v5 else None,
    )
    if code == ResponseCode.SUCCESS:
        body = b"".join(read.data)
        broker.stats.count_get(request.topic, request.consumer_group, read.count, len(body))
        return pull.call.answer(code, remark=read.status.value, reply=reply, body=body)
    broker.stats.missed += 1
    if code == ResponseCode.PULL_OFFSET_MOVED and not is_v5:
        note_offset_moved(broker.intake, request, read.next_offset)
    return pull.call.answer(code, remark=read.status.value, reply=reply)
