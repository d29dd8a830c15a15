"""Receipt handles of clients, and what is done with a message by its handle.

A handle is the broker's, with the message's physical offset as a ninth part (`ReceiptHandle` of 5.3.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.statuses import PROXY_ERROR, Refused
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.receipts import Receipt, ReceiptError, real_topic
from mqctl.protocol.requests_client import ConsumerSendMsgBack
from mqctl.protocol.requests_pop import AckMessage, ChangeInvisibleTime, ChangeInvisibleTimeReply

if TYPE_CHECKING:
    from embedded_broker.proxy.channels import Channel
    from embedded_broker.proxy.ground import ProxyGround

_PARTS = 8


@dataclass(frozen=True, slots=True)
class PopHandle:
    """A receipt handle as clients have it.

    Attributes:
        physical_offset: of the message; None where the handle does not say it.
    """

    receipt: Receipt
    physical_offset: int | None

    @classmethod
    def parse(cls, text: str) -> PopHandle:
        """Reads a handle. Raises Refused."""
        parts = text.split(" ")
        if len(parts) >= _PARTS:
            try:
                receipt = Receipt.parse(" ".join(parts[:_PARTS]))
            except ReceiptError as error:
                raise Refused(pb.Code.INTERNAL_SERVER_ERROR, error.remark) from error
            offset = decimal(parts[_PARTS], high=MOST_INT64) if len(parts) > _PARTS else None
            return cls(receipt, offset)
        where = "org.apache.rocketmq.common.consumer.ReceiptHandle.decode(ReceiptHandle.java:56)"
        words = f"Parse failed, dataList size {len(parts)}. IllegalArgumentException. {where}"
        raise Refused(pb.Code.INTERNAL_SERVER_ERROR, words)

    def __str__(self) -> str:
        return f"{self.receipt}" if self.physical_offset is None else f"{self.receipt} {self.physical_offset}"

    def living(self, now_ms: int) -> PopHandle:
        """Returns itself. Raises Refused: its time is over."""
        if self.receipt.due_ms <= now_ms:
            raise Refused(pb.Code.INVALID_RECEIPT_HANDLE, f"{PROXY_ERROR}receipt handle is expired")
        return self


class Delivered(NamedTuple):
    """A message that a group has received."""

    topic: str
    group: str
    handle: PopHandle

    @property
    def real_topic(self) -> str:
        """The topic in which it lies."""
        return real_topic(self.topic, self.group, self.handle.receipt.retry)


async def acknowledge_popped(ground: ProxyGround, channel: Channel, delivered: Delivered) -> None:
    """Acknowledges one message. Raises Refused."""
    receipt = delivered.handle.receipt
    request = AckMessage(
        consumer_group=delivered.group,
        topic=delivered.real_topic,
        queue_id=receipt.queue_id or 0,
        extra_info=str(receipt),
        offset=receipt.offset or 0,
    )
    answer = await ground.ask(channel, ground.master(receipt.broker_name), request)
    if answer.code != ResponseCode.SUCCESS:
        raise Refused(pb.Code.INTERNAL_SERVER_ERROR, "ack failed: status is abnormal")


async def change_time(ground: ProxyGround, channel: Channel, delivered: Delivered, invisible_ms: int) -> PopHandle:
    """Sets when a message comes again; returns the handle that counts from then on. Raises Refused."""
    handle = delivered.handle
    receipt = handle.receipt
    request = ChangeInvisibleTime(
        consumer_group=delivered.group,
        topic=delivered.real_topic,
        queue_id=receipt.queue_id or 0,
        extra_info=str(receipt),
        offset=receipt.offset or 0,
        invisible_time=invisible_ms,
    )
    broker = ground.master(receipt.broker_name)
    answer = await ground.ask_well(channel, broker, request)
    reply = ChangeInvisibleTimeReply.from_ext(answer.ext_fields)
    new = Receipt(
        start_offset=receipt.offset or 0,
        pop_ms=reply.pop_time,
        invisible_ms=reply.invisible_time,
        revive_queue=reply.revive_qid,
        retry=receipt.retry,
        broker_name=receipt.broker_name,
        queue_id=receipt.queue_id,
        offset=receipt.offset,
    )
    return PopHandle(new, handle.physical_offset)


async def bury(ground: ProxyGround, channel: Channel, delivered: Delivered, message_id: str) -> int:
    """Moves a message to the dead letters of a group; returns the broker's code. Raises Refused."""
    handle = delivered.handle
    if handle.physical_offset is None:
        raise Refused(pb.Code.INVALID_RECEIPT_HANDLE, f"{PROXY_ERROR}commit log offset is empty")
    request = ConsumerSendMsgBack(
        offset=handle.physical_offset,
        group=delivered.group,
        delay_level=-1,
        origin_msg_id=message_id,
        origin_topic=delivered.real_topic,
        max_reconsume_times=0,
    )
    broker = ground.master(handle.receipt.broker_name)
    answer = await ground.ask_well(channel, broker, request)
    if handle.receipt.due_ms > ground.clock.now_ms():  # an expired one is not acknowledged, and comes again
        await acknowledge_popped(ground, channel, delivered)
    return answer.code
