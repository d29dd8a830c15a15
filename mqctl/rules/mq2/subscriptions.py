"""MQ2: members of one group that do not want the same, or are not who they say they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from mqctl.allocation.group_view import (
    GroupView,
    differing_since_ms,
    group_views,
    named_clients,
    newest_change_ms,
    wanted_text,
)
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Value, Why
from mqctl.model.gap import Part
from mqctl.model.member import MessageModel, Subscription
from mqctl.model.names import is_retry_topic, is_system_group
from mqctl.rules.engine.audience import EVERY, JOINED, LAGGING, ONLINE, SHARING, SUBSCRIBED, GroupKind, TopicKind
from mqctl.rules.engine.rule import Case, ClusterCase, RuleTexts, Unknown, Verdict, restarting, rule
from mqctl.rules.engine.tag_skipping import skipped_by_tags

_SHOW = "mqctl subscription check {source} -g {group}"

_RUNNING = (Part.MEMBERS, Part.RUNNING_INFO)

_LIVE = (Part.MEMBERS, Part.RUNNING_INFO)
_OFFSETS = (Part.MEMBERS, Part.CONSUMER_OFFSETS)
# A pid, a pid with nano time, or a pod's random suffix: a name that the next start does not have.
_CHANGING_NAME = re.compile(r"@(\d+(#\d+)?|.*-[a-f0-9]{8,10}-[a-z0-9]{5})(@|$)")


def _by(view: GroupView, topic: str, kind: Callable[[Subscription], str]) -> dict[str, list[str]]:
    """Groups the instances that want something of `topic` by a property of what they want."""
    groups: dict[str, list[str]] = {}
    for client, wanted in view.subscriptions(topic).items():
        groups.setdefault(kind(wanted), []).append(client)
    return groups


def _type(wanted: Subscription) -> str:
    return wanted.expression_type


def _sides(wants: Mapping[str, list[str]]) -> str:
    """Writes who wants what, the most common first."""
    ordered = sorted(wants.items(), key=lambda item: (-len(item[1]), item[0]))
    return "; ".join(f"{named_clients(clients)}: {want}" for want, clients in ordered)


def _silence(view: GroupView) -> Iterator[Unknown]:
    if view.silent and len(view.client_ids) > 1:
        values: dict[str, Value] = {"clients": named_clients(view.silent), "silent_count": len(view.silent)}
        yield Unknown(subject=view.subject, why=Why(Reason.SILENT_MEMBERS, values))


@rule(
    "MQ202",
    Severity.FATAL,
    source="ConsumerManager",
    needs=_LIVE,
    playbook="unconsumed-queue",
    groups=ONLINE,
    texts=RuleTexts(
        title="Members of one group subscribe to different topics",
        speaks="one of two members does not subscribe the topic",
        silent="both subscribe the same topics, listed in another order",
        what={"": "{differing_count:member} of {member_count} in group {group} differ in their topics. {sides}."},
        effect="Queues are shared out among all members of the group; those assigned to a member without the topic are "
        "consumed by nobody, and each heartbeat makes the broker forget the other members' topics.",
        advice="Give all members the same subscription, or put them into groups of their own.",
        explain="RocketMQ allocates by group, not by topic: every member takes a slot for every topic that any member "
        "computes. A member that does not subscribe a topic leaves its share of the queues without a consumer.",
        next_command=_SHOW,
    ),
)
def different_topics(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Instances of one group that subscribe different topics: the allocation gives queues to who does not want them."""
    for view in case.views:
        yield from _silence(view)
        sets: dict[str, list[str]] = {}
        for client, info in view.running.items():
            topics = sorted(item.topic for item in info.subscriptions if not is_retry_topic(item.topic))
            sets.setdefault(", ".join(topics) or "-", []).append(client)
        if len(sets) < 2:
            continue
        common = max(sets, key=lambda names: (len(sets[names]), names))
        versions = [item.version_ms for info in view.running.values() for item in info.subscriptions]
        yield Verdict(
            subject=view.subject,
            params={"group": view.group, "sides": _sides(sets)},
            evidence={
                "member_count": len(view.client_ids),
                "differing_count": len(view.running) - len(sets[common]),
                "newest_subscription_time_ms": newest_change_ms(versions),
            },
        )


@rule(
    "MQ203",
    Severity.FATAL,
    source="ConsumerFilterManager, DefaultMessageFilter",
    needs=_LIVE,
    playbook="tag-loss",
    groups=ONLINE,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Members of one group subscribe to different tags",
        speaks="members want different tags of one topic",
        silent="members want the same two tags",
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
        "instead. Then replay what was skipped into a new group (`{command}`). The members "
        "that are online now differ since {differing_since_time_ms}; if others differed before they were restarted, begin "
        "with the release that brought the difference.",
        command="mqctl replay group -g NEW -t {topic} --since TIME",
        explain="Each queue has one owner, and only the owner's tags count. The broker keeps the newest subscription "
        "of the group and filters by it for all members; the owner filters what passes once more.",
        next_command=_SHOW,
    ),
)
def different_tags(case: ClusterCase) -> Iterator[Verdict]:
    """Instances that want different tags of a topic: what the owner of a queue does not want is skipped for good."""
    for view in case.views:
        for topic in view.topics():
            wants = _by(view, topic, wanted_text)
            if len(wants) < 2 or len(_by(view, topic, _type)) > 1:
                continue
            effective = view.effective(topic)
            skipped = skipped_by_tags(view, topic, case.snapshot.tag_samples)
            sampled = sum(sample.message_count for sample in case.snapshot.tag_samples if sample.queue.topic == topic)
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                params={
                    "group": view.group,
                    "topic": topic,
                    "sides": _sides(wants),
                    "effective": wanted_text(effective) if effective else None,
                    **skipped.names,
                },
                evidence={
                    "member_count": len(view.client_ids),
                    "set_count": len(wants),
                    "differing_since_time_ms": differing_since_ms(view, topic, wants),
                    "sampled_count": sampled or None,
                    "lost_count": skipped.filtered_count + skipped.dropped_count if sampled else None,
                    "filtered_count": skipped.filtered_count if sampled else None,
                    "dropped_count": skipped.dropped_count if sampled else None,
                },
                variant=skipped.variant if sampled else None,
            )


@rule(
    "MQ204",
    Severity.FATAL,
    source="ConsumerFilterManager",
    needs=_LIVE,
    playbook="subscription-change",
    groups=ONLINE,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Tag and SQL92 subscriptions mixed in one group",
        speaks="one member filters by tags and one by SQL92",
        silent="all members filter by the same SQL92 expression",
        what={"": "Members of group {group} subscribe to {topic} with different expression types. {sides}."},
        effect="The broker applies the newest one to all members; the others' pulls fail or return the wrong messages.",
        advice="Use one expression for the whole group.",
        explain="The broker keeps one subscription per group and topic. A member that asks by tag while the broker holds an SQL92 "
        "filter, or the reverse, is answered with codes 27 and 28 or gets the other one's messages.",
        next_command=_SHOW,
    ),
)
def mixed_expression_types(case: ClusterCase) -> Iterator[Verdict]:
    """Tag and SQL92 subscriptions of one topic in one group: the broker filters all by the newest."""
    for view in case.views:
        for topic in view.topics():
            kinds = _by(view, topic, _type)
            if len(kinds) > 1:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic, "sides": _sides(kinds)},
                    evidence={"member_count": len(view.client_ids)},
                )


@rule(
    "MQ205",
    Severity.FATAL,
    source="ConsumerGroupInfo",
    needs=(Part.MEMBERS,),
    playbook="unconsumed-queue",
    groups=SHARING | {GroupKind.PULL},
    texts=RuleTexts(
        title="Two connections share one client id",
        speaks="two connections of one broker bear the same client id",
        silent="each client has a connection to each broker",
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
)
def duplicate_client_ids(case: ClusterCase) -> Iterator[Verdict]:
    """Two connections under one client id: both take the same slice, and the slices after it have no owner."""
    for view in case.views:
        addresses: dict[str, set[str]] = {}
        for held in view.memberships.values():
            seen: dict[str, set[str]] = {}
            for member in held.members:
                seen.setdefault(member.client_id, set()).add(member.address)
            # Each broker sees a client at another port: only two addresses at one broker are two clients.
            for client, clients in seen.items():
                if len(clients) > 1 and len(clients) > len(addresses.get(client, ())):
                    addresses[client] = clients
            for client, count in Counter(held.client_ids).items():
                if count > 1:
                    addresses.setdefault(client, set())
        for client, clients in sorted(addresses.items()):
            yield Verdict(
                subject=Subject(kind=SubjectKind.CLIENT, group=view.group, client=client),
                params={"group": view.group, "client": client, "addresses": ", ".join(sorted(clients)) or None},
                evidence={"connection_count": max(2, len(clients)), "member_count": len(view.client_ids)},
            )


@rule(
    "MQ206",
    Severity.ERROR,
    source="RebalanceImpl.rebalanceByTopic",
    needs=(Part.MEMBERS,),
    playbook="unconsumed-queue",
    groups=SHARING,
    texts=RuleTexts(
        title="Brokers disagree about the members of a group",
        speaks="a broker does not know a member that others know",
        silent="the same a minute after the members were started",
        what={"": "Not every broker knows all members ({member_count}) of group {group}. Missing at {missing}."},
        effect="Members compute their queues from the list of whichever broker they ask: some queues get two owners, some none.",
        advice="Either those members do not reach those brokers (`mqctl broker reach` from their machine), or they do not know them: the "
        "routes of their topics leave those brokers out, or their name servers do (`mqctl topic route`, `mqctl group members --client`).",
        explain="Every client sends heartbeats to every broker. One that cannot reach a broker is missing from its list; a "
        "second look a minute later distinguishes a lasting fault from a restart.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def brokers_disagree(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Brokers of one group that list different members: instances compute from different lists."""
    earlier = {view.group: view for view in group_views(case.snapshot.earlier)} if case.snapshot.earlier else {}
    for view in case.views:
        everyone = set(view.client_ids)
        missing = {name: everyone - set(held.client_ids) for name, held in view.memberships.items()}
        missing = {name: gone for name, gone in missing.items() if gone}
        if not missing:
            continue
        if case.settling(view):
            yield restarting(view.subject, Reason.RESTARTING_BROKERS, len(missing))
            continue
        before = earlier.get(view.group)
        known = before.memberships if before is not None else {}
        lasting = any(gone - set(known[name].client_ids) for name, gone in missing.items() if name in known)
        if before is not None and not lasting:
            continue
        yield Verdict(
            subject=view.subject,
            params={
                "group": view.group,
                "missing": "; ".join(f"{name}: {named_clients(gone)}" for name, gone in sorted(missing.items())),
            },
            evidence={"member_count": len(everyone), "broker_count": len(missing)},
            severity=None if lasting else Severity.WARNING,
            confidence=Confidence.HIGH if lasting else Confidence.LOW,
        )


@rule(
    "MQ207",
    Severity.WARNING,
    source="LocalFileOffsetStore",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=frozenset({GroupKind.BROADCASTING}),
    texts=RuleTexts(
        title="Broadcasting members get a new client id at every start",
        speaks="broadcasting members whose client ids change with every start",
        silent="broadcasting members with fixed instance names",
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
)
def changing_broadcast_names(case: ClusterCase) -> Iterator[Verdict]:
    """Broadcasting instances whose id changes with each start: their local offsets are lost with it."""
    for view in case.views:
        if not view.broadcasting:
            continue
        changing = [client for client in view.client_ids if _CHANGING_NAME.search(client)]
        if changing:
            yield Verdict(
                subject=view.subject,
                params={"group": view.group, "clients": named_clients(changing)},
                evidence={"member_count": len(view.client_ids), "changing_count": len(changing)},
                confidence=Confidence.MEDIUM,
            )


@rule(
    "MQ208",
    Severity.ERROR,
    source="ConsumerGroupInfo",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=ONLINE,
    texts=RuleTexts(
        title="Broadcasting and clustering mixed in one group",
        speaks="one member of the group broadcasts",
        silent="all members broadcast",
        what={"": "Members of group {group} use different message models. {sides}."},
        effect="Some members get every message and others a share; the broker shows the mode of the last heartbeat.",
        advice="Use one group for broadcasting and another for clustering.",
        explain="Compares the message model that brokers hold with the one each member reports.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def mixed_message_models(case: ClusterCase) -> Iterator[Verdict]:
    """One group both broadcasting and clustering: the last heartbeat decides for all."""
    for view in case.views:
        models: dict[str, list[str]] = {}
        for name, held in view.memberships.items():
            if held.message_model is not None:
                models.setdefault(held.message_model.value, []).append(name)
        for client, info in view.running.items():
            model = info.properties.get("messageModel")
            if model in set(MessageModel):
                models.setdefault(model, []).append(client)
        if len(models) > 1:
            yield Verdict(
                subject=view.subject,
                params={"group": view.group, "sides": _sides(models)},
                evidence={"member_count": len(view.client_ids)},
            )


@rule(
    "MQ209",
    Severity.INFO,
    source="RebalanceImpl.rebalanceByTopic",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=ONLINE,
    texts=RuleTexts(
        title="Clients of several languages in one group",
        speaks="a group has members in Java and C++",
        silent="all members are in Java, of two releases",
        what={"": "Group {group} has clients in {language_count:language}. {sides}."},
        effect="Their allocation, retry and offset rules may differ, and not all of them report what they do.",
        advice="Compare their settings, the allocation strategy above all.",
        explain="For information only: whether a mixed group works depends on how similar its clients are.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def mixed_clients(case: ClusterCase) -> Iterator[Verdict]:
    """Clients of several languages in one group: their defaults and strategies differ."""
    for view in case.views:
        languages: dict[str, list[str]] = {}
        # A client has a connection, and so an address, at each broker.
        for language, client in sorted({(member.language or "", member.client_id) for member in view.members()}):
            if language:
                languages.setdefault(language, []).append(client)
        if len(languages) > 1:
            yield Verdict(
                subject=view.subject,
                params={"group": view.group, "sides": _sides(languages)},
                evidence={"member_count": len(view.client_ids), "language_count": len(languages)},
            )


@rule(
    "MQ210",
    Severity.FATAL,
    source="MQClientManager",
    needs=_LIVE,
    playbook="cluster-mixup",
    groups=ONLINE,
    texts=RuleTexts(
        title="Members of one group use different name servers",
        speaks="members name different name servers",
        silent="each member names its room's name server; both list the same brokers",
        what={"": "Members of group {group} have no name server in common. {sides}."},
        effect="They may look at different clusters: each side sees other queues and other members.",
        advice="Compare the name server settings; in one process, clients of two clusters need instance or unit names of "
        "their own.",
        explain="Two clients of one process with equal ids share one connection set, and the first one's name servers win.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def different_name_servers(case: ClusterCase) -> Iterator[Verdict]:
    """Instances of one group that ask different name servers: they may see other routes, or another cluster.

    Name servers that list the same brokers count as one: each machine room may have its own.
    """
    agreeing: dict[frozenset[object], set[str]] = {}
    for server in case.snapshot.name_servers:
        brokers = frozenset((item.name, tuple(sorted(item.addresses.items()))) for item in server.endpoints)
        agreeing.setdefault(brokers, set()).add(server.address)
    for view in case.views:
        servers: dict[str, list[str]] = {}
        for client, info in view.running.items():
            text = info.properties.get("PROP_NAMESERVER_ADDR")
            if text:
                servers.setdefault(";".join(sorted(filter(None, text.split(";")))), []).append(client)
        sets = [set(text.split(";")) for text in servers]
        sets = [one.union(*(alike for alike in agreeing.values() if not one.isdisjoint(alike))) for one in sets]
        apart = any(one.isdisjoint(other) for one in sets for other in sets)
        if apart:
            yield Verdict(
                subject=view.subject,
                params={"group": view.group, "sides": _sides(servers)},
                evidence={"member_count": len(view.client_ids), "set_count": len(servers)},
                confidence=Confidence.MEDIUM,
            )


@rule(
    "MQ211",
    Severity.WARNING,
    source="RebalanceImpl",
    needs=(Part.MEMBERS, Part.CONSUMER_OFFSETS),
    playbook="subscription-change",
    groups=JOINED,
    topics=LAGGING - {TopicKind.RETRY},
    texts=RuleTexts(
        title="A group has a backlog on a topic that none of its members subscribes to",
        speaks="messages wait on a topic that no member subscribes any more",
        silent="such a topic was consumed to its end",
        what={
            "": "Group {group} has {lag_count:message} waiting on {topic}, and none of its members ({member_count}) subscribes to it."
        },
        effect="The backlog grows until it expires; monitoring that only looks at the group does not see it.",
        advice="Subscribe to the topic again, or delete the group's offsets on it.",
        explain="Stored offsets outlive a subscription. Consume statistics of a group with members leave such topics out, so "
        "this compares the broker's offset table.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def abandoned_topic(case: ClusterCase) -> Iterator[Verdict]:
    """A group with members, none of which wants a topic that the group has a backlog on."""
    views = {view.group: view for view in case.views}
    waiting: dict[tuple[str, str], int] = {}
    for broker in case.snapshot.brokers:
        queues = broker.queue_index()
        for item in broker.consumer_offsets:
            queue = queues.get((item.topic, item.queue_id))
            if item.group in views and queue is not None and not is_retry_topic(item.topic):
                lag = max(0, queue.max_offset - item.offset)
                waiting[item.group, item.topic] = waiting.get((item.group, item.topic), 0) + lag
    for (group, topic), lag_count in sorted(waiting.items()):
        view = views[group]
        if lag_count and topic not in view.topics() and not view.silent:
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, group=group, topic=topic),
                params={"group": group, "topic": topic},
                evidence={"lag_count": lag_count, "member_count": len(view.client_ids)},
            )


@rule(
    "MQ201",
    Severity.INFO,
    source="SubscriptionGroupManager",
    needs=(Part.GROUPS, Part.CONSUMER_OFFSETS),
    playbook="subscription-change",
    groups=EVERY,
    texts=RuleTexts(
        title="Offsets of a group that has no settings",
        speaks="a group with offsets has no settings",
        silent="a tool's group has offsets and needs no settings",
        what={"": "Group {group} has offsets on {topic_count:topic} ({topics}) but no settings."},
        effect="The group was deleted with its offsets kept, was cloned, or its settings were lost; it gets defaults when it "
        "comes back, if the broker creates groups by itself.",
        advice="Delete the offsets if the group is gone; create its settings if it is not.",
        explain="Offsets live in consumerOffset.json, settings in subscriptionGroup.json; deleting a group keeps the offsets "
        "unless asked otherwise.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def unknown_group(case: Case) -> Iterator[Verdict]:
    """Offsets of a group that has no settings: deleted, or its settings were lost."""
    known = {group.name for group in case.broker.groups}
    topics: dict[str, set[str]] = {}
    for offset in case.broker.consumer_offsets:
        if offset.group not in known and not is_system_group(offset.group):
            topics.setdefault(offset.group, set()).add(offset.topic)
    for group, names in sorted(topics.items()):
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=group),
            params={"group": group, "topics": ", ".join(sorted(names))},
            evidence={"topic_count": len(names)},
        )


@rule(
    "MQ212",
    Severity.FATAL,
    source="AllocateMessageQueueStrategy",
    needs=_RUNNING,
    playbook="unconsumed-queue",
    groups=SHARING,
    texts=RuleTexts(
        title="Members of one group allocate by different strategies",
        speaks="members allocate queues by different strategies",
        silent="members print the same strategy as different objects",
        what={"": "Members of group {group} allocate queues by {strategy_count:strategy}. {sides}."},
        effect="Each instance follows its own rule: some queues get two owners and are consumed twice, others get "
        "none.",
        advice="Set the same strategy everywhere and restart all members.",
        explain="Brokers do not know the strategy; Java and mqctl members report theirs in their settings. For "
        "members that do not, mqctl allocation show infers it from the queues they own.",
        next_command="mqctl allocation show {source} -g {group}",
    ),
)
def different_strategies(case: ClusterCase) -> Iterator[Verdict]:
    """Members that say they allocate by different strategies: some queues get two owners and some none."""
    for view in case.views:
        by_name: dict[str, list[str]] = {}
        for client, info in view.running.items():
            if info.strategy is not None:
                by_name.setdefault(info.strategy, []).append(client)
        if view.shares and len(by_name) > 1:
            ordered = sorted(by_name.items(), key=lambda item: (-len(item[1]), item[0]))
            yield Verdict(
                subject=view.subject,
                params={
                    "group": view.group,
                    "sides": "; ".join(f"{named_clients(clients)}: {name}" for name, clients in ordered),
                },
                evidence={"member_count": len(view.client_ids), "strategy_count": len(by_name)},
            )
