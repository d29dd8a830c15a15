"""Timer files of 5.x, field by field from bytes packed here, and chains of their records however they are linked."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.errors import BadInputError
from mqctl.store import dtypes, timer
from mqctl.store.timer import TimerCheck, chain, read_timer_check, timer_log, used_slots

UNIT = 52


def unit(previous: int, number: int = 0, *, size: int = UNIT, magic: int = 1) -> bytes:
    """A record of the timer log, no two of whose numbers are equal."""
    return struct.pack(
        ">iqiqiqiiq",
        size,
        previous,
        magic,
        1_000 + number,
        2_000 + number,
        3_000 + number,
        4_000 + number,
        5_000,
        6_000,
    )


def slot(time_units: int, first: int, last: int, count: int, magic: int) -> bytes:
    return struct.pack(">qqqii", time_units, first, last, count, magic)


def test_the_checkpoint_is_read_field_by_field(tmp_path: Path) -> None:
    path = tmp_path / "timercheck"
    assert read_timer_check(path) is None
    data = struct.pack(">7q", *range(11, 18))
    check = TimerCheck(
        last_read_time_ms=11, last_timer_log_flush_pos=12, last_timer_queue_offset=13, master_timer_queue_offset=14,
        state_version=15, timestamp_ms=16, counter=17,
    )  # fmt: skip
    for length in (56, 57, 4_096):
        path.write_bytes(data.ljust(length, b"\xff"))
        assert read_timer_check(path) == check
    for length in (0, 55):
        path.write_bytes(data[:length])
        with pytest.raises(BadInputError, match="too few for its 56"):
            read_timer_check(path)


def test_the_wheel_is_read_field_by_field(tmp_path: Path) -> None:
    path = tmp_path / "timerwheel"
    assert used_slots(path).tolist() == []
    used = [(1, 52, 104, 2, 7), (1_795_218_000, -1, 0, 0, 3)]
    unused = [(0, 1, 2, 3, 4), (-1, 1, 2, 3, 4)]
    wheel = [unused[0], used[0], unused[1], used[1]]
    for behind in (b"", b"\1" * 31):  # part of a slot
        path.write_bytes(b"".join(slot(*row) for row in wheel) + behind)
        assert used_slots(path).tolist() == used
    assert used_slots(path)["last_pos"].dtype == np.dtype(np.int64)


def test_the_log_is_read_up_to_the_first_unit_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each file: in the first, a middle and the last portion, at its first and last unit, and in none."""
    monkeypatch.setattr(timer, "_PORTION", 4)
    per_file, file_bytes = 10, 10 * UNIT + 30
    for number in range(2):
        (tmp_path / f"{number * file_bytes:020d}").write_bytes(
            b"".join(unit(-1, row) for row in range(per_file)).ljust(file_bytes, b"\0")
        )
    for bad in (unit(-1, size=UNIT - 1), unit(-1, magic=-1), unit(-1, magic=16), bytes(UNIT)):
        for at in range(per_file + 1):
            rows = [unit(-1, row, magic=row % 2 * 15) for row in range(per_file)]
            rows[at : at + 1] = [bad] * (at < per_file)
            (tmp_path / f"{0:020d}").write_bytes(b"".join(rows).ljust(file_bytes, b"\0"))
            positions, records = timer_log(tmp_path)
            firsts = [row * UNIT for row in range(at)]
            assert positions.tolist() == [*firsts, *(file_bytes + row * UNIT for row in range(per_file))]
            assert records["physical_offset"].tolist() == [3_000 + row for row in (*range(at), *range(per_file))]
    assert timer_log(tmp_path / "absent")[0].tolist() == []


def test_a_record_of_the_log_is_read_field_by_field(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}").write_bytes(unit(104, 7))
    _, records = timer_log(tmp_path)
    (record,) = records.tolist()
    assert dict(zip(records.dtype.names or (), record, strict=True)) == {
        "size": UNIT, "previous_pos": 104, "magic": 1, "write_time_ms": 1_007, "delayed_ms": 2_007,
        "physical_offset": 3_007, "record_size": 4_007, "topic_hash": 5_000, "reserved": 6_000,
    }  # fmt: skip


@given(
    rows=st.lists(st.tuples(st.integers(1, 3), st.integers(-1, 12)), max_size=8),
    last=st.integers(-1, 30) | st.sampled_from([-(1 << 63), (1 << 63) - 1]),
)
def test_a_chain_is_followed_while_it_leads_to_older_records(rows: list[tuple[int, int]], last: int) -> None:
    """Whatever positions say: behind the log, before it, between two records, at themselves, in a circle."""
    positions = np.cumsum([step for step, _ in rows], dtype=np.int64) + 1
    records = np.frombuffer(b"".join(unit(previous) for _, previous in rows), dtype=dtypes.TIMER_LOG_RECORD)
    row_at = {position: row for row, position in enumerate(positions.tolist())}
    expected: list[int] = []
    position = last
    while position in row_at and (not expected or row_at[position] < expected[-1]):
        expected.append(row_at[position])
        position = rows[expected[-1]][1]
    assert chain(last, positions, records) == expected


def test_a_chain_at_each_edge_of_the_log() -> None:
    positions = np.arange(3, dtype=np.int64) * UNIT
    records = np.frombuffer(unit(-1) + unit(0) + unit(52), dtype=dtypes.TIMER_LOG_RECORD)
    ends = {-1: [], 0: [0], 51: [], 52: [1, 0], 103: [], 104: [2, 1, 0], 105: [], 156: [], 1 << 62: [], -52: []}
    assert {last: chain(last, positions, records) for last in ends} == ends
    assert chain(0, positions[:0], records[:0]) == []
    circle = np.frombuffer(unit(104) + unit(0) + unit(52), dtype=dtypes.TIMER_LOG_RECORD)
    assert [chain(last, positions, circle) for last in (0, 52, 104)] == [[0], [1, 0], [2, 1, 0]]
