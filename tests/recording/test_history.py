"""What a recording tells of the days before a moment, hour by hour, from its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mqctl.model.snapshot import BrokerSnapshot
from mqctl.recording.history import past_of
from mqctl.recording.reader import open_recording
from mqctl.rules import diagnose
from tests.conftest import Outcome
from tests.recording.worlds import DAY_MS, HOUR_MS, at, broker, look, writer
from tests.rules.live_snapshots import LIVE

pytestmark = pytest.mark.slow

DAYS = 9
ONE, TWO = {"10.0.0.1@7#1": "10.0.0.1:1"}, {"10.0.0.2@8#1": "10.0.0.2:1"}
END = DAYS * 24 * 60
"""Minutes until the last hour begins."""


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine days, a look an hour: 1,000 messages each, but none in the last hour. From the fourth day on G consumes 800
    an hour. A machine is there every other hour, in the end every other minute."""
    place = tmp_path_factory.mktemp("days")
    recorder = writer(place, every_ms=HOUR_MS)
    for hour in range(DAYS * 24):
        look(recorder, hour * 60, world(hour, TWO if hour % 2 else {**ONE, **TWO}))
    for minute in range(1, 12):
        look(recorder, END - 60 + minute, world(DAYS * 24 - 1, {**ONE, **TWO} if minute % 2 else TWO))
    look(recorder, END, world(DAYS * 24 - 1, {**ONE, **TWO}))
    return place


def world(hour: int, members: dict[str, str]) -> BrokerSnapshot:
    end = hour * 1_000
    behind = max(0, hour - 72) * 200
    waits = at(hour * 60) - behind * HOUR_MS // 1_000 if behind else None
    return broker(end=end, offset=end - behind, waits_since_ms=waits, members=members)


def test_hours_hold_what_came_and_was_consumed_in_them(days: Path) -> None:
    past = past_of(open_recording(str(days)), at(END))
    assert (past.span_ms, past.gaps) == (DAYS * DAY_MS, ())
    (group,) = past.groups
    (topic,) = past.topics
    assert topic.sent_counts == (*(1_000,) * (DAYS * 24 - 1), 0, None)
    assert group.consumed_counts == (*(1_000,) * 72, *(800,) * (DAYS * 24 - 73), 0, None)
    assert group.lag_counts[72:75] == (0, 200, 400)
    assert group.wait_ms[72:75] == (0, HOUR_MS // 5, 2 * HOUR_MS // 5)
    assert past.used_ms == {"G": at(END)}
    assert past_of(open_recording(str(days)), at(END - 57)).used_ms == {"G": at(END - 57)}
    (returns,) = past.returns
    assert (returns.group, returns.host, returns.return_count) == ("G", "10.0.0.1", 17)
    calm = diagnose(replace(LIVE, past=past_of(open_recording(str(days)), at(END - 90))), only=("MQ434",))
    assert calm.findings == ()
    earlier = past_of(open_recording(str(days)), at(3 * 24 * 60))
    assert (earlier.until_ms - earlier.begin_ms, len(earlier.topics[0].sent_counts)) == (3 * DAY_MS, 73)


def test_rules_over_time_speak_of_what_was_recorded(mqctl: Callable[..., Outcome], days: Path) -> None:
    words = ("--only", "MQ43*", "--only", "MQ221")
    value = json.loads(mqctl("doctor", "--recording", days, *words, "-o", "json").stdout)
    assert {item["code"]: item["subject"] for item in value["findings"]} == {
        "MQ221": "G",
        "MQ430": "G Pay",
        "MQ434": "Pay",
    }
    assert {item["code"] for item in value["not_judged"]} == {"MQ431", "MQ432"}
    (leak,) = (item["evidence"] for item in value["findings"] if item["code"] == "MQ430")
    assert leak["day_count"] == 7
