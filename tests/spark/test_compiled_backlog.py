"""Compiled functions give what the numpy kernels give: backlogs, on recorded, damaged and invented stores."""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqctl.model.backlog import BacklogBy
from mqctl.spark.aggregates.backlog_figures import Segment, behind
from mqctl.spark.engines import PlainEngine
from mqctl.spark.query import Kernels
from mqctl.spark.reports.backlog import backlog_rows
from mqctl.spark.scan.planning import QueueRange, cells, open_store, placed_shares, ranges
from mqctl.spark.selection import EVERYTHING, Bounds, Selection
from tests.spark.test_backlog import STORES, set_offsets
from tests.store.builder import StoreBuilder, message, record_bytes

pytestmark = pytest.mark.usefixtures("numba")
Flat = dict[tuple[str, int, int, str], tuple[dict[str | None, tuple[int, ...]], int, dict[int, tuple[int, int]]]]


def flat(found: Iterable[tuple[QueueRange, str, Segment]]) -> Flat:
    return {
        (work.topic, work.queue_id, work.low, group): (
            {tag: (s.messages, s.bytes, s.oldest_ms or 0, s.newest_ms or 0) for tag, s in segment.by_tag.items()},
            segment.dangling,
            {time: (sums.messages, sums.bytes) for time, sums in segment.arrivals.items()},
        )
        for work, group, segment in found
    }


def both(store: Path, work: Sequence[QueueRange], times: Bounds = EVERYTHING, width_ms: int = 0) -> Flat:
    """What both kernels say, which must be one."""
    from mqctl.spark.aggregates.compiled.backlog import behind_all

    opened = open_store(str(store))
    plain = flat((each, *pair) for each in work for pair in behind(opened, each, times, arrivals_ms=width_ms))
    compiled = flat(behind_all(opened, work, times, arrivals_ms=width_ms))
    assert compiled == plain
    return plain


def whole(store: Path) -> list[QueueRange]:
    return ranges(str(store), cells(open_store(str(store)), Selection((str(store),), system=True)))


@pytest.mark.parametrize("name", STORES)
def test_recorded_stores(name: str, store_copy: Callable[[str], Path]) -> None:
    store = store_copy(name)
    offsets: dict[str, dict[int, int]] = {}
    for topic, queue_id in open_store(str(store)).queue_ids():
        offsets.setdefault(f"{topic}@everything", {})[queue_id] = 0
        offsets.setdefault(f"{topic}@later", {})[queue_id] = 3
    set_offsets(store, offsets)
    counts = both(store, whole(store))
    assert counts
    both(store, whole(store), width_ms=500)
    times = [s for tags, *_ in counts.values() for s in tags.values()]
    middle = sorted(oldest for _, _, oldest, _ in times)[len(times) // 2] if times else 0
    both(store, whole(store), Bounds(middle, middle + 5_000), 100)
    wanted = Selection((str(store),), system=True)
    for by in (BacklogBy.TAG, BacklogBy.QUEUE, BacklogBy.TIME):
        rows = backlog_rows(PlainEngine(Kernels.NUMPY), wanted, by)
        assert backlog_rows(PlainEngine(Kernels.COMPILED), wanted, by) == rows


def test_a_store_with_holes_and_a_record_that_lies(store_copy: Callable[[str], Path]) -> None:
    store = store_copy("store-rolled-clean")
    set_offsets(store, {"TopicRoll@early": {0: 0, 1: 3}, "TopicRoll@late": {0: 9, 5: 4, 6: 0}, "TopicRoll@x": {1: 7}})
    logs = sorted((store / "commitlog").iterdir())
    logs[1].unlink()
    with logs[2].open("r+b") as file:
        file.write(struct.pack(">i", 91))
    with logs[-1].open("r+b") as file:  # a torn tail
        file.truncate(logs[-1].stat().st_size // 3)
    queue = sorted((store / "consumequeue" / "TopicRoll" / "0").iterdir())
    if len(queue) > 2:
        queue[1].unlink()
    assert any(dangling for _, dangling, _ in both(store, whole(store)).values())


def test_tags_of_one_hash_and_fields_that_mean_something_else(tmp_path: Path) -> None:
    builder = StoreBuilder()
    for number, tag in enumerate(["Aa", "BB", "AaBB", "BBAa", "", "x" * 300, "Aa"]):
        properties = {"TAGS": tag, "KEYS": "k"} if tag else {"KEYS": "k"}
        builder.append(message("T", properties=properties, store_time_ms=1_000 + number))
        builder.append(message("T", properties=properties, store_host="[2001:db8::1]:10911"), version=2)
        builder.append(message("T", properties=properties, born_host="[2001:db8::2]:1"))
    twice = {"KEYS": "k\x02TAGS\x01first", "TAGS": "second\x02TAGS\x01"}  # the later wins, an empty one is none
    builder.append(message("T", properties=twice))
    builder.entries[("T", 0)] = [(at, size, -(7 << 40)) for at, size, _ in builder.entries[("T", 0)]]
    store = builder.write(tmp_path)
    set_offsets(store, {"T@g": {0: 0}})
    ((tags, dangling, _),) = both(store, whole(store)).values()
    assert dangling == 0
    assert {tag: sums[0] for tag, sums in tags.items()} == {
        "Aa": 6, "BB": 3, "AaBB": 3, "BBAa": 3, None: 3, "x" * 300: 3, "second": 1,
    }  # fmt: skip


def test_more_tags_and_strays_than_the_tables_begin_with(tmp_path: Path) -> None:
    builder = StoreBuilder(commit_log_file_bytes=1 << 20, queue_file_entries=10_000)
    for number in range(14_000):
        builder.append(message("T", number % 2, b"", {"TAGS": f"tag-{number}"}, store_time_ms=10 * number))
    again = builder.entries[("T", 1)]
    builder.entries[("T", 1)] = again + again[::-1] + again * 2  # back and forth: all but the first are out of order
    store = builder.write(tmp_path)
    set_offsets(store, {"T@g": {0: 0, 1: 0}, "T@h": {0: 6_000, 1: 13_000}})
    counts = both(store, whole(store), width_ms=10)
    assert len(counts[("T", 0, 0, "g")][0]) == 7_000
    assert counts[("T", 1, 0, "g")][0]["tag-1"][0] == 4


def test_shares_cut_by_place_hold_every_entry_once(
    store_copy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mqctl.spark.scan import planning

    store = store_copy("store-rolled-clean")
    set_offsets(store, {"TopicRoll@a": {0: 0, 1: 5}, "TopicRoll@b": {0: 13, 1: 200}, "TopicRoll@c": {0: 13}})
    monkeypatch.setattr(planning, "SHARE_ENTRIES", 10)
    monkeypatch.setattr(planning, "QUEUE_COST_ENTRIES", 1)
    work = whole(store)
    dealt = placed_shares(work, 3)
    assert len(dealt) == 3
    rows = [(each.queue_id, row) for share in dealt for each in share for row in range(each.low, each.high)]
    assert sorted(rows) == sorted((each.queue_id, row) for each in work for row in range(each.low, each.high))
    opened = open_store(str(store))
    counts: list[dict[tuple[str, str | None], int]] = []
    for shares in ([work], dealt):
        counts.append({})
        for each in (each for share in shares for each in share):
            for group, segment in behind(opened, each):
                for tag, sums in segment.by_tag.items():
                    counts[-1][(group, tag)] = counts[-1].get((group, tag), 0) + sums.messages
    assert counts[0] == counts[1]
    assert sum(counts[0].values()) > 100


SIZES = [len(record_bytes(message("T", body=bytes(n)))) for n in (0, 30, 400)]
ENTRY = st.one_of(
    st.tuples(st.just("record"), st.integers(0, 59)),
    st.tuples(st.just("filler"), st.just(0)),
    st.tuples(st.just("wrong size"), st.integers(0, 59)),
    st.tuples(st.just("inside"), st.integers(0, 59)),
    st.tuples(st.just("anywhere"), st.integers(-(1 << 63), (1 << 63) - 1)),
    st.tuples(st.just("near"), st.integers(-100, 40_000)),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(ENTRY, max_size=40), min_size=1, max_size=3),
    st.lists(st.integers(0, 45), min_size=1, max_size=3),
    st.booleans(),
    st.integers(0, 3),
)
def test_invented_queues(queues: list[list[tuple[str, int]]], readers: list[int], ordered: bool, lost: int) -> None:
    builder = StoreBuilder(commit_log_file_bytes=4_096, queue_file_entries=7)
    for number in range(60):
        tags = {"TAGS": f"t{number % 3}"} if number % 4 else {}
        builder.append(
            message("T", number % 2, bytes((0, 30, 400)[number % 3]), tags, store_time_ms=100 * number),
            version=1 + number % 2,
            dispatch=False,
        )
    for queue_id, entries in enumerate(queues):
        rows = [_entry(builder, kind, value) for kind, value in entries]
        builder.entries[("T", queue_id)] = sorted(rows) if ordered else rows
    with tempfile.TemporaryDirectory() as name:
        store = builder.write(Path(name))
        if lost:
            sorted((store / "commitlog").iterdir())[lost].unlink()
        work = [
            QueueRange(str(store), "T", queue_id, low, 50, tuple((f"g{start}", start) for start in sorted(readers)))
            for queue_id in range(len(queues))
            for low in [min(readers)]
        ]
        both(store, work, width_ms=250)
        both(store, [replace(each, low=each.low + 3) for each in work], Bounds(500, 4_000))


def _entry(builder: StoreBuilder, kind: str, value: int) -> tuple[int, int, int]:
    if kind in ("record", "wrong size", "inside"):
        item = builder.messages[value]
        return item.physical_offset + 4 * (kind == "inside"), item.size_bytes + (kind == "wrong size"), 0
    if kind == "filler":
        return 0, 0x7FFFFFFF, 0
    return value, SIZES[0], 0


def told(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_numpy_does_the_work_where_numba_is_missing() -> None:
    program = """
import sys
sys.modules["numba"] = None
from mqctl.spark.query import Kernels
from mqctl.spark.aggregates.twins import use_compiled
print(use_compiled(Kernels.COMPILED), use_compiled(Kernels.AUTO))
"""
    assert told(program) == ["False", "False"]


def test_small_stores_are_read_before_numba_is_loaded() -> None:
    program = """
import sys
from mqctl.spark.query import Query, Kernels
from mqctl.spark.aggregates.twins import settled, use_compiled
small, large = Query(()), settled(Query(()), messages=10**9)
never = settled(Query((), kernels=Kernels.NUMPY), size_bytes=1 << 40)
print(settled(small, messages=10).kernels, never.kernels, use_compiled(small.kernels), "numba" in sys.modules)
print(use_compiled(large.kernels), use_compiled(small.kernels), use_compiled(never.kernels))
"""
    assert told(program) == ["auto", "numpy", "False", "False", "True", "True", "False"]
