"""MQ4, POP: the words of `mqctl.diagnosis.mq4_pop` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ416": Text(
        title="Popped messages do not come back",
        what={
            "": "{due_count:message} of {topic} that group {group} popped and did not acknowledge are due for "
            "another try, the oldest for {late_ms}, and not in the retry topic."
        },
        effect="They are not delivered again until the broker revives them; nothing else shows that they are missing.",
        advice="Check that the broker's timer wheel turns (timerWheelEnable, disk) and that its revive queues advance.",
        explain="A broker of 5.x copies what was not acknowledged into the retry topic two to four seconds after its invisible "
        "time. From 1 min on the revive service or the timer wheel stands still or has a backlog.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ417": Text(
        title="Retries are stranded under the other name",
        what={
            "": "{stranded_count:message} of {topic} that group {group} has to try again wait in the retry topic of "
            "the second name, which no pop reads while enableRetryTopicV2 is false."
        },
        effect="They are never delivered, and the lag of 5.x tools leaves that topic out.",
        advice="Set enableRetryTopicV2 to true until the group has drained it; the first name is read then too.",
        explain="Pop retry topics have two names, %RETRY%GROUP_TOPIC and %RETRY%GROUP+TOPIC. The second is written and read only "
        "with enableRetryTopicV2; what lies there when it is switched off stays there.",
        next_command="mqctl group lag {source} -g {group}",
    ),
}
