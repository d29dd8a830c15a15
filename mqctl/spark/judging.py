"""Work on the pieces of a large file, and on its rows brought together by key; what they mean, the caller knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Split = tuple[int, int, int]
"""Number of a piece of a file, and the bytes where it begins and ends."""
Block = tuple[int, int, int]
"""What rows are about: a role, an owner of that role, and a block of the owner's."""
Rows = npt.NDArray[np.int64]
_KEYS = ("role", "owner", "block")
_SPLITS = "number LONG, begin LONG, end LONG"


def each_split(spark: SparkSession, splits: Sequence[Split], work: Callable[[Split], bytes]) -> list[bytes]:
    """Returns what `work` makes of each split, in their order."""

    def answered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for split in _splits_in(batches):
            yield pa.record_batch({"number": pa.array([split[0]], pa.int64()), "answer": pa.array([work(split)])})

    rows = _spread(spark, splits).mapInArrow(answered, "number LONG, answer BINARY").collect()
    return [bytes(answer) for _, answer in sorted((row[0], row[1]) for row in rows)]


def by_owner(
    spark: SparkSession,
    splits: Sequence[Split],
    rows_of: Callable[[Split], Iterator[tuple[int, Rows, Rows, Rows]]],
    width: int,
    judge: Callable[[Iterator[tuple[Block, Rows]]], bytes],
) -> list[bytes]:
    """Brings the rows of each owner together, and returns what `judge` makes of them, an answer for each task.

    Args:
        rows_of: yields role, rows, owners and blocks of a split.
        width: columns of a row; rows of a block come in the order of the first of them.
        judge: is given blocks with their rows; those of one owner all in one task, in order.
    """
    names = [*_KEYS, *(f"c{number}" for number in range(width))]

    def dealt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for split in _splits_in(batches):
            for role, rows, owners, blocks in rows_of(split):
                columns = [np.full(len(rows), role, np.int64), owners, blocks, *rows.T]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(np.ascontiguousarray(column), pa.int64()) for column in columns], names
                )

    def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        yield pa.record_batch({"answer": pa.array([judge(_blocks(batches))], pa.binary())})

    schema = ", ".join(f"{name} LONG" for name in names)
    together = _spread(spark, splits).mapInArrow(dealt, schema).repartition("role", "owner")
    ordered = together.sortWithinPartitions(*_KEYS, "c0")
    return [bytes(row[0]) for row in ordered.mapInArrow(judged, "answer BINARY").collect()]


def _spread(spark: SparkSession, splits: Sequence[Split]) -> DataFrame:
    return spark.createDataFrame(list(splits), _SPLITS).repartition(max(1, len(splits)))


def _splits_in(batches: Iterator[pa.RecordBatch]) -> Iterator[Split]:
    for batch in batches:
        for row in batch.to_pylist():
            yield row["number"], row["begin"], row["end"]


def _blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Block, Rows]]:
    """Yields the rows of each block; they stand in order, and a block may go over several batches."""
    block: Block | None = None
    parts: list[Rows] = []
    for batch in batches:
        table = np.stack([column.to_numpy(zero_copy_only=False) for column in batch.columns], axis=1)
        if not len(table):
            continue
        cuts = np.flatnonzero((np.diff(table[:, :3], axis=0) != 0).any(axis=1)) + 1
        for part in np.split(table, cuts):
            role, owner, number = part[0, :3].tolist()
            if block is not None and block != (role, owner, number):
                yield block, np.concatenate(parts)
                parts = []
            block = role, owner, number
            parts.append(part[:, 3:])
    if block is not None:
        yield block, np.concatenate(parts)
