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
            "key": "Queue {queue_id} of {topic} holds {queue_share} of all messages; {key_share} of them have the key "
            "{key}.",
            "queue": "Queue {queue_id} of {topic} holds {queue_share} of all messages ({message_count}; the mean is "
            "{mean_count}).",
        },
        effect="One consumer instance handles this queue alone; more instances do not help.",
        advice="Spread the key (add a salt where order allows), or check the selector's hash. If many keys share the queue of "
        "an orderly group, key-ordered consumption handles them in parallel. Queues that were "
        "added later hold fewer messages, which is normal: `mqctl topic stats` shows whether the same queue "
        "is still the one that grows.",
        explain="A queue is hot when it holds more than twice the mean of its topic. Keys are sampled evenly over the queue.",
        next_command="mqctl report backlog {source} -t {topic} --by queue",
        live_command="mqctl topic stats {source} -t {topic}",
    ),
    "MQ302": Text(
        title="More instances than queues",
        what={"": "Group {group} has {member_count:instance} for {queue_count:queue} of {topic}."},
        effect="{idle_count:instance does/do} nothing for this topic; adding more does not help.",
        advice="Add queues (they take new messages only), or more threads instead of instances.",
        explain="A queue has one owner. Instances beyond the number of readable queues stay idle, whatever the "
        "strategy.",
        next_command=_SHOW,
    ),
    "MQ303": Text(
        title="Queues cannot be split evenly among the instances",
        what={"": "Group {group} shares {queue_count:queue} of {topic} among {member_count:instance}."},
        effect="{doubled_count:instance carries/carry} two queues and the others one: the group is only as fast as "
        "its slowest instance.",
        advice="Choose the number of queues as a multiple of the instances, at least twice as many.",
        explain="Reported when there are more queues than instances, but fewer than twice as many.",
        next_command=_SHOW,
    ),
    "MQ304": Text(
        title="consumeThreadMax has no effect",
        what={
            "": "{client} of {group} holds {cached_count:message} with {thread_min_count:thread}; its maximum of "
            "{thread_max_count} is never reached."
        },
        effect="The consumer is slower than its settings suggest.",
        advice="Set consumeThreadMin to the number of threads you want.",
        explain="The queue in front of the pool is unbounded, so a pool never grows beyond its minimum.",
        next_command=_MEMBERS,
    ),
    "MQ305": Text(
        title="More threads than queues in an orderly consumer",
        what={"": "{client} of {group} has {thread_count:thread} for {queue_count:queue}."},
        effect="The extra threads never work: an orderly queue is consumed by one thread at a time.",
        advice="More queues, or key-ordered consumption (one thread per key instead of per queue), spread the work; "
        "more threads do not.",
        explain="Reported only for consumers whose cache is full.",
        next_command=_MEMBERS,
    ),
    "MQ306": Text(
        title="A consumer is flow-controlled: its cache is full",
        what={
            "count": "Consumer {client} (group {group}) is flow-controlled on {queues}: {cached_count:message} of one "
            "queue cached, pulling paused.",
            "size": "Consumer {client} (group {group}) is flow-controlled on {queues}: {cached_bytes} of one queue "
            "cached, pulling paused.",
            "span": "Consumer {client} (group {group}) is flow-controlled on {queues}: cached messages span "
            "{span_count:offset}, pulling paused.",
        },
        effect="The listener is the bottleneck, not the network; with a span, its slowest message is.",
        advice="Check what the consume threads are doing.",
        explain="Clients stop pulling a queue at 1,000 cached messages, 100 MiB, or 2,000 offsets between the first "
        "and the last unfinished message.",
        next_command=_STACKS,
    ),
    "MQ307": Text(
        title="Consumption is blocked",
        what={"": "{client} of {group} holds {cached_count:message} and has finished none for {idle_ms}, in {queues}."},
        effect="The offset stays at {first_offset}; a restart delivers everything above it again.",
        advice="Take the stacks of its consume threads. They tell apart what looks the same from outside: threads "
        "waiting for something, threads busy with one long message, and idle threads whose finished messages "
        "were never removed.",
        explain="Messages in the cache and no consumption for a minute. Concurrent consumers commit the smallest unfinished "
        "offset, so one hung message is enough. Queues that threads have not come to yet are MQ315.",
        next_command=_STACKS,
    ),
    "MQ308": Text(
        title="A consumer has stopped pulling",
        what={"": "{client} of {group} has not pulled {queues} for {idle_ms}."},
        effect="These queues are not consumed. After 120 s without a pull the consumer drops them and takes them "
        "again by itself, which does not help if the cause remains.",
        advice="Check in the stacks what the pull thread is doing, and restart the instance if the thread is gone. "
        "If all times that the instance reports are as old, compare its clock with this machine's first.",
        explain="A minute without a pull although no threshold holds the consumer back. A suspended Java consumer "
        "still counts as pulling and is not reported. The time is the client's: a clock that is behind looks "
        "the same, and then all its times are as old.",
        next_command=_STACKS,
    ),
    "MQ315": Text(
        title="Queues wait for threads that work on other queues",
        what={
            "": "{client} of {group} has {cached_count:message} of {queues} cached and none finished for {idle_ms}: "
            "its {thread_count:consume thread is/are} busy with other queues."
        },
        effect="Nothing hangs: these queues wait their turn, one behind another, and their lag time grows until then.",
        advice="Use more consume threads or more instances, or make the listener faster; a restart only delivers what is "
        "cached again.",
        explain="As MQ307, but all threads of the instance are at work: messages per second times the time of each give "
        "the size of the pool. A thread that hung would be missing there.",
        next_command="mqctl group lag {source} -g {group}",
        live_command="mqctl group lag {source} -g {group} --advise",
    ),
}
