"""One commit log record at a time: decoding, properties, bodies, message ids.

Sources: `MessageDecoder` of 4.9.8 and 5.3.3, `CompressionType` of 5.3.3.
"""

from __future__ import annotations

import ipaddress
import struct
import zlib

from mqctl.errors import BadInputError
from mqctl.model import message as model
from mqctl.model.message import Message
from mqctl.store import layouts as lay

_PORT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_SHORT = struct.Struct(">h")
_TAIL_HEAD = struct.Struct(">iqi")  # reconsume times, prepared offset, body length


class RecordError(BadInputError):
    """Bytes that are no message record."""


def parse_properties(data: bytes) -> dict[str, str]:
    """Parses the text of a record's properties by the broker's rules.

    Items end with 0x02; the first 0x01 parts name and value; an item without a name, without a value or without 0x01 is
    dropped; a later duplicate wins. Bytes that are no UTF-8 become replacement characters.
    """
    properties: dict[str, str] = {}
    for item in data.split(b"\x02"):
        name, separator, value = item.partition(b"\x01")
        if separator and name and value:
            properties[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    return properties


def decode_record(view: memoryview, position: int = 0) -> Message:
    """Decodes the record that starts at `position`.

    Raises:
        RecordError: the magic is no message's, the lengths contradict each other or leave `view`.
    """
    try:
        return _decode(view, position)
    except (struct.error, IndexError, ipaddress.AddressValueError) as error:
        raise _broken(position, "it ends before its parts do") from error


def _broken(position: int, reason: str) -> RecordError:
    return RecordError(
        f"decode the record at byte {position}", reason=reason, remedy="run `mqctl store verify` on the store"
    )


def _decode(view: memoryview, position: int) -> Message:
    head = lay.RECORD_HEAD.unpack_from(view, position)
    size, magic, body_crc, queue_id, flag, queue_offset, physical_offset, sys_flag, born_time_ms = head
    if magic not in (lay.MAGIC_V1, lay.MAGIC_V2):
        raise _broken(position, f"magic {magic & 0xFFFFFFFF:08X} is no message's")
    at = position + lay.RECORD_HEAD.size
    born_host, at = _host(view, at, wide=bool(sys_flag & model.SYSFLAG_BORN_HOST_V6))
    (store_time_ms,) = _LONG.unpack_from(view, at)
    store_host, at = _host(view, at + 8, wide=bool(sys_flag & model.SYSFLAG_STORE_HOST_V6))
    reconsume_times, prepared_offset, body_size = _TAIL_HEAD.unpack_from(view, at)
    body_at = at + _TAIL_HEAD.size
    topic_at = body_at + body_size
    if body_size < 0:
        raise _broken(position, f"a body of {body_size} bytes")
    if magic == lay.MAGIC_V2:
        (topic_size,) = _SHORT.unpack_from(view, topic_at)
        topic_at += 2
    else:
        topic_size = view[topic_at]
        topic_at += 1
    properties_at = topic_at + topic_size
    (properties_size,) = _SHORT.unpack_from(view, properties_at)
    end = properties_at + 2 + properties_size
    if properties_size < 0 or topic_size < 1 or end != position + size or end > len(view):
        raise _broken(position, f"its parts take {end - position} bytes, its header says {size}")
    return Message(
        topic=bytes(view[topic_at:properties_at]).decode("utf-8", "replace"),
        queue_id=queue_id,
        queue_offset=queue_offset,
        physical_offset=physical_offset,
        size_bytes=size,
        flag=flag,
        sys_flag=sys_flag,
        born_time_ms=born_time_ms,
        born_host=born_host,
        store_time_ms=store_time_ms,
        store_host=store_host,
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_offset,
        body_crc=body_crc,
        body=bytes(view[body_at : body_at + body_size]),
        properties=parse_properties(bytes(view[properties_at + 2 : end])),
    )


def _host(view: memoryview, position: int, *, wide: bool) -> tuple[str, int]:
    """Reads `ip:port` and returns it with the position behind it."""
    length = 16 if wide else 4
    packed = bytes(view[position : position + length])
    address = ipaddress.IPv6Address(packed) if wide else ipaddress.IPv4Address(packed)
    (port,) = _PORT.unpack_from(view, position + length)
    return (f"[{address}]:{port}" if wide else f"{address}:{port}"), position + length + 4


def body_crc(body: bytes | memoryview) -> int:
    """Returns the checksum a record keeps of its stored body: CRC-32 without the sign bit, 0 for an empty body."""
    return zlib.crc32(body) & lay.CRC_MASK


def decompress_body(message: Message) -> bytes:
    """Returns the body as the producer gave it.

    Raises:
        RecordError: the body does not decompress, or its type is unknown.
    """
    if not message.sys_flag & model.SYSFLAG_COMPRESSED:
        return message.body
    kind = (message.sys_flag & model.SYSFLAG_COMPRESSION_MASK) >> 8
    try:
        if kind in (0, 3):
            return zlib.decompress(message.body)
        if kind == 1:
            return _lz4(message.body)
        if kind == 2:
            return _zstd(message.body)
    except (zlib.error, RuntimeError, ValueError, EOFError) as error:
        raise _undecompressed(message, str(error)) from error
    raise _undecompressed(message, f"compression type {kind} is unknown")


def _lz4(body: bytes) -> bytes:
    import lz4.frame

    plain: bytes = lz4.frame.decompress(body)
    return plain


def _zstd(body: bytes) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(body)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def _undecompressed(message: Message, reason: str) -> RecordError:
    return RecordError(
        f"decompress the body of the record at physical offset {message.physical_offset}",
        reason=reason,
        remedy="show it undecompressed (hex), or run `mqctl store verify`",
    )


def offset_message_id(store_host: str, physical_offset: int) -> str:
    """Writes the offset message id: store host and physical offset in upper-case hex, 32 characters (56 for IPv6)."""
    ip, _, port = store_host.rpartition(":")
    packed = ipaddress.ip_address(ip.strip("[]")).packed
    return (packed + _PORT.pack(int(port)) + _LONG.pack(physical_offset)).hex().upper()


def parse_offset_message_id(text: str) -> tuple[str, int]:
    """Reads an offset message id into (store host `ip:port`, physical offset).

    Raises:
        BadInputError: `text` is no such id.
    """
    try:
        data = bytes.fromhex(text)
        if len(data) not in (16, 28):
            raise ValueError(f"{len(text)} characters; 32 or 56 are needed")
    except ValueError as error:
        raise BadInputError(
            f"read {text!r} as an offset message id",
            reason=str(error),
            remedy="give the `offsetMsgId` of the send result",
        ) from error
    host, _ = _host(memoryview(data), 0, wide=len(data) == 28)
    return host, int(_LONG.unpack_from(data, len(data) - 8)[0])
