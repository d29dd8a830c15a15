"""The verdict of a diagnosis in a line or two, and once more where the first of them has left the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from mqctl.allocation.group_view import group_views, known_groups
from mqctl.model.finding import Severity
from mqctl.model.gap import Part
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.render.document import Document, Paragraphs
from mqctl.render.findings_alike import FindingRow, Told
from mqctl.render.severity_words import VERDICTS
from mqctl.text import key_of, printable, sentence
from mqctl.units import Count

_SCREEN = 45
"""Lines of a terminal, a prompt left out."""
_BESIDE_ROWS = 3  # of a table: an empty line, its title, its heads

SUMMARY = "doctor-summary"
"""Key of the line with the verdict."""
_FIRST = "doctor-first"


class JudgedReport(Protocol):
    """What of a report its summary tells."""

    @property
    def verdict(self) -> str: ...

    @property
    def rules_run(self) -> Sequence[str]: ...

    @property
    def not_judged(self) -> Sequence[object]: ...


def summary_lines(report: JudgedReport, pairs: Sequence[Sequence[Told]]) -> list[str]:
    """Returns the verdict, and of several findings what to do first."""
    verdict = sentence(
        "doctor-summary",
        "{verdict}: {findings:finding} from {rules:rule}, {gaps:,} not judged",
        verdict=VERDICTS[report.verdict],
        findings=Count(sum(map(len, pairs))),
        rules=Count(len(report.rules_run)),
        gaps=len(report.not_judged),
    )
    if len(pairs) < 2:
        return [verdict]
    worst = next((alike[0][0] for alike in pairs if not _can_wait(alike[0][0])), pairs[0][0][0])
    return [verdict, sentence("doctor-first", "first: {what}", what=printable(worst.next_command or worst.advice))]


def _can_wait(row: FindingRow) -> bool:
    """Tells whether nobody has to look now: of a group that nobody runs, or for information only."""
    return row.names.get("cause") == "offline" or Severity(row.severity).rank < Severity.WARNING.rank


def offline_line(snapshot: ClusterSnapshot, online: int) -> Iterable[str]:
    """Says how many groups have nobody online, where there are such and every broker told."""
    parts = {gap.part for broker in snapshot.brokers for gap in broker.unavailable}
    if parts & {Part.MEMBERS, Part.CONSUMER_OFFSETS, Part.GROUPS}:
        return
    offline = known_groups(snapshot) - {view.group for view in group_views(snapshot)}
    if offline:
        yield sentence(
            "doctor-consumer-groups-online-nobody",
            "consumer groups online: {online:,}; without members online: {offline:,}",
            online=online,
            offline=len(offline),
        )


def verdict_again(document: Document) -> Document:
    """Returns a diagnosis that is longer than a screen with its verdict, and what to do first, at its end, too."""
    head = document.blocks[0]
    lines = sum(
        len(block.lines) + 1 if isinstance(block, Paragraphs) else len(block.rows) + _BESIDE_ROWS
        for block in document.blocks
    )
    if lines <= _SCREEN or not isinstance(head, Paragraphs):
        return document
    place = next((number for number, line in enumerate(head.lines) if key_of(line) == SUMMARY), None)
    if place is None:
        return document
    again = [head.lines[place], *(line for line in head.lines[place + 1 : place + 2] if key_of(line) == _FIRST)]
    return replace(document, blocks=[*document.blocks, Paragraphs(again)])
