"""Timer files of 5.x: the wheel's slots, the timer log's records, and the timer checkpoint. Reading only.

Source: `TimerWheel`, `Slot`, `TimerLog`, `TimerCheckpoint` of 5.3.3.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import BadInputError, NotFoundError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store import dtypes
from mqctl.store import layouts as lay
from mqctl.store.mapped_files import OddFile, map_file, mapped_files
from mqctl.store.plain_files import read_file
from mqctl.text import sentence

ROLL = 0x2
DELETE = 0x4
_NO_POSITION = -1
_PORTION = 1 << 16

_MOST_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerCheck:
    """`config/timercheck`: until where the wheel was turned and the timer topic read."""

    last_read_time_ms: int
    last_timer_log_flush_pos: int
    last_timer_queue_offset: int
    master_timer_queue_offset: int
    state_version: int = 0
    timestamp_ms: int = 0
    counter: int = 0


def read_timer_check(path: Path) -> TimerCheck | None:
    """Reads the timer checkpoint; None when there is none.

    Raises:
        BadInputError: it is too short.
        PermissionDeniedError, StorageError: it cannot be read.
    """
    try:
        data = read_file(path)
    except NotFoundError:
        return None
    if len(data) < lay.TIMER_CHECK.size:
        raise BadInputError(
            sentence("store-read-config-timercheck", "read config/timercheck"),
            reason=sentence(
                "store-bytes-too-few",
                "{data:byte is/are} too few for its {size}",
                data=len(data),
                size=lay.TIMER_CHECK.size,
            ),
        )
    read, flushed, offset, master, state, timestamp, counter = lay.TIMER_CHECK.unpack_from(data)
    return TimerCheck(
        last_read_time_ms=read,
        last_timer_log_flush_pos=flushed,
        last_timer_queue_offset=offset,
        master_timer_queue_offset=master,
        state_version=state,
        timestamp_ms=timestamp,
        counter=counter,
    )


def used_slots(path: Path) -> NDArray[Any]:
    """Returns the slots of the wheel that were ever used, native, with the fields of `dtypes.TIMER_SLOT`.

    Times are in units of the broker's precision (`time_units * timerPrecisionMs` is epoch ms). An absent file has none.
    """
    native = dtypes.TIMER_SLOT.newbyteorder("=")
    if not os.path.lexists(path):
        return np.empty(0, dtype=native)
    data = map_file(path)
    if len(data) > _MOST_BYTES:
        raise OddFile(
            path, 0, sentence("store-larger-two-gib", "it is larger than 2 GiB, and no broker can map it")
        ).error()
    slots = data[: len(data) // dtypes.TIMER_SLOT.itemsize * dtypes.TIMER_SLOT.itemsize].view(dtypes.TIMER_SLOT)
    return slots[np.flatnonzero(slots["time_units"] > 0)].astype(native)


def timer_log(directory: Path) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Returns positions (int64) and records (native, fields of `dtypes.TIMER_LOG_RECORD`) of the timer log.

    Reading a file stops at the first unit that is not 52 bytes long: the filler at its end, or what is not written yet.
    """
    native = dtypes.TIMER_LOG_RECORD.newbyteorder("=")
    positions, parts = [np.empty(0, np.int64)], [np.empty(0, dtype=native)]
    for file in mapped_files(directory):
        count = len(file.buffer) // lay.TIMER_LOG_RECORD_BYTES
        raw = file.buffer[: count * lay.TIMER_LOG_RECORD_BYTES].view(dtypes.TIMER_LOG_RECORD)
        written = _written(raw)
        parts.append(raw[:written].astype(native))
        positions.append(file.start + np.arange(written, dtype=np.int64) * lay.TIMER_LOG_RECORD_BYTES)
    return np.concatenate(positions), np.concatenate(parts)


def _written(units: NDArray[Any]) -> int:
    """Returns how many units are records, portion by portion: most of a file may be a hole."""
    for begin in range(0, len(units), _PORTION):
        some = units[begin : begin + _PORTION]
        bad = (some["size"] != lay.TIMER_LOG_RECORD_BYTES) | (some["magic"] < 0) | (some["magic"] > 15)
        if bad.any():
            return begin + int(np.argmax(bad))
    return len(units)


def chain(slot_last_pos: int, positions: NDArray[np.int64], records: NDArray[Any]) -> list[int]:
    """Rows of `records` that hang in one slot, newest first: from its last position through previous positions."""
    rows: list[int] = []
    position = slot_last_pos
    while position != _NO_POSITION:
        row = int(np.searchsorted(positions, position))
        if row >= len(positions) or int(positions[row]) != position or (rows and row >= rows[-1]):
            break
        rows.append(row)
        position = int(records["previous_pos"][row])
    return rows
