"""MQ70x and MQ71x: delay levels and timer messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mqctl.model.config_file import FileSource
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Value, Why
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.runtime import read_runtime
from mqctl.rules.engine.rule import Case, RuleTexts, Unknown, Verdict, rule

_CHECK = "mqctl delay check {source}"

_TIMER_BEHIND_S = 10
# Brokers write delayOffset.json every ten seconds (flushDelayOffsetInterval), for the first time after as many.
_WRITTEN_WITHIN_MS = 15_000

_FILE = (Part.DELAY,)
_QUEUES = (Part.DELAY, Part.DELAY_QUEUES)
_MAX_USED_SHARE = 0.90
_TOO_MANY = Why(Reason.TOO_MANY_OVERDUE)


def _delay(case: Case) -> DelayState | None:
    return case.broker.delay


def _subject(case: Case, level: int) -> Subject:
    return Subject(kind=SubjectKind.DELAY_LEVEL, broker=case.broker.name, level=level)


def _file(case: Case) -> Subject:
    return Subject(kind=SubjectKind.FILE, broker=case.broker.name, file="config/delayOffset.json")


def _levels(case: Case) -> Iterator[tuple[DelayLevelState, DelayQueueState]]:
    """Yields the levels whose queue was read."""
    for state in case.broker.delay.levels if case.broker.delay else ():
        if state.queue is not None:
            yield state, state.queue


def _confidence(case: Case) -> Confidence:
    """What hangs on the level table is less certain while nobody has said what the table is."""
    delay = case.broker.delay
    assumed = delay is None or delay.table_source is LevelTableSource.DEFAULT
    return Confidence.MEDIUM if assumed else Confidence.HIGH


def _verdict(
    case: Case,
    state: DelayLevelState,
    evidence: Mapping[str, Value],
    *,
    severity: Severity | None = None,
    confidence: Confidence = Confidence.HIGH,
    variant: str | None = None,
) -> Verdict:
    return Verdict(
        subject=_subject(case, state.level),
        params={"level": state.level},
        evidence=evidence,
        severity=severity,
        confidence=confidence,
        variant=variant,
    )


@rule(
    "MQ701",
    Severity.ERROR,
    source="ScheduleMessageService",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="Delay offset beyond its queue",
        speaks="the recorded offset is beyond the messages that were delivered",
        silent="everything is delivered and the record says so",
        what={
            "": "Level {level} has recorded offset {recorded_offset}, {beyond_count} beyond the end of its queue ({max_offset})."
        },
        effect="Brokers up to 4.9.1 never deliver the next {beyond_count:message} of the level; 4.9.2 and later "
        "correct it at start. In either case the end of the store was lost.",
        advice="Find out what was lost (a cut commit log, a promoted slave) before repairing the file.",
        explain="delayOffset.json holds the next offset to deliver for each level; it cannot lie beyond the schedule queue "
        "unless the queue was cut.",
        next_command=_CHECK,
    ),
)
def offset_beyond_max(case: Case) -> Iterator[Verdict]:
    """The recorded offset lies beyond the schedule queue."""
    for state, queue in _levels(case):
        if state.recorded_offset is not None and state.recorded_offset > queue.max_offset:
            evidence = {"recorded_offset": state.recorded_offset, "max_offset": queue.max_offset}
            yield _verdict(case, state, {**evidence, "beyond_count": state.recorded_offset - queue.max_offset})


@rule(
    "MQ702",
    Severity.FATAL,
    source="ScheduleMessageService.correctDelayOffset",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="Delay offset below its queue",
        speaks="the recorded offset is below the queue's minimum",
        silent="the recorded offset is the queue's minimum",
        what={"": "Level {level} has recorded offset {recorded_offset}, below the minimum {min_offset} of its queue."},
        effect="{lost_count:delayed message} expired without being delivered.",
        advice="Send them again from their source; keep delays well below the retention.",
        explain="Entries below the minimum lie in commit log files that retention deleted.",
        next_command=_CHECK,
    ),
)
def offset_below_min(case: Case) -> Iterator[Verdict]:
    """The recorded offset lies below the schedule queue's minimum: what was between expired undelivered."""
    for state, queue in _levels(case):
        if state.recorded_offset is not None and state.recorded_offset < queue.min_offset:
            evidence = {"recorded_offset": state.recorded_offset, "min_offset": queue.min_offset}
            yield _verdict(case, state, {**evidence, "lost_count": queue.min_offset - state.recorded_offset})


def _file_is_lost(delay: DelayState) -> bool:
    return delay.file is not None and delay.file.source is FileSource.NONE


@rule(
    "MQ703",
    Severity.ERROR,
    source="ScheduleMessageService.load",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="Delay level without a recorded offset",
        speaks="a level has messages and no recorded offset",
        silent="a running broker delivered its first messages nine seconds ago",
        what={"": "Level {level} has no recorded offset although {delivered_count} of its messages were delivered."},
        effect="The next start delivers all {again_count:message} of the level again.",
        advice="While the broker is stopped, `mqctl delay repair --store DIR` adds the level to delayOffset.json and its "
        "backup, at the first message that was not delivered yet.",
        explain="A missing level starts at 0. A level that has not delivered anything yet has no entry by rights, so the "
        "rule asks for delivered copies.",
        next_command=_CHECK,
    ),
)
def level_missing(case: Case) -> Iterator[Verdict | Unknown]:
    """No offset is recorded for a level that has already delivered: the next start delivers everything again.

    A level whose first message is not due yet has no offset by rights.
    """
    delay = _delay(case)
    if delay is None or _file_is_lost(delay):
        return
    for state, queue in _levels(case):
        if state.recorded_offset is not None or state.delay_ms is None:
            continue
        if queue.redelivered_count is None and queue.overdue_count:
            yield Unknown(subject=_subject(case, state.level), why=_TOO_MANY)
        elif queue.redelivered_count and not _is_yet_to_be_written(case, queue):
            evidence = {"again_count": queue.message_count, "delivered_count": queue.redelivered_count}
            yield _verdict(case, state, {**evidence, "min_offset": queue.min_offset, "max_offset": queue.max_offset})


def _is_yet_to_be_written(case: Case, queue: DelayQueueState) -> bool:
    """Whether a broker runs that has yet to write delayOffset.json since it delivered the oldest of these messages.

    While it is behind with deliveries its record is older than that: then the file tells that it was just written.
    """
    storage, delay = case.broker.storage, case.broker.delay
    if storage is None or storage.holder is None:
        return False
    written_ms = delay.file.mtime_ms if delay is not None and delay.file is not None else None
    newest = max((moment for moment in (queue.head_due_time_ms, written_ms) if moment is not None), default=None)
    return newest is not None and case.now_ms - newest < case.settings.scaled(_WRITTEN_WITHIN_MS)


@rule(
    "MQ704",
    Severity.FATAL,
    source="ConfigManager",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="delayOffset.json is lost",
        speaks="delayOffset.json is missing and messages are delayed",
        silent="it is missing and no delay level was ever used",
        what={"": "delayOffset.json cannot be used ({problem}), and neither can its backup."},
        effect="The next start delivers {again_count:stored delayed message} again, of which {due_count:was/were} due "
        "before.",
        advice="Restore the file from a slave or a copy while the broker is stopped, or rebuild it from the queues.",
        explain="Without either file the broker starts every level at 0 and does not report it.",
        next_command=_CHECK,
    ),
)
def file_lost(case: Case) -> Iterator[Verdict]:
    """delayOffset.json and its backup are both of no use while schedule queues hold messages."""
    delay = _delay(case)
    held = sum(queue.message_count for _, queue in _levels(case))
    delivered = sum(queue.overdue_count for _, queue in _levels(case))
    problem = delay.file.main_problem if delay is not None and delay.file is not None else None
    if delay is not None and _file_is_lost(delay) and held and (delivered or problem != "missing"):
        params = {"problem": problem}
        yield Verdict(subject=_file(case), params=params, evidence={"again_count": held, "due_count": delivered})


@rule(
    "MQ705",
    Severity.ERROR,
    source="ScheduleMessageService.parseDelayLevel",
    needs=_FILE,
    playbook="delay-late",
    texts=RuleTexts(
        title="Delay level that the table does not have",
        speaks="messages wait on a level beyond the table",
        silent="messages wait on level 19 of a table that has 19 levels",
        what={
            "waiting": "{waiting_count:message waits/wait} on level {level}; the table ends at level {max_level}.",
            "empty": "delayOffset.json knows level {level}; the table ends at level {max_level}.",
            "key": "delayOffset.json has the key {key}, which is not a delay level.",
        },
        effect="Nothing delivers the messages of a level beyond the table.",
        advice="Put the level back into messageDelayLevel, or send its messages again. Give --levels if the "
        "broker's table is not the default.",
        explain="Levels are positions in messageDelayLevel; shortening the list strands what waits on the removed ones.",
        next_command=_CHECK,
    ),
)
def unknown_level(case: Case) -> Iterator[Verdict]:
    """A level beyond the table: nothing delivers its messages."""
    delay = _delay(case)
    for state in delay.levels if delay else ():
        if state.delay_ms is not None:
            continue
        waiting = state.queue.waiting_count if state.queue else None
        yield _verdict(
            case,
            state,
            {
                "waiting_count": waiting,
                "recorded_offset": state.recorded_offset,
                "max_level": delay.max_level if delay else 0,
            },
            severity=Severity.FATAL if waiting else Severity.WARNING,
            confidence=_confidence(case),
            variant="waiting" if waiting else "empty",
        )
    for key in delay.rejected_keys if delay else ():
        yield Verdict(subject=_file(case), params={"key": key}, variant="key")


@rule(
    "MQ706",
    Severity.WARNING,
    source="ScheduleMessageService.updateOffset",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="delayOffset.json is older than the last deliveries",
        speaks="the recorded offset lags behind deliveries",
        silent="a running broker delivered since it wrote the file five seconds ago",
        what={
            "": "{again_count:message} of level {level} behind the recorded offset {recorded_offset} {again_count:/was/were} delivered already."
        },
        effect="The next start delivers them again.",
        advice="While the broker is stopped, `mqctl delay repair --store DIR` sets the level to {first_undelivered_offset} in "
        "delayOffset.json and its backup; or rely on idempotent consumers.",
        explain="The file is written every 10 s; a kill loses what was delivered since. Delivered copies are found by unique "
        "key in the target topic.",
        next_command=_CHECK,
    ),
)
def stale_file(case: Case) -> Iterator[Verdict | Unknown]:
    """Messages behind the recorded offset were delivered already: the next start delivers them again."""
    for state, queue in _levels(case):
        if state.recorded_offset is None:
            continue
        if queue.redelivered_count is None and queue.overdue_count:
            yield Unknown(subject=_subject(case, state.level), why=_TOO_MANY)
        elif queue.redelivered_count and not _is_yet_to_be_written(case, queue):
            yield _verdict(
                case,
                state,
                {
                    "again_count": queue.redelivered_count,
                    "recorded_offset": state.recorded_offset,
                    "first_undelivered_offset": queue.first_undelivered_offset,
                },
            )


@rule(
    "MQ707",
    Severity.ERROR,
    source="ScheduleMessageService.DeliverDelayedMessageTimerTask",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="Delayed messages are overdue",
        speaks="delayed messages are a minute overdue",
        silent="the next message is due this very moment",
        what={"": "{overdue_count:message} of level {level} {overdue_count:/is/are} overdue, the oldest by {late_ms}."},
        effect="Delayed messages and retries of this level come that late, or not at all.",
        advice="Check whether the broker was down at that time, cannot write, or is blocked by its first message.",
        explain="The schedule queue has the due times; a message is overdue when it was due more than 2 s before the "
        "look and has no delivered copy.",
        next_command=_CHECK,
    ),
)
def overdue(case: Case) -> Iterator[Verdict]:
    """Messages past their due time that were not delivered."""
    for state, queue in _levels(case):
        late = queue.overdue_count - (queue.redelivered_count or 0)
        if late > 0 and state.delay_ms is not None:
            oldest = queue.oldest_overdue_time_ms
            yield _verdict(
                case,
                state,
                {
                    "overdue_count": late,
                    "late_ms": None if oldest is None else case.now_ms - oldest,
                    "oldest_due_time_ms": oldest,
                    "waiting_count": queue.waiting_count,
                },
                confidence=Confidence.MEDIUM if queue.redelivered_count is None else case.age_confidence,
            )


@rule(
    "MQ708",
    Severity.FATAL,
    source="ScheduleMessageService.DeliverDelayedMessageTimerTask",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="A delay level is blocked by its first message",
        speaks="the head of a delay queue cannot be delivered",
        silent="the head of a delay queue was due a second ago and is whole",
        what={
            "no-real-topic": "The next message of level {level} does not name its topic.",
            "no-real-queue-id": "The next message of level {level} does not name its queue.",
            "bad-real-queue-id": "The next message of level {level} names a queue that is not a number.",
            "bad-topic-length": "The next message of level {level} names a topic longer than allowed.",
        },
        effect="From 4.9.3 on the broker retries it every 100 ms forever; {blocked_count:message} of the level wait "
        "behind it.",
        advice="While the broker is stopped, `mqctl delay repair --store DIR --set {level}=OFFSET` moves the level past it; "
        "then send that message again.",
        explain="Each level is strictly first in, first out. Older brokers drop such a message.",
        next_command="mqctl store cat {source} --physical-offset {head_physical_offset}",
    ),
)
def poison_head(case: Case) -> Iterator[Verdict]:
    """The next message of a level cannot be delivered, and everything behind it waits for ever (4.9.3 and later)."""
    for state, queue in _levels(case):
        if queue.head_problem is not None:
            late = queue.head_due_time_ms is not None and queue.head_due_time_ms < case.now_ms
            yield _verdict(
                case,
                state,
                {
                    "blocked_count": queue.waiting_count,
                    "head_physical_offset": queue.head_physical_offset,
                    "head_due_time_ms": queue.head_due_time_ms,
                },
                variant=queue.head_problem.value,
                severity=None if late else Severity.ERROR,
            )


@rule(
    "MQ728",
    Severity.WARNING,
    source="AbstractSendMessageProcessor.consumerSendMsgBack",
    needs=_QUEUES,
    playbook="dead-letters",
    texts=RuleTexts(
        title="Dead letters wait in a delay level",
        speaks="a message for a dead-letter topic waits in a delay level",
        silent="messages for other topics wait there",
        what={"": "Messages for {topics} wait in delay level {level} ({delay_ms}): the last try kept its delay."},
        effect="The dead letters appear only when the level is due, up to two hours late; until then they are in neither topic.",
        advice="Wait for the level, or upgrade brokers: newer ones clear the delay of a message that is given up.",
        explain="Reads the target topics of some waiting messages of each level. Nothing but a send-back that failed for the "
        "last time puts a dead-letter topic there.",
        next_command="mqctl delay levels {source}",
    ),
)
def dead_letters_delayed(case: Case) -> Iterator[Verdict]:
    """Dead letters that wait in a delay level: the last try kept its delay, and they come hours late."""
    for state, queue in _levels(case):
        if queue.dead_letter_topics:
            verdict = _verdict(case, state, {"topic_count": len(queue.dead_letter_topics)})
            topics = ", ".join(queue.dead_letter_topics)
            yield replace(verdict, params={**verdict.params, "topics": topics, "delay_ms": state.delay_ms})


@rule(
    "MQ709",
    Severity.FATAL,
    source="ScheduleMessageService.DeliverDelayedMessageTimerTask",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="Delayed messages without a record",
        speaks="a delayed message has no record in the log",
        silent="records of messages that were delivered are gone by retention",
        what={
            "": "{lost_count:waiting entry} of level {level} {lost_count:/points/point} to no record, the first at offset {first_offset}."
        },
        effect="The broker skips them silently: these messages are lost.",
        advice="Send them again from their source; find out what cut the commit log.",
        explain="Every entry of a schedule queue must point to a record in the commit log.",
        next_command="mqctl store verify {source}",
    ),
)
def missing_record(case: Case) -> Iterator[Verdict]:
    """Waiting entries whose record is gone from the commit log: the broker passes over them in silence."""
    for state, queue in _levels(case):
        if queue.missing_record_count:
            evidence = {"lost_count": queue.missing_record_count, "first_offset": queue.first_missing_offset}
            yield _verdict(case, state, evidence)


@rule(
    "MQ710",
    Severity.WARNING,
    source="ScheduleMessageService.parseDelayLevel",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="The delay level table was changed",
        speaks="messages wait that were delayed by another table",
        silent="only delivered messages were delayed by another table",
        what={
            "early": "{message_count:waiting message} of level {level} {message_count:/was/were} delayed by "
            "{indexed_delay_ms}; the table now says {configured_delay_ms}.",
            "late": "{message_count:waiting message} of level {level} {message_count:/was/were} delayed by "
            "{indexed_delay_ms}; the table now says {configured_delay_ms}.",
        },
        effect="With a shorter delay configured, waiting messages come out at once; with a longer one they keep the old delay.",
        advice="If the broker's table is not the default, give it with --levels; otherwise find out who changed "
        "messageDelayLevel.",
        explain="The due time is fixed when an entry is written: store time plus the delay in the table at that "
        "moment.",
        next_command=_CHECK,
    ),
)
def table_changed(case: Case) -> Iterator[Verdict]:
    """Waiting messages were given another delay than the table now says."""
    for state, queue in _levels(case):
        if queue.changed_waiting_count and state.delay_ms is not None:
            old = next((run.delay_ms for run in reversed(queue.runs) if run.delay_ms != state.delay_ms), None)
            yield _verdict(
                case,
                state,
                {
                    "message_count": queue.changed_waiting_count,
                    "configured_delay_ms": state.delay_ms,
                    "indexed_delay_ms": old,
                },
                confidence=_confidence(case) if queue.sampled_count is None else Confidence.MEDIUM,
                variant="early" if old is not None and old > state.delay_ms else "late",
            )


@rule(
    "MQ711",
    Severity.WARNING,
    source="ScheduleMessageService.computeDeliverTimestamp",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="A schedule queue was rebuilt after a table change",
        speaks="one delay queue was filled under two tables",
        silent="one delay queue was filled under one former table",
        what={
            "": "Older entries of level {level} have the configured delay {configured_delay_ms}, newer ones another."
        },
        effect="Messages from before the change are delivered at other times than promised.",
        advice="Compare messageDelayLevel with the producers' expectations; a rebuild recomputes due times.",
        explain="When consume queues are deleted, recovery rebuilds them with the table of that moment.",
        next_command=_CHECK,
    ),
)
def rebuilt_queue(case: Case) -> Iterator[Verdict]:
    """Older entries bear the new delay and newer ones the old: the queue was rebuilt after the table changed."""
    for state, queue in _levels(case):
        delays = {run.delay_ms for run in queue.runs}
        if len(delays) > 1 and state.delay_ms is not None and queue.runs[0].delay_ms == state.delay_ms:
            evidence = {"run_count": queue.run_count, "configured_delay_ms": state.delay_ms}
            yield _verdict(case, state, evidence, confidence=Confidence.MEDIUM)


@rule(
    "MQ712",
    Severity.FATAL,
    source="MessageStoreConfig.fileReservedTime",
    needs=_FILE,
    playbook="delay-late",
    texts=RuleTexts(
        title="A delay reaches the retention",
        speaks="a level is longer than retention",
        silent="the longest level is shorter than retention",
        what={"": "Level {level} waits {configured_delay_ms}; files are kept for {retention_ms}."},
        effect="Messages of this level are deleted before they are due.",
        advice="Raise fileReservedTime well above the longest delay, or shorten the level.",
        explain="The record stays in the commit log while it waits, and retention deletes it whether or not it was "
        "delivered.",
        next_command=_CHECK,
    ),
)
def delay_beyond_retention(case: Case) -> Iterator[Verdict]:
    """A level's delay reaches the retention: its messages are deleted before they are due."""
    reserved_ms = case.broker.file_reserved_ms or case.settings.file_reserved_ms
    delay = _delay(case)
    for state in delay.levels if delay else ():
        if state.delay_ms is not None and state.delay_ms >= reserved_ms:
            waiting = state.queue.waiting_count if state.queue else None
            evidence = {"configured_delay_ms": state.delay_ms, "retention_ms": reserved_ms, "waiting_count": waiting}
            known = case.broker.file_reserved_ms is not None
            yield _verdict(case, state, evidence, confidence=Confidence.HIGH if known else Confidence.MEDIUM)


@rule(
    "MQ713",
    Severity.WARNING,
    source="ScheduleMessageService.correctDeliverTimestamp",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="Due times jump",
        speaks="due times of a delay queue go back",
        silent="due times go back where the level table was changed",
        what={
            "": "{descending_count:entry} of level {level} {descending_count:/is/are} due before the one in front, {beyond_horizon_count} further "
            "ahead than the delay allows."
        },
        effect="The broker's clock was set back: messages come early or in bursts.",
        advice="Run NTP with slewing on the broker.",
        explain="Within one level all delays are equal and store times rise, so due times must rise too.",
        next_command=_CHECK,
    ),
)
def clock_jump(case: Case) -> Iterator[Verdict]:
    """Due times that fall, or lie further ahead than the level's delay: the broker's clock was set back."""
    for state, queue in _levels(case):
        if len({run.delay_ms for run in queue.runs}) > 1:
            continue  # a changed table makes due times fall too, and MQ710 names it
        if queue.descending_count or queue.beyond_horizon_count:
            evidence = {
                "descending_count": queue.descending_count,
                "first_descending_offset": queue.first_descending_offset,
                "beyond_horizon_count": queue.beyond_horizon_count,
            }
            yield _verdict(case, state, evidence)


@rule(
    "MQ714",
    Severity.ERROR,
    source="DefaultMessageStore.CleanCommitLogService",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="Delayed messages are overdue because the disk is full",
        speaks="the disk is nearly full and delayed messages are overdue",
        silent="the disk is nearly full, delayed messages come in time",
        what={"": "{overdue_count:delayed message is/are} overdue and the disk is {disk_used_share} full."},
        effect="A broker above 90 % refuses writes, deliveries among them: every level is stuck.",
        advice="Free disk space; deliveries continue by themselves. For a copied store this is the copy's disk, not "
        "the broker's.",
        explain="A delivery is a write to the target topic.",
        next_command="mqctl store describe {source}",
    ),
)
def target_unavailable(case: Case) -> Iterator[Verdict]:
    """Messages are overdue while the disk is too full for the broker to write."""
    used_share = read_runtime(case.broker.runtime).disk_used_share
    used = case.broker.storage.disk_used_share if case.broker.storage else used_share
    late = sum(queue.overdue_count - (queue.redelivered_count or 0) for _, queue in _levels(case))
    if used is not None and used > _MAX_USED_SHARE and late > 0:
        evidence = {"disk_used_share": used, "overdue_count": late}
        yield Verdict(
            subject=Subject(kind=SubjectKind.STORE, broker=case.broker.name),
            evidence=evidence,
            confidence=Confidence.LOW,
        )


@rule(
    "MQ716",
    Severity.ERROR,
    source="TimerMessageStore",
    needs=(Part.RUNTIME,),
    playbook="delay-late",
    texts=RuleTexts(
        title="Timer messages are read late",
        speaks="the timer is fifteen seconds behind its clock",
        silent="messages wait for the timer, which is not behind",
        what={
            "": "The timer of {broker} is {behind_ms} behind its clock; {waiting_count:message waits/wait} to enter its wheel."
        },
        effect="Timer messages are delivered that late.",
        advice="Look at the broker's disk and at how many messages are due in the same second.",
        explain="timerReadBehind of 5.x: the second that the timer reads from its wheel, against the clock. More than ten is late.",
        next_command="mqctl broker describe {source} {broker} --counters",
    ),
)
def timer_behind(case: Case) -> Iterator[Verdict]:
    """A 5.x broker whose timer reads its wheel late: timer messages are delivered late.

    The wheel of a slave waits for its master to be gone.
    """
    if case.broker.broker_id and case.broker.runtime.get("brokerActive") != "true":
        return
    text = case.broker.runtime.get("timerReadBehind", "")
    waiting = case.broker.runtime.get("timerOffsetBehind", "")
    if (behind_s := decimal(text)) is not None and behind_s > _TIMER_BEHIND_S:
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
            params={"broker": case.broker.name},
            evidence={
                "behind_ms": behind_s * 1000,
                "waiting_count": decimal(waiting),
            },
        )


@rule(
    "MQ717",
    Severity.FATAL,
    source="ScheduleMessageService.load",
    needs=_QUEUES,
    playbook="delay-late",
    texts=RuleTexts(
        title="Delayed messages were skipped",
        speaks="messages before the recorded offset have no copy",
        silent="messages before the recorded offset have copies",
        what={
            "": "{lost_count:message} on level {level}, from offset {first_offset} on, {lost_count:/was/were} never "
            "delivered, yet the recorded offset is already {recorded_offset}.",
            "partly": "At least {lost_count:message} on level {level}, from offset {first_offset} on, {lost_count:/was/were} never "
            "delivered, yet the recorded offset is already {recorded_offset}. {unseen_count:older message is/are} not looked at.",
        },
        effect="They are lost: the broker continues from the recorded offset.",
        advice="Stop the broker and take the level back to {first_offset} with mqctl delay repair on its store: messages after it "
        "that were delivered come a second time, and the plan counts them.",
        explain="Every message before the recorded offset must have a copy with its unique key in the queue it is for. "
        "Messages without a unique key, or whose topic was deleted, cannot be compared. The newest 8,192 before the offset are looked at, and "
        "those before them as long as some were passed over. A live broker is not asked about it.",
        next_command=_CHECK,
    ),
)
def passed_over(case: Case) -> Iterator[Verdict]:
    """Messages before the recorded offset that have no delivered copy: nothing will deliver them. Files show it."""
    for state, queue in _levels(case):
        if queue.passed_over_count:
            looked_from = queue.passed_over_from
            unseen = 0 if looked_from is None else max(0, looked_from - queue.min_offset)
            yield _verdict(
                case,
                state,
                {
                    "lost_count": queue.passed_over_count,
                    "recorded_offset": state.recorded_offset,
                    "first_offset": queue.first_passed_over_offset,
                    "unseen_count": unseen,
                },
                variant="partly" if unseen else None,
            )
