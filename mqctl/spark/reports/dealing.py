"""Tracks of a local session, dealt into files: workers share a disk, so nothing has to pass through the JVM.

Two plain jobs, as in `gathering`: one packs the tracks of its splits into a file each, the other takes the pieces of
one bucket out of all files and judges them. Shuffled by Spark, each byte is copied half a dozen times more.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.keyed import KEYED
from mqctl.spark.aggregates.tracks import PackedTracks, TrackShare, plan_tracks, read_tracks, unpacked
from mqctl.spark.carried import CarriedError, carrying, delivered_error
from mqctl.spark.query import Query
from mqctl.spark.reports.gathering import combined_rows, is_local, received, sent, tasks
from mqctl.spark.selection import Selection

if TYPE_CHECKING:
    from pyspark import SparkContext


class _Piece(NamedTuple):
    """Where the tracks of one bucket of one split stand: number of the file, offset, and the bytes they take."""

    file: int
    offset: int
    size: int


def dealt(
    context: SparkContext, table: str, wanted: Selection, query: Query, by: Sequence[str] | None = None
) -> list[Row] | None:
    """Returns the combined rows of a table of whole keys; None where workers share no disk."""
    if not is_local(context, wanted):
        return None
    keyed = KEYED[table]
    keys = tuple(keyed.keys if by is None else by)
    try:
        with carrying():
            work = plan_tracks(wanted, query, tasks(context, wanted))
    except CarriedError as failure:
        raise delivered_error(str(failure)) from failure
    with TemporaryDirectory(prefix="tracks-", dir=context.getConf().get("spark.local.dir")) as place:
        shares = list(enumerate(work))
        found = context.parallelize(shares, max(1, len(shares))).mapPartitions(partial(_deal, place)).collect()
        buckets: dict[int, list[_Piece]] = {}
        for bucket, piece in found:
            buckets.setdefault(bucket, []).append(piece)
        pieces = sorted(buckets.values(), key=lambda own: -sum(piece.size for piece in own))
        if not pieces:
            return []
        count = min(len(pieces), 4 * int(context.defaultParallelism))
        spread = [pieces[number::count] for number in range(count)]
        judge = partial(_judge, place, table, keys, query.text())
        answers = context.parallelize(spread, count).mapPartitions(judge).collect()
    rows: list[Row] = combined_rows(keyed, keys, [received(each) for each in answers]).to_pylist()
    return rows


def _deal(place: str, shares: Iterable[tuple[int, object]]) -> Iterator[tuple[int, _Piece]]:
    """Runs in a worker: packs the tracks of its shares into files; yields buckets and where their pieces stand."""
    with carrying():
        for number, work in shares:
            assert isinstance(work, TrackShare)
            with Path(place, str(number)).open("wb") as file:
                offset = 0
                for packed in read_tracks(work):
                    pickle.dump(packed, file, protocol=pickle.HIGHEST_PROTOCOL)
                    end = file.tell()
                    yield packed.bucket, _Piece(number, offset, end - offset)
                    offset = end


def _judge(
    place: str, table: str, keys: Sequence[str], query: str, buckets: Iterable[list[list[_Piece]]]
) -> Iterator[bytes]:
    """Runs in a worker: the rows of its buckets, combined, as an Arrow stream."""
    from mqctl.spark.source.columns import as_table, record_batch

    keyed, wanted = KEYED[table], Query.parse(query)
    with carrying():
        for own in buckets:
            batches = [
                record_batch(columns, keyed.types)
                for pieces in own
                for columns in keyed.judge(unpacked(_read(place, pieces)), wanted)
            ]
            yield sent(combined_rows(keyed, keys, [as_table(batches, keyed.types)]))


def _read(place: str, pieces: Sequence[_Piece]) -> list[PackedTracks]:
    packed = []
    for piece in pieces:
        with Path(place, str(piece.file)).open("rb") as file:
            file.seek(piece.offset)
            packed.append(pickle.loads(file.read(piece.size)))
    return packed
