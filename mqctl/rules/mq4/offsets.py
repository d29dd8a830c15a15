"""MQ4: consumer offsets against queue bounds, backlog, retries and dead letters."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.allocation.group_view import GroupView, queue_names
from mqctl.model.config import PERM_READ
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Part
from mqctl.model.lag import GroupLag, LagState, QueueLag
from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, group_of, is_system_group
from mqctl.model.queue import MessageQueue
from mqctl.rules.engine.audience import COMMITTING, EVERY, LAGGING, SHARING, SUBSCRIBED, TopicKind
from mqctl.rules.engine.filtered_backlog import weigh
from mqctl.rules.engine.rule import Case, ClusterCase, RuleTexts, Unknown, Verdict, rule

_LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
_FIRST_V5 = 413
"""Number by which clients of 5.0.0 name their release."""
_BEGINNINGS = (Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.QUEUES, Part.ROUTES)

_OFFSETS = (Part.QUEUES, Part.CONSUMER_OFFSETS)


def _group(case: Case, group: str, topic: str) -> Subject:
    return Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=group, topic=topic)


def _names(row: QueueLag | GroupLag) -> dict[str, str]:
    return {"group": row.group, "topic": row.topic}


def _by_group(case: Case, state: LagState) -> Iterator[list[QueueLag]]:
    """Yields the queues in `state`, those of one group and topic together."""
    queues: dict[tuple[str, str], list[QueueLag]] = {}
    for row in case.lags:
        if row.state is state:
            queues.setdefault((row.group, row.topic), []).append(row)
    yield from queues.values()


def _queue_list(rows: list[QueueLag]) -> str:
    return ", ".join(str(row.queue_id) for row in sorted(rows, key=lambda row: row.queue_id))


_NEARLY_ALL = 0.9
"""A group that wants so much of what waits is told as one that wants all of it."""


@rule(
    "MQ401",
    Severity.ERROR,
    source="ConsumeStats",
    needs=_OFFSETS,
    playbook="backlog",
    groups=COMMITTING,
    topics=LAGGING - {TopicKind.RETRY},
    texts=RuleTexts(
        title="A consumer group is behind",
        speaks="the next message has waited for ten minutes",
        silent="the next message has waited for four minutes",
        what={
            "": "Group {group} is {lag_ms} behind on {topic}: {lag_count:message} waiting.",
            "filtered": "Group {group} is {lag_ms} behind on {topic}: {lag_count:message} in its queues, of which about "
            "{wanted_count:has/have} a tag that it subscribes to ({sampled_count:message} sampled). It skips the "
            "others.",
        },
        effect="Messages are processed that late; the backlog grows until the group consumes faster than messages "
        "arrive.",
        advice="Find out whether consumers are down, slow or stuck before adding instances.",
        explain="The lag time is the age of the next message to consume, which is what users notice; counts alone "
        "mislead. 5 min is a warning, 1 h an error. Why the group is behind is said as far as its members report: who is "
        "online, who owns the queues, how long a call of the listener takes, and whether threads are busy with it.",
        next_command="mqctl group lag {source} -g {group}",
        live_command="mqctl group lag {source} -g {group} --advise",
    ),
)
def backlog(case: Case) -> Iterator[Verdict | Unknown]:
    """A group whose next message to consume is old."""
    for total in case.lag_totals:
        if total.topic.startswith(RETRY_PREFIX) or (total.lag_count or 0) < case.settings.lag_min_count:
            continue
        subject = _group(case, total.group, total.topic)
        weighed = weigh(case, total)
        if weighed is not None and weighed.nothing_wanted:
            continue
        if total.lag_ms is None:
            yield Unknown(subject=subject, why=Why(Reason.STORE_TIME))
        elif total.lag_ms >= case.settings.scaled(case.settings.lag_warning_ms):
            severe = total.lag_ms >= case.settings.scaled(case.settings.lag_error_ms)
            severity = Severity.ERROR if severe else Severity.WARNING
            evidence = {"lag_count": total.lag_count, "lag_ms": total.lag_ms, "queue_count": total.queue_count}
            filtered = weighed is not None and weighed.wanted_count < _NEARLY_ALL * (total.lag_count or 0)
            if weighed is not None and filtered:
                evidence |= {"wanted_count": weighed.wanted_count, "sampled_count": weighed.sampled_count}
                severity = severity if weighed.wanted_count >= case.settings.lag_min_count else Severity.INFO
            yield Verdict(
                subject=subject,
                params=_names(total),
                evidence=evidence,
                severity=severity,
                confidence=Confidence.MEDIUM if filtered else case.age_confidence,
                variant="filtered" if filtered else None,
            )


@rule(
    "MQ402",
    Severity.FATAL,
    source="PullMessageProcessor",
    needs=_OFFSETS,
    playbook="expired-before-consumption",
    groups=COMMITTING,
    topics=LAGGING - {TopicKind.COMPACTED},
    texts=RuleTexts(
        title="Messages expired before they were consumed",
        speaks="the group stands below the minimum offset",
        silent="the group stands exactly at the minimum offset",
        what={
            "": "The offset of group {group} is below the minimum of {topic} in queues {queues}: {lost_count:message "
            "was/were} deleted before the group consumed them."
        },
        effect="This group has lost these messages; its next pull jumps to the minimum.",
        advice="If the group had not consumed them, restore them from the source or a backup; extend retention and raise consumption. If "
        "the group was moved back below the minimum (`mqctl history`), nothing new is lost.",
        explain="Retention deletes commit log files whether or not they were consumed. How far an offset is below "
        "the queue's minimum is the number of messages deleted unread.",
        next_command="mqctl group lag {source} -g {group} -o wide",
    ),
)
def expired(case: Case) -> Iterator[Verdict]:
    """Offsets below the queue's minimum: the messages between are gone unconsumed."""
    for rows in _by_group(case, LagState.BELOW_MIN):
        first = rows[0]
        yield Verdict(
            subject=_group(case, first.group, first.topic),
            params={**_names(first), "queues": _queue_list(rows)},
            evidence={
                "lost_count": sum(row.lost_count for row in rows),
                "consumer_offset": first.consumer_offset,
                "min_offset": first.min_offset,
            },
        )


@rule(
    "MQ403",
    Severity.ERROR,
    source="DefaultMessageStore.CleanCommitLogService",
    needs=_OFFSETS,
    playbook="expired-before-consumption",
    groups=COMMITTING,
    topics=LAGGING - {TopicKind.COMPACTED},
    texts=RuleTexts(
        title="Messages are about to expire unconsumed",
        speaks="the next message expires within two hours",
        silent="the next message expires in three hours",
        what={"": "The next message of {group} on {topic} is {lag_ms} old; files are kept for {retention_ms}."},
        effect="Retention deletes up to {lag_count:message} before the group reaches them.",
        advice="Raise fileReservedTime now, then drain the backlog.",
        explain="Compares the age of the next message to consume with the retention (72 h unless the broker's configuration "
        "says otherwise) less a margin of 2 h.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def about_to_expire(case: Case) -> Iterator[Verdict]:
    """The next message to consume is so old that retention may delete it first.

    What outlived its retention by days is not about to be deleted: its file is not full yet, or MQ123.
    """
    reserved_ms = case.broker.file_reserved_ms or case.settings.file_reserved_ms
    # A margin as long as the retention would make every lag a loss.
    margin_ms = min(case.settings.expiry_margin_ms, reserved_ms // 4)
    for total in case.lag_totals:
        if total.lag_ms is None or total.lag_ms > reserved_ms + case.settings.outlived_ms:
            continue
        if total.lag_count and total.lag_ms >= reserved_ms - margin_ms:
            yield Verdict(
                subject=_group(case, total.group, total.topic),
                params=_names(total),
                evidence={"lag_count": total.lag_count, "lag_ms": total.lag_ms, "retention_ms": reserved_ms},
                confidence=case.age_confidence,
            )


@rule(
    "MQ404",
    Severity.ERROR,
    source="PullMessageProcessor",
    needs=_OFFSETS,
    playbook="damaged-store",
    groups=COMMITTING,
    topics=LAGGING,
    texts=RuleTexts(
        title="A consumer offset lies beyond the queue",
        speaks="the group stands beyond the maximum offset",
        silent="the group stands exactly at the maximum offset",
        what={
            "": "The offset of group {group} is {beyond_count:message} beyond the end of {topic} in queues {queues} "
            "({consumer_offset}, queue end {max_offset})."
        },
        effect="The queue lost its tail, was emptied or was created again. The next pull moves the offset back to "
        "the end; messages written below the old offset until then may be skipped.",
        advice="Find out why the queue is shorter than it was: a crash that lost the tail (MQ108, the broker's "
        "log), a topic that was deleted and created again, a store from an older copy, or an offset set by "
        "hand. Then reset the group by time.",
        explain="When recovery cuts a queue, consumer offsets stay as they are. A pull beyond the end returns the "
        "end as the new offset.",
        next_command="mqctl group lag {source} -g {group} -o wide",
    ),
)
def beyond_max(case: Case) -> Iterator[Verdict]:
    """Offsets beyond the queue's end: the queue lost its tail, was emptied or created anew.

    A queue of a known topic without a directory is an empty one: that is what the broker makes of it. One that lacks
    messages of the log gets them back when the broker starts, and ends there.
    """
    storage = case.broker.storage
    logged = {(item.topic, item.queue_id): item.log_max_offset for item in storage.behind} if storage else {}
    known = {config.name for config in case.broker.topics}
    queues: dict[tuple[str, str], list[QueueLag]] = {}
    for row in case.lags:
        gone = row.state is LagState.NO_QUEUE and row.topic in known
        if logged and (row.consumer_offset or 0) <= logged.get((row.topic, row.queue_id), -1):
            continue
        if gone or row.state is LagState.BEYOND_MAX:
            queues.setdefault((row.group, row.topic), []).append(row)
    for rows in queues.values():
        first = rows[0]
        yield Verdict(
            subject=_group(case, first.group, first.topic),
            params={**_names(first), "queues": _queue_list(rows)},
            evidence={
                "beyond_count": sum((row.consumer_offset or 0) - (row.broker_offset or 0) for row in rows),
                "consumer_offset": first.consumer_offset,
                "max_offset": first.broker_offset or 0,
            },
        )


@rule(
    "MQ405",
    Severity.WARNING,
    source="SendMessageProcessor.consumerSendMsgBack",
    needs=_OFFSETS,
    playbook="dead-letters",
    groups=COMMITTING,
    topics=frozenset({TopicKind.RETRY}),
    texts=RuleTexts(
        title="Retries are waiting",
        speaks="messages have waited in the retry topic for a minute",
        silent="they came twenty seconds ago",
        what={"": "{lag_count:retry} of group {group} waiting, the oldest for {lag_ms}."},
        effect="The group fails on messages faster than it retries them, or it is gone.",
        advice="Find out why the listener fails.",
        explain="Failed messages come back through %RETRY%GROUP after a growing delay; waiting ones count like any lag.",
        next_command="mqctl store cat {source} -t {topic} -q 0",
        live_command="mqctl retry list {source} -g {group}",
    ),
)
def retries_waiting(case: Case) -> Iterator[Verdict]:
    """Retries that a group has not consumed: it fails faster than it retries, or it is gone."""
    for total in case.lag_totals:
        old = total.lag_ms is None or total.lag_ms >= case.settings.scaled(case.settings.retry_waiting_ms)
        if total.topic.startswith(RETRY_PREFIX) and (total.lag_count or 0) > 0 and old:
            yield Verdict(
                subject=_group(case, total.group, total.topic),
                params=_names(total),
                evidence={"lag_count": total.lag_count, "lag_ms": total.lag_ms},
            )


@rule(
    "MQ406",
    Severity.ERROR,
    source="SendMessageProcessor.consumerSendMsgBack",
    needs=(Part.QUEUES,),
    playbook="dead-letters",
    groups=EVERY,
    topics=frozenset({TopicKind.DEAD_LETTER}),
    texts=RuleTexts(
        title="Dead letters",
        speaks="a dead-letter queue holds messages",
        silent="all messages of a dead-letter queue have expired",
        what={"": "Group {group} has given up on {dead_letter_count:message}, the last at {newest_time_ms}."},
        effect="These messages are no longer processed; retention deletes them.",
        advice="Read them, fix the cause, and send them again before retention deletes them.",
        explain="A message that failed retryMaxTimes times goes to %DLQ%GROUP and stays there.",
        next_command="mqctl store cat {source} -t {topic} -q 0",
        live_command="mqctl dlq list {source} -g {group}",
    ),
)
def dead_letters(case: Case) -> Iterator[Verdict]:
    """Messages in a dead-letter topic: delivered as often as allowed and given up on."""
    for queue in case.broker.queues:
        if queue.topic.startswith(DLQ_PREFIX) and queue.message_count:
            group = group_of(queue.topic) or ""
            yield Verdict(
                subject=_group(case, group, queue.topic),
                params={"group": group, "topic": queue.topic},
                evidence={
                    "dead_letter_count": queue.message_count,
                    "oldest_time_ms": queue.first_store_time_ms,
                    "newest_time_ms": queue.last_store_time_ms,
                },
            )


@rule(
    "MQ407",
    Severity.WARNING,
    source="SendMessageProcessor.consumerSendMsgBack",
    needs=(Part.TOPICS, Part.QUEUES),
    playbook="dead-letters",
    groups=EVERY,
    topics=frozenset({TopicKind.DEAD_LETTER}),
    texts=RuleTexts(
        title="Dead letters that cannot be read",
        speaks="a dead-letter topic with messages cannot be read",
        silent="a dead-letter topic without messages cannot be read",
        what={"": "{topic} holds {dead_letter_count:dead letter} but has no read permission (perm {perm})."},
        effect="Consoles and consumers cannot fetch the dead letters.",
        advice="Set perm 6 on the topic.",
        explain="Brokers up to 4.9.1 create dead-letter topics write-only.",
        next_command="mqctl store cat {source} -t {topic} -q 0",
        live_command="mqctl topic update {source} -t {topic} --perm RW",
    ),
)
def unreadable_dead_letters(case: Case) -> Iterator[Verdict]:
    """A dead-letter topic with messages and without read permission, as brokers up to 4.9.1 create it."""
    held = {queue.topic: queue.message_count for queue in case.broker.queues}
    for config in case.broker.topics:
        if config.name.startswith(DLQ_PREFIX) and not config.perm & PERM_READ and held.get(config.name):
            group = group_of(config.name) or ""
            yield Verdict(
                subject=_group(case, group, config.name),
                params={"group": group, "topic": config.name},
                evidence={"dead_letter_count": held[config.name], "perm": config.perm},
            )


@rule(
    "MQ408",
    Severity.ERROR,
    source="SubscriptionGroupConfig.consumeEnable",
    needs=(Part.GROUPS,),
    playbook="stuck-consumer",
    groups=EVERY,
    texts=RuleTexts(
        title="Consumption is disabled",
        speaks="consumption is switched off for the group",
        silent="broadcasting is switched off for it, consumption is not",
        what={
            "": "Group {group} has consumeEnable=false: the broker refuses its pulls.",
            "unused": "Group {group} has consumeEnable=false, no members, and nothing that waits for it.",
        },
        effect="The group consumes nothing from this broker. Messages waiting there: {lag_count}.",
        advice="Enable it unless it was disabled on purpose; the broker does it itself to groups that read too slowly "
        "when disableConsumeIfConsumerReadSlowly is on.",
        explain="consumeEnable is a setting of the group on each broker.",
        next_command="mqctl group lag {source} -g {group}",
        live_command="mqctl group update {source} -g {group} --consume",
    ),
)
def consume_disabled(case: Case) -> Iterator[Verdict]:
    """A group that the broker lets consume nothing."""
    disabled = [config.name for config in case.broker.groups if not config.consume_enable]
    if not disabled:
        return
    lags: dict[str, int] = {}
    for total in case.lag_totals:
        lags[total.group] = lags.get(total.group, 0) + (total.lag_count or 0)
    counted = all(case.broker.lacks(part) is None for part in _OFFSETS)
    online = {item.group for item in case.broker.memberships}
    members_known = case.broker.storage is None and case.broker.lacks(Part.MEMBERS) is None
    for group in disabled:
        # Who has no members and leaves nothing waiting was closed when it was given up.
        unused = counted and group not in online and not lags.get(group) and (members_known or group not in lags)
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=group),
            params={"group": group},
            evidence={"lag_count": lags.get(group, 0) if counted else None},
            severity=Severity.INFO if unused else None,
            variant="unused" if unused else None,
        )


@rule(
    "MQ409",
    Severity.WARNING,
    source="PullMessageProcessor.generateOffsetMovedEvent",
    needs=(Part.OFFSET_JUMPS,),
    playbook="expired-before-consumption",
    groups=EVERY,
    topics=LAGGING,
    texts=RuleTexts(
        title="The broker corrected offsets",
        speaks="the broker corrected the group's offset an hour ago",
        silent="it corrected the offset of a tool",
        what={"": "The broker corrected offsets of {group} on {topic} {jump_count:time}, the last at {last_time_ms}."},
        effect="{skipped_count:message was/were} skipped; where the offset went back, messages were delivered again.",
        advice="Look for expired messages, an emptied queue or a wrong reset at these times.",
        explain="A pull outside the queue is answered with a corrected offset, and a 4.9 broker writes an event to "
        "OFFSET_MOVED_EVENT; 5.3 writes none. The events of test tools are left out.",
        next_command="mqctl store cat {source} -t OFFSET_MOVED_EVENT -q 0",
    ),
)
def forced_jumps(case: Case) -> Iterator[Verdict]:
    """Offsets that the broker moved because they lay outside their queue, from OFFSET_MOVED_EVENT."""
    jumps: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for jump in case.broker.offset_jumps:
        if is_system_group(jump.group):
            continue
        moves = jumps.setdefault((jump.group, jump.topic), [])
        moves.append((jump.store_time_ms, jump.requested_offset, jump.corrected_offset))
    for (group, topic), moves in sorted(jumps.items()):
        forward = [new - old for _, old, new in moves if new > old]
        yield Verdict(
            subject=_group(case, group, topic),
            params={"group": group, "topic": topic},
            evidence={
                "jump_count": len(moves),
                "skipped_count": sum(forward),
                "last_time_ms": max(time for time, _, _ in moves),
            },
            severity=Severity.ERROR if forward else None,
        )


@rule(
    "MQ415",
    Severity.INFO,
    source="RebalancePushImpl.computePullFromWhere",
    needs=(Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.QUEUES, Part.ROUTES),
    playbook="skip-and-replay",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="A group without an offset starts at the end",
        speaks="a group begins at the end of a queue with messages",
        silent="the same setting in a group that has its offsets",
        what={
            "": "Group {group} has no offset in {queue_count:queue} of {topic} ({queues}) and starts at the end: it "
            "will not get {skipped_count:stored message}.",
            "old": "A 4.x client of group {group} has no offset in {queue_count:empty queue} of {topic} ({queues}) on a 5.x broker.",
        },
        effect="Messages stored before its first consumer started are never delivered to it.",
        advice="If it needs them, reset it by time now. For 4.x clients on 5.x brokers, give the group its offsets before its first start and before queues are added (the next command), or start consumers before producers.",
        explain="CONSUME_FROM_LAST_OFFSET begins at the end of a queue whose first messages are gone, or no longer in memory. "
        "While the first message is in its memory, a broker answers 0 to those without an offset, and everything is delivered. A 5.x broker answers nothing for an empty queue: a 4.x client then takes its end a moment later, and skips what came in between (seen in one of four first starts).",
        next_command="mqctl offset reset {source} -g {group} -t {topic} --to-earliest",
    ),
)
def skipping_history(case: ClusterCase) -> Iterator[Verdict]:
    """A group without an offset in queues that have lost their first messages, or whose broker answers none.

    A client of 4.x that starts on an empty queue of a 5.x broker gets no offset (a 4.x broker says 0), takes the end a
    moment later, and skips what came in between.
    """
    with_offsets = {broker.name for broker in case.snapshot.brokers if broker.lacks(Part.CONSUMER_OFFSETS) is None}
    for view in case.views:
        if not any(held.consume_from_where == _LAST_OFFSET for held in view.memberships.values()):
            continue
        unplaced = {
            MessageQueue(topic, name, queue_id)
            for name, held in view.memberships.items()
            for topic, queue_id in held.unplaced_queues
        }
        for topic, queues in case.shared_topics(view):
            begins = {
                queue: state.message_count
                for queue in queues
                if (state := case.queue_states.get(queue)) is not None
                and queue.broker_name in with_offsets
                and (state.min_offset > 0 or queue in unplaced)
                and state.message_count
                and (view.group, queue) not in case.committed
            }
            if begins:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic, "queues": queue_names(list(begins))},
                    evidence={"skipped_count": sum(begins.values()), "queue_count": len(begins)},
                )
                continue
            empty = [queue for queue in queues if _is_raced_for(case, view, queue)]
            if empty:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic, "queues": queue_names(empty)},
                    evidence={"queue_count": len(empty)},
                    variant="old",
                )


def _is_raced_for(case: ClusterCase, view: GroupView, queue: MessageQueue) -> bool:
    """Tells whether a 4.x client of the group begins at whatever end an empty queue of a 5.x broker has by then."""
    state = case.queue_states.get(queue)
    if state is None or state.max_offset or (view.group, queue) in case.committed:
        return False
    versions = {item.name: item.version or "" for item in case.snapshot.brokers if item.lacks(_OFFSETS[1]) is None}
    held = view.memberships.get(queue.broker_name)
    return (
        versions.get(queue.broker_name, "").startswith("V5")
        and held is not None
        and held.consume_from_where == _LAST_OFFSET
        and any(0 < member.version < _FIRST_V5 for member in held.members if member.version is not None)
    )
