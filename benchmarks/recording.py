"""What a recording costs: bytes a day and CPU a look, for 2,000 groups of 8 queues each, simulated.

    python -m benchmarks.recording [--active SHARE] [--minutes N]
    python -m benchmarks.recording --gathering

Snapshots are made here, none is gathered: the figures are those of comparing, writing and merging. A share of the
groups is active: theirs and their topics' queues move at each look. With --gathering whole processes `mqctl record`
look at two embedded brokers with as many groups, each on a topic of its own and behind on all of its queues: the most
that there is to ask. The CPU of a look is the difference between one look and four.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time

from benchmarks.lag import cluster_of
from mqctl.model.member import GroupMembership, Member
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.recording.kinds import RowKind
from mqctl.recording.place import open_place, pieces_in
from mqctl.recording.writer import QUARTER_MS, LookTime, RecordingWriter

GROUPS, QUEUES, EVERY_MS, DAY_MS = 2_000, 8, 30_000, 86_400_000
BEGIN_MS = 1_767_225_600_000  # 2026-01-01, on the hour


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--active", type=float, default=0.2, help="share of groups that move")
    arguments.add_argument(
        "--minutes", type=int, default=375, help="simulated time; whole quarters of a day are joined"
    )
    arguments.add_argument("--gathering", action="store_true", help="measure whole looks at a cluster")
    chosen = arguments.parse_args()
    if chosen.gathering:
        gathered()
        return
    with tempfile.TemporaryDirectory() as directory:
        measure(Path(directory), chosen.active, chosen.minutes)


def gathered() -> None:
    """Prints the CPU of a look with all that it asks."""
    looks = 3
    with cluster_of(GROUPS, GROUPS) as namesrv:
        first, more = recorded_cpu_s(namesrv, 1), recorded_cpu_s(namesrv, 1 + looks)
    look_s = (more - first) / looks
    print(f"{GROUPS:,} groups of {QUEUES} queues on 2 brokers, a topic each, all behind")
    print(f"  {look_s:.2f} s of CPU a look: {look_s / EVERY_MS * 1000:.1%} of a core at one in {EVERY_MS // 1000} s")
    print(f"  {first:.2f} s with start and end, and a whole look")


def recorded_cpu_s(namesrv: str, looks: int) -> float:
    """Runs `mqctl record` for so many looks; returns the CPU seconds of its process."""
    with tempfile.TemporaryDirectory() as directory:
        words = [sys.executable, "-m", "mqctl", "record", f"{directory}/recording", "--every", "8s"]
        env = {**os.environ, "MQCTL_STATE_DIR": f"{directory}/state"}
        more = ["--count", str(looks), "--namesrv", namesrv]
        process = subprocess.Popen([*words, *more], env=env, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"mqctl ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def measure(directory: Path, active: float, minutes: int) -> None:
    place = open_place(str(directory))
    writer = RecordingWriter(place, "simulated", every_ms=EVERY_MS, keep_ms=14 * DAY_MS)
    spent = {"looks": 0.0, "merging": 0.0}
    longest = 0.0
    count = rows = 0
    for moment_ms, snapshot in snapshots(active, minutes * 60_000 // EVERY_MS):
        began = process_time()
        written = writer.look(snapshot, LookTime(wall_ms=moment_ms, steady_ms=moment_ms))
        done = process_time()
        writer.tidy()
        spent["looks"] += done - began
        spent["merging"] += process_time() - done
        longest = max(longest, process_time() - done)
        count += 1
        rows += written.row_count
    joined = [piece for piece in pieces_in(place) if piece.last_ms < BEGIN_MS + QUARTER_MS]
    quarters = len([piece for piece in joined if piece.kind is RowKind.LOOKS])
    size = sum((directory / piece.name).stat().st_size for piece in joined) * 4
    share = (spent["looks"] + spent["merging"]) / (count * EVERY_MS / 1000)
    print(
        f"{GROUPS:,} groups of {QUEUES} queues, {active:.0%} active, {count} looks, {quarters} quarter of a day joined"
    )
    print(f"  {rows / count:,.0f} rows a look, {size / 1e6:,.0f} MB a day")
    for what, seconds in spent.items():
        print(f"  {what}: {seconds / count * 1000:,.0f} ms of CPU a look")
    peak_mib = getrusage(RUSAGE_SELF).ru_maxrss >> 10
    print(f"  the longest merge held up a look for {longest:.1f} s of CPU; {peak_mib:,} MiB of memory at most")
    print(f"  {share:.2%} of a core at one look in {EVERY_MS // 1000} s, without gathering")


def snapshots(
    active: float, count: int, *, groups: int = GROUPS, brokers: int = 1, every_ms: int = EVERY_MS
) -> Iterator[tuple[int, ClusterSnapshot]]:
    """Yields snapshots; each broker has so many groups of its own, and active queues take in and give out at rates of
    their own, with noise."""
    each = [_broker_states(f"broker-{number}", active, count, groups, every_ms) for number in range(brokers)]
    for number, states in enumerate(zip(*each, strict=True)):
        moment_ms = BEGIN_MS + number * every_ms
        origin = Origin(
            kind=OriginKind.LIVE, location="simulated", observed_at_ms=moment_ms, observed_from=ObservedFrom.CLOCK
        )
        yield moment_ms, ClusterSnapshot(origin=origin, brokers=states)


def _broker_states(name: str, active: float, count: int, groups: int, every_ms: int) -> Iterator[BrokerSnapshot]:
    chance = random.Random(name)
    moving = int(groups * active)
    ends = [[chance.randrange(10**9) for _ in range(QUEUES)] for _ in range(groups)]
    rates = [[chance.lognormvariate(4, 1) for _ in range(QUEUES)] for _ in range(groups)]
    lags = [chance.choice((0, 0, 0, 50, 5_000)) for _ in range(groups)]
    members = tuple(memberships(chance, groups))
    for number in range(count):
        moment_ms = BEGIN_MS + number * every_ms
        queues: list[QueueState] = []
        offsets: list[ConsumerOffsetState] = []
        for group in range(groups):
            for queue in range(QUEUES):
                stands = group >= moving
                if not stands:
                    ends[group][queue] += int(rates[group][queue] * chance.uniform(0.7, 1.3))
                end = ends[group][queue]
                newest_ms = BEGIN_MS if stands else moment_ms - chance.randrange(2_000)
                lag = 0 if stands else int(lags[group] * chance.uniform(0.8, 1.2))
                queues.append(
                    QueueState(
                        topic=f"topic-{name}-{group:04}",
                        queue_id=queue,
                        min_offset=0,  # it moves when a file is removed: seldom
                        max_offset=end,
                        last_store_time_ms=newest_ms,
                    )
                )
                offsets.append(
                    ConsumerOffsetState(
                        group=f"group-{name}-{group:04}",
                        topic=f"topic-{name}-{group:04}",
                        queue_id=queue,
                        offset=end - lag,
                        next_store_time_ms=newest_ms - lag * 10 if lag else None,
                        last_consumed_store_time_ms=newest_ms - lag * 10,
                    )
                )
        runtime = {f"figure{index}": str(chance.randrange(10**9)) for index in range(30)}
        yield BrokerSnapshot(
            name=name,
            broker_id=0,
            runtime=runtime,
            memberships=members,
            queues=tuple(queues),
            consumer_offsets=tuple(offsets),
        )


def memberships(chance: random.Random, groups: int) -> Iterator[GroupMembership]:
    for group in range(groups):
        clients = [f"10.0.{group // 250}.{chance.randrange(250)}@{chance.randrange(10**6)}" for _ in range(2)]
        known = tuple(Member(client_id=client, address=f"{client.partition('@')[0]}:40000") for client in clients)
        yield GroupMembership(group=f"group-of-{group:04}", client_ids=tuple(clients), members=known)


if __name__ == "__main__":
    main()
