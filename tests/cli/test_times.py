"""Times and durations as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from mqctl.cli.times import parse_instant, parse_span_ms
from mqctl.errors import UsageError
from tests.each import each

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone(timedelta(hours=8)))
NOW_MS = int(NOW.timestamp() * 1000)


@each(
    "text, expected",
    [
        ("now", NOW),
        ("-2h", NOW - timedelta(hours=2)),
        ("+1h30m", NOW + timedelta(minutes=90)),
        ("1795230000000", datetime.fromtimestamp(1795230000, UTC)),
        ("2026-11-20", datetime(2026, 11, 20, tzinfo=NOW.tzinfo)),
        ("2026-11-20T08:30:00", datetime(2026, 11, 20, 8, 30, tzinfo=NOW.tzinfo)),
        ("2026-11-20T08:30:00.250Z", datetime(2026, 11, 20, 8, 30, 0, 250_000, tzinfo=UTC)),
        ("yesterday 10:00", datetime(2026, 11, 20, 10, 0, tzinfo=NOW.tzinfo)),
        ("10 minutes ago", NOW - timedelta(minutes=10)),
        ("10:42", datetime(2026, 11, 21, 10, 42, tzinfo=NOW.tzinfo)),
        ("9:05:30", datetime(2026, 11, 21, 9, 5, 30, tzinfo=NOW.tzinfo)),
        ("23:50", datetime(2026, 11, 20, 23, 50, tzinfo=NOW.tzinfo)),
        ("2026-11-20#08:30:00:250", datetime(2026, 11, 20, 8, 30, 0, 250_000, tzinfo=NOW.tzinfo)),
    ],
)
def test_accepted_forms(text: str, expected: datetime) -> None:
    assert parse_instant(text, NOW).epoch_ms == round(expected.timestamp() * 1000)


def test_a_time_of_day_is_the_next_one_where_something_is_to_come() -> None:
    spoken = {text: parse_instant(text, NOW, ahead=True).text for text in ("23:50", "10:42")}
    assert spoken == {"23:50": "2026-11-21 23:50:00.000+08:00", "10:42": "2026-11-22 10:42:00.000+08:00"}


def test_the_parsed_instant_names_its_zone() -> None:
    assert parse_instant("2026-11-20T08:30", NOW).text == "2026-11-20 08:30:00.000+08:00"


@pytest.mark.parametrize("text", ["", "soonish", "2026-13-01", "99999999999999999999", "-2x", "25:00", "1:2"])
def test_refused_forms_say_what_is_accepted(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_instant(text, NOW)
    assert "epoch milliseconds" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "span_ms"), [("90s", 90_000), ("1h30m", 5_400_000), ("500ms", 500), ("2d", 172_800_000)]
)
def test_spans(text: str, span_ms: int) -> None:
    assert parse_span_ms(text) == span_ms


@pytest.mark.parametrize("text", ["", "h", "10", "1h 30m", "-5s"])
def test_refused_spans(text: str) -> None:
    with pytest.raises(UsageError):
        parse_span_ms(text)
