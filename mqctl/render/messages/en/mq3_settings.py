"""MQ311, MQ312, MQ314: the words of `mqctl.diagnosis.mq3_settings` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ311": Text(
        title="A consumer is held back by its own settings",
        what={
            "interval": "{client} of group {group} pauses {interval_ms} after each pull of {batch_count:message} "
            "(pullInterval): it can take {limit_tps} at most, and {waiting_count:message waits/wait}.",
            "threshold": "{client} of group {group} stops pulling at {limit_count:cached message} (pullThresholdForQueue) in {queue_count:queue}, and {waiting_count:message waits/wait}.",
        },
        effect="More threads or instances help little: the setting limits each queue.",
        advice="Set pullInterval to 0, or pullThresholdForQueue to its default of 1000, unless the listener must be "
        "throttled.",
        explain="Reads the settings that members report. They matter only where messages are waiting.",
        next_command="mqctl group member {source} -g {group} {client}",
    ),
    "MQ314": Text(
        title="A consumer's setting works against it",
        what={
            "heartbeat": "{member_count:member} of group {group} with heartbeatBrokerInterval={setting_ms}: brokers drop clients that they have "
            "not heard of for {limit_ms}.",
            "pulls": "{member_count:member} of group {group} with pullInterval={setting_ms}: a client drops a queue that it has not pulled for {limit_ms}.",
            "offsets": "{member_count:member} of group {group} with persistConsumerOffsetInterval={setting_ms}: what was consumed since is consumed again after a crash.",
            "routes": "{member_count:member} of group {group} with pollNameServerInterval={setting_ms}: new brokers and queues are seen that late.",
            "batch": "{member_count:member} of group {group} with {setting}={setting_count}: no batch is larger than what one pull brings, "
            "{limit_count} (pullBatchSize).",
        },
        effect="Members vanish and come back, queues change hands, messages come again, or the setting does nothing.",
        advice="Go back to the defaults: heartbeatBrokerInterval and pollNameServerInterval 30 s, persistConsumerOffsetInterval 5 s, pullInterval 0; "
        "raise pullBatchSize together with consumeMessageBatchMaxSize.",
        explain="Reads the settings that members report; of those that all clients share, 5.x clients report them, 4.x clients do not. The longest of "
        "the members' values is shown.",
        next_command="mqctl group members {source} -g {group}",
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
