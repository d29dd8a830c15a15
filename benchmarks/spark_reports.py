"""Backlog and skew on Spark beside a C walker, and backlogs from the consume queues alone.

    python -m benchmarks.spark_reports [--megabytes 1024] [--body 1024] [--entries 20000000]

Everything is measured in one run on one machine with a warm page cache, session start apart: compare the ratios. The C
walker (`benchmarks/scan/walker.c`, `gcc -O2`) runs on one core; Spark is local[2]. The entries of the last part point
into a sparse commit log in which only the records that are looked at exist.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.spark_backlog import PeakMemory, measure, write_store
from mqctl.model.backlog import BacklogBy
from mqctl.spark.engines import Engine, PlainEngine
from mqctl.spark.reports.backlog import backlog_rows
from mqctl.spark.reports.combining import SparkEngine
from mqctl.spark.reports.order import order
from mqctl.spark.reports.skew import skew
from mqctl.spark.session import SessionSettings, open_session
from mqctl.spark.wanted import Wanted
from mqctl.store.dtypes import QUEUE_ENTRY
from tests.store.builder import message, record_bytes

WALKER = Path(__file__).parent / "scan" / "walker.c"
SIZE = 256
QUEUES = 20
FILE_ENTRIES = 300_000
LOG_FILE_BYTES = 1 << 30


def walked(walker: Path, work: str, store: Path) -> float:
    """Seconds the C walker takes, process and all."""
    files = sorted((store / "commitlog").iterdir())
    begin = time.perf_counter()
    subprocess.run([walker, work, *files], check=True, capture_output=True)
    return time.perf_counter() - begin


def records(engine: Engine, root: Path, walker: Path, total_bytes: int, body_bytes: int) -> None:
    """Prints backlog and skew beside the C walker on one store: elapsed, and CPU time of one process."""
    count = write_store(root, total_bytes, body_bytes)
    wanted = Wanted((str(root),))
    work: dict[str, Callable[[], object]] = {
        "backlog by tag": lambda: backlog_rows(engine, wanted, BacklogBy.TAG),
        "skew": lambda: skew(engine, wanted, top=5),
        "order": lambda: order(engine, wanted, top=5, bucket_ms=60_000),
        "backlog, quick": lambda: backlog_rows(engine, wanted, BacklogBy.TOPIC, quick=True),
        "C, headers": lambda: walked(walker, "headers", root),
        "C, keys and tags": lambda: walked(walker, "keys", root),
    }
    print(f"{count:,} messages, {total_bytes / 1e6:,.0f} MB, bodies of {body_bytes} bytes")
    for name, run in work.items():
        run()
        with PeakMemory() as memory:
            seconds = measure(run, 3)
        peak = f"  worker {memory.peak_bytes / 1e6:,.0f} MB anonymous" if not name.startswith("C") else ""
        print(
            f"  {name:18} {seconds:6.2f} s {total_bytes / seconds / 1e6:8,.0f} MB/s"
            f" {count / seconds / 1e6:7.2f} M messages/s{peak}",
            flush=True,
        )


def write_entries(root: Path, count: int) -> None:
    """Writes consume queues of `count` entries in all, and a sparse commit log that holds what is looked at."""
    each = count // QUEUES
    total = count * SIZE
    (root / "commitlog").mkdir(parents=True)
    for start in range(0, total, LOG_FILE_BYTES):
        with (root / "commitlog" / f"{start:020}").open("wb") as file:
            file.truncate(LOG_FILE_BYTES)
    for queue in range(QUEUES):
        rows = np.zeros(each, dtype=QUEUE_ENTRY)
        rows["physical_offset"] = (np.arange(each, dtype=np.int64) * QUEUES + queue) * SIZE
        rows["size"] = SIZE
        directory = root / "consumequeue" / "Big" / str(queue)
        directory.mkdir(parents=True)
        for first in range(0, each, FILE_ENTRIES):
            piece = rows[first : first + FILE_ENTRIES]
            with (directory / f"{first * 20:020}").open("wb") as file:
                piece.tofile(file)
                file.truncate(FILE_ENTRIES * 20)
            for number in (first, first + len(piece) - 1):
                _write_record(root, queue, number)
    (root / "config").mkdir()
    offsets = {"Big@group": dict.fromkeys(range(QUEUES), 0)}
    (root / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": offsets}))


def _write_record(root: Path, queue: int, number: int) -> None:
    physical = (number * QUEUES + queue) * SIZE
    item = message("Big", queue, store_time_ms=1_795_218_000_000 + number)
    short = len(record_bytes(item))
    item = replace(item, body=item.body + b"x" * (SIZE - short), queue_offset=number, physical_offset=physical)
    start = physical // LOG_FILE_BYTES * LOG_FILE_BYTES
    with (root / "commitlog" / f"{start:020}").open("r+b") as file:
        file.seek(physical - start)
        file.write(record_bytes(item))


def kernels(root: Path, walker: Path, total_bytes: int) -> None:
    """Prints what one core does, by CPU time: the same work without Spark, which other load disturbs less."""
    plain, wanted = PlainEngine(), Wanted((str(root),))
    work: dict[str, Callable[[], object]] = {
        "backlog by tag": lambda: backlog_rows(plain, wanted, BacklogBy.TAG),
        "skew": lambda: skew(plain, wanted, top=5),
        "order": lambda: order(plain, wanted, top=5, bucket_ms=60_000),
        "C, headers": lambda: walked(walker, "headers", root),
        "C, keys and tags": lambda: walked(walker, "keys", root),
    }
    for name, run in work.items():
        run()
        before = os.times()
        run()
        after = os.times()
        seconds = sum(after[:4]) - sum(before[:4])
        print(
            f"  {name:18} {seconds:6.2f} s of CPU {total_bytes / max(seconds, 0.01) / 1e6:8,.0f} MB/s a core",
            flush=True,
        )


def entries(engine: Engine, root: Path, count: int, name: str) -> None:
    """Prints how fast queue entries are turned into a backlog."""
    wanted = Wanted((str(root),))

    def run() -> None:
        rows = backlog_rows(engine, wanted, BacklogBy.QUEUE, quick=True)
        if sum(row.messages for row in rows) != count // QUEUES * QUEUES:
            raise SystemExit("the entries were not counted")

    run()
    seconds = measure(run, 3)
    print(f"  {name:18} {seconds:6.2f} s {count / seconds / 1e6:7.1f} M entries/s", flush=True)


def main() -> None:
    """Runs all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=1_024)
    parser.add_argument("--body", type=int, action="append", help="body bytes; may be repeated (default: 1024 and 100)")
    parser.add_argument("--entries", type=int, default=20_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mqctl-bench-") as name:
        scratch = Path(name)
        walker = scratch / "walker"
        subprocess.run(["gcc", "-O2", "-o", walker, WALKER], check=True)
        write_entries(scratch / "entries", options.entries)
        with open_session(SessionSettings(environ=os.environ, master="local[2]")) as spark:
            engine = SparkEngine(spark)
            for body in options.body or (1_024, 100):
                total = (options.megabytes << 20) if body >= 512 else (options.megabytes << 18)
                records(engine, scratch / f"store-{body}", walker, total, body)
                kernels(scratch / f"store-{body}", walker, total)
            print(f"{options.entries:,} queue entries")
            entries(engine, scratch / "entries", options.entries, "local[2]")
        entries(PlainEngine(), scratch / "entries", options.entries, "--no-spark")


if __name__ == "__main__":
    main()
