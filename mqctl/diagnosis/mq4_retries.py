"""MQ423, MQ426, MQ427: retries that do not come to an end, by the newest messages of retry topics and those that wait
in delay levels for the next try, or that never begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mqctl.diagnosis.audience import EVERY, GroupKind, TopicKind
from mqctl.diagnosis.rule import Case, Verdict, rule
from mqctl.model.delay_state import OFTEN_FAILED
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.newest import NewestMessage

# Two members may send one message back at the same try, when queues change hands; not three.
_COPIES = 3


@rule(
    "MQ423",
    Severity.ERROR,
    source="ConsumeMessageOrderlyService.checkReconsumeTimes, SendMessageProcessor.handleRetryAndDLQ",
    needs=(Part.NEWEST, Part.GROUPS),
    playbook="dead-letters",
    groups=EVERY,
    topics=frozenset({TopicKind.RETRY}),
)
def endless_retries(case: Case) -> Iterator[Verdict]:
    """Messages that come back with the same number of tries, or after more of them than there may be."""
    most = {config.name: config.retry_max_times for config in case.broker.groups}
    retries: dict[str, list[NewestMessage]] = {}
    for message in case.broker.newest:
        if message.topic.startswith(RETRY_PREFIX):
            retries.setdefault(message.topic, []).append(message)
    for topic, messages in sorted(retries.items()):
        group = topic.removeprefix(RETRY_PREFIX)
        copies = Counter((item.unique_key, item.retry_count) for item in messages if item.unique_key)
        (key, tries), times = max(copies.items(), key=lambda item: item[1], default=((None, 0), 0))
        over = [item for item in messages if item.retry_count > _most(item, most.get(group))]
        if times < _COPIES and not over:
            continue
        counts = {"copy_count": times, "tries_count": tries} if times >= _COPIES else {"tries_count": _tries(over)}
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=group, topic=topic),
            params={"group": group, "key": key} if times >= _COPIES else {"group": group, "most": _least(over, most)},
            evidence={**counts, "sampled_count": len(messages)},
            variant=None if times >= _COPIES else "over",
            severity=None if times >= _COPIES else Severity.WARNING,
        )


def _most(message: NewestMessage, of_group: int | None) -> float:
    """Returns after how many tries a message should be a dead letter."""
    known = [most for most in (of_group, message.most_retries) if most is not None and most >= 0]
    return max(known, default=float("inf"))


def _tries(messages: list[NewestMessage]) -> int:
    return max(item.retry_count for item in messages)


def _least(messages: list[NewestMessage], most: dict[str, int]) -> int:
    return int(min(_most(item, most.get(item.topic.removeprefix(RETRY_PREFIX))) for item in messages))


@rule(
    "MQ426",
    Severity.ERROR,
    source="AbstractSendMessageProcessor.consumerSendMsgBack",
    needs=(Part.GROUPS,),
    playbook="dead-letters",
    groups=frozenset({GroupKind.CLUSTERING, GroupKind.PULL, GroupKind.OFFLINE}),
)
def failures_dropped(case: Case) -> Iterator[Verdict]:
    """A group without retry queues: brokers answer that a failed message was taken back, and drop it."""
    for config in case.broker.groups:
        if config.retry_queue_count <= 0:
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=config.name),
                params={"group": config.name, "broker": case.broker.name},
                evidence={"queue_count": config.retry_queue_count, "most_tries_count": config.retry_max_times},
            )


@rule(
    "MQ427",
    Severity.WARNING,
    source="AbstractSendMessageProcessor.consumerSendMsgBack",
    needs=(Part.DELAY, Part.DELAY_QUEUES),
    playbook="dead-letters",
    groups=EVERY,
    topics=frozenset({TopicKind.RETRY}),
)
def failing_between_tries(case: Case) -> Iterator[Verdict]:
    """Messages that failed often and wait for the next try: between two tries nothing fails, and nothing waits."""
    levels: dict[str, list[int]] = {}
    for state in case.broker.delay.levels if case.broker.delay else ():
        for topic in state.queue.failing_topics if state.queue is not None else ():
            levels.setdefault(topic, []).append(state.level)
    for topic, waiting in sorted(levels.items()):
        group = topic.removeprefix(RETRY_PREFIX)
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=group, topic=topic),
            params={"group": group, "levels": ", ".join(map(str, waiting))},
            evidence={"tries_count": OFTEN_FAILED, "level_count": len(waiting)},
        )
