"""MQ70x and MQ71x: delay levels and timer messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mqctl.diagnosis.rule import Case, Unknown, Verdict, rule
from mqctl.model.config_file import FileSource
from mqctl.model.delay_state import DelayLevelState, DelayQueueState, DelayState, LevelTableSource
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Value, Why
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.runtime import read_runtime

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


@rule("MQ701", Severity.ERROR, source="ScheduleMessageService", needs=_QUEUES, playbook="delay-late")
def offset_beyond_max(case: Case) -> Iterator[Verdict]:
    """The recorded offset lies beyond the schedule queue."""
    for state, queue in _levels(case):
        if state.recorded_offset is not None and state.recorded_offset > queue.max_offset:
            evidence = {"recorded_offset": state.recorded_offset, "max_offset": queue.max_offset}
            yield _verdict(case, state, {**evidence, "beyond_count": state.recorded_offset - queue.max_offset})


@rule("MQ702", Severity.FATAL, source="ScheduleMessageService.correctDelayOffset", needs=_QUEUES, playbook="delay-late")
def offset_below_min(case: Case) -> Iterator[Verdict]:
    """The recorded offset lies below the schedule queue's minimum: what was between expired undelivered."""
    for state, queue in _levels(case):
        if state.recorded_offset is not None and state.recorded_offset < queue.min_offset:
            evidence = {"recorded_offset": state.recorded_offset, "min_offset": queue.min_offset}
            yield _verdict(case, state, {**evidence, "lost_count": queue.min_offset - state.recorded_offset})


def _file_is_lost(delay: DelayState) -> bool:
    return delay.file is not None and delay.file.source is FileSource.NONE


@rule("MQ703", Severity.ERROR, source="ScheduleMessageService.load", needs=_QUEUES, playbook="delay-late")
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


@rule("MQ704", Severity.FATAL, source="ConfigManager", needs=_QUEUES, playbook="delay-late")
def file_lost(case: Case) -> Iterator[Verdict]:
    """delayOffset.json and its backup are both of no use while schedule queues hold messages."""
    delay = _delay(case)
    held = sum(queue.message_count for _, queue in _levels(case))
    delivered = sum(queue.overdue_count for _, queue in _levels(case))
    problem = delay.file.main_problem if delay is not None and delay.file is not None else None
    if delay is not None and _file_is_lost(delay) and held and (delivered or problem != "missing"):
        params = {"problem": problem}
        yield Verdict(subject=_file(case), params=params, evidence={"again_count": held, "due_count": delivered})


@rule("MQ705", Severity.ERROR, source="ScheduleMessageService.parseDelayLevel", needs=_FILE, playbook="delay-late")
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


@rule("MQ706", Severity.WARNING, source="ScheduleMessageService.updateOffset", needs=_QUEUES, playbook="delay-late")
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
)
def missing_record(case: Case) -> Iterator[Verdict]:
    """Waiting entries whose record is gone from the commit log: the broker passes over them in silence."""
    for state, queue in _levels(case):
        if queue.missing_record_count:
            evidence = {"lost_count": queue.missing_record_count, "first_offset": queue.first_missing_offset}
            yield _verdict(case, state, evidence)


@rule("MQ710", Severity.WARNING, source="ScheduleMessageService.parseDelayLevel", needs=_QUEUES, playbook="delay-late")
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
)
def rebuilt_queue(case: Case) -> Iterator[Verdict]:
    """Older entries bear the new delay and newer ones the old: the queue was rebuilt after the table changed."""
    for state, queue in _levels(case):
        delays = {run.delay_ms for run in queue.runs}
        if len(delays) > 1 and state.delay_ms is not None and queue.runs[0].delay_ms == state.delay_ms:
            evidence = {"run_count": queue.run_count, "configured_delay_ms": state.delay_ms}
            yield _verdict(case, state, evidence, confidence=Confidence.MEDIUM)


@rule("MQ712", Severity.FATAL, source="MessageStoreConfig.fileReservedTime", needs=_FILE, playbook="delay-late")
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


@rule("MQ714", Severity.ERROR, source="DefaultMessageStore.CleanCommitLogService", needs=_QUEUES, playbook="delay-late")
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


@rule("MQ716", Severity.ERROR, source="TimerMessageStore", needs=(Part.RUNTIME,), playbook="delay-late")
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


@rule("MQ717", Severity.FATAL, source="ScheduleMessageService.load", needs=_QUEUES, playbook="delay-late")
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
