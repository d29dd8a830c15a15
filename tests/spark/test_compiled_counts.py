"""Compiled functions count what the numpy kernels count, on recorded, damaged and invented stores."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.spark.aggregates import grouping
from mqctl.spark.aggregates.combiner import Row
from mqctl.spark.engines import PlainEngine
from mqctl.spark.query import Cut, Dim, Kernels, Query
from mqctl.spark.reports.skew import skew
from mqctl.spark.reports.tags import tags
from mqctl.spark.scan.log_splits import LogSplit
from mqctl.spark.selection import Bounds, Selection
from tests.spark.test_backlog import STORES
from tests.store.builder import StoreBuilder, message, record_bytes

pytestmark = pytest.mark.usefixtures("numba")
CUTS = (
    Cut("all", ()),
    Cut("queues", (Dim.TOPIC, Dim.QUEUE)),
    Cut("keys", (Dim.TOPIC, Dim.QUEUE, Dim.KEY), 3),
    Cut("only keys", (Dim.KEY,), 2),
    Cut("hosts", (Dim.TOPIC, Dim.HOST)),
    Cut("sizes", (Dim.SIZE, Dim.TIMES)),
    Cut("times", (Dim.TIME, Dim.TAG)),
    Cut("values", (Dim.VALUE, Dim.TAG, Dim.TOPIC, Dim.QUEUE)),
)


def rows(found: list[Row]) -> list[tuple[tuple[str, str], ...]]:
    """Rows in an order that does not hang on the order of reading; columns without a value are left out."""
    return sorted(tuple(sorted((k, str(v)) for k, v in row.items() if v is not None)) for row in found)


def both(wanted: Selection, query: Query) -> list[Row]:
    """What both kernels say, which must be one."""
    plain = PlainEngine(Kernels.NUMPY).rows("counts", wanted, query)
    compiled = PlainEngine(Kernels.COMPILED).rows("counts", wanted, query)
    assert rows(compiled) == rows(plain)
    return plain


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("key", ["", "UNIQ_KEY"])
def test_recorded_stores(name: str, key: str, golden_store: Callable[[str], Path]) -> None:
    store = str(golden_store(name))
    query = Query(CUTS, bucket_ms=250, key_property=key, value_property="CLUSTER" if key else "WAIT")
    counts = both(Selection((store,), system=True), query)
    assert sum(row["cut"] == "keys" for row in counts) > 1
    both(Selection((store,)), query)
    times = [row for row in counts if row["cut"] == "all"]
    low, high = int(str(times[0]["oldest_ms"])), int(str(times[0]["newest_ms"]))
    narrow = Selection((store,), queue_ids=(1, 3), store_time_ms=Bounds(low + 1, (low + high) // 2 + 1))
    both(narrow, query)
    both(Selection((store,), queue_offset=Bounds(2, 9), physical_offset=Bounds(1_000, 50_000)), query)
    both(Selection((store,), topics=("TopicTest",)), query)
    for report in (
        lambda engine: skew(engine, Selection((store,)), top=3),
        lambda engine: tags(engine, Selection((store,))),
    ):
        assert report(PlainEngine(Kernels.COMPILED)) == report(PlainEngine(Kernels.NUMPY))


def test_more_keys_than_the_tables_begin_with(tmp_path: Path) -> None:
    builder = StoreBuilder(commit_log_file_bytes=1 << 20, queue_file_entries=10_000)
    for number in range(9_000):  # more cells than the table begins with
        key = {"KEYS": f"k{number} other"} if number % 7 else {}
        builder.append(message("T", number % 3, bytes(number % 5), key), version=1 + number % 2)
        builder.append(message("T", 1, properties={"__SHARDINGKEY": f"s{number % 40}", "KEYS": "no"}))
    store = builder.write(tmp_path)
    query = Query(CUTS, value_property="KEYS")
    assert len(both(Selection((str(store),)), query)) > 9_000


def test_the_heaviest_keys_are_kept_and_the_rest_is_summed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = StoreBuilder(commit_log_file_bytes=1 << 20, queue_file_entries=10_000)
    for number in range(60):
        for _ in range(number + 1):
            builder.append(message("T", number % 3, b"", {"KEYS": f"k{number:02}"}))
    store = builder.write(tmp_path)
    query = Query(CUTS[1:4])
    monkeypatch.setattr(grouping, "KEEP_ALL", 50)
    counts = both(Selection((str(store),)), query)
    assert {row["is_rest"] for row in counts if row["cut"] == "keys"} == {True, False}


def test_a_store_with_damaged_spots_and_a_torn_tail(store_copy: Callable[[str], Path]) -> None:
    store = store_copy("store-rolled-clean")
    logs = sorted((store / "commitlog").iterdir())
    for number, at in ((0, 300), (1, 2_000), (2, 0)):
        with logs[number].open("r+b") as file:
            file.seek(at)
            file.write(b"\xda\xa3\x20\xa7" * 20)
    with logs[-1].open("r+b") as file:
        file.truncate(logs[-1].stat().st_size // 2 + 11)
    counts = both(Selection((str(store),)), Query(CUTS))
    assert any(row.get("skipped_bytes") for row in counts)
    assert any(row["cut"] == "damage" for row in counts)


def test_splits_cut_anywhere_count_every_record_once(golden_store: Callable[[str], Path]) -> None:
    from mqctl.spark.aggregates.counting import count_rows

    store = golden_store("store-clean")
    (log,) = [path for path in sorted((store / "commitlog").iterdir()) if path.read_bytes()[:4].strip(b"\0")][:1]
    size = len(log.read_bytes().rstrip(b"\0"))
    edges = [0, 1, 777, size // 3, size // 2, size - 40, size]
    splits = [LogSplit(str(store), int(log.name), low, high, size) for low, high in itertools.pairwise(edges)]
    wanted = Selection((str(store),), system=True)
    for kernels in (Kernels.NUMPY, Kernels.COMPILED):
        counted = count_rows(splits, wanted, Query((Cut("all", ()),), kernels=kernels))
        cut = [columns for columns in counted if columns["cut"][0] == "all"]
        whole = list(count_rows([LogSplit(str(store), int(log.name), 0, size, size)], wanted, Query((Cut("all", ()),))))
        assert sum(int(str(n)) for columns in cut for n in columns["messages"]) == whole[0]["messages"][0]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
PROPERTIES = st.dictionaries(
    st.sampled_from(["TAGS", "KEYS", "TAG", "TAGSX", "__SHARDINGKEY", "__SHARDINGKEYS", "UNIQ_KEY", "V"]) | TEXT,
    st.sampled_from(["a", "Aa", "BB", "one two", " lead", "x" * 230, ""]) | TEXT,
    max_size=6,
)


ITEMS = st.lists(st.tuples(PROPERTIES, st.booleans(), st.integers(0, 3)), max_size=12)


@contextmanager
def invented_store(items: list[tuple[Mapping[str, str], bool, int]]) -> Iterator[Selection]:
    """A store of messages with such properties, from hosts of both widths; its last record ends its last file."""
    builder = StoreBuilder(commit_log_file_bytes=1 << 16)
    for number, (properties, wide, twice) in enumerate(items):
        host = "[2001:db8::7]:4" if wide else "192.0.2.9:4"
        item = message(f"T{number % 2}", twice, b"b" * twice, properties, born_host=host, store_time_ms=100 * number)
        builder.append(item, version=1 + number % 2)
    with tempfile.TemporaryDirectory() as name:
        store = builder.write(Path(name))
        log = sorted((store / "commitlog").iterdir())[-1]
        with log.open("r+b") as file:  # the last record ends the file: nothing may be read behind it
            file.truncate(len(builder.log) - int(log.name))
        yield Selection((str(store),))


@settings(max_examples=80, deadline=None)
@given(ITEMS, st.sampled_from(["", "V"]))
def test_invented_properties(items: list[tuple[Mapping[str, str], bool, int]], key: str) -> None:
    with invented_store(items) as wanted:
        both(wanted, Query(CUTS, bucket_ms=300, key_property=key, value_property="V"))


def test_raw_properties_of_any_bytes(tmp_path: Path) -> None:
    odd = [
        b"TAGS\x01", b"TAGS\x01a\x02TAGS\x01", b"\x02\x02TAGS\x01b\x02\x02", b"\x01x\x02TAGS\x01c\x01d",
        b"TAGSTAGS\x01e", b"XTAGS\x01f\x02KEYS\x01  g", b"KEYS\x01\xff\xfe h\x02TAGS\x01\xe4\xb8\xad",
        b"TAGS", b"\x02" * 9, b"",
    ]  # fmt: skip
    data = b""
    for number, raw in enumerate(odd):
        item = message("T", number % 2)
        size = len(data)
        data += record_bytes(replace(item, physical_offset=size, queue_offset=number), raw_properties=raw)
    directory = tmp_path / "commitlog"
    directory.mkdir()
    (directory / f"{0:020}").write_bytes(data)
    (tmp_path / "config").mkdir()
    (tmp_path / "consumequeue").mkdir()
    counts = both(Selection((str(tmp_path),)), Query(CUTS, value_property="TAGS"))
    assert next(row for row in counts if row["cut"] == "all")["messages"] == len(odd)
