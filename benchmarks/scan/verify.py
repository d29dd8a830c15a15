"""`store verify` beside a C program that does the same sums, in one run: `python -m benchmarks.scan.verify`.

Each contender runs in a process of its own on the same warm files, in turn, several rounds; figures are medians of CPU
time. "compiled" is what runs where numba is installed, "numpy" what runs without. Anonymous memory is the highest that
was seen, looked at 200 times a second; mapped files are not in it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.store.builder import write_big_store

HERE = Path(__file__).parent
CONTENDERS = ("c", "compiled", "numpy")


def contend(name: str, store: Path, checker: Path) -> tuple[int, float, int]:
    """Runs one contender once: (records, seconds of CPU, MiB of anonymous memory, 0 for C)."""
    ours = [sys.executable, "-m", "benchmarks.scan.verify", "--child", name, str(store)]
    command = [str(checker), str(store)] if name == "c" else ours
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    if out[1] != "0":
        raise SystemExit(f"{name} found {out[1]} deviations in a sound store")
    return int(out[0]), float(out[2]), 0 if name == "c" else int(out[3])


def child(name: str, store: Path) -> None:
    """The measured process: prints records, damaged ones, seconds and MiB; what is compiled is loaded before."""
    if name == "numpy":
        sys.modules["numba"] = None  # type: ignore[assignment]
    peak = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.005):
            status = Path("/proc/self/status").read_text(encoding="ascii")
            peak = max(peak, int(status.split("RssAnon:")[1].split()[0]) >> 10)

    watcher = threading.Thread(target=watch)
    watcher.start()
    if name == "compiled":
        verify(StoreDirectory.open(store))
    begin = time.process_time()
    report = verify(StoreDirectory.open(store))
    seconds = time.process_time() - begin
    over.set()
    watcher.join()
    damaged = sum(damage.count for damage in report.damages if damage.file.startswith(("commitlog/", "consumequeue/")))
    print(report.record_count, damaged, f"{seconds:.6f}", peak)


def measure(body_bytes: int, total_bytes: int, rounds: int, scratch: Path, checker: Path) -> None:
    """Makes one store and prints its table."""
    store = scratch / f"store-{body_bytes}"
    count = write_big_store(store, total_bytes=total_bytes, body_bytes=body_bytes)
    times: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    peaks = dict.fromkeys(CONTENDERS, 0)
    for _ in range(rounds):
        for name in CONTENDERS:
            records, seconds, peak = contend(name, store, checker)
            if records != count:
                raise SystemExit(f"{name} saw {records} of {count} records")
            times[name].append(seconds)
            peaks[name] = max(peaks[name], peak)
    print(f"\n{body_bytes}-byte bodies: {count:,} messages, {total_bytes >> 20} MiB, {rounds} rounds")
    print(f"{'':10}{'M messages/s':>14}{'GB/s':>8}{'of C':>8}{'anonymous MiB':>16}")
    median = {name: statistics.median(values) for name, values in times.items()}
    for name in CONTENDERS:
        rate, share = count / median[name], median["c"] / median[name]
        figures = f"{rate / 1e6:14.2f}{total_bytes / median[name] / 1e9:8.2f}{share:8.2f}"
        print(f"{name:10}{figures}{peaks[name] or '':>16}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of each store")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bodies", type=int, nargs="+", default=[1024, 100])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child[0], Path(options.child[1]))
        return
    with tempfile.TemporaryDirectory() as scratch:
        checker = Path(scratch) / "checker"
        subprocess.run(["cc", "-O2", "-o", str(checker), str(HERE / "checker.c")], check=True)
        for body in options.bodies:
            measure(body, options.mib << 20, options.rounds, Path(scratch), checker)


if __name__ == "__main__":
    main()
