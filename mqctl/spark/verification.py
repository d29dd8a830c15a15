"""`store verify` and `doctor --store` on Spark: a task takes files of the log, and what leads there.

What queues and index show by themselves is looked at in the driver, which has to see the store as the executors do: on
a mounted disk, or by its URL. The findings are those of one process, for it is the same code.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from mqctl.errors import UsageError
from mqctl.model.progress import Progress
from mqctl.spark.carried import carrying, delivered
from mqctl.spark.scan.planning import open_store
from mqctl.spark.scan.remote import begin_look
from mqctl.spark.watching import watching
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import VerifyPart, VerifyPlan, VerifyReport, verify, verify_part
from mqctl.text import sentence

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession

_TASKS_PER_CORE = 4


def verify_on_spark(
    spark: SparkSession, location: str, store: StoreDirectory, progress: Progress | None = None
) -> VerifyReport:
    """Verifies the store that executors find at `location`, and that is open here as `store`.

    Raises:
        UsageError: a broker has it open: parts that are looked at one after the other would not fit together.
        MqctlError: what a worker ran into, its reason naming the host.
    """
    _refuse_written(store, location)
    return verify(store, progress=progress, spread=partial(_spread, spark, location, store, progress))


def _refuse_written(store: StoreDirectory, location: str) -> None:
    if store.is_written:
        raise UsageError(
            sentence("cannot-verify-spark", "cannot verify {location} on Spark", location=location),
            reason=sentence(
                "spark-broker-open-goes-writing",
                "a broker has it open and continues writing while executors read their parts",
            ),
            remedy=sentence("leave-spark-master-out", "leave --spark and --master out, or give a copy of the store"),
        )


def _spread(
    spark: SparkSession, location: str, store: StoreDirectory, progress: Progress | None, plan: VerifyPlan
) -> list[VerifyPart]:
    context = spark.sparkContext
    shares = _shares(len(store.commit_log.files), _TASKS_PER_CORE * context.defaultParallelism)
    sent = context.broadcast(pickle.dumps(plan))
    read = partial(_read, location, sent, uuid4().hex)
    size = sum(file.size_bytes for file in store.commit_log.files)
    with delivered(), watching(spark, progress, "commitlog", size):
        sent_back: list[bytes] = context.parallelize(shares, len(shares)).mapPartitions(read).collect()
    return [pickle.loads(each) for each in sent_back]


def _shares(files: int, most: int) -> list[tuple[int, int]]:
    """Cuts so many files into at most `most` runs of neighbours, as even as they can be."""
    count = min(files, most)
    return [(number * files // count, (number + 1) * files // count) for number in range(count)]


def _read(location: str, sent: Broadcast[bytes], look: str, shares: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Runs in a worker."""
    with carrying():
        begin_look(look)
        plan: VerifyPlan = pickle.loads(sent.value)
        for begin, end in shares:
            store = open_store(location)
            _refuse_written(store, location)  # a broker may have been started meanwhile
            yield pickle.dumps(verify_part(store, plan, range(begin, end)))
