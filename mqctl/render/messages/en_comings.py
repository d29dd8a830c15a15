"""Strategies, and what comes and goes between two looks, in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_SHOW = "mqctl allocation show {source} -g {group}"

RULES: dict[str, Text] = {
    "MQ212": Text(
        title="Members of one group allocate by different strategies",
        what={"": "Members of group {group} allocate queues by {strategy_count} strategies. {sides}."},
        effect="Each is right by its own rule, so that some queues have two owners, consumed twice, and some have none.",
        advice="Set the same strategy everywhere and restart all members.",
        explain="Nothing of a strategy is sent to brokers; members that run on Java or on mqctl print theirs in their settings. "
        "Where members do not tell, mqctl allocation show infers it from what they hold.",
        next_command=_SHOW,
    ),
    "MQ616": Text(
        title="Fixed lists of queues that are not the topic's any more",
        what={
            "missing": "Members of group {group} take queues of {topic} by fixed lists, and {missing_count} of {queue_count} are in "
            "none that is in use: {missing}.",
            "gone": "Members of group {group} hold {gone_count:queue} of {topic} by fixed lists that the topic does not have: {gone}.",
        },
        effect="The strategy CONFIG looks at neither queues nor members: new queues wait for ever, and pulls of old ones fail.",
        advice="Bring the lists up to date, or let members use AVG.",
        explain="Compares what members with the strategy CONFIG hold with the queues of the topic's route. A member that is "
        "offline takes its list with it.",
        next_command=_SHOW,
    ),
    "MQ415": Text(
        title="A group without an offset begins at the end",
        what={
            "": "Group {group} has no offset in {queue_count:queue} of {topic} ({queues}) and begins at the end: {skipped_count} "
            "stored messages are not for it."
        },
        effect="What was stored before its first consumer is never delivered to it.",
        advice="If it should have them, reset it by time now.",
        explain="CONSUME_FROM_LAST_OFFSET begins at the end of a queue whose first messages are gone. While a queue still has its "
        "first message, brokers answer 0 to those without an offset, and everything is delivered.",
        next_command="mqctl offset reset {source} -g {group} -t {topic} --to-earliest",
    ),
    "MQ507": Text(
        title="An ordered topic has another number of queues than before",
        what={"": "Ordered topic {topic} had {earlier_queue_count:queue} and has {queue_count} now."},
        effect="With a selector by hash {moved_share} of the keys go to another queue, where their new messages may overtake old "
        "ones.",
        advice="Stop producers, let consumers drain, then resize; a fixed order configuration keeps the number as it is.",
        explain="A key's queue is its hash modulo the number of queues: from n to m queues a share of 1 - min(n, m) / lcm(n, m) "
        "moves. Needs two looks.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
    "MQ614": Text(
        title="A topic that its first message created, on one broker only",
        what={
            "": "Topic {topic} lives on {broker} only, one of {broker_count} masters, with {queue_count:queue}: a first send created "
            "it there."
        },
        effect="One broker carries all of it, and its loss is the topic's.",
        advice="Create the topic on all brokers, and set autoCreateTopicEnable=false.",
        explain="With autoCreateTopicEnable a broker creates what is sent to it, with the number of queues that the producer asks "
        "for; the others hear nothing of it while producers keep to the route they have.",
        next_command="mqctl topic describe {source} -t {topic}",
    ),
    "MQ617": Text(
        title="A broker that was there is gone",
        what={
            "held": "No name server knows {broker} any more; members still hold {held_count:queue} of it.",
            "ordered": "No name server knows {broker}, which the order configuration of {topic} names.",
            "seen": "No name server knows {broker} any more; it was registered at {last_seen_time_ms}, as {last_address}.",
        },
        effect="What it stores is out of reach until it is back: it is late, not lost. Sends and consumers go on with the brokers "
        "that are left.",
        advice="Look whether its process and its machine are alive. If it was taken out of service on purpose, accept this in a file "
        "for --known; seven days after it was last seen it is forgotten.",
        explain="Name servers drop a broker whose connection breaks, or that is silent for 120 s; nothing of it stays with them. "
        "Looks for brokers that members hold queues of, that order configurations name, that were there in an earlier look of "
        "this run, or when doctor looked from here within seven days.",
        next_command="mqctl broker list {source}",
    ),
    "MQ615": Text(
        title="Producers that were connected are gone",
        what={"": "Producer group {group} had {earlier_count:client} {window_ms} ago, and has none now."},
        effect="Nothing is sent by it; transactions that it left open cannot be checked.",
        advice="Find out whether it was stopped on purpose.",
        explain="Compares the producers of all brokers at two looks, two minutes apart or more: brokers forget a silent client "
        "after that time.",
        next_command="mqctl producer list {source}",
    ),
    "MQ716": Text(
        title="Timer messages are read late",
        what={
            "": "The timer of {broker} is {behind_ms} behind its clock; {waiting_count:message} wait to enter its wheel."
        },
        effect="Timer messages are delivered late by as much.",
        advice="Look at the broker's disk and at how many messages are due in the same second.",
        explain="timerReadBehind of 5.x: the second that the timer reads from its wheel, against the clock. More than ten is late.",
        next_command="mqctl broker stats {source} {broker}",
    ),
}
