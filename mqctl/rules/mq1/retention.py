"""MQ123: files of the commit log that outlive their retention."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.retained import retained_log
from mqctl.rules.engine.rule import Case, RuleTexts, Verdict, rule


@rule(
    "MQ123",
    Severity.WARNING,
    source="DefaultMessageStore.CleanCommitLogService, MappedFileQueue.deleteExpiredFileByTime",
    needs=(Part.RUNTIME, Part.CONFIG),
    playbook="broker-down",
    texts=RuleTexts(
        title="Old files are not deleted",
        speaks="messages are 19 days old, in the first of many files that are kept for a day",
        silent="messages are as old, in the only file of a quiet broker",
        what={
            "": "The oldest message of {broker} is {age_ms} old, and files are kept for {retention_ms}: the first of "
            "its {file_count:file} should have been deleted at {due_time_ms}."
        },
        effect="The disk fills until the broker deletes regardless of age, or refuses sends; consumers that begin at the first message read all of it.",
        advice="Look in the broker's store.log for what its daily cleaning says. Check deleteWhen and the store paths, whether another process "
        "has the files open, and whether the directory may be written.",
        explain="Compares the age of the log with fileReservedTime. A broker deletes a file as a whole, at deleteWhen (04 o'clock) once its "
        "last message is older than the retention, and never the last file; two nights are allowed for. The time of the first message of "
        "the second file tells; where the broker does not, equal files over the age of the log are assumed.",
        next_command="mqctl broker describe {source} {broker} --counters",
    ),
)
def outlives_retention(case: Case) -> Iterator[Verdict]:
    """A log whose first file ended so long ago that two nights of cleaning passed it by."""
    log = retained_log(case.broker)
    if log is not None and case.now_ms > log.due_ms(case.now_ms) + case.settings.outlived_ms:
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
            params={"broker": case.broker.name},
            evidence={
                "age_ms": case.now_ms - log.first_time_ms,
                "retention_ms": log.reserved_ms,
                "file_count": log.file_count,
                "due_time_ms": log.due_ms(case.now_ms),
            },
            confidence=Confidence.MEDIUM if log.second_file_time_ms is None else Confidence.HIGH,
        )
