"""Numbers that others wrote: longer than Python reads, in other scripts' digits, with signs and blanks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product

import pytest

from mqctl.changes.plan.plan_file import read_plan
from mqctl.changes.plan.range_file import read_ranges
from mqctl.cli.options.doctor import time_scale_of
from mqctl.cli.times import parse_instant
from mqctl.commands.allocation.what_if import new_broker, new_room
from mqctl.errors import MqctlError
from mqctl.filter.sql import compile_sql
from mqctl.model.lag_condition import parse_condition
from mqctl.stacks.names import understand
from tests.each import each

LONG = "9" * 5_000
ODD = (LONG, "\u00b2", "\u0663", "1_0", "+1", "1e3", "-5", "0x1")
REFUSE: dict[str, Callable[[str], object]] = {
    "a broker of a what-if": lambda text: new_broker(f"broker-c={text}", 8),
    "a room of a what-if": lambda text: new_room(f"SH={text}x8+3"),
    "a lag condition": lambda text: parse_condition(f"lag < {text}"),
    "a plan's offset": lambda text: read_plan(f"topic,broker_name,queue_id,new\nt,b,0,{text}\n".encode(), is_csv=True),
    "a range's queue": lambda text: read_ranges(
        f"topic,broker_name,queue_id,begin_offset,end_offset\nt,b,{text},0,1\n".encode(), is_csv=True
    ),
}


@pytest.mark.quick
@each("what, text", product(REFUSE, ODD))
def test_what_is_no_number_is_refused_by_name(what: str, text: str) -> None:
    with pytest.raises((MqctlError, ValueError)) as caught:
        REFUSE[what](text)
    message = getattr(caught.value, "reason", "") or str(caught.value)
    assert "invalid literal" not in message
    assert "integer string conversion" not in message


def test_long_digits_are_no_time_and_no_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MqctlError):
        parse_instant(LONG, datetime(2026, 11, 22, tzinfo=UTC))
    for text in (LONG, "inf", "nan", "1e400"):
        monkeypatch.setenv("MQCTL_TIME_SCALE", text)
        with pytest.raises(MqctlError, match="MQCTL_TIME_SCALE"):
            time_scale_of(None)


def test_a_thread_of_any_number_is_a_thread() -> None:
    assert understand(f"ConsumeMessageThread_G_{LONG}").number is None
    assert understand("ConsumeMessageThread_G_7").number == 7


def test_a_property_of_long_digits_matches_nothing_as_in_java() -> None:
    assert not compile_sql("a > 3").matches({"a": LONG})
    assert compile_sql("a > 3").matches({"a": "4"})
