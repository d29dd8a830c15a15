"""Tables of partial aggregates: what workers yield, and how partial rows of one key become one row.

The same rows are combined by Spark (`reports.combining`) or in this process (`plain`): both follow `keys` and `sums`,
`lows`, `highs` here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mqctl.spark.aggregates.combiner import Columns
from mqctl.spark.aggregates.counting import count_rows
from mqctl.spark.aggregates.rows import QUEUES
from mqctl.spark.aggregates.twins import settled
from mqctl.spark.query import Query
from mqctl.spark.scan.log_splits import LogSplit, log_splits
from mqctl.spark.scan.planning import open_store
from mqctl.spark.selection import Selection
from mqctl.store.config_files import TOPICS, topic_configs

Work = object


@dataclass(frozen=True, slots=True)
class PartTable:
    """A table of partial aggregates.

    Attributes:
        keys: columns by which rows are combined, with their Spark types.
        sums, lows, highs: columns of 64-bit numbers that are added, or of which the lowest or highest counts.
        plan: (wanted, query, partitions at most) -> the work of each partition.
        read: work -> rows.
    """

    keys: dict[str, str]
    sums: tuple[str, ...]
    lows: tuple[str, ...]
    highs: tuple[str, ...]
    plan: Callable[[Selection, Query, int], Sequence[Work]]
    read: Callable[[Work], Iterator[Columns]]

    @property
    def types(self) -> dict[str, str]:
        """Spark types of all columns."""
        return {**self.keys, **dict.fromkeys((*self.sums, *self.lows, *self.highs), "bigint")}


@dataclass(frozen=True, slots=True)
class CountShare:
    """The work of one partition of `counts`; `queues` are the (store, topic, queue id) there are, told once."""

    splits: tuple[LogSplit, ...]
    wanted: Selection
    query: Query
    queues: tuple[tuple[str, str, int], ...] = ()


def _plan_counts(wanted: Selection, query: Query, count: int) -> list[Work]:
    shares = log_splits(wanted, count) or [[]]
    query = settled(query, size_bytes=sum(split.high - split.low for share in shares for split in share))
    queues = tuple(each for path in wanted.stores for each in queues_of(path, wanted))
    return [CountShare(tuple(share), wanted, query, () if number else queues) for number, share in enumerate(shares)]


def queues_of(path: str, wanted: Selection) -> list[tuple[str, str, int]]:
    """Lists the queues of a store that are to be expected: by its topics' settings, and by its directories."""
    store = open_store(path)
    queues = {(topic, number) for topic, number in store.queue_ids() if wanted.wants_topic(topic)}
    for topic in topic_configs(store.config(TOPICS)):
        # A topic without any directory was never written to: nothing of it is missing.
        if wanted.wants_topic(topic.name) and any(name == topic.name for name, _ in store.queue_ids()):
            queues |= {(topic.name, number) for number in range(topic.write_queue_count)}
    return [
        (path, topic, number) for topic, number in sorted(queues) if not wanted.queue_ids or number in wanted.queue_ids
    ]


def _read_counts(work: Work) -> Iterator[Columns]:
    assert isinstance(work, CountShare)
    if work.queues:
        stores, topics, numbers = zip(*work.queues, strict=True)
        nothing = [0] * len(stores)
        yield {
            "cut": [QUEUES] * len(stores),
            "store": stores,
            "topic": topics,
            "queue_id": numbers,
            "messages": nothing,
            "bytes": nothing,
        }
    yield from count_rows(work.splits, work.wanted, work.query)


COUNTS = PartTable(
    keys={
        "cut": "string",
        "store": "string",
        "topic": "string",
        "queue_id": "int",
        "tag": "string",
        "key": "string",
        "is_rest": "boolean",
        "born_host": "string",
        "size_class": "bigint",
        "time_ms": "bigint",
        "new_queue": "int",
        "reconsume_times": "int",
        "value": "string",
        "physical_offset": "bigint",
    },
    sums=("messages", "bytes", "body_bytes", "skipped_bytes", "keys", "most_messages", "most_bytes"),
    lows=("oldest_ms",),
    highs=("newest_ms",),
    plan=_plan_counts,
    read=_read_counts,
)
