"""What a soak's samples say: which values did not stay flat.

A value leaks when the median of its last third lies beyond that of its first third (after a warm-up) by more than a
share and an amount, and the slope that half of all pairs of samples exceed (Theil and Sen) goes the same way: one late
burst of a busy machine is no slope, and a slow machine at the end is told from slow answers by what a fixed piece of
work took meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

WARM_UP_SHARE = 0.2
MACHINE = "machine_ms"
"""Series of how long the same piece of work took, which tells a slow machine from slow answers."""
_LEAST_SAMPLES = 9

Sample = Mapping[str, float]
"""One look: values by series, each named `subject quantity` (`broker 4.9.8 rss_kib`)."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a value may differ by; both have to be exceeded.

    Attributes:
        share: of the first third's median.
        amount: in the unit of the quantity.
        falls: the value may rise and must not fall.
        machine: the value counts in units of what the machine was able to do meanwhile, too.
    """

    share: float
    amount: float
    falls: bool = False
    machine: bool = False


LIMITS = {
    "rss_kib": Limit(0.10, 10 * 1024),
    "handles": Limit(0.10, 6),
    "sockets": Limit(0.10, 6),
    "threads": Limit(0.05, 2.5),
    "disk_kib": Limit(0.35, 512),
    "entries": Limit(0.10, 8),
    "waiting": Limit(0.50, 40),
    "p50_ms": Limit(0.6, 5, machine=True),
    "p99_ms": Limit(0.6, 60, machine=True),
    "per_second": Limit(0.25, 3, falls=True, machine=True),
}


def judged(samples: Sequence[Sample]) -> list[str]:
    """Names what did not stay flat; a series without a limit is not judged, one that ended early is told.

    Raises:
        ValueError: too few samples to say anything.
    """
    kept = samples[int(len(samples) * WARM_UP_SHARE) :]
    if len(kept) < _LEAST_SAMPLES:
        raise ValueError(f"{len(kept)} samples after the warm-up tell nothing")
    problems = []
    for series in sorted({name for sample in kept for name in sample}):
        limit = LIMITS.get(series.rpartition(" ")[2])
        if limit is None:
            continue
        values = [(number, sample[series]) for number, sample in enumerate(kept) if series in sample]
        if len(values) < len(kept) * 0.9:
            problems.append(f"{series}: only {len(values)} of {len(kept)} samples")
        elif _drifts(values, limit) and (not limit.machine or _drifts(_by_machine(values, kept, limit), limit)):
            begin, end = thirds(values)
            problems.append(f"{series} went from {begin:.1f} to {end:.1f}")
    return problems


def thirds(values: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Returns the medians of the first and the last third."""
    third = max(1, len(values) // 3)
    return median(value for _, value in values[:third]), median(value for _, value in values[-third:])


def slope(values: Sequence[tuple[int, float]]) -> float:
    """Returns the median of the slopes between all pairs (Theil and Sen), per sample."""
    return median((b - a) / (j - i) for at, (i, a) in enumerate(values) for j, b in values[at + 1 :])


def _drifts(values: Sequence[tuple[int, float]], limit: Limit) -> bool:
    sign = -1 if limit.falls else 1
    begin, end = thirds(values)
    grown = sign * (end - begin)
    if grown <= limit.amount or grown <= limit.share * begin:
        return False
    return sign * slope(values) * (values[-1][0] - values[0][0]) > grown / 4


def _by_machine(
    values: Sequence[tuple[int, float]], samples: Sequence[Sample], limit: Limit
) -> Sequence[tuple[int, float]]:
    """Returns values as they were on a machine as fast as it was in the middle of the run."""
    usual = median(sample.get(MACHINE, 1.0) for sample in samples)
    by_share = [(number, samples[number].get(MACHINE, usual) / usual) for number, _ in values]
    return [
        (number, value * slow if limit.falls else value / slow)
        for (number, value), (_, slow) in zip(values, by_share, strict=True)
    ]
