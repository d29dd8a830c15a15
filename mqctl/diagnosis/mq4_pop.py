"""MQ4 of groups that pop (5.x): what was given out and does not come back."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.audience import EVERY, POPPED
from mqctl.diagnosis.rule import Case, Verdict, rule
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.pop_share import PopShare

_SWITCH = "enableRetryTopicV2"


def _share(case: Case, share: PopShare) -> Subject:
    return Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=share.group, topic=share.topic)


@rule(
    "MQ416",
    Severity.ERROR,
    source="PopReviveService",
    needs=(Part.POP,),
    playbook="stuck-consumer",
    groups=EVERY,
    topics=POPPED,
)
def revive_stands_still(case: Case) -> Iterator[Verdict]:
    """Popped messages are due for another try for long, and the broker does not put them into the retry topic."""
    for share in case.broker.pop:
        late_ms = 0 if share.oldest_due_ms is None else case.now_ms - share.oldest_due_ms
        if share.due_count and late_ms >= case.settings.scaled(case.settings.revive_late_ms):
            yield Verdict(
                subject=_share(case, share),
                params={"group": share.group, "topic": share.topic},
                evidence={"due_count": share.due_count, "late_ms": late_ms},
            )


@rule(
    "MQ417",
    Severity.ERROR,
    source="KeyBuilder.buildPopRetryTopic",
    needs=(Part.POP, Part.CONFIG),
    playbook="stuck-consumer",
    groups=EVERY,
    topics=POPPED,
)
def stranded_retries(case: Case) -> Iterator[Verdict]:
    """Retries in the topic of the second name, which no pop reads while the broker is set to the first."""
    if case.broker.config.get(_SWITCH) != "false":
        return
    for share in case.broker.pop:
        if share.retry_v2_count:
            yield Verdict(
                subject=_share(case, share),
                params={"group": share.group, "topic": share.topic},
                evidence={"stranded_count": share.retry_v2_count},
            )
