"""MQ6, brokers: the words of `mqctl.diagnosis.mq6_brokers` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ615": Text(
        title="Producers that were connected are gone",
        what={"": "Producer group {group} had {earlier_count:client} {window_ms} ago, and has none now."},
        effect="It sends nothing any more; transactions that it left open cannot be checked.",
        advice="Find out whether it was stopped on purpose. Producers that are still running have lost the broker: their logs, and `mqctl broker "
        "reach` from their machine, show why.",
        explain="Compares the producers of all brokers at two looks, two minutes apart or more: brokers forget a silent client "
        "after that time.",
        next_command="mqctl producer list {source}",
    ),
    "MQ617": Text(
        title="A broker that was there is gone",
        what={
            "held": "No name server knows {broker} any more; members of {holder_count:group} still hold {held_count:queue} of it.",
            "expected": "No name server knows {broker}, which is part of {expected_by}.",
            "expected-counted": "No name server knows {broker}, which is part of {expected_by}. Out of reach with it: {queue_count:queue}, "
            "from which {group_count:group} {group_count:/consumes/consume}.",
            "expected-queues": "No name server knows {broker}, which is part of {expected_by}. Out of reach with it: {queue_count:queue}.",
            "ordered": "No name server knows {broker}, which the order configuration of {topic} names.",
            "seen": "No name server knows {broker} any more; it was registered at {last_seen_time_ms}, as {last_address}.",
            "seen-counted": "No name server knows {broker} any more; it was registered at {last_seen_time_ms}, as {last_address}. Out of reach with it: "
            "{queue_count:queue}, from which {group_count:group} {group_count:/consumes/consume}.",
            "seen-queues": "No name server knows {broker} any more; it was registered at {last_seen_time_ms}, as {last_address}. Out of reach with it: "
            "{queue_count:queue}.",
        },
        effect="What it stores is out of reach until it is back: it is late, not lost. Sends and consumers go on with the brokers "
        "that are left.",
        advice="Check whether its process and its machine are alive. If it was taken out of service on purpose, "
        "accept this in a file for --known, and where a profile names it, name the others with `mqctl profile add --brokers`. One that "
        "was only seen is forgotten after seven days.",
        explain="Name servers drop a broker whose connection breaks, or that is silent for 120 s; nothing of it stays with them. "
        "Looks for brokers that members hold queues of, that order configurations name, that a local cluster was started with, that a "
        "profile names (`mqctl profile add --brokers`), that were there in an earlier look of this run, or when the cluster was looked at from here within "
        "seven days; after one day without it, that last is a warning only.",
        next_command="mqctl broker list {source}",
    ),
}
