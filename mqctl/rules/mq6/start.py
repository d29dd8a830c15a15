"""MQ644, MQ645: settings that a broker reads at its start only, changed while it ran."""

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


# Seen on 5.5.0: the broker ends at its start with these, and its log says only that it shuts down.
_DOUBLE_WRITE, _LIGHT_IN_ROCKSDB = "rocksdbCQDoubleWriteEnable", "combineCQUseRocksdbForLmq"


@rule(
    "MQ645",
    Severity.ERROR,
    source="RocksDBLiteLifecycleManager.init",
    needs=(Part.CONFIG,),
    playbook="broker-down",
    texts=RuleTexts(
        title="A broker that will not start again",
        speaks="rocksdbCQDoubleWriteEnable is on and combineCQUseRocksdbForLmq is off",
        silent="rocksdbCQDoubleWriteEnable is on in 5.3.3, which has no combineCQUseRocksdbForLmq",
        what={
            "": "{broker} has {setting} and {other}: it runs, and with these settings it ends itself at its next start."
        },
        effect="The broker does not come back after a restart, planned or not. Nothing is printed, and its store.log says only "
        "that it shuts down.",
        advice="Set combineCQUseRocksdbForLmq=true, or rocksdbCQDoubleWriteEnable=false, in the broker's file of settings before it "
        "is restarted.",
        explain="Consume queues that are written to files and to RocksDB need light queues in RocksDB from 5.5.0 on. A "
        "setting that was changed while the broker ran is read at its next start.",
        next_command="mqctl broker config {source} {broker}",
    ),
)
def no_second_start(case: Case) -> Iterator[Verdict]:
    """Settings of a broker that runs, with which it would end at its start."""
    config = case.broker.config
    if (config.get(_DOUBLE_WRITE), config.get(_LIGHT_IN_ROCKSDB)) == ("true", "false"):
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
            params={
                "broker": case.broker.name,
                "setting": f"{_DOUBLE_WRITE}=true",
                "other": f"{_LIGHT_IN_ROCKSDB}=false",
            },
        )
