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

from mqctl.errors import StorageError
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.keyed import KEYED
from mqctl.spark.aggregates.track_layout import TRACK
from mqctl.spark.aggregates.tracks import PackedTracks, TrackShare, plan_tracks, read_tracks, unpacked
from mqctl.spark.carried import CarriedError, carrying, delivered_error
from mqctl.spark.query import Query
from mqctl.spark.reports.gathering import combined_rows, is_local, received, sent, tasks
from mqctl.spark.selection import Selection

if TYPE_CHECKING:
    from pyspark import SparkContext


class _Piece(NamedTuple):
    """Where the tracks of one bucket of one split stand: name of the file, offset, and the bytes they take."""

    file: str
    offset: int
    size: int


def dealt_rows(
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
        shares = [(f"{number}", share) for number, share in enumerate(work)]
        placed = context.parallelize(shares, max(1, len(shares))).mapPartitions(partial(_deal, place)).collect()
        buckets: dict[int, list[_Piece]] = {}
        for bucket, piece in placed:
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


def _deal(place: str, shares: Iterable[tuple[str, object]]) -> Iterator[tuple[int, _Piece]]:
    """Runs in a worker: packs the tracks of its shares into files; yields buckets and where their pieces stand."""
    with carrying():
        for name, work in shares:
            assert isinstance(work, TrackShare)
            path = Path(place, name)
            offset = path.stat().st_size if path.exists() else 0  # of a task that failed and is tried again
            for packed in read_tracks(work):
                data = pickle.dumps(packed, protocol=pickle.HIGHEST_PROTOCOL)
                _append(path, data)
                yield packed.bucket, _Piece(name, offset, len(data))
                offset += len(data)


def _append(path: Path, data: bytes) -> None:
    try:
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        raise StorageError(
            f"could not write {path}",
            reason=error.strerror or str(error),
            remedy=f"set TMPDIR to a disk with room: a report keeps {TRACK.itemsize} bytes of each message with a key",
        ) from error


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
        with Path(place, piece.file).open("rb") as file:
            file.seek(piece.offset)
            packed.append(pickle.loads(file.read(piece.size)))
    return packed
