"""Requests of POP consumption and of the mode in which a group consumes (5.x, recorded from 5.3.3).

The codes above 65,535 fit JSON headers only: a binary header gives a code two bytes. Their numbers are Java primitives,
so that one left out counts as 0. Times are milliseconds.
"""

from __future__ import annotations

from mqctl.protocol.codes import RequestCode as Code
from mqctl.protocol.header import ExtHeader, Int32, Int64, Request


class PopMessageReply(ExtHeader):
    """What was popped, and for how long it stays invisible; the texts are those of `mqctl.protocol.receipts`."""

    pop_time: Int64 = 0
    invisible_time: Int64 = 0
    revive_qid: Int32 = 0
    rest_num: Int64 = 0
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class PopMessage(Request, code=Code.POP_MESSAGE, reply=PopMessageReply, reply_body="messages", since="5.0.0"):
    """Take messages and make them invisible for a while; `queue_id` -1 is all queues, `init_mode` 1 the newest."""

    consumer_group: str
    topic: str
    queue_id: Int32 = 0
    max_msg_nums: Int32 = 0
    invisible_time: Int64 = 0
    poll_time: Int64 = 0
    born_time: Int64 = 0
    init_mode: Int32 = 0
    exp_type: str | None = None
    exp: str | None = None
    order: bool | None = None
    attempt_id: str | None = None


class AckMessage(Request, code=Code.ACK_MESSAGE, since="5.0.0"):
    """Acknowledge one popped message; `topic` is the one it lies in, a retry topic perhaps."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str | None = None
    offset: Int64


class BatchAckMessage(Request, code=Code.BATCH_ACK_MESSAGE, body="BatchAcks", since="5.1.3"):
    """Acknowledge many popped messages."""


class ChangeInvisibleTimeReply(ExtHeader):
    """What the new receipt handle is made of."""

    pop_time: Int64 = 0
    invisible_time: Int64 = 0
    revive_qid: Int32 = 0


class ChangeInvisibleTime(
    Request, code=Code.CHANGE_MESSAGE_INVISIBLETIME, reply=ChangeInvisibleTimeReply, since="5.0.0"
):
    """Make a popped message visible `invisible_time` from now."""

    consumer_group: str
    topic: str
    queue_id: Int32
    extra_info: str | None = None
    offset: Int64
    invisible_time: Int64


class PeekMessage(Request, code=Code.PEEK_MESSAGE, reply=PopMessageReply, reply_body="messages", since="5.0.0"):
    """Look at what a pop would give; nothing becomes invisible."""

    topic: str
    queue_id: Int32 = 0
    max_msg_nums: Int32 = 0
    consumer_group: str


class NotificationReply(ExtHeader):
    """Whether a pop would find something."""

    has_msg: bool = False
    polling_full: bool = False


class Notification(Request, code=Code.NOTIFICATION, reply=NotificationReply, since="5.0.0"):
    """Wait until a pop would find something."""

    consumer_group: str
    topic: str
    queue_id: Int32 = 0
    poll_time: Int64 = 0
    born_time: Int64 = 0
    order: bool | None = None
    attempt_id: str | None = None


class PollingInfoReply(ExtHeader):
    """How many pops wait."""

    polling_num: Int32 = 0


class PollingInfo(Request, code=Code.POLLING_INFO, reply=PollingInfoReply, since="5.0.0"):
    """Ask how many pops wait under exactly this queue id."""

    consumer_group: str
    topic: str
    queue_id: Int32 = 0


class PopRollback(Request, code=Code.POP_ROLLBACK, since="5.3.2"):
    """Move the state of the key-value pop store back into files."""


class QueryAssignment(
    Request, code=Code.QUERY_ASSIGNMENT, body="AssignmentQuery", reply_body="Assignments", since="5.0.0"
):
    """Ask the broker which queues a client has."""


class SetMessageRequestMode(Request, code=Code.SET_MESSAGE_REQUEST_MODE, body="MessageRequestMode", since="5.0.0"):
    """Choose pull or pop for a group on a topic."""


class GetAllMessageRequestMode(
    Request, code=Code.GET_ALL_MESSAGE_REQUEST_MODE, reply_body="MessageRequestModes", since="5.0.0"
):
    """Dump the choices of pull or pop."""
