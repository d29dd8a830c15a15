"""How recordings grow, and what looking back over them costs: `python -m benchmarks.recording_growth`.

First sizes: a quarter of a day of looks every 30 s, by groups a broker, share of them that moves, and brokers; from it
bytes a broker and day, and a year of 100 brokers. Then `mqctl doctor --recording` over days of hourly looks of 2,000
groups of 8 queues: CPU and memory of the command.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.recording import BEGIN_MS, DAY_MS, EVERY_MS, QUEUES, snapshots
from mqctl.model.spans import HOUR_MS
from mqctl.recording.kinds import RowKind
from mqctl.recording.place import open_place, pieces_in
from mqctl.recording.writer import QUARTER_MS, LookTime, RecordingWriter

SIZES = ((1, 10, 0.2), (1, 40, 0.2), (1, 160, 0.2), (1, 40, 1.0), (4, 40, 0.2), (8, 40, 0.2))
"""Brokers, groups on each, and the share that moves."""


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, nargs="*", default=[3, 6, 12])
    wanted = parser.parse_args()
    print("brokers  groups each  moving  kB a broker and day  bytes a moving queue and look  year of 100 brokers")
    for brokers, groups, active in SIZES:
        with tempfile.TemporaryDirectory() as directory:
            size = quarter_bytes(Path(directory), brokers, groups, active) * 4 / brokers
        rows = groups * active * QUEUES * (DAY_MS // EVERY_MS)
        year = size * 365 * 100
        print(
            f"{brokers:>7}  {groups:>11}  {active:>6.0%}  {size / 1e3:>19,.0f}"
            f"  {size / rows:>29.1f}  {year / 1e9:>16,.1f} GB",
            flush=True,
        )
    for days in wanted.days:
        with tempfile.TemporaryDirectory() as directory:
            record(Path(directory), days * 24, brokers=1, groups=2_000, active=0.2, every_ms=HOUR_MS)
            used_s, peak_mib = judged(Path(directory))
        print(
            f"doctor over {days} days of 2,000 groups, hour by hour: {used_s:.1f} s of CPU, {peak_mib:,} MiB",
            flush=True,
        )


def record(directory: Path, count: int, *, brokers: int, groups: int, active: float, every_ms: int = EVERY_MS) -> None:
    writer = RecordingWriter(open_place(str(directory)), "simulated", every_ms=every_ms, keep_ms=400 * DAY_MS)
    for moment_ms, snapshot in snapshots(active, count, groups=groups, brokers=brokers, every_ms=every_ms):
        writer.look(snapshot, LookTime(wall_ms=moment_ms, steady_ms=moment_ms))
        if moment_ms % HOUR_MS == 0:
            writer.tidy()
    for _ in RowKind:
        writer.tidy()


def quarter_bytes(directory: Path, brokers: int, groups: int, active: float) -> int:
    record(directory, QUARTER_MS // EVERY_MS + 1, brokers=brokers, groups=groups, active=active)
    pieces = [piece for piece in pieces_in(open_place(str(directory))) if piece.last_ms < BEGIN_MS + QUARTER_MS]
    return sum((directory / piece.name).stat().st_size for piece in pieces)


def judged(directory: Path) -> tuple[float, int]:
    """Returns CPU seconds and peak memory (MiB) of the command."""
    words = (sys.executable, "-m", "mqctl", "doctor", "--recording", str(directory), "-o", "json")
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, used.ru_maxrss >> 10


if __name__ == "__main__":
    main()
