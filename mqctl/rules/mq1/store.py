"""MQ1: the health of a broker's store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from mqctl.model.config_file import FileSource
from mqctl.model.damage import Damage, DamageCode, DamageGrade
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Why
from mqctl.model.gap import Part
from mqctl.model.storage_state import CheckpointStatus
from mqctl.rules.engine.audience import EVERY_TOPIC
from mqctl.rules.engine.rule import Case, RuleTexts, Unknown, Verdict, rule

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


@rule(
    "MQ101",
    Severity.WARNING,
    source="DefaultMessageStore.isTempFileExist",
    needs=_STORE,
    playbook="broker-down",
    texts=RuleTexts(
        title="The broker runs, or did not stop cleanly",
        speaks="the broker was killed and left its abort marker",
        silent="the broker stopped cleanly in the middle of a mapped file",
        what={
            "": "The file `abort` is there: the broker is running, or it ended without a clean shutdown.",
            "runs": "Process {pid} has the store's lock: the broker runs, since {started_time_ms}. `abort` belongs to a running broker.",
        },
        effect="After a crash the next start is an abnormal recovery: records are checked and indexed again; {not_dispatched_bytes} "
        "of the commit log are not in any consume queue yet.",
        advice="If the broker is down, let it recover by itself and watch its store log; do not delete `abort`.",
        explain="A broker creates the empty file `abort` when it starts and deletes it at a clean stop. 5.x leaves `abort.bak` "
        "after a clean stop, which means nothing.",
        next_command="mqctl store verify {source}",
    ),
)
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


@rule(
    "MQ102",
    Severity.WARNING,
    source="StoreCheckpoint",
    needs=_STORE,
    playbook="broker-down",
    texts=RuleTexts(
        title="The checkpoint cannot be used",
        speaks="the checkpoint is missing, empty or damaged",
        silent="the checkpoint is ten seconds older than the newest message",
        what={
            "zero": "The checkpoint is all zeros: no flush was ever recorded.",
            "missing": "There is no checkpoint file.",
            "unreadable": "The checkpoint file is too short to hold its times, or holds impossible times.",
        },
        effect="An abnormal recovery finds no point to start from and reads the commit log from its first file "
        "({commit_log_bytes}).",
        advice="Expect a longer start. If the checkpoint was there before, check how the copy was made.",
        explain="The checkpoint holds the store times up to which commit log, consume queues and index were flushed. Recovery "
        "after a crash begins at the newest file older than these times.",
    ),
)
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
    texts=RuleTexts(
        title="A consume queue lacks messages of the commit log",
        speaks="a consume queue lacks a message of the log",
        silent="a broker that runs dispatches the message before the second look",
        what={
            "": "Queue {queue_id} of {topic} ends at offset {queue_max_offset}; the commit log holds its messages up to "
            "{log_max_offset}."
        },
        effect="{missing_count:stored message} invisible to consumers until the broker dispatches them again.",
        advice="Start the broker: recovery writes the missing entries. If it already ran, its dispatch is stuck.",
        explain="The broker writes the commit log first and the consume queues a moment later. After a kill the last entries "
        "are missing; a clean stop leaves none behind.",
        next_command="mqctl store verify {source}",
    ),
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


@rule(
    "MQ104",
    Severity.FATAL,
    source="CommitLog.checkMessageAndReturnSize",
    needs=_VERIFIED,
    playbook="damaged-store",
    texts=RuleTexts(
        title="The store is damaged",
        speaks="a record of the log contradicts its checksum",
        silent="a topic was deleted, and the log still holds its messages",
        what={
            "": "Damage ({kind}) in {deviation_count:place} of {file}, the first at byte {byte_offset}.",
            "size": "{file} is {first_found_bytes:byte} long, its neighbours are {first_expected_bytes:,}.",
            "cut": "{file} is {first_found_bytes:byte} long, no usual size of a commit log file: it was cut, unless mappedFileSizeCommitLog is just that.",
            "odd": "{file} is the only one of the commit log and {first_found_bytes:byte} long: brokers are usually set to a power of two. Unless "
            "mappedFileSizeCommitLog is just that, the file was cut, and the broker refuses to start.",
            "no-log": "There is no commit log, and {deviation_count:entry} of consume queues and index files lead into it: "
            "it was lost, or not copied, or lies elsewhere (storePathCommitLog).",
            "gone": "Files of {queue_count:consume queue} of {topic} are gone (queue id {queues}): {deviation_count:message} of "
            "the commit log {deviation_count:/reaches/reach} no consumer, and a restart does not change that.",
            "gone-or-anew": "{queue_count:consume queue} of {topic} (queue id {queues}) {queue_count:/has/have} no files, and the commit "
            "log holds {deviation_count:message} for {queue_count:/it/them}: the files are gone, or the topic was deleted and "
            "created again, which the broker's log of that time shows.",
        },
        effect="The broker would cut its commit log at a damaged record, refuse to start on a wrong file size, or serve wrong "
        "data from a damaged queue. What no queue leads to is not delivered.",
        advice="Work on a copy. Take a commit log that is missing from where it lies, or from another replica. Rebuild damaged "
        "consume queues and index by removing all of them: a broker that finds none builds them from the commit log when it "
        "starts. Replay what a damaged commit log loses from another replica.",
        explain="Every record is checked by magic, length, physical offset and CRC32, every queue entry and index entry "
        "against the record it points to. What a running, killed or cleaning broker leaves behind is not called damage.",
        next_command="mqctl store verify {source}",
    ),
)
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
        unit = "_bytes" if first.code is DamageCode.WRONG_FILE_SIZE else ""
        yield Verdict(
            subject=Subject(kind=SubjectKind.FILE, broker=case.broker.name, file=file),
            params={"kind": code, "file": file},
            evidence={
                "deviation_count": sum(member.count for member in members),
                "byte_offset": first.offset,
                "physical_offset": first.physical_offset,
                "length_bytes": sum(member.length_bytes or 0 for member in members),
                **{f"first_{name}{unit}": value for name, value in first.params.items()},
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


@rule(
    "MQ105",
    Severity.INFO,
    source="CommitLog.recoverNormally",
    needs=_VERIFIED,
    playbook="damaged-store",
    texts=RuleTexts(
        title="Nothing confirms the last record",
        speaks="the log ends in bytes that no consume queue knows",
        silent="the last record of a log that is being written",
        what={"": "The last record, at physical offset {physical_offset}, is whole but nothing else confirms it."},
        effect="It may be complete, or a copy may have caught it half way ({record_bytes}).",
        advice="Copy the last commit log file again and compare, if this message matters.",
        explain="A record at the end of the log is accepted when something valid follows it, a consume queue points to it, or "
        "the checkpoint is younger than it.",
    ),
)
def unconfirmed_tail(case: Case) -> Iterator[Verdict]:
    """A last record that nothing else vouches for."""
    tail = case.broker.storage.tail if case.broker.storage else None
    if tail is not None:
        evidence = {"physical_offset": tail.physical_offset, "record_bytes": tail.size_bytes}
        yield Verdict(subject=_store(case), evidence=evidence, confidence=Confidence.MEDIUM)


@rule(
    "MQ106",
    Severity.ERROR,
    source="ConfigManager",
    needs=_STORE,
    playbook="damaged-store",
    texts=RuleTexts(
        title="A configuration file is lost, or only its backup is left",
        speaks="a configuration file is unreadable and the backup is used",
        silent="a new broker has no files of offsets yet",
        what={
            "backup": "{file} cannot be used ({problem}); the broker would load {file}.bak of {used_file_time_ms}.",
            "none": "{file} cannot be used ({problem}) and neither can its backup: the broker would start without it.",
        },
        effect="Offsets, topics or groups go back to the backup's state, or start empty; the broker does not report "
        "it.",
        advice="Restore the file from the newest copy, a slave or a snapshot before the broker starts.",
        explain="The broker writes NAME.tmp, copies the old file to NAME.bak and renames. When NAME is missing, empty or "
        "unparsable it takes the backup; with neither it starts empty without an error.",
        next_command="mqctl store describe {source}",
    ),
)
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
    texts=RuleTexts(
        title="Clocks disagree",
        speaks="the broker's clock went back by four seconds",
        silent="the clock went back by less than a second",
        what={
            "producer": "Of {message_count:message}, {born_ahead_count:was/were} born up to {max_born_ahead_ms} after they were "
            "stored.",
            "broker": "The broker's clock went back {step_back_count:time}, by up to {max_step_back_ms}.",
        },
        effect="Delays, transaction checks, retention and resets by time go wrong by that much.",
        advice="Run NTP on producers and brokers; let it slew the clock rather than step it.",
        explain="The store time is the broker's clock, written under the append lock, so it must not fall along the log; the "
        "born time is the producer's clock and must not lie after it by more than 10 s.",
    ),
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


@rule(
    "MQ108",
    Severity.ERROR,
    source="CommitLog.truncateDirtyFiles",
    needs=_STORE,
    playbook="damaged-store",
    texts=RuleTexts(
        title="A part of the commit log was set aside",
        speaks="a recovery moved a part of the log to commitlog.set-aside",
        silent="what was set aside has been acknowledged",
        what={
            "": "A recovery moved {file_count:file} of the commit log to {file}: the log had a gap.",
            "cut": "A recovery ended the commit log at {physical_offset}, where no sound record follows, and moved what was "
            "behind it ({length_bytes}, {sound_record_count:sound record}) to {file}.",
            "torn": "A recovery moved the torn end of the commit log ({length_bytes}, no sound record) to {file}.",
        },
        effect="The broker no longer serves these messages.",
        advice="See what it holds with `mqctl store cat --store` and that directory, publish again what is needed with "
        "`mqctl replay publish --store`, then acknowledge it; delete it when nobody needs it.",
        explain="Brokers serve the log up to the first record that is not sound, or one side of a gap between files. A RocketMQ "
        "broker deletes the rest; an embedded broker moves it to commitlog.set-aside with a note. The finding stays until the "
        "part is acknowledged or deleted.",
        next_command="mqctl store acknowledge {source}",
    ),
)
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


@rule(
    "MQ143",
    Severity.WARNING,
    source="AutoSwitchHAClient",
    needs=_STORE,
    playbook="damaged-store",
    texts=RuleTexts(
        title="Messages that a slave was cut of are still in its files",
        speaks="a slave was cut, and its files have older records behind the cut",
        silent="a slave under a controller that was never cut",
        what={
            "": "As a slave this log was cut at physical offset {physical_offset}; {cut_bytes} of older records follow there in its files."
        },
        effect="Whoever reads the files takes them for messages, mqctl's other findings on this store included. A restart of the "
        "broker brings them back until its master cuts it again; if it is elected before that, it serves them.",
        advice="Start the broker as a slave, with its master running, before it is elected. Save these messages first if their "
        "senders got an OK: no other replica has them. Compare with the master's store: `mqctl ha compare`.",
        explain="A slave under a controller is cut to the point up to which its epochs and its master's agree. That moves the position at "
        "which it writes; bytes, magic and offsets behind stay. The checkpoint's confirm offset tells the cut, and the "
        "record behind it was stored before the one in front of it, which would otherwise look like a clock that went back (MQ107).",
        next_command="mqctl store describe {source}",
    ),
)
def cut_records(case: Case) -> Iterator[Verdict]:
    """Records that a slave was cut of: they stay in its files, and its next start takes them for messages."""
    cut = case.broker.storage.cut if case.broker.storage else None
    if cut is not None:
        evidence = {"physical_offset": cut.physical_offset, "cut_bytes": cut.size_bytes}
        yield Verdict(subject=_store(case), evidence=evidence)
