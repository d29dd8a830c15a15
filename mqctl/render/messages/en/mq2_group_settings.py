"""MQ217, settings of a group: the words of `mqctl.diagnosis.mq2_group_settings` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ217": Text(
        title="A group's settings on brokers work against it",
        what={
            "": "Brokers differ in {setting} of group {group}: {sides}.",
            "notice": "notifyConsumerIdsChangedEnable=false for group {group} on {brokers}: {member_count:member} {member_count:/hears/hear} of another that joins or leaves only at the next rebalance.",
            "none": "Group {group} allows no retry on {brokers} (retryMaxTimes={most_tries_count}): a message that fails once becomes a dead letter there.",
        },
        effect="What becomes of a message depends on the broker that stores it, or on the next rebalance: without notice queues of a member that left wait for up to 20 s.",
        advice="Give the group the same settings on all brokers: `mqctl group update -g {group}` sets them on all of them.",
        explain="Compares consumeMessageOrderly, consumeTimeoutMinute (5.x) and retryMaxTimes between masters. Java clients from 3.4.9 on send their own maximum of retries; "
        "retryMaxTimes counts for clients of a proxy and for clients that send none. If all members that are online send their own, a retryMaxTimes of 0 is not reported.",
        next_command="mqctl group config {source} -g {group}",
    ),
}
