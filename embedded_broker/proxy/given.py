"""A stored message as gRPC clients get it (`GrpcConverter` of 5.3.3)."""

from __future__ import annotations

import hashlib

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.times import set_ms
from mqctl.model.message import SHARDING_KEY, SYSFLAG_COMPRESSED, Message
from mqctl.model.numbers import MOST_INT64, decimal
from mqctl.protocol.compression import CompressionError, decompress

BORN_HOST, BORN_TIMESTAMP = "__BORNHOST", "BORN_TIMESTAMP"
TRACE_CONTEXT, DELIVER_MS, TRAN_MSG = "TRACE_CONTEXT", "TIMER_DELIVER_MS", "TRAN_MSG"
_GZIP_MAGIC = b"\x1f\x8b"
_TIMES = ("TIMER_DELIVER_MS", "TIMER_DELAY_MS", "TIMER_DELAY_SEC", "DELAY")

SYSTEM_PROPERTIES = frozenset(
    {
        *("KEYS", "TAGS", "WAIT", "DELAY", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID", "TRAN_MSG", "PGROUP"),
        *("MIN_OFFSET", "MAX_OFFSET", "BUYER_ID", "ORIGIN_MESSAGE_ID", "TRANSFER_FLAG", "CORRECTION_FLAG"),
        *("MQ2_FLAG", "RECONSUME_TIME", "MSG_REGION", "TRACE_ON", "UNIQ_KEY", "EXTEND_UNIQ_INFO", "CLUSTER"),
        *("MAX_RECONSUME_TIMES", "CONSUME_START_TIME", "INSTANCE_ID", "CORRELATION_ID", "MSG_TYPE", "TTL"),
        *("REPLY_TO_CLIENT", "PUSH_REPLY_TIME", "ARRIVE_TIME", "INNER_NUM", "INNER_BASE", "DUP_INFO"),
        *("TRAN_PREPARED_QUEUE_OFFSET", "POP_CK", "POP_CK_OFFSET", "1ST_POP_TIME", "TRACE_CONTEXT"),
        *("TIMER_DELAY_SEC", "TIMER_DELIVER_MS", "TIMER_DELAY_MS", "TIMER_OUT_MS", "TIMER_ENQUEUE_MS"),
        *("TIMER_DEQUEUE_MS", "TIMER_ROLL_TIMES", "TIMER_DEL_UNIQKEY", "TIMER_DELAY_LEVEL", "TIMER_DEL_MS"),
        *("__BORNHOST", "BORN_TIMESTAMP", "DLQ_ORIGIN_TOPIC", "DLQ_ORIGIN_MESSAGE_ID", "CRC32", "INNER_MULTI_DISPATCH"),
        *("INNER_MULTI_QUEUE_OFFSET",),
    }
)
"""Properties that are no application's: not given out as such, and not taken (`MessageConst`, but for three)."""
_RESERVED = frozenset({"CHECK_IMMUNITY_TIME_IN_SECONDS", "TRANSACTION_CHECK_TIMES", "__transactionId__", SHARDING_KEY})
RESERVED_PROPERTIES = SYSTEM_PROPERTIES | _RESERVED
"""Names that an application may not use."""


def given(message: Message, *, attempt: int, handle: str | None = None) -> pb.Message:
    """Returns what a client gets of a stored message.

    Args:
        attempt: which delivery it is, from 1.
        handle: receipt handle; None for a message that is not popped.
    """
    properties = message.properties
    body, encoding = _body(message)
    answer = pb.Message(body=body)
    answer.topic.name = message.topic
    for name, value in properties.items():
        if name not in SYSTEM_PROPERTIES:
            answer.user_properties[name] = value
    system = answer.system_properties
    if message.tags:
        system.tag = message.tags
    system.keys.extend(message.keys)
    system.message_id = message.unique_key or ""
    system.body_digest.type = pb.DigestType.MD5
    system.body_digest.checksum = hashlib.md5(body, usedforsecurity=False).hexdigest().upper()
    system.body_encoding = encoding
    system.message_type = _type(message)
    born_ms = decimal(properties.get(BORN_TIMESTAMP), high=MOST_INT64)
    set_ms(system.born_timestamp, message.born_time_ms if born_ms is None else born_ms)
    system.born_host = properties.get(BORN_HOST) or message.born_host.rpartition(":")[0]
    set_ms(system.store_timestamp, message.store_time_ms)
    system.store_host = message.store_host
    deliver_ms = decimal(properties.get(DELIVER_MS), high=MOST_INT64)
    if deliver_ms is not None:
        set_ms(system.delivery_timestamp, deliver_ms)
    if handle is not None:
        system.receipt_handle = handle
    system.queue_id = message.queue_id
    system.queue_offset = message.queue_offset
    system.delivery_attempt = attempt
    group = properties.get(SHARDING_KEY)
    if group:
        system.message_group = group
    if properties.get(TRACE_CONTEXT):
        system.trace_context = properties[TRACE_CONTEXT]
    return answer


def _body(message: Message) -> tuple[bytes, pb.Encoding]:
    """Returns the body as it is sent: gzip stays, what remoting clients compressed otherwise is opened."""
    if not message.sys_flag & SYSFLAG_COMPRESSED:
        return message.body, pb.Encoding.IDENTITY
    if message.body.startswith(_GZIP_MAGIC):
        return message.body, pb.Encoding.GZIP
    try:
        return decompress(message.body, message.sys_flag), pb.Encoding.IDENTITY
    except CompressionError:
        return message.body, pb.Encoding.IDENTITY


def _type(message: Message) -> pb.MessageType:
    properties = message.properties
    if properties.get(TRAN_MSG, "").lower() == "true":
        return pb.MessageType.TRANSACTION
    if any(name in properties for name in _TIMES):
        return pb.MessageType.DELAY
    return pb.MessageType.FIFO if properties.get(SHARDING_KEY) else pb.MessageType.NORMAL
