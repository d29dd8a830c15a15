"""Small figures that several reports share: evenness, periods, what was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqctl.model.report_rows import StoreRead
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.keyed import OWN
from mqctl.spark.aggregates.rows import DAMAGE, READ
from mqctl.spark.engines import sum_of, text


def gini(values: Sequence[int]) -> float:
    """Returns the Gini coefficient: 0 where all have the same, towards 1 where one has all; 0 for nothing at all."""
    total = sum(values)
    if not total:
        return 0.0
    weighted = sum(place * value for place, value in enumerate(sorted(values), 1))
    number = len(values)
    return 2 * weighted / (number * total) - (number + 1) / number


def max_over_mean(values: Sequence[int]) -> float | None:
    """Returns the largest value over the mean; None for nothing at all."""
    total = sum(values)
    return max(values) * len(values) / total if total else None


def share_of(part: int, whole: int) -> float:
    """Returns a share between 0 and 1; 0 of nothing."""
    return part / whole if whole else 0.0


def periods(buckets: Iterable[int], bucket_ms: int) -> list[tuple[int, int]]:
    """Joins time buckets without a quiet bucket between them into periods [begin, end)."""
    spans: list[tuple[int, int]] = []
    for begin in sorted(set(buckets)):
        if spans and spans[-1][1] >= begin:
            spans[-1] = (spans[-1][0], begin + bucket_ms)
        else:
            spans.append((begin, begin + bucket_ms))
    return spans


def own_messages(rows: Iterable[Row]) -> int:
    """Counts the messages that mqctl itself sent, and that a report by keys left out."""
    return sum(sum_of(row, "messages") for row in rows if row["cut"] == OWN)


def stores_read(rows: Iterable[Row]) -> list[StoreRead]:
    """Tells what was read of each store, from the rows of a scan."""
    read: dict[str, Row] = {}
    spots: dict[str, list[int]] = {}
    for row in rows:
        if row["cut"] == READ:
            read[text(row, "store")] = row
        elif row["cut"] == DAMAGE:
            spots.setdefault(text(row, "store"), []).append(sum_of(row, "physical_offset"))
    return [
        StoreRead(
            store=store,
            messages=sum_of(row, "messages"),
            bytes=sum_of(row, "bytes"),
            skipped_bytes=sum_of(row, "skipped_bytes"),
            damaged_at=sorted(spots.get(store, ())),
        )
        for store, row in sorted(read.items())
    ]
