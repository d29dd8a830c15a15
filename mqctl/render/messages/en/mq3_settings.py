"""MQ311, MQ312: the words of `mqctl.diagnosis.mq3_settings` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ311": Text(
        title="A consumer is held back by its own settings",
        what={
            "interval": "{client} of group {group} pauses {interval_ms} after each pull of {batch_count:message} "
            "(pullInterval): it can take {limit_tps} at most, and {waiting_count:message waits/messages wait}.",
            "threshold": "{client} of group {group} stops pulling at {limit_count:cached message} (pullThresholdForQueue) in {queue_count:queue}, and {waiting_count:message waits/messages wait}.",
        },
        effect="More threads or instances help little: the setting limits each queue.",
        advice="Set pullInterval to 0, or pullThresholdForQueue to its default of 1000, unless the listener must be "
        "throttled.",
        explain="Reads the settings that members report. They matter only where messages are waiting.",
        next_command="mqctl group member {source} -g {group} {client}",
    ),
    "MQ312": Text(
        title="Members of a group are set up differently",
        what={"": "Members of group {group} differ in {setting}: {sides}."},
        effect="How a message is handled depends on which member gets it.",
        advice="Give all members the same settings. During a rollout this passes by itself.",
        explain="Compares reported settings that must be the same in a group; thread counts are left out.",
        next_command="mqctl group members {source} -g {group}",
    ),
}
