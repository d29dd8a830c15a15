"""200054: hears of messages without taking them; 200055: who waits for some."""

from __future__ import annotations

from functools import partial

from embedded_broker.broker import Broker
from embedded_broker.handlers.pop_checks import (
    check_place,
    check_readable,
    in_slices,
    looks_again_ms,
    pop_of,
    with_empty,
)
from embedded_broker.pop.polls import Polling, PopRequest
from embedded_broker.pop.taking import PopOptions, has_something
from embedded_broker.remoting.handler_table import NO_REMARK_SET, Call, handles
from embedded_broker.remoting.slices import Steps
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_pop import Notification, NotificationReply, PollingInfo, PollingInfoReply


@handles(Notification, words=with_empty(NotificationReply()))
def notification(broker: Broker, request: Notification, call: Call) -> RemotingCommand | None:
    return _told(broker, request, call, request.born_time or broker.clock.now_ms())


def _told(broker: Broker, request: Notification, call: Call, born_ms: int) -> RemotingCommand | None:
    """Answers now, or has the request wait and returns None."""
    check_readable(broker, "peek")
    check_place(broker, request, call, "peeking")
    pop = pop_of(broker)
    options = PopOptions(
        group=request.consumer_group,
        topic=request.topic,
        queue_id=request.queue_id,
        most=1,
        ordered=bool(request.order),
        attempt_id=request.attempt_id,
        draw=pop.draw(),
    )
    return in_slices(broker, call, options, _looked(broker, request, call, options, born_ms))


def _looked(broker: Broker, request: Notification, call: Call, options: PopOptions, born_ms: int) -> Steps:
    pop = pop_of(broker)
    written_to = broker.storage.log.position
    ready, full = (yield from has_something(pop, options)), False
    if not ready and request.poll_time > 0:
        key = (options.topic, options.group, options.queue_id)
        again = partial(call.resume, partial(_told, broker, request, call, born_ms))
        until_ms = looks_again_ms(broker, written_to, born_ms + request.poll_time)
        polling = pop.notifications.wait(PopRequest(key, until_ms, call.connection, again))
        if polling is Polling.WAITS:
            return None
        full = polling is Polling.FULL
    return call.answer(remark=NO_REMARK_SET, reply=NotificationReply(has_msg=ready, polling_full=full))


@handles(PollingInfo, words=with_empty(PollingInfoReply()))
def polling_info(broker: Broker, request: PollingInfo, call: Call) -> RemotingCommand:
    check_readable(broker, "peek")
    check_place(broker, request, call, "peeking")
    waiting = pop_of(broker).polls.count((request.topic, request.consumer_group, request.queue_id))
    return call.answer(remark=NO_REMARK_SET, reply=PollingInfoReply(polling_num=waiting))
