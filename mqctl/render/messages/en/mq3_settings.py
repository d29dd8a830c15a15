"""MQ311, MQ312: the words of `mqctl.diagnosis.mq3_settings` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ311": Text(
        title="A consumer is held back by its own settings",
        what={
            "interval": "{client} of group {group} rests {interval_ms} after each pull of {batch_count:message} (pullInterval): it can take {limit_tps} at most, and {waiting_count:message waits/messages wait}.",
            "threshold": "{client} of group {group} stops pulling at {limit_count:cached message} (pullThresholdForQueue) in {queue_count:queue}, and {waiting_count:message waits/messages wait}.",
        },
        effect="More threads or instances of the same kind change little: the setting bounds each queue.",
        advice="Set pullInterval to 0, or pullThresholdForQueue to its default of 1000, unless the listener needs to be spared.",
        explain="Reads the settings that members report. They bound a member only where messages wait for it.",
        next_command="mqctl group member {source} -g {group} {client}",
    ),
    "MQ312": Text(
        title="Members of a group are set up differently",
        what={"": "Members of group {group} differ in {setting}: {sides}."},
        effect="What becomes of a message depends on which member gets it.",
        advice="Give all members the same settings; during a rollout this passes.",
        explain="Compares settings that members report and that a group needs alike; thread counts are left out.",
        next_command="mqctl group members {source} -g {group}",
    ),
}
