"""`bench compare`: what differs beyond the noise, what does not, and what cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import msgspec
import pytest

from mqctl.model.bench import BENCH_SCHEMA, BenchKind, BenchRun, BenchSecond, Workload
from mqctl.model.bench_comparison import BenchVerdict, compare_runs
from mqctl.text import encoded
from tests.conftest import Outcome

Run = Callable[..., Outcome]
RUN = BenchRun(
    kind=BenchKind.PRODUCE,
    topic="T",
    group=None,
    cluster="C",
    began_ms=0,
    ended_by="duration",
    workload=Workload(),
    counted_s=30,
    request_count=30_000,
    message_count=30_000,
    size_bytes=30_720_000,
    messages_per_s=1000,
    bytes_per_s=1_024_000,
    error_count=0,
    errors=[],
    latency=None,
    service=None,
)


def run_of(rates: Sequence[float], times: Sequence[float] | None = None) -> BenchRun:
    """A run with so many messages in each second, and so slow a p50 and p99."""
    times = times or [1.0] * len(rates)
    series = [
        BenchSecond(
            second=number,
            counted=True,
            message_count=round(rate),
            size_bytes=0,
            error_count=0,
            p50_ms=slow,
            p99_ms=slow * 3,
            max_ms=slow * 9,
        )
        for number, (rate, slow) in enumerate(zip(rates, times, strict=True))
    ]
    return replace(RUN, series=series)


def noisy(mean: float, spread: float, seed: int, seconds: int = 60) -> list[float]:
    random = Random(seed)
    return [max(1.0, random.gauss(mean, spread * mean)) for _ in range(seconds)]


def saved(place: Path, run: BenchRun) -> Path:
    document = {"schema": BENCH_SCHEMA, **msgspec.to_builtins(run, enc_hook=encoded)}
    place.write_bytes(msgspec.json.encode(document))
    return place


def test_the_same_cluster_measured_twice_is_never_called_worse_or_better() -> None:
    verdicts = {
        compare_runs(
            run_of(noisy(1000, 0.2, 2 * pair), noisy(5, 0.2, pair + 500)),
            run_of(noisy(1000, 0.2, 2 * pair + 1), noisy(5, 0.2, pair + 900)),
            threshold=0.1,
        ).verdict
        for pair in range(6)
    }
    assert verdicts <= {BenchVerdict.SAME, BenchVerdict.UNCLEAR}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (run_of(noisy(1000, 0.1, 1)), run_of(noisy(700, 0.1, 2)), BenchVerdict.WORSE),
        (run_of(noisy(700, 0.1, 1)), run_of(noisy(1000, 0.1, 2)), BenchVerdict.BETTER),
        (run_of([1000] * 20), run_of([1001] * 20), BenchVerdict.SAME),
        (run_of([1000] * 20, noisy(2, 0.1, 3, 20)), run_of([1000] * 20, noisy(3, 0.1, 4, 20)), BenchVerdict.WORSE),
        (run_of([1000] * 4), run_of([500] * 4), BenchVerdict.UNCLEAR),
        (run_of([1000] * 20), replace(run_of([1000] * 20), error_count=300), BenchVerdict.WORSE),
        (run_of(noisy(1000, 0.9, 5, 10)), run_of(noisy(900, 0.9, 6, 10)), BenchVerdict.UNCLEAR),
    ],
)
def test_a_verdict_follows_from_the_figures(before: BenchRun, after: BenchRun, said: BenchVerdict) -> None:
    assert compare_runs(before, after, threshold=0.05).verdict is said


def test_the_command_line_says_it_and_ends_accordingly(mqctl: Run, tmp_path: Path) -> None:
    before = saved(tmp_path / "before.json", run_of([1000] * 20))
    worse = mqctl("bench", "compare", before, saved(tmp_path / "after.json", run_of([600] * 20)), "-o", "json")
    assert (worse.exit_code, worse.json["schema"], worse.json["verdict"]) == (2, "bench.compare/1", "worse")
    rate = next(item for item in worse.json["figures"] if item["name"] == "rate")
    assert (rate["before"], rate["after"], rate["ratio"]) == (1000, 600, 0.6)
    assert mqctl("bench", "compare", before, before).exit_code == 0
    chinese = mqctl("bench", "compare", before, tmp_path / "after.json", env={"MQCTL_LANG": "zh"})
    assert "变差：有指标变差，且超出波动范围\n阈值：5.0%" in chinese.stdout


def test_other_work_is_not_compared(mqctl: Run, tmp_path: Path) -> None:
    before = saved(tmp_path / "before.json", run_of([1000] * 20))
    other = replace(run_of([3000] * 20), workload=Workload(in_flight=512))
    outcome = mqctl("bench", "compare", before, saved(tmp_path / "after.json", other))
    assert (outcome.exit_code, "in_flight: 64 and 512" in outcome.stdout) == (3, True)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema": "top/1"}', b'{"schema": "bench.run/1"}', b"\xff"])
def test_a_file_that_is_no_run_is_refused_by_name(mqctl: Run, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "none.json"
    file.write_bytes(content)
    outcome = mqctl("bench", "compare", file, file)
    assert (outcome.exit_code, "none.json is not a run" in outcome.stderr) == (65, True), outcome.stderr
