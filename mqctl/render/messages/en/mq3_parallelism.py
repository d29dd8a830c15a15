"""MQ3, parallelism: the words of `mqctl.diagnosis.mq3_parallelism` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_SHOW = "mqctl allocation show {source} -g {group}"
_MEMBERS = "mqctl group members {source} -g {group}"
_STACKS = "mqctl stacks dump {source} -g {group} --client {client}"

RULES: dict[str, Text] = {
    "MQ301": Text(
        title="One queue holds far more than its share",
        what={
            "key": "Queue {queue_id} of {topic} holds {queue_share} of all messages; {key_share} of them bear the key {key}.",
            "queue": "Queue {queue_id} of {topic} holds {queue_share} of all messages ({message_count}; the mean is "
            "{mean_count}).",
        },
        effect="One consumer instance carries this queue alone; more instances do not help it.",
        advice="Spread the key (add a salt where order allows), or check the selector's hash. Queues that were added later hold less than old "
        "ones without any fault: `mqctl topic stats` shows whether the same queue is still the one that grows.",
        explain="A queue is hot when it holds more than twice the mean of its topic. Keys are sampled evenly over the queue.",
        next_command="mqctl report backlog {source} -t {topic} --by queue",
        live_command="mqctl topic stats {source} -t {topic}",
    ),
    "MQ302": Text(
        title="More instances than queues",
        what={"": "Group {group} has {member_count:instance} for {queue_count:queue} of {topic}."},
        effect="{idle_count:instance does/do} nothing for this topic; adding more does not help.",
        advice="Add queues, which helps new messages only, or raise threads instead of instances.",
        explain="A queue has one owner. What exceeds the number of readable queues stays idle, whatever the strategy.",
        next_command=_SHOW,
    ),
    "MQ303": Text(
        title="Queues do not divide among the instances",
        what={"": "Group {group} shares {queue_count:queue} of {topic} among {member_count:instance}."},
        effect="{doubled_count:instance carries/carry} two queues and the others one: the group is as fast as its slowest.",
        advice="Choose the number of queues as a multiple of the instances, at least twice as many.",
        explain="Said when there are more queues than instances, but less than twice as many.",
        next_command=_SHOW,
    ),
    "MQ304": Text(
        title="A thread maximum without effect",
        what={
            "": "{client} of {group} holds {cached_count:message} with {thread_min_count:thread}; its maximum of "
            "{thread_max_count} is never reached."
        },
        effect="The consumer is slower than its settings suggest.",
        advice="Set consumeThreadMin to the number of threads that you want.",
        explain="The queue in front of the pool is unbounded, so a pool never grows beyond its minimum.",
        next_command=_MEMBERS,
    ),
    "MQ305": Text(
        title="More threads than queues in an orderly consumer",
        what={"": "{client} of {group} has {thread_count:thread} for {queue_count:queue}."},
        effect="The surplus never works: an orderly queue is consumed by one thread at a time.",
        advice="More queues, or consumption in order of keys, spread the work; more threads do not.",
        explain="Said only of consumers whose cache is full.",
        next_command=_MEMBERS,
    ),
    "MQ306": Text(
        title="A full cache holds a consumer back",
        what={
            "count": "{client} of {group} holds {cached_count:message} of one queue and pulls no more from {queues}.",
            "size": "{client} of {group} holds {cached_bytes} of one queue and pulls no more from {queues}.",
            "span": "{client} of {group} holds messages {span_count:offset} apart and pulls no more from {queues}.",
        },
        effect="Consumption is as fast as the listener, not as the network; by span, as fast as its slowest message.",
        advice="Look at what the consume threads do.",
        explain="Clients stop pulling a queue at 1,000 messages, 100 MiB, or 2,000 offsets between the first and the last "
        "unfinished one.",
        next_command=_STACKS,
    ),
    "MQ307": Text(
        title="Consumption is blocked",
        what={"": "{client} of {group} holds {cached_count:message} and has finished none for {idle_ms}, in {queues}."},
        effect="The offset stands at {first_offset}; a restart delivers everything above it again.",
        advice="Take the stacks of its consume threads. They tell what looks alike from here: threads that wait for something, threads at work "
        "on one long message, and idle ones whose finished messages were never removed.",
        explain="Messages in the cache and no consumption for a minute. Concurrent consumers commit the smallest unfinished "
        "offset, so one hung message is enough.",
        next_command=_STACKS,
    ),
    "MQ308": Text(
        title="A consumer has stopped pulling",
        what={"": "{client} of {group} has not pulled {queues} for {idle_ms}."},
        effect="Nothing of those queues is consumed. After 120 s without a pull the consumer drops them and takes them again itself, in vain if the cause stays.",
        advice="See with the stacks what the pull thread does, and restart the instance if it is gone. If all times that the instance reports are as old, compare its clock with this machine's first.",
        explain="A minute without a pull although no threshold holds the consumer back. A suspended Java consumer pulls on in name and is not meant. The time is the client's: a clock that is behind looks the same, and then all its times are as old.",
        next_command=_STACKS,
    ),
    "MQ309": Text(
        title="Queues that no instance consumes",
        what={
            "": "Group {group} leaves {orphan_count} of {queue_count:queue} of {topic} to nobody: {queues}.",
            "topic": "Group {group} leaves {orphan_count} of {queue_count:queue} of {topic} to nobody: {queues}. They fall to "
            "{clients}, without a subscription to it.",
            "locked": "Nobody in orderly group {group} owns {orphan_count} of {queue_count:queue} of {topic}: {queues}. If a consumer "
            "was killed, its broker locks keep the new owner out until {over_time_ms} at the latest; then this is over by itself.",
        },
        effect="{waiting_count:message} waiting there; nobody consumes them, nor what comes after them.",
        advice="Look again after two minutes (`--window 90s` looks twice). If it stays, make all members subscribe alike and use one "
        "strategy, and look for a member that others do not see.",
        explain="Compares the readable queues of the route with what every instance says it holds. Said only when all of them "
        "answered and none has started within two minutes. In an orderly group a killed consumer's locks last 60 s, and the next owner "
        "tries again every 20 s: only a second look after that time tells a dead queue from a locked one.",
        next_command=_SHOW,
    ),
    "MQ310": Text(
        title="Queues that two instances consume",
        what={"": "{double_count:queue} of {topic} are held twice in group {group}: {queues}, by {clients}."},
        effect="Messages of those queues are consumed twice, and the two overwrite each other's offsets.",
        advice="Look for two strategies in one group, or brokers that disagree about its members.",
        explain="Instances do not negotiate: each computes its share from what it sees. Different lists or strategies overlap.",
        next_command=_SHOW,
    ),
}
