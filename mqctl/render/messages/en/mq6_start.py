"""MQ644, settings read at the start: the words of `mqctl.diagnosis.mq6_start` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ644": Text(
        title="A setting waits for a restart",
        what={"": "{broker} says {setting}, and topic {topic}, which it makes at its start for that, is not there."},
        effect="The setting shows as on and does nothing: it was changed while the broker ran, and is read at the start only.",
        advice="Restart the broker, or create the topic with `mqctl topic create`.",
        explain="Compares two switches with the topics that a broker makes at its start when they are on: TBW102 for "
        "autoCreateTopicEnable, and the trace topic for traceTopicEnable.",
        next_command="mqctl broker config {source} {broker}",
    ),
}
