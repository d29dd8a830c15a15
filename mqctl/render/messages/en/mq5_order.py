"""MQ5, order: the words of `mqctl.diagnosis.mq5_order` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_SHOW = "mqctl allocation show {source} -g {group}"
_STACKS = "mqctl stacks dump {source} -g {group} --client {client}"
_MEMBERS = "mqctl group members {source} -g {group}"

RULES: dict[str, Text] = {
    "MQ501": Text(
        title="An orderly consumer waits for queue locks",
        what={"": "{client} of {group} has no lock on {queue_count:queue}: {queues}."},
        effect="These queues are not consumed until the former owner's locks expire, within a minute.",
        advice="Wait 80 s. If it stays, look for an owner that renews the locks without consuming.",
        explain="The broker locks a queue for one client id for 60 s at a time. An owner that died keeps its locks that long.",
        next_command=_SHOW,
    ),
    "MQ502": Text(
        title="An orderly consumer hangs",
        what={"": "The listener of {client} ({group}) has not returned for {idle_ms}: {queues}."},
        effect="{queue_count:queue} not consumed; even if they are allocated to another instance, this one does not "
        "release them.",
        advice="Take its stacks, then restart that instance.",
        explain="Reported when a queue was given up and cannot be unlocked, or when messages were passed to the "
        "listener more than a minute ago.",
        next_command=_STACKS,
    ),
    "MQ503": Text(
        title="One message blocks an orderly queue",
        what={"": "{client} of {group} retries the message at {queue_offset} of {queues} again and again."},
        effect="{cached_count:cached message} and all later ones wait behind it.",
        advice="Fix the listener, or set maxReconsumeTimes so that the message becomes a dead letter. With key-ordered consumption, "
        "only the key of that message would wait.",
        explain="An orderly listener that fails is called again with the same message, 2147483647 times by default.",
        next_command=_STACKS,
    ),
    "MQ504": Text(
        title="Queue locks were not renewed",
        what={"": "{client} of {group} renewed its lock on {queues} {idle_ms} ago."},
        effect="After 30 s the consumer stops by itself; after 60 s another one may take the queues.",
        advice="Check that the client reaches the master of those queues. If its pulls are as old (`mqctl group member`), the whole process is "
        "paused or its clock is behind.",
        explain="Locks are renewed every 20 s at the master; a slave grants none.",
        next_command=_SHOW,
    ),
    "MQ505": Text(
        title="An ordered topic is consumed concurrently",
        what={
            "": "{topic} is declared as ordered; {concurrent_count:instance consumes/consume} it concurrently in group {group} "
            "of {member_count:instance}.",
            "mixed": "Group {group} consumes {topic} both ways: {orderly_count:instance} in order, {concurrent_count} concurrently "
            "({clients}).",
        },
        effect="Messages of one key are handled by several threads at once wherever a concurrent instance owns the queue. In a mixed "
        "group that changes with every rebalance: a concurrent instance takes no lock, so two instances may consume one queue "
        "meanwhile, and a failed message goes to the retry topic instead of holding its queue.",
        advice="Use an orderly listener in every instance, or one that keeps the order of keys. If nobody needs the order, make all "
        "instances concurrent. Mixed instances are two releases of the program, or two programs under one group name: compare them "
        "with `mqctl group members`.",
        explain="A topic declared as ordered, or consumed in order by some instances of the group, needs an orderly listener in all of "
        "them: a concurrent one takes messages of one queue in parallel and does not lock it. The order that instances report "
        "counts (PROP_CONSUMEORDERLY); instances that do not report it are left out.",
        next_command=_MEMBERS,
    ),
    "MQ506": Text(
        title="An ordered topic lost a broker",
        what={"": "The route of {topic} lacks {brokers}, and no order configuration fixes its queues."},
        effect="Producers now spread keys over fewer queues: messages of one key are in two queues.",
        advice="Bring the broker back, or create the topic on it again if `mqctl broker list` still shows it; set ORDER_TOPIC_CONFIG so that "
        "senders wait rather than move keys.",
        explain="Selectors take the hash of a key modulo the number of queues in the route. An order configuration keeps the "
        "number when a broker is away.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ508": Text(
        title="An order configuration does not fit its topic",
        what={
            "": "The order configuration of {topic} ({conf}) counts more queues than the topic has on {brokers}.",
            "unreadable": "The order configuration of {topic} is {conf}; producers read BROKER:QUEUES;BROKER:QUEUES.",
        },
        effect="Sends to a queue that does not exist are refused; what producers cannot read leaves them without a route, and every send fails.",
        advice="Correct it on all name servers: `mqctl topic order`.",
        explain="Where a name server runs with orderMessageEnable, producers take the queues of such a topic from ORDER_TOPIC_CONFIG and not from the topic's settings.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ507": Text(
        title="An ordered topic has another number of queues than before",
        what={"": "Ordered topic {topic} had {earlier_queue_count:queue} and has {queue_count} now."},
        effect="With a selector by hash {moved_share} of the keys go to another queue, where their new messages may overtake old "
        "ones.",
        advice="Stop the producers, let consumers drain, then resize. A fixed order configuration keeps the number "
        "stable.",
        explain="A key's queue is its hash modulo the number of queues: from n to m queues a share of 1 - min(n, m) / lcm(n, m) "
        "moves. Needs two looks.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
}
