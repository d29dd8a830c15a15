"""MQ6 as far as files show it: queues and topics that cannot be reached, written or read, topics nobody defines."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.lag import queue_lags
from mqctl.model.names import group_of, is_system_group, is_system_topic
from mqctl.rules.engine.audience import APPLICATION, LAGGING, TopicKind
from mqctl.rules.engine.rule import Case, RuleTexts, Verdict, rule


def _topic(case: Case, topic: str) -> Subject:
    return Subject(kind=SubjectKind.TOPIC, broker=case.broker.name, topic=topic)


@rule(
    "MQ601",
    Severity.FATAL,
    source="PullMessageProcessor",
    needs=(Part.TOPICS, Part.QUEUES, Part.CONSUMER_OFFSETS),
    playbook="unconsumed-queue",
    topics=LAGGING,
    texts=RuleTexts(
        title="Messages in queues that nobody can read",
        speaks="producers use queues that nobody reads",
        silent="a topic was made smaller after its upper queue was consumed",
        what={
            "": "{topic} has {read_queue_count:read queue}; queues {queues} beyond them hold {message_count:message}.",
            "empty": "{topic} has {read_queue_count:read queue} and {write_queue_count:write queue}. Queues beyond the "
            "read queues are empty so far ({queues}); the next sends go there as well.",
        },
        effect="No consumer can pull what is in these queues; it expires unread.",
        advice="Raise readQueueNums to writeQueueNums until the queues are drained, then shrink in the right order: write "
        "queues first, read queues last.",
        explain="Consumers see queue ids below readQueueNums only; a pull beyond is refused. Shrinking both numbers at once "
        "strands what is in the upper queues.",
        next_command="mqctl store describe {source}",
        live_command="mqctl topic describe {source} -t {topic}",
    ),
)
def unreachable_queues(case: Case) -> Iterator[Verdict]:
    """Messages in queues that the topic's read queue count leaves out: no consumer can pull them.

    Queues that are not written any more and that all groups have consumed are what shrinking in the right order leaves.
    Those that are written and still empty get their first messages with the next sends.
    """
    queues, drained = case.queues_by_topic(), _drained(case)
    for config in case.broker.topics:
        beyond = [
            queue
            for queue in queues.get(config.name, ())
            if queue.queue_id >= config.read_queue_count
            and queue.message_count
            and (queue.queue_id < config.write_queue_count or (queue.topic, queue.queue_id) not in drained)
        ]
        written = config.write_queue_count if config.writable else 0
        empty = list(range(config.read_queue_count, written))
        if (beyond or empty) and not is_system_topic(config.name):
            ids = [queue.queue_id for queue in beyond] or empty
            yield Verdict(
                subject=_topic(case, config.name),
                params={"topic": config.name, "queues": ", ".join(map(str, ids))},
                evidence={
                    "message_count": sum(queue.message_count for queue in beyond),
                    "read_queue_count": config.read_queue_count,
                    "write_queue_count": config.write_queue_count,
                },
                variant=None if beyond else "empty",
                severity=None if beyond else Severity.ERROR,
            )


def _drained(case: Case) -> set[tuple[str, int]]:
    """Returns the queues in which every group with offsets on the topic stands at the end or beyond."""
    done: dict[tuple[str, int], bool] = {}
    for row in queue_lags(case.broker, case.now_ms, removed=True):
        place = (row.topic, row.queue_id)
        done[place] = done.get(place, True) and row.lag_count is not None and row.lag_count <= 0
    return {place for place, at_the_end in done.items() if at_the_end}


@rule(
    "MQ602",
    Severity.INFO,
    source="TopicConfig",
    needs=(Part.TOPICS,),
    playbook="scale-out",
    topics=LAGGING,
    texts=RuleTexts(
        title="Read queues that get no messages",
        speaks="consumers read queues that nobody writes",
        silent="producers use more queues than consumers read",
        what={"": "{topic} has {read_queue_count:read queue} and only {write_queue_count:write queue}."},
        effect="The queues in between get nothing; the instances that own them are idle.",
        advice="Normal while a topic shrinks; lower readQueueNums once they are empty.",
        explain="Producers write to queue ids below writeQueueNums, consumers own ids below readQueueNums.",
    ),
)
def idle_queues(case: Case) -> Iterator[Verdict]:
    """Fewer write queues than read queues: the difference gets no messages. Normal while a topic shrinks."""
    for config in case.broker.topics:
        if config.write_queue_count < config.read_queue_count and not is_system_topic(config.name):
            evidence = {
                "read_queue_count": config.read_queue_count,
                "write_queue_count": config.write_queue_count,
            }
            yield Verdict(subject=_topic(case, config.name), params={"topic": config.name}, evidence=evidence)


@rule(
    "MQ603",
    Severity.ERROR,
    source="PermName",
    needs=(Part.TOPICS,),
    playbook="broker-down",
    topics=LAGGING - {TopicKind.DEAD_LETTER},
    texts=RuleTexts(
        title="A topic is closed for reading or writing",
        speaks="a topic cannot be read",
        silent="a topic has its usual permissions and the bit for inheriting",
        what={
            "read": "{topic} cannot be read (perm {perm}); it holds {message_count:message}.",
            "write": "{topic} cannot be written (perm {perm}).",
            "both": "{topic} can neither be read nor written (perm {perm}); it holds {message_count:message}.",
        },
        effect="Consumers or producers of the topic get errors or no route.",
        advice="Set perm 6 unless the topic was closed on purpose.",
        explain="perm is a sum of 4 (read) and 2 (write); a wiped write permission is held by name servers only and does not "
        "show here.",
    ),
)
def closed_topic(case: Case) -> Iterator[Verdict]:
    """A topic that cannot be read or written."""
    queues = case.queues_by_topic()
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
    "MQ604",
    Severity.WARNING,
    source="ConsumerOffsetManager.scanUnsubscribedTopic",
    needs=(Part.TOPICS, Part.CONSUMER_OFFSETS),
    playbook="subscription-change",
    topics=APPLICATION,
    texts=RuleTexts(
        title="Offsets on a topic that has no settings",
        speaks="the group has offsets of a topic that is gone",
        silent="the same of a trace topic and a light queue (LMQ)",
        what={
            "": "Groups have offsets on {topic} ({groups}), but the topic has no settings; {message_count} of its messages are stored."
        },
        effect="The topic was deleted with its offsets kept, or its settings were lost. Without settings the broker "
        "refuses its consumers, and a new topic of that name would start with the old offsets.",
        advice="Delete the offsets if the topic is gone; create its settings if it is not.",
        explain="Offsets live in consumerOffset.json, settings in topics.json; deleting a topic keeps the offsets. Stored messages "
        "make it a warning: they may still be wanted.",
        next_command="mqctl store describe {source}",
    ),
)
def unknown_topic(case: Case) -> Iterator[Verdict]:
    """Offsets on a topic that has no settings: deleted, or its settings were lost."""
    known = {config.name for config in case.broker.topics}
    groups: dict[str, set[str]] = {}
    for offset in case.broker.consumer_offsets:
        mine = is_system_topic(offset.topic) or is_system_group(offset.group) or group_of(offset.topic) is not None
        if offset.topic not in known and not mine:
            groups.setdefault(offset.topic, set()).add(offset.group)
    held = case.queues_by_topic()
    for topic, names in sorted(groups.items()):
        count = sum(queue.message_count for queue in held.get(topic, ()))
        yield Verdict(
            subject=_topic(case, topic),
            params={"topic": topic, "groups": ", ".join(sorted(names))},
            evidence={"group_count": len(names), "message_count": count},
            severity=None if count else Severity.INFO,
        )
