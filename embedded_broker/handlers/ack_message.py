"""200051, 200151: acknowledge popped messages; 200053: changes when they come again.

Success says that the request was read: an acknowledgement that comes twice or too late is answered 0 and has no effect.
"""

from __future__ import annotations

import logging
from collections.abc import Generator

from embedded_broker.broker import Broker
from embedded_broker.handlers.durable import answer_when_durable
from embedded_broker.handlers.pop_checks import existing_topic, illegal_queue, pop_of, with_empty
from embedded_broker.pop.polls import ALL_QUEUES
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import MqctlError
from mqctl.protocol.bodies_pop import AckRecord, BatchAck, BatchAcks, PopCheckPoint
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.header import NoFields
from mqctl.protocol.receipts import ORDER_REVIVE_QUEUE, Receipt, real_topic
from mqctl.protocol.requests_pop import (
    AckMessage,
    BatchAckMessage,
    ChangeInvisibleTime,
    ChangeInvisibleTimeReply,
    PopRollback,
)

log = logging.getLogger("embedded_broker")

_SAME_MOMENT_MS = 1_000


@handles(AckMessage, words=with_empty(NoFields()))
def ack_message(broker: Broker, request: AckMessage, call: Call) -> None:
    group, topic, queue_id, offset = request.consumer_group, request.topic, request.queue_id, request.offset
    _check_queue(broker, topic, queue_id, call)
    low, high = broker.storage.min_offset(topic, queue_id), broker.storage.max_offset(topic, queue_id)
    if not low <= offset <= high:
        remark = f"offset is illegal, key:{topic}@{queue_id}, commit:{offset}, store:{low}~{high}"
        raise Refusal(ResponseCode.NO_MESSAGE, remark)
    receipt = Receipt.parse(request.extra_info)
    if receipt.ordered:
        _ack_in_order(broker, (topic, group, queue_id), offset, receipt.pop_ms, call)
    else:
        _note(broker, _ack_record(request, receipt), receipt.due_ms, receipt.revive_queue)
    answer_when_durable(broker, call, call.answer())


def _check_queue(broker: Broker, name: str, queue_id: int, call: Call) -> None:
    topic = existing_topic(broker, name)
    if not 0 <= queue_id < topic.read_queue_count:
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, illegal_queue(topic, queue_id, call))


def _ack_record(request: AckMessage | ChangeInvisibleTime, receipt: Receipt) -> AckRecord:
    return AckRecord(
        ack_offset=request.offset,
        broker_name=receipt.broker_name,
        consumer_group=request.consumer_group,
        pop_ms=receipt.pop_ms,
        queue_id=request.queue_id,
        start_offset=receipt.start_offset,
        topic=request.topic,
    )


def _note(broker: Broker, ack: AckRecord, due_ms: int, revive_queue: int) -> None:
    """Has an acknowledgement count; one that cannot be stored is lost without a word, and its message comes again."""
    pop = pop_of(broker)
    if not 0 <= revive_queue < pop.records.queue_count or pop.buffer.ack(ack):
        return
    try:
        pop.records.store_ack(ack, due_ms, revive_queue)
    except (MqctlError, Refusal) as error:
        log.error("an acknowledgement of group %s on %s is lost: %s", ack.consumer_group, ack.topic, error)


def _ack_in_order(broker: Broker, queue: tuple[str, str, int], offset: int, pop_ms: int, call: Call) -> None:
    """Acknowledges a message of an ordered queue and moves its consumer offset. Raises Refusal."""
    topic, group, queue_id = queue
    pop, committed = pop_of(broker), broker.offsets.query(group, topic, queue_id)
    if offset < committed:
        return
    try:
        following = pop.orders.ack(queue, offset, pop_ms)
    except ValueError:
        place = f"key:{topic}@{group}@{queue_id}, old:{committed}, commit:{offset}, next:-1"
        remark = f"offset is illegal, {place}, /{call.connection.peer}"
        raise Refusal(ResponseCode.MESSAGE_ILLEGAL, remark) from None
    if following is None:
        return
    if not broker.offsets.was_reset(group, topic, queue_id):
        broker.offsets.commit(group, topic, queue_id, following)
    if not pop.orders.is_blocked(queue, None):
        for number in (ALL_QUEUES, queue_id):
            pop.polls.wake((topic, group, number))


@handles(
    BatchAckMessage,
    support="partial: with access control each acknowledgement wants its group and topic; a real broker looks at none",
)
def batch_ack_message(broker: Broker, _request: BatchAckMessage, call: Call) -> RemotingCommand | None:
    batch = BatchAcks.from_bytes(call.command.body) if call.command.body else BatchAcks()
    if not batch.acks:
        return call.answer(ResponseCode.NO_MESSAGE)
    broker.slices.answer(call, _ack_batches(broker, batch, call))
    return None


def _ack_batches(broker: Broker, batch: BatchAcks, call: Call) -> Generator[None, None, None]:
    for ack in batch.acks:
        _ack_batch(broker, ack, batch.broker_name or broker.name, call)
        yield
    answer_when_durable(broker, call, call.answer())


def _ack_batch(broker: Broker, ack: BatchAck, broker_name: str, call: Call) -> None:
    topic = real_topic(ack.topic, ack.consumer_group, ack.retry)
    queue = broker.storage.queues.table.get((topic, ack.queue_id))
    low, high = (0, 0) if queue is None else (queue.min_offset, queue.max_offset)
    offsets = tuple(ack.offsets(low, high))
    if ack.revive_queue == ORDER_REVIVE_QUEUE:
        for offset in offsets:
            _ack_in_order(broker, (topic, ack.consumer_group, ack.queue_id), offset, ack.pop_ms, call)
    elif offsets and queue is not None:
        record = AckRecord(
            ack_offsets=offsets,
            broker_name=broker_name,
            consumer_group=ack.consumer_group,
            pop_ms=ack.pop_ms,
            queue_id=ack.queue_id,
            start_offset=ack.start_offset,
            topic=topic,
        )
        _note(broker, record, ack.pop_ms + ack.invisible_ms, ack.revive_queue)


@handles(ChangeInvisibleTime, words=with_empty(ChangeInvisibleTimeReply()))
def change_invisible_time(broker: Broker, request: ChangeInvisibleTime, call: Call) -> None:
    topic, queue_id, offset = request.topic, request.queue_id, request.offset
    _check_queue(broker, topic, queue_id, call)
    if not broker.storage.min_offset(topic, queue_id) <= offset < broker.storage.max_offset(topic, queue_id):
        raise Refusal(ResponseCode.NO_MESSAGE, NO_REMARK_SET)
    receipt = Receipt.parse(request.extra_info)
    reply = (_changed_in_order if receipt.ordered else _changed)(broker, request, receipt)
    answer_when_durable(broker, call, call.answer(remark=NO_REMARK_SET, reply=reply))


def _changed(broker: Broker, request: ChangeInvisibleTime, receipt: Receipt) -> ChangeInvisibleTimeReply:
    """Stores a checkpoint of the one message, then acknowledges it under its old handle.

    The pop times of the two differ, or the acknowledgement would count for both: a changed message was lost that was
    popped within the same millisecond.

    Raises:
        MqctlError, Refusal: the checkpoint is not stored; the old handle stands.
    """
    pop, now_ms = pop_of(broker), broker.clock.now_ms()
    if not 0 <= receipt.revive_queue < pop.records.queue_count:
        raise Refusal(ResponseCode.SYSTEM_ERROR, f"there is no revive queue {receipt.revive_queue}")
    if now_ms <= receipt.pop_ms < now_ms + _SAME_MOMENT_MS:
        now_ms = receipt.pop_ms + 1
    checkpoint = PopCheckPoint(
        broker_name=receipt.broker_name,
        consumer_group=request.consumer_group,
        offset_differences=(0,),
        invisible_ms=request.invisible_time,
        count=1,
        pop_ms=now_ms,
        queue_id=request.queue_id,
        revive_ms=now_ms + request.invisible_time,
        start_offset=request.offset,
        topic=request.topic,
    )
    pop.records.store_checkpoint(checkpoint, receipt.revive_queue)
    _note(broker, _ack_record(request, receipt), receipt.due_ms, receipt.revive_queue)
    return ChangeInvisibleTimeReply(
        pop_time=now_ms, invisible_time=request.invisible_time, revive_qid=receipt.revive_queue
    )


def _changed_in_order(broker: Broker, request: ChangeInvisibleTime, receipt: Receipt) -> ChangeInvisibleTimeReply:
    """Sets the moment of one message of the batch; its handle stays."""
    group, topic, queue_id = request.consumer_group, request.topic, request.queue_id
    if request.offset < broker.offsets.query(group, topic, queue_id):
        return ChangeInvisibleTimeReply()
    visible_ms = broker.clock.now_ms() + request.invisible_time
    pop_of(broker).orders.postpone((topic, group, queue_id), request.offset, receipt.pop_ms, visible_ms)
    return ChangeInvisibleTimeReply(
        pop_time=receipt.pop_ms, invisible_time=visible_ms - receipt.pop_ms, revive_qid=receipt.revive_queue
    )


@handles(PopRollback)
def pop_rollback(_broker: Broker, _request: PopRollback, call: Call) -> RemotingCommand:
    """There is no key-value store to take back into files."""
    return call.answer(remark=NO_REMARK_SET)
