"""What consume threads do, as tables that fit a small terminal, and as a machine form with every stack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from mqctl.commands.stacks.rows import PoolRow, StackGroupRow, StackInstanceRow, instance_row
from mqctl.model.counts import counted
from mqctl.model.finding import Finding
from mqctl.model.gap import Gap
from mqctl.model.lang import Lang
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said, said
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.render.findings import finding_block, finding_row
from mqctl.render.findings_alike import FindingRow, with_mode
from mqctl.rules.judge_stacks import JudgedInstance
from mqctl.stacks.names import Role
from mqctl.stacks.processes import members_of_one_process
from mqctl.stacks.rules import StackClass
from mqctl.text import Word, composed, printable, sentence

_LINE_WIDTH = 44
_SHOWN_CALLS = 8
_SHOWN_SOURCES = 3
_SHOWN_ROWS = 12
_SHOWN_POOLS = 4
COLUMNS = (
    Column("thread_count", "threads", CellKind.COUNT),
    Column("does", "do", CellKind.WORDS),
    Column("motion", "motion", CellKind.WORDS, none="?"),
    Column("short_line", "frame", none="-"),
    Column("cpu_share", "cpu", CellKind.SHARE, wide=True, none="?"),
    Column("group", "group", wide=True, none="?"),
    Column("instance_count", "instances", CellKind.COUNT, wide=True),
    Column("rule", "by rule", wide=True),
    Column("line", "line", wide=True, none="-"),
    Column("owner", "lock held by", wide=True),
)
CSV_COLUMNS = (
    Column("source", "instance"),
    Column("role", "role"),
    Column("group", "group"),
    Column("thread_count", "threads"),
    Column("cls", "class"),
    Column("phase", "phase"),
    Column("rule", "rule"),
    Column("motion", "motion"),
    Column("cpu_share", "cpu"),
    Column("line", "line"),
    Column("owner", "owner"),
    Column("root", "root"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StackDumpReport:
    """Machine form of `stacks dump`."""

    observed_at_ms: int
    instances: list[StackInstanceRow]
    findings: list[FindingRow]
    unavailable: list[Gap]
    notes: list[str]
    keyed_notes: list[Said] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merged:
    """What threads of all instances do, for people."""

    thread_count: int
    does: str
    motion: str | None
    short_line: str | None
    cpu_share: float | None
    group: str | None
    instance_count: int
    rule: str
    line: str | None
    owner: str | None
    calls: list[str]
    cls: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StackView:
    """How stacks are shown.

    Attributes:
        source: the option that names the evidence, for commands to type next.
        everything: other threads than consume threads too.
        calls: the calls of every row, not only of those that no rule knows.
        explain: the evidence of findings.
    """

    lang: Lang | None = None
    source: str = ""
    everything: bool = False
    calls: bool = False
    explain: bool = False


def stack_document(
    judged: Sequence[JudgedInstance],
    view: StackView,
    *,
    observed_at_ms: int,
    unavailable: Sequence[Gap] = (),
    notes: Sequence[str] = (),
) -> Document:
    """Builds the document: what is wrong first, then what the threads do."""
    rows = [instance_row(item) for item in judged]
    findings = [item for one in judged for item in one.findings]
    findings.sort(key=lambda item: (-item.severity.rank, item.code))
    rows_of_findings = [_told(item, view) for item in findings]
    report = StackDumpReport(
        observed_at_ms=observed_at_ms,
        instances=rows,
        findings=rows_of_findings,
        unavailable=list(unavailable),
        notes=list(notes),
        keyed_notes=said(notes),
    )
    records = [group for row in rows for group in row.groups]
    shown = _one_a_process(judged, rows)
    return Document(
        schema="stacks.dump/1",
        value=report,
        records=records,
        csv_columns=CSV_COLUMNS,
        blocks=list(_blocks(shown, rows_of_findings, findings, view)),
    )


def _one_a_process(judged: Sequence[JudgedInstance], rows: Sequence[StackInstanceRow]) -> list[StackInstanceRow]:
    """Returns a row for each process: each of its members shows all of its threads, which people count once."""
    shown = []
    for places in members_of_one_process([item.instance for item in judged]):
        first = rows[places[0]]
        if len(places) > 1:
            names = ", ".join(rows[place].client_id or rows[place].source for place in places)
            first = replace(first, client_id=sentence("stacks-process", "{names} (one process)", names=names))
        shown.append(first)
    return shown


def _told(finding: Finding, view: StackView) -> FindingRow:
    """Joins a finding with its sentences. Without a group there is nothing to type next."""
    row = finding_row(finding, view.source)
    return row if finding.params.get("group") is not None else replace(row, next_command=None)


def _blocks(
    rows: Sequence[StackInstanceRow], finding_rows: Sequence[FindingRow], findings: Sequence[Finding], view: StackView
) -> Iterable[Table | Paragraphs]:
    """Yields what the threads do, then what is wrong: a screen of 80 by 24 holds the usual answer."""
    yield Paragraphs(list(_headline(rows, everything=view.everything)))
    merged = _merged(rows, everything=view.everything)
    kept = merged if view.everything or view.calls else merged[:_SHOWN_ROWS]
    yield Table(COLUMNS, kept, empty=sentence("empty-no-consume-thread-was-seen", "no consume thread was seen"))
    folded = merged[len(kept) :]
    if folded:
        hidden = sum(item.thread_count for item in folded)
        yield Paragraphs(
            [
                sentence(
                    "stacks-all-shows",
                    "and {folded} of {hidden} (--all shows them)",
                    folded=counted(len(folded), "more kind"),
                    hidden=counted(hidden, "thread"),
                )
            ]
        )
    if not view.calls and any(item.calls and item.cls != StackClass.IDLE for item in kept):
        yield Paragraphs(
            [sentence("stacks-frame-each-stack-shown", "one frame of each stack is shown; --calls shows all calls")]
        )
    for item in merged:
        if item.calls and (view.calls or item.cls == StackClass.UNKNOWN):
            yield Paragraphs(list(_calls(item, None if view.calls else _SHOWN_CALLS)), stored=True)
    yield from _finding_blocks(finding_rows, findings, view)


def _calls(item: _Merged, limit: int | None) -> Iterable[str]:
    kept = item.calls[:limit]
    yield sentence("stacks-does", "{does} at {short_line}:", does=Word(item.does), short_line=item.short_line or "-")
    yield from (f"    {call}" for call in kept)
    if len(kept) < len(item.calls):
        yield sentence(
            "stacks-more-calls-shows", "    ({calls} more, --calls shows them)", calls=len(item.calls) - len(kept)
        )


def _finding_blocks(rows: Sequence[FindingRow], findings: Sequence[Finding], view: StackView) -> Iterable[Paragraphs]:
    """Yields one paragraph a finding; the same one in other instances is only named, advice is given once a rule."""
    same: dict[tuple[str, str | None, str], list[str]] = {}
    for finding in findings:
        key = (finding.code, finding.variant, str(finding.params.get("group")))
        same.setdefault(key, []).append(finding.subject.client or "")
    advised: set[str] = set()
    for row, finding in zip(rows, findings, strict=True):
        clients = same.pop((finding.code, finding.variant, str(finding.params.get("group"))), None)
        if clients is None:
            continue
        block = finding_block(row, finding, view.explain)
        lines = list(block.lines) if row.code not in advised or view.explain else list(block.lines[:2])
        advised.add(row.code)
        if len(clients) > 1:
            lines.append(sentence("stacks-well", "  as well in {named}", named=_named(clients[1:])))
        yield Paragraphs(lines, severity=block.severity)


def _headline(rows: Sequence[StackInstanceRow], *, everything: bool) -> Iterable[str]:
    for row in rows[:_SHOWN_SOURCES]:
        span = (
            sentence("stacks-over", " over {span_ms}", span_ms=row.span_ms)
            if row.span_ms and row.dump_count > 1
            else ""
        )
        pause = (
            sentence("stacks-stopped-ms-each", ", stopped for {pause_ms} each", pause_ms=row.pause_ms)
            if row.pause_ms
            else ""
        )
        yield composed(
            "{name}: {tool}, {looks}{span}{pause}, {threads}{cut}",
            name=printable(row.client_id or row.source),
            tool=row.tool,
            looks=counted(row.dump_count, "dump"),
            span=span,
            pause=pause,
            threads=counted(row.thread_count, "thread"),
            cut=sentence("stacks-headline-incomplete", ", INCOMPLETE") if row.truncated else "",
        )
        for pool in row.pools[:_SHOWN_POOLS]:
            size = _size(pool)
            name = printable(
                with_mode(pool.group, row.consume_mode)
                if pool.group
                else sentence("stacks-consume-pool", "consume pool")
            )
            yield sentence(
                "stacks-idle",
                "  {name}: {counted}{size}, {idle_count} idle",
                name=name,
                counted=counted(pool.thread_count, "consume thread"),
                size=size,
                idle_count=pool.idle_count,
            )
            if pool.line and pool.line_count > 1:
                yield sentence(
                    "stacks-line-count",
                    "    {line_count:thread is/are} at {line}",
                    line_count=pool.line_count,
                    line=printable(pool.line),
                )
        if len(row.pools) > _SHOWN_POOLS:
            hidden = row.pools[_SHOWN_POOLS:]
            threads = sum(pool.thread_count for pool in hidden)
            yield sentence(
                "stacks-hidden",
                "  and {hidden} with {threads}",
                hidden=counted(len(hidden), "more group"),
                threads=counted(threads, "consume thread"),
            )
        counts = {
            role: sum(g.thread_count for g in row.groups if g.role == role)
            for role in (Role.CLIENT, Role.RUNTIME, Role.OTHER)
        }
        folded = [
            composed("{number:,} {role}", number=number, role=Word(role.value))
            for role, number in counts.items()
            if number
        ]
        if folded:
            yield (
                sentence("stacks-other-threads", "  other threads: {folded}", folded=folded)
                if everything
                else sentence(
                    "stacks-other-threads-all-shows", "  other threads: {folded} (--all shows them)", folded=folded
                )
            )
    if len(rows) > _SHOWN_SOURCES:
        others = rows[_SHOWN_SOURCES:]
        threads = sum(row.thread_count for row in others)
        yield sentence(
            "stacks-others",
            "and {others} with {threads}",
            others=counted(len(others), "more instance"),
            threads=counted(threads, "thread"),
        )


def _size(pool: PoolRow) -> str:
    if pool.configured_count is None:
        return ""
    if pool.thread_count > pool.configured_count:  # members of one process
        return sentence(
            "stacks-configured-each-member-process",
            ", {configured_count} configured for each member of the process",
            configured_count=pool.configured_count,
        )
    return sentence("stacks-configured", " of {configured_count} configured", configured_count=pool.configured_count)


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:_SHOWN_SOURCES])
    return shown if len(names) <= _SHOWN_SOURCES else f"{shown} (+{len(names) - _SHOWN_SOURCES})"


def _merged(rows: Sequence[StackInstanceRow], *, everything: bool) -> list[_Merged]:
    """Joins what threads of all instances do, as far as it reads the same."""
    parts: dict[tuple[object, ...], list[StackGroupRow]] = {}
    for row in rows:
        for item in row.groups:
            if item.role == Role.CONSUME or everything:
                key = (item.role, item.group, item.cls, item.phase, item.place, item.motion)
                parts.setdefault(key, []).append(item)
    merged = [_one(items) for items in parts.values()]
    roles = {id(made): items[0].role for made, items in zip(merged, parts.values(), strict=True)}
    order = [Role.CONSUME, Role.OTHER, Role.CLIENT, Role.RUNTIME]
    return sorted(
        merged,
        key=lambda made: (order.index(Role(roles[id(made)])), made.cls == StackClass.IDLE, -made.thread_count),
    )


def _one(items: Sequence[StackGroupRow]) -> _Merged:
    first = items[0]
    shares = [item.cpu_share for item in items if item.cpu_share is not None]
    place = first.place
    return _Merged(
        thread_count=sum(item.thread_count for item in items),
        does=f"{first.cls} {first.phase}" if first.phase else first.cls,
        motion=first.motion,
        short_line=_short(place) if place and first.cls != StackClass.IDLE else None,
        cpu_share=sum(shares) / len(shares) if shares else None,
        group=first.group,
        instance_count=len({item.source for item in items}),
        rule=first.rule,
        line=place,
        owner=first.root or first.owner,
        calls=first.calls,
        cls=first.cls,
    )


def _short(line: str) -> str:
    """Returns `Class.method(File:line)` of a line with packages, or less of it where that is too long."""
    name, bracket, where = line.partition("(")
    parts = name.split(".")
    for kept in (parts[-2:], parts[-1:]):
        text = ".".join(kept) + bracket + where
        if len(text) <= _LINE_WIDTH:
            return text
    return f"…{text[-(_LINE_WIDTH - 1) :]}"
