"""Plans in files that nothing here wrote: refused with a ValueError, whatever the reader below stumbles over."""

from __future__ import annotations

import re

import pytest

from mqctl.changes.plan.plan_file import FileQueue, PlanFile, read_plan
from mqctl.changes.plan.range_file import FileRange, RangeFile, read_ranges, write_ranges
from tests.each import each

HEAD = b"topic,broker_name,queue_id,begin_offset,end_offset,new\n"


@pytest.mark.parametrize("reader", [read_plan, read_ranges])
@pytest.mark.parametrize("data", [b'"a', b"\x00", HEAD + b"T\n", HEAD + b"T,b,x,1,2,3\n", b'topic,"\rb\n"' + HEAD[5:]])
def test_what_is_no_plan_is_a_value_error(reader: object, data: bytes) -> None:
    with pytest.raises(ValueError):
        reader(data, is_csv=True)  # type: ignore[operator]


@pytest.mark.parametrize("line_end", [b"\r", b"\r\n", b"\n"])
def test_every_line_end_is_one(line_end: bytes) -> None:
    data = line_end.join([b"topic,broker_name,queue_id,new", b"T,b,0,5", b""])
    assert [(row.topic, row.new) for row in read_plan(data, is_csv=True).queues] == [("T", 5)]


def test_columns_of_a_plan() -> None:
    data = b"""broker_name,topic,new,old,queue_id,broker_address,more
b,T,5,,0,1:1,x
b,T,-1,7,1,,
"""
    (first, second) = read_plan(data, is_csv=True).queues
    assert first == FileQueue(topic="T", broker_name="b", queue_id=0, new=5, broker_address="1:1")
    assert second == FileQueue(topic="T", broker_name="b", queue_id=1, new=-1, old=7)
    (bare,) = read_plan(b"topic,broker_name,queue_id,new\nT,b,0,5\n", is_csv=True).queues
    assert (bare.old, bare.knows_old, bare.broker_address) == (None, False, None)


@each(
    "data, said",
    [
        (b"topic,broker_name,queue_id\nT,b,0\n", "it has no column new"),
        (b"", "it has no column topic"),
        (b"topic,broker_name,queue_id,new\n", "it names no queue"),
        (b"topic,broker_name,queue_id,new\nT,b,0,1\nT,b,0,2\n", "it names a queue twice"),
        (b"topic,broker_name,queue_id,new\nT,b,0,1\nT,b,x,2\n", "line 3: 'x' is not the number"),
        (b"topic,broker_name,queue_id,new\nT,b,0,-2\n", "line 2: '-2' is not the number"),
        (b"topic,broker_name,queue_id,new,old\nT,b,0,1,z\n", "line 2: 'z' is not the number"),
        (b"topic,broker_name,queue_id,new\nT,b,0\n", "line 2: '' is not the number"),
        (b"topic,broker_name,queue_id,new\nT,b,0," + b"9" * 50 + b"\n", "line 2: '" + "9" * 40 + "' is not the number"),
    ],
)
def test_what_is_wrong_with_a_plan(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_plan(data, is_csv=True)


def test_plans_of_machines() -> None:
    data = b'{"group": "G", "queues": [{"topic": "T", "broker_name": "b", "queue_id": 0, "new": 5, "old": 3}]}'
    expected = [FileQueue(topic="T", broker_name="b", queue_id=0, new=5, old=3)]
    assert read_plan(data, is_csv=False) == PlanFile(queues=expected, group="G")
    for wrong in (b'{"queues": []}', b"[" * 100_000, b"{}", b"\xff"):
        with pytest.raises(ValueError):
            read_plan(wrong, is_csv=False)


def test_columns_of_stretches() -> None:
    data = b"topic,broker_name,queue_id,begin_offset,end_offset,broker_address\nT,b,0,5,9,1:1\nT,b,0,5,9,\n"
    first, second = read_ranges(data, is_csv=True).ranges
    assert first == FileRange(
        topic="T", broker_name="b", queue_id=0, begin_offset=5, end_offset=9, broker_address="1:1"
    )
    assert (second.broker_address, second.count) == (None, 0)


@each(
    "data, is_csv, said",
    [
        (b"topic,broker_name,queue_id,begin_offset\n", True, "it has no column end_offset"),
        (b"topic,broker_name,queue_id,begin_offset,end_offset\n", True, "it names no queue"),
        (b"topic,broker_name,queue_id,begin_offset,end_offset\nT,b,0,-2,4\n", True, "'-2' is not the number"),
        (b"topic,broker_name,queue_id,begin_offset,end_offset\nT,b,0,1," + b"9" * 50, True, "'" + "9" * 40 + "' is no"),
        (b'{"ranges": []}', False, "it names no queue"),
        (b'{"ranges": [], "schema": "replay.plan/2"}', False, "its schema is replay.plan/2, not replay.plan/1"),
        (b'{"ranges": [{"x": ' + b"[" * 100_000, False, "nested too deeply"),
        (b'"' + b"a" * 200_000, True, "it is not CSV"),
    ],
)
def test_what_is_wrong_with_stretches(data: bytes, is_csv: bool, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        read_ranges(data, is_csv=is_csv)


def test_stretches_are_read_as_they_are_written() -> None:
    plan = RangeFile(
        ranges=[FileRange(topic="T", broker_name="b", queue_id=1, begin_offset=2, end_offset=9, count=4)],
        group="G",
        reason="shed",
        made_at_ms=7,
        count=4,
    )
    written = write_ranges(plan)
    assert read_ranges(written, is_csv=False) == plan
    assert b'\n  "group": "G"' in written
