"""What a broker may ask of a consumer, and the answers (`ClientRemotingProcessor` of 4.9.8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Thread
from typing import Protocol

from mqctl.client.remoting.link import Link
from mqctl.errors import MqctlError
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from mqctl.protocol.bodies_cluster import ConsumerStatus, QueueOffsets
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_record import decode_message
from mqctl.protocol.requests_client import (
    ConsumeMessageDirectly,
    GetConsumerRunningInfo,
    GetConsumerStatus,
    NotifyConsumerIdsChanged,
    ResetOffset,
)


class Answerer(Protocol):
    """A consumer that brokers may ask."""

    @property
    def group(self) -> str: ...

    def members_changed(self) -> None:
        """Told that members joined or left."""

    def take_offsets(self, offsets: Mapping[MessageQueue, int]) -> None:
        """Told to go on from other offsets."""

    def offsets_in_memory(self, topic: str) -> Mapping[MessageQueue, int]:
        """Returns the offsets it knows."""

    def running_info(self, *, with_stacks: bool) -> ConsumerRunningInfo:
        """Returns what it is doing."""

    def consume_directly(self, message: Message, broker_name: str) -> ConsumeMessageDirectlyResult:
        """Consumes one message now."""


def answer_callback(consumer: Answerer, link: Link, request: RemotingCommand) -> RemotingCommand | None:
    """Answers one request of a broker; None when there is nothing to say, or when the answer comes later.

    Raises:
        MqctlError: the request cannot be read.
    """
    handler = _HANDLERS.get(request.code)
    return None if handler is None else handler(consumer, link, request)


def _notify(consumer: Answerer, _: Link, request: RemotingCommand) -> None:
    NotifyConsumerIdsChanged.from_ext(request.ext_fields)
    consumer.members_changed()


def _reset(consumer: Answerer, _: Link, request: RemotingCommand) -> None:
    header = ResetOffset.from_ext(request.ext_fields)
    if header.group == consumer.group and request.body:
        offsets = QueueOffsets.from_bytes(request.body).offset_table
        consumer.take_offsets({queue: offset for queue, offset in offsets.items() if queue.topic == header.topic})


def _status(consumer: Answerer, _: Link, request: RemotingCommand) -> RemotingCommand:
    header = GetConsumerStatus.from_ext(request.ext_fields)
    offsets = consumer.offsets_in_memory(header.topic) if header.group == consumer.group else {}
    return request.answer(ResponseCode.SUCCESS, body=ConsumerStatus(message_queue_table=dict(offsets)).to_bytes())


def _running(consumer: Answerer, _: Link, request: RemotingCommand) -> RemotingCommand:
    header = GetConsumerRunningInfo.from_ext(request.ext_fields)
    if header.consumer_group != consumer.group:
        return _not_here(request, header.consumer_group)
    return request.answer(ResponseCode.SUCCESS, body=consumer.running_info(with_stacks=header.jstack_enable).to_bytes())


def _directly(consumer: Answerer, link: Link, request: RemotingCommand) -> RemotingCommand | None:
    header = ConsumeMessageDirectly.from_ext(request.ext_fields)
    if header.consumer_group != consumer.group:
        return _not_here(request, header.consumer_group)
    message = decode_message(request.body)

    def consume() -> None:
        # A listener that hangs must not keep the broker's next questions waiting, least of all that for the stacks.
        try:
            result = consumer.consume_directly(message, header.broker_name or "")
        except MqctlError as error:
            link.reply(request.answer(ResponseCode.SYSTEM_ERROR, remark=str(error)))
        else:
            link.reply(request.answer(ResponseCode.SUCCESS, body=result.to_bytes()))

    Thread(target=consume, name="ConsumeMessageDirectly", daemon=True).start()
    return None


def _not_here(request: RemotingCommand, group: str) -> RemotingCommand:
    return request.answer(ResponseCode.SYSTEM_ERROR, remark=f"The Consumer Group <{group}> not exist in this consumer")


_HANDLERS: dict[int, Callable[[Answerer, Link, RemotingCommand], RemotingCommand | None]] = {
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: _notify,
    RequestCode.RESET_CONSUMER_CLIENT_OFFSET: _reset,
    RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT: _status,
    RequestCode.GET_CONSUMER_RUNNING_INFO: _running,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: _directly,
}
