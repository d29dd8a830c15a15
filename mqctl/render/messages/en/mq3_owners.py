"""MQ3, owners: the words of `mqctl.diagnosis.mq3_owners` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_SHOW = "mqctl allocation show {source} -g {group}"

RULES: dict[str, Text] = {
    "MQ309": Text(
        title="Queues that no instance consumes",
        what={
            "": "Nobody in group {group} consumes {orphan_count} of {queue_count:queue} of {topic}: {queues}.",
            "topic": "Nobody in group {group} consumes {orphan_count} of {queue_count:queue} of {topic}: {queues}. They "
            "are allocated to members that do not subscribe to it: {clients}.",
            "locked": "Nobody in orderly group {group} owns {orphan_count} of {queue_count:queue} of {topic}: {queues}. If "
            "a consumer was killed, its broker locks keep the new owner out until {over_time_ms} at the latest; "
            "then this resolves itself.",
        },
        effect="{waiting_count:message} waiting there; neither these nor later ones are consumed.",
        advice="Look again after two minutes (`--window 90s` looks twice). If it stays, give all members the same "
        "subscription and strategy, and look for a member that the others do not see.",
        explain="Compares the readable queues of the route with what every instance says it owns. Reported only when "
        "all of them answered and none started within the last two minutes. In an orderly group a killed "
        "consumer's locks last 60 s, and the next owner tries again every 20 s: only a second look after "
        "that time distinguishes a dead queue from a locked one.",
        next_command=_SHOW,
    ),
    "MQ310": Text(
        title="Queues that two instances consume",
        what={"": "Two instances of group {group} own the same {double_count:queue} of {topic}: {queues}, {clients}."},
        effect="Messages of those queues are consumed twice, and the two overwrite each other's offsets.",
        advice="Look for two strategies in one group, or brokers that disagree about its members.",
        explain="Instances do not negotiate: each computes its share from what it sees. Different member lists or "
        "strategies give overlapping shares.",
        next_command=_SHOW,
    ),
    "MQ313": Text(
        title="An instance without queues, though there are enough",
        what={
            "": "In group {group}, {idle_count:instance holds/hold} no queue of {topic}, though {queue_count:queue is/are} "
            "enough for {member_count:instance}: {clients}."
        },
        effect="The other instances carry more than their share, and the group is slower than it could be.",
        advice="Dump its threads: its rebalance thread may hang. If it does, restart the instance.",
        explain="AVG and AVG_BY_CIRCLE give every instance a queue while there are no more instances than queues. An "
        "instance that holds none does not rebalance, or sees another list of members. Judged as likely only where "
        "members do not say by which strategy they share.",
        next_command=_SHOW,
    ),
}
