"""Judges the stacks that a command took, as the rules MQ32x judge those of a snapshot."""

from __future__ import annotations

from dataclasses import dataclass

from mqctl.diagnosis.mq3_threads import verdict_about
from mqctl.diagnosis.rule import RULES
from mqctl.model.finding import Evidence, Finding
from mqctl.model.stack_look import StackEvidence, StackInstance
from mqctl.stacks.classify import Classifier
from mqctl.stacks.group import StackReport, report_threads
from mqctl.stacks.verdict import ConsumerFacts, StackVerdict, verdict


def finding(verdict: StackVerdict, client: str) -> Finding:
    """Returns a verdict about the instance `client` as a finding: severity and playbook are those of its rule."""
    made = verdict_about(client, verdict)
    rule = RULES[verdict.code]
    return Finding(
        code=verdict.code,
        severity=made.severity or rule.severity,
        subject=made.subject,
        params=made.params,
        evidence=tuple(Evidence(name=name, value=value) for name, value in made.evidence.items()),
        confidence=made.confidence,
        playbook=rule.playbook,
        variant=made.variant,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedInstance:
    """One instance with its stacks put together, and what is wrong with it."""

    instance: StackInstance
    report: StackReport
    findings: tuple[Finding, ...]


def judge_evidence(evidence: StackEvidence, classifier: Classifier | None = None) -> list[JudgedInstance]:
    """Judges all instances whose stacks were seen: any lag counts, who asks for stacks wants to know about it."""
    judge = classifier or Classifier()
    judged: list[JudgedInstance] = []
    for instance in evidence.instances:
        if not instance.dumps:
            continue
        report = report_threads(instance.dumps, judge)
        facts = ConsumerFacts(
            now_ms=evidence.now_ms,
            info=instance.info,
            earlier=instance.earlier,
            lags=evidence.lags,
            earlier_lags=evidence.earlier_lags,
        )
        findings = tuple(finding(item, instance.source) for item in verdict(report, facts))
        judged.append(JudgedInstance(instance=instance, report=report, findings=findings))
    return judged
