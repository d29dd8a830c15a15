"""MQ636: topics that brokers have and name servers do not list."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import is_system_topic
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

# A broker registers what it changed at once, and everything every 30 s.
_REGISTERED_MS = 60_000


@rule(
    "MQ636",
    Severity.ERROR,
    source="RouteInfoManager.registerBroker, BrokerController.registerBrokerAll",
    needs=(Part.ROUTES, Part.TOPICS),
    playbook="broker-down",
    texts=RuleTexts(
        title="A broker's topics are not listed",
        speaks="a broker has a topic that the name server does not know",
        silent="the topic was created a few seconds ago",
        what={
            "": "The routes of {name_servers} leave out {topic_count:topic} of {broker}, {topic} among them, with "
            "{message_count:message}."
        },
        effect="Producers send nothing to these queues, and consumers that look for them give them up: what they hold waits unread.",
        advice="Any change of a topic on that broker, its permission there and back for instance, makes it register all of "
        "them again; so does its restart. Look for failed registrations in its broker.log.",
        explain="Compares the topic table of each master with what the name servers that list this master know of its topics. A table that "
        "changed within the last minute is on its way, unless an earlier look saw the same. A 4.x name server that was "
        "restarted may take a broker's data version for known, and never learn its topics.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def unlisted_topics(case: ClusterCase) -> Iterator[Verdict]:
    """Topics in a master's table for which name servers that list this master give routes without it, or none."""
    earlier = case.snapshot.earlier
    for broker in case.snapshot.brokers:
        if broker.broker_id != MASTER_ID or broker.name is None:
            continue
        before = _unlisted(earlier, broker.name) if earlier is not None else {}
        young = broker.topics_time_ms is not None and case.now_ms - broker.topics_time_ms <= case.settings.scaled(
            _REGISTERED_MS
        )
        lacking: dict[tuple[str, ...], list[str]] = {}
        for topic, servers in _unlisted(case.snapshot, broker.name).items():
            lasting = [server for server in servers if not young or server in before.get(topic, ())]
            if lasting:
                lacking.setdefault(tuple(lasting), []).append(topic)
        for name_servers, topics in sorted(lacking.items()):
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name, "name_servers": ", ".join(name_servers), "topic": min(topics)},
                evidence={
                    "topic_count": len(topics),
                    "name_server_count": len(name_servers),
                    "message_count": sum(item.message_count for item in broker.queues if item.topic in topics),
                },
                confidence=Confidence.HIGH if broker.topics_time_ms is not None else Confidence.MEDIUM,
            )


def _unlisted(snapshot: ClusterSnapshot, broker_name: str) -> dict[str, list[str]]:
    """Returns the topics of a master that name servers which list it do not list there, with these name servers."""
    master = next((it for it in snapshot.brokers if (it.name, it.broker_id) == (broker_name, MASTER_ID)), None)
    if master is None:
        return {}
    own = [config.name for config in master.topics if not is_system_topic(config.name)]
    unlisted: dict[str, list[str]] = {}
    for view in snapshot.name_servers:
        for topic in sorted(view.unlisted(broker_name, master.address, own)):
            unlisted.setdefault(topic, []).append(view.address)
    return unlisted


def may_have(case: ClusterCase, broker_name: str, topic: str) -> bool:
    """Tells whether a broker has a topic by its own table, or may have it because its table was not to be had; what
    name servers list is not all that brokers have."""
    for broker in case.snapshot.brokers:
        if broker.name == broker_name and broker.broker_id in (None, MASTER_ID):
            unread = any(gap.part is Part.TOPICS for gap in broker.unavailable)
            return unread or any(config.name == topic for config in broker.topics)
    return True
