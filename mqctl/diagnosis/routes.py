"""MQ2, MQ3 and MQ6 as far as files show them: unknown groups, hot queues, unreachable queues, permissions."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.registry import Case, Verdict, rule
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.model.queue_state import QueueState


def _topic(case: Case, topic: str) -> Subject:
    return Subject(kind=SubjectKind.TOPIC, broker=case.broker.name, topic=topic)


def _queues_by_topic(case: Case) -> dict[str, list[QueueState]]:
    queues: dict[str, list[QueueState]] = {}
    for queue in case.broker.queues:
        queues.setdefault(queue.topic, []).append(queue)
    return queues


@rule("MQ201", Severity.INFO, source="S8", needs=(Part.GROUPS, Part.CONSUMER_OFFSETS), playbook="subscription-change")
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


@rule("MQ301", Severity.WARNING, source="P3", needs=(Part.QUEUES,), playbook="hot-key")
def hot_queue(case: Case) -> Iterator[Verdict]:
    """One queue of a topic holds far more than its share."""
    topics: dict[str, list[QueueState]] = {}
    for queue in case.broker.queues:
        if not is_system_topic(queue.topic) and group_of(queue.topic) is None:
            topics.setdefault(queue.topic, []).append(queue)
    for topic, queues in sorted(topics.items()):
        total = sum(queue.message_count for queue in queues)
        mean = total / len(queues)
        hottest = max(queues, key=lambda queue: queue.message_count)
        enough = hottest.message_count >= case.settings.hot_queue_min_count
        if len(queues) < 2 or not enough or hottest.message_count <= case.settings.hot_queue_factor * mean:
            continue
        key = hottest.hot_key
        share = key.key_count / key.sampled_count if key else None
        explained = share is not None and share >= case.settings.hot_key_share
        yield Verdict(
            subject=Subject(kind=SubjectKind.QUEUE, broker=case.broker.name, topic=topic, queue_id=hottest.queue_id),
            params={"topic": topic, "queue_id": hottest.queue_id, "key": key.key if key else None},
            evidence={
                "message_count": hottest.message_count,
                "mean_count": round(mean),
                "queue_share": hottest.message_count / total,
                "key_share": share,
            },
            variant="key" if explained else "queue",
            confidence=Confidence.HIGH if explained else Confidence.MEDIUM,
        )


@rule("MQ601", Severity.FATAL, source="R1", needs=(Part.TOPICS, Part.QUEUES), playbook="unconsumed-queue")
def unreachable_queues(case: Case) -> Iterator[Verdict]:
    """Messages in queues that the topic's read queue count leaves out: no consumer can pull them."""
    queues = _queues_by_topic(case)
    for config in case.broker.topics:
        beyond = [
            queue
            for queue in queues.get(config.name, ())
            if queue.queue_id >= config.read_queue_count and queue.message_count
        ]
        if beyond and not is_system_topic(config.name):
            yield Verdict(
                subject=_topic(case, config.name),
                params={"topic": config.name, "queues": ", ".join(str(queue.queue_id) for queue in beyond)},
                evidence={
                    "message_count": sum(queue.message_count for queue in beyond),
                    "read_queue_count": config.read_queue_count,
                    "write_queue_count": config.write_queue_count,
                },
            )


@rule("MQ602", Severity.INFO, source="R2", needs=(Part.TOPICS,), playbook="scale-out")
def idle_queues(case: Case) -> Iterator[Verdict]:
    """Fewer write queues than read queues: the difference gets no messages. Normal while a topic shrinks."""
    for config in case.broker.topics:
        if config.write_queue_count < config.read_queue_count and not is_system_topic(config.name):
            evidence = {
                "read_queue_count": config.read_queue_count,
                "write_queue_count": config.write_queue_count,
            }
            yield Verdict(subject=_topic(case, config.name), params={"topic": config.name}, evidence=evidence)


@rule("MQ603", Severity.ERROR, source="R6", needs=(Part.TOPICS,), playbook="broker-down")
def closed_topic(case: Case) -> Iterator[Verdict]:
    """A topic that cannot be read or written."""
    queues = _queues_by_topic(case)
    for config in case.broker.topics:
        if config.readable and config.writable:
            continue
        owner = group_of(config.name)
        if is_system_topic(config.name) or (owner is not None and config.name.startswith("%DLQ%")):
            continue
        held = sum(queue.message_count for queue in queues.get(config.name, ()))
        variant = "both" if not config.readable and not config.writable else "write" if config.readable else "read"
        yield Verdict(
            subject=_topic(case, config.name),
            params={"topic": config.name},
            evidence={"perm": config.perm, "message_count": held},
            variant=variant,
            severity=Severity.WARNING if variant == "write" else None,
        )


@rule(
    "MQ604", Severity.WARNING, source="S8", needs=(Part.TOPICS, Part.CONSUMER_OFFSETS), playbook="subscription-change"
)
def unknown_topic(case: Case) -> Iterator[Verdict]:
    """Offsets on a topic that has no settings: deleted, or its settings were lost."""
    known = {config.name for config in case.broker.topics}
    groups: dict[str, set[str]] = {}
    for offset in case.broker.consumer_offsets:
        mine = is_system_topic(offset.topic) or is_system_group(offset.group) or group_of(offset.topic) is not None
        if offset.topic not in known and not mine:
            groups.setdefault(offset.topic, set()).add(offset.group)
    held = _queues_by_topic(case)
    for topic, names in sorted(groups.items()):
        count = sum(queue.message_count for queue in held.get(topic, ()))
        yield Verdict(
            subject=_topic(case, topic),
            params={"topic": topic, "groups": ", ".join(sorted(names))},
            evidence={"group_count": len(names), "message_count": count},
            severity=None if count else Severity.INFO,
        )
