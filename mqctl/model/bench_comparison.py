"""Two benches beside each other: what differs by more than their own seconds differ among themselves.

The seconds of a run depend on those before them, so the noise is measured by resampling blocks of seconds in a row
(a moving-block bootstrap); 95 % of the resampled ratios give the range in which the true one is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from enum import StrEnum
from random import Random
from statistics import fmean, median

from mqctl.model.bench import BenchRun
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said, said
from mqctl.text import sentence

FEWEST_SECONDS = 8
_RESAMPLES = 2_000
_TAIL_COUNT = _RESAMPLES // 40
_ERROR_SHARE = 0.001
RATE_UNIT = "messages/s"
Middle = Callable[[Sequence[float]], float]


class BenchVerdict(StrEnum):
    """SAME: any difference is smaller than what counts. UNCLEAR: the noise is larger than what counts."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNCLEAR = "unclear"


_TURNED = {BenchVerdict.WORSE: BenchVerdict.BETTER, BenchVerdict.BETTER: BenchVerdict.WORSE}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFigure:
    """One figure of both runs.

    Attributes:
        ratio: after to before.
        ratio_low, ratio_high: where the ratio lies, 95 times of 100, as far as the seconds of these two runs tell; None
            where too few were measured.
    """

    name: str
    unit: str
    before: float
    after: float
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    verdict: BenchVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchComparison:
    """Machine form of `bench compare`.

    Attributes:
        differing: settings that differ: other work was measured, and no verdict compares it.
        keyed_differing: the same with keys and values.
        threshold: share from which a difference counts.
    """

    verdict: BenchVerdict
    threshold: float
    differing: Sequence[str]
    keyed_differing: Sequence[Said]
    figures: Sequence[ComparedFigure]


def compare_runs(before: BenchRun, after: BenchRun, *, threshold: float, seed: int = 1) -> BenchComparison:
    """Compares rate, p50, p99 and errors of two runs."""
    noise = _Noise(threshold, Random(seed))
    differing = _differing(before, after)
    sampled = [
        noise.figure("rate", RATE_UNIT, _rates(before), _rates(after)),
        noise.figure("p50_ms", "ms", _times(before, "p50_ms"), _times(after, "p50_ms")),
        noise.figure("p99_ms", "ms", _times(before, "p99_ms"), _times(after, "p99_ms")),
    ]
    figures = [*(item for item in sampled if item is not None), _errors(before, after)]
    return BenchComparison(
        verdict=BenchVerdict.UNCLEAR if differing else _overall([item.verdict for item in figures]),
        threshold=threshold,
        differing=differing,
        keyed_differing=said(differing),
        figures=figures,
    )


def _overall(verdicts: Sequence[BenchVerdict]) -> BenchVerdict:
    ranked = (BenchVerdict.WORSE, BenchVerdict.UNCLEAR, BenchVerdict.BETTER)
    return next((verdict for verdict in ranked if verdict in verdicts), BenchVerdict.SAME)


def _differing(before: BenchRun, after: BenchRun) -> list[str]:
    first, second = asdict(before.workload), asdict(after.workload)
    pairs = [(name, first[name], second[name]) for name in first if first[name] != second[name]]
    if before.kind is not after.kind:
        pairs.insert(0, ("kind", before.kind, after.kind))
    return [
        sentence("bench-differing", "{name}: {before} and {after}", name=name, before=one, after=other)
        for name, one, other in pairs
    ]


def _rates(run: BenchRun) -> Sequence[float]:
    return [item.message_count for item in run.series if item.counted][: _whole(run)]


def _times(run: BenchRun, name: str) -> Sequence[float]:
    values = [getattr(item, name) for item in run.series if item.counted][: _whole(run)]
    return [value for value in values if value is not None]


def _whole(run: BenchRun) -> int | None:
    """The last second also holds the answers that were waited for, or is shorter than one."""
    return -1 if sum(item.counted for item in run.series) > 1 else None


class _Noise:
    """Judges figures by how much their seconds vary."""

    def __init__(self, threshold: float, random: Random) -> None:
        self._threshold = threshold
        self._random = random

    def figure(self, name: str, unit: str, before: Sequence[float], after: Sequence[float]) -> ComparedFigure | None:
        """Compares a rate by its mean, times by their median; None where one run has none."""
        if not before or not after:
            return None
        is_rate = unit == RATE_UNIT
        middle: Middle = fmean if is_rate else median
        first, second = middle(before), middle(after)
        ratio = second / first if first > 0 else None
        low = high = None
        verdict = BenchVerdict.UNCLEAR
        if min(len(before), len(after)) >= FEWEST_SECONDS and ratio is not None:
            low, high = self._range(before, after, middle)
            verdict = self._judged(low, high, ratio)
            if is_rate and verdict in _TURNED:
                verdict = _TURNED[verdict]
        return ComparedFigure(
            name=name,
            unit=unit,
            before=round(first, 4),
            after=round(second, 4),
            ratio=None if ratio is None else round(ratio, 4),
            ratio_low=None if low is None else round(low, 4),
            ratio_high=None if high is None else round(high, 4),
            verdict=verdict,
        )

    def _range(self, before: Sequence[float], after: Sequence[float], middle: Middle) -> tuple[float, float]:
        ratios = sorted(
            middle(self._resampled(after)) / max(middle(self._resampled(before)), 1e-9) for _ in range(_RESAMPLES)
        )
        return ratios[_TAIL_COUNT], ratios[-1 - _TAIL_COUNT]

    def _resampled(self, values: Sequence[float]) -> Sequence[float]:
        block = max(1, round(len(values) ** (1 / 3)))
        drawn: list[float] = []
        while len(drawn) < len(values):
            at = self._random.randrange(len(values) - block + 1)
            drawn += values[at : at + block]
        return drawn[: len(values)]

    def _judged(self, low: float, high: float, ratio: float) -> BenchVerdict:
        """Judges a figure of which less is better."""
        if 1 - self._threshold <= low and high <= 1 + self._threshold:
            return BenchVerdict.SAME
        if low <= 1 <= high or abs(ratio - 1) < self._threshold:
            return BenchVerdict.UNCLEAR
        return BenchVerdict.WORSE if ratio > 1 else BenchVerdict.BETTER


def _errors(before: BenchRun, after: BenchRun) -> ComparedFigure:
    first, second = (item.error_count / max(1, item.request_count + item.error_count) for item in (before, after))
    moved = second - first
    verdict = BenchVerdict.SAME
    if abs(moved) >= _ERROR_SHARE:
        verdict = BenchVerdict.WORSE if moved > 0 else BenchVerdict.BETTER
    return ComparedFigure(
        name="errors",
        unit="share",
        before=round(first, 6),
        after=round(second, 6),
        ratio=None,
        ratio_low=None,
        ratio_high=None,
        verdict=verdict,
    )
