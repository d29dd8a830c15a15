"""MQ2: members that a broker refuses by its settings, and an order that a group's settings do not keep."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.audience import ONLINE, SUBSCRIBED, GroupKind, TopicKind
from mqctl.diagnosis.group_view import refusing_brokers
from mqctl.diagnosis.rule import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part

_SETTINGS = (Part.MEMBERS, Part.GROUPS, Part.CONFIG)


def _is_off(value: str | None) -> bool:
    return (value or "").strip().lower() == "false"


@cluster_rule(
    "MQ213",
    Severity.FATAL,
    source="PullMessageProcessor.processRequest",
    needs=_SETTINGS,
    playbook="stuck-consumer",
    groups=ONLINE,
)
def group_without_settings(case: ClusterCase) -> Iterator[Verdict]:
    """Members of a group that brokers have no settings of and may not create: each pull is refused with code 26."""
    for view in case.views:
        refusing = refusing_brokers(view, case.snapshot)
        if refusing:
            yield Verdict(
                subject=view.subject,
                params={"group": view.group, "brokers": ", ".join(refusing)},
                evidence={"broker_count": len(refusing), "member_count": len(view.client_ids)},
            )


@cluster_rule(
    "MQ214",
    Severity.FATAL,
    source="BrokerConfig.enablePropertyFilter",
    needs=(Part.MEMBERS, Part.CONFIG),
    playbook="stuck-consumer",
    groups=ONLINE,
    topics=SUBSCRIBED,
)
def expression_refused(case: ClusterCase) -> Iterator[Verdict]:
    """Members that subscribe by SQL92, and brokers that do not filter by properties: their pulls are refused."""
    refusing = {
        broker.name or "" for broker in case.snapshot.brokers if _is_off(broker.config.get("enablePropertyFilter"))
    }
    for view in case.views:
        names = sorted(refusing & view.memberships.keys())
        for topic in view.topics():
            wanted = (view.effective(topic), *view.subscriptions(topic).values())
            if names and any(item is not None and item.expression_type == "SQL92" for item in wanted):
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic, "brokers": ", ".join(names)},
                    evidence={"broker_count": len(names), "member_count": len(view.client_ids)},
                )


@cluster_rule(
    "MQ215",
    Severity.WARNING,
    source="SubscriptionGroupConfig.consumeMessageOrderly",
    needs=(Part.MEMBERS, Part.GROUPS, Part.TOPICS),
    playbook="hot-key",
    groups=frozenset({GroupKind.CLUSTERING, GroupKind.POP}),
    topics=frozenset({TopicKind.FIFO}),
)
def order_not_kept(case: ClusterCase) -> Iterator[Verdict]:
    """A FIFO topic (5.x) that a group consumes without order: neither its settings nor its listener ask for it."""
    fifo = {
        config.name for broker in case.snapshot.brokers for config in broker.topics if config.message_type == "FIFO"
    }
    loose = {
        config.name
        for broker in case.snapshot.brokers
        for config in broker.groups
        if not config.consume_message_orderly
    }
    for view in case.views:
        for topic in sorted(fifo & set(view.topics())):
            if view.group in loose and not view.orderly:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic},
                    evidence={"member_count": len(view.client_ids)},
                )


@cluster_rule(
    "MQ218",
    Severity.ERROR,
    source="PullMessageProcessor.processRequest",
    needs=(Part.MEMBERS, Part.GROUPS),
    playbook="stuck-consumer",
    groups=frozenset({GroupKind.BROADCASTING}),
)
def broadcasting_refused(case: ClusterCase) -> Iterator[Verdict]:
    """Members that broadcast, in a group that a broker does not let broadcast: it refuses their pulls."""
    refusing = {
        (config.name, broker.name or "")
        for broker in case.snapshot.brokers
        for config in broker.groups
        if not config.consume_broadcast_enable
    }
    for view in case.views:
        names = sorted(name for name in view.memberships if (view.group, name) in refusing)
        if view.broadcasting and names:
            yield Verdict(
                subject=view.subject,
                params={"group": view.group, "brokers": ", ".join(names)},
                evidence={"broker_count": len(names), "member_count": len(view.client_ids)},
            )
