"""MQ4, POP: the words of `mqctl.diagnosis.mq4_pop` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ416": Text(
        title="Popped messages are not redelivered",
        what={
            "": "{due_count:message} of {topic} that group {group} popped and did not acknowledge "
            "{due_count:/is/are} due for another try, the oldest for {late_ms}, and not in the retry topic."
        },
        effect="They are not delivered again until the broker revives them; nothing else shows that they are missing.",
        advice="Check that the broker's timer wheel works (timerWheelEnable, disk) and that its revive queues advance.",
        explain="A broker of 5.x copies what was not acknowledged into the retry topic two to four seconds after its "
        "invisible time. After more than 1 min, the revive service or the timer wheel is stuck or has a "
        "backlog.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ417": Text(
        title="Retries are stranded under the other name",
        what={
            "": "{stranded_count:message} of {topic} that group {group} has to try again {stranded_count:/waits/wait} "
            "in the retry topic of the second name, which no pop reads while enableRetryTopicV2 is false.",
            "first": "{stranded_count:message} of {topic} that group {group} has to try again {stranded_count:/waits/wait} "
            "in the retry topic of the first name, which no pop reads while retrieveMessageFromPopRetryTopicV1 is false.",
        },
        effect="They are never delivered, and the lag of 5.x tools leaves that topic out.",
        advice="Set enableRetryTopicV2 and retrieveMessageFromPopRetryTopicV1 to true until the group has drained both "
        "retry topics: pops then read them in turn.",
        explain="Pop retry topics have two names, %RETRY%GROUP_TOPIC and %RETRY%GROUP+TOPIC. The second is written and read only "
        "with enableRetryTopicV2; what lies there when it is switched off stays there, and so does what lies in the first when "
        "retrieveMessageFromPopRetryTopicV1 is switched off.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ421": Text(
        title="Consumption takes longer than messages are invisible",
        what={
            "": "Members of group {group} take up to {consume_rt_ms} for messages of {topic} that they pop for "
            "{invisible_ms}: the broker gives them to others before they are done.",
            "hung": "Members of group {group} hold {held_count:message} of {topic} and finished none for a minute, but only "
            "{invisible_count:message} {invisible_count:/is/are} still invisible: others are redelivered while they are held.",
        },
        effect="The same messages are consumed twice at the same time, and what finishes late cannot be acknowledged any more.",
        advice="Give pops an invisible time well above the slowest consumption (popInvisibleTime, at most 300 s), renew it while a "
        "message is worked on, or make the listener faster; look at the stacks when nothing is finished.",
        explain="A popped message is visible to others once its invisible time is over, whether its consumer still works on it or "
        "not; a late acknowledgement is answered with success and has no effect. Compared are the consume time that members report, or "
        "what they hold, with the invisible time of most pops and what is invisible at the broker.",
        next_command="mqctl stacks dump -g {group} --explain",
    ),
    "MQ425": Text(
        title="Popped messages are held without end",
        what={
            "": "Group {group} has held {renewed_count:message} of {topic} for up to {held_ms}: {renewed_count:/its/their} "
            "invisible time is extended again and again, and nothing acknowledges {renewed_count:/it/them}."
        },
        effect="Nobody else gets these messages: a proxy extends the time of a consumer that hangs for up to three hours. Lag and "
        "in flight of other tools stay at 0.",
        advice="Find the consumer that hangs. gRPC clients for Python and Node.js give no stacks to brokers: take them on the "
        "consumer's host (`mqctl stacks find`, then `mqctl stacks dump --pid PID --explain`). Restarting it loses nothing: what "
        "it held is redelivered.",
        explain="Push consumers of gRPC receive with auto_renew: the proxy extends the invisible time of what they work on while "
        "they send heartbeats, and a hung listener sends them, too. Every extension is a record in the broker's timer topic. Two "
        "of them and five minutes are more than a message in progress. Only the newest 20,000 records are read from a running "
        "broker, so the time may be longer.",
        next_command="mqctl group members {source} -g {group} -o wide",
    ),
    "MQ422": Text(
        title="Some members pull while their group pops",
        what={
            "": "Group {group} is set to pop {topic}, and {pulling_count:member} (of {member_count}) {pulling_count:/pulls/pull} it: {clients}.",
            "brokers": "Group {group} is set to pop {topic} on some brokers and to pull it on {brokers}: members follow the broker that they ask, another one each time.",
            "undeclared": "Members of group {group} pop {topic} ({popping_count} of {member_count}: {clients}) while others pull it ({pulling_count}: {others}), and no broker is set to POP for it.",
        },
        effect="Both share one consumer offset: pulling members overwrite what pops committed, so messages are "
        "consumed twice or skipped.",
        advice="Set clientRebalance=false in those members (Java 5.x) so that they ask the broker, restart old clients with ones that "
        "pop, or set the group back: mqadmin setConsumeMode -m PULL. Give all brokers of the cluster the same mode (-c). Where no broker is set to POP, members that pop still follow an older setting or pop by themselves.",
        explain="Request 401 sets how a group consumes a topic. Only clients that ask the broker for their queues (request 400) follow "
        "it; others go on pulling the queues that they allocate themselves. After a switch members follow within 20 s.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ420": Text(
        title="Ordered queues are blocked",
        what={
            "": "{blocked_queue_count:queue} of {topic} {blocked_queue_count:/gives/give} nothing more to group {group}: a batch was popped {blocked_ms} ago and "
            "is not acknowledged (delivered {delivered_before_count:time} before), and {ready_count:message} {ready_count:/waits/wait}."
        },
        effect="Everything behind the batch waits, for all sharding keys of the queue, until the batch is "
        "acknowledged or its invisible time ends.",
        advice="Find the consumer that holds the batch and why its first message fails or hangs; an acknowledgement of that message "
        "frees the queue.",
        explain="An ordered pop gives out one batch of a queue at a time and nothing behind it while a message of it is neither "
        "acknowledged nor visible again. A minute, or the fourth delivery of one message, is more than a batch in progress. Brokers keep "
        "it in consumerOrderInfo.json and do not report it: only a store shows it.",
        next_command="mqctl group lag {source} -g {group}",
    ),
}
