"""Walking a commit log file from record to record, many lanes at once.

A record's size tells where the next begins, so a plain walk is a chain of dependent reads. Here a window of the file
is cut at records found by their magic and physical offset, every piece is walked in step with the others, and the
pieces are accepted only where the one's end meets the other's start. Whatever the cuts, the result is that of the
plain walk.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mqctl.model.lazy_dataclass import dataclass
from mqctl.store import layouts as lay
from mqctl.store.kernel import Headers, Int64s, Stop, Tail, accepted, classify, header_chunks, unaligned
from mqctl.store.mapped_files import Buffer

WINDOW_BYTES = 128 << 20
LANE_BYTES = 128 << 10


@dataclass(frozen=True, slots=True)
class Walk:
    """Positions (int64, ascending) of the accepted records, and what ended the walk."""

    positions: Int64s
    tail: Tail


def record_limit(buffer: Buffer, capacity: int | None) -> int:
    """Returns the position no record may pass: eight bytes before the end of a file of full size.

    `capacity` is the size the file was created with; None or a shorter file (half copied) sets no such reserve.
    """
    if capacity is not None and len(buffer) >= capacity:
        return capacity - lay.BLANK_BYTES
    return len(buffer)


def walk(buffer: Buffer, file_start: int, start: int = 0, *, capacity: int | None = None) -> Walk:
    """Walks the records of a file from position `start` until something is no acceptable record."""
    parts: list[Int64s] = []
    tail = Tail(Stop.END, start)
    for part, end in scan(buffer, file_start, start, capacity=capacity):
        if part is not None:
            parts.append(part.position)
        if end is not None:
            tail = end
    return Walk(np.concatenate(parts) if parts else np.empty(0, dtype=np.int64), tail)


def scan(
    buffer: Buffer, file_start: int, start: int = 0, *, capacity: int | None = None
) -> Iterator[tuple[Headers | None, Tail | None]]:
    """Walks as `walk` does, yielding the headers chunk by chunk; the last pair carries the tail and no headers."""
    limit = record_limit(buffer, capacity)
    cursor = start
    while True:
        positions, next_cursor = _window(buffer, file_start, cursor, limit)
        for chunk in header_chunks(buffer, positions):
            good = accepted(chunk, file_start, limit)
            if good.all():
                yield chunk, None
                continue
            first_bad = int(np.argmin(good))
            if first_bad:
                yield chunk.take(slice(0, first_bad)), None
            yield None, classify(buffer, int(chunk.position[first_bad]), file_start, limit)
            return
        if next_cursor == cursor or not len(positions):
            yield None, classify(buffer, next_cursor, file_start, limit)
            return
        cursor = next_cursor


def _window(buffer: Buffer, file_start: int, cursor: int, limit: int) -> tuple[Int64s, int]:
    """Hops from `cursor` through one window; returns the positions visited and where the chain stands then."""
    end = min(cursor + WINDOW_BYTES, len(buffer))
    starts, end = _split(buffer, file_start, cursor, end)
    bounds = np.append(starts[1:], end)
    visited, last = _hop(buffer, starts, bounds, limit)
    # Pieces join where a lane ended exactly on the next lane's start.
    joined = last[:-1] == starts[1:]
    if joined.all():
        return np.sort(visited), int(last[-1])
    broken = int(np.argmin(joined))
    cut = np.sort(visited[visited < bounds[broken]])
    return cut, int(last[broken])


def _split(buffer: Buffer, file_start: int, cursor: int, end: int) -> tuple[Int64s, int]:
    """Chooses record starts in (cursor, end) by which the window is cut, `cursor` first.

    Returns them and the window's end, drawn in to where a whole lane shows no record: the unwritten rest of a file.
    """
    starts = [cursor]
    view = buffer.data
    for goal in range(cursor + LANE_BYTES, end, LANE_BYTES):
        if goal <= starts[-1]:
            continue
        position = find_record(buffer, view, file_start, goal, min(goal + LANE_BYTES, end))
        if position is None:
            end = min(goal + LANE_BYTES, end)
            break
        starts.append(position)
    return np.array(starts, dtype=np.int64), end


def find_record(buffer: Buffer, view: memoryview, file_start: int, begin: int, end: int) -> int | None:
    """Finds the first position in [begin, end) that bears a magic and its own physical offset, or None.

    A record copied into a body is passed over, for its physical offset is another.
    """
    block = 512
    while begin < end:
        stop = min(begin + block, end)
        piece = bytes(view[begin + 4 : stop + 40])
        at = piece.find(lay.MAGIC_V1_BYTES[:3])
        while 0 <= at < stop - begin:
            own = piece[at + 24 : at + 32]
            if (
                piece[at + 3 : at + 4] in (b"\xa7", b"\xab")
                and len(own) == 8
                and int.from_bytes(own, "big", signed=True) == file_start + begin + at
            ):
                return begin + at
            at = piece.find(lay.MAGIC_V1_BYTES[:3], at + 1)
        begin = stop
        block *= 2
    return None


def _hop(buffer: Buffer, starts: Int64s, bounds: Int64s, limit: int) -> tuple[Int64s, Int64s]:
    """Steps every lane from its start until its bound; returns all positions and each lane's last cursor.

    Only magic, size and room for a header decide here; the headers' full test follows on what was collected.
    """
    last = starts.copy()
    if len(buffer) < lay.HEADER_BYTES:
        return np.empty(0, dtype=np.int64), last
    heads = unaligned(buffer, ">i8")
    bounds = np.minimum(bounds, min(limit, len(buffer)) - lay.HEADER_BYTES + 1)
    alive = np.flatnonzero(starts < bounds)
    cursor, bound = starts[alive], bounds[alive]
    visited: list[Int64s] = []
    while len(alive):
        head = heads[cursor].astype(np.int64)
        size = head >> 32
        following = cursor + size
        ok = (head & _MAGIC_MASK) == _MAGIC_COMMON
        ok &= size >= lay.SMALLEST_RECORD_BYTES
        ok &= following <= limit
        if not ok.all():
            last[alive[~ok]] = cursor[~ok]
            alive, bound, cursor, following = alive[ok], bound[ok], cursor[ok], following[ok]
        visited.append(cursor)
        cursor = following
        on = cursor < bound
        if not on.all():
            last[alive[~on]] = cursor[~on]
            alive, bound, cursor = alive[on], bound[on], cursor[on]
    return (np.concatenate(visited) if visited else np.empty(0, dtype=np.int64)), last


# What the two magics have in common; which of them it is, `accepted` looks at.
_MAGIC_MASK = np.int64(0xFFFFFFF3)
_MAGIC_COMMON = np.int64(lay.MAGIC_V1 & 0xFFFFFFF3)
