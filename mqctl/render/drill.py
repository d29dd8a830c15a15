"""The verdict on a drill as text, as data, and in the words of CI systems."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.errors import ExitCode
from mqctl.model.drill_verdict import Breach, DrillState, DrillVerdict, Promise, PromiseCount
from mqctl.model.expectation import CheckResult, CheckState
from mqctl.model.lang import Lang
from mqctl.render import units
from mqctl.render.checks import CheckFormat, formatted
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.messages import Say, sayer
from mqctl.render.translation import spoken
from mqctl.text import sentence

ENGLISH = sayer(Lang.EN, "drill")

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


def verdict_document(verdict: DrillVerdict, lang: Lang | None = None) -> Document:
    """Builds the document of a verdict: the state, the promises, and the evidence of each kind of breach."""
    say = sayer(lang, "drill")
    traffic = say(
        "traffic",
        topic=verdict.topic,
        sent=units.count(verdict.sent),
        acknowledged=units.count(verdict.acknowledged),
        failed=units.count(verdict.failed),
        unknown=units.count(verdict.unknown),
        delivered=units.count(verdict.delivered),
        lasted=units.duration(verdict.lasted_ms),
    )
    lines = [_summary(verdict, say), traffic, *unjudged(verdict, say), *_unchecked(verdict, say)]
    severity = {DrillState.VIOLATED: "critical", DrillState.NOT_JUDGED: "unknown"}.get(verdict.state, "ok")
    blocks: list[Paragraphs | Table] = [Paragraphs(lines, severity=severity), Table(_COLUMNS, verdict.promises)]
    blocks += [Paragraphs(evidence_lines(each, lang, say)) for each in verdict.breaches]
    return Document(
        schema="drill.verdict/1",
        value=verdict,
        records=verdict.promises,
        csv_columns=_COLUMNS,
        blocks=blocks,
    )


def _summary(verdict: DrillVerdict, say: Say) -> str:
    broken = [f"{each.promise} {units.count(each.outside)}" for each in verdict.promises if each.outside]
    if broken:
        return say("violated", broken=", ".join(broken))
    if verdict.state is DrillState.NOT_JUDGED:
        return say("not-judged")
    checked = sum(each.looked_at > 0 for each in verdict.promises)
    explained = sum(each.inside for each in verdict.promises)
    key = "kept-explained" if explained else "kept"
    return say(key, checked=checked, explained=units.count(explained))


def unjudged(verdict: DrillVerdict, say: Say = ENGLISH) -> list[str]:
    """Returns why a verdict does not speak about everything, in sentences."""
    sentences = []
    if not verdict.complete:
        sentences.append(say("no-end"))
    if verdict.cut_bytes:
        sentences.append(say("torn", bytes=units.count(verdict.cut_bytes)))
    sentences += [say("undecided", reader=name, count=units.count(count)) for name, count in verdict.undecided.items()]
    if not any(each.looked_at for each in verdict.promises if each.promise is Promise.LOST):
        sentences.append(say("nothing-owed"))
    return sentences


def _unchecked(verdict: DrillVerdict, say: Say) -> list[str]:
    """Says what the verdict is silent about: promises that nothing was held against, sends that promise nothing."""
    missing = [each.promise for each in verdict.promises if not each.looked_at]
    sentences = [say("no-limit")] if Promise.LATE in missing else []
    others = [promise for promise in missing if promise is not Promise.LATE]
    if others:
        sentences.append(say("not-checked", promises=", ".join(others)))
    if verdict.unknown:
        sentences.append(say("unanswered", unknown=units.count(verdict.unknown)))
    return sentences


def evidence_lines(breach: Breach, lang: Lang | None = None, say: Say = ENGLISH) -> list[str]:
    """Returns a breach for people: what it is, and the lines of the history."""
    message = ""
    if breach.number is not None:
        key = "message" if breach.producer is None else "message-of"
        message = say(key, number=breach.number, producer=breach.producer)
    reader = f" {breach.reader}:" if breach.reader else ""
    explained = say("explained") if breach.allowed_by is not None else ""
    return [
        f"{breach.promise}:{reader}{message} {spoken(breach.what, lang)}{explained}",
        *(f"  line {each.line}  {each.text}" for each in breach.excerpt),
    ]


def verdict_results(verdict: DrillVerdict, lang: Lang | None = None) -> tuple[CheckResult, ...]:
    """Returns one result for each promise that was looked at, and one for what could not be judged."""
    say = sayer(lang, "drill")
    results = [_result(each, verdict.breaches, lang) for each in verdict.promises if each.looked_at]
    if verdict.state is DrillState.NOT_JUDGED:
        results.append(
            CheckResult(
                check="judged",
                subject=sentence("topic-2", "topic {topic}", topic=verdict.topic),
                state=CheckState.UNKNOWN,
                message=" ".join(unjudged(verdict, say)).removesuffix("."),
            )
        )
    return tuple(results)


def _result(count: PromiseCount, breaches: Sequence[Breach], lang: Lang | None) -> CheckResult:
    say = sayer(lang, "drill")
    shown = [line for each in breaches if each.promise is count.promise for line in evidence_lines(each, lang, say)]
    numbers = {"broken": count.outside, "checked": count.looked_at, "explained": count.inside}
    summary = say(
        "result-explained" if count.inside else "result", **{name: units.count(each) for name, each in numbers.items()}
    )
    return CheckResult(
        check=count.promise,
        subject=f"drill {count.promise}",
        state=CheckState.CRITICAL if count.outside else CheckState.OK,
        message=summary + (f"; {'; '.join(shown)}" if count.outside else ""),
        value=count.outside,
    )


def verdict_formatted(verdict: DrillVerdict, form: CheckFormat, lang: Lang | None = None) -> str:
    """Returns the verdict in the words of a CI system or a monitor, with a final line end."""
    return formatted(verdict_results(verdict, lang), _STATES[verdict.state], form, "mqctl drill")
