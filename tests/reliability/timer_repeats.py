"""Which timer messages of 5.x a broker may bring a second time, from what its files held when it died.

`config/timercheck` tells up to which moment the wheel's slots are emptied, and up to where the timer topic is hung into
them. What was done after it last reached the disk is done again at the next start; that is the window. Where each
message hangs is read from the timer log, with the readers of `mqctl`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from mqctl.model.message import Message
from mqctl.model.names import TIMER_TOPIC
from mqctl.store.layouts import TIMER_LOG_RECORD_BYTES
from mqctl.store.timer import read_timer_check, timer_log

TIMED = "Timed"
"""Topic of messages with a time of their own; the body of each is its name."""
_LONGEST_FILLER_BYTES = TIMER_LOG_RECORD_BYTES + 16


@dataclass
class DeadTimers:
    """What the files of a broker that ended tell of its timer messages.

    Attributes:
        delivered: copies by message.
        delivered_ms: when each was last delivered, epoch ms.
        waiting: by message, how many records of the timer topic the next start has before it; two when it died between
            rolling one and noting it.
        early: messages that were delivered before their time.
    """

    delivered: Counter[str] = field(default_factory=Counter)
    delivered_ms: dict[str, int] = field(default_factory=dict)
    waiting: Counter[str] = field(default_factory=Counter)
    early: set[str] = field(default_factory=set)
    _topic: list[tuple[int, int, str]] = field(default_factory=list)
    _markers: set[int] = field(default_factory=set)

    def take(self, message: Message) -> None:
        """Takes a message of the commit log, as they come."""
        name = message.body.decode()
        if message.topic == TIMER_TOPIC and "TIMER_DEL_UNIQKEY" in message.properties:
            self._markers.add(message.physical_offset)
        elif message.topic == TIMER_TOPIC:
            self._topic.append((message.physical_offset, message.queue_offset, name))
        elif message.topic == TIMED:
            self.delivered[name] += 1
            self.delivered_ms[name] = message.store_time_ms
            if message.store_time_ms < int(message.properties["TIMER_OUT_MS"]):
                self.early.add(name)

    def end(self, directory: Path, log_min: int) -> None:
        """Finds out what waits, when the whole log was taken.

        Where the timer log is shorter than the checkpoint says, or leads behind the end of the commit log, its last
        record tells what was taken from the topic (`TimerMessageStore.recover` of 5.3.3).
        """
        check = read_timer_check(directory / "config" / "timercheck")
        positions, records = timer_log(directory / "timerlog")
        read_ms, taken = (0, 0) if check is None else (check.last_read_time_ms, check.last_timer_queue_offset)
        known = {physical_offset for physical_offset, _, _ in self._topic} | self._markers
        sound = [one in known or one < log_min for one in records["physical_offset"].tolist()]
        count = len(sound) - next((number for number, one in enumerate(reversed(sound)) if one), len(sound))
        end = int(positions[count - 1]) + TIMER_LOG_RECORD_BYTES if count else 0
        if check is not None and end + _LONGEST_FILLER_BYTES < check.last_timer_log_flush_pos:
            last = int(records["physical_offset"][count - 1]) if count else -1
            taken = min((offset for physical, offset, _ in self._topic if physical > last), default=taken)
        slots_ms = records["write_time_ms"] + records["delayed_ms"]
        hanging = set(records["physical_offset"][slots_ms >= read_ms].tolist())
        for physical_offset, queue_offset, name in self._topic:
            self.waiting[name] += queue_offset >= taken or physical_offset in hanging


def timers_out_of_turn(before: DeadTimers, after: DeadTimers) -> tuple[int, list[str]]:
    """Judges one life of a broker: how many came again within their window, and in words what should not have come.

    Args:
        before, after: the files when the broker was started, and when it had ended.
    """
    inside, outside = 0, [f"{name} was delivered before its time" for name in sorted(after.early - before.early)]
    for name, count in after.delivered.items():
        known = before.delivered[name]
        new = count - known
        if new <= 0:
            continue
        allowed = before.waiting[name] if known or before.waiting[name] else 1
        if new > allowed:
            outside.append(f"{name} was delivered {new} times in one life, and {before.waiting[name]} of it waited")
        inside += new - (known == 0)
    return inside, outside


def late_checkpoint(before: DeadTimers, after: DeadTimers, persisted_ms: int | None) -> list[str]:
    """Names what a life delivered and left as waiting though the checkpoint was written since.

    Args:
        persisted_ms: when it was written, epoch ms; None when it was at last, as the broker was stopped.
    """
    return [
        f"{name} was delivered at {after.delivered_ms[name]}, and the checkpoint written since leaves it out"
        for name in sorted(after.delivered)
        if after.waiting[name]
        and after.delivered[name] > before.delivered[name]
        and (persisted_ms is None or after.delivered_ms[name] < persisted_ms)
    ]
