"""The capacity report: rates, peaks and growth of stores, and the room that is left on their disks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from mqctl.model.report_rows_state import CapacityBucket, CapacityStore, CapacityTopic
from mqctl.model.reports import CapacityReport
from mqctl.model.spans import HOUR_MS
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.engines import Engine, number, sum_of, text
from mqctl.spark.query import Cut, Dim, Query
from mqctl.spark.reports.figures import share_of, stores_read
from mqctl.spark.selection import Selection

CAPACITY_CUTS = (Cut("capacity.times", (Dim.TIME,)), Cut("capacity.topics", (Dim.TOPIC,)))
_SHORTEST_MS = 10_000
"""Ranges shorter than this tell no rate."""


def capacity(engine: Engine, wanted: Selection, *, bucket_ms: int) -> CapacityReport:
    """Scans the stores, and looks at their disks; RocketMQ's own topics take room like all others."""
    wanted = wanted if wanted.topics else replace(wanted, system=True)
    query = Query(CAPACITY_CUTS, bucket_ms=bucket_ms)
    return capacity_report(
        engine.rows("counts", wanted, query), engine.rows("extents", wanted, Query(())), bucket_ms=bucket_ms
    )


def capacity_report(counted: Sequence[Row], extents: Sequence[Row], *, bucket_ms: int) -> CapacityReport:
    """Builds the report from combined counts and from what is known of each store."""
    buckets = sorted(
        (
            CapacityBucket(
                store=text(row, "store"),
                time_ms=sum_of(row, "time_ms"),
                messages=sum_of(row, "messages"),
                bytes=sum_of(row, "bytes"),
            )
            for row in counted
            if row["cut"] == "capacity.times"
        ),
        key=lambda row: (row.store, row.time_ms),
    )
    times = [row for row in counted if row["cut"] == "capacity.times"]
    growth = _growth(times, extents)
    return CapacityReport(
        bucket_ms=bucket_ms,
        read=stores_read(counted),
        stores=[
            _store(row, times, buckets, growth, bucket_ms) for row in sorted(extents, key=lambda r: text(r, "store"))
        ],
        topics=_topics([row for row in counted if row["cut"] == "capacity.topics"]),
        buckets=buckets,
    )


def _range(times: Sequence[Row], store: str) -> tuple[int | None, int | None]:
    own = [row for row in times if row["store"] == store]
    first = min((sum_of(row, "oldest_ms") for row in own), default=None)
    return first, max((sum_of(row, "newest_ms") for row in own), default=None)


def _growth(times: Sequence[Row], extents: Sequence[Row]) -> dict[str, float]:
    """Bytes a millisecond that the stores of each disk take in together."""
    growth: dict[str, float] = defaultdict(float)
    for extent in extents:
        first, last = _range(times, text(extent, "store"))
        if first is not None and last is not None and last - first >= _SHORTEST_MS:
            size = sum(sum_of(row, "bytes") for row in times if row["store"] == extent["store"])
            growth[text(extent, "device")] += size / (last - first)
    return growth


def _store(
    extent: Row, times: Sequence[Row], buckets: Sequence[CapacityBucket], growth: dict[str, float], bucket_ms: int
) -> CapacityStore:
    store = text(extent, "store")
    first, last = _range(times, store)
    own = [row for row in buckets if row.store == store]
    messages, size = sum(row.messages for row in own), sum(row.bytes for row in own)
    span = last - first if first is not None and last is not None and last - first >= _SHORTEST_MS else None
    busiest = max(own, key=lambda row: row.messages, default=None)
    # A bucket at an end of the range is cut: a rate over its whole width would be too low, never too high.
    peak_bytes = max((row.bytes for row in own), default=None)
    oldest, newest = number(extent.get("oldest_ms")), number(extent.get("newest_ms"))
    per_ms = growth.get(text(extent, "device"), 0.0)
    return CapacityStore(
        store=store,
        messages=messages,
        bytes=size,
        first_ms=first,
        last_ms=last,
        messages_per_second=messages * 1000 / span if span else None,
        bytes_per_second=size * 1000 / span if span else None,
        peak_messages_per_second=busiest.messages * 1000 / bucket_ms if busiest else None,
        peak_bytes_per_second=peak_bytes * 1000 / bucket_ms if peak_bytes is not None else None,
        peak_at_ms=busiest.time_ms if busiest else None,
        bytes_per_day=size * 86_400_000 / span if span else None,
        log_bytes=sum_of(extent, "log_bytes"),
        kept_hours=(newest - oldest) / HOUR_MS if oldest is not None and newest is not None else None,
        disk_bytes=number(extent.get("disk_bytes")),
        free_bytes=number(extent.get("free_bytes")),
        hours_to_75=_hours_to(extent, 0.75, per_ms),
        hours_to_90=_hours_to(extent, 0.90, per_ms),
    )


def _hours_to(extent: Row, used_share: float, bytes_per_ms: float) -> float | None:
    """Hours until that share of the disk is used, if nothing were deleted; None without growth, or without a disk."""
    if number(extent.get("disk_bytes")) is None:
        return None
    room = sum_of(extent, "free_bytes") - (1 - used_share) * sum_of(extent, "disk_bytes")
    if room <= 0:
        return 0.0
    return room / bytes_per_ms / HOUR_MS if bytes_per_ms else None


def _topics(rows: Sequence[Row]) -> list[CapacityTopic]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        sums[text(row, "topic")][0] += sum_of(row, "messages")
        sums[text(row, "topic")][1] += sum_of(row, "bytes")
    messages, size = sum(own[0] for own in sums.values()), sum(own[1] for own in sums.values())
    topics = [
        CapacityTopic(
            topic=topic,
            messages=own[0],
            bytes=own[1],
            share=share_of(own[0], messages),
            bytes_share=share_of(own[1], size),
        )
        for topic, own in sums.items()
    ]
    return sorted(topics, key=lambda row: (-row.bytes, row.topic))
