"""Records as the broker writes them to its commit log, and what its dispatcher reads back from them.

Source: `MessageExtEncoder` and `CommitLog.checkMessageAndReturnSize` of 4.9.8; the second layout is that of 5.3.3.
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import NamedTuple

from mqctl.errors import RefusedError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import SYSFLAG_BORN_HOST_V6, SYSFLAG_STORE_HOST_V6
from mqctl.model.names import LONGEST_TOPIC
from mqctl.protocol.message_record import pack_host
from mqctl.protocol.properties import MAX_PROPERTIES_LENGTH
from mqctl.store.layouts import BLANK_BYTES, CRC_MASK, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, SIZE_AND_MAGIC
from mqctl.text import sentence

V4_HEAD = Struct(">iiiiiqqiq8sq8siqi")
"""The fixed part of a record whose two hosts are IPv4."""
_HEAD = Struct(">iiiiiqqiq")
_TIME = Struct(">q")
_TAIL = Struct(">iqi")
_SHORT = Struct(">h")
_WIDE = SYSFLAG_BORN_HOST_V6 | SYSFLAG_STORE_HOST_V6
_HOSTS_KEPT = 4_096
_TOPICS_KEPT = 4_096


class MessageRefused(RefusedError):
    """A message that fits no record: its topic, properties or body are too long."""


@dataclass(slots=True, kw_only=True)
class Incoming:
    """A message on its way into the log (`MessageExtBrokerInner`): one value from the request to its record.

    Attributes:
        properties: property text as it is to be stored.
        born_host, store_host: `ip:port`.
        sys_flag: the bits for IPv6 hosts follow from the hosts.
        prepared_offset: physical offset of the half message that this one commits.
    """

    topic: str
    queue_id: int
    body: bytes
    properties: str
    sys_flag: int = 0
    flag: int = 0
    born_ms: int
    born_host: str
    store_host: str = ""
    reconsume_times: int = 0
    prepared_offset: int = 0


class Draft(NamedTuple):
    """A message with all of its record that does not depend on its place and its store time."""

    message: Incoming
    size_bytes: int
    magic: int
    sys_flag: int
    born_host: bytes
    store_host: bytes
    tail: bytes


class RecordWriter:
    """Encodes records; remembers hosts and topics, which repeat.

    Args:
        long_topics: whether topics above 127 bytes are written in the second layout (5.x) or refused (4.9).
    """

    __slots__ = ("_hosts", "_long_topics", "_topics")

    def __init__(self, *, long_topics: bool = False) -> None:
        self._long_topics = long_topics
        self._hosts: dict[str, bytes] = {}
        self._topics: dict[str, tuple[int, bytes]] = {}

    def host(self, text: str) -> bytes:
        """Packs `ip:port` and remembers it; raises RecordError for anything else."""
        if len(self._hosts) >= _HOSTS_KEPT:
            self._hosts.clear()
        packed = self._hosts[text] = pack_host(text)
        return packed

    def topic(self, name: str) -> tuple[int, bytes]:
        """Returns magic and length-prefixed bytes of a topic, and remembers them.

        Raises:
            MessageRefused: the name is too long for the layout.
        """
        data = name.encode()
        if len(data) <= LONGEST_TOPIC:
            encoded = (MAGIC_V1, bytes((len(data),)) + data)
        elif self._long_topics and len(data) <= 255:
            encoded = (MAGIC_V2, _SHORT.pack(len(data)) + data)
        else:
            raise MessageRefused(
                sentence("store-could-not-store-message", "could not store a message of topic {topic}", topic=name),
                reason=sentence("store-topic-name-too-long", "the topic name is too long"),
            )
        if len(self._topics) >= _TOPICS_KEPT:
            self._topics.clear()
        self._topics[name] = encoded
        return encoded

    def draft(self, message: Incoming) -> Draft:
        """Prepares a record.

        Raises:
            MessageRefused: topic or properties are too long.
            RecordError: a host is no address.
        """
        magic, topic_bytes = self._topics.get(message.topic) or self.topic(message.topic)
        try:
            text = message.properties.encode()
        except UnicodeEncodeError as error:
            raise MessageRefused(
                sentence(
                    "store-could-not-store-message", "could not store a message of topic {topic}", topic=message.topic
                ),
                reason=sentence(
                    "store-character-properties-half-surrogate",
                    "character {start} of its properties is half of a surrogate pair",
                    start=error.start,
                ),
            ) from None
        if len(text) > MAX_PROPERTIES_LENGTH:
            raise MessageRefused(
                sentence(
                    "store-could-not-store-message", "could not store a message of topic {topic}", topic=message.topic
                ),
                reason=sentence(
                    "store-properties-take-bytes-most",
                    "its properties take {text_count:byte}, at most {max_properties_length:,} fit",
                    text_count=len(text),
                    max_properties_length=MAX_PROPERTIES_LENGTH,
                ),
            )
        born = self._hosts.get(message.born_host) or self.host(message.born_host)
        store = self._hosts.get(message.store_host) or self.host(message.store_host)
        sys_flag = message.sys_flag & ~_WIDE
        if len(born) > 8:
            sys_flag |= SYSFLAG_BORN_HOST_V6
        if len(store) > 8:
            sys_flag |= SYSFLAG_STORE_HOST_V6
        tail = topic_bytes + _SHORT.pack(len(text)) + text
        size = 72 + len(born) + len(store) + len(message.body) + len(tail)
        return Draft(message, size, magic, sys_flag, born, store, tail)


def finish(draft: Draft, queue_offset: int, physical_offset: int, store_ms: int) -> bytes:
    """Returns the record of `draft` at its place."""
    message, size, magic, sys_flag, born, store, tail = draft
    body = message.body
    crc = zlib.crc32(body) & CRC_MASK
    if len(born) == 8 and len(store) == 8:
        head = V4_HEAD.pack(
            size, magic, crc, message.queue_id, message.flag, queue_offset, physical_offset, sys_flag, message.born_ms,
            born, store_ms, store, message.reconsume_times, message.prepared_offset, len(body),
        )  # fmt: skip
        return b"".join((head, body, tail))
    head = _HEAD.pack(
        size, magic, crc, message.queue_id, message.flag, queue_offset, physical_offset, sys_flag, message.born_ms
    )
    middle = _TAIL.pack(message.reconsume_times, message.prepared_offset, len(body))
    return b"".join((head, born, _TIME.pack(store_ms), store, middle, body, tail))


class StoredRecord(NamedTuple):
    """What the dispatcher takes from a record: where it goes and how it is found."""

    size_bytes: int
    queue_id: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    store_ms: int
    prepared_offset: int
    topic: str
    properties: str


def read_record(data: bytes | memoryview, at: int, limit: int, *, check_crc: bool) -> StoredRecord | None:
    """Reads the record at `at`; None when what starts there is none (recovery ends the log there).

    Tests magic, lengths and, with `check_crc`, the body's checksum as `CommitLog.checkMessageAndReturnSize` does.

    Args:
        limit: the position that no record may pass.
    """
    if limit - at < V4_HEAD.size:
        return None
    size, magic, crc, queue_id, _flag, queue_offset, physical_offset, sys_flag, _born = _HEAD.unpack_from(data, at)
    if magic not in (MAGIC_V1, MAGIC_V2) or size < V4_HEAD.size or at + size > limit:
        return None
    store_at = at + _HEAD.size + (20 if sys_flag & SYSFLAG_BORN_HOST_V6 else 8)
    tail_at = store_at + 8 + (20 if sys_flag & SYSFLAG_STORE_HOST_V6 else 8)
    if tail_at + _TAIL.size > at + size:
        return None
    _reconsumed, prepared, body_size = _TAIL.unpack_from(data, tail_at)
    body_at = tail_at + _TAIL.size
    texts = _texts(data, body_at, body_size, at + size, wide=magic == MAGIC_V2)
    if texts is None:
        return None
    if check_crc and body_size and zlib.crc32(data[body_at : body_at + body_size]) & CRC_MASK != crc:
        return None
    (store_ms,) = _TIME.unpack_from(data, store_at)
    return StoredRecord(size, queue_id, queue_offset, physical_offset, sys_flag, store_ms, prepared, *texts)


def _texts(data: bytes | memoryview, body_at: int, body_size: int, end: int, *, wide: bool) -> tuple[str, str] | None:
    """Returns topic and properties, or None when the lengths do not add up to the record's end."""
    at = body_at + body_size
    if body_size < 0 or at + 4 > end:
        return None
    topic_at = at + (2 if wide else 1)
    topic_size = _SHORT.unpack_from(data, at)[0] if wide else data[at]
    properties_at = topic_at + topic_size + 2
    if topic_size < 0 or properties_at > end:
        return None
    (properties_size,) = _SHORT.unpack_from(data, properties_at - 2)
    if properties_size < 0 or properties_at + properties_size != end:
        return None
    return (
        str(data[topic_at : topic_at + topic_size], "utf-8", "replace"),
        str(data[properties_at:end], "utf-8", "replace"),
    )


def checked_size(view: memoryview, at: int, limit: int) -> tuple[int, int] | None:
    """Returns size and physical offset of the record at `at`, checked as `read_record` does with its checksum, or None.

    For recovery, which looks at millions of records and needs nothing else of them.
    """
    if limit - at < V4_HEAD.size:
        return None
    head = V4_HEAD.unpack_from(view, at)
    size, magic, crc, sys_flag, body_size = head[0], head[1], head[2], head[7], head[14]
    topic_at = at + V4_HEAD.size + body_size
    if magic != MAGIC_V1 or sys_flag & _WIDE or body_size < 0 or topic_at + 3 >= limit:
        record = read_record(view, at, limit, check_crc=True)
        return (record.size_bytes, record.physical_offset) if record is not None and is_name(record.topic) else None
    properties_at = topic_at + 1 + view[topic_at]
    end = at + size
    if end > limit or properties_at + 2 > end:
        return None
    if properties_at + 2 + _SHORT.unpack_from(view, properties_at)[0] != end or not view[topic_at]:
        return None
    if body_size and zlib.crc32(view[at + V4_HEAD.size : topic_at]) & CRC_MASK != crc:
        return None
    return size, head[6]


def is_name(topic: str) -> bool:
    """Whether a topic read from a file can name a directory."""
    return bool(topic) and "/" not in topic and "\0" not in topic and topic not in (".", "..")


def text_of_properties(record: bytes) -> str:
    """Returns the property text of a whole record exactly as it is stored, or nothing when that is no record."""
    parsed = read_record(record, 0, len(record), check_crc=False)
    return parsed.properties if parsed is not None else ""


def store_time_of(record: bytes | memoryview) -> int | None:
    """Returns the store time in the first bytes of a record (88 are enough), or None when they are none."""
    if len(record) < V4_HEAD.size:
        return None
    head = _HEAD.unpack_from(record)
    if head[1] not in (MAGIC_V1, MAGIC_V2):
        return None
    wide = head[7] & SYSFLAG_BORN_HOST_V6
    return int(_TIME.unpack_from(record, _HEAD.size + (20 if wide else 8))[0])


def blank(left: int) -> bytes:
    """Returns the filler that closes a file with `left` bytes left."""
    return SIZE_AND_MAGIC.pack(left, MAGIC_BLANK)


def is_blank(data: bytes | memoryview, at: int) -> bool:
    """Whether the filler that closes a file stands at `at`."""
    return len(data) - at >= BLANK_BYTES and SIZE_AND_MAGIC.unpack_from(data, at)[1] == MAGIC_BLANK
