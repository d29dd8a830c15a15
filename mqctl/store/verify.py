"""Full structural verification of a store: every record, every queue entry, every index entry, every configuration.

Nothing is repaired and nothing is trusted: each part is read as far as it goes, the rest is reported with file and
offset. What a running, killed or cleaning broker normally leaves has the grade EXPECTED, so that damage stands out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace

from mqctl.errors import MqctlError
from mqctl.model.config_file import FileSource
from mqctl.model.damage import Damage, DamageCode, DamageGrade, VerificationSummary
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.progress import Progress
from mqctl.model.storage_state import ClockState, QueueBehind, UnconfirmedTail
from mqctl.store.config_files import ALWAYS_THERE, CONSUMER_OFFSETS, GROUPS, TOPICS
from mqctl.store.directory import StoreDirectory, Unreadable
from mqctl.store.log_window import LastRecord, LogFindings, LogTable
from mqctl.store.mapped_files import listed_files
from mqctl.store.plain_files import reading_error
from mqctl.store.second_look import look_again
from mqctl.store.unread_files import odd_topics
from mqctl.store.verify_index import IndexFindings, IndexShare, IndexSlice, IndexVerifier
from mqctl.store.verify_log import LogVerifier, oddities
from mqctl.store.verify_plan import CheckedQueues, QueueFindings, QueuePlan
from mqctl.store.verify_queues import QueueVerifier
from mqctl.store.verify_timer import verify_timers
from mqctl.text import composed, sentence

COMMIT_LOG = "commitlog"
_LEAD_INTO_LOG = (
    DamageCode.QUEUE_ENTRY_DANGLING,
    DamageCode.INDEX_ENTRY_DANGLING,
    DamageCode.TIMER_MESSAGE_MISSING,
)


@dataclass(frozen=True, slots=True)
class VerifyPlan:
    """What queues and index show by themselves; whoever verifies a part of the log needs to know it."""

    queues: QueuePlan
    index: tuple[IndexSlice, ...]


@dataclass(frozen=True, slots=True)
class VerifyPart:
    """What some neighbouring files of the log, and queues and index as far as they lead there, have in order or not."""

    log: LogFindings
    queues: CheckedQueues
    index: IndexShare


Spread = Callable[[VerifyPlan], Iterable[VerifyPart]]
Verifier = Callable[[StoreDirectory, Progress | None], "VerifyReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What verification found.

    Attributes:
        damages: every deviation, commit log first; `grade` tells damage from what is normal.
        record_count, record_bytes: accepted records of the commit log.
        messages_per_topic: accepted records by topic, whether consumable or not.
        min_offset, max_offset: physical offsets of the first byte kept and behind the last accepted record.
        first_store_time_ms, last_store_time_ms: None for an empty log.
        queue_entries, index_entries: entries looked at.
        unconfirmed: the last record, when nothing else vouches for it.
        behind: consume queues that lack entries for records at the end of the log.
        dispatched_offset: end of the last record that any queue knows; None without queues.
        unread: files that the operating system refused to read; nothing is said about them.
    """

    damages: tuple[Damage, ...]
    record_count: int
    record_bytes: int
    messages_per_topic: Mapping[str, int] = field(default_factory=dict)
    min_offset: int
    max_offset: int
    first_store_time_ms: int | None
    last_store_time_ms: int | None
    queue_entries: int
    index_entries: int
    unconfirmed: UnconfirmedTail | None
    behind: tuple[QueueBehind, ...]
    dispatched_offset: int | None
    clocks: ClockState
    unread: tuple[Unreadable, ...] = ()

    def summary(self) -> VerificationSummary:
        """The figures without the deviations."""
        return VerificationSummary(
            record_count=self.record_count,
            record_bytes=self.record_bytes,
            queue_entry_count=self.queue_entries,
            index_entry_count=self.index_entries,
            topic_count=len(self.messages_per_topic),
            min_offset=self.min_offset,
            max_offset=self.max_offset,
            first_store_time_ms=self.first_store_time_ms,
            last_store_time_ms=self.last_store_time_ms,
        )

    def graded(self, grade: DamageGrade) -> list[Damage]:
        """The deviations of one grade."""
        return [damage for damage in self.damages if damage.grade is grade]


def verify(store: StoreDirectory, progress: Progress | None = None, *, spread: Spread | None = None) -> VerifyReport:
    """Verifies the whole of `store`; reads every byte that was written.

    Args:
        spread: goes through parts of the log, the first one first; None does it here, one after the other.

    Raises:
        StorageError, PermissionDeniedError: the operating system refuses to read a directory.
    """
    report, store = progress or _silent, store.as_written()
    queues, index = QueueVerifier(store, report), IndexVerifier(store, report)
    queues.prepare()
    index.prepare()
    log = LogFindings()
    files = store.commit_log.files
    if not files:
        queues.finish(0)
        index.finish(0)
        return _without_log(store, _report(store, log, queues.found, index.found))
    plan = VerifyPlan(queues.plan, tuple(index.plan))
    parts = [verify_part(store, plan, range(len(files)), report)] if spread is None else spread(plan)
    for part in parts:
        _check_between(log, part.log, store.commit_log.min_offset, (queues, index))
        log.join(part.log)
        queues.join(part.queues)
        index.join(part.index)
    log_end = store.commit_log.min_offset if log.end is None else log.end
    log_end = max((log_end, *(store.commit_log.odd_span(odd)[1] for odd in store.commit_log.odd_files)))
    queues.finish(log_end)
    index.finish(log_end)
    if store.cut is not None:
        look_again(store, log, queues.found, queues.directories)
    return _report(store, log, queues.found, index.found)


def verify_part(store: StoreDirectory, plan: VerifyPlan, files: range, progress: Progress | None = None) -> VerifyPart:
    """Verifies the files of the log with the numbers `files`, and what of queues and index leads there."""
    report, store = progress or _silent, store.as_written()
    log, queues = LogVerifier(store, report), QueueVerifier(store, report, plan.queues)
    index = IndexVerifier(store, report, plan.index)
    for table in log.windows(files):
        queues.check(table)
        index.check(table)
    return VerifyPart(log.found, queues.share, index.share)


def _check_between(
    log: LogFindings, later: LogFindings, begin: int, verifiers: tuple[QueueVerifier, IndexVerifier]
) -> None:
    """Finds entries that lead between what was gone through and the first record behind: none begins there."""
    low = begin if log.last is None else log.last.physical_offset + log.last.size_bytes
    if later.first_offset is not None and low < later.first_offset:
        for verifier in verifiers:
            verifier.check(LogTable(low=low, high=later.first_offset, unread=(*log.unread, *later.unread)))


def _without_log(store: StoreDirectory, report: VerifyReport) -> VerifyReport:
    """Says once that there is no commit log, instead of each place that leads into it.

    A broker that was never written to has an empty directory for it, and nothing that leads there.
    """
    log = store.path / COMMIT_LOG
    led = [damage for damage in report.damages if damage.code in _LEAD_INTO_LOG]
    others = [damage for damage in report.damages if damage.code not in _LEAD_INTO_LOG]
    if store.commit_log.odd_files:  # they may hold it all
        return replace(report, damages=tuple(others))
    entries = report.queue_entries + report.index_entries
    if entries:
        reason = sentence("store-no-files", "no files: lost, not copied, or kept elsewhere (storePathCommitLog)")
        missing = Damage(
            code=DamageCode.MISSING_PART,
            grade=DamageGrade.DAMAGE,
            file=COMMIT_LOG,
            count=entries,
            params={"reason": reason},
        )
        return replace(report, damages=(missing, *others))
    if log.is_dir() and not led and not _was_written(store):
        return report
    reason = sentence(
        "store-no-commit-log",
        "there is no commit log in {log}: lost, not copied, or kept elsewhere (storePathCommitLog)",
        log=log,
    )
    return replace(report, damages=tuple(others), unread=(Unreadable(COMMIT_LOG, reason), *report.unread))


def _was_written(store: StoreDirectory) -> bool:
    """Whether the checkpoint knows of messages."""
    try:
        checkpoint = store.checkpoint()
    except MqctlError:
        return True
    return checkpoint is not None and not checkpoint.is_zero


def _report(store: StoreDirectory, log: LogFindings, queues: QueueFindings, index: IndexFindings) -> VerifyReport:
    unread = list(store.in_memory)
    timers, configs = _timers(store, unread), _configs(store, unread)
    oddities_of_log = list(oddities(log))
    parts = (
        _odd(store),
        _foreign(store),
        log.damages,
        oddities_of_log,
        queues.damages,
        index.damages,
        timers,
        _checkpoint(store),
        configs,
    )
    damages = [damage for part in parts for damage in part]
    unconfirmed = _unconfirmed(store, log.last, confirmed=queues.confirms_last or log.followed)
    if unconfirmed is not None and log.last is not None:
        damages.append(
            Damage(
                code=DamageCode.UNCONFIRMED_TAIL,
                grade=DamageGrade.EXPECTED,
                file=log.last.file,
                offset=log.last.position,
                physical_offset=unconfirmed.physical_offset,
                length_bytes=unconfirmed.size_bytes,
            )
        )
    return VerifyReport(
        damages=tuple(damages),
        record_count=log.record_count,
        record_bytes=log.record_bytes,
        messages_per_topic=dict(sorted(log.per_topic.items())),
        min_offset=store.commit_log.min_offset,
        max_offset=log.max_offset or store.commit_log.min_offset,
        first_store_time_ms=log.first_store_time_ms,
        last_store_time_ms=None if log.last is None else log.last.store_time_ms,
        queue_entries=queues.entry_count,
        index_entries=index.entry_count,
        unconfirmed=unconfirmed,
        behind=queues.behind,
        dispatched_offset=queues.dispatched_offset,
        clocks=log.clocks.state(log.record_count),
        unread=tuple(unread),
    )


def _odd(store: StoreDirectory) -> list[Damage]:
    """Names what stands in the place of a file of the log, or of a topic's queues, and is none."""
    odd = [Unreadable(store.relative(each.path), each.reason) for each in store.commit_log.odd_files]
    return [
        Damage(
            code=DamageCode.UNREADABLE_FILE,
            grade=DamageGrade.DAMAGE,
            file=each.part,
            params={"reason": each.reason},
        )
        for each in (*odd, *odd_topics(store))
    ]


def _foreign(store: StoreDirectory) -> list[Damage]:
    """Names what lies among the commit log's files and is none: brokers refuse to start over it, or pass it over."""
    log = store.path / "commitlog"
    try:
        entries = sorted(log.iterdir()) if log.is_dir() else []
    except OSError as error:
        raise reading_error(log, error) from error
    known = {each.path.name for some in listed_files(log) for each in some}
    return [
        Damage(
            code=DamageCode.FOREIGN_ENTRY,
            grade=DamageGrade.DAMAGE,
            file=f"commitlog/{entry.name}",
            params={"kind": "directory" if entry.is_dir() else "file"},
        )
        for entry in entries
        if entry.name not in known
    ]


def _silent(_part: str, _done: int, _total: int) -> None:
    return


def _unconfirmed(store: StoreDirectory, last: LastRecord | None, *, confirmed: bool) -> UnconfirmedTail | None:
    """Rule 11 of offline reading: the last record counts only when something else vouches for it."""
    if confirmed or last is None:
        return None
    try:
        checkpoint = store.checkpoint()
    except MqctlError:
        checkpoint = None
    if checkpoint is not None and last.store_time_ms <= checkpoint.physical_time_ms:
        return None
    return UnconfirmedTail(physical_offset=last.physical_offset, size_bytes=last.size_bytes)


def _checkpoint(store: StoreDirectory) -> list[Damage]:
    """Judges the checkpoint; a broker that runs may not have come to write its first one."""
    code, grade = None, DamageGrade.EXPECTED
    try:
        checkpoint = store.checkpoint()
    except MqctlError as error:
        return [
            Damage(
                code=DamageCode.CHECKPOINT_UNREADABLE,
                grade=DamageGrade.DAMAGE,
                file="checkpoint",
                params={"reason": error.reason},
            )
        ]
    if store.is_written and (checkpoint is None or checkpoint.is_zero):
        return []
    if checkpoint is None:
        code, grade = DamageCode.MISSING_PART, DamageGrade.ODD
    elif checkpoint.is_zero and store.commit_log.max_offset > store.commit_log.min_offset:
        code, grade = DamageCode.CHECKPOINT_ZERO, DamageGrade.EXPECTED if store.abort() else DamageGrade.ODD
    return [Damage(code=code, grade=grade, file="checkpoint")] if code else []


def _timers(store: StoreDirectory, unread: list[Unreadable]) -> list[Damage]:
    try:
        return verify_timers(store)
    except MqctlError as error:
        unread.append(_unread("timer files", error))
        return []


def _unread(part: str, error: MqctlError) -> Unreadable:
    return Unreadable(part, composed("{error}; {remedy}", error=error, remedy=error.remedy))


def _configs(store: StoreDirectory, unread: list[Unreadable]) -> list[Damage]:
    if not (store.path / "config").is_dir():
        return [Damage(code=DamageCode.MISSING_PART, grade=DamageGrade.ODD, file="config")]
    in_database = {
        "config/topics": TOPICS,
        "config/subscriptionGroups": GROUPS,
        "config/consumerOffsets": CONSUMER_OFFSETS,
    }
    skipped = {in_database[part.part] for part in store.unreadable if part.part in in_database}
    damages = []
    for name in ALWAYS_THERE:
        if name in skipped:
            continue
        try:
            state = store.config(name).state
        except MqctlError as error:
            unread.append(_unread(f"config/{name}", error))
            continue
        if state.source is FileSource.MAIN:
            continue
        problem = state.main_problem or ""
        missing = problem == "missing"
        if not missing:
            damages.append(_config_damage(DamageCode.CONFIG_UNPARSABLE, DamageGrade.DAMAGE, state.name, problem))
        if state.source is FileSource.BACKUP:
            damages.append(_config_damage(DamageCode.CONFIG_ON_BACKUP, DamageGrade.ODD, state.name, problem))
        elif missing:
            damages.append(_config_damage(DamageCode.CONFIG_MISSING, DamageGrade.ODD, state.name, problem))
    return damages


def _config_damage(code: DamageCode, grade: DamageGrade, name: str, problem: str) -> Damage:
    return Damage(code=code, grade=grade, file=f"config/{name}", params={"reason": problem})
