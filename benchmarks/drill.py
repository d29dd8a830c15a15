"""`drill check` on a history of ten million events, with its peak of memory: `python -m benchmarks.drill [EVENTS]`.

Events are as those of real drills: four producers, 100 keys, two groups of which one reads in order. The
figures are CPU seconds of this process and its largest resident set; a plain loop that splits the same lines and does
nothing else is measured beside it.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mqctl.drill.checker import Checker
from mqctl.drill.declarations import (
    Allowances,
    ConsumerJoined,
    DrillBegan,
    DrillEnded,
    GroupNamed,
    ProducerNamed,
    QueueNamed,
    declared_line,
)
from mqctl.drill.history import HEAD

_EVENTS = 10_000_000
_PRODUCERS, _QUEUES, _KEYS = 4, 16, 100
_BATCH = 50_000
_EACH_US = 50


def write(path: Path, messages: int) -> None:
    """Writes a sound history of so many messages: sent, acknowledged, and delivered to two groups."""
    declarations = [
        DrillBegan(topic="T", began_ms=0, lost_after_us=1_000_000, late_after_us=1_000_000, membership=Allowances()),
        GroupNamed(group=0, name="orderly", mode="orderly"),
        GroupNamed(group=1, name="concurrent", mode="concurrent"),
        *(QueueNamed(queue=number, topic="T", broker="b", queue_id=number) for number in range(_QUEUES)),
        *(ProducerNamed(actor=number, name=f"p{number}") for number in range(_PRODUCERS)),
        *(ConsumerJoined(actor=100 + group, name=f"c{group}", group=group) for group in range(2)),
    ]
    with path.open("wb") as stream:
        stream.write(b"".join(line + b"\n" for line in [HEAD, *map(declared_line, declarations)]))
        for first in range(0, messages, _BATCH):
            serial = np.arange(first, min(first + _BATCH, messages))
            producer, number = serial % _PRODUCERS, serial // _PRODUCERS
            key = number % _KEYS
            queue, place = key % _QUEUES, serial  # ascending within a queue is all that a queue promises
            at = serial * _EACH_US
            for shape, columns in (
                ("s %d %d %d %d %d -1 0 0", (at, producer, producer, number, key)),
                ("a %d %d %d %d %d %d %d 10", (at + 10, producer, producer, number, key, queue, place)),
                ("d %d 100 %d %d %d %d %d 0", (at + 20, producer, number, key, queue, place)),
                ("d %d 101 %d %d %d %d %d 0", (at + 30, producer, number, key, queue, place)),
            ):
                rows = zip(*(column.tolist() for column in columns), strict=True)
                stream.write("".join([shape % row + "\n" for row in rows]).encode())
        stream.write(declared_line(DrillEnded(at_us=messages * _EACH_US + 10_000_000)) + b"\n")


def main() -> None:
    """Prints events, CPU seconds of checker and loop, and the peak."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else _EVENTS
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "drill.history"
        write(path, events // 4)
        print(f"{events:,} events, {path.stat().st_size / 1e6:,.0f} MB", flush=True)
        before_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began, wall = time.process_time(), time.monotonic()
        verdict = Checker(path).judge()
        took, elapsed = time.process_time() - began, time.monotonic() - wall
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"checker      {took:6.1f} s of CPU, {elapsed:.1f} s, peak {peak_mb:,.0f} MB (before: {before_mb:,.0f} MB)"
        )
        print(f"verdict      {verdict.state}, {verdict.acknowledged:,} acknowledged, {verdict.delivered:,} delivered")
        began = time.process_time()
        with path.open("rb") as stream:
            fields = sum(len(line.split()) for line in stream)
        print(f"plain loop   {time.process_time() - began:6.1f} s of CPU to split its {fields:,} fields")


if __name__ == "__main__":
    main()
