"""The commit log scanner beside a plain `struct` loop and a C walker, in one run: `python -m benchmarks.scan.run`.

Each contender runs in a process of its own on the same warm files, in turn, several rounds; figures are medians. All
read every header field; "keys" also finds the spans of TAGS and KEYS of each message. "queue" means that the
positions are known from the consume queues beforehand.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mqctl.store.directory import StoreDirectory
from mqctl.store.kernel import Headers, Int64s, header_chunks
from mqctl.store.mapped_files import map_file
from mqctl.store.texts import property_spans
from tests.store.builder import write_big_store

HERE = Path(__file__).parent
CONTENDERS = ("loop", "ours", "c")
WORK = ("headers", "keys", "queue-headers", "queue-keys")
_HEAD = struct.Struct(">iiiiiqqiq8sq8siqi")
_SHORT = struct.Struct(">H")


def loop(files: list[Path], *, keys: bool, offsets: Int64s | None) -> int:
    """The plain truth: one record at a time."""
    records = 0
    for path in files:
        data = map_file(path).data
        start = int(path.name)
        if offsets is None:
            pos = 0
            while pos + 92 <= len(data):
                size = loop_record(data, pos, keys=keys)
                if not size:
                    break
                records += 1
                pos += size
        else:
            for pos in (offsets[(offsets >= start) & (offsets < start + len(data))] - start).tolist():
                records += loop_record(data, pos, keys=keys) > 0
    return records


def loop_record(data: memoryview, pos: int, *, keys: bool) -> int:
    """Reads one record with IPv4 hosts; returns its size or 0."""
    fields = _HEAD.unpack_from(data, pos)
    size, magic, body = fields[0], fields[1], fields[14]
    if magic not in (-626843481, -626843477):
        return 0
    at = pos + 88 + body
    topic_size = data[at]
    at += 1 + topic_size
    (length,) = _SHORT.unpack_from(data, at)
    if at + 2 + length != pos + size:
        return 0
    if keys:
        parsed = {}
        for item in bytes(data[at + 2 : at + 2 + length]).split(b"\x02"):
            name, _, value = item.partition(b"\x01")
            if name and value:
                parsed[name] = value
        _ = parsed.get(b"TAGS"), parsed.get(b"KEYS")
    return int(size)


def ours(store: Path, *, keys: bool, offsets: Int64s | None) -> int:
    """The scanner under test."""
    log = StoreDirectory.open(store).commit_log
    records = 0
    for file in log.files:
        if offsets is None:
            for rows, _ in log.scan(file):
                if rows is not None:
                    records += _use(file.buffer, rows, keys=keys)
        else:
            low, high = np.searchsorted(offsets, [file.start, file.end])
            for rows in header_chunks(file.buffer, offsets[low:high] - file.start):
                records += _use(file.buffer, rows, keys=keys)
    return records


def _use(buffer: np.ndarray[tuple[int], np.dtype[np.uint8]], rows: Headers, *, keys: bool) -> int:
    if keys:
        property_spans(buffer, rows, ["TAGS", "KEYS"])
    return len(rows)


def contend(name: str, work: str, store: Path, offsets_file: Path, walker: Path) -> tuple[int, float, int]:
    """Runs one contender once in a process of its own: (records, seconds, peak KiB)."""
    files = sorted((store / "commitlog").iterdir())
    if name == "c":
        extra = [str(offsets_file)] if work.startswith("queue") else []
        command = [str(walker), work, *extra, *map(str, files)]
    else:
        command = [sys.executable, "-m", "benchmarks.scan.run", "--child", name, work, str(store), str(offsets_file)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(out[0]), float(out[1]), int(out[3])


def child(name: str, work: str, store: Path, offsets_file: Path) -> None:
    """The measured process: prints records, seconds, nothing of note, peak KiB."""
    offsets = np.fromfile(offsets_file, dtype=np.int64) if work.startswith("queue") else None
    keys = work.endswith("keys")
    begin = time.process_time()
    if name == "loop":
        records = loop(sorted((store / "commitlog").iterdir()), keys=keys, offsets=offsets)
    else:
        records = ours(store, keys=keys, offsets=offsets)
    seconds = time.process_time() - begin
    print(records, f"{seconds:.6f}", 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def queue_offsets(store: Path) -> Int64s:
    """All physical offsets that the consume queues hold, ascending."""
    opened = StoreDirectory.open(store)
    parts = [opened.consume_queue(*queue).entries()["physical_offset"] for queue in opened.queue_ids()]
    return np.sort(np.concatenate(parts))


def measure(body_bytes: int, total_bytes: int, rounds: int, scratch: Path, walker: Path) -> None:
    """Makes one store and prints its table."""
    store = scratch / f"store-{body_bytes}"
    count = write_big_store(store, total_bytes=total_bytes, body_bytes=body_bytes)
    offsets_file = scratch / f"offsets-{body_bytes}"
    queue_offsets(store).tofile(offsets_file)
    print(f"\n{body_bytes}-byte bodies: {count:,} messages, {total_bytes >> 20} MiB, {rounds} rounds")
    titles = f"{'work':15}{'loop ns':>10}{'ours ns':>10}{'C ns':>10}{'loop/ours':>11}{'C/ours':>9}"
    print(f"{titles}{'peak MiB (loop, ours, C)':>30}")
    for work in WORK:
        times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
        peaks = dict.fromkeys(CONTENDERS, 0)
        for _ in range(rounds):
            for name in CONTENDERS:
                records, seconds, peak = contend(name, work, store, offsets_file, walker)
                if records != count:
                    raise SystemExit(f"{name} saw {records} of {count} records")
                times[name].append(seconds)
                peaks[name] = max(peaks[name], peak >> 10)
        median = {name: statistics.median(values) for name, values in times.items()}
        row = "".join(f"{median[name] / count * 1e9:10.0f}" for name in CONTENDERS)
        ratios = f"{median['loop'] / median['ours']:11.1f}{median['c'] / median['ours']:9.2f}"
        print(f"{work:15}{row}{ratios}{'':8}{peaks['loop']}, {peaks['ours']}, {peaks['c']}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=512, help="size of each store")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bodies", type=int, nargs="+", default=[1024, 100])
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, work, store, offsets = options.child
        child(name, work, Path(store), Path(offsets))
        return
    with tempfile.TemporaryDirectory() as scratch:
        walker = Path(scratch) / "walker"
        subprocess.run(["gcc", "-O2", "-o", str(walker), str(HERE / "walker.c")], check=True)
        for body in options.bodies:
            measure(body, options.mib << 20, options.rounds, Path(scratch), walker)


if __name__ == "__main__":
    main()
