"""What one process of `mqctl bench produce` can send: `python -m benchmarks.bench [--seconds N] [--pairs N]`.

The other side is `broker/stub.c`, which reads frames, says yes and does nothing else, so that only our client's work
counts. Two loads in turn, pair by pair: synchronous sends of 1 KB (64 senders, each waits for its answer) and batches
of 32 such messages. Prints messages a second, CPU of the sending process per message, and how busy its core was: on a
loaded machine the rate is what the scheduler left, and CPU per message is the figure that stays.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mqctl.bench.crew import crew
from mqctl.bench.task import BenchTask
from mqctl.model.bench import Workload

STUB = Path(__file__).parent / "broker" / "stub.c"
LOADS = {"synchronous 1 KB": Workload(), "batches of 32 x 1 KB": Workload(batch_count=32)}


@contextmanager
def stub() -> Iterator[str]:
    """Builds and starts the stub; yields its address."""
    with tempfile.TemporaryDirectory() as directory:
        binary = Path(directory) / "stub"
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", str(binary), str(STUB)], check=True)
        process = subprocess.Popen([str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        yield f"127.0.0.1:{process.stdout.readline().strip()}"
        process.stdin.close()
        process.wait()


def measure(address: str, workload: Workload, seconds: float) -> tuple[float, float, float]:
    """Returns messages a second, CPU microseconds per message, and the share of a core that the process used."""
    task = BenchTask(
        number=0,
        topic="BenchmarkTest",
        producer_group="benchmark",
        workload=workload,
        addresses={"stub": address},
        queues=[("stub", number) for number in range(8)],
        max_messages=10**9,
        max_bytes=10**12,
        duration_ms=round(seconds * 1000),
        timeout_ms=3_000,
    )
    with crew([task]) as members:
        members.wait_ready()
        members.begin()
        members.wait(lambda: None)
        (member,) = members.members
    assert member.end is not None
    count = sum(second.message_count for second in member.seconds)
    assert not any(second.errors for second in member.seconds)
    end = member.end
    return count / end.busy_s, end.cpu_s * 1e6 / count, end.cpu_s / end.busy_s


def main() -> None:
    """Measures the loads in turn and prints the median of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in LOADS}
    with stub() as address:
        for _ in range(options.pairs):
            for name, workload in LOADS.items():
                figures[name].append(measure(address, workload, options.seconds))
    for name, rows in figures.items():
        rate, cpu_us, busy = (statistics.median(column) for column in zip(*rows, strict=True))
        worst, best = min(row[0] for row in rows), max(row[0] for row in rows)
        print(
            f"{name}: {rate:,.0f} messages/s (worst {worst:,.0f}, best {best:,.0f}), "
            f"{cpu_us:.1f} us CPU a message, {busy:.0%} of a core"
        )


if __name__ == "__main__":
    main()
