"""Tracks of a local session, dealt into files: workers share a disk, so nothing has to pass through the JVM.

Two plain jobs, as in `gathering`: one packs the tracks of its splits into a file each, the other takes the pieces of
one bucket out of all files and judges them. Shuffled by Spark, each byte is copied half a dozen times more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mqctl.errors import StorageError
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.aggregates.keyed import KEYED
from mqctl.spark.aggregates.track_layout import TRACK
from mqctl.spark.aggregates.tracks import PackedTracks, TrackShare, plan_tracks, read_tracks
from mqctl.spark.aggregates.whole_tracks import unpacked
from mqctl.spark.carried import carrying, planning
from mqctl.spark.query import Query
from mqctl.spark.reports.gathering import (
    BadSpots,
    bad_spots_of,
    combined_rows,
    is_local,
    pass_over_all,
    received,
    sent,
    tasks,
)
from mqctl.spark.selection import Selection
from mqctl.store.own_files import new_stream
from mqctl.text import sentence

if TYPE_CHECKING:
    from pyspark import SparkContext


_BUCKET, _KIND, _SLICE, _OFFSET, _SIZE, _NAMES_OFFSET, _NAMES_SIZE = range(7)
"""Columns of an index (int64): of a piece its bucket, kind and slice (see `PackedTracks`), where its data stand in the
file of its task, and where the names do that it shares with others."""


class _Pieces(NamedTuple):
    """The pieces of one bucket in one file, as rows of an index."""

    file: str
    rows: NDArray[np.int64]


def dealt_rows(
    context: SparkContext, table: str, wanted: Selection, query: Query, by: Sequence[str] | None = None
) -> list[Row] | None:
    """Returns the combined rows of a table of whole keys; None where workers share no disk."""
    if not is_local(context, wanted):
        return None
    keyed = KEYED[table]
    keys = tuple(keyed.keys if by is None else by)
    with planning():
        work = plan_tracks(wanted, query, tasks(context, wanted))
    with TemporaryDirectory(prefix="tracks-", dir=context.getConf().get("spark.local.dir")) as place:
        shares = [(f"{number}", share) for number, share in enumerate(work)]
        deal = partial(_deal, place, bad_spots_of(wanted))
        placed = context.parallelize(shares, max(1, len(shares))).mapPartitions(deal).collect()
        buckets: dict[int, list[_Pieces]] = {}
        for file, index in placed:
            ordered = index[np.argsort(index[:, _BUCKET], kind="stable")]
            for part in np.split(ordered, np.flatnonzero(np.diff(ordered[:, _BUCKET])) + 1):
                buckets.setdefault(int(part[0, _BUCKET]), []).append(_Pieces(file, part))
        pieces = sorted(buckets.values(), key=lambda own: -sum(int(each.rows[:, _SIZE].sum()) for each in own))
        if not pieces:
            return []
        count = min(len(pieces), 4 * int(context.defaultParallelism))
        spread = [pieces[number::count] for number in range(count)]
        judge = partial(_judge, place, table, keys, query.text())
        answers = context.parallelize(spread, count).mapPartitions(judge).collect()
    rows: list[Row] = combined_rows(keyed, keys, [received(each) for each in answers]).to_pylist()
    return rows


def _deal(place: str, parts: BadSpots, shares: Iterable[tuple[str, object]]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Runs in a worker: packs the tracks of its shares into a file each; yields the file's name and index."""
    with carrying():
        pass_over_all(parts)
        for name, work in shares:
            assert isinstance(work, TrackShare)
            index, names, names_at, end = [], None, (0, 0), 0
            with _writing(Path(place, name)) as write:
                for packed in read_tracks(work):
                    if names != (packed.store, packed.topics, packed.hosts):
                        names = packed.store, packed.topics, packed.hosts
                        text = json.dumps(names).encode()
                        write(text)
                        names_at, end = (end, len(text)), end + len(text)
                    write(packed.data)
                    index.append((packed.bucket, packed.kind, packed.slice, end, len(packed.data), *names_at))
                    end += len(packed.data)
            if index:
                yield name, np.array(index, dtype=np.int64)


@contextmanager
def _writing(path: Path) -> Iterator[Callable[[bytes | memoryview], None]]:
    """Opens a file to be written; what a failed try of the same task left is gone."""

    def write(data: bytes | memoryview) -> None:
        with _naming(path):
            file.write(data)

    with _naming(path):
        file = new_stream(path, instead=True)
    try:
        yield write
    finally:
        with _naming(path):
            file.close()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Names a file that could not be written, and what helps."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            sentence("could-not-write", "could not write {path}", path=path),
            reason=error.strerror or str(error),
            remedy=sentence(
                "spark-set-tmpdir-disk-room",
                "set TMPDIR to a disk with room: a report keeps {itemsize:byte} of each message with a key",
                itemsize=TRACK.itemsize,
            ),
        ) from error


def _judge(
    place: str, table: str, keys: Sequence[str], query: str, buckets: Iterable[list[list[_Pieces]]]
) -> Iterator[bytes]:
    """Runs in a worker: the rows of its buckets, combined, as an Arrow stream."""
    from mqctl.spark.source.columns import as_table, record_batch

    keyed, wanted = KEYED[table], Query.parse(query)
    with carrying():
        for own in buckets:
            batches = [
                record_batch(columns, keyed.types)
                for pieces in own
                for columns in keyed.judge(unpacked(list(_read(place, pieces)), wanted), wanted)
            ]
            yield sent(combined_rows(keyed, keys, [as_table(batches, keyed.types)]))


def _read(place: str, pieces: Sequence[_Pieces]) -> Iterator[PackedTracks]:
    """Yields the pieces of one bucket."""
    # Mapped, a file that was just written is read at a tenth of that speed.
    for each in pieces:
        with Path(place, each.file).open("rb") as file:
            names_at, names = (-1, -1), ("", (), ())
            for row in each.rows.tolist():
                if names_at != (row[_NAMES_OFFSET], row[_NAMES_SIZE]):
                    names_at = row[_NAMES_OFFSET], row[_NAMES_SIZE]
                    file.seek(names_at[0])
                    store, topics, hosts = json.loads(file.read(names_at[1]))
                    names = store, tuple(topics), tuple(hosts)
                file.seek(row[_OFFSET])
                yield PackedTracks(row[_BUCKET], row[_KIND], row[_SLICE], *names, file.read(row[_SIZE]))
