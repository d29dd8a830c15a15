"""MQ730: messages that wait for a moment of their own, on brokers that know no such thing."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.config import PERM_WRITE
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import group_of, is_system_topic
from mqctl.model.release import release_of, release_text
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.rules.engine.audience import APPLICATION
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

_FIRST_WITH_TIMERS = (5, 0, 0)


@rule(
    "MQ730",
    Severity.ERROR,
    source="SendMessageProcessor, TimerMessageStore",
    needs=(Part.TOPICS, Part.DELAY_TIMERS),
    playbook="delay-late",
    topics=APPLICATION,
    texts=RuleTexts(
        title="Delayed messages are delivered at once on older brokers",
        speaks="messages of a topic wait in the timer of a 5.x broker, and a 4.9 broker takes messages of it too",
        silent="a 4.9 broker has the topic and takes no messages of it",
        what={
            "": "Producers of {topic} send messages with a time of delivery of their own. {brokers} ({releases}) take "
            "messages of it too and deliver these at once.",
        },
        effect="Consumers get a share of the delayed messages immediately: brokers before 5.0 store the property and "
        "do not look at it. Nothing fails, and neither producer nor broker reports it.",
        advice="Take the write permission of the topic away on the older brokers until they are upgraded, or send with "
        "a delay level, which every release knows.",
        explain="A producer's delay in seconds or milliseconds is a property of the message. Timers came with 5.0. That "
        "a topic is used so is known from what waits in the timers of 5.x brokers, and from topics of the type DELAY.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def timers_on_older_brokers(case: ClusterCase) -> Iterator[Verdict]:
    """Topics that timers of 5.x brokers hold messages of, and that brokers before 5.0 take messages of as well."""
    masters = [item for item in case.snapshot.brokers if item.broker_id in (None, MASTER_ID)]
    older = [(item, release) for item in masters if (release := _release(item)) and release < _FIRST_WITH_TIMERS]
    waiting: dict[str, int] = {}
    for broker in masters:
        for timer in broker.delay.timers if broker.delay is not None else ():
            if timer.topic is not None and timer.waiting_count > 0:
                waiting[timer.topic] = waiting.get(timer.topic, 0) + timer.waiting_count
        for config in broker.topics:
            if config.message_type == "DELAY":
                waiting.setdefault(config.name, 0)
    for topic, count in sorted(waiting.items()):
        taking = [(item.name or "", release) for item, release in older if _takes(item, topic)]
        if taking and not is_system_topic(topic) and group_of(topic) is None:
            yield Verdict(
                subject=Subject(kind=SubjectKind.TOPIC, topic=topic),
                params={
                    "topic": topic,
                    "brokers": ", ".join(sorted({name for name, _ in taking})),
                    "releases": ", ".join(release_text(item) for item in sorted({item for _, item in taking})),
                },
                evidence={"waiting_count": count, "broker_count": len({name for name, _ in taking})},
                confidence=Confidence.HIGH if count else Confidence.MEDIUM,
            )


def _release(broker: BrokerSnapshot) -> tuple[int, int, int] | None:
    return release_of(broker.version or "")


def _takes(broker: BrokerSnapshot, topic: str) -> bool:
    return any(
        config.name == topic and config.perm & PERM_WRITE and config.write_queue_count > 0 for config in broker.topics
    )
