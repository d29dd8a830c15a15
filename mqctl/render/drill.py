"""The verdict on a drill as text, as data, and in the words of CI systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqctl.errors import ExitCode
from mqctl.model.drill_verdict import Breach, DrillState, DrillVerdict, Promise, PromiseCount
from mqctl.model.expectation import CheckResult, CheckState
from mqctl.render import units
from mqctl.render.checks import CheckFormat, formatted
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table

_COLUMNS = (
    Column("promise", "promise"),
    Column("looked_at", "looked at", CellKind.COUNT),
    Column("outside", "broken", CellKind.COUNT),
    Column("inside", "explained", CellKind.COUNT),
)
_EXITS = {
    DrillState.KEPT: ExitCode.OK,
    DrillState.VIOLATED: ExitCode.CRITICAL,
    DrillState.NOT_JUDGED: ExitCode.UNKNOWN,
}
_STATES = {
    DrillState.KEPT: CheckState.OK,
    DrillState.VIOLATED: CheckState.CRITICAL,
    DrillState.NOT_JUDGED: CheckState.UNKNOWN,
}


def verdict_exit(verdict: DrillVerdict) -> ExitCode:
    """Returns 0 for kept, 2 for violated, 3 for not judged."""
    return _EXITS[verdict.state]


def verdict_document(verdict: DrillVerdict) -> Document:
    """Builds the document of a verdict: the state, the promises, and the evidence of each kind of breach."""
    lines = [
        f"{_WORDS[verdict.state]}: {_summary(verdict)}",
        f"topic {verdict.topic}: {units.count(verdict.sent)} sent, {units.count(verdict.acknowledged)} acknowledged, "
        f"{units.count(verdict.failed)} refused, {units.count(verdict.unknown)} without an answer, "
        f"{units.count(verdict.delivered)} deliveries in {units.duration(verdict.lasted_ms)}",
        *unjudged(verdict),
    ]
    severity = {DrillState.VIOLATED: "critical", DrillState.NOT_JUDGED: "unknown"}.get(verdict.state, "ok")
    blocks: list[Paragraphs | Table] = [Paragraphs(lines, severity=severity), Table(_COLUMNS, verdict.promises)]
    blocks += [Paragraphs(evidence_lines(each)) for each in verdict.breaches]
    return Document(
        schema="drill.verdict/1",
        value=verdict,
        records=verdict.promises,
        csv_columns=_COLUMNS,
        blocks=blocks,
    )


_WORDS = {DrillState.KEPT: "KEPT", DrillState.VIOLATED: "VIOLATED", DrillState.NOT_JUDGED: "NOT JUDGED"}


def _summary(verdict: DrillVerdict) -> str:
    broken = [f"{each.promise} {units.count(each.outside)}" for each in verdict.promises if each.outside]
    if broken:
        return ", ".join(broken)
    if verdict.state is DrillState.NOT_JUDGED:
        return "nothing is broken in what could be judged"
    explained = sum(each.inside for each in verdict.promises)
    return f"nothing is broken; the events of the drill explain {units.count(explained)}" if explained else "all of it"


def unjudged(verdict: DrillVerdict) -> list[str]:
    """Returns why a verdict does not speak about everything, in sentences."""
    reasons = []
    if not verdict.complete:
        reasons.append("The history has no end: the drill was interrupted, or still runs.")
    if verdict.cut_bytes:
        reasons.append(f"Its last line is torn; {units.count(verdict.cut_bytes)} bytes of it were left out.")
    reasons += [
        f"{name} was still owed {units.count(count)} when the history ended, and had time left for them."
        for name, count in verdict.undecided.items()
    ]
    if not any(each.looked_at for each in verdict.promises if each.promise is Promise.LOST):
        reasons.append("Nothing was owed to anybody: no message was acknowledged, or no group took part.")
    return reasons


def evidence_lines(breach: Breach) -> list[str]:
    """Returns a breach for people: what it is, and the lines of the history."""
    who = f" of {breach.producer}" if breach.producer is not None else ""
    message = f" message {breach.number}{who}" if breach.number is not None else ""
    reader = f" {breach.reader}:" if breach.reader else ""
    explained = " (explained by an event)" if breach.allowed_by is not None else ""
    return [
        f"{breach.promise}:{reader}{message} {breach.what}{explained}",
        *(f"  line {each.line}  {each.text}" for each in breach.excerpt),
    ]


def verdict_results(verdict: DrillVerdict) -> tuple[CheckResult, ...]:
    """Returns one result for each promise that was looked at, and one for what could not be judged."""
    results = [_result(each, verdict.breaches) for each in verdict.promises if each.looked_at]
    if verdict.state is DrillState.NOT_JUDGED:
        results.append(
            CheckResult(
                check="judged",
                subject=f"topic {verdict.topic}",
                state=CheckState.UNKNOWN,
                message=" ".join(unjudged(verdict)).removesuffix("."),
            )
        )
    return tuple(results)


def _result(count: PromiseCount, breaches: Sequence[Breach]) -> CheckResult:
    shown = [line for each in breaches if each.promise is count.promise for line in evidence_lines(each)]
    explained = f", {units.count(count.inside)} more explained by events" if count.inside else ""
    return CheckResult(
        check=count.promise,
        subject=f"drill {count.promise}",
        state=CheckState.CRITICAL if count.outside else CheckState.OK,
        message=f"{units.count(count.outside)} of {units.count(count.looked_at)} broken{explained}"
        + (f"; {'; '.join(shown)}" if count.outside else ""),
        value=count.outside,
    )


def verdict_formatted(verdict: DrillVerdict, form: CheckFormat) -> str:
    """Returns the verdict in the words of a CI system or a monitor, with a final line end."""
    return formatted(verdict_results(verdict), _STATES[verdict.state], form, "mqctl drill")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillAnnounced:
    """Machine form of a drill that was not carried out: what it would make, send and ask for, at most."""

    plan: str
    title: str
    namesrv: str
    topic: str
    groups: list[str]
    messages: int
    mebibytes: int
    time: str
    asks: list[str]


def announced_document(announced: DrillAnnounced) -> Document:
    """Builds the document of a drill without --execute."""
    lines = [
        f"{announced.title}: on {announced.namesrv}",
        f"makes topic {announced.topic} and the groups {', '.join(announced.groups)}, and removes them in the end",
        f"sends at most {units.count(announced.messages)} messages or {announced.mebibytes} MiB, for {announced.time}",
        *(f"asks you: {text}" for text in announced.asks),
        "Nothing was done; add --execute.",
    ]
    return Document(schema="drill.plan/1", value=announced, records=[announced], blocks=[Paragraphs(lines)])
