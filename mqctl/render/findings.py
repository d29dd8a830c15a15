"""Diagnoses as text: one block a finding, worst first."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mqctl import units
from mqctl.allocation.group_view import group_views
from mqctl.model.command_line import command_line, shell_words
from mqctl.model.finding import Finding, NotJudged
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.origin import OriginKind
from mqctl.model.past import RecordedPast
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.backlog_lines import LINE_COLUMNS, BacklogLine, backlog_line
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.finding_texts import evidence_text, sentences
from mqctl.render.findings_alike import (
    FindingRow,
    Told,
    alike_block,
    by_rule,
    indented,
    label,
    labelled,
    of_all_brokers,
    with_mode,
)
from mqctl.render.recorded import recorded_lines
from mqctl.render.severity_words import VERDICTS
from mqctl.render.standing import standing_lines
from mqctl.render.summary import offline_line, summary_lines
from mqctl.render.unjudged import NotJudgedCause, not_judged_causes, unproven_lines
from mqctl.rules.engine.playbooks import arguments
from mqctl.rules.engine.why_words import reason
from mqctl.text import Word, argv_of, composed, keep_texts, plain_values, printable, sentence

if TYPE_CHECKING:
    from mqctl.lag.advice import BacklogAdvice
    from mqctl.rules import Diagnosis
    from mqctl.rules.engine.coverage import Covered
    from mqctl.rules.engine.known import KnownState

FINDING_COLUMNS = (
    Column("severity", "severity", CellKind.SEVERITY),
    Column("code", "code"),
    Column("subject", "subject"),
    Column("what", "what is wrong"),
)
_SILENCED_COLUMNS = (
    Column("code", "rule"),
    Column("subject", "about"),
    Column("reason", "why accepted"),
    Column("until", "until"),
)
_NOT_JUDGED_COLUMNS = (Column("codes", "rule"), Column("subject", "about"), Column("reason", "why not"))
_COVERED_COLUMNS = (Column("names", "group"), Column("reason", "reason"))
_CODES_NAMED = 3
_OF_ITS_OWN = 2
"""Lines of a finding that say which it is and what is wrong; effect and advice follow."""
_NAME_LENGTH = 40

_SOURCE_OPTIONS = {OriginKind.DELAY_FILE: "--file", OriginKind.STORE: "--store", OriginKind.LIVE: "--namesrv"}
_LIVE_OPTIONS = ("--namesrv", "--profile")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudgedRow:
    """A rule that could not be judged.

    Attributes:
        causes: of the gaps in what it needs; none where the rule itself says why.
        key, values: of the reason.
    """

    code: str
    subject: str
    reason: str
    causes: list[str]
    key: str
    values: dict[str, Any]


def _not_judged_row(item: NotJudged) -> NotJudgedRow:
    causes = sorted({str(gap.cause) for gap in item.gaps})
    why = reason(item.why, item.more_count)
    return NotJudgedRow(
        code=item.code,
        subject=str(item.subject),
        reason=why,
        causes=causes,
        key=str(item.why.reason),
        values=plain_values(item.why.values),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudgedLine:
    """Rules that could not be judged about one thing for one reason: a broker that hangs keeps eighty from it."""

    codes: str
    subject: str
    reason: str


def not_judged_lines(items: Iterable[NotJudged]) -> list[NotJudgedLine]:
    """Returns a line for each reason and set of rules; of many rules and subjects the first, and how many more.
    Machines get all."""
    alike: dict[tuple[str, str], list[str]] = {}
    for item in items:
        alike.setdefault((str(item.subject), reason(item.why)), []).append(item.code)
    subjects: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (subject, gaps_alike), codes in alike.items():
        subjects.setdefault((gaps_alike, tuple(dict.fromkeys(codes))), []).append(subject)
    return [
        NotJudgedLine(codes=_some(list(codes)), subject=_some(names), reason=gaps_alike)
        for (gaps_alike, codes), names in subjects.items()
    ]


def _some(codes: list[str]) -> str:
    codes = [code if len(code) <= _NAME_LENGTH else f"{code[: _NAME_LENGTH - 1]}…" for code in codes]
    more = len(codes) - _CODES_NAMED
    return ", ".join(codes) if more <= 1 else f"{', '.join(codes[:_CODES_NAMED])} +{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredRow:
    """How far one group was judged: `yes`, `partly` or `no`, and by how many rules it was not."""

    kind: str
    name: str
    judged: str
    reason: str | None
    rules_left_out: int
    consume_mode: str | None = None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "reason")


def _covered_row(item: Covered, modes: Mapping[str, str]) -> CoveredRow:
    return CoveredRow(
        kind=item.kind,
        name=item.name,
        judged=item.judged,
        reason=reason(item.why, item.more_count) if item.why is not None else None,
        rules_left_out=item.rules,
        consume_mode=modes.get(item.name) if item.kind == "group" else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredLine:
    """Groups that were not judged wholly, for one reason."""

    names: str
    reason: str


def covered_lines(rows: Iterable[CoveredRow], gaps: Iterable[NotJudgedRow]) -> list[CoveredLine]:
    """Returns a line for each reason that the lines of what is not judged do not tell already."""
    reasons = {gap.reason for gap in gaps}
    alike: dict[str, list[str]] = {}
    for row in rows:
        if row.reason is not None and row.reason not in reasons:
            alike.setdefault(row.reason, []).append(with_mode(row.name, row.consume_mode))
    return [CoveredLine(names=_some(names), reason=why) for why, names in alike.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class SilencedRow:
    """A finding that was set aside, because its state is known and accepted."""

    code: str
    subject: str
    reason: str
    until: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisReport:
    """Machine form of `doctor` and the checks.

    Attributes:
        not_judged_causes: the same as `not_judged`, each cause once with all rules that it kept from judging.
        covered: how far each group with members or offsets was judged; empty for a store.
        online_group_count: consumer groups with members to judge; None where the source cannot show any, or no rule
            asked.
        movements: how groups moved between two looks; empty after one.
        past: of a recording, what was recorded before the moment, and where it has gaps.
        time_scale: how many times shorter than RocketMQ's own the periods of the cluster and the rules' windows are.
    """

    source: str
    observed_at_ms: int
    verdict: str
    findings: list[FindingRow]
    not_judged: list[NotJudgedRow]
    rules_run: list[str]
    not_judged_causes: list[NotJudgedCause] = field(default_factory=list)
    silenced: list[SilencedRow] = field(default_factory=list)
    covered: list[CoveredRow] = field(default_factory=list)
    online_group_count: int | None = None
    movements: list[BacklogLine] = field(default_factory=list)
    time_scale: float = 1.0
    past: RecordedPast | None = None


def _online_groups(snapshot: ClusterSnapshot, diagnosis: Diagnosis) -> int | None:
    from mqctl.rules import RULES

    gathered = any(Part.MEMBERS in RULES[code].needs for code in diagnosis.rules_run)
    return len(group_views(snapshot)) if gathered and snapshot.origin.kind is OriginKind.LIVE else None


def source_option(snapshot: ClusterSnapshot) -> str:
    """Returns the option that names a snapshot's source, for commands to type next."""
    origin = snapshot.origin
    if origin.archive:
        return shell_words(["--snapshot", origin.archive])
    return shell_words([_SOURCE_OPTIONS[origin.kind], origin.location])


def playbook_command(finding: Finding, source: str) -> str | None:
    """Returns the command line that runs a finding's playbook with what the finding tells, or shows it where only a
    snapshot is at hand; None without a playbook."""
    if finding.playbook is None:
        return None
    where = shlex.split(source)
    option, place = (*where, "", "")[:2]  # stacks of this machine have no option
    if option == "--snapshot":  # whoever reads one may have no cluster to run it on
        return command_line("mqctl playbook show {}", finding.playbook)
    parameters = arguments(finding, place if option == "--store" else None)
    words = [word for name, value in parameters.items() for word in ("-p", f"{name}={value or name.upper()}")]
    return command_line(
        "mqctl playbook run {} {} {}", finding.playbook, words, where if option in _LIVE_OPTIONS else []
    )


def finding_row(finding: Finding, source: str, modes: Mapping[str, str] = MappingProxyType({})) -> FindingRow:
    """Joins a finding with its sentences in `lang`.

    Args:
        source: the option that names the evidence.
        modes: how groups consume, by name.
    """
    text = sentences(finding, source)
    evidence = {item.name: item.value for item in finding.evidence}
    playbook = playbook_command(finding, source)
    return FindingRow(
        code=finding.code,
        severity=str(finding.severity),
        subject=str(finding.subject),
        confidence=str(finding.confidence),
        playbook=finding.playbook,
        what=text.what,
        effect=text.effect,
        advice=text.advice,
        next_command=text.next_command,
        playbook_command=playbook,
        names=dict(finding.params),
        evidence=evidence,
        values=plain_values({**finding.params, **evidence}),
        consume_mode=modes.get(finding.subject.group or ""),
        key=f"{finding.code}.{finding.variant}" if finding.variant else finding.code,
        next_command_argv=argv_of(text.next_command),
        playbook_command_argv=argv_of(playbook),
        advice_argv=argv_of(text.advice_command),
    )


def _finding_blocks(
    apart: Sequence[Sequence[Told]], online: Collection[str] | None, source: str, *, explain: bool
) -> Iterable[Paragraphs]:
    lines: list[str] = []
    for alike, after in zip_longest(apart, apart[1:], fillvalue=()):
        if len(alike) > 1:
            yield alike_block(alike, online, source=source)
            continue
        row, finding = alike[0]
        goes_on = not explain and len(after) == 1 and row.same_words(after[0][0])
        block = finding_block(row, finding, explain)
        lines += block.lines[:_OF_ITS_OWN] if goes_on else block.lines
        if not goes_on:
            yield Paragraphs(lines, severity=row.severity)
            lines = []


def diagnosis_document(
    snapshot: ClusterSnapshot,
    diagnosis: Diagnosis,
    *,
    explain: bool,
    source: str | None = None,
    schema: str = "doctor/1",
    silenced: Sequence[tuple[Finding, KnownState]] = (),
    backlogs: Sequence[BacklogAdvice] = (),
    time_scale: float = 1.0,
    covered: Sequence[Covered] = (),
    groups: Sequence[str] = (),
) -> Document:
    """Builds the document of a diagnosis: a headline, the findings in words, what moves, what could not be judged.

    Args:
        source: the options that lead to the evidence, for commands to type next; those of the snapshot if not given.
        groups: those that were named: where they stand is told in any case.
    """
    source = source or source_option(snapshot)
    modes = snapshot.consume_modes()
    rows = [finding_row(finding, source, modes) for finding in diagnosis.findings]
    not_judged = [_not_judged_row(item) for item in diagnosis.not_judged]
    report = DiagnosisReport(
        source=snapshot.origin.location,
        observed_at_ms=snapshot.origin.observed_at_ms,
        verdict=diagnosis.verdict,
        findings=rows,
        not_judged=not_judged,
        not_judged_causes=not_judged_causes(diagnosis.not_judged),
        rules_run=list(diagnosis.rules_run),
        online_group_count=_online_groups(snapshot, diagnosis),
        silenced=[
            SilencedRow(
                code=finding.code, subject=str(finding.subject), reason=state.reason, until=state.until.isoformat()
            )
            for finding, state in silenced
        ],
        time_scale=time_scale,
        past=snapshot.past,
        covered=[_covered_row(item, modes) for item in covered],
    )
    report.movements.extend(map(backlog_line, backlogs))
    pairs = list(zip(rows, diagnosis.findings, strict=True))
    apart = [[item] for item in pairs] if explain else _joined(snapshot, pairs, source)
    headline = [
        *_headline(snapshot, report, apart, groups),
        *unproven_lines(diagnosis.not_judged, len(diagnosis.rules_run)),
        *standing_lines(snapshot, groups, source),
    ]
    blocks: list[Table | Paragraphs] = [Paragraphs(headline)]
    online = None if report.online_group_count is None else {view.group for view in group_views(snapshot)}
    blocks += _finding_blocks(apart, online, source, explain=explain)
    moving = [line for line in report.movements if line.movement != "ok"]
    if moving:
        blocks.append(
            Table(
                LINE_COLUMNS,
                moving,
                title=sentence("doctor-groups-behind-between-two", "Groups that are behind, between the two samples"),
            )
        )
    if report.silenced:
        blocks.append(
            Table(_SILENCED_COLUMNS, report.silenced, title=sentence("doctor-known-accepted", "Known and accepted"))
        )
    if lines := not_judged_lines(diagnosis.not_judged):
        blocks.append(
            Table(_NOT_JUDGED_COLUMNS, lines, title=sentence("doctor-could-not-checked", "Could not be checked"))
        )
    if partly := covered_lines(report.covered, not_judged):
        blocks.append(Table(_COVERED_COLUMNS, partly, title=sentence("doctor-partly-judged", "Only partly judged")))
    return Document(schema=schema, value=report, records=rows, csv_columns=FINDING_COLUMNS, blocks=blocks)


def _joined(snapshot: ClusterSnapshot, pairs: Sequence[Told], source: str) -> list[list[Told]]:
    """Returns what is told in one block each; one group on several brokers is one finding to people."""
    rows_of = {id(finding): row for row, finding in pairs}
    modes = snapshot.consume_modes()
    whole = of_all_brokers([finding for _, finding in pairs])
    joined = [(rows_of.get(id(one)) or finding_row(one, source, modes), one) for one in whole]
    return by_rule(joined, {view.group for view in group_views(snapshot)})


def _headline(
    snapshot: ClusterSnapshot,
    report: DiagnosisReport,
    pairs: Sequence[Sequence[Told]],
    groups: Sequence[str],
) -> Iterable[str]:
    origin = snapshot.origin
    yield sentence(
        "doctor-judged",
        "{source}, judged as of {time_ms}",
        source=origin.location,
        time_ms=origin.observed_at_ms,
    )
    if snapshot.past is not None:
        yield from recorded_lines(snapshot.past)
    names = sorted({item.name for view in snapshot.name_servers for item in view.endpoints})
    if names:
        # Named, so that whoever knows the cluster sees which one is missing, also at the first look ever.
        yield sentence(
            "doctor-brokers",
            "{brokers:broker}: {names}",
            brokers=units.Count(len(names)),
            names=[printable(name) for name in names],
        )
    yield from summary_lines(report, pairs)
    if not groups and report.online_group_count:
        yield from offline_line(snapshot, report.online_group_count)
    if report.time_scale != 1:
        yield sentence(
            "doctor-time-scale",
            "Time scale {scale:.4g}: a minute of clients, brokers and rules is {minute_ms} here.",
            scale=report.time_scale,
            minute_ms=round(60_000 / report.time_scale),
        )
    if report.online_group_count == 0 and not groups:
        yield sentence(
            "doctor-no-consumer-group-members",
            "No consumer group has members online: rules about members had nothing to check.",
        )


def finding_block(row: FindingRow, finding: Finding, explain: bool) -> Paragraphs:  # noqa: FBT001
    """Builds the paragraph of one finding; `explain` adds its evidence."""
    lines = [
        composed("{severity}  {code}  {about}", severity=VERDICTS[row.severity], code=row.code, about=row.about),
        indented(row.what),
        *labelled(row),
    ]
    if explain:
        lines.append(label("confidence", Word(row.confidence)))
        lines += map(indented, evidence_text(finding))
    return Paragraphs([printable(line) for line in lines], severity=row.severity)
