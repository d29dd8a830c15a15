"""ReceiveMessage: a pop of the broker, with limits, filters and dead letters of a proxy (`ReceiveMessageActivity`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from math import floor
from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.given import given
from embedded_broker.proxy.ground import checked_group, checked_topic
from embedded_broker.proxy.handles import Delivered, PopHandle, acknowledge_popped, bury
from embedded_broker.proxy.settings import MOST_TAKEN
from embedded_broker.proxy.statuses import Refused, broker_refusal, ok
from embedded_broker.proxy.times import set_ms, span_ms
from mqctl.filter.tags import ALL, TagExpressionError, parse_tags
from mqctl.model.spans import HOUR_MS
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.receipts import NORMAL, Receipt, read_order_counts, read_start_offsets
from mqctl.protocol.requests_pop import PopMessage, PopMessageReply

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.channels import Channel
    from embedded_broker.proxy.clients import GrpcClient
    from embedded_broker.proxy.parts import Parts
    from mqctl.model.message import Message
    from mqctl.protocol.frame import RemotingCommand

log = logging.getLogger("embedded_broker")

_SHORTEST_POLL_MS, _LONGEST_POLL_MS = 5_000, 20_000
_SHORTEST_INVISIBLE_MS, _LONGEST_INVISIBLE_MS = 10_000, 12 * HOUR_MS
_NEWEST, _ALL_QUEUES = 1, -1
_POP_CK = "POP_CK"
_SPARE_SECONDS = 5.0
_NO_SETTINGS = (
    'Cannot invoke "apache.rocketmq.v2.Settings.getSubscription()" because "<local5>" is null. NullPointerException. '
    "org.apache.rocketmq.proxy.grpc.v2.consumer.ReceiveMessageActivity.receiveMessage(ReceiveMessageActivity.java:63)"
)


async def receive_message(
    parts: Parts, request: pb.ReceiveMessageRequest, caller: Caller, note_size: Callable[[int], None]
) -> AsyncIterator[pb.ReceiveMessageResponse]:
    """Yields a status, the messages, and the moment of delivery. Raises Refused before anything else.

    Args:
        note_size: is given how many bytes of messages are to be yielded.
    """
    channel = parts.channel_of(caller)
    try:
        messages = await _received(parts, request, caller, channel)
    except asyncio.CancelledError:
        channel.close()  # nobody is there any more to take messages: none must be taken
        raise
    note_size(sum(message.ByteSize() for message in messages))
    yield pb.ReceiveMessageResponse(status=ok())
    for message in messages:
        yield pb.ReceiveMessageResponse(message=message)


def delivered_at(parts: Parts) -> pb.ReceiveMessageResponse:
    """Returns what ends every answer."""
    end = pb.ReceiveMessageResponse()
    set_ms(end.delivery_timestamp, parts.ground.clock.now_ms())
    return end


async def _received(
    parts: Parts, request: pb.ReceiveMessageRequest, caller: Caller, channel: Channel
) -> list[pb.Message]:
    client = await parts.clients.awaited(caller)
    if client is None:
        raise Refused(pb.Code.INTERNAL_SERVER_ERROR, _NO_SETTINGS)
    poll_ms = _poll_ms(request, client, caller)
    topic, group = checked_topic(request.message_queue.topic), checked_group(request.group)
    wanted_tags = _tags(request.filter_expression)
    renewed_ms = parts.ground.settings.default_invisible_time_mills
    invisible_ms = renewed_ms if request.auto_renew else _invisible_ms(request)
    parts.ground.route(topic)
    broker = parts.ground.master(request.message_queue.broker.name)
    pop = PopMessage(
        consumer_group=group,
        topic=topic,
        queue_id=_ALL_QUEUES,
        max_msg_nums=min(max(request.batch_size, 1), MOST_TAKEN),
        invisible_time=invisible_ms,
        poll_time=poll_ms,
        init_mode=_NEWEST,
        exp_type="SQL92" if request.filter_expression.type == pb.FilterType.SQL else "TAG",
        exp=request.filter_expression.expression or ALL,
        order=client.is_ordered,
        attempt_id=request.attempt_id if request.HasField("attempt_id") else None,
    )
    seconds = poll_ms / 1_000 + _SPARE_SECONDS
    answer = await parts.ground.ask(channel, broker, pop, seconds=seconds)
    if answer.code in (ResponseCode.POLLING_TIMEOUT, ResponseCode.PULL_NOT_FOUND):
        raise Refused(pb.Code.MESSAGE_NOT_FOUND, "no new message")
    if answer.code == ResponseCode.POLLING_FULL:
        raise Refused(pb.Code.TOO_MANY_REQUESTS, "polling full")
    if answer.code != ResponseCode.SUCCESS:
        raise broker_refusal(answer)
    messages = await _Sorted(parts, request, client, channel).kept(answer, wanted_tags)
    if not messages:
        raise Refused(pb.Code.MESSAGE_NOT_FOUND, "no match message")
    return messages


class _Sorted:
    """The messages of one pop, sorted: those for the client, those it does not want, and dead ones."""

    def __init__(self, parts: Parts, request: pb.ReceiveMessageRequest, client: GrpcClient, channel: Channel) -> None:
        self._parts, self._request, self._client, self._channel = parts, request, client, channel

    async def kept(self, answer: RemotingCommand, tags: frozenset[str] | None) -> list[pb.Message]:
        """Returns what the client gets; the others are acknowledged, or go to the dead letters."""
        reply = PopMessageReply.from_ext(answer.ext_fields)
        starts, counts = read_start_offsets(reply.start_offset_info), read_order_counts(reply.order_count_info)
        most = self._client.settings.backoff_policy.max_attempts
        messages = []
        for message in decode_messages(answer.body):
            handle = PopHandle(_receipt(message, reply, starts, self._request), message.physical_offset)
            delivered = Delivered(self._request.message_queue.topic.name, self._request.group.name, handle)
            times = counts.get((message.queue_id, message.queue_offset), message.reconsume_times)
            if tags is not None and message.tags not in tags:
                await self._quietly(acknowledge_popped(self._parts.ground, self._channel, delivered))
            elif times >= most:
                await self._quietly(bury(self._parts.ground, self._channel, delivered, message.unique_key or ""))
            else:
                messages.append(given(message, attempt=times + 1, handle=str(handle)))
                if self._request.auto_renew:
                    self._parts.kept.keep(self._client.client_id, delivered)
        return messages

    @staticmethod
    async def _quietly(work: Awaitable[object]) -> None:
        """Does what no client waits for; what cannot be done now is when the message comes again."""
        try:
            await work
        except Refused as refused:
            log.warning("a message that is not delivered will come again: %s", refused.text)


def _receipt(
    message: Message, reply: PopMessageReply, starts: dict[tuple[str, int], int], request: pb.ReceiveMessageRequest
) -> Receipt:
    text = message.properties.get(_POP_CK)
    if text is not None:
        return Receipt.parse(text)
    return Receipt(
        start_offset=starts.get((NORMAL, message.queue_id), message.queue_offset),
        pop_ms=reply.pop_time,
        invisible_ms=reply.invisible_time,
        revive_queue=reply.revive_qid,
        retry=NORMAL,
        broker_name=request.message_queue.broker.name,
        queue_id=message.queue_id,
        offset=message.queue_offset,
    )


def _poll_ms(request: pb.ReceiveMessageRequest, client: GrpcClient, caller: Caller) -> int:
    """Returns how long a receive waits. Raises Refused: its deadline is too near."""
    left_ms = None if caller.seconds is None else floor(caller.seconds * 1_000)
    if request.HasField("long_polling_timeout"):
        wanted = span_ms(request.long_polling_timeout)
    elif left_ms is not None:
        wanted = left_ms - span_ms(client.settings.request_timeout) // 2
    else:
        wanted = _LONGEST_POLL_MS
    wanted = min(max(wanted, _SHORTEST_POLL_MS), _LONGEST_POLL_MS)
    if left_ms is None or wanted <= left_ms:
        return wanted
    if left_ms >= _SHORTEST_POLL_MS:
        return left_ms
    words = "The deadline time remaining is not enough for polling, please check network condition"
    raise Refused(caller.too_short_to_poll, words)


def _invisible_ms(request: pb.ReceiveMessageRequest) -> int:
    """Returns how long messages stay invisible. Raises Refused."""
    wanted = span_ms(request.invisible_duration)
    if wanted < _SHORTEST_INVISIBLE_MS:
        words = f"the invisibleTime is too small. min is {_SHORTEST_INVISIBLE_MS}"
        raise Refused(pb.Code.ILLEGAL_INVISIBLE_TIME, words)
    if wanted > _LONGEST_INVISIBLE_MS:
        words = f"the invisibleTime is too large. max is {_LONGEST_INVISIBLE_MS}"
        raise Refused(pb.Code.ILLEGAL_INVISIBLE_TIME, words)
    return wanted


def _tags(expression: pb.FilterExpression) -> frozenset[str] | None:
    """Returns the tags that a client wants; None for all, and for SQL92, which the broker evaluates."""
    if expression.type == pb.FilterType.SQL:
        return None
    try:
        wanted = parse_tags(expression.expression)
    except TagExpressionError as error:
        raise Refused(pb.Code.ILLEGAL_FILTER_EXPRESSION, str(error)) from error
    return None if wanted.expression == ALL else frozenset(wanted.tags)
