"""MQ4 as far as rates go: a backlog that never ends, or ends after retention has deleted it."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.backlog_advice import BacklogAdvice, Effect, backlog_advice
from mqctl.diagnosis.backlog_rates import Outlook
from mqctl.diagnosis.registry import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part

_OFFSETS = (Part.CONSUMER_OFFSETS, Part.QUEUES, Part.MEMBERS, Part.RUNNING_INFO)


@cluster_rule("MQ414", Severity.FATAL, source="4.3", needs=_OFFSETS, playbook="backlog")
def endless_backlog(case: ClusterCase) -> Iterator[Verdict]:
    """A group that consumes more slowly than messages arrive, or too slowly for the retention of what waits.

    One that does not move at all is the matter of MQ309 and MQ410.
    """
    earlier = case.snapshot.earlier
    window_ms = case.now_ms - earlier.origin.observed_at_ms if earlier else 0
    if window_ms < case.settings.scaled(case.settings.drain_window_ms):
        return
    settling = {view.group for view in case.views if case.settling(view)}
    for advice in backlog_advice(case.snapshot, case.settings):
        moving = any(flow.behind and flow.out_tps for flow in advice.queues)
        if not moving or advice.group in settling:
            continue
        if advice.drain.outlook is Outlook.NEVER:
            yield _verdict(advice, window_ms, "never", Severity.ERROR)
        elif advice.loses and advice.drain.outlook is Outlook.DRAINS:
            yield _verdict(advice, window_ms, "late", Severity.FATAL)


def _verdict(advice: BacklogAdvice, window_ms: int, variant: str, severity: Severity) -> Verdict:
    helping = [item.what for item in advice.remedies if item.effect is Effect.YES]
    return Verdict(
        subject=Subject(kind=SubjectKind.GROUP, group=advice.group, topic=advice.topic),
        params={
            "group": advice.group,
            "topic": advice.topic,
            "bound_word": advice.bound.value,
            "remedy_words": ",".join(helping) or "nothing",
        },
        evidence={
            "lag_count": advice.lag_count,
            "in_tps": round(advice.in_tps or 0.0, 1),
            "out_tps": round(advice.out_tps or 0.0, 1),
            "drain_ms": advice.drain.after_ms,
            "expires_in_ms": advice.expires_in_ms,
            "window_ms": window_ms,
        },
        variant=variant,
        severity=severity,
        confidence=Confidence.MEDIUM if advice.confidence is Confidence.HIGH else Confidence.LOW,
    )
