"""Part of a diagnosis: what concerns certain groups, topics and brokers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from mqctl.diagnosis.judging import Diagnosis
from mqctl.model.finding import Subject


def within(
    diagnosis: Diagnosis,
    *,
    groups: Collection[str] | None = None,
    topics: Collection[str] | None = None,
    brokers: Collection[str] | None = None,
) -> Diagnosis:
    """Leaves out what is about other groups, topics or brokers; None or nothing named leaves everything in.

    A finding stays when it names none of the kind: a full disk concerns every group.
    """

    def concerns(subject: Subject) -> bool:
        named = ((subject.group, groups), (subject.topic, topics), (subject.broker, brokers))
        return all(not chosen or name is None or name in chosen for name, chosen in named)

    return replace(
        diagnosis,
        findings=tuple(item for item in diagnosis.findings if concerns(item.subject)),
        not_judged=tuple(item for item in diagnosis.not_judged if concerns(item.subject)),
    )
