"""How far a report is: stages and tasks of Spark's jobs, with the bytes they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from mqctl.errors import MqctlError
from mqctl.model.progress import Progress
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.engines import Engine
from mqctl.spark.query import Query
from mqctl.spark.scan.planning import open_store
from mqctl.spark.selection import Selection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_S = 0.25
_OF_LOGS = frozenset({"counts", "order", "duplicates"})
"""Tables for which the commit logs are read."""
_MB = 1_000_000


class WatchedEngine:
    """A Spark engine whose jobs report how far they are, about four times a second."""

    def __init__(self, engine: Engine, spark: SparkSession, progress: Progress) -> None:
        self._engine = engine
        self._spark = spark
        self._progress = progress

    def rows(self, table: str, wanted: Selection, query: Query, by: Sequence[str] | None = None) -> list[Row]:
        """See `Engine`."""
        size = log_bytes(wanted) if table in _OF_LOGS else 0
        with watching(self._spark, self._progress, table, size):
            return self._engine.rows(table, wanted, query, by)

    def group_topics(self, wanted: Selection) -> dict[str, set[str]]:
        """See `Engine`."""
        return self._engine.group_topics(wanted)


def log_bytes(wanted: Selection) -> int:
    """Returns the sizes of the commit logs' files, as far as this host sees them; their unwritten rest included."""
    with suppress(MqctlError):
        return sum(file.size_bytes for path in wanted.stores for file in open_store(path).commit_log.files)
    return 0


def progress_words(what: str, done: int, total: int, size: int) -> str:
    """Says how far something is, with the bytes that the finished part stands for."""
    if not size or not total:
        return what
    return f"{what}, {size * done // total / _MB:,.0f} of {size / _MB:,.0f} MB"


@contextmanager
def watching(spark: SparkSession, progress: Progress | None, table: str, size: int) -> Iterator[None]:
    """Reports from a thread of its own while the block waits for Spark; ends with the block, however that ends."""
    if progress is None:
        yield
        return
    done = Event()
    watcher = Thread(target=_watch, args=(spark, progress, (table, size), done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join(_EVERY_S * 4)


def _watch(spark: SparkSession, progress: Progress, what: tuple[str, int], done: Event) -> None:
    from py4j.protocol import Py4JError

    tracker = spark.sparkContext.statusTracker()
    seen: dict[int, tuple[int, int]] = {}
    table, size = what
    while not done.wait(_EVERY_S):
        try:
            for number in tracker.getActiveStageIds():
                stage = tracker.getStageInfo(number)
                if stage is not None:
                    seen[number] = (stage.numCompletedTasks, stage.numTasks)
            current = max(seen, default=None)
        except (Py4JError, OSError):
            return  # the JVM has been ended: by Ctrl-C, or it died
        if current is not None:
            tasks, total = seen[current]
            first = min(seen)  # the stage that reads; those after it bring together what it found
            words = progress_words(table, tasks, total, size if current == first else 0)
            progress(f"{words}: stage {len(seen)}, {tasks} of {total} tasks", tasks, total)
