"""What `report trends` costs as recordings grow: `python -m benchmarks.trends [--brokers 100] [--groups 20]`.

Recordings are simulated: so many groups on each broker, with 8 queues each, and days of hourly looks of all brokers
(trends read the last hour of each day, so looks between change little). Both engines; CPU of this process and its
children, since other work may share the machine. Sizes are those of `benchmarks.recording_growth`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.recording.place import open_place
from mqctl.recording.writer import LookTime, RecordingWriter
from mqctl.spark.session.open import SessionSettings, open_session
from mqctl.spark.trends import TrendQuestion, local_trends, recorded_files, spark_trends

QUEUES, EVERY_MS, HOUR_MS, DAY_MS = 8, 30_000, 3_600_000, 86_400_000
BEGIN_MS = 1_767_225_600_000
ACTIVE = 5
"""One group in so many moves."""


def state(moment_ms: int, brokers: int, groups: int) -> ClusterSnapshot:
    """Makes the cluster at a moment; what moves does so by the second."""
    past = (moment_ms - BEGIN_MS) // 1000

    def one(number: int) -> BrokerSnapshot:
        each = [(group, queue) for group in range(groups) for queue in range(QUEUES)]
        moved = [past * (1 + queue) if group % ACTIVE == 0 else 1000 for group, queue in each]
        return BrokerSnapshot(
            name=f"broker-{number}",
            broker_id=0,
            cluster="C",
            address=f"10.0.0.{number}:10911",
            queues=tuple(
                QueueState(topic=f"T{group}", queue_id=queue, min_offset=0, max_offset=end)
                for (group, queue), end in zip(each, moved, strict=True)
            ),
            consumer_offsets=tuple(
                ConsumerOffsetState(group=f"G{group}", topic=f"T{group}", queue_id=queue, offset=end * 9 // 10)
                for (group, queue), end in zip(each, moved, strict=True)
            ),
        )

    origin = Origin(
        kind=OriginKind.LIVE, location="simulated", observed_at_ms=moment_ms, observed_from=ObservedFrom.CLOCK
    )
    return ClusterSnapshot(origin=origin, brokers=tuple(map(one, range(brokers))))


def recorded(directory: Path, moments: Iterator[int] | range, brokers: int, groups: int) -> int:
    """Writes a recording; returns the bytes of it."""
    writer = RecordingWriter(open_place(str(directory)), "simulated", every_ms=EVERY_MS, keep_ms=4000 * DAY_MS)
    for moment_ms in moments:
        writer.look(state(moment_ms, brokers, groups), LookTime(wall_ms=moment_ms, steady_ms=moment_ms))
    writer.tidy()
    return sum(file.stat().st_size for file in directory.rglob("*.parquet"))


def cpu_s(run: Callable[[], object]) -> float:
    """Returns CPU seconds of this process while something runs; with those of Java, where it has started one."""
    before = _used_s()
    run()
    return _used_s() - before


def _used_s() -> float:
    ticks = os.sysconf("SC_CLK_TCK")
    family, used = {os.getpid()}, 0.0
    for entry in sorted(
        (item for item in Path("/proc").iterdir() if item.name.isdigit()), key=lambda item: int(item.name)
    ):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry.name) in family or int(fields[1]) in family:
            family.add(int(entry.name))
            used += (int(fields[11]) + int(fields[12])) / ticks
    return used


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", type=int, default=100)
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--days", type=int, nargs="+", default=[1, 2, 4])
    wanted = parser.parse_args()
    question = TrendQuestion(period_ms=DAY_MS, since_ms=0, until_ms=1 << 62)
    with tempfile.TemporaryDirectory() as place, open_session(SessionSettings(environ=os.environ)) as spark:
        for days in wanted.days:
            where = Path(place) / f"days-{days}"
            began = time.process_time()
            size = recorded(where, range(BEGIN_MS, BEGIN_MS + days * DAY_MS, HOUR_MS), wanted.brokers, wanted.groups)
            made = time.process_time() - began
            files = [recorded_files("simulated", str(where))]
            local = cpu_s(partial(local_trends, files, question))
            remote = cpu_s(partial(spark_trends, spark, files, question))
            print(
                f"{days} days, {size / 1e6:,.1f} MB (made in {made:,.0f} s): "
                f"DuckDB {local:.1f} s of CPU, Spark {remote:.1f} s"
            )


if __name__ == "__main__":
    main()
