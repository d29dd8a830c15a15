"""Numbers as people read them."""

from __future__ import annotations

from datetime import UTC

import pytest

from mqctl import units
from mqctl.render.layout import width
from mqctl.text import printable


@pytest.mark.parametrize(
    ("value_ms", "text"),
    [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (61_000, "1 min 1 s"), (7_500_000, "2 h 5 min"), (-2_000, "-2 s")],
)
def test_durations_have_at_most_two_units(value_ms: int, text: str) -> None:
    assert units.duration(value_ms) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (8 << 20, "8 MiB"), (500 << 30, "500 GiB")]
)
def test_sizes(value: int, text: str) -> None:
    assert units.size(value) == text


def test_an_instant_beyond_the_calendar_is_still_shown() -> None:
    assert units.instant(1_795_230_000_000, UTC) == "2026-11-21 03:00:00+00:00"
    assert units.instant(1 << 62) == f"{1 << 62} ms"


def test_control_characters_cannot_reach_a_terminal() -> None:
    assert printable("ok\x1b[31mred\n") == "ok\\x1b[31mred\\n"


def test_wide_characters_take_two_cells() -> None:
    assert (width("消费"), width("abc")) == (4, 3)
