"""Questions of consumers that pop (5.x): taking messages, answering for them, and whose queues are whose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqctl.client.message.popped import Popped, PoppedMessage, read_popped
from mqctl.client.remoting.question import Question, body_of, header_of, nothing
from mqctl.protocol.bodies_pop import Assignment, AssignmentQuery, Assignments, MessageRequestMode
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.requests_pop import (
    AckMessage,
    ChangeInvisibleTime,
    ChangeInvisibleTimeReply,
    PopMessage,
    QueryAssignment,
    SetMessageRequestMode,
)

if TYPE_CHECKING:
    from mqctl.protocol.frame import RemotingCommand

ALL_QUEUES = -1
"""Queue id that stands for all queues of a broker."""
_SUCCESS = int(ResponseCode.SUCCESS)
POP_RESULTS = frozenset({_SUCCESS, int(ResponseCode.POLLING_TIMEOUT), int(ResponseCode.POLLING_FULL)})
"""Codes with which a pop ends: messages, none, or too many who wait already."""


def pop(request: PopMessage, broker_name: str) -> Question[Popped]:
    """Take messages, which are invisible to others for a while; none is an answer, too."""

    def read(answer: RemotingCommand) -> Popped:
        if answer.code != _SUCCESS:
            return Popped()
        return read_popped(answer, request.consumer_group, request.topic, broker_name)

    return Question(request, read, accepts=POP_RESULTS)


def acknowledge(group: str, message: PoppedMessage) -> Question[None]:
    """Acknowledge a popped message. Brokers say yes to what comes too late as well."""
    request = AckMessage(
        consumer_group=group,
        topic=message.queue.topic,
        queue_id=message.queue.queue_id,
        extra_info=str(message.receipt),
        offset=message.queue_offset,
    )
    return Question(request, nothing)


def change_invisible(group: str, message: PoppedMessage, invisible_ms: int) -> Question[ChangeInvisibleTimeReply]:
    """Make a popped message visible again `invisible_ms` from now; its handle changes."""
    request = ChangeInvisibleTime(
        consumer_group=group,
        topic=message.queue.topic,
        queue_id=message.queue.queue_id,
        extra_info=str(message.receipt),
        offset=message.queue_offset,
        invisible_time=invisible_ms,
    )
    return Question(request, header_of(ChangeInvisibleTimeReply))


def assignment(group: str, topic: str, client_id: str, strategy: str) -> Question[tuple[Assignment, ...] | None]:
    """Which queues a client has, and whether it pops them; None when the broker cannot say."""
    query = AssignmentQuery(client_id=client_id, consumer_group=group, strategy_name=strategy, topic=topic)
    read = body_of(Assignments)
    return Question(QueryAssignment(), lambda answer: read(answer).message_queue_assignments, body=query.to_bytes())


def set_request_mode(group: str, topic: str, mode: str, *, share_count: int = 0) -> Question[None]:
    """Choose whether a group pops or pulls a topic.

    Args:
        share_count: how many more clients' queues a client pops; 0 for all.
    """
    chosen = MessageRequestMode(topic=topic, consumer_group=group, mode=mode, pop_share_queue_num=share_count)
    return Question(SetMessageRequestMode(), nothing, body=chosen.to_bytes())
