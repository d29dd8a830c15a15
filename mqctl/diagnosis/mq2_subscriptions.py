"""MQ2: members of one group that do not want the same, or are not who they say they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from mqctl.diagnosis.audience import EVERY, JOINED, LAGGING, ONLINE, SHARING, SUBSCRIBED, GroupKind, TopicKind
from mqctl.diagnosis.group_view import (
    GroupView,
    differing_since_ms,
    group_views,
    named_clients,
    newest_change_ms,
    wanted_text,
)
from mqctl.diagnosis.rule import Case, ClusterCase, Unknown, Verdict, cluster_rule, restarting, rule
from mqctl.diagnosis.tag_skipping import skipped_by_tags
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Value, Why
from mqctl.model.gap import Part
from mqctl.model.member import MessageModel, Subscription
from mqctl.model.names import is_retry_topic, is_system_group

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


@cluster_rule(
    "MQ202", Severity.FATAL, source="ConsumerManager", needs=_LIVE, playbook="unconsumed-queue", groups=ONLINE
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


@cluster_rule(
    "MQ203",
    Severity.FATAL,
    source="ConsumerFilterManager, DefaultMessageFilter",
    needs=_LIVE,
    playbook="tag-loss",
    groups=ONLINE,
    topics=SUBSCRIBED,
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


@cluster_rule(
    "MQ204",
    Severity.FATAL,
    source="ConsumerFilterManager",
    needs=_LIVE,
    playbook="subscription-change",
    groups=ONLINE,
    topics=SUBSCRIBED,
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


@cluster_rule(
    "MQ205",
    Severity.FATAL,
    source="ConsumerGroupInfo",
    needs=(Part.MEMBERS,),
    playbook="unconsumed-queue",
    groups=SHARING | {GroupKind.PULL},
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


@cluster_rule(
    "MQ206",
    Severity.ERROR,
    source="RebalanceImpl.rebalanceByTopic",
    needs=(Part.MEMBERS,),
    playbook="unconsumed-queue",
    groups=SHARING,
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


@cluster_rule(
    "MQ207",
    Severity.WARNING,
    source="LocalFileOffsetStore",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=frozenset({GroupKind.BROADCASTING}),
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


@cluster_rule(
    "MQ208",
    Severity.ERROR,
    source="ConsumerGroupInfo",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=ONLINE,
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


@cluster_rule(
    "MQ209",
    Severity.INFO,
    source="RebalanceImpl.rebalanceByTopic",
    needs=(Part.MEMBERS,),
    playbook="subscription-change",
    groups=ONLINE,
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


@cluster_rule("MQ210", Severity.FATAL, source="MQClientManager", needs=_LIVE, playbook="cluster-mixup", groups=ONLINE)
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


@cluster_rule(
    "MQ211",
    Severity.WARNING,
    source="RebalanceImpl",
    needs=(Part.MEMBERS, Part.CONSUMER_OFFSETS),
    playbook="subscription-change",
    groups=JOINED,
    topics=LAGGING - {TopicKind.RETRY},
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


@cluster_rule(
    "MQ212",
    Severity.FATAL,
    source="AllocateMessageQueueStrategy",
    needs=_RUNNING,
    playbook="unconsumed-queue",
    groups=SHARING,
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
