"""200050: takes messages, perhaps after waiting for them; 200052: looks at them."""

from __future__ import annotations

import logging
from functools import partial

from embedded_broker.broker import Broker
from embedded_broker.handlers.durable import answer_when_durable
from embedded_broker.handlers.pop_checks import (
    check_place,
    check_pop,
    check_readable,
    entry_test,
    filters_of,
    in_slices,
    looks_again_ms,
    pop_of,
    with_empty,
)
from embedded_broker.pop.polls import Polling, PopRequest
from embedded_broker.pop.service import Pop
from embedded_broker.pop.taking import PopOptions, Taken, look, take
from embedded_broker.remoting.handler_table import Call, handles
from embedded_broker.remoting.slices import Steps
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.receipts import ORDER_REVIVE_QUEUE, msg_offset_info, start_offset_info
from mqctl.protocol.requests_pop import PeekMessage, PopMessage, PopMessageReply

log = logging.getLogger("embedded_broker")

_FOUND, _NOTHING = "FOUND", "NO_MESSAGE_IN_QUEUE"


@handles(PopMessage, words=with_empty(PopMessageReply()))
def pop_message(broker: Broker, request: PopMessage, call: Call) -> RemotingCommand | None:
    return _popped(broker, request, call, request.born_time or broker.clock.now_ms())


def _popped(broker: Broker, request: PopMessage, call: Call, born_ms: int) -> RemotingCommand | None:
    """Answers a pop now, or has it wait and returns None. Raises Refusal."""
    check_pop(broker, request, call, born_ms)
    options = _options(broker, request)
    return in_slices(broker, call, options, _taken(broker, request, call, options, born_ms))


def _options(broker: Broker, request: PopMessage) -> PopOptions:
    wants, wants_record = filters_of(broker, request)
    pop = pop_of(broker)
    ordered = bool(request.order)
    return PopOptions(
        group=request.consumer_group,
        topic=request.topic,
        queue_id=request.queue_id,
        most=request.max_msg_nums,
        invisible_ms=request.invisible_time,
        init_mode=request.init_mode,
        ordered=ordered,
        attempt_id=request.attempt_id,
        pop_ms=broker.clock.now_ms(),
        revive_queue=ORDER_REVIVE_QUEUE if ordered else pop.records.next_queue(),
        draw=pop.draw(),
        wants=wants,
        wants_record=wants_record,
    )


def _taken(broker: Broker, request: PopMessage, call: Call, options: PopOptions, born_ms: int) -> Steps:
    """Looks at queue after queue; answers, or has the pop wait and returns None."""
    pop = pop_of(broker)
    options = options._replace(pop_ms=broker.clock.now_ms())  # the slices before it may have taken long
    written_to = broker.storage.log.position
    taken = yield from take(pop, options, log)
    key = (options.topic, options.group, options.queue_id)
    code = ResponseCode.SUCCESS
    if not taken.count:
        code = ResponseCode.POLLING_TIMEOUT
        if request.poll_time > 0:
            again = partial(call.resume, partial(_popped, broker, request, call, born_ms))
            until_ms = looks_again_ms(broker, written_to, born_ms + request.poll_time)
            waiting = PopRequest(key, until_ms, call.connection, again, entry_test(broker, options))
            polling = pop.polls.wait(waiting)
            if polling is Polling.WAITS:
                return None
            if polling is Polling.FULL:
                code = ResponseCode.POLLING_FULL
    elif taken.rest > 0:
        pop.polls.wake(key)
    answer = _answer(call, code, options, taken)
    if not taken.count:
        return answer
    answer_when_durable(broker, call, answer)  # without its checkpoint on disk nothing would come again
    return None


def _answer(call: Call, code: ResponseCode, options: PopOptions, taken: Taken) -> RemotingCommand:
    reply = PopMessageReply(
        pop_time=options.pop_ms,
        invisible_time=options.invisible_ms,
        revive_qid=options.revive_queue,
        rest_num=taken.rest,
        start_offset_info=start_offset_info(taken.starts),
        msg_offset_info=msg_offset_info(taken.offsets),
        order_count_info=";".join(taken.order_counts) if options.ordered else None,
    )
    remark = _FOUND if taken.count else _NOTHING
    return call.answer(code, remark=remark, reply=reply, body=b"".join(taken.data))


@handles(PeekMessage, words=with_empty(PopMessageReply()))
def peek_message(broker: Broker, request: PeekMessage, call: Call) -> RemotingCommand | None:
    check_readable(broker, "peek")
    check_place(broker, request, call, "peeking")
    pop = pop_of(broker)
    options = PopOptions(
        group=request.consumer_group,
        topic=request.topic,
        queue_id=request.queue_id,
        most=request.max_msg_nums,
        draw=pop.draw(),
    )
    return in_slices(broker, call, options, _seen(pop, options, call))


def _seen(pop: Pop, options: PopOptions, call: Call) -> Steps:
    seen = yield from look(pop, options)
    reply = PopMessageReply(rest_num=seen.rest)
    if not seen.count:
        return call.answer(ResponseCode.PULL_NOT_FOUND, remark=_NOTHING, reply=reply)
    return call.answer(remark=_FOUND, reply=reply, body=b"".join(seen.data))
