"""MQ423, MQ426, MQ427: retries that do not come to an end, by the newest messages of retry topics and those that wait
in delay levels for the next try, or that never begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mqctl.model.delay_state import OFTEN_FAILED
from mqctl.model.finding import Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Part
from mqctl.model.names import RETRY_PREFIX
from mqctl.model.newest import NewestMessage
from mqctl.model.retry_limit import member_limit
from mqctl.rules.engine.audience import EVERY, GroupKind, TopicKind
from mqctl.rules.engine.rule import Case, RuleTexts, Unknown, Verdict, rule

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
    texts=RuleTexts(
        title="Retries never end",
        speaks="three copies of a message came back at the same try",
        silent="a message came back after more tries than the group's limit, and fewer than a member's own",
        what={
            "": "{copy_count:copy} of message {key} came back to group {group} after {tries_count:try}, among the "
            "{sampled_count:message} looked at: the count does not rise.",
            "over": "A message came back to group {group} after {tries_count:try}; {most} are allowed before it becomes "
            "a dead letter.",
        },
        effect="The message is consumed repeatedly and never becomes a dead letter; the load stays until it succeeds.",
        advice="Look at the message (`mqctl retry list`) and at why its listener fails, upgrade clients and brokers that do "
        "not count retries (5.0 with orderly groups), or skip it.",
        explain="Reads the newest eight messages of up to 32 retry topics. Each failure should raise the count by one; after "
        "the largest maxReconsumeTimes that members online report, or the group's retryMaxTimes if that is higher, the message "
        "belongs in the dead-letter topic; where no member tells, that is left open. A maximum that was lowered a moment ago "
        "looks the same.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def endless_retries(case: Case) -> Iterator[Verdict | Unknown]:
    """Messages that come back with the same number of tries, or after more of them than there may be.

    How many there may be is for the members to say; where none does, a count above the group's tells of one that may.
    """
    of_groups = {config.name: config.retry_max_times for config in case.broker.groups}
    retries: dict[str, list[NewestMessage]] = {}
    for message in case.broker.newest:
        if message.topic.startswith(RETRY_PREFIX):
            retries.setdefault(message.topic, []).append(message)
    for topic, messages in sorted(retries.items()):
        group = topic.removeprefix(RETRY_PREFIX)
        copies = Counter((item.unique_key, item.retry_count) for item in messages if item.unique_key)
        (key, tries), times = max(copies.items(), key=lambda item: item[1], default=((None, 0), 0))
        most = of_groups.get(group)
        over = [item for item in messages if item.retry_count > _most(item, most)]
        if times < _COPIES and not over:
            continue
        subject = Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=group, topic=topic)
        if times >= _COPIES:
            counts = {"copy_count": times, "tries_count": tries, "sampled_count": len(messages)}
            yield Verdict(subject=subject, params={"group": group, "key": key}, evidence=counts)
            continue
        limit = member_limit(info for info in case.running if info.group == group)
        if limit is None:
            values = {"tries_count": _tries(over), "most": _least(over, most)}
            yield Unknown(subject=subject, why=Why(Reason.RETRY_LIMIT, values))
            continue
        over = [item for item in over if limit.most is not None and item.retry_count > limit.most]
        if over:
            yield Verdict(
                subject=subject,
                params={"group": group, "most": max(limit.most or 0, _least(over, most))},
                evidence={"tries_count": _tries(over), "sampled_count": len(messages)},
                variant="over",
                severity=Severity.WARNING,
            )


def _most(message: NewestMessage, of_group: int | None) -> float:
    """Returns after how many tries a message should be a dead letter."""
    known = [most for most in (of_group, message.most_retries) if most is not None and most >= 0]
    return max(known, default=float("inf"))


def _tries(messages: list[NewestMessage]) -> int:
    return max(item.retry_count for item in messages)


def _least(messages: list[NewestMessage], of_group: int | None) -> int:
    return int(min(_most(item, of_group) for item in messages))


@rule(
    "MQ426",
    Severity.ERROR,
    source="AbstractSendMessageProcessor.consumerSendMsgBack",
    needs=(Part.GROUPS,),
    playbook="dead-letters",
    groups=frozenset({GroupKind.CLUSTERING, GroupKind.PULL, GroupKind.OFFLINE}),
    texts=RuleTexts(
        title="Failed messages are dropped",
        speaks="a group has no retry queue",
        silent="so has an orderly group, which tries again in place",
        what={"": "Group {group} has no retry queue on {broker} (retryQueueNums={queue_count})."},
        effect="The broker answers success to a consumer that sends a failed message back, and drops it: no retry, no dead letter, no error in any log.",
        advice="Set retryQueueNums to 1 or more: `{command}`. What was dropped is still in its topic until it expires; replay it from there.",
        command="mqctl group update -g {group} --retry-queues 1",
        explain="Brokers before and after 5.0 end the sending back of a message early when the group's retryQueueNums is 0 or less. Orderly and POP consumers do not send messages back.",
        next_command="mqctl group describe {source} -g {group}",
    ),
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
    texts=RuleTexts(
        title="Messages fail repeatedly",
        speaks="messages that failed four times wait for the next try",
        silent="messages that failed once wait for the next try",
        what={
            "": "Messages of group {group} have failed {tries_count:time} or more and wait in a delay level (number {levels}) for the next try."
        },
        effect="Lag does not show them, and between two tries no failure is counted either. After the last retry they become dead letters.",
        advice="See what the listener throws for them (the consumers' logs), and when they become dead letters: mqctl retry list.",
        explain="Reads some of the messages that wait in each delay level. One that failed once or twice may be a hiccup, and is not reported.",
        next_command="mqctl delay levels {source}",
        live_command="mqctl retry list {source} -g {group}",
    ),
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
