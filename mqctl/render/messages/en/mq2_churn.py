"""MQ219, MQ220, churn: the words of `mqctl.diagnosis.mq2_churn` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

RULES: dict[str, Text] = {
    "MQ219": Text(
        title="Members that connect again and again",
        what={
            "": "{remade_count} of {member_count:member} of group {group} reconnected within {window_ms} "
            "({clients}); {moved_count:queue} changed hands.",
            "members": "{remade_count} of {member_count:member} of group {group} reconnected within {window_ms} "
            "({clients}). Who owned the queues is not known.",
        },
        effect="For the group, each lost connection is a member that left and came back: it rebalances, and "
        "messages in flight are delivered again.",
        advice="Look at the network between clients and brokers (`mqctl broker reach`, from the client's machine), at pauses of the client's JVM longer than its time-outs, and at firewalls that drop idle connections.",
        explain="Compares the addresses of each client's connections at two looks: a client that stays keeps its port. A client that was restarted has another id and is not counted.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ220": Text(
        title="Members come and go",
        what={
            "": "{flapping_count:member} of group {group} left and came back within {window_ms} ({clients}); {queue_count:queue} changed hands more than once.",
            "members": "{flapping_count:member} of group {group} left and came back within {window_ms} ({clients}). Who owned the queues is not known.",
            "queues": "{queue_count:queue} of group {group} changed hands more than once within {window_ms}, and its members stayed.",
        },
        effect="The group rebalances each time: consumption pauses, and messages in flight are delivered again.",
        advice="Look at the members' logs for the reason they leave (network, long pauses, a probe that restarts them). Queues that change hands among members that stay: compare their allocation strategies and client ids.",
        explain="Looks at the members of each group every 20 s of the window, four times at least. In a rolling "
        "restart each member leaves once, and another with a new id joins.",
        next_command="mqctl group members {source} -g {group}",
    ),
}
