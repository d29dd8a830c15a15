"""Which charts each report gets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from mqctl import units
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.reports import (
    BacklogOverview,
    CapacityReport,
    DelayReport,
    DuplicatesReport,
    OrderReport,
    RetriesReport,
    SkewReport,
    TagsReport,
    TransactionsReport,
)
from mqctl.render.reports.drawing import Series, bars, histogram, lines
from mqctl.text import sentence

_MOST_BARS = 12
_FEWEST_BARS, _FEWEST_POINTS = 2, 3
_MOST_TOPICS = 3
_SKEWED = 1.2
_NOTABLE = 0.05
Draw = Callable[[str], str]
Drawn = list[tuple[str, Draw | None]]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart and what it shows."""

    title: str
    svg: str


def charts_of(name: str, value: object) -> list[Chart]:
    """Draws the charts of a report; none where there is nothing to compare: one bar, one point, all alike zero."""
    return [Chart(title, draw(title)) for title, draw in _CHARTS[name](value) if draw is not None]


def _lined(
    points: Iterable[tuple[str, int, float]], unit: str, bucket_ms: int, at_ms: int | None = None
) -> Draw | None:
    grouped: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for name, time_ms, value in points:
        grouped[name][time_ms] += value
    if len({time_ms for own in grouped.values() for time_ms in own}) < _FEWEST_POINTS:
        return None
    series = [Series(name, list(own), list(own.values())) for name, own in grouped.items()]
    return lambda title: lines(title, series, unit, bucket_ms, at_ms=at_ms)


def _barred(rows: dict[str, float], unit: str, marked: float | None = None) -> Draw | None:
    if len(rows) < _FEWEST_BARS:
        return None
    return lambda title: bars(title, rows, unit, marked=marked)


def _classed(rows: dict[str, float], xlabel: str, unit: str) -> Draw | None:
    if len(rows) < _FEWEST_BARS:
        return None
    return lambda title: histogram(title, rows, xlabel, unit)


def _backlog(report: object) -> Drawn:
    assert isinstance(report, BacklogOverview)
    rows = [row for row in report.topics if row.messages][:_MOST_BARS]
    drawn: Drawn = []
    if rows:
        behind: dict[str, float] = {f"{row.group} / {row.topic}": row.messages for row in rows}
        drawn.append(("Messages behind each group", _barred(behind, "messages")))
    if report.arrivals:
        points = [(f"{row.group} / {row.topic}", row.time_ms, float(row.messages)) for row in report.arrivals]
        drawn.append(("When what is behind arrived", _lined(points, "messages", report.bucket_ms)))
    return drawn


def _skew(report: object) -> Drawn:
    assert isinstance(report, SkewReport)
    skewed = [row for row in report.topics if row.max_over_mean and row.max_over_mean > _SKEWED and row.queues > 1]
    skewed.sort(key=lambda row: -(row.max_over_mean or 0) * row.messages)
    drawn: Drawn = []
    for topic in skewed[:_MOST_TOPICS]:
        own = sorted((row for row in report.queues if row.topic == topic.topic), key=lambda row: -row.messages)
        several = len({row.store for row in own}) > 1
        shares: dict[str, float] = {
            f"queue {row.queue_id}" + (f" {row.store}" if several else ""): row.messages for row in own[:_MOST_BARS]
        }
        mean = topic.messages / topic.queues
        drawn.append((f"{topic.topic}: messages by queue (dashed: the mean)", _barred(shares, "messages", mean)))
        keys = [key for key in report.keys if key.topic == topic.topic and key.key is not None]
        keys.sort(key=lambda key: -key.messages)
        if keys and keys[0].messages > _NOTABLE * topic.messages:
            heavy: dict[str, float] = {f"{key.key} (queue {key.queue_id})": key.messages for key in keys[:_MOST_BARS]}
            drawn.append((f"{topic.topic}: heaviest keys", _barred(heavy, "messages")))
    sizes: dict[int, float] = defaultdict(float)
    for size in report.sizes:
        sizes[size.from_bytes] += size.messages
    if len(sizes) > 1:
        classes = {units.size(low): sizes[low] for low in sorted(sizes)}
        drawn.append(("Body sizes, all topics", _classed(classes, "bytes, from", "messages")))
    return drawn


def _order(report: object) -> Drawn:
    assert isinstance(report, OrderReport)
    points = [(row.topic, row.time_ms, float(row.moves)) for row in report.times if row.moves]
    return [("Keys that moved to another queue", _lined(points, "moves", report.bucket_ms))] if points else []


def _duplicates(report: object) -> Drawn:
    assert isinstance(report, DuplicatesReport)
    points = [(row.topic, row.time_ms, float(row.copies)) for row in report.times if row.by == "unique key"]
    gaps: dict[int, float] = defaultdict(float)
    for row in report.gaps:
        if row.by == "unique key":
            gaps[row.from_ms] += row.copies
    if not points:
        return []
    classes = {units.duration(low): gaps[low] for low in sorted(gaps)}
    return [
        ("Messages stored again under their unique key", _lined(points, "copies", report.bucket_ms)),
        ("How long after the one before", _classed(classes, "from", "copies")),
    ]


def _tags(report: object) -> Drawn:
    assert isinstance(report, TagsReport)
    lost: dict[str, float] = {f"{row.group} / {row.tag}": row.lost_messages for row in report.lost[:_MOST_BARS]}
    if lost:
        return [("Messages lost to members that want different tags", _barred(lost, "messages"))]
    largest = sorted(report.topics, key=lambda row: -row.messages)[:_MOST_BARS]
    rows: dict[str, float] = {f"{row.topic} / {row.tag or '(none)'}": row.messages for row in largest}
    return [("Largest tags", _barred(rows, "messages"))] if rows else []


def _delay(report: object) -> Drawn:
    assert isinstance(report, DelayReport)
    points = [
        (
            sentence("common-level", "level {level}", level=row.level) if row.topic is None else f"timers: {row.topic}",
            row.time_ms,
            float(row.waiting),
        )
        for row in report.due
    ]
    title = "Waiting messages by when they are due (dotted: now)"
    return [(title, _lined(points, "messages", report.bucket_ms, report.at_ms))] if points else []


def _transactions(report: object) -> Drawn:
    assert isinstance(report, TransactionsReport)
    times: dict[int, float] = defaultdict(float)
    for row in report.times:
        times[row.from_ms] += row.ended
    classes = {units.duration(low): times[low] for low in sorted(times)}
    return [("Time to an end", _classed(classes, "from", "transactions"))] if classes else []


def _retries(report: object) -> Drawn:
    assert isinstance(report, RetriesReport)
    points = [(f"{row.group} retries", row.time_ms, float(row.retries)) for row in report.flow if row.retries]
    points += [(f"{row.group} dead", row.time_ms, float(row.dead)) for row in report.flow if row.dead]
    return [("Retries and dead letters", _lined(points, "messages", report.bucket_ms))] if points else []


def _capacity(report: object) -> Drawn:
    assert isinstance(report, CapacityReport)
    per_second = 1000 / report.bucket_ms
    rates = [(row.store, row.time_ms, row.messages * per_second) for row in report.buckets]
    sizes = [(row.store, row.time_ms, row.bytes * per_second / (1 << 20)) for row in report.buckets]
    topics: dict[str, float] = {row.topic: row.bytes / (1 << 20) for row in report.topics[:_MOST_BARS]}
    if not rates:
        return []
    return [
        ("Messages a second", _lined(rates, "messages/s", report.bucket_ms)),
        ("Bytes a second", _lined(sizes, "MiB/s", report.bucket_ms)),
        ("Largest topics", _barred(topics, "MiB")),
    ]


_CHARTS: dict[str, Callable[[object], Drawn]] = {
    "backlog": _backlog,
    "skew": _skew,
    "order": _order,
    "duplicates": _duplicates,
    "tags": _tags,
    "delay": _delay,
    "transactions": _transactions,
    "retries": _retries,
    "capacity": _capacity,
}
