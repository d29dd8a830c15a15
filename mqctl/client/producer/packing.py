"""Messages turned into the requests that carry them, and answers into results."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.client.identity import MessageClientIds
from mqctl.client.message.outgoing import MAX_MESSAGE_BYTES, WAIT, OutgoingMessage, SendResult, SendStatus
from mqctl.client.remoting.answers import refusal
from mqctl.client.remoting.clock import ClientClock
from mqctl.client.routes import DEFAULT_TOPIC_QUEUES
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import SYSFLAG_PREPARED, UNIQ_KEY
from mqctl.model.names import AUTO_CREATE_TOPIC, RETRY_PREFIX
from mqctl.model.numbers import decimal
from mqctl.model.queue import MessageQueue
from mqctl.protocol.codes import SEND_RESULTS
from mqctl.protocol.compression import Compression, compress
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_batch import BatchElement, encode_batch
from mqctl.protocol.properties import format_properties
from mqctl.protocol.requests_client import SendBatchMessage, SendMessage, SendMessageReply, SendMessageV2

RECONSUME_TIME = "RECONSUME_TIME"
MAX_RECONSUME_TIMES = "MAX_RECONSUME_TIMES"
TRANSACTION_PREPARED = "TRAN_MSG"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings:
    """Java's settings and their defaults.

    Attributes:
        send_timeout_ms: limit of one send, all attempts together.
        retries, async_retries: attempts after the first one.
        compress_over_bytes: bodies at least so long are compressed.
        default_topic_queues: queues of a topic that the first message creates.
        latency_fault_enable: avoid brokers that were slow or failed.
    """

    send_timeout_ms: int = 3_000
    retries: int = 2
    async_retries: int = 2
    retry_another_broker_when_not_stored: bool = False
    compress_over_bytes: int = 4_096
    compress_level: int = 5
    compression: Compression = Compression.ZLIB
    default_topic_queues: int = DEFAULT_TOPIC_QUEUES
    create_topic_key: str = AUTO_CREATE_TOPIC
    max_message_bytes: int = MAX_MESSAGE_BYTES
    latency_fault_enable: bool = False


@dataclass(frozen=True, slots=True)
class Packed:
    """A message, or a batch of them, ready for any queue."""

    topic: str
    body: bytes
    properties: str
    unique_id: str
    flag: int
    sys_flag: int
    born_ms: int
    reconsume_times: int = 0
    max_reconsume_times: int | None = None
    is_batch: bool = False


class Packer:
    """Packs the messages of one producer."""

    def __init__(
        self, group: str, settings: ProducerSettings, clock: ClientClock, unique_ids: MessageClientIds
    ) -> None:
        self._group = group
        self._settings = settings
        self._clock = clock
        self._unique_ids = unique_ids

    def pack(self, message: OutgoingMessage) -> Packed:
        """Packs one message: it gets a unique id unless it has one, and is compressed when it is long."""
        settings = self._settings
        properties = message.all_properties()
        unique_id = properties.get(UNIQ_KEY) or self._unique_ids.next()
        properties[UNIQ_KEY] = unique_id
        times, most = 0, None
        if message.topic.startswith(RETRY_PREFIX):
            times = decimal(properties.pop(RECONSUME_TIME, None)) or 0
            most = decimal(properties.pop(MAX_RECONSUME_TIMES, None))
        body, sys_flag = message.body, 0
        if len(body) >= settings.compress_over_bytes:
            body, sys_flag = compress(body, settings.compression, level=settings.compress_level)
        if properties.get(TRANSACTION_PREPARED) == "true":
            sys_flag |= SYSFLAG_PREPARED
        text = format_properties(properties)
        now_ms = self._clock.now_ms()
        return Packed(message.topic, body, text, unique_id, message.flag, sys_flag, now_ms, times, most)

    def pack_batch(self, messages: Sequence[OutgoingMessage]) -> Packed:
        """Packs messages of one topic as one request."""
        ids: list[str] = []
        elements: list[BatchElement] = []
        for message in messages:
            properties = message.all_properties()
            properties[UNIQ_KEY] = self._unique_ids.next()
            ids.append(properties[UNIQ_KEY])
            elements.append(BatchElement(message.body, format_properties(properties), message.flag))
        first = messages[0]
        text = format_properties({WAIT: "true" if first.wait_store_ok else "false"})
        now_ms = self._clock.now_ms()
        return Packed(first.topic, encode_batch(elements), text, ",".join(ids), 0, 0, now_ms, is_batch=True)

    def request(self, packed: Packed, queue: MessageQueue) -> SendMessage:
        """Returns the request that sends `packed` to `queue`."""
        kind = SendBatchMessage if packed.is_batch else SendMessageV2
        return kind(
            producer_group=self._group,
            topic=packed.topic,
            default_topic=self._settings.create_topic_key,
            default_topic_queue_nums=self._settings.default_topic_queues,
            queue_id=queue.queue_id,
            sys_flag=packed.sys_flag,
            born_timestamp=packed.born_ms,
            flag=packed.flag,
            properties=packed.properties,
            reconsume_times=packed.reconsume_times,
            unit_mode=False,
            max_reconsume_times=packed.max_reconsume_times,
            batch=packed.is_batch,
            bname=queue.broker_name,
        )


def send_result(
    answer: RemotingCommand, packed: Packed, queue: MessageQueue, *, address: str, attempt: int
) -> SendResult:
    """Reads the answer to a send. Raises AnswerError when it is a refusal."""
    if answer.code not in SEND_RESULTS:
        raise refusal(SendBatchMessage.code if packed.is_batch else SendMessageV2.code, address, answer)
    reply = SendMessageReply.from_ext(answer.ext_fields)
    return SendResult(
        SendStatus(answer.code),
        packed.unique_id,
        reply.msg_id,
        MessageQueue(packed.topic, queue.broker_name, reply.queue_id),
        reply.queue_offset,
        address,
        reply.region,
        attempt,
        reply.recall_handle,
    )
