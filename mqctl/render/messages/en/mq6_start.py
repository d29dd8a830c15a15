"""MQ644, settings read at the start: the words of `mqctl.diagnosis.mq6_start` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ644": Text(
        title="A setting needs a restart to take effect",
        what={"": "{broker} has {setting}, but topic {topic}, which it creates for that at start, is missing."},
        effect="The setting is shown as on but has no effect: it was changed while the broker ran, and is read only "
        "at start.",
        advice="Restart the broker, or create the topic with `mqctl topic create`.",
        explain="Compares two switches with the topics that a broker makes at its start when they are on: TBW102 for "
        "autoCreateTopicEnable, and the trace topic for traceTopicEnable.",
        next_command="mqctl broker config {source} {broker}",
    ),
}
