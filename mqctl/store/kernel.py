"""Vectorised reading of commit log bytes: hopping from record to record, and header fields as columns.

All positions are byte positions in one file's buffer. Nothing here loops per message in Python. The layout is that of
`MessageDecoder` (4.9.8, 5.3.3); the acceptance test is the broker's (`CommitLog.checkMessageAndReturnSize`) plus the
physical offset, which the broker does not compare but which no leftover of another file survives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from enum import StrEnum
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mqctl.model.lazy_dataclass import dataclass
from mqctl.store import dtypes
from mqctl.store import layouts as lay
from mqctl.store.mapped_files import Buffer

Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

CHUNK_RECORDS = 1 << 13
"""Records whose headers are gathered at once: the compact copies stay in the processor's cache."""


class Stop(StrEnum):
    """Why a walk through a file ended."""

    END = "end"  # fewer than eight bytes left
    BLANK = "blank"  # the filler at the end of a full file
    UNWRITTEN = "unwritten"  # zeros: the log goes no further
    BAD_MAGIC = "bad_magic"
    TORN = "torn"  # a length that fits no record or leaves the file
    FOREIGN = "foreign"  # the record says it belongs elsewhere
    LENGTH_MISMATCH = "length_mismatch"  # the parts do not add up to the whole


@dataclass(frozen=True, slots=True)
class Tail:
    """Where and why a walk stopped, with the size and magic found there."""

    stop: Stop
    position: int
    size: int = 0
    magic: int = 0

    @property
    def is_clean(self) -> bool:
        return self.stop in (Stop.END, Stop.BLANK, Stop.UNWRITTEN)


@dataclass(frozen=True, slots=True)
class Headers:
    """Header fields of records, one native array a field, all of one length.

    `position` (int64) is where the record starts in the buffer; `body_start`, `topic_start` and `properties_start`
    (int64) are positions in the buffer too; sizes are in bytes. A record that lies about its lengths has spans that may
    leave the buffer: `accepted` tells. Such a record's `topic_size` and `properties_size` are -1 when they could not
    be read.
    """

    position: Int64s
    total_size: Int32s
    magic: Int32s
    body_crc: Int32s
    queue_id: Int32s
    flag: Int32s
    queue_offset: Int64s
    physical_offset: Int64s
    sys_flag: Int32s
    born_time_ms: Int64s
    store_time_ms: Int64s
    reconsume_times: Int32s
    prepared_offset: Int64s
    body_start: Int64s
    body_size: Int32s
    topic_start: Int64s
    topic_size: Int32s
    properties_start: Int64s
    properties_size: Int32s

    def __len__(self) -> int:
        return len(self.position)

    def take(self, rows: slice | Mask | Int64s) -> Self:
        """Returns the rows chosen by a slice, a mask or an index array."""
        return type(self)(*(getattr(self, item.name)[rows] for item in fields(self)))

    @classmethod
    def concatenate(cls, parts: list[Self]) -> Self:
        """Joins chunks of one buffer, in order."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(part, item.name) for part in parts]) for item in fields(cls)))


def unaligned(buffer: Buffer, dtype: str) -> NDArray[Any]:
    """Views `buffer` as overlapping values: element `p` is the value at byte `p`."""
    width = np.dtype(dtype).itemsize
    count = max(0, len(buffer) - width + 1)
    return np.ndarray((count,), dtype=dtype, buffer=buffer if count else np.empty(width, np.uint8), strides=(1,))


def gather(buffer: Buffer, dtype: str, at: Int64s) -> NDArray[Any]:
    """Reads one value of type `dtype` (as on disk) at each byte position; positions outside are moved to the nearest.

    Indexing it must be: `ndarray.take` would first copy the overlapping view, eight times the buffer.
    """
    view = unaligned(buffer, dtype)
    if not len(view):
        return np.zeros(len(at), dtype=dtype)
    gathered: NDArray[Any] = view[np.clip(at, 0, len(view) - 1)]
    return gathered


def headers(buffer: Buffer, positions: Int64s) -> Headers:
    """Reads the header fields of the records at `positions` (int64, any order).

    Raises:
        IndexError: a position leaves no room for the fixed part of a record.
    """
    chunks = [
        _chunk_headers(buffer, positions[begin : begin + CHUNK_RECORDS])
        for begin in range(0, max(1, len(positions)), CHUNK_RECORDS)
    ]
    return Headers.concatenate(chunks)


def header_chunks(buffer: Buffer, positions: Int64s) -> Iterator[Headers]:
    """Yields the same in chunks of `CHUNK_RECORDS`, for callers that aggregate."""
    for begin in range(0, len(positions), CHUNK_RECORDS):
        yield _chunk_headers(buffer, positions[begin : begin + CHUNK_RECORDS])


def _chunk_headers(buffer: Buffer, positions: Int64s) -> Headers:
    if len(positions) and (int(positions.min()) < 0 or int(positions.max()) > len(buffer) - lay.HEADER_BYTES):
        raise IndexError("a record position leaves the buffer")
    window = np.ndarray(
        (max(0, len(buffer) - lay.HEADER_BYTES + 1),),
        dtype=f"V{lay.HEADER_BYTES}",
        buffer=buffer if len(buffer) >= lay.HEADER_BYTES else np.empty(lay.HEADER_BYTES, np.uint8),
        strides=(1,),
    )
    raw = window[positions].view(dtypes.RECORD_HEADER)
    columns = {name: raw[name].astype(raw[name].dtype.newbyteorder("=")) for name in _PLAIN_FIELDS}
    body_start = positions + lay.HEADER_BYTES
    sys_flag = columns["sys_flag"]
    if np.bitwise_or.reduce(sys_flag, initial=0) & 0x30:
        _read_v6(buffer, positions, columns, body_start)
    return Headers(position=positions, body_start=body_start, **columns, **_spans(buffer, columns, body_start))


_PLAIN_FIELDS = tuple(name for name in dtypes.RECORD_HEADER.names or () if not name.endswith("_host"))
_AFTER_BORN_HOST = (
    ("store_time_ms", ">i8", 56, False),
    ("reconsume_times", ">i4", 72, True),
    ("prepared_offset", ">i8", 76, True),
    ("body_size", ">i4", 84, True),
)


def _read_v6(buffer: Buffer, positions: Int64s, columns: dict[str, NDArray[Any]], body_start: Int64s) -> None:
    """Reads again, in place, what IPv6 hosts have shifted."""
    sys_flag = columns["sys_flag"]
    rows = np.flatnonzero(sys_flag & 0x30)
    born_shift = 12 * ((sys_flag[rows] >> 4) & 1).astype(np.int64)
    both_shift = born_shift + 12 * ((sys_flag[rows] >> 5) & 1)
    for name, dtype, offset, after_store_host in _AFTER_BORN_HOST:
        at = positions[rows] + offset + (both_shift if after_store_host else born_shift)
        columns[name][rows] = gather(buffer, dtype, at)
    body_start[rows] += both_shift


def _spans(buffer: Buffer, columns: dict[str, NDArray[Any]], body_start: Int64s) -> dict[str, NDArray[Any]]:
    """Finds topic and properties behind the body; sizes are -1 where the lengths lead out of the buffer."""
    last = len(buffer) - 1
    topic_at = body_start + columns["body_size"]
    bad = (columns["body_size"] < 0) | (topic_at > last)
    topic_size = buffer.take(topic_at, mode="clip").astype(np.int32)
    topic_start = topic_at + 1
    wide = columns["magic"] == lay.MAGIC_V2
    if wide.any():
        low = buffer.take(topic_at + 1, mode="clip")
        topic_size = np.where(wide, (topic_size << 8) | low, topic_size)
        topic_start += wide
    properties_at = topic_start + topic_size
    bad |= properties_at > last - 1
    properties_size = gather(buffer, ">i2", properties_at).astype(np.int32)
    if bad.any():
        topic_size[bad] = -1
        properties_size[bad] = -1
    return {
        "topic_start": topic_start,
        "topic_size": topic_size,
        "properties_start": properties_at + 2,
        "properties_size": properties_size,
    }


def accepted(headers: Headers, file_start: int, limit: int) -> Mask:
    """Marks the records that pass the structural test; `limit` is the position behind which no record may reach.

    Tested are magic, size, physical offset, the sign of every length, and that the parts add up to the whole. The
    body's CRC is `verify`'s business: it costs a pass over every byte.
    """
    mask: Mask = (
        _well_sized(headers, limit)
        & (headers.physical_offset == file_start + headers.position)
        & (headers.total_size == stated_size(headers))
        & (headers.topic_size >= 1)
        & (headers.properties_size >= 0)
        & (headers.body_size >= 0)
    )
    return mask


def _well_sized(headers: Headers, limit: int) -> Mask:
    mask: Mask = ((headers.magic == lay.MAGIC_V1) | (headers.magic == lay.MAGIC_V2)) & (
        headers.total_size >= lay.SMALLEST_RECORD_BYTES
    )
    return mask & (headers.position + headers.total_size <= limit)


def stated_size(headers: Headers) -> Int64s:
    """Adds up the parts of each record: what its total size must be."""
    size: Int64s = headers.properties_start + headers.properties_size - headers.position
    return size


def classify(buffer: Buffer, position: int, file_start: int, limit: int) -> Tail:
    """Names what stands at `position`, where a walk found no acceptable record."""
    if len(buffer) - position < lay.BLANK_BYTES:
        return Tail(Stop.END, position)
    size, magic = lay.SIZE_AND_MAGIC.unpack_from(buffer.data, position)
    if magic == lay.MAGIC_BLANK:
        return Tail(Stop.BLANK, position, size, magic)
    if size == 0 and magic == 0:
        return Tail(Stop.UNWRITTEN, position, size, magic)
    stop = Stop.LENGTH_MISMATCH
    if magic not in (lay.MAGIC_V1, lay.MAGIC_V2):
        stop = Stop.BAD_MAGIC
    elif size < lay.SMALLEST_RECORD_BYTES or position + size > limit:
        stop = Stop.TORN
    elif int.from_bytes(bytes(buffer[position + 28 : position + 36]), "big", signed=True) != file_start + position:
        stop = Stop.FOREIGN
    return Tail(stop, position, size, magic)
