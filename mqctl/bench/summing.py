"""The seconds of all processes added up: counts, errors, histograms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hdrh.histogram import HdrHistogram

from mqctl.bench.recorder import new_histogram
from mqctl.bench.task import SecondTold
from mqctl.model.bench import BenchError, BenchSecond, Percentiles
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.numbers import decimal
from mqctl.protocol.codes import response_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """The figures of all counted seconds."""

    request_count: int
    message_count: int
    size_bytes: int
    errors: Sequence[BenchError]
    latency: Percentiles | None
    service: Percentiles | None
    series: Sequence[BenchSecond]


def summed(seconds: Iterable[SecondTold], *, warm_up_s: int) -> Summed:
    """Adds up what processes told; seconds of warming up show in the series only."""
    by_second: dict[int, list[SecondTold]] = {}
    for item in seconds:
        by_second.setdefault(item.second, []).append(item)
    latency, service = new_histogram(), new_histogram()
    errors: dict[str, tuple[int, str]] = {}
    series: list[BenchSecond] = []
    requests = 0
    for second in sorted(by_second):
        items = by_second[second]
        one = new_histogram()
        for item in items:
            one.decode_and_add(item.latency)
        is_counted = second >= warm_up_s
        series.append(_second(second, items, one, is_counted=is_counted))
        if not is_counted:
            continue
        latency.add(one)
        requests += sum(item.request_count for item in items)
        for item in items:
            if item.service:
                service.decode_and_add(item.service)
            for name, (count, remark) in item.errors.items():
                known, first = errors.get(name, (0, remark))
                errors[name] = (known + count, first)
    counted = [item for item in series if item.counted]
    return Summed(
        request_count=requests,
        message_count=sum(item.message_count for item in counted),
        size_bytes=sum(item.size_bytes for item in counted),
        errors=[_error(name, *errors[name]) for name in sorted(errors, key=lambda name: -errors[name][0])],
        latency=percentiles(latency),
        service=percentiles(service),
        series=series,
    )


def percentiles(histogram: HdrHistogram) -> Percentiles | None:
    """Returns what a histogram of microseconds shows; None when it is empty."""
    count: int = histogram.get_total_count()
    if not count:
        return None

    def at(percent: float) -> float:
        value_us: int = histogram.get_value_at_percentile(percent)
        return value_us / 1000

    return Percentiles(
        count=count,
        mean_ms=round(histogram.get_mean_value() / 1000, 4),
        min_ms=histogram.get_min_value() / 1000,
        p50_ms=at(50),
        p90_ms=at(90),
        p99_ms=at(99),
        p999_ms=at(99.9),
        p9999_ms=at(99.99),
        max_ms=histogram.get_max_value() / 1000,
        histogram=bytes(histogram.encode()).decode("ascii"),
    )


def _second(second: int, items: Sequence[SecondTold], one: HdrHistogram, *, is_counted: bool) -> BenchSecond:
    times = percentiles(one)
    return BenchSecond(
        second=second,
        counted=is_counted,
        message_count=sum(item.message_count for item in items),
        size_bytes=sum(item.size_bytes for item in items),
        error_count=sum(count for item in items for count, _ in item.errors.values()),
        p50_ms=times.p50_ms if times else None,
        p99_ms=times.p99_ms if times else None,
        max_ms=times.max_ms if times else None,
    )


def _error(name: str, count: int, example: str) -> BenchError:
    code = decimal(name)
    return BenchError(code=code, name=name if code is None else response_name(code), count=count, example=example)
