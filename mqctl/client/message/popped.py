"""Messages that were popped: each with the receipt handle by which it is acknowledged (`MQClientAPIImpl` of 5.3.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mqctl.client.message.received import ReceivedMessage
from mqctl.errors import BadInputError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.model.queue import MessageQueue
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.receipts import Receipt, read_order_counts, read_start_offsets, real_topic, retry_flag
from mqctl.protocol.requests_pop import ChangeInvisibleTimeReply, PopMessageReply
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.model.message import Message
    from mqctl.protocol.frame import RemotingCommand

POP_CK, FIRST_POP_TIME = "POP_CK", "1ST_POP_TIME"


class PoppedMessage(ReceivedMessage):
    """A message that its consumer holds until its invisible time is over.

    Attributes:
        topic: the one that was popped, also when the message waited in a retry topic.
        queue: where it lies: of the topic itself, or of the retry topic.
        receipt: its handle; another one after its invisible time was changed.
    """

    __slots__ = ("receipt",)

    def __init__(self, stored: Message, queue: MessageQueue, topic: str, receipt: Receipt) -> None:
        super().__init__(stored, queue)
        self.topic = topic
        self.receipt = receipt

    @property
    def first_pop_ms(self) -> int:
        """When it was popped for the first time, epoch milliseconds."""
        return decimal(self.properties.get(FIRST_POP_TIME)) or self.receipt.pop_ms

    def changed(self, reply: ChangeInvisibleTimeReply) -> Receipt:
        """Returns the handle that a change of the invisible time gives it."""
        return replace(
            self.receipt,
            start_offset=self.queue_offset,
            pop_ms=reply.pop_time,
            invisible_ms=reply.invisible_time,
            revive_queue=reply.revive_qid,
        )


@dataclass(frozen=True, slots=True)
class Popped:
    """The answer to a pop; `rest_count` are messages left in the queues it looked at."""

    messages: tuple[PoppedMessage, ...] = ()
    rest_count: int = 0


def read_popped(answer: RemotingCommand, group: str, topic: str, broker_name: str) -> Popped:
    """Reads a pop's answer that found something. Raises BadInputError."""
    reply = PopMessageReply.from_ext(answer.ext_fields)
    starts = read_start_offsets(reply.start_offset_info)
    counts = read_order_counts(reply.order_count_info)
    messages = []
    for stored in decode_messages(answer.body):
        handle = stored.properties.get(POP_CK)
        if handle is not None:
            receipt = Receipt.parse(handle)
        else:
            flag = retry_flag(stored.topic, group)
            start = starts.get((flag, stored.queue_id))
            if start is None:
                place = f"queue {stored.queue_id} of {stored.topic}"
                raise BadInputError(
                    sentence("response-pop-cannot-decoded", "the response to a pop cannot be decoded"),
                    reason=sentence("client-no-start-offset", "{place} has no start offset", place=place),
                )
            receipt = Receipt(
                start_offset=start,
                pop_ms=reply.pop_time,
                invisible_ms=reply.invisible_time,
                revive_queue=reply.revive_qid,
                retry=flag,
                broker_name=broker_name,
                queue_id=stored.queue_id,
                offset=stored.queue_offset,
            )
        lies_in = MessageQueue(real_topic(topic, group, receipt.retry), broker_name, stored.queue_id)
        message = PoppedMessage(stored, lies_in, topic, receipt)
        if receipt.ordered:
            message.reconsume_times = counts.get((stored.queue_id, stored.queue_offset), 0)
        messages.append(message)
    return Popped(tuple(messages), reply.rest_num)
