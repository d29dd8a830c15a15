"""MQ1: the health of a broker's store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from mqctl.diagnosis.audience import EVERY_TOPIC
from mqctl.diagnosis.rule import Case, Unknown, Verdict, rule
from mqctl.model.config_file import FileSource
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Part
from mqctl.model.storage_state import CheckpointStatus

_STORE = (Part.STORAGE,)
_VERIFIED = (Part.STORAGE, Part.VERIFICATION)
_CRITICAL_FILES = frozenset({"consumerOffset.json", "topics.json", "subscriptionGroup.json", "delayOffset.json"})
# What rules of their own name.
_ELSEWHERE = frozenset(
    {
        DamageCode.CHECKPOINT_UNREADABLE,
        DamageCode.CHECKPOINT_ZERO,
        DamageCode.CONFIG_UNPARSABLE,
        DamageCode.CONFIG_ON_BACKUP,
        DamageCode.CONFIG_MISSING,
        DamageCode.UNCONFIRMED_TAIL,
        DamageCode.QUEUE_GONE,
    }
)
_OFFSET_FILES = frozenset({"consumerOffset.json", "delayOffset.json"})


def _store(case: Case) -> Subject:
    return Subject(kind=SubjectKind.STORE, broker=case.broker.name)


@rule("MQ101", Severity.WARNING, source="DefaultMessageStore.isTempFileExist", needs=_STORE, playbook="broker-down")
def unclean_stop(case: Case) -> Iterator[Verdict]:
    """The `abort` marker: the broker runs, or it ended without a clean shutdown."""
    storage = case.broker.storage
    if storage is not None and storage.has_abort:
        dispatched, log = storage.dispatched_offset, storage.commit_log
        behind = max(0, log.max_offset - dispatched) if log and dispatched is not None else None
        holder = storage.holder
        yield Verdict(
            subject=_store(case),
            params={"pid": holder.pid} if holder else {},
            evidence={"not_dispatched_bytes": behind, **({"started_time_ms": holder.since_ms} if holder else {})},
            severity=Severity.INFO if holder else None,
            variant="runs" if holder else None,
        )


@rule("MQ102", Severity.WARNING, source="StoreCheckpoint", needs=_STORE, playbook="broker-down")
def checkpoint_worthless(case: Case) -> Iterator[Verdict]:
    """A checkpoint that is zero, missing or unreadable: an abnormal recovery starts at the first file."""
    storage = case.broker.storage
    if storage is None or storage.checkpoint is None or storage.commit_log is None:
        return
    status = storage.checkpoint.status
    has_records = storage.commit_log.max_offset > storage.commit_log.min_offset
    if status is not CheckpointStatus.OK and has_records:
        evidence = {"commit_log_bytes": storage.commit_log.max_offset - storage.commit_log.min_offset}
        young = storage.holder is not None and status is not CheckpointStatus.UNREADABLE  # the first flush writes it
        yield Verdict(
            subject=_store(case),
            variant=status.value,
            evidence=evidence,
            severity=Severity.INFO if young else None,
        )


@rule(
    "MQ103",
    Severity.WARNING,
    source="CommitLog.recoverAbnormally",
    needs=_VERIFIED,
    playbook="broker-down",
    topics=EVERY_TOPIC,
)
def queue_behind_log(case: Case) -> Iterator[Verdict]:
    """Messages of the commit log that their consume queue does not know yet."""
    for behind in case.broker.storage.behind if case.broker.storage else ():
        yield Verdict(
            subject=Subject(
                kind=SubjectKind.QUEUE, broker=case.broker.name, topic=behind.topic, queue_id=behind.queue_id
            ),
            params={"topic": behind.topic, "queue_id": behind.queue_id},
            evidence={
                "missing_count": behind.log_max_offset - behind.max_offset,
                "queue_max_offset": behind.max_offset,
                "log_max_offset": behind.log_max_offset,
            },
        )


@rule("MQ104", Severity.FATAL, source="CommitLog.checkMessageAndReturnSize", needs=_VERIFIED, playbook="damaged-store")
def damage(case: Case) -> Iterator[Verdict]:
    """Bytes that contradict the format or each other, by kind and file; queues whose files are gone, by topic."""
    damages = case.broker.storage.damages if case.broker.storage else ()
    yield from _queues_gone(case, damages)
    real = sorted(
        (
            item
            for item in damages
            if (item.grade is DamageGrade.DAMAGE and item.code not in _ELSEWHERE) or _is_odd(item)
        ),
        key=_kind_and_file,
    )
    for (code, file), group in groupby(real, key=_kind_and_file):
        members = list(group)
        first = members[0]
        yield Verdict(
            subject=Subject(kind=SubjectKind.FILE, broker=case.broker.name, file=file),
            params={"kind": code, "file": file},
            evidence={
                "deviation_count": sum(member.count for member in members),
                "byte_offset": first.offset,
                "physical_offset": first.physical_offset,
                "length_bytes": sum(member.length_bytes or 0 for member in members),
                **{f"first_{name}": value for name, value in first.params.items()},
            },
            variant=_variant(first),
            severity=Severity.INFO if _is_odd(first) else None,
            confidence=Confidence.LOW if _is_odd(first) else Confidence.HIGH,
        )


def _is_odd(damage: Damage) -> bool:
    """Tells whether it is a size that somebody may have chosen."""
    return damage.code is DamageCode.WRONG_FILE_SIZE and damage.grade is DamageGrade.ODD


def _variant(first: Damage) -> str | None:
    if _is_odd(first):
        return "odd"
    if first.code is DamageCode.WRONG_FILE_SIZE:
        return "size" if "expected" in first.params else "cut"
    return "no-log" if first.code is DamageCode.MISSING_PART else None


def _queues_gone(case: Case, damages: Sequence[Damage]) -> Iterator[Verdict]:
    """Yields the topics that lack files of queues with messages in the log.

    Where no queue of a topic is left, and topics were changed since its messages came, it may have been made anew.
    """
    gone = sorted((item for item in damages if item.code is DamageCode.QUEUE_GONE), key=_topic_and_grade)
    for (topic, grade), group in groupby(gone, key=_topic_and_grade):
        members = list(group)
        certain = grade == DamageGrade.DAMAGE.value
        file = f"consumequeue/{topic}"
        yield Verdict(
            subject=Subject(kind=SubjectKind.FILE, broker=case.broker.name, file=file),
            params={
                "kind": DamageCode.QUEUE_GONE.value,
                "file": file,
                "topic": topic,
                "queues": ", ".join(str(member.queue_id) for member in members),
            },
            evidence={
                "deviation_count": sum(member.count for member in members),
                "queue_count": len(members),
                "physical_offset": min(member.physical_offset or 0 for member in members),
            },
            severity=None if certain else Severity.WARNING,
            confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
            variant="gone" if certain else "gone-or-anew",
        )


def _topic_and_grade(item: Damage) -> tuple[str, str]:
    return item.topic or "", item.grade.value


def _kind_and_file(item: Damage) -> tuple[str, str]:
    return item.code.value, item.file


@rule("MQ105", Severity.INFO, source="CommitLog.recoverNormally", needs=_VERIFIED, playbook="damaged-store")
def unconfirmed_tail(case: Case) -> Iterator[Verdict]:
    """A last record that nothing else vouches for."""
    tail = case.broker.storage.tail if case.broker.storage else None
    if tail is not None:
        evidence = {"physical_offset": tail.physical_offset, "record_bytes": tail.size_bytes}
        yield Verdict(subject=_store(case), evidence=evidence, confidence=Confidence.MEDIUM)


@rule("MQ106", Severity.ERROR, source="ConfigManager", needs=_STORE, playbook="damaged-store")
def config_on_backup(case: Case) -> Iterator[Verdict | Unknown]:
    """A configuration file of which the backup counts, or neither: the broker then starts empty and says nothing."""
    for file in case.broker.storage.config_files if case.broker.storage else ():
        if file.source is FileSource.MAIN or (file.source is FileSource.NONE and file.name not in _CRITICAL_FILES):
            continue
        if file.source is FileSource.NONE and file.main_problem == "missing" and not _should_exist(case, file.name):
            continue
        subject = Subject(kind=SubjectKind.FILE, broker=case.broker.name, file=f"config/{file.name}")
        if file.source is FileSource.UNREAD:
            yield Unknown(subject=subject, why=Why(Reason.FILE, {"file": file.name, "problem": file.main_problem}))
            continue
        yield Verdict(
            subject=subject,
            params={"file": file.name, "problem": file.main_problem},
            evidence={"used_file_time_ms": file.mtime_ms},
            variant=file.source.value,
        )


def _should_exist(case: Case, name: str) -> bool:
    """Offsets exist only once somebody consumed, or a delayed message was delivered; settings always do."""
    return name not in _OFFSET_FILES or any(queue.max_offset for queue in case.broker.queues)


@rule(
    "MQ107",
    Severity.WARNING,
    source="MessageStoreConfig.fileReservedTime",
    needs=(Part.STORAGE, Part.CLOCKS),
    playbook="delay-late",
)
def clock_skew(case: Case) -> Iterator[Verdict | Unknown]:
    """Messages born after they were stored, or stored before their predecessor."""
    clocks = case.broker.storage.clocks if case.broker.storage else None
    if clocks is None:
        return
    if clocks.born_ahead_count:
        evidence = {
            "born_ahead_count": clocks.born_ahead_count,
            "message_count": clocks.sampled_count,
            "max_born_ahead_ms": clocks.max_born_ahead_ms,
        }
        yield Verdict(subject=_store(case), variant="producer", evidence=evidence)
    cut = case.broker.storage.cut if case.broker.storage else None
    by_cut = cut is not None and (clocks.step_back_count, clocks.first_step_back_offset) == (1, cut.physical_offset)
    if clocks.step_back_count and not by_cut and (clocks.max_step_back_ms or 0) >= case.settings.clock_step_ms:
        evidence = {
            "step_back_count": clocks.step_back_count,
            "max_step_back_ms": clocks.max_step_back_ms,
            "first_physical_offset": clocks.first_step_back_offset,
        }
        yield Verdict(subject=_store(case), variant="broker", evidence=evidence)


@rule("MQ108", Severity.ERROR, source="CommitLog.truncateDirtyFiles", needs=_STORE, playbook="damaged-store")
def files_set_aside(case: Case) -> Iterator[Verdict]:
    """Parts of the commit log that recoveries put aside, and nobody has acknowledged: nobody gets what they hold."""
    for part in case.broker.storage.set_aside if case.broker.storage else ():
        if part.acknowledged:
            continue
        torn = part.sound_record_count == 0  # what a crash leaves of records that were never confirmed as durable
        yield Verdict(
            subject=Subject(kind=SubjectKind.FILE, broker=case.broker.name, file=part.place),
            params={"file": part.place},
            evidence={
                "file_count": part.file_count,
                "physical_offset": part.physical_offset,
                "length_bytes": part.size_bytes,
                "sound_record_count": part.sound_record_count,
                "set_aside_time_ms": part.at_ms,
            },
            variant="torn" if torn else "cut" if part.reason == "cut" else None,
            severity=Severity.INFO if torn else None,
        )


@rule("MQ143", Severity.WARNING, source="AutoSwitchHAClient", needs=_STORE, playbook="damaged-store")
def cut_records(case: Case) -> Iterator[Verdict]:
    """Records that a slave was cut of: they stay in its files, and its next start takes them for messages."""
    cut = case.broker.storage.cut if case.broker.storage else None
    if cut is not None:
        evidence = {"physical_offset": cut.physical_offset, "cut_bytes": cut.size_bytes}
        yield Verdict(subject=_store(case), evidence=evidence)
