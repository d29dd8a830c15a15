"""Judges the stacks that a snapshot has, or that a command took: what the rules MQ32x say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqctl.diagnosis.rule import RULES, ClusterCase, Verdict
from mqctl.diagnosis.settings import Settings
from mqctl.model.dump import StackDump
from mqctl.model.finding import Evidence, Finding, Subject, SubjectKind
from mqctl.model.lag import queue_lags
from mqctl.model.member import RunningInfo
from mqctl.model.stack_look import StackEvidence, StackInstance
from mqctl.stacks.classify import Classifier
from mqctl.stacks.group import StackReport, group
from mqctl.stacks.parse import read_dumps
from mqctl.stacks.verdict import Held, StackLimits, StackVerdict, verdict


def finding(found: StackVerdict, client: str) -> Finding:
    """Returns a verdict about the instance `client` as a finding: severity and playbook are those of its rule."""
    made = _verdict(found, client)
    rule = RULES[found.code]
    return Finding(
        code=found.code,
        severity=made.severity or rule.severity,
        subject=made.subject,
        params=made.params,
        evidence=tuple(Evidence(name=name, value=value) for name, value in made.evidence.items()),
        confidence=made.confidence,
        playbook=rule.playbook,
        variant=made.variant,
    )


def _verdict(found: StackVerdict, client: str) -> Verdict:
    return Verdict(
        subject=Subject(kind=SubjectKind.CLIENT, group=found.group, client=client),
        params={"group": found.group, "client": client, **found.params},
        evidence=found.evidence,
        severity=found.severity,
        confidence=found.confidence,
        variant=found.variant,
    )


def _limits(settings: Settings) -> StackLimits:
    blocked_ms = settings.scaled(settings.blocked_ms)
    return StackLimits(
        blocked_ms=blocked_ms,
        pull_stopped_ms=settings.scaled(settings.pull_stopped_ms),
        lock_expired_ms=settings.scaled(settings.lock_expired_ms),
        behind_ms=blocked_ms,
        commit_ms=settings.scaled(StackLimits().commit_ms),
    )


def _dumps(info: RunningInfo, taken_at_ms: int) -> list[StackDump]:
    texts = [(info.stacks or "", taken_at_ms), *((later.text, later.taken_at_ms) for later in info.later_stacks)]
    return [dump for text, at_ms in texts for dump in read_dumps(text, source=info.client_id, taken_at_ms=at_ms)[:1]]


def judged(case: ClusterCase) -> list[tuple[str, Verdict]]:
    """Returns the verdicts about each instance whose stacks the snapshot has, each with its rule's code."""
    limits, classifier = _limits(case.settings), Classifier()
    lags = [row for broker in case.snapshot.brokers for row in queue_lags(broker, case.now_ms)]
    earlier = {(info.group, info.client_id): info for info in _earlier(case)}
    found: list[tuple[str, Verdict]] = []
    for info in case.snapshot.running:
        dumps = _dumps(info, case.now_ms) if info.stacks else []
        if dumps:
            held = Held(
                now_ms=case.now_ms,
                info=info,
                earlier=earlier.get((info.group, info.client_id)),
                lags=[row for row in lags if row.group == info.group],
            )
            verdicts = verdict(group(dumps, classifier), held, limits)
            found += [(item.code, _verdict(item, info.client_id)) for item in verdicts]
    return found


def _earlier(case: ClusterCase) -> Sequence[RunningInfo]:
    return case.snapshot.earlier.running if case.snapshot.earlier else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedInstance:
    """One instance with its stacks put together, and what is wrong with it."""

    instance: StackInstance
    report: StackReport
    findings: tuple[Finding, ...]


def judge_evidence(evidence: StackEvidence, classifier: Classifier | None = None) -> list[JudgedInstance]:
    """Judges all instances whose stacks were seen: any lag counts, who asks for stacks wants to know about it."""
    judge = classifier or Classifier()
    found: list[JudgedInstance] = []
    for instance in evidence.instances:
        if not instance.dumps:
            continue
        report = group(instance.dumps, judge)
        held = Held(
            now_ms=evidence.now_ms,
            info=instance.info,
            earlier=instance.earlier,
            lags=evidence.lags,
            earlier_lags=evidence.earlier_lags,
        )
        findings = tuple(finding(item, instance.source) for item in verdict(report, held))
        found.append(JudgedInstance(instance=instance, report=report, findings=findings))
    return found
