"""MQ65x, clocks: the words of `mqctl.diagnosis.mq6_clocks` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ650": Text(
        title="A producer's clock differs",
        what={
            "": "The clock of producer {host} is {difference_ms} ahead of its broker's: messages of {topics} are born "
            "after they are stored.",
            "behind": "The clock of producer {host} is {difference_ms} behind its broker's, or all its messages take that "
            "long: {sampled_count:message} of {topics} were looked at.",
        },
        effect="Queries by key and by time miss its messages, times of delivery at a given moment are off, and latencies "
        "computed from the time of birth are wrong.",
        advice="Compare `date` on {host} with the broker's, and let both follow the same time server.",
        explain="Compares when messages were born (producer's clock) and stored (broker's clock) in the newest four of up to 32 "
        "topics; delayed and transactional messages are left out. From 10 s ahead, or three messages that are all "
        "a minute behind. What is more than a day old at birth was copied from elsewhere.",
        next_command="mqctl producer list {source}",
    ),
}
