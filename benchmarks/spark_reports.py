"""Reports on Spark beside a C walker and an RDD of Python tuples; backlogs from the consume queues alone; small stores.

    python -m benchmarks.spark_reports [--megabytes 2048] [--body 1024] [--entries 20000000] [--rounds 5]

Everything is measured in one run on one machine with a warm page cache, session start apart. Contenders take turns, so
that other load meets all of them; elapsed times are medians, CPU times are those of all processes (driver, JVM, Python
workers; the walker's own). Compare the ratios: both kinds, for elapsed times suffer from what else runs, and CPU times
do not know that Spark has two cores and the walker one. The C walker (`benchmarks/scan/walker.c`, `gcc -O2`) sums what
it finds and tells nobody. The entries of the part on queues point into a sparse commit log in which only the records
that are looked at exist.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psutil

from benchmarks.spark_backlog import PeakMemory, tuples, write_store
from mqctl.model.backlog import BacklogBy
from mqctl.spark.engines import Engine, PlainEngine
from mqctl.spark.query import Kernels
from mqctl.spark.reports.backlog import backlog_rows
from mqctl.spark.reports.combining import SparkEngine
from mqctl.spark.reports.duplicates import duplicates
from mqctl.spark.reports.order import order
from mqctl.spark.reports.skew import skew
from mqctl.spark.selection import Selection
from mqctl.spark.session.open import SessionSettings, open_session
from mqctl.store.dtypes import QUEUE_ENTRY
from tests.store.builder import message, record_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WALKER = Path(__file__).parent / "scan" / "walker.c"
SIZE = 256
QUEUES = 20
FILE_ENTRIES = 300_000
LOG_FILE_BYTES = 1 << 30
Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one run: elapsed, and of CPU in all processes."""

    elapsed: float
    cpu: float


def cpu_seconds() -> float:
    """CPU time so far of this process, of those below it, and of children that have gone."""
    total = sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        try:
            total += sum(child.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


def measured(work: Work) -> Cost:
    """Runs something once."""
    cpu, begin = cpu_seconds(), time.perf_counter()
    work()
    elapsed = time.perf_counter() - begin
    return Cost(elapsed, cpu_seconds() - cpu)


def in_turn(contenders: Mapping[str, Work], rounds: int) -> dict[str, list[Cost]]:
    """Warms every contender up, then runs them in turn."""
    for work in contenders.values():
        work()
        work()
    costs: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            costs[name].append(measured(work))
    return costs


def middle(costs: list[Cost]) -> Cost:
    """Medians."""
    return Cost(statistics.median(c.elapsed for c in costs), statistics.median(c.cpu for c in costs))


def walked(walker: Path, work: str, store: Path) -> None:
    """Runs the C walker, process and all."""
    subprocess.run([walker, work, *sorted((store / "commitlog").iterdir())], check=True, capture_output=True)


def show(name: str, cost: Cost, total_bytes: int, count: int, more: str = "") -> None:
    """Prints a row."""

    def rates(seconds: float) -> str:
        return f"{seconds:6.2f} s {total_bytes / seconds / 1e6:7,.0f} MB/s {count / seconds / 1e6:6.2f} M/s"

    print(f"  {name:22} {rates(cost.elapsed)} | CPU {rates(max(cost.cpu, 0.01))}{more}", flush=True)


def against(name: str, ours: list[Cost], other: list[Cost]) -> str:
    """Says how fast ours is in terms of another: by elapsed and CPU time of pairs of runs."""
    elapsed = statistics.median(b.elapsed / a.elapsed for a, b in zip(ours, other, strict=True))
    cpu = statistics.median(b.cpu / max(a.cpu, 0.01) for a, b in zip(ours, other, strict=True))
    return f" | of {name}: {elapsed:.2f} elapsed, {cpu:.2f} CPU"


def records(spark: SparkSession, root: Path, walker: Path, total_bytes: int, body_bytes: int, rounds: int) -> None:
    """Prints backlog and skew beside the C walker on one store, and the RDD of tuples."""
    count = write_store(root, total_bytes, body_bytes)
    wanted, engine = Selection((str(root),)), SparkEngine(spark)
    print(f"{count:,} messages, {total_bytes / 1e6:,.0f} MB, bodies of {body_bytes} bytes, local[2]")
    pairs: dict[str, tuple[Work, str]] = {
        "backlog by tag": (lambda: backlog_rows(engine, wanted, BacklogBy.TAG), "headers"),
        "skew": (lambda: skew(engine, wanted, top=5), "keys"),
    }
    for name, (work, walk) in pairs.items():
        with PeakMemory() as memory:
            costs = in_turn({name: work, f"C, {walk}": lambda walk=walk: walked(walker, walk, root)}, rounds)
        ours, other = costs.values()
        peak = f" | worker {memory.peak_bytes / 1e6:,.0f} MB anonymous"
        show(name, middle(ours), total_bytes, count, against("C", ours, other) + peak)
        show(f"C, {walk}", middle(other), total_bytes, count)
        if name == "backlog by tag":
            naive = measured(lambda: tuples(spark, str(root)))
            backlog = middle(ours)
            elapsed, cpu = naive.elapsed / backlog.elapsed, naive.cpu / backlog.cpu
            ratio = f" | the backlog is {elapsed:.1f} times as fast by elapsed, {cpu:.1f} by CPU"
            show("RDD of tuples", naive, total_bytes, count, ratio)


def keyed(spark: SparkSession, root: Path, walker: Path, total_bytes: int, rounds: int, *, many_keys: bool) -> None:
    """Prints the reports that bring all messages of a key together, beside the C walker."""
    count = write_store(root, total_bytes, 100, many_keys=many_keys)
    wanted, engine = Selection((str(root),)), SparkEngine(spark)
    works: dict[str, Work] = {
        "order": lambda: order(engine, wanted, top=5, bucket_ms=60_000),
        "duplicates": lambda: duplicates(engine, wanted, top=5, bucket_ms=60_000),
    }
    keys = "five messages a key, each with a unique key" if many_keys else "one key"
    print(f"{keys}, {count:,} messages, {total_bytes / 1e6:,.0f} MB, bodies of 100 bytes, local[2]")
    for name, work in works.items():
        with PeakMemory() as memory:
            costs = in_turn({name: work, "C": lambda: walked(walker, "keys", root)}, rounds)
        ours, other = costs.values()
        peak = f" | worker {memory.peak_bytes / 1e6:,.0f} MB anonymous"
        show(name, middle(ours), total_bytes, count, against("C", ours, other) + peak)
        show("C, keys", middle(other), total_bytes, count)


def kernels(root: Path, total_bytes: int, count: int, rounds: int) -> None:
    """Prints what one core does without Spark: numpy beside the compiled functions."""
    wanted = Selection((str(root),))
    for name, report in (
        ("backlog by tag", lambda engine: backlog_rows(engine, wanted, BacklogBy.TAG)),
        ("skew", lambda engine: skew(engine, wanted, top=5)),
    ):
        numpy_engine, compiled_engine = PlainEngine(Kernels.NUMPY), PlainEngine(Kernels.COMPILED)
        costs = in_turn(
            {
                f"{name}, compiled": lambda report=report, engine=compiled_engine: report(engine),
                f"{name}, numpy": lambda report=report, engine=numpy_engine: report(engine),
            },
            rounds,
        )
        for contender, own in costs.items():
            show(contender, middle(own), total_bytes, count)


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


def small(engine: Engine, root: Path, rounds: int) -> None:
    """Prints how long warm reports on a store of 2 MB take."""
    write_store(root, 2 << 20, 1_024)
    wanted = Selection((str(root),))
    works: dict[str, Work] = {
        "backlog by tag": lambda: backlog_rows(engine, wanted, BacklogBy.TAG),
        "skew": lambda: skew(engine, wanted, top=5),
    }
    for name, costs in in_turn(works, 4 * rounds).items():
        cost = middle(costs)
        print(f"  {name:22} {cost.elapsed:6.3f} s, best {min(c.elapsed for c in costs):6.3f} s, CPU {cost.cpu:6.3f} s")


def entries(engine: Engine, root: Path, count: int, name: str, rounds: int) -> None:
    """Prints how fast queue entries are turned into a backlog."""
    wanted = Selection((str(root),))

    def run() -> None:
        rows = backlog_rows(engine, wanted, BacklogBy.QUEUE, quick=True)
        if sum(row.messages for row in rows) != count // QUEUES * QUEUES:
            raise SystemExit("the entries were not counted")

    (costs,) = in_turn({name: run}, rounds).values()
    show(name, middle(costs), 20 * count, count)


def main() -> None:
    """Runs all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=2_048, help="size of a store; half of it for small bodies")
    parser.add_argument("--body", type=int, action="append", help="body bytes; may be repeated (default: 1024 and 100)")
    parser.add_argument("--entries", type=int, default=20_000_000)
    parser.add_argument("--keyed-megabytes", type=int, default=256, help="size of stores for order and duplicates")
    parser.add_argument("--only-keyed", action="store_true", help="order and duplicates alone")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mqctl-bench-") as name:
        scratch, rounds = Path(name), options.rounds
        walker = scratch / "walker"
        subprocess.run(["gcc", "-O2", "-o", walker, WALKER], check=True)
        with open_session(SessionSettings(environ=os.environ, master="local[2]")) as spark:
            for many_keys in (True, False):
                store, size = scratch / f"keyed-{many_keys}", options.keyed_megabytes << 20
                keyed(spark, store, walker, size, rounds, many_keys=many_keys)
            if options.only_keyed:
                return
            write_entries(scratch / "entries", options.entries)
            engine = SparkEngine(spark)
            print("a store of 2 MB, local[2]")
            small(engine, scratch / "small", rounds)
            print(f"{options.entries:,} queue entries")
            entries(engine, scratch / "entries", options.entries, "local[2]", rounds)
            for body in options.body or (1_024, 100):
                total = options.megabytes << (20 if body >= 512 else 19)
                records(spark, scratch / f"store-{body}", walker, total, body, rounds)
        print("without Spark, one process")
        entries(PlainEngine(), scratch / "entries", options.entries, "queue entries", rounds)
        for body in options.body or (1_024, 100):
            total = options.megabytes << (20 if body >= 512 else 19)
            root = scratch / f"store-{body}"
            count = sum(row.messages for row in backlog_rows(PlainEngine(), Selection((str(root),)), BacklogBy.TOPIC))
            print(f"bodies of {body} bytes, one process")
            kernels(root, total, count, max(1, rounds // 2))


if __name__ == "__main__":
    main()
