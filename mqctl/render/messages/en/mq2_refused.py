"""MQ2, refused: the words of `mqctl.diagnosis.mq2_refused` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ213": Text(
        title="Brokers refuse a consumer group",
        what={
            "": "Group {group} has no settings on {brokers}, where groups are not created automatically: every pull of its "
            "{member_count:member} is refused (code 26)."
        },
        effect="The group consumes nothing from there although its members are online; nothing else shows it.",
        advice="Create the group (`mqctl group create`), or check its name.",
        explain="With autoCreateSubscriptionGroup=false a broker takes heartbeats of a group that it has no settings of, and refuses "
        "its pulls with SUBSCRIPTION_GROUP_NOT_EXIST.",
        next_command="mqctl group config {source} -g {group}",
    ),
    "MQ214": Text(
        title="Brokers refuse SQL92 subscriptions",
        what={
            "": "Group {group} subscribes to {topic} by SQL92, which enablePropertyFilter=false rules out on {brokers}."
        },
        effect="Every pull of its {member_count:member} is refused: the group consumes nothing from there.",
        advice="Set enablePropertyFilter=true in the broker's properties and restart it, or subscribe by tag.",
        explain="Brokers serve SQL92 only with enablePropertyFilter=true, which is not the default. A consumer asks one broker for it "
        "when it starts; other brokers refuse its pulls.",
        next_command="mqctl broker config {source}",
    ),
    "MQ215": Text(
        title="A FIFO topic that a group consumes without order",
        what={
            "": "Topic {topic} is of type FIFO, and group {group} consumes it concurrently (consumeMessageOrderly=false)."
        },
        effect="Messages of one message group may be consumed at the same time, and in another order than they were sent in.",
        advice="If order matters to the group, set consumeMessageOrderly=true for it (or use an orderly listener).",
        explain="For clients of a proxy and POP consumers the group's setting decides; for other clients their "
        "listener does. The topic's type FIFO only says how messages are sent.",
        next_command="mqctl group config {source} -g {group}",
    ),
    "MQ218": Text(
        title="Brokers refuse broadcasting consumers",
        what={"": "Members of group {group} broadcast, which consumeBroadcastEnable=false rules out on {brokers}."},
        effect="Every pull of its {member_count:member} is refused there: they consume nothing.",
        advice="Set consumeBroadcastEnable=true for the group (`mqctl group update`), or let its members share the messages.",
        explain="A broker refuses pulls of a broadcasting consumer with NO_PERMISSION when the group's settings do not allow it.",
        next_command="mqctl group config {source} -g {group}",
    ),
}
