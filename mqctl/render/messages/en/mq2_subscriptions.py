"""MQ2, subscriptions: the words of `mqctl.diagnosis.mq2_subscriptions` in English."""

from __future__ import annotations

from mqctl.render.messages import Text

_SHOW = "mqctl subscription show {source} -g {group}"

RULES: dict[str, Text] = {
    "MQ201": Text(
        title="Offsets of a group that has no settings",
        what={"": "Group {group} has offsets on {topic_count:topic} ({topics}) but no settings."},
        effect="The group was deleted with its offsets kept, was cloned, or its settings were lost; it gets defaults when it "
        "comes back, if the broker creates groups by itself.",
        advice="Delete the offsets if the group is gone; create its settings if it is not.",
        explain="Offsets live in consumerOffset.json, settings in subscriptionGroup.json; deleting a group keeps the offsets "
        "unless asked otherwise.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ202": Text(
        title="Members of one group subscribe to different topics",
        what={"": "{differing_count:member} of {member_count} in group {group} differ in their topics. {sides}."},
        effect="Queues are shared out among all members of the group; those assigned to a member without the topic are "
        "consumed by nobody, and each heartbeat makes the broker forget the other members' topics.",
        advice="Give all members the same subscription, or put them into groups of their own.",
        explain="RocketMQ allocates by group, not by topic: every member takes a slot for every topic that any member "
        "computes. A member that does not subscribe a topic leaves its share of the queues without a consumer.",
        next_command=_SHOW,
    ),
    "MQ203": Text(
        title="Members of one group subscribe to different tags",
        what={
            "": "Members of group {group} subscribe to different tags of {topic}. {sides}. The broker now filters by "
            "{effective}. How many messages that costs is not known: none were sampled.",
            "filtered": "Members of group {group} subscribe to different tags of {topic}. {sides}. The broker now filters by "
            "{effective}. This filter would skip {lost_count} of the newest {sampled_count:message} ({filtered}) although "
            "another member subscribes to them, in {queues}; what was skipped earlier depends on the filter at "
            "that time.",
            "dropped": "Members of group {group} subscribe to different tags of {topic}. {sides}. The broker now filters by "
            "{effective}. {lost_count} of the newest {sampled_count:message} would pass this filter and be dropped by the member that owns their queue and does not subscribe to their tag ({dropped}), in {queues}; "
            "what was skipped earlier depends on the filter and the owners at that time.",
            "both": "Members of group {group} subscribe to different tags of {topic}. {sides}. The broker now filters by "
            "{effective}. Of the newest {sampled_count:message}, this filter would skip {filtered_count} ({filtered}) although a "
            "member subscribes to them; {dropped_count} more would pass it and be dropped by the member that owns their "
            "queue and does not subscribe to their tag ({dropped}), in {queues}; what was skipped earlier depends on the filter "
            "and the owners at that time.",
            "spared": "Members of group {group} subscribe to different tags of {topic}. {sides}. The broker now filters by "
            "{effective}. Of the newest {sampled_count:message}, neither this filter nor the owner of a queue skips any that another "
            "member subscribes to; older messages, and what earlier filters skipped, were not checked.",
        },
        effect="A message whose tag the owner of its queue does not want is skipped without an error, and the offset moves "
        "on: it is lost to the whole group.",
        advice="Give all members the same subscription; for a canary release, use a new group with the new tags "
        "instead. Then replay what was skipped into a new group (`mqctl replay group -g NEW -t {topic} --since TIME`). The members "
        "that are online now differ since {differing_since_time_ms}; if others differed before they were restarted, begin "
        "with the release that brought the difference.",
        explain="Each queue has one owner, and only the owner's tags count. The broker keeps the newest subscription "
        "of the group and filters by it for all members; the owner filters what passes once more.",
        next_command=_SHOW,
    ),
    "MQ204": Text(
        title="Tag and SQL92 subscriptions mixed in one group",
        what={"": "Members of group {group} subscribe to {topic} with different expression types. {sides}."},
        effect="The broker applies the newest one to all members; the others' pulls fail or return the wrong messages.",
        advice="Use one expression for the whole group.",
        explain="The broker keeps one subscription per group and topic. A member that asks by tag while the broker holds an SQL92 "
        "filter, or the reverse, is answered with codes 27 and 28 or gets the other one's messages.",
        next_command=_SHOW,
    ),
    "MQ205": Text(
        title="Two connections share one client id",
        what={"": "{connection_count:connection} of group {group} use the client id {client}, from {addresses}."},
        effect="Both compute the same slice of the queues and consume it twice; the slices after it belong to nobody.",
        advice="If these are two processes, give each its own instance name, or use clients from 4.9.0 on; in "
        "containers set the client IP. If it is one process that reconnected, the old connection goes away "
        "within 120 s: check again in two minutes, and compare pids (`mqctl group members`).",
        explain="A client id is the address and the instance name, which used to be the process id: containers with "
        "one bridge address and pid 1 collide. The list of ids has both, but each client finds itself at the "
        "first position.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ206": Text(
        title="Brokers disagree about the members of a group",
        what={"": "Not every broker knows all members ({member_count}) of group {group}. Missing at {missing}."},
        effect="Members compute their queues from the list of whichever broker they ask: some queues get two owners, some none.",
        advice="Either those members do not reach those brokers (`mqctl broker reach` from their machine), or they do not know them: the "
        "routes of their topics leave those brokers out, or their name servers do (`mqctl topic route`, `mqctl group member`).",
        explain="Every client sends heartbeats to every broker. One that cannot reach a broker is missing from its list; a "
        "second look a minute later distinguishes a lasting fault from a restart.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ207": Text(
        title="Broadcasting members get a new client id at every start",
        what={
            "": "{changing_count:member} of the broadcasting group {group} {changing_count:/has/have} a client id "
            "that changes at every start: {clients}."
        },
        effect="Broadcasting consumers keep their offsets in a local file named after the client id; under a new "
        "name they start from scratch and skip or repeat messages.",
        advice="Set a fixed instance name, and keep the home directory over restarts.",
        explain="Looks for process ids and pod suffixes in the ids of members of broadcasting groups.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ208": Text(
        title="Broadcasting and clustering mixed in one group",
        what={"": "Members of group {group} use different message models. {sides}."},
        effect="Some members get every message and others a share; the broker shows the mode of the last heartbeat.",
        advice="Use one group for broadcasting and another for clustering.",
        explain="Compares the message model that brokers hold with the one each member reports.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ209": Text(
        title="Clients of several languages in one group",
        what={"": "Group {group} has clients in {language_count:language}. {sides}."},
        effect="Their allocation, retry and offset rules may differ, and not all of them report what they do.",
        advice="Compare their settings, the allocation strategy above all.",
        explain="For information only: whether a mixed group works depends on how similar its clients are.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ210": Text(
        title="Members of one group use different name servers",
        what={"": "Members of group {group} have no name server in common. {sides}."},
        effect="They may look at different clusters: each side sees other queues and other members.",
        advice="Compare the name server settings; in one process, clients of two clusters need instance or unit names of "
        "their own.",
        explain="Two clients of one process with equal ids share one connection set, and the first one's name servers win.",
        next_command="mqctl group members {source} -g {group}",
    ),
    "MQ211": Text(
        title="A group has a backlog on a topic that none of its members subscribes to",
        what={
            "": "Group {group} has {lag_count:message} waiting on {topic}, and none of its members ({member_count}) subscribes to it."
        },
        effect="The backlog grows until it expires; monitoring that only looks at the group does not see it.",
        advice="Subscribe to the topic again, or delete the group's offsets on it.",
        explain="Stored offsets outlive a subscription. Consume statistics of a group with members leave such topics out, so "
        "this compares the broker's offset table.",
        next_command="mqctl group lag {source} -g {group}",
    ),
    "MQ212": Text(
        title="Members of one group allocate by different strategies",
        what={"": "Members of group {group} allocate queues by {strategy_count:strategy}. {sides}."},
        effect="Each instance follows its own rule: some queues get two owners and are consumed twice, others get "
        "none.",
        advice="Set the same strategy everywhere and restart all members.",
        explain="Brokers do not know the strategy; Java and mqctl members report theirs in their settings. For "
        "members that do not, mqctl allocation show infers it from the queues they own.",
        next_command="mqctl allocation show {source} -g {group}",
    ),
}
