"""What consumers say of messages that they have received (`AckMessageActivity` and its kin of 5.3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.ground import checked_group, checked_topic
from embedded_broker.proxy.handles import Delivered, PopHandle, acknowledge_popped, bury, change_time
from embedded_broker.proxy.statuses import Refused, common, ok
from embedded_broker.proxy.times import span_ms
from mqctl.model.spans import HOUR_MS

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.parts import Parts

_MOST_INVISIBLE_MS = 12 * HOUR_MS


async def ack_message(parts: Parts, request: pb.AckMessageRequest, caller: Caller) -> pb.AckMessageResponse:
    """Acknowledges messages one by one. Raises Refused."""
    topic, group = checked_topic(request.topic), checked_group(request.group)
    channel = parts.channel_of(caller)
    response = pb.AckMessageResponse()
    for entry in request.entries:
        result = response.entries.add(message_id=entry.message_id, receipt_handle=entry.receipt_handle)
        try:
            text = parts.kept.take(caller.client_id, entry.receipt_handle)
            handle = PopHandle.parse(text).living(parts.ground.clock.now_ms())
            await acknowledge_popped(parts.ground, channel, Delivered(topic, group, handle))
            result.status.CopyFrom(ok())
        except Refused as refused:
            result.status.CopyFrom(refused.status)
    if response.entries:
        response.status.CopyFrom(common([entry.status for entry in response.entries]))
    else:
        response.status.CopyFrom(ok())
    return response


async def change_invisible(
    parts: Parts, request: pb.ChangeInvisibleDurationRequest, caller: Caller
) -> pb.ChangeInvisibleDurationResponse:
    """Sets when a message comes again. Raises Refused."""
    topic, group = checked_topic(request.topic), checked_group(request.group)
    span = span_ms(request.invisible_duration)
    if span < 0:
        raise Refused(pb.Code.ILLEGAL_INVISIBLE_TIME, "the invisibleTime is too small. min is 0")
    if span > _MOST_INVISIBLE_MS:
        raise Refused(pb.Code.ILLEGAL_INVISIBLE_TIME, f"the invisibleTime is too large. max is {_MOST_INVISIBLE_MS}")
    text = parts.kept.take(caller.client_id, request.receipt_handle)
    handle = PopHandle.parse(text).living(parts.ground.clock.now_ms())
    changed = await change_time(parts.ground, parts.channel_of(caller), Delivered(topic, group, handle), span)
    return pb.ChangeInvisibleDurationResponse(status=ok(), receipt_handle=str(changed))


async def forward_to_dead_letters(
    parts: Parts, request: pb.ForwardMessageToDeadLetterQueueRequest, caller: Caller
) -> pb.ForwardMessageToDeadLetterQueueResponse:
    """Moves a message to the group's dead letters, and acknowledges it; an expired handle will do. Raises Refused."""
    topic, group = checked_topic(request.topic), checked_group(request.group)
    handle = PopHandle.parse(parts.kept.take(caller.client_id, request.receipt_handle))
    delivered = Delivered(topic, group, handle)
    code = await bury(parts.ground, parts.channel_of(caller), delivered, request.message_id)
    return pb.ForwardMessageToDeadLetterQueueResponse(status=pb.Status(code=pb.Code.OK, message=str(code)))
