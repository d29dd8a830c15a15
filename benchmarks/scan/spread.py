"""`store verify` on Spark beside one process, by wall-clock time: `python -m benchmarks.scan.spread --gib 10`.

Contenders take turns on the same warm files. The start of a session is told apart: it is paid once for any store.
Figures are medians; "ratio" is how many times one process's time a contender takes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from mqctl.spark.session.open import SessionSettings, open_session
from mqctl.spark.verification import verify_on_spark
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.store.builder import write_big_store


def timed(work: Callable[[], object]) -> float:
    """Returns the seconds that `work` takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def on_spark(cores: int, store: Path, rounds: int) -> tuple[float, list[float]]:
    """Returns the seconds of the session's start, and those of each verification."""
    begin = time.perf_counter()
    with open_session(SessionSettings(environ=os.environ, master=f"local[{cores}]")) as spark:
        started = time.perf_counter() - begin
        looks = [timed(lambda: verify_on_spark(spark, str(store), StoreDirectory.open(store))) for _ in range(rounds)]
    return started, looks


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        store = Path(name)
        write_big_store(store, total_bytes=wanted.gib << 30, body_bytes=1_000, file_bytes=1 << 30)
        verify(StoreDirectory.open(store))
        alone = statistics.median(timed(lambda: verify(StoreDirectory.open(store))) for _ in range(wanted.rounds))
        print(f"{wanted.gib} GiB, one process: {alone:.1f} s, {wanted.gib * 1.0737 / alone:.2f} GB/s")
        for cores in range(1, (os.cpu_count() or 1) + 1):
            started, looks = on_spark(cores, store, wanted.rounds + 1)
            median = statistics.median(looks[1:])
            print(
                f"local[{cores}]: session {started:.1f} s, first {looks[0]:.1f} s, then {median:.1f} s,"
                f" ratio {median / alone:.2f}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
