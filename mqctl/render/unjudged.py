"""Why rules were not judged, by cause: a broker that hangs keeps a hundred of them from it, and is one cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from mqctl.model.finding import NotJudged, Reason, Why
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.said import Said, said
from mqctl.rules.engine.why_words import reason
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJudgedCause:
    """One cause, and all rules that it kept from judging.

    Attributes:
        cause: why something could not be asked; null where rules themselves say why they did not judge.
        subjects: what was not judged, alike for each of them.
        reasons: in words, each once.
        parts: what could not be asked.
        codes: the rules.
    """

    cause: str | None
    subjects: list[str]
    reasons: list[str]
    parts: list[str]
    codes: list[str]
    keyed_reasons: list[Said] = field(default_factory=list)


@dataclass(slots=True)
class _Gathered:
    reasons: dict[str, None] = field(default_factory=dict)
    parts: set[str] = field(default_factory=set)
    codes: set[str] = field(default_factory=set)


def not_judged_causes(items: Iterable[NotJudged]) -> list[NotJudgedCause]:
    """Returns each cause once: by what it is about, and subjects together of which all is alike."""
    causes: dict[tuple[str, str | None, str], _Gathered] = {}
    for item in items:
        about = str(item.subject)
        if not item.gaps:
            words = reason(item.why)
            mine = causes.setdefault((about, None, words), _Gathered())
            mine.reasons[words] = None
            mine.codes.add(item.code)
        for gap in item.gaps:
            mine = causes.setdefault((about, gap.cause.value, ""), _Gathered())
            mine.reasons[gap.reason] = None
            mine.parts.add(gap.part.value)
            mine.codes.add(item.code)
    alike: dict[tuple[str | None, tuple[str, ...], tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (about, cause, _), mine in causes.items():
        key = cause, tuple(mine.reasons), tuple(sorted(mine.parts)), tuple(sorted(mine.codes))
        alike.setdefault(key, []).append(about)
    return [
        NotJudgedCause(
            cause=cause,
            subjects=subjects,
            reasons=list(reasons),
            parts=list(parts),
            codes=list(codes),
            keyed_reasons=said(reasons),
        )
        for (cause, reasons, parts, codes), subjects in alike.items()
    ]


def unproven_lines(items: Iterable[NotJudged], rule_count: int) -> list[str]:
    """Returns a line for each broker of a release that mqctl does not know: how many rules hold there all the same.

    Args:
        rule_count: how many rules were asked.
    """
    releases: dict[tuple[str, str], Why] = {}
    codes: dict[tuple[str, str], set[str]] = {}
    for item in items:
        if item.why.reason in (Reason.NEWER_RELEASE, Reason.ODD_RELEASE):
            place = str(item.subject), str(item.why.values["release"])
            releases[place] = item.why
            codes.setdefault(place, set()).add(item.code)
    return [
        sentence(
            "doctor-release-unknown",
            "{broker} runs {release}, which mqctl does not know (to {newest}): of {rules:rule}, {unchanged} hold on "
            "any release, and {unproven} were not tried there",
            broker=broker,
            release=release,
            newest=str(why.values["newest"]),
            unchanged=rule_count - len(codes[broker, release]),
            rules=rule_count,
            unproven=len(codes[broker, release]),
        )
        for (broker, release), why in releases.items()
    ]
