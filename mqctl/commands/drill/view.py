"""The verdict on a drill as text, as data, and in the words of CI systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqctl import units
from mqctl.errors import ExitCode
from mqctl.model.drill_verdict import Breach, DrillState, DrillVerdict, Promise, PromiseCount
from mqctl.model.expectation import CheckResult, CheckState
from mqctl.model.lang import Lang
from mqctl.render.checks import CheckFormat, formatted
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.translation import spoken
from mqctl.text import Sentence, joined, sentence

_COLUMNS = (
    Column("promise", "promise"),
    Column("looked_at", "looked at", CellKind.COUNT),
    Column("outside", "broken", CellKind.COUNT),
    Column("inside", "explained", CellKind.COUNT),
)
_EXITS = {
    DrillState.KEPT: ExitCode.OK,
    DrillState.VIOLATED: ExitCode.ERROR,
    DrillState.NOT_JUDGED: ExitCode.UNKNOWN,
}
_STATES = {
    DrillState.KEPT: CheckState.OK,
    DrillState.VIOLATED: CheckState.ERROR,
    DrillState.NOT_JUDGED: CheckState.UNKNOWN,
}

_KEPT = Sentence("drill-kept", "KEPT: none of the {checked} promises that could be checked was broken.")
_KEPT_EXPLAINED = Sentence(
    "drill-kept-explained",
    "KEPT: none of the {checked} promises that could be checked was broken; events of the drill explain {explained} "
    "(the protocol allows them then).",
)
_MESSAGE = Sentence("drill-message", "message {number}")
_MESSAGE_OF = Sentence("drill-message-of", "message {number} of {producer}")
_BROKEN = Sentence("drill-result", "{broken} of {checked} broken")
_EXPLAINED = Sentence("drill-result-explained", "{broken} of {checked} broken, {explained} more explained by events")


def verdict_exit(verdict: DrillVerdict) -> ExitCode:
    """Returns 0 for kept, 2 for violated, 3 for not judged."""
    return _EXITS[verdict.state]


def verdict_document(verdict: DrillVerdict) -> Document:
    """Builds the document of a verdict: the state, the promises, and the evidence of each kind of breach."""
    traffic = sentence(
        "drill-traffic",
        "topic {topic}: {sent} sent, {acknowledged} acknowledged, {failed} refused, {unknown} without an answer, "
        "{delivered} deliveries in {lasted_ms}",
        topic=verdict.topic,
        sent=units.Count(verdict.sent),
        acknowledged=units.Count(verdict.acknowledged),
        failed=units.Count(verdict.failed),
        unknown=units.Count(verdict.unknown),
        delivered=units.Count(verdict.delivered),
        lasted_ms=verdict.lasted_ms,
    )
    lines = [_summary(verdict), traffic, *unjudged(verdict), *_unchecked(verdict)]
    severity = {DrillState.VIOLATED: "error", DrillState.NOT_JUDGED: "unknown"}.get(verdict.state, "ok")
    blocks: list[Paragraphs | Table] = [Paragraphs(lines, severity=severity), Table(_COLUMNS, verdict.promises)]
    blocks += [Paragraphs(evidence_lines(each)) for each in verdict.breaches]
    return Document(
        schema="drill.verdict/1",
        value=verdict,
        records=verdict.promises,
        csv_columns=_COLUMNS,
        blocks=blocks,
    )


def _summary(verdict: DrillVerdict) -> str:
    broken = [f"{each.promise} {units.count(each.outside)}" for each in verdict.promises if each.outside]
    if broken:
        return sentence("drill-violated", "VIOLATED: {broken}", broken=broken)
    if verdict.state is DrillState.NOT_JUDGED:
        return sentence(
            "drill-not-judged", "NOT JUDGED: nothing is broken in what could be checked, but not all could be."
        )
    checked = sum(each.looked_at > 0 for each in verdict.promises)
    explained = sum(each.inside for each in verdict.promises)
    return _KEPT_EXPLAINED(checked=checked, explained=units.Count(explained)) if explained else _KEPT(checked=checked)


def unjudged(verdict: DrillVerdict) -> list[str]:
    """Returns why a verdict does not speak about everything, in sentences."""
    sentences = []
    if not verdict.complete:
        sentences.append(sentence("drill-no-end", "The history has no end: the drill was interrupted, or still runs."))
    if verdict.cut_bytes:
        sentences.append(
            sentence(
                "drill-torn",
                "Its last line is torn; {bytes:byte} of it {bytes:/was/were} left out.",
                bytes=units.Count(verdict.cut_bytes),
            )
        )
    sentences += [
        sentence(
            "drill-undecided",
            "{reader} was still owed {count} when the history ended, and had time left for them.",
            reader=name,
            count=units.Count(count),
        )
        for name, count in verdict.undecided.items()
    ]
    if not any(each.looked_at for each in verdict.promises if each.promise is Promise.LOST):
        sentences.append(
            sentence("drill-nothing-owed", "No delivery was due: no message was acknowledged, or no group took part.")
        )
    return sentences


def _unchecked(verdict: DrillVerdict) -> list[str]:
    """Says what the verdict is silent about: promises that nothing was held against, sends that promise nothing."""
    missing = [each.promise for each in verdict.promises if not each.looked_at]
    sentences = (
        [sentence("drill-no-limit", "Not checked: late (the plan sets no late_after).")]
        if Promise.LATE in missing
        else []
    )
    others = [promise for promise in missing if promise is not Promise.LATE]
    if others:
        sentences.append(
            sentence(
                "drill-not-checked",
                "Not checked, because the drill had nothing of the kind: {promises}.",
                promises=others,
            )
        )
    if verdict.unknown:
        sentences.append(
            sentence(
                "drill-unanswered",
                "The {unknown} sends without an answer promise nothing: these messages may be there or not.",
                unknown=units.Count(verdict.unknown),
            )
        )
    return sentences


def evidence_lines(breach: Breach) -> list[str]:
    """Returns a breach for people: what it is, and the lines of the history."""
    parts: list[str] = [f"{breach.promise}:"]
    if breach.reader:
        parts.append(f"{breach.reader}:")
    if breach.number is not None:
        message = _MESSAGE if breach.producer is None else _MESSAGE_OF
        parts.append(message(number=breach.number, producer=breach.producer))
    parts.append(breach.what)
    if breach.allowed_by is not None:
        parts.append(sentence("drill-explained", "(explained by an event)"))
    return [joined(" ", parts), *(f"  line {each.line}  {each.text}" for each in breach.excerpt)]


def verdict_results(verdict: DrillVerdict) -> tuple[CheckResult, ...]:
    """Returns one result for each promise that was looked at, and one for what could not be judged."""
    results = [_result(each, verdict.breaches) for each in verdict.promises if each.looked_at]
    if verdict.state is DrillState.NOT_JUDGED:
        results.append(
            CheckResult(
                check="judged",
                subject=sentence("shared-topic", "topic {topic}", topic=verdict.topic),
                state=CheckState.UNKNOWN,
                message=joined(" ", unjudged(verdict)),
            )
        )
    return tuple(results)


def _result(count: PromiseCount, breaches: Sequence[Breach]) -> CheckResult:
    shown = [line for each in breaches if each.promise is count.promise for line in evidence_lines(each)]
    numbers = {"broken": units.Count(count.outside), "checked": units.Count(count.looked_at)}
    summary = _EXPLAINED(**numbers, explained=units.Count(count.inside)) if count.inside else _BROKEN(**numbers)
    return CheckResult(
        check=count.promise,
        subject=f"drill {count.promise}",
        state=CheckState.ERROR if count.outside else CheckState.OK,
        message=joined("; ", [summary, *shown]) if count.outside else summary,
        value=count.outside,
    )


def verdict_formatted(verdict: DrillVerdict, form: CheckFormat, lang: Lang | None = None) -> str:
    """Returns the verdict in the words of a CI system or a monitor, with a final line end."""
    results = [
        replace(each, subject=spoken(each.subject, lang), message=spoken(each.message, lang).removesuffix("."))
        for each in verdict_results(verdict)
    ]
    return formatted(results, _STATES[verdict.state], form, "mqctl drill")
