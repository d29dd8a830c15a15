"""Stored messages as they travel: the unit of pull, query and view answers.

Source: `MessageDecoder` of 4.9.8 and 5.3.3 (the second layout has a two-byte topic length).
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from struct import Struct
from struct import error as StructError

from mqctl.errors import BadInputError
from mqctl.model.message import SYSFLAG_BORN_HOST_V6, SYSFLAG_STORE_HOST_V6, Message
from mqctl.model.names import LONGEST_TOPIC
from mqctl.protocol.properties import MAX_PROPERTIES_LENGTH, format_properties, parse_properties
from mqctl.text import sentence

MAGIC_V1 = 0xDAA320A7
MAGIC_V2 = 0xDAA320AB
_HEAD = Struct(">iIiiiqqiq")
_HOST_V4 = Struct(">4si")
_HOST_V6 = Struct(">16si")
_TIME = Struct(">q")
_TAIL = Struct(">iqi")
_SHORT = Struct(">h")
_FIXED_V4 = Struct(">iIiiiqqiq8sq8siqi")
"""All of a record before its body, of one with two IPv4 hosts: nearly every one."""
_V6_HOSTS = SYSFLAG_BORN_HOST_V6 | SYSFLAG_STORE_HOST_V6
_SYS_FLAG_AT = 36
_LONGEST_TOPIC = {MAGIC_V1: LONGEST_TOPIC, MAGIC_V2: 32_767}


class RecordError(BadInputError):
    """Bytes that are no stored message, or a message that fits no record."""


def body_crc(body: bytes) -> int:
    """Returns the CRC that a record carries for `body`: the sign bit is cleared."""
    return zlib.crc32(body) & 0x7FFFFFFF


def decode_messages(data: bytes | memoryview) -> list[Message]:
    """Decodes the body of a pull, query or view answer: records one behind the other.

    Raises:
        RecordError: the bytes are no records.
    """
    view = memoryview(data)
    messages: list[Message] = []
    position = 0
    while position < len(view):
        message = decode_message(view, position)
        messages.append(message)
        position += message.size_bytes
    return messages


def decode_message(data: bytes | memoryview, position: int = 0) -> Message:
    """Decodes the record at `position`.

    Raises:
        RecordError: the bytes are no record.
    """
    view = memoryview(data)
    try:
        return _decode(view, position)
    except (StructError, IndexError):
        raise RecordError(
            sentence("wire-message-record-read", "A message record cannot be read"),
            reason=sentence("wire-ends-before-parts-do", "it ends before its parts do"),
        ) from None


def _decode(view: memoryview, start: int) -> Message:
    magic = int.from_bytes(view[start + 4 : start + 8], "big")
    sys_flag = int.from_bytes(view[start + _SYS_FLAG_AT : start + _SYS_FLAG_AT + 4], "big")
    return _decode_any(view, start) if sys_flag & _V6_HOSTS or magic != MAGIC_V1 else _decode_usual(view, start)


def _decode_usual(view: memoryview, start: int) -> Message:
    """Decodes a record of the first layout with IPv4 hosts, its fixed part in one go."""
    (
        size, _, crc, queue_id, flag, queue_offset, physical_offset, sys_flag, born_time, born_host, store_time,
        store_host, reconsume_times, prepared_offset, body_size,
    ) = _FIXED_V4.unpack_from(view, start)  # fmt: skip
    body_at = start + _FIXED_V4.size
    topic_at = body_at + body_size + 1
    properties_at = topic_at + view[topic_at - 1] + 2
    (properties_size,) = _SHORT.unpack_from(view, properties_at - 2)
    end = properties_at + properties_size
    if body_size < 0 or properties_size < 0 or end > len(view):
        raise RecordError(
            sentence("wire-message-record-read", "A message record cannot be read"),
            reason=sentence("wire-record-some-length-leaves", "a length leaves it"),
        )
    if end - start != size:
        reason = sentence(
            "wire-record-size-parts", "its size says {size}, its parts are {parts}", size=size, parts=end - start
        )
        raise RecordError(sentence("wire-message-record-read", "A message record cannot be read"), reason=reason)
    return Message(
        topic=str(view[topic_at : properties_at - 2], "utf-8", "replace"),
        queue_id=queue_id,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        size_bytes=size,
        flag=flag,
        sys_flag=sys_flag,
        born_time_ms=born_time,
        born_host=_host_v4(born_host),
        store_time_ms=store_time,
        store_host=_host_v4(store_host),
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_offset,
        body_crc=crc,
        body=bytes(view[body_at : topic_at - 1]),
        properties=parse_properties(str(view[properties_at:end], "utf-8", "replace")),
    )


def _decode_any(view: memoryview, start: int) -> Message:
    size, magic, crc, queue_id, flag, queue_offset, physical_offset, sys_flag, born_time = _HEAD.unpack_from(
        view, start
    )
    if magic not in _LONGEST_TOPIC:
        raise RecordError(
            sentence("wire-message-record-read", "A message record cannot be read"),
            reason=sentence("wire-magic-no-message", "magic {magic:08X} does not belong to a message", magic=magic),
        )
    at = start + _HEAD.size
    born_host, at = _read_host(view, at, wide=bool(sys_flag & SYSFLAG_BORN_HOST_V6))
    (store_time,) = _TIME.unpack_from(view, at)
    store_host, at = _read_host(view, at + 8, wide=bool(sys_flag & SYSFLAG_STORE_HOST_V6))
    reconsume_times, prepared_offset, body_size = _TAIL.unpack_from(view, at)
    body, at = _part(view, at + _TAIL.size, body_size)
    if magic == MAGIC_V2:
        (topic_size,) = _SHORT.unpack_from(view, at)
        topic, at = _part(view, at + 2, topic_size)
    else:
        topic, at = _part(view, at + 1, view[at])
    (properties_size,) = _SHORT.unpack_from(view, at)
    properties, at = _part(view, at + 2, properties_size)
    if at - start != size:
        raise RecordError(
            sentence("wire-message-record-read", "A message record cannot be read"),
            reason=sentence(
                "wire-record-size-parts", "its size says {size}, its parts are {parts}", size=size, parts=at - start
            ),
        )
    return Message(
        topic=str(topic, "utf-8", "replace"),
        queue_id=queue_id,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        size_bytes=size,
        flag=flag,
        sys_flag=sys_flag,
        born_time_ms=born_time,
        born_host=born_host,
        store_time_ms=store_time,
        store_host=store_host,
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_offset,
        body_crc=crc,
        body=body,
        properties=parse_properties(str(properties, "utf-8", "replace")),
    )


def _part(view: memoryview, start: int, size: int) -> tuple[bytes, int]:
    end = start + size
    if size < 0 or end > len(view):
        raise RecordError(
            sentence("wire-message-record-read", "A message record cannot be read"),
            reason=sentence("wire-record-length-leaves", "a length of {size} leaves it", size=size),
        )
    return bytes(view[start:end]), end


def _read_host(view: memoryview, at: int, *, wide: bool) -> tuple[str, int]:
    if wide:
        from ipaddress import IPv6Address

        address, port = _HOST_V6.unpack_from(view, at)
        return f"[{IPv6Address(address)}]:{port}", at + _HOST_V6.size
    return _host_v4(bytes(view[at : at + _HOST_V4.size])), at + _HOST_V4.size


@lru_cache(maxsize=1024)
def _host_v4(packed: bytes) -> str:
    (a, b, c, d), port = _HOST_V4.unpack(packed)
    return f"{a}.{b}.{c}.{d}:{port}"


def pack_host(host: str) -> bytes:
    """Packs `ip:port` (8 bytes) or `[ip]:port` (20 bytes).

    Raises:
        RecordError: no address of that form.
    """
    address, _, port = host.rpartition(":")
    try:
        if address.startswith("["):
            from ipaddress import IPv6Address

            return _HOST_V6.pack(IPv6Address(address[1:-1]).packed, int(port))
        return _HOST_V4.pack(bytes(int(part) for part in address.split(".")), int(port))
    except (ValueError, StructError):
        raise RecordError(
            sentence("wire-host-written", "A host cannot be written"),
            reason=sentence("wire-no-host-port", "{host!r} is not ip:port", host=host),
        ) from None


def encode_message(
    message: Message, *, magic: int = MAGIC_V1, trailing_separator: bool = False, properties_text: str | None = None
) -> bytes:
    """Encodes one record; its size and the IPv6 bits of its system flag follow from the parts.

    Args:
        trailing_separator: end the properties with a separator, as 5.x stores them.
        properties_text: the properties as they are to be written, instead of those of `message`.

    Raises:
        RecordError: topic or properties are too long, or a host is no address.
    """
    if properties_text is None:
        properties_text = format_properties(message.properties, trailing_separator=trailing_separator)
    topic, properties = message.topic.encode(), properties_text.encode()
    if len(topic) > _LONGEST_TOPIC[magic] or len(properties) > MAX_PROPERTIES_LENGTH:
        raise RecordError(
            sentence("wire-message-written", "A message cannot be written"),
            reason=sentence("wire-topic-properties-too-long", "its topic or its properties are too long"),
        )
    born, store = pack_host(message.born_host), pack_host(message.store_host)
    sys_flag = message.sys_flag & ~(SYSFLAG_BORN_HOST_V6 | SYSFLAG_STORE_HOST_V6)
    sys_flag |= SYSFLAG_BORN_HOST_V6 if len(born) > 8 else 0
    sys_flag |= SYSFLAG_STORE_HOST_V6 if len(store) > 8 else 0
    tail = b"".join(
        (
            born,
            _TIME.pack(message.store_time_ms),
            store,
            _TAIL.pack(message.reconsume_times, message.prepared_transaction_offset, len(message.body)),
            message.body,
            _SHORT.pack(len(topic)) if magic == MAGIC_V2 else bytes((len(topic),)),
            topic,
            _SHORT.pack(len(properties)),
            properties,
        )
    )
    head = _HEAD.pack(
        _HEAD.size + len(tail),
        magic,
        message.body_crc,
        message.queue_id,
        message.flag,
        message.queue_offset,
        message.physical_offset,
        sys_flag,
        message.born_time_ms,
    )
    return head + tail
