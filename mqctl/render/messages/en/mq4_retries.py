"""MQ423, MQ426, MQ427, retries: the words of `mqctl.diagnosis.mq4_retries` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ423": Text(
        title="Retries never end",
        what={
            "": "{copy_count:copy} of message {key} came back to group {group} after {tries_count:try}, among the "
            "{sampled_count:message} looked at: the count does not rise.",
            "over": "A message came back to group {group} after {tries_count:try}; {most} are allowed before it becomes "
            "a dead letter.",
        },
        effect="The message is consumed again and again and never becomes a dead letter; the load stays until it succeeds.",
        advice="Look at the message (`mqctl retry list`) and at why its listener fails, upgrade clients and brokers that do "
        "not count retries (5.0 with orderly groups), or skip it.",
        explain="Reads the newest eight messages of up to 32 retry topics. Each failure should raise the count by one; after "
        "retryMaxTimes, or the client's own maximum if that is higher, the message belongs in the dead-letter topic. A maximum "
        "that was lowered a moment ago looks the same.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ427": Text(
        title="Messages fail again and again",
        what={
            "": "Messages of group {group} have failed {tries_count:time} or more and wait in a delay level (number {levels}) for the next try."
        },
        effect="Lag does not show them, and between two tries no failure is counted either. After the last retry they become dead letters.",
        advice="See what the listener throws for them (the consumers' logs), and when they become dead letters: mqctl retry list.",
        explain="Reads some of the messages that wait in each delay level. One that failed once or twice may be a hiccup, and is not reported.",
        next_command="mqctl delay backlog {source}",
        live_command="mqctl retry list {source} -g {group}",
    ),
    "MQ426": Text(
        title="Failed messages are dropped",
        what={"": "Group {group} has no retry queue on {broker} (retryQueueNums={queue_count})."},
        effect="The broker answers success to a consumer that sends a failed message back, and drops it: no retry, no dead letter, no error in any log.",
        advice="Set retryQueueNums to 1 or more: `mqctl group update -g {group} --retry-queues 1`. What was dropped is still in its topic until it expires; replay it from there.",
        explain="Brokers before and after 5.0 end the sending back of a message early when the group's retryQueueNums is 0 or less. Orderly and POP consumers do not send messages back.",
        next_command="mqctl group config {source} -g {group}",
    ),
}
