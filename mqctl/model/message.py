"""A stored message, decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from mqctl.model.lazy_dataclass import dataclass

SYSFLAG_COMPRESSED = 0x1
SYSFLAG_TRANSACTION_MASK = 0xC
SYSFLAG_PREPARED = 0x4
SYSFLAG_COMMIT = 0x8
SYSFLAG_ROLLBACK = 0xC
SYSFLAG_BORN_HOST_V6 = 0x10
SYSFLAG_STORE_HOST_V6 = 0x20
SYSFLAG_INNER_BATCH = 0x80
SYSFLAG_COMPRESSION_MASK = 0x700

TAGS = "TAGS"
KEYS = "KEYS"
UNIQ_KEY = "UNIQ_KEY"
DELAY = "DELAY"
REAL_TOPIC = "REAL_TOPIC"
REAL_QID = "REAL_QID"
RETRY_TOPIC = "RETRY_TOPIC"
SHARDING_KEY = "__SHARDINGKEY"
PRODUCER_GROUP = "PGROUP"
TRANSACTION_CHECK_TIMES = "TRANSACTION_CHECK_TIMES"
TRAN_PREPARED_QUEUE_OFFSET = "TRAN_PREPARED_QUEUE_OFFSET"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message record, from a commit log or from the wire.

    Attributes:
        queue_offset: logical offset in (topic, queue id).
        physical_offset: byte offset of the record in the commit log.
        size_bytes: length of the whole record.
        sys_flag: bits of Java's `MessageSysFlag` (compressed, transaction, IPv6, batch, compression type).
        born_time_ms, store_time_ms: producer's and broker's clock, epoch milliseconds.
        born_host, store_host: `ip:port` (IPv6 in brackets).
        body: as stored, that is, still compressed when `sys_flag` says so.
        body_crc: CRC-32 of the stored body with the sign bit cleared.
        properties: parsed properties; later duplicates win.
    """

    topic: str
    queue_id: int
    queue_offset: int
    physical_offset: int
    size_bytes: int
    flag: int
    sys_flag: int
    born_time_ms: int
    born_host: str
    store_time_ms: int
    store_host: str
    reconsume_times: int
    prepared_transaction_offset: int
    body_crc: int
    body: bytes
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def tags(self) -> str | None:
        return self.properties.get(TAGS)

    @property
    def keys(self) -> list[str]:
        return [key for key in self.properties.get(KEYS, "").split(" ") if key]

    @property
    def unique_key(self) -> str | None:
        return self.properties.get(UNIQ_KEY)
