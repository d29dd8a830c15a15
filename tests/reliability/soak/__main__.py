"""Mixed load on brokers of both releases for a long time: nothing may grow, get slower, or get lost.

`python -m tests.reliability.soak --minutes 60`. Two broker processes (as 4.9.8 and 5.3.3) serve this process, in which
all producers and consumers are, and an exporter each. Every part is looked at some sixty times; see `judging` for what
counts as a leak, `mix` for the load.
"""

from __future__ import annotations

import argparse
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic, perf_counter

import psutil

from mqctl.errors import MqctlError
from tests.reliability.results import add_save, write
from tests.reliability.soak.judging import LIMITS, MACHINE, WARM_UP_SHARE, Sample, judged, thirds
from tests.reliability.soak.scene import PLANTS, Scene, Shape, looks, scene

RELEASES = ("4.9.8", "5.3.3")
_SAMPLES = 60
_LEAST_SAMPLES = 12
_LEAST_PERIOD_S = 0.4
_DECILES = 10
_LONG_S = 120
_PLANTED_THREADS = 3


def shape_of(seconds: float, rate: float, plant: frozenset[str]) -> Shape:
    """Returns sizes that fit the length: in a short run files roll as often as in a long one."""
    if seconds < _LONG_S:
        return Shape(rate, 64 * 1024, 4, 0.6, plant)
    return Shape(rate, 128 * 1024, 6, 5.0, plant)


def run(seconds: float, shape: Shape) -> tuple[list[Sample], list[str], dict[str, object]]:
    """Runs the load; returns samples, what was wrong, and counts."""
    samples: list[Sample] = []
    planted = Planted(shape.plant)
    with TemporaryDirectory(prefix="mqctl-soak-") as root, ExitStack() as stack:
        with ThreadPoolExecutor(len(RELEASES)) as together:
            enter = partial(_enter, stack, Path(root), shape)
            scenes = list(together.map(enter, RELEASES))
        begin, busy = monotonic(), _cpu(scenes)
        period = max(_LEAST_PERIOD_S, seconds / _SAMPLES)
        due = begin + period
        while due <= begin + seconds or len(samples) < _LEAST_SAMPLES:
            machine = _machine_ms(due)
            planted.grow()
            samples.append(_sample(scenes, machine, at_s=monotonic() - begin))
            due = max(due + period, monotonic())  # on a machine that does not keep up: fewer looks, not more time
        share = {name: round((value - busy[name]) / (monotonic() - begin), 3) for name, value in _cpu(scenes).items()}
        with ThreadPoolExecutor(len(scenes)) as together:
            list(together.map(Scene.finish, scenes))
        problems = [line for one in scenes for line in one.problems()]
        counts = _counts(scenes) | {"cpu_cores": share}
    planted.end()
    return samples, problems, counts


def _enter(stack: ExitStack, root: Path, shape: Shape, release: str) -> Scene:
    return stack.enter_context(scene(release, root, shape))


class Planted:
    """Leaks of this process, to see that they are noticed."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self._kinds = kinds
        self._memory: list[bytes] = []
        self._enough = threading.Event()

    def grow(self) -> None:
        """Leaks a little more."""
        if "memory" in self._kinds:
            self._memory.append(b"\1" * (2 << 20))
        if "threads" in self._kinds:
            for _ in range(_PLANTED_THREADS):
                threading.Thread(target=self._enough.wait, daemon=True).start()

    def end(self) -> None:
        """Ends the threads."""
        self._enough.set()


def _sample(scenes: list[Scene], machine_ms: float, *, at_s: float) -> Sample:
    sample = {"at_s": at_s, MACHINE: machine_ms}
    with ExitStack() as quiet:
        for one in scenes:
            quiet.enter_context(one.consumers.between_changes)
        sample |= {f"client {name}": value for name, value in looks(psutil.Process())}
        for one in scenes:
            try:
                sample |= one.sample()
            except (MqctlError, OSError) as error:
                one.ledger.failed("look", repr(error))
    return sample


def _machine_ms(until: float) -> float:
    """Waits, and returns how long (median, milliseconds) a fixed piece of work took now and then meanwhile."""
    pause = threading.Event()
    took: list[float] = []
    while (left := until - monotonic()) > 0 or not took:
        began = perf_counter()
        sum(range(20_000))
        took.append((perf_counter() - began) * 1_000)
        pause.wait(max(0.001, min(0.25, left)))
    return median(took)


def _cpu(scenes: list[Scene]) -> dict[str, float]:
    """Returns processor seconds so far."""
    watched = {"client": psutil.Process()}
    for one in scenes:
        watched |= one.processes
    return {name: sum(one.cpu_times()[:2]) for name, one in watched.items()}


def _counts(scenes: list[Scene]) -> dict[str, object]:
    ledgers = [one.ledger for one in scenes]
    return {
        "acknowledged": sum(sum(ledger.acknowledged.values()) for ledger in ledgers),
        "deliveries": sum(ledger.delivered for ledger in ledgers),
        "lost": sum(ledger.outstanding() for ledger in ledgers),
        "repeats": {
            one.name: {" ".join(key): value for key, value in sorted(one.ledger.repeats.items())} for one in scenes
        },
        "members_changed": sum(one.consumers.changes for one in scenes),
    }


def table(samples: list[Sample]) -> list[dict[str, object]]:
    """Returns each judged series as medians of tenths of the run after the warm-up, with its thirds."""
    kept = samples[int(len(samples) * WARM_UP_SHARE) :]
    rows: list[dict[str, object]] = []
    for series in sorted({name for sample in kept for name in sample}):
        if series.rpartition(" ")[2] not in LIMITS:
            continue
        values = [sample[series] for sample in kept if series in sample]
        tenths = [values[len(values) * n // _DECILES : len(values) * (n + 1) // _DECILES] for n in range(_DECILES)]
        begin, end = thirds(list(enumerate(values)))
        rows.append(
            {
                "series": series,
                "tenths": " ".join(f"{median(part):.2f}" for part in tenths if part),
                "first_third": round(begin, 2),
                "last_third": round(end, 2),
            }
        )
    return rows


def main(words: list[str]) -> int:
    """Returns 1 when something grew, got slower, failed or got lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument(
        "--rate", type=float, default=20.0, help="messages a second, each release (default %(default)s)"
    )
    parser.add_argument("--plant", action="append", default=[], choices=PLANTS, help="have this leak; repeatable")
    add_save(parser)
    options = parser.parse_args(words)
    seconds = options.minutes * 60
    samples, problems, counts = run(seconds, shape_of(seconds, options.rate, frozenset(options.plant)))
    problems = judged(samples) + problems
    figures: dict[str, object] = {"minutes": options.minutes, "rate": options.rate, "samples": len(samples)}
    write("soak", {**figures, **counts, "problems": problems, "series": table(samples)}, save=options.save)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
