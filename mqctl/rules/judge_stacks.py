"""Judges the stacks that a command took, as the rules MQ32x judge those of a snapshot."""

from __future__ import annotations

from mqctl.model.finding import Evidence, Finding
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.stack_look import StackEvidence, StackInstance
from mqctl.rules.engine.rule import RULES
from mqctl.rules.mq3.threads import verdict_about
from mqctl.stacks.classify import Classifier
from mqctl.stacks.group import StackReport, report_threads
from mqctl.stacks.processes import told_once
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
    seen = [instance for instance in evidence.instances if instance.dumps]
    reports = [report_threads(instance.dumps, judge) for instance in seen]
    verdicts: list[list[StackVerdict]] = []
    for instance, report in zip(seen, reports, strict=True):
        facts = ConsumerFacts(
            now_ms=evidence.now_ms,
            info=instance.info,
            earlier=instance.earlier,
            lags=evidence.lags,
            earlier_lags=evidence.earlier_lags,
        )
        verdicts.append(verdict(report, facts))
    return [
        JudgedInstance(
            instance=instance, report=report, findings=tuple(finding(item, instance.source) for item in items)
        )
        for instance, report, items in zip(seen, reports, told_once(seen, verdicts), strict=True)
    ]
