"""Rules over weeks: what does not poison an expectation, and what is not judged before enough was recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqctl.model.finding import Confidence
from mqctl.model.lang import Lang
from mqctl.model.past import RecordingGap, RecordingGapKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import diagnose
from mqctl.rules.engine.why_words import reason
from tests.render.catalogues import finding_texts
from tests.rules.live_snapshots import HOUR, NOW
from tests.rules.past_faults import DAY, SHORT, STEADY, Ago, except_last, leaking, past

OVER_TIME = ("MQ221", "MQ43?")


def codes(snapshot: ClusterSnapshot) -> list[str]:
    return [item.code for item in diagnose(snapshot, only=OVER_TIME).findings]


def bad_day(days_ago: int, last: int = 1_000) -> Ago:
    """A day on which nothing came; the last hour as given."""
    return lambda ago: last if ago == 1 else 0 if ago // 24 == days_ago else 1_000


@pytest.mark.parametrize("days_ago", [1, 7, 14])
@pytest.mark.parametrize("days", [14, 35])
def test_one_bad_day_neither_hides_a_fall_nor_makes_one(days_ago: int, days: int) -> None:
    assert codes(past(days=days, topic=bad_day(days_ago))) == []
    # With two weeks only, a bad day a week ago is half of what is known of that weekday.
    hidden = days == 14 and days_ago == 7
    assert codes(past(days=days, topic=bad_day(days_ago, last=0))) == ([] if hidden else ["MQ434"])


def test_by_few_weeks_both_weekday_and_days_must_differ_and_it_is_less_sure() -> None:
    (few,) = diagnose(past(days=14, topic=except_last(0)), only=OVER_TIME).findings
    (many,) = diagnose(past(topic=except_last(0)), only=OVER_TIME).findings
    assert (few.confidence, many.confidence) == (Confidence.MEDIUM, Confidence.HIGH)


def test_traffic_that_is_irregular_anyway_is_never_out_of_rhythm() -> None:
    assert codes(past(topic=lambda ago: (ago * 7_919) % 4_000 if ago > 1 else 0)) == []


def test_what_was_recorded_too_short_or_with_holes_is_not_judged() -> None:
    short = diagnose(SHORT, only=OVER_TIME)
    assert (short.findings, {item.code for item in short.not_judged}) == (
        (),
        {"MQ221", "MQ430", "MQ431", "MQ432", "MQ433", "MQ434"},
    )
    assert short.exit_code() == 3
    why = {item.code: reason(item.why) for item in short.not_judged}
    assert why["MQ432"] == "it needs 30 d of recording; so far: 1 h (mqctl record --keep)"
    assert STEADY.past is not None
    hole = RecordingGap(since_ms=NOW - 20 * DAY, until_ms=NOW - 15 * DAY, kind=RecordingGapKind.STOPPED)
    holed = diagnose(replace(STEADY, past=replace(STEADY.past, gaps=(hole,))), only=OVER_TIME)
    assert {item.code for item in holed.not_judged} == {"MQ431", "MQ432"}
    assert diagnose(STEADY, only=OVER_TIME).not_judged == ()


def test_a_forecast_names_day_and_hour_and_stands_apart_from_what_was_seen() -> None:
    (finding,) = diagnose(past(wait=leaking), only=OVER_TIME).findings
    for lang, day in ((Lang.EN, "day 20"), (Lang.ZH, "星期")):
        text = finding_texts(finding, lang)
        assert day in text.effect
        assert day not in text.what
    assert finding.confidence is Confidence.MEDIUM


def test_a_leak_that_a_human_will_not_live_to_see_or_that_is_over_is_none() -> None:
    assert codes(past(wait=lambda ago: 10 * HOUR + (840 - ago) * 1_000)) == []
    assert codes(past(wait=lambda ago: leaking(ago) if ago >= 24 else 0)) == []
