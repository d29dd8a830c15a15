"""What a bench measured, as tables and a line of bars; and two runs beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

from mqctl.model.bench import BENCH_SCHEMA, BenchRun, BenchSecond, Percentiles
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import sentence

_TIMES = (
    Column("what", "time"),
    Column("count", "requests", CellKind.COUNT),
    Column("mean_ms", "mean ms"),
    Column("p50_ms", "p50 ms"),
    Column("p90_ms", "p90 ms"),
    Column("p99_ms", "p99 ms"),
    Column("p999_ms", "p99.9 ms"),
    Column("p9999_ms", "p99.99 ms"),
    Column("max_ms", "max ms"),
)
_ERRORS = (
    Column("name", "error"),
    Column("count", "requests", CellKind.COUNT),
    Column("example", "the first said"),
    Column("code", "code", wide=True),
)
_BROKERS = (
    Column("broker_name", "broker"),
    Column("stored_count", "messages stored", CellKind.COUNT, none="?"),
    Column("put_tps_max", "its put/s, at most", CellKind.RATE, none="?"),
    Column("send_wait_max_ms", "sends waited ms", CellKind.COUNT, none="?"),
    Column("send_queue_max", "sends waiting", CellKind.COUNT, none="?"),
    Column("page_cache_lock_max_ms", "append ms", CellKind.COUNT, none="?"),
    Column("get_tps_max", "its get/s, at most", CellKind.RATE, none="?", wide=True),
    Column("version", "version", none="?", wide=True),
    Column("sample_count", "looks", CellKind.COUNT, wide=True),
)
_SECONDS = (
    Column("second", "second", CellKind.COUNT),
    Column("message_count", "messages", CellKind.COUNT),
    Column("size_bytes", "bytes", CellKind.BYTES),
    Column("error_count", "errors", CellKind.COUNT),
    Column("p50_ms", "p50 ms"),
    Column("p99_ms", "p99 ms"),
    Column("max_ms", "max ms"),
    Column("counted", "counted", CellKind.FLAG, wide=True),
)
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesRow:
    """A distribution in a table."""

    what: str
    count: int
    mean_ms: float
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    p9999_ms: float
    max_ms: float


def bench_document(run: BenchRun) -> Document:
    """Builds the document of a run."""
    blocks: list[Table | Paragraphs] = [
        Paragraphs(
            [
                sentence(
                    "bench-second-topic-ended",
                    "{message_count} in {counted_ms}: {messages_per_s} and {bytes_per_s} a second; "
                    "topic {topic}; ended by {ended_by}",
                    message_count=counted(run.message_count, "message"),
                    counted_ms=run.counted_s * 1000,
                    messages_per_s=run.messages_per_s,
                    bytes_per_s=round(run.bytes_per_s),
                    topic=run.topic,
                    ended_by=run.ended_by,
                ),
                run.counting,
            ]
        )
    ]
    rows = [
        _times(what, times)
        for what, times in (("latency", run.latency), ("service", run.service), ("send", run.send))
        if times is not None
    ]
    if rows:
        blocks.append(Table(_TIMES, rows))
    if run.errors:
        blocks.append(
            Table(
                _ERRORS,
                run.errors,
                title=sentence("bench-failed", "{error_count} failed", error_count=counted(run.error_count, "request")),
            )
        )
    blocks.append(
        Table(_BROKERS, run.brokers, title=sentence("title-what-the-brokers-report", "what the brokers report"))
    )
    if len(run.series) > 1:
        blocks.append(Paragraphs(_bars_of(run.series)))
    if run.client is not None and run.limit is not None:
        blocks.append(
            Paragraphs(
                [
                    sentence(
                        "bench-limited",
                        "limited by {what}: {evidence}",
                        what=run.limit.what,
                        evidence=run.limit.evidence,
                    ),
                    sentence("bench-more", "for more: {next}", next=run.limit.next),
                    sentence(
                        "bench-our-busiest-process-used",
                        "our busiest process used {cpu_share} of a core",
                        cpu_share=run.client.cpu_share,
                    ),
                ]
            )
        )
    return Document(schema=BENCH_SCHEMA, value=run, records=run.series, blocks=blocks, csv_columns=_SECONDS)


def spark_line(values: Sequence[float]) -> str:
    """Draws values as a line of bars, from nothing to the highest; longer series are averaged together."""
    if not values:
        return ""
    per_bar = -(-len(values) // _MOST_BARS)
    merged = [sum(values[at : at + per_bar]) / len(values[at : at + per_bar]) for at in range(0, len(values), per_bar)]
    most = max(merged)
    return "".join([_BARS[round(value / most * (len(_BARS) - 1)) if most > 0 else 0] for value in merged])


def _bars_of(series: Sequence[BenchSecond]) -> list[str]:
    rates = [item.message_count for item in series]
    slow = [item.p99_ms for item in series if item.p99_ms is not None]
    lines = [
        sentence(
            "bench-messages-second",
            "messages a second  {spark_line}  {least_per_s} to {most_per_s}",
            spark_line=spark_line(rates),
            least_per_s=min(rates),
            most_per_s=max(rates),
        )
    ]
    if slow:
        lines.append(
            sentence(
                "bench-ms",
                "p99                {spark_line}  {least_ms} to {most_ms}",
                spark_line=spark_line(slow),
                least_ms=min(slow),
                most_ms=max(slow),
            )
        )
    return lines


def _times(what: str, times: Percentiles) -> TimesRow:
    return TimesRow(
        what=what,
        count=times.count,
        mean_ms=_three(times.mean_ms),
        p50_ms=_three(times.p50_ms),
        p90_ms=_three(times.p90_ms),
        p99_ms=_three(times.p99_ms),
        p999_ms=_three(times.p999_ms),
        p9999_ms=_three(times.p9999_ms),
        max_ms=_three(times.max_ms),
    )


def _three(value: float) -> float:
    return round(value, 2 - floor(log10(value))) if value > 0 else value
