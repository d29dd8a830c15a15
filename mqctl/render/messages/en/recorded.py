"""Phrases about recordings, in English."""

PHRASES = {
    "recorded_since": "recorded in {place} since {time} ({span} before that moment)",
    "recorded_gap": "not recorded from {since} to {until} ({span}): {why}",
    "recorded_gap_why": "{why} ({reason})",
    "recorded_gap_unanswered": "nobody answered the recorder",
    "recorded_gap_stopped": "the recorder was stopped",
    "recorded_gap_silent": "the recorder did not run",
    "recorded_gaps_more": "and {count:,} shorter gaps (-o json for all)",
    "to_the_hour": "{weekday} {hour}",
    "weekday_0": "Monday",
    "weekday_1": "Tuesday",
    "weekday_2": "Wednesday",
    "weekday_3": "Thursday",
    "weekday_4": "Friday",
    "weekday_5": "Saturday",
    "weekday_6": "Sunday",
}
