"""Plans in files that nothing here wrote: refused with a ValueError, whatever the reader below stumbles over."""

from __future__ import annotations

import pytest

from mqctl.plan.plan_file import read_plan
from mqctl.plan.range_file import read_ranges

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
