"""Compiled functions pack the tracks that the numpy kernels pack, on recorded, damaged and invented stores; and tracks
that are dealt into files are judged as those that Spark shuffles."""

from __future__ import annotations

import resource
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.errors import ExitCode
from mqctl.model.own_messages import MARKS
from mqctl.spark.aggregates.heavy import HeavyKey
from mqctl.spark.aggregates.track_layout import BUSINESS, TRACK
from mqctl.spark.aggregates.tracks import PackedTracks, TrackShare, plan_tracks, read_tracks
from mqctl.spark.aggregates.whole_tracks import unpacked
from mqctl.spark.carried import CarriedError, delivered_error
from mqctl.spark.engines import PlainEngine
from mqctl.spark.query import Kernels, Query
from mqctl.spark.reports.duplicates import duplicates
from mqctl.spark.reports.order import order
from mqctl.spark.scan.log_splits import Coverage, log_splits
from mqctl.spark.selection import Bounds, Selection
from tests.spark.test_backlog import STORES
from tests.spark.test_compiled_counts import ITEMS, invented_store, rows
from tests.store.builder import StoreBuilder, message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("numba")
SPLIT_TRACKS = "mqctl.spark.aggregates.compiled.split_tracks"
BOTH_KINDS = Query((), bucket_ms=250, unique_keys=True)
NAMES = TRACK.names or ()
START_MS = 1_795_218_000_000


class Bucket(NamedTuple):
    """What stands in a bucket, with names instead of their numbers; and what was read."""

    kind: int
    slice: int
    rows: list[list[Any]]
    coverage: tuple[Coverage, ...]


def told(wanted: Selection, query: Query, *, buckets: int, heavy: tuple[HeavyKey, ...] = ()) -> dict[int, Bucket]:
    """What a job packs, by bucket."""
    splits = tuple(split for share in log_splits(wanted, 3) for split in share)
    pieces: dict[int, list[PackedTracks]] = {}
    for packed in read_tracks(TrackShare(splits, wanted, query, buckets, heavy)):
        pieces.setdefault(packed.bucket, []).append(packed._replace(data=bytes(packed.data)))
    whole: dict[int, Bucket] = {}
    for bucket, own in pieces.items():
        tracks = unpacked(own, query)
        names = list(map(list(tracks.columns).index, ("topic", "host")))
        tables = tracks.topics, tracks.hosts
        listed = [list(row) for row in zip(*(column.tolist() for column in tracks.columns.values()), strict=True)]
        assert not tracks.store.any()
        for row in listed:
            for place, table in zip(names, tables, strict=True):
                row[place] = table[row[place]]
        whole[bucket] = Bucket(tracks.kind, tracks.slice, listed, tracks.coverage)
    return whole


def both(wanted: Selection, query: Query = BOTH_KINDS, *, buckets: int = 3) -> dict[int, Bucket]:
    """What both kernels pack, which must be one; with a key that is cut as well."""
    plain, compiled = (replace(query, kernels=kernels) for kernels in (Kernels.NUMPY, Kernels.COMPILED))
    whole = told(wanted, plain, buckets=buckets)
    assert told(wanted, compiled, buckets=buckets) == whole
    digests = [(own.kind, row[0], row[1]) for own in whole.values() for row in own.rows]
    heavy = tuple(HeavyKey(kind, digest, (store_ms, store_ms + 3)) for kind, digest, store_ms in digests[:2])
    cut = told(wanted, plain, buckets=buckets, heavy=heavy)
    assert told(wanted, compiled, buckets=buckets, heavy=heavy) == cut
    assert (cut == whole) == (not heavy)
    return whole


@pytest.mark.parametrize("name", STORES)
def test_recorded_stores(name: str, golden_store: Callable[[str], Path]) -> None:
    store = str(golden_store(name))
    packed = both(Selection((store,), system=True))
    assert sum(len(own.rows) for own in packed.values()) > 10
    both(Selection((store,), queue_ids=(1, 3), queue_offset=Bounds(2, 9)))
    both(Selection((store,)), replace(BOTH_KINDS, queues=False))
    both(Selection((store,), topics=("TopicTest",)), Query((), bucket_ms=250, key_property="UNIQ_KEY"))
    wanted = Selection((store,))
    plain, compiled = PlainEngine(Kernels.NUMPY), PlainEngine(Kernels.COMPILED)
    assert order(compiled, wanted, top=5, bucket_ms=500) == order(plain, wanted, top=5, bucket_ms=500)
    assert duplicates(compiled, wanted, top=5, bucket_ms=500) == duplicates(plain, wanted, top=5, bucket_ms=500)


def test_more_tracks_than_buckets_have_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = StoreBuilder(commit_log_file_bytes=1 << 20, queue_file_entries=10_000)
    for number in range(3_000):
        key = {"KEYS": f"k{number % 700} other" if number % 3 else "one", "UNIQ_KEY": f"u{number}"}
        topic = f"T{number % 40}" if number % 11 else "%RETRY%g"
        builder.append(message(topic, number % 3, b"", key, store_time_ms=START_MS + number))
        if not number % 50:
            builder.append(message(topic, 1, b"", {**key, MARKS[number % len(MARKS)]: "x"}))
    wanted = Selection((str(builder.write(tmp_path)),))
    monkeypatch.setattr(f"{SPLIT_TRACKS}.FLUSH_MESSAGES", 700)
    monkeypatch.setattr(f"{SPLIT_TRACKS}._LEAST_ROOM", 20)
    packed = both(wanted, buckets=7)
    both(wanted, buckets=1)
    assert sum(each.own_messages for each in packed[14].coverage) == 60 - sum(not n % 11 for n in range(0, 3_000, 50))


def test_keys_that_must_be_decoded_to_be_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = StoreBuilder(commit_log_file_bytes=1 << 20, queue_file_entries=10_000)
    for number in range(400):
        name = ("订单", "ключ", "x" * 300, "plain", "\U0001f600")[number % 5]
        builder.append(message("T", number % 3, b"", {"KEYS": f"{name}{number % 9}", "UNIQ_KEY": f"{name}{number}"}))
    wanted = Selection((str(builder.write(tmp_path)),))
    monkeypatch.setattr(f"{SPLIT_TRACKS}._ODD_ROOM", 10)
    packed = both(wanted, buckets=2)
    hashes = {row[NAMES.index("hash")] for own in packed.values() if own.kind == BUSINESS for row in own.rows}
    assert len(hashes) == 45
    assert 0 not in hashes


def test_a_store_with_damaged_spots(store_copy: Callable[[str], Path]) -> None:
    store = store_copy("store-rolled-clean")
    logs = sorted((store / "commitlog").iterdir())
    for number, at in ((0, 300), (1, 2_000), (2, 0)):
        with logs[number].open("r+b") as file:
            file.seek(at)
            file.write(b"\xda\xa3\x20\xa7" * 20)
    packed = both(Selection((str(store),)))
    assert any(each.skipped_bytes for own in packed.values() for each in own.coverage)


@settings(max_examples=60, deadline=None)
@given(ITEMS, st.sampled_from(["", "V"]))
def test_invented_properties(items: list[tuple[Mapping[str, str], bool, int]], key: str) -> None:
    with invented_store(items) as wanted:
        both(wanted, Query((), bucket_ms=300, key_property=key, unique_keys=True))


def test_planning_settles_on_compiled_functions_for_large_stores_alone(golden_store: Callable[[str], Path]) -> None:
    (share,) = plan_tracks(Selection((str(golden_store("store-clean")),)), BOTH_KINDS, 1)
    assert isinstance(share, TrackShare)
    assert share.query.kernels is Kernels.AUTO


@pytest.mark.spark
@pytest.mark.parametrize("table", ["order", "keyed"])
def test_dealt_into_files_and_shuffled_by_spark_are_one(
    table: str, golden_store: Callable[[str], Path], spark: SparkSession
) -> None:
    from mqctl.spark.reports.combining import SparkEngine, combined, keyed_parts, parts

    wanted = Selection((str(golden_store("store-rolled-clean")),))
    shuffled = combined(keyed_parts(parts(spark, "tracks", wanted, BOTH_KINDS), table, BOTH_KINDS), table)
    dealt = SparkEngine(spark).rows(table, wanted, BOTH_KINDS)
    assert rows(dealt) == rows(shuffled.toArrow().to_pylist())
    assert len(dealt) > 1


def test_a_full_disk_is_named_with_what_would_help(golden_store: Callable[[str], Path], tmp_path: Path) -> None:
    from mqctl.spark.reports import dealing

    (share,) = plan_tracks(Selection((str(golden_store("store-clean")),)), BOTH_KINDS, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))  # Python ignores the signal: a write is refused
    try:
        with pytest.raises(CarriedError) as caught:
            list(dealing._deal(str(tmp_path), (), [("full", share)]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    error = delivered_error(str(caught.value))
    assert (error.problem, error.exit_code) == (f"could not write {tmp_path}/full", ExitCode.IO)
    assert "File too large" in error.reason
    assert "set TMPDIR to a disk with room" in error.remedy
