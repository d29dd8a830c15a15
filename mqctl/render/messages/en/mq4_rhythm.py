"""MQ433, MQ434, rhythm: the words of `mqctl.diagnosis.mq4_rhythm` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_EXPLAIN = (
    "Compares the last whole hour of a recording with the same hour of former days, up to four weeks: of the same weekday "
    "where three are known, else of the same weekday and of all days. Median and median deviation are used, so that a bad day "
    "or a holiday does not move the expectation. It takes a week of recording, less than 0.5 (or more than 2) times the "
    "usual, and four deviations. On a holiday itself it may speak."
)

RULES: dict[str, Text] = {
    "MQ433": Text(
        title="A group that fell out of its rhythm",
        what={
            "": "Group {group} consumed {hour_count:message} of {topic} in the hour from {hour_time_ms}, while {sent_count:message was/were} sent. Usual for this hour: {usual_count} (median of {day_count:former day})."
        },
        effect="The messages of that hour wait, or a job that runs at this hour did not run.",
        advice="See whether its members were there, whether a job or a schedule was changed, and whether the listener fails.",
        explain=_EXPLAIN + " Where as little was sent, the group is well.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ434": Text(
        title="A topic that fell out of its rhythm",
        what={
            "": "{hour_count:message was/were} sent to {topic} in the hour from {hour_time_ms}. Usual for this hour: {usual_count} (median of {day_count:former day}).",
            "more": "{hour_count:message was/were} sent to {topic} in the hour from {hour_time_ms}, far more than usual for this hour: {usual_count} (median of {day_count:former day}).",
        },
        effect="Something in front of the topic changed: producers that cannot send, a job that did not run, or one that sends in a loop. Consumers are sized for the usual.",
        advice="Ask the owners of the producers; see who is connected, and whether sends are refused.",
        explain=_EXPLAIN,
        next_command="mqctl topic describe {source} -t {topic}",
    ),
}
