"""The duplicates report: messages stored more than once under one key, how far apart, by whom, and when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from mqctl.model.report_rows import (
    DuplicateGap,
    DuplicateKey,
    DuplicateProducer,
    DuplicateTime,
    DuplicateTopic,
    DuplicateWindow,
)
from mqctl.model.reports import DuplicatesReport
from mqctl.spark.aggregates import track_layout
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.engines import Engine, sum_of, text, whole_keys
from mqctl.spark.query import Query
from mqctl.spark.reports.figures import own_messages, periods, stores_read
from mqctl.spark.selection import Selection

UNIQUE, BUSINESS = "unique key", "business key"


def duplicates(
    engine: Engine, wanted: Selection, *, top: int, bucket_ms: int, key_property: str = ""
) -> DuplicatesReport:
    """Scans the stores once, by the client's unique keys and by business keys."""
    query = Query((), bucket_ms=bucket_ms, key_property=key_property, unique_keys=True, queues=False, top=top)
    return duplicates_report(
        whole_keys(engine.rows("duplicates", wanted, query), "duplicates", query), top=top, bucket_ms=bucket_ms
    )


def duplicates_report(rows: Sequence[Row], *, top: int, bucket_ms: int) -> DuplicatesReport:
    """Builds the report from combined rows."""
    report = DuplicatesReport(
        bucket_ms=bucket_ms,
        topics=[],
        windows=[],
        times=[],
        producers=[],
        gaps=[],
        keys=[],
        read=stores_read(rows),
        own_messages=own_messages(rows),
    )
    for kind, by in ((track_layout.UNIQUE, UNIQUE), (track_layout.BUSINESS, BUSINESS)):
        cuts: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.get("kind") == kind:
                cuts[text(row, "cut")].append(row)
        report.gaps.extend(
            DuplicateGap(
                by=by, topic=text(row, "topic"), from_ms=sum_of(row, "gap_class_ms"), copies=sum_of(row, "copies")
            )
            for row in sorted(cuts["gaps"], key=lambda row: (text(row, "topic"), sum_of(row, "gap_class_ms")))
        )
        report.topics.extend(_topics(by, cuts["topics"], report.gaps))
        report.windows.extend(_windows(by, cuts["times"], bucket_ms))
        report.times.extend(
            DuplicateTime(by=by, topic=text(row, "topic"), time_ms=sum_of(row, "time_ms"), copies=sum_of(row, "copies"))
            for row in sorted(cuts["times"], key=lambda row: (text(row, "topic"), sum_of(row, "time_ms")))
        )
        report.producers.extend(
            DuplicateProducer(
                by=by, topic=text(row, "topic"), born_host=text(row, "born_host"), copies=sum_of(row, "copies")
            )
            for row in sorted(cuts["hosts"], key=lambda row: (-sum_of(row, "copies"), text(row, "born_host")))
        )
        report.keys.extend(_keys(by, cuts["keys"], top))
    return report


def _topics(by: str, rows: Iterable[Row], gaps: Iterable[DuplicateGap]) -> list[DuplicateTopic]:
    commonest: dict[str, DuplicateGap] = {}
    for gap in gaps:
        if gap.by == by and gap.copies > (commonest[gap.topic].copies if gap.topic in commonest else 0):
            commonest[gap.topic] = gap
    topics = [
        DuplicateTopic(
            by=by,
            topic=text(row, "topic"),
            messages=sum_of(row, "messages"),
            keys=sum_of(row, "keys"),
            repeated_keys=sum_of(row, "repeated_keys"),
            copies=sum_of(row, "copies"),
            same_host_copies=sum_of(row, "same_host_copies"),
            typical_gap_ms=commonest[text(row, "topic")].from_ms if text(row, "topic") in commonest else None,
        )
        for row in rows
        if sum_of(row, "messages")
    ]
    return sorted(topics, key=lambda row: (-row.copies, row.topic))


def _windows(by: str, rows: Iterable[Row], bucket_ms: int) -> list[DuplicateWindow]:
    times: dict[str, dict[int, int]] = defaultdict(dict)
    for row in rows:
        times[text(row, "topic")][sum_of(row, "time_ms")] = sum_of(row, "copies")
    return [
        DuplicateWindow(
            by=by,
            topic=topic,
            begin_ms=begin,
            end_ms=end,
            copies=sum(copies for at, copies in buckets.items() if begin <= at < end),
        )
        for topic, buckets in sorted(times.items())
        for begin, end in periods(buckets, bucket_ms)
    ]


def _keys(by: str, rows: Iterable[Row], top: int) -> list[DuplicateKey]:
    shown: dict[str, int] = defaultdict(int)
    keys = []
    for row in sorted(rows, key=lambda row: (text(row, "topic"), -sum_of(row, "copies"), text(row, "key"))):
        shown[text(row, "topic")] += 1
        if shown[text(row, "topic")] <= top:
            keys.append(
                DuplicateKey(
                    by=by,
                    topic=text(row, "topic"),
                    key=text(row, "key"),
                    messages=sum_of(row, "messages"),
                    hosts=sum_of(row, "hosts"),
                    oldest_ms=sum_of(row, "oldest_ms"),
                    newest_ms=sum_of(row, "newest_ms"),
                )
            )
    return keys
