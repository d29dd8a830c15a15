"""MQ2: members that a broker refuses by its settings, and an order that a group's settings do not keep."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.allocation.group_view import refusing_brokers
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.rules.engine.audience import ONLINE, SUBSCRIBED, GroupKind, TopicKind
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

_SETTINGS = (Part.MEMBERS, Part.GROUPS, Part.CONFIG)


def _is_off(value: str | None) -> bool:
    return (value or "").strip().lower() == "false"


@rule(
    "MQ213",
    Severity.FATAL,
    source="PullMessageProcessor.processRequest",
    needs=_SETTINGS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Brokers refuse a consumer group",
        speaks="a broker without settings of the group does not create groups",
        silent="the broker creates groups by itself",
        what={
            "": "Group {group} has no settings on {brokers}, where groups are not created automatically: every pull of its "
            "{member_count:member} is refused (code 26)."
        },
        effect="The group consumes nothing from there although its members are online; nothing else shows it.",
        advice="Create the group (`mqctl group create`), or check its name.",
        explain="With autoCreateSubscriptionGroup=false a broker takes heartbeats of a group that it has no settings of, and refuses "
        "its pulls with SUBSCRIPTION_GROUP_NOT_EXIST.",
        next_command="mqctl group describe {source} -g {group}",
    ),
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


@rule(
    "MQ214",
    Severity.FATAL,
    source="BrokerConfig.enablePropertyFilter",
    needs=(Part.MEMBERS, Part.CONFIG),
    playbook="stuck-consumer",
    groups=ONLINE,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Brokers refuse SQL92 subscriptions",
        speaks="members subscribe by SQL92, and a broker does not filter by properties",
        silent="members subscribe by tag there",
        what={
            "": "Group {group} subscribes to {topic} by SQL92, which enablePropertyFilter=false rules out on {brokers}."
        },
        effect="Every pull of its {member_count:member} is refused: the group consumes nothing from there.",
        advice="Set enablePropertyFilter=true in the broker's properties and restart it, or subscribe by tag.",
        explain="Brokers serve SQL92 only with enablePropertyFilter=true, which is not the default. A consumer asks one broker for it "
        "when it starts; other brokers refuse its pulls.",
        next_command="mqctl broker config {source}",
    ),
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


@rule(
    "MQ215",
    Severity.WARNING,
    source="SubscriptionGroupConfig.consumeMessageOrderly",
    needs=(Part.MEMBERS, Part.GROUPS, Part.TOPICS),
    playbook="hot-key",
    groups=frozenset({GroupKind.CLUSTERING, GroupKind.POP}),
    topics=frozenset({TopicKind.FIFO}),
    texts=RuleTexts(
        title="A FIFO topic that a group consumes without order",
        speaks="a FIFO topic is consumed concurrently",
        silent="the group is set to consume it in order",
        what={
            "": "Topic {topic} is of type FIFO, and group {group} consumes it concurrently (consumeMessageOrderly=false)."
        },
        effect="Messages of one message group may be consumed at the same time, and in another order than they were sent in.",
        advice="If order matters to the group, set consumeMessageOrderly=true for it (or use an orderly listener).",
        explain="For clients of a proxy and POP consumers the group's setting decides; for other clients their "
        "listener does. The topic's type FIFO only says how messages are sent.",
        next_command="mqctl group describe {source} -g {group}",
    ),
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


@rule(
    "MQ218",
    Severity.ERROR,
    source="PullMessageProcessor.processRequest",
    needs=(Part.MEMBERS, Part.GROUPS),
    playbook="stuck-consumer",
    groups=frozenset({GroupKind.BROADCASTING}),
    texts=RuleTexts(
        title="Brokers refuse broadcasting consumers",
        speaks="a group that may not broadcast does",
        silent="such a group shares its messages",
        what={"": "Members of group {group} broadcast, which consumeBroadcastEnable=false rules out on {brokers}."},
        effect="Every pull of its {member_count:member} is refused there: they consume nothing.",
        advice="Set consumeBroadcastEnable=true for the group (`mqctl group update`), or let its members share the messages.",
        explain="A broker refuses pulls of a broadcasting consumer with NO_PERMISSION when the group's settings do not allow it.",
        next_command="mqctl group describe {source} -g {group}",
    ),
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
