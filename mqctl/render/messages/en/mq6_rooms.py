"""MQ6, rooms: the words of `mqctl.diagnosis.mq6_rooms` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_SHOW = "mqctl allocation show {source} -g {group}"

RULES: dict[str, Text] = {
    "MQ611": Text(
        title="Names that do not show a machine room",
        what={
            "": "Group {group} allocates {topic} by rooms, but the room of {names} is not known: its "
            "{queue_count:queue stays/stay} with the present owners, {waiting_count:message} waiting."
        },
        effect="The nearby strategy fails for the whole topic on every instance: owners stay as they are when "
        "members join or leave.",
        advice="Name brokers and clients by the rule, or fix the rule.",
        explain="The strategy needs the room of every broker and of every client; one name without is enough. Judged only when "
        "the rule is given (--room-rule, or the profile's).",
        next_command=_SHOW,
    ),
    "MQ612": Text(
        title="A machine room without consumers",
        what={
            "": "Group {group} has no consumer in room {room}, which hosts {queue_count:queue} of {topic} ({queues}) "
            "with {waiting_count:message} waiting; owned by: {holders}."
        },
        effect="With the nearby strategy the other rooms consume them across rooms; with the room strategy nobody does.",
        advice="Restart the consumers in that room, or check that the other rooms can take the load.",
        explain="Compares the rooms of the topic's brokers with those of the group's members. Without a rule (--room-rule, or the "
        "profile's) rooms are read from the names themselves, with medium confidence, where all brokers have one of several prefixes "
        "(HT-broker-a, CP@broker-a) and all members one of these.",
        next_command=_SHOW,
    ),
    "MQ613": Text(
        title="Machine rooms have unequal loads",
        what={
            "": "Each consumer of {group} has {queues_per_client} queues of {topic} in room {room}, but "
            "{other_queues_per_client} in room {other}."
        },
        effect="The room with more queues for each consumer falls behind first.",
        advice="Distribute consumers in proportion to the queues of each room.",
        explain="Reported when one room has more than twice as many queues per consumer as another.",
        next_command=_SHOW,
    ),
    "MQ616": Text(
        title="Fixed queue lists that no longer match the topic",
        what={
            "missing": "Members of group {group} take queues of {topic} by fixed lists, and of {queue_count:queue} {missing_count:is/are} in "
            "none that is in use: {missing}.",
            "gone": "Members of group {group} hold {gone_count:queue} of {topic} by fixed lists that the topic does not have: {gone}.",
        },
        effect="The strategy CONFIG looks at neither queues nor members: new queues are never consumed, and pulls "
        "of old ones fail.",
        advice="Bring the lists up to date, or let members use AVG.",
        explain="Compares what members with the strategy CONFIG hold with the queues of the topic's route. A member that is "
        "offline takes its list with it.",
        next_command=_SHOW,
    ),
}
