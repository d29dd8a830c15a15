"""MQ644: settings that were switched on while a broker ran, and that it reads at its start only."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import AUTO_CREATE_TOPIC, is_system_topic
from mqctl.rules.engine.rule import Case, RuleTexts, Verdict, rule

_TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"


@rule(
    "MQ644",
    Severity.ERROR,
    source="TopicConfigManager.init",
    needs=(Part.CONFIG, Part.TOPICS),
    playbook="broker-down",
    texts=RuleTexts(
        title="A setting needs a restart to take effect",
        speaks="autoCreateTopicEnable is on and TBW102 is missing",
        silent="it is off, as in production, and TBW102 is missing",
        what={"": "{broker} has {setting}, but topic {topic}, which it creates for that at start, is missing."},
        effect="The setting is shown as on but has no effect: it was changed while the broker ran, and is read only "
        "at start.",
        advice="Restart the broker, or create the topic with `mqctl topic create`.",
        explain="Compares two switches with the topics that a broker makes at its start when they are on: TBW102 for "
        "autoCreateTopicEnable, and the trace topic for traceTopicEnable.",
        next_command="mqctl broker config {source} {broker}",
    ),
)
def switched_on_too_late(case: Case) -> Iterator[Verdict]:
    """A switch that is on, without the topic that a broker makes at its start when it is."""
    config = case.broker.config
    needed = {
        "autoCreateTopicEnable": AUTO_CREATE_TOPIC,
        "traceTopicEnable": config.get("msgTraceTopicName") or _TRACE_TOPIC,
    }
    there = {topic.name for topic in case.broker.topics}
    if not any(map(is_system_topic, there)):
        return  # a table without any topic of the broker's own is not the whole of it
    for name, topic in needed.items():
        if config.get(name, "").strip().lower() == "true" and topic not in there:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
                params={"broker": case.broker.name, "setting": f"{name}=true", "topic": topic},
            )
