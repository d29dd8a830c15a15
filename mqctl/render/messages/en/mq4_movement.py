"""MQ4, movement: the words of `mqctl.diagnosis.mq4_movement` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_LAG = "mqctl group lag {source} -g {group}"
_SHOW = "mqctl allocation show {source} -g {group}"

RULES: dict[str, Text] = {
    "MQ410": Text(
        title="An offset does not move",
        what={
            "": "Group {group} has stayed at offset {consumer_offset} of queue {queue_id} of {topic} on {broker} "
            "while {arrived_count:message} arrived within {window_ms}."
        },
        effect="{lag_count:message waits/wait} there. If one message blocks the offset, a restart repeats "
        "everything after it.",
        advice="Find the owner of the queue and take its stacks.",
        explain="Two looks at least a minute apart: the queue grew, the offset did not, and the group has members.",
        next_command=_LAG,
    ),
    "MQ411": Text(
        title="An offset went back",
        what={
            "": "Group {group} went from {earlier_offset} back to {consumer_offset} in queue {queue_id} of {topic} on "
            "{broker} within {window_ms}."
        },
        effect="{repeated_count:message is/are} consumed again.",
        advice="Time and scope separate the causes: a reset or replay is in `mqctl history` and moves whole "
        "topics; a broker that crashed or failed over loses the last seconds of all groups; two instances "
        "that own the same queue move its offset back and forth.",
        explain="Clients only move offsets forward; a reset, a replay or a second owner moves them back.",
        next_command=_SHOW,
    ),
    "MQ412": Text(
        title="Consumption fails",
        what={
            "": "{failed_share} of what group {group} consumes of {topic} fails. Each failed message comes back as a "
            "retry; after the last retry it becomes a dead letter.",
            "broadcasting": "{failed_share} of what group {group} consumes of {topic} fails. The group broadcasts: a message that "
            "fails is not tried again, on that instance it is lost.",
            "orderly": "{failed_share} of what orderly group {group} consumes of {topic} fails. A message that fails is tried again "
            "in place, without end unless maxReconsumeTimes is set, and its queue waits behind it.",
        },
        effect="Retries add to the load, and the messages behind them are delayed.",
        advice="Read the listener's errors and the reasons in its retries.",
        explain="Sums the rates that instances report; 1 % or more counts as failing.",
        next_command=_LAG,
    ),
    "MQ413": Text(
        title="Dead letters are growing",
        what={"": "{new_count:message} went to {topic} within {window_ms}."},
        effect="They failed as often as allowed; nobody consumes them any more.",
        advice="Fix the cause first, then send them again.",
        explain="Compares the ends of dead-letter queues between two looks.",
        next_command="mqctl dlq show {source} -g {group}",
    ),
    "MQ414": Text(
        title="A backlog never ends, or ends too late",
        what={
            "never": "Group {group} consumes {out_tps} messages/s of {topic} while {in_tps} arrive: its backlog of "
            "{lag_count:message} never shrinks. Limited by: {bound_word}.",
            "late": "At {out_tps} messages/s consumed and {in_tps} arriving, group {group} needs {drain_ms} for its "
            "{lag_count:message} on {topic}, but retention deletes them in {expires_in_ms}. Limited by: "
            "{bound_word}.",
        },
        effect="Consumers fall ever further behind, until files are deleted before they are read.",
        advice="For the backlog: {remedy_words}. New queues take new messages only.",
        explain="Two looks give the rates at which queues fill and empty; --window sets how far apart. The queues of a concurrent "
        "instance share its threads, a queue consumed in order has one. A window shorter than consumers commit (5 s) gives no rate.",
        next_command="mqctl group lag {source} -g {group} --advise",
    ),
    "MQ418": Text(
        title="A group's messages are popped although no member is online",
        what={
            "": "Group {group} popped {consumed_count:message} within {window_ms}, and no broker knows a member of it."
        },
        effect="Its members cannot be listed or judged from here.",
        advice="Its clients probably sit behind a Proxy whose heartbeats the brokers do not have, or a tool pops without heartbeats. Ask the Proxy for its clients: --proxy HOST:PORT.",
        explain="Compares committed offsets of two looks and reads when the group popped last: offsets that an administrator moved are not reported. Clients of a Proxy are connected to it and to no broker; what Proxies tell each other through the brokers is read.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ419": Text(
        title="A member's progress is not stored by the broker",
        what={
            "": "{client} of group {group} is {ahead_count:message} ahead of the offsets that brokers store, in "
            "{queue_count:queue} ({queues}), half a minute after it last consumed."
        },
        effect="After a restart or a rebalance these messages are delivered again.",
        advice="Look at the client's log for failed offset commits, and whether something else commits offsets of the same group (a second application, a reset).",
        explain="Compares the offset in a member's memory with the one its broker stores. Members commit every five seconds; what is still cached or being consumed is not counted.",
        next_command="mqctl group member {source} -g {group} {client}",
    ),
    "MQ424": Text(
        title="A member holds messages below the stored offset",
        what={
            "": "{client} of group {group} still has {below_count:message} in its cache below the offset that brokers store, in {queue_count:queue} ({queues}): lag says {lag_count}, the member holds {cached_count}."
        },
        effect="Lag reads too low. If the member stops now, what it holds below the offset is skipped; if it commits, the offset goes back.",
        advice="After a reset or skip, look again in half a minute: members take the new offset over within about 10 s. If it stays, find what else commits offsets of the group: another application, a tool, a second owner of the queue.",
        explain="A member commits the lowest offset that it holds, so a stored offset above it was written by somebody else. With --window the finding is certain where both looks show it.",
        next_command="mqctl group lag {source} -g {group}",
    ),
}
