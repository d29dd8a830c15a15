"""MQ32x: what the threads of a consumer do, where a snapshot has its stacks.

The judging is in `mqctl.diagnosis.stack_verdicts`, which is imported when there are stacks to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqctl.diagnosis.audience import ONLINE
from mqctl.diagnosis.rule import ClusterCase, Verdict, cluster_rule
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part

if TYPE_CHECKING:
    from mqctl.stacks.verdict import StackVerdict

_STACKS = (Part.MEMBERS, Part.RUNNING_INFO, Part.STACKS)


def _of(case: ClusterCase, code: str) -> Iterator[Verdict]:
    return (verdict_about(client, verdict) for client, verdict in case.stack_verdicts if verdict.code == code)


def verdict_about(client: str, verdict: StackVerdict) -> Verdict:
    """Returns what the stacks of the instance `client` mean, as a rule says it."""
    return Verdict(
        subject=Subject(kind=SubjectKind.CLIENT, group=verdict.group, client=client),
        params={"group": verdict.group, "client": client, **verdict.params},
        evidence=verdict.evidence,
        severity=verdict.severity,
        confidence=verdict.confidence,
        variant=verdict.variant,
    )


@cluster_rule(
    "MQ320", Severity.FATAL, source="ConsumeMessageService", needs=_STACKS, playbook="stuck-consumer", groups=ONLINE
)
def deadlock(case: ClusterCase) -> Iterator[Verdict]:
    """Consume threads that wait for each other."""
    return _of(case, "MQ320")


@cluster_rule(
    "MQ321", Severity.ERROR, source="ConsumeMessageService", needs=_STACKS, playbook="stuck-consumer", groups=ONLINE
)
def lock_wait(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads wait for a lock."""
    return _of(case, "MQ321")


@cluster_rule(
    "MQ322", Severity.ERROR, source="ConsumeMessageService", needs=_STACKS, playbook="stuck-consumer", groups=ONLINE
)
def slow_downstream(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads wait for something outside the process."""
    return _of(case, "MQ322")


@cluster_rule(
    "MQ323", Severity.ERROR, source="ConsumeMessageService", needs=_STACKS, playbook="stuck-consumer", groups=ONLINE
)
def own_waiting(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads sleep, or wait for other threads."""
    return _of(case, "MQ323")


@cluster_rule(
    "MQ324", Severity.WARNING, source="ConsumeMessageService", needs=_STACKS, playbook="stuck-consumer", groups=ONLINE
)
def own_work(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads are all at work inside the process."""
    return _of(case, "MQ324")


@cluster_rule(
    "MQ325", Severity.WARNING, source="MessageQueueLock", needs=_STACKS, playbook="stuck-consumer", groups=ONLINE
)
def queue_lock_wait(case: ClusterCase) -> Iterator[Verdict]:
    """Orderly consume threads that wait for a queue which another thread of theirs has."""
    return _of(case, "MQ325")


@cluster_rule(
    "MQ326", Severity.WARNING, source="ConsumeMessageService", needs=_STACKS, playbook="stuck-consumer", groups=ONLINE
)
def unknown_standstill(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads stand in something that no rule knows."""
    return _of(case, "MQ326")


@cluster_rule("MQ327", Severity.ERROR, source="ProcessQueue", needs=_STACKS, playbook="stuck-consumer", groups=ONLINE)
def idle_behind(case: ClusterCase) -> Iterator[Verdict]:
    """A pool with threads to spare although its consumer is behind."""
    return _of(case, "MQ327")


@cluster_rule(
    "MQ328",
    Severity.WARNING,
    source="ConsumeMessageConcurrentlyService",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
)
def missing_threads(case: ClusterCase) -> Iterator[Verdict]:
    """Fewer consume threads than configured while messages wait for them."""
    return _of(case, "MQ328")
