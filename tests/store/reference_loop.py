"""The plain truth that every vectorised scanner must equal: one record at a time with `struct`."""

from __future__ import annotations

import struct


def loop(data: bytes | memoryview, file_start: int, limit: int, pos: int = 0) -> list[int]:
    """Positions of the accepted records, until the first that is not."""
    records = []
    while pos + 92 <= limit:
        size, magic = struct.unpack_from(">iI", data, pos)
        if magic not in (0xDAA320A7, 0xDAA320AB) or size < 92 or pos + size > limit:
            break
        (physical, flag), wide = struct.unpack_from(">qi", data, pos + 28), magic == 0xDAA320AB
        body_at = pos + 88 + (12 if flag & 0x10 else 0) + (12 if flag & 0x20 else 0)
        (body,) = struct.unpack_from(">i", data, body_at - 4) if body_at <= limit else (-1,)
        topic_at = body_at + body
        if physical != file_start + pos or body < 0 or topic_at + 2 > len(data):
            break
        topic = struct.unpack_from(">h", data, topic_at)[0] if wide else data[topic_at]
        properties_at = topic_at + 1 + wide + topic
        if topic < 1 or properties_at + 2 > len(data):
            break
        (properties,) = struct.unpack_from(">h", data, properties_at)
        if properties < 0 or properties_at + 2 + properties != pos + size:
            break
        records.append(pos)
        pos += size
    return records
