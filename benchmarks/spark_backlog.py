"""The backlog report on a generated store, against an RDD of Python tuples fed by the same offsets; and session start.

    python -m benchmarks.spark_backlog [--megabytes 1024] [--body 1024] [--skip-start]

Prints seconds, MB/s, messages/s, ratios and the peak of anonymous memory of one Python worker. Everything is measured
in one run on one machine with a warm page cache; compare the ratios, not the seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psutil

from mqctl.spark.scan.planning import QueueRange, cells, open_store, ranges
from mqctl.spark.selection import Selection
from mqctl.spark.session.open import SessionSettings, open_session
from mqctl.store.dtypes import QUEUE_ENTRY, RECORD_HEADER
from mqctl.store.layouts import MAGIC_BLANK, MAGIC_V1

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE_BYTES = 256 << 20
QUEUE_FILE_BYTES = 6_000_000
TOPICS, QUEUES, TAGS = 20, 4, ("TagA", "TagB", "TagC", "TagD")
START_MS = 1_795_218_000_000
PROPERTIES = b"KEYS\x01order-00000000\x02TAGS\x01%s\x02UNIQ_KEY\x017F000001000718B4AAC2000000000000\x02WAIT\x01true"
DIGITS = 8
KEY_DIGITS, UNIQUE_DIGITS = (
    PROPERTIES.index(b"-") + 1,
    PROPERTIES.index(b"\x02WAIT") + len(TAGS[0]) - len(b"%s") - DIGITS,
)
"""Where the last digits of both keys begin."""


def write_store(root: Path, total_bytes: int, body_bytes: int, *, many_keys: bool = False) -> int:
    """Writes a store of about `total_bytes` whose messages go round topics, queues and tags; returns their number.

    Args:
        many_keys: five messages of one queue have a key in common, and each a unique key of its own; else all messages
            have the same.
    """
    properties = [PROPERTIES % tag.encode() for tag in TAGS]
    tail = len(struct.pack(">B", 9)) + 9 + 2 + len(properties[0])
    size = RECORD_HEADER.itemsize + body_bytes + tail
    record = np.dtype([("head", RECORD_HEADER), ("body", f"V{body_bytes}"), ("tail", f"V{tail}")])
    tails = np.array(
        [
            [bytes([9]) + f"Topic{topic:04}".encode() + struct.pack(">h", len(text)) + text for text in properties]
            for topic in range(TOPICS)
        ],
        dtype=f"S{tail}",
    ).view(f"V{tail}")
    per_file = (FILE_BYTES - 8) // size
    count = total_bytes // size
    (root / "commitlog").mkdir(parents=True)
    for first in range(0, count, per_file):
        number = np.arange(first, min(first + per_file, count))
        start = first // per_file * FILE_BYTES
        block = np.zeros(len(number), dtype=record)
        head = block["head"]
        head["total_size"], head["magic"], head["body_size"] = size, MAGIC_V1, body_bytes
        head["queue_id"] = number // TOPICS % QUEUES
        head["queue_offset"] = number // (TOPICS * QUEUES)
        head["physical_offset"] = start + (number - first) * size
        head["born_time_ms"] = head["store_time_ms"] = START_MS + number
        ends = tails[number % TOPICS, number // 7 % len(TAGS)]
        if many_keys:
            letters, lines = ends.view(np.uint8).reshape(len(ends), tail), TOPICS * QUEUES
            begin = tail - len(properties[0])
            _write_digits(letters, begin + KEY_DIGITS, number // lines // 5 * lines + number % lines)
            _write_digits(letters, begin + UNIQUE_DIGITS, number)
        block["tail"] = ends
        with (root / "commitlog" / f"{start:020}").open("wb") as file:
            block.tofile(file)
            if len(number) == per_file:
                file.write(struct.pack(">ii", FILE_BYTES - per_file * size, MAGIC_BLANK))
            file.truncate(FILE_BYTES)
    _write_queues(root, count, per_file, size)
    offsets = {f"Topic{topic:04}@group": dict.fromkeys(range(QUEUES), 0) for topic in range(TOPICS)}
    (root / "config").mkdir()
    (root / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": offsets}))
    return count


def _write_digits(letters: np.ndarray, at: int, numbers: np.ndarray) -> None:
    """Writes numbers as text into rows of uint8, from column `at` on."""
    for place in range(DIGITS):
        letters[:, at + place] = numbers // 10 ** (DIGITS - 1 - place) % 10 + ord("0")


def _write_queues(root: Path, count: int, per_file: int, size: int) -> None:
    for topic in range(TOPICS):
        for queue in range(QUEUES):
            number = np.arange(topic + TOPICS * queue, count, TOPICS * QUEUES)
            entries = np.zeros(len(number), dtype=QUEUE_ENTRY)
            entries["physical_offset"] = number // per_file * FILE_BYTES + number % per_file * size
            entries["size"] = size
            entries["tags_code"] = 2598919 + number // 7 % len(TAGS)
            directory = root / "consumequeue" / f"Topic{topic:04}" / str(queue)
            directory.mkdir(parents=True)
            step = QUEUE_FILE_BYTES // QUEUE_ENTRY.itemsize
            for first in range(0, len(entries), step):
                with (directory / f"{first * QUEUE_ENTRY.itemsize:020}").open("wb") as file:
                    entries[first : first + step].tofile(file)
                    file.truncate(QUEUE_FILE_BYTES)


def ours(spark: SparkSession, store: str) -> dict[tuple[str, str | None], int]:
    """The report as the command runs it."""
    from mqctl.model.backlog import BacklogBy
    from mqctl.spark.reports.backlog import backlog_rows
    from mqctl.spark.reports.combining import SparkEngine

    return {
        (str(row.topic), row.tag): row.messages
        for row in backlog_rows(SparkEngine(spark), Selection((store,)), BacklogBy.TAG)
    }


def tuples(spark: SparkSession, store: str) -> dict[tuple[str, str | None], int]:
    """One Python tuple a message, from the same queue entries, summed by key."""
    from mqctl.spark.scan import planning

    planned, planning.RANGE_ENTRIES = planning.RANGE_ENTRIES, 50_000
    work = ranges(store, cells(open_store(store), Selection((store,))))
    planning.RANGE_ENTRIES = planned
    rows = (
        spark.sparkContext.parallelize(work, 8)
        .flatMap(_tuples)
        .reduceByKey(lambda a, b: (a[0] + b[0], a[1] + b[1], min(a[2], b[2]), max(a[3], b[3])))
        .collect()
    )
    return {key: value[0] for key, value in rows}


def _tuples(work: QueueRange) -> Iterator[tuple[tuple[str, str | None], tuple[int, int, int, int]]]:
    store = open_store(work.store)
    unpack_int, unpack_long, unpack_short = (struct.Struct(f).unpack_from for f in (">i", ">q", ">h"))
    buffers = {file.start: file.buffer.data for file in store.commit_log.files}
    for _, entries in store.consume_queue(work.topic, work.queue_id).runs(work.low, work.high):
        for physical, size, _ in entries.tolist():
            start = physical // FILE_BYTES * FILE_BYTES
            data, at = buffers[start], physical - start
            (time_ms,) = unpack_long(data, at + 56)
            (body,) = unpack_int(data, at + 84)
            at += 88 + body
            at += 1 + data[at]
            (length,) = unpack_short(data, at)
            pairs = bytes(data[at + 2 : at + 2 + length]).split(b"\x02")
            tag = next((pair[5:].decode() for pair in pairs if pair.startswith(b"TAGS\x01")), None)
            yield (work.topic, tag), (1, size, time_ms, time_ms)


class PeakMemory:
    """Watches the anonymous memory of the Python workers below this process."""

    def __init__(self) -> None:
        self.peak_bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            for child in psutil.Process().children(recursive=True):
                try:
                    text = Path(f"/proc/{child.pid}/status").read_text()
                    if "python" in text.split("\n", 1)[0]:
                        kilobytes = int(text.split("RssAnon:")[1].split()[0])
                        self.peak_bytes = max(self.peak_bytes, kilobytes << 10)
                except (OSError, IndexError):
                    continue


def measure(run: Callable[[], object], repeats: int) -> float:
    """Median seconds of `repeats` runs."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def reports(root: Path, total_bytes: int, body_bytes: int) -> None:
    """Prints the comparison of both ways on one store."""
    count = write_store(root, total_bytes, body_bytes)
    store = str(root)
    with open_session(SessionSettings(environ=os.environ, master="local[2]")) as spark:
        first = ours(spark, store)
        if first != tuples(spark, store) or sum(first.values()) != count:
            raise SystemExit("the two ways disagree")
        with PeakMemory() as lean_memory:
            lean = measure(lambda: ours(spark, store), 3)
        with PeakMemory() as tuple_memory:
            naive = measure(lambda: tuples(spark, store), 1)
    print(f"{count:,} messages, {total_bytes / 1e6:,.0f} MB, bodies of {body_bytes} bytes, local[2]")
    for name, seconds, memory in (("report", lean, lean_memory), ("RDD of tuples", naive, tuple_memory)):
        print(
            f"  {name:14} {seconds:6.2f} s {total_bytes / seconds / 1e6:7,.0f} MB/s"
            f" {count / seconds / 1e6:6.2f} M messages/s  worker {memory.peak_bytes / 1e6:,.0f} MB anonymous"
        )
    print(f"  ratio {naive / lean:.1f}")


START = """
import os, sys, time
from pathlib import Path
begin = time.perf_counter()
def same(batches):
    yield from batches
def use(spark):
    global started
    started = time.perf_counter()
    spark.range(1000).selectExpr("count(*)").collect()
    spark.range(1000).mapInArrow(same, "id long").count()
    print("told", started - begin, time.perf_counter() - begin, flush=True)
if sys.argv[1] == "default":
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    use(spark)
    spark.stop()
else:
    from mqctl.spark.session.open import SessionSettings, open_session
    cache = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with open_session(SessionSettings(environ=os.environ, master="local[2]", cache_dir=cache)) as spark:
        use(spark)
"""


def starts(scratch: Path) -> None:
    """Prints the time to a session and to its first results, step by step."""
    cache = str(scratch / "cache")
    steps = {
        "PySpark's default": ["default"],
        "ours, no class data": ["ours"],
        "ours, leaving class data": ["ours", cache],
        "ours, with class data": ["ours", cache],
    }
    reference = 0.0
    environ = dict(os.environ, PYSPARK_PYTHON=sys.executable)
    for name, arguments in steps.items():
        done = subprocess.run(
            [sys.executable, "-c", START, *arguments], capture_output=True, text=True, check=True, env=environ
        )
        _, session, total = next(line for line in done.stdout.splitlines() if line.startswith("told")).split()
        reference = reference or float(total)
        print(f"  {name:26} session {float(session):5.1f} s, first results {float(total):5.1f} s,", end=" ")
        print(f"{float(total) / reference:4.0%} of default")
        _wait_for_archive(scratch / "cache")


def _wait_for_archive(cache: Path) -> None:
    """Waits until the JVM that writes class data has ended, so that it does not disturb the next step."""
    writers = [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(str(cache) in word and "ArchiveClassesAtExit" in word for word in process.info["cmdline"] or ())
    ]
    psutil.wait_procs(writers, timeout=60)


def main() -> None:
    """Runs all parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=512)
    parser.add_argument("--body", type=int, action="append", help="body bytes; may be repeated (default: 1024 and 100)")
    parser.add_argument("--skip-start", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mqctl-bench-") as name:
        for body in options.body or (1024, 100):
            total = (options.megabytes << 20) if body >= 512 else (options.megabytes << 18)
            reports(Path(name) / f"store-{body}", total, body)
        if not options.skip_start:
            print("session start, local[2]")
            starts(Path(name))


if __name__ == "__main__":
    main()
