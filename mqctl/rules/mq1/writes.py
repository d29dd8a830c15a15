"""MQ117, MQ118: writes that take long or fail, as a live broker counts them (request 28)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.rules.engine.rule import Case, ClusterCase, RuleTexts, Verdict, any_window, rule

_RUNTIME = (Part.RUNTIME,)
# Buckets of putMessageDistributeTime from which clients time out or are told that the broker is busy; the worst last.
_SLOW = ("500ms~1s", "1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~")
_BUCKET = re.compile(r"\[([^]]+)\]:([0-9]{1,18})")


@rule(
    "MQ117",
    Severity.WARNING,
    source="StoreStatsService.setPutMessageEntireTimeMax",
    needs=_RUNTIME,
    playbook="broker-down",
    texts=RuleTexts(
        title="Writes are slow",
        speaks="five writes of a minute took half a second or more",
        silent="ninety thousand fast writes, and three that took 300 ms",
        what={
            "": "{slow_count} of {write_count:write} on {broker} took 500 ms or more in the last minute, the worst {worst}."
        },
        effect="Producers time out or get SYSTEM_BUSY, and their retries add to the load.",
        advice="Look at the disk, the page cache and pauses of the JVM at that minute. Expired files are deleted at {delete_when} o'clock (deleteWhen), which loads the disk.",
        explain="Reads the distribution of write times that a broker keeps for one minute; in its first minute there "
        "is none.",
        next_command="mqctl broker describe {source} {broker}",
    ),
)
def slow_writes(case: Case) -> Iterator[Verdict]:
    """Writes of the last minute that took half a second or more."""
    counts = {
        name: decimal(count) or 0
        for name, count in _BUCKET.findall(case.broker.runtime.get("putMessageDistributeTime", ""))
    }
    slow = {name: count for name in _SLOW if (count := counts.get(name))}
    if slow:
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
            params={
                "broker": case.broker.name,
                "worst": list(slow)[-1],
                "delete_when": case.broker.config.get("deleteWhen", "?"),
            },
            evidence={"slow_count": sum(slow.values()), "write_count": sum(counts.values())},
        )


@rule(
    "MQ118",
    Severity.ERROR,
    source="StoreStatsService.putMessageFailedTimes",
    needs=_RUNTIME,
    playbook="broker-down",
    least_window=any_window,
    texts=RuleTexts(
        title="Writes fail",
        speaks="seven writes failed between two samples",
        silent="the count went back, since the broker was started again",
        what={"": "{failed_count:write} on {broker} failed within {window_ms}."},
        effect="Senders got an error or no answer for these messages.",
        advice="Look at disk space, at the broker's log, and send a message to a topic of your own with `mqctl "
        "message probe`: its answer says what is refused.",
        explain="Compares putMessageFailedTimes of two samples.",
        next_command="mqctl broker describe {source} {broker}",
    ),
)
def failed_writes(case: ClusterCase) -> Iterator[Verdict]:
    """Writes that failed between two samples; a count that went back began anew with the broker."""
    if case.snapshot.earlier is None:
        return
    before = {
        broker.address: _failed(broker.runtime.get("putMessageFailedTimes")) for broker in case.snapshot.earlier.brokers
    }
    for broker in case.snapshot.brokers:
        then, now = before.get(broker.address), _failed(broker.runtime.get("putMessageFailedTimes"))
        if then is not None and now is not None and now > then:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name},
                evidence={"failed_count": now - then, "window_ms": case.window_ms},
            )


def _failed(text: str | None) -> int | None:
    return decimal(text or "")
