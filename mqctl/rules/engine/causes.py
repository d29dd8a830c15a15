"""Why groups are behind that a rule found behind: what bounds them, as `group lag --advise` computes it.

A cause is told where what members say carries it, and left out otherwise: a guess would be taken for a finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mqctl.allocation.group_view import group_views
from mqctl.lag.advice import BacklogAdvice, backlog_advice
from mqctl.lag.bound import Bound
from mqctl.model.finding import Evidence, Finding, Value
from mqctl.model.gap import Part
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.thresholds import Settings

BEHIND = "MQ401"


def with_causes(findings: Iterable[Finding], snapshot: ClusterSnapshot, settings: Settings) -> list[Finding]:
    """Adds to findings about groups that are behind why they are, where that is known."""
    listed = list(findings)
    behind = {(item.subject.group or "", item.subject.topic or "") for item in listed if item.code == BEHIND}
    if not behind or snapshot.origin.kind is not OriginKind.LIVE:
        return listed
    members_known = knows_members(snapshot)
    now_ms = snapshot.origin.observed_at_ms
    settling = {view.group for view in group_views(snapshot) if view.settling(now_ms, settings)}
    advices = {(item.group, item.topic): item for item in backlog_advice(snapshot, settings, only=behind)}
    return [
        _with_cause(
            item, advices.get((item.subject.group or "", item.subject.topic or "")), members_known=members_known
        )
        if item.code == BEHIND and item.subject.group not in settling
        else item
        for item in listed
    ]


def knows_members(snapshot: ClusterSnapshot) -> bool:
    """Tells whether every broker said who is online: only then is nobody online where nobody is known."""
    gaps = [*snapshot.unavailable, *(gap for broker in snapshot.brokers for gap in broker.unavailable)]
    return bool(snapshot.brokers) and not any(gap.part is Part.MEMBERS for gap in gaps)


def cause_of(advice: BacklogAdvice, *, members_known: bool) -> str | None:
    """Returns the cause of a backlog as the phrase `cause_<it>` tells it; None where the evidence carries none.

    Args:
        members_known: whether every broker said who is online.
    """
    if advice.bound is Bound.NOBODY:
        nobody = "offline" if members_known else None
        unowned = "popped" if advice.consume_mode == "POP" else "orphans"
        return unowned if advice.member_count else nobody
    if advice.bound in (Bound.NONE, Bound.UNKNOWN):
        return None
    if advice.bound is Bound.LISTENER and advice.is_stuck:
        return "stuck"
    if advice.bound is Bound.LISTENER and not advice.is_busy:
        return "paused"
    if advice.bound is Bound.LISTENER and advice.consume_ms is None:
        return None
    return advice.bound.value


def _with_cause(finding: Finding, advice: BacklogAdvice | None, *, members_known: bool) -> Finding:
    cause = cause_of(advice, members_known=members_known) if advice is not None else None
    if advice is None or cause is None:
        return finding
    numbers = numbers_of(advice)
    evidence = tuple(Evidence(name=name, value=value) for name, value in numbers.items() if value is not None)
    return replace(finding, params={**finding.params, "cause": cause}, evidence=(*finding.evidence, *evidence))


def numbers_of(advice: BacklogAdvice) -> dict[str, Value]:
    """Returns what the sentences about causes need, named by their units."""
    return {
        "member_count": advice.member_count,
        "thread_count": advice.thread_count,
        "consume_ms": None if advice.consume_ms is None else round(advice.consume_ms),
        "consumed_tps": None if advice.consumed_tps is None else round(advice.consumed_tps, 1),
    }
