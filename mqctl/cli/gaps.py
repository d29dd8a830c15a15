"""Answers with gaps: what a read command shows, says on stderr and ends with when not everything could be asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mqctl.cli.emit import Output, emit, tell
from mqctl.errors import ExitCode
from mqctl.model.gap import Cause, Gap, exit_code_of, remedies_of
from mqctl.model.remark import on_one_line
from mqctl.render.document import Document
from mqctl.text import composed, joined, sentence

_SUBJECTS_NAMED = 5
_LINES = 12


def answer(document: Document, gaps: Sequence[Gap], output: Output, *, minor: Sequence[Gap] = ()) -> ExitCode:
    """Shows an answer, says what is not in it, and returns the exit code of a read command.

    Args:
        minor: gaps that leave alone what was asked for: they are said, and are no failure.
    """
    if not gaps and not minor:
        emit(document, output)
        return ExitCode.OK
    emit(document.with_gaps(gaps), output)
    return tell_gaps(gaps, minor=minor)


def tell_gaps(gaps: Sequence[Gap], *, minor: Sequence[Gap] = (), lister: str = "") -> ExitCode:
    """Says on stderr what could not be asked and what helps, and returns the exit code of a read command.

    Args:
        lister: the command that lists all of very many.
    """
    for line in gap_lines((*gaps, *minor), lister=lister):
        tell(composed("mqctl: {line}", line=line))
    tell_remedies((*gaps, *minor))
    return exit_code_of(gaps)


def tell_remedies(gaps: Iterable[Gap]) -> None:
    """Says what helps against gaps that are shown elsewhere."""
    for remedy in remedies_of(gaps):
        tell(sentence("remedy-line", "  next: {remedy}", remedy=remedy))


def gap_lines(gaps: Iterable[Gap], *, lister: str = "") -> list[str]:
    """Returns what could not be asked in words, a line for each broker and reason; of very many the first."""
    alike: dict[tuple[str | None, str], list[Gap]] = {}
    for gap in gaps:
        alike.setdefault((gap.broker, gap.reason), []).append(gap)
    lines = [_line(broker, reason, gaps_alike) for (broker, reason), gaps_alike in alike.items()]
    more = len(lines) - _LINES
    if more <= 1:
        return lines
    rest = sentence(
        "cli-more-not-read-other",
        "and more was not read, for {more:,} other reasons{lister}",
        more=more,
        lister=sentence("cli-lists-all", ": {lister} lists all", lister=lister) if lister else "",
    )
    return [*lines[:_LINES], rest]


def _line(broker: str | None, reason: str, gaps: Sequence[Gap]) -> str:
    parts = tuple(dict.fromkeys(gap.part for gap in gaps))
    subjects = list(dict.fromkeys(str(gap.subject) for gap in gaps if gap.subject))
    named = joined(", ", subjects[:_SUBJECTS_NAMED])
    if len(subjects) > _SUBJECTS_NAMED:
        named += sentence("cli-more", " and {names:,} more", names=len(subjects) - _SUBJECTS_NAMED)
    where = joined(" ", filter(None, (on_one_line(broker) if broker else "", named)))
    if gaps[0].cause is Cause.UNPROVEN:
        return sentence(
            "cli-not-checked", "{parts} ({where}) not checked: {reason}", parts=parts, where=where, reason=reason
        )
    return (
        sentence("cli-not-read-parts", "{parts} ({where}) not read: {reason}", parts=parts, where=where, reason=reason)
        if where
        else sentence("cli-not-read", "{parts} not read: {reason}", parts=parts, reason=reason)
    )
