"""Verification of the timer files of 5.x: whether everything that waits hangs where the wheel will find it.

Three files have to agree: the slots of the wheel lead to records of the timer log, those to messages of the timer
topic, and the checkpoint says how far the slots were emptied and the topic was read. After a kill they need not, and
the broker's recovery mends it. Source: `TimerMessageStore`, `TimerWheel`, `TimerLog` of 5.3.3.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import BadInputError, MqctlError
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.names import TIMER_TOPIC
from mqctl.store.consumequeue import is_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Int64s, Mask
from mqctl.store.layouts import TIMER_LOG_RECORD_BYTES
from mqctl.store.mapped_files import mapped_files
from mqctl.store.timer import TimerCheck, chain, read_timer_check, timer_log, used_slots

_WHEEL, _LOG, _CHECK = "timerwheel", "timerlog", "config/timercheck"
_PRECISIONS_MS = (1_000, 500, 200, 100)
_SLOT_BYTES = 32
_RING_SLOTS = 2 * 7 * 86_400
_LOOKS, _BETWEEN_LOOKS_S = 40, 0.05


def verify_timers(store: StoreDirectory) -> list[Damage]:
    """Compares the timer files with each other and with the timer topic; nothing for a store without them.

    A broker that runs changes them one after another: what no second look finds at the same place was being done.
    """
    damages = _look(store)
    for _ in range(_LOOKS if store.is_written else 0):
        if not damages:
            break
        time.sleep(_BETWEEN_LOOKS_S)
        again = {_place(damage) for damage in _look(store)}
        damages = [damage for damage in damages if _place(damage) in again]
    return damages


def _place(damage: Damage) -> tuple[DamageCode, str, int | None, int | None]:
    return damage.code, damage.file, damage.offset, damage.physical_offset


def _look(store: StoreDirectory) -> list[Damage]:
    try:
        check = read_timer_check(store.path / "config" / "timercheck")
    except BadInputError as error:
        return [_damage(store, DamageCode.TIMER_CHECK, _CHECK, always=True, reason=error.reason)]
    if check is None:
        return []
    files = mapped_files(store.path / _LOG)
    gaps = [
        _damage(store, DamageCode.TIMER_LOG_GAP, f"{_LOG}/{after.path.name}", always=True, start=before.end)
        for before, after in pairwise(files)
        if before.end != after.start
    ]
    return gaps or _Timers(store, check).damages()


def _damage(
    store: StoreDirectory, code: DamageCode, file: str, *, always: bool = False, mended: bool = False,
    offset: int | None = None, physical: int | None = None, count: int = 1, **params: int | str,
) -> Damage:  # fmt: skip
    """`mended`: a start mends it even after a tidy end; `always`: not even after a kill."""
    grade = DamageGrade.EXPECTED if mended or (store.abort() and not always) else DamageGrade.DAMAGE
    return Damage(
        code=code, grade=grade, file=file, offset=offset, physical_offset=physical, count=count, params=params
    )


class _Timers:
    """The timer files of one store, read against the way they are written: each after what it is named by."""

    def __init__(self, store: StoreDirectory, check: TimerCheck) -> None:
        self.store = store
        self.check = check
        self.used = used_slots(store.path / _WHEEL)
        self.positions, self.records = timer_log(store.path / _LOG)
        self.physical: Int64s = self.records["physical_offset"].astype(np.int64)
        self.slot_ms: Int64s = self.records["write_time_ms"].astype(np.int64) + self.records["delayed_ms"]
        self.waits: Mask = self.slot_ms >= check.last_read_time_ms
        self.topic_offsets, self.topic_physical = _topic(store)

    def damages(self) -> list[Damage]:
        return [*self._checkpoint(), *self._slots(), *self._dangling(), *self._missing()]

    def _checkpoint(self) -> list[Damage]:
        """The checkpoint must not be ahead of what it vouches for."""
        end = int(self.positions[-1]) + TIMER_LOG_RECORD_BYTES if len(self.positions) else 0
        vouched = self.check.last_timer_log_flush_pos
        damages = []
        if len(self.positions) and vouched > end and not self._is_next_file(vouched, end):
            damages.append(_damage(self.store, DamageCode.TIMER_CHECK, _CHECK, log_pos=vouched, log_end=end))
        high = int(self.topic_offsets[-1]) + 1 if len(self.topic_offsets) else 0
        offset = self.check.last_timer_queue_offset
        if len(self.topic_offsets) and offset > high:
            damages.append(_damage(self.store, DamageCode.TIMER_CHECK, _CHECK, queue_offset=offset, queue_end=high))
        return damages

    def _is_next_file(self, position: int, end: int) -> bool:
        """Tells whether a position is the begin of the file that follows the last record, a filler between them."""
        last = mapped_files(self.store.path / _LOG)[-1]
        return position == last.end and last.end - end < 2 * TIMER_LOG_RECORD_BYTES

    def _slots(self) -> list[Damage]:
        """Every slot that is still to be emptied leads to the records of its time, and they are all there."""
        precision_ms = self._precision_ms()
        units = self.slot_ms // precision_ms
        slots = self.used[self.used["time_units"] * precision_ms >= self.check.last_read_time_ms]
        led = np.zeros(len(self.records), dtype=bool)
        damages = []
        for slot in slots:
            rows = chain(int(slot["last_pos"]), self.positions, self.records)
            rows = [row for row in rows if int(units[row]) == int(slot["time_units"])]
            led[rows] = True
            markers = sum(bool(self.records["magic"][row] & 0x4) for row in rows)
            if not rows or len(rows) - 2 * markers != int(slot["num"]):
                place = int(slot["time_units"]) % _RING_SLOTS * _SLOT_BYTES
                damages.append(
                    _damage(self.store, DamageCode.TIMER_SLOT, _WHEEL, offset=place, num=int(slot["num"]),
                            records=len(rows), position=int(slot["last_pos"]))
                )  # fmt: skip
        # A tidy end writes the log down and not the wheel; a start hangs what the checkpoint does not vouch for.
        unled, late = self.waits & ~led, self.positions >= self.check.last_timer_log_flush_pos
        code = DamageCode.TIMER_RECORD_UNLED
        return damages + self._at_rows(code, unled & ~late) + self._at_rows(code, unled & late, mended=True)

    def _precision_ms(self) -> int:
        """Returns the largest precision that every slot time is a multiple of; the files do not name it."""
        return next((one for one in _PRECISIONS_MS if not (self.slot_ms % one).any()), _PRECISIONS_MS[-1])

    def _dangling(self) -> list[Damage]:
        """Every record leads to a message of the timer topic that the commit log still has."""
        if not len(self.topic_offsets):
            return []
        kept = self.physical >= self.store.commit_log.min_offset
        return self._at_rows(DamageCode.TIMER_RECORD_DANGLING, kept & ~np.isin(self.physical, self.topic_physical))

    def _at_rows(self, code: DamageCode, wrong: Mask, *, mended: bool = False) -> list[Damage]:
        rows = np.flatnonzero(wrong)
        if not len(rows):
            return []
        first = int(rows[0])
        for file in mapped_files(self.store.path / _LOG):
            if file.start <= int(self.positions[first]) < file.end:
                return [
                    _damage(self.store, code, f"{_LOG}/{file.path.name}", physical=int(self.physical[first]),
                            offset=int(self.positions[first]) - file.start, count=len(rows), mended=mended)
                ]  # fmt: skip
        return []

    def _missing(self) -> list[Damage]:
        """What the checkpoint counts as taken from the timer topic, and is due yet, is in the timer log."""
        taken = self.topic_offsets < self.check.last_timer_queue_offset
        lost = [
            int(physical)
            for physical in self.topic_physical[taken & ~np.isin(self.topic_physical, self.physical)]
            if self._is_due_yet(int(physical))
        ]
        if not lost:
            return []
        return [_damage(self.store, DamageCode.TIMER_MESSAGE_MISSING, _LOG, physical=lost[0], count=len(lost))]

    def _is_due_yet(self, physical_offset: int) -> bool:
        try:
            out = self.store.commit_log.record_at(physical_offset).properties.get("TIMER_OUT_MS", "")
        except MqctlError:
            return False  # the commit log's own verification tells
        return out.isascii() and out.isdigit() and int(out) >= self.check.last_read_time_ms


def _topic(store: StoreDirectory) -> tuple[Int64s, Int64s]:
    """Returns logical and physical offsets of the timer topic that the commit log still has, up to its end by now."""
    store = store.up_to_now()
    parts: list[tuple[Int64s, NDArray[Any]]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    if store.consume_queue_kind == "file":
        queue = store.consume_queue(TIMER_TOPIC, 0)
        for first, entries in queue.runs(queue.min_offset(store.commit_log.min_offset), queue.max_offset):
            real = is_message(entries)
            offsets = first + np.arange(len(entries), dtype=np.int64)
            parts.append((offsets[real], entries["physical_offset"][real].astype(np.int64)))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
