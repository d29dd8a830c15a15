"""Judging a snapshot by every rule that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from mqctl.errors import UsageError
from mqctl.model.command_line import command_line
from mqctl.model.finding import (
    Confidence,
    Evidence,
    Finding,
    NotJudged,
    Reason,
    Severity,
    Subject,
    SubjectKind,
    Value,
    Why,
)
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.origin import ObservedFrom, OriginKind
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.thresholds import Settings
from mqctl.rules.engine.audience import Audience, GroupKind
from mqctl.rules.engine.causes import with_causes
from mqctl.rules.engine.rule import Case, ClusterCase, Rule, Unknown, Verdict
from mqctl.rules.engine.unknown import UnknownKinds, changes_with_releases, of_broker
from mqctl.text import sentence

# What most faults bring along: messages that wait, come again or are dead. Causes as grave are told before them.
SYMPTOMS = frozenset({"MQ401", "MQ403", "MQ405", "MQ406", "MQ410", "MQ413", "MQ707"})

# A broker that is gone or silent takes along what it keeps: it is told first, whatever else is as grave or graver.
OUTAGES = frozenset({"MQ609", "MQ617", "MQ618", "MQ620"})

_TOLD_BY_BROKERS = frozenset({GroupKind.PROXY, GroupKind.BROADCASTING})
# Who says more of the same state of the same subject says it alone.
_SAID_BY = {"MQ720": ("MQ721", "MQ725"), "MQ721": ("MQ725",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All findings on a snapshot, worst first, and what could not be judged."""

    findings: tuple[Finding, ...]
    not_judged: tuple[NotJudged, ...]
    rules_run: tuple[str, ...]

    def exit_code(self, fail_on: Severity = Severity.WARNING) -> int:
        """Returns 0 fine, 1 warning, 2 error or worse, or 3 when nothing was found but evidence is missing.

        Args:
            fail_on: milder findings do not count.
        """
        worst = max(
            (item.severity.exit_code for item in self.findings if item.severity.rank >= fail_on.rank), default=0
        )
        return worst or (3 if self.not_judged else 0)

    @property
    def verdict(self) -> str:
        """`ok`, `unknown`, or the severity of the worst finding, from a warning on."""
        worst = max((item.severity for item in self.findings), key=lambda it: it.rank, default=Severity.INFO)
        if worst.exit_code:
            return str(worst)
        return "unknown" if self.not_judged else "ok"


def diagnose(
    snapshot: ClusterSnapshot,
    *,
    only: tuple[str, ...] = (),
    skip: tuple[str, ...] = (),
    settings: Settings | None = None,
) -> Diagnosis:
    """Judges `snapshot` by every rule that is asked for.

    Args:
        only, skip: codes or patterns such as `MQ7*`; `only` empty means all.

    Raises:
        UsageError: a pattern matches no rule.
    """
    rules = _chosen(only, skip)
    used = settings or Settings()
    whole = ClusterCase(snapshot, snapshot.origin.observed_at_ms, used)
    chosen = [entry for entry in rules if _not_shown(entry, snapshot) is None and _window_suffices(entry, whole)]
    outcomes: list[Finding | NotJudged] = [*_asked_in_vain(rules, chosen, only, snapshot)]
    if snapshot.past is not None:
        outcomes += _without_earlier(rules, chosen, whole)
    audience = Audience(snapshot, live=snapshot.origin.kind is OriginKind.LIVE)
    unknown = UnknownKinds(snapshot)
    for entry in chosen:
        outcomes += _of_unknown_kinds(entry, unknown)
        outcomes += [_gap(entry, [gap], broker=None) for gap in _missed(entry, snapshot.unavailable, audience)]
        if entry.cluster_judge is not None:
            outcomes += _judge_cluster(entry, whole, audience)
    for broker in snapshot.brokers:
        case = _case(broker, snapshot, used)
        for entry in chosen:
            outcomes += _judge(entry, case, audience)
    findings = _each_once([item for item in outcomes if isinstance(item, Finding) and not unknown.why(item.subject)])
    findings = with_causes(findings, snapshot, used)
    gaps = [item for item in outcomes if isinstance(item, NotJudged)]
    findings.sort(key=lambda item: (not _is_outage(item), -item.severity.rank, item.code in SYMPTOMS, item.code))
    return Diagnosis(findings=tuple(findings), not_judged=tuple(gaps), rules_run=tuple(entry.code for entry in chosen))


def _is_outage(finding: Finding) -> bool:
    return finding.code in OUTAGES and finding.severity.rank >= Severity.ERROR.rank


def _of_unknown_kinds(entry: Rule, unknown: UnknownKinds) -> Iterator[NotJudged]:
    """Yields the topics and the groups that a rule would judge, if anybody knew what they are."""
    for topic, why in unknown.topics.items() if entry.topics else ():
        yield NotJudged(code=entry.code, subject=Subject(kind=SubjectKind.TOPIC, topic=topic), why=why)
    for group, why in unknown.groups.items() if entry.groups else ():
        yield NotJudged(code=entry.code, subject=Subject(kind=SubjectKind.GROUP, group=group), why=why)


def _each_once(findings: list[Finding]) -> list[Finding]:
    """Leaves out what another finding tells as well: one cause is one finding."""
    spoken = {(item.code, item.subject) for item in findings}
    return [
        item for item in findings if not any((code, item.subject) in spoken for code in _SAID_BY.get(item.code, ()))
    ]


def _window_suffices(entry: Rule, case: ClusterCase) -> bool:
    if entry.least_window is None:
        return True
    least_ms = case.settings.scaled(entry.least_window(case.settings))
    return case.snapshot.earlier is not None and case.window_ms >= least_ms


def _not_shown(entry: Rule, snapshot: ClusterSnapshot) -> Why | None:
    """Returns why this evidence can never show what a rule looks at, or None."""
    live = snapshot.origin.kind is OriginKind.LIVE
    if not entry.applies_to(snapshot.origin.kind) or (entry.least_window is not None and not live):
        return Why(Reason.FILES_ONLY if live else Reason.LIVE_ONLY)
    if Part.ACCESS in entry.needs and not live and not _tells_access(snapshot):
        return Why(Reason.NO_ACCESS_FILES)
    if Part.STACKS in entry.needs and not _has_stacks(snapshot):
        return Why(Reason.NO_STACKS)
    if Part.PROBE in entry.needs and not any(broker.probe for broker in snapshot.brokers):
        return Why(Reason.NO_PROBE)
    if Part.PAST in entry.needs and snapshot.past is None:
        return Why(Reason.NO_RECORDING)
    return None


def _asked_in_vain(
    rules: list[Rule], chosen: list[Rule], only: tuple[str, ...], snapshot: ClusterSnapshot
) -> Iterator[NotJudged]:
    """Yields what was asked for by its code, or by a pattern of which nothing is left, and cannot be judged."""
    named = {pattern.upper() for pattern in only}
    judged = {entry.code for entry in chosen}
    for entry in rules:
        compared = snapshot.past is not None and entry.least_window is not None
        if entry.code not in judged and not compared and (entry.code in named or (only and not chosen)):
            why = _not_shown(entry, snapshot) or Why(Reason.TWO_LOOKS)
            yield NotJudged(code=entry.code, subject=Subject(kind=SubjectKind.CLUSTER), why=why)


def _without_earlier(rules: list[Rule], chosen: list[Rule], case: ClusterCase) -> Iterator[NotJudged]:
    """Yields what compares two looks, where a recording has only one: nothing is well that was not compared."""
    judged = {entry.code for entry in chosen}
    for entry in rules:
        if entry.code not in judged and entry.least_window is not None:
            least_ms = max(case.settings.scaled(entry.least_window(case.settings)), case.window_ms)
            why = Why(Reason.NO_EARLIER, {"window_ms": least_ms})
            yield NotJudged(code=entry.code, subject=Subject(kind=SubjectKind.CLUSTER), why=why)


def _tells_access(snapshot: ClusterSnapshot) -> bool:
    """Tells whether a directory holds anything about access: most hold nothing, whether or not their broker checks."""
    return any(
        broker.access is not None or any(gap.part is Part.ACCESS for gap in broker.unavailable)
        for broker in snapshot.brokers
    )


def _has_stacks(snapshot: ClusterSnapshot) -> bool:
    """Tells whether consumers were asked for their stacks: where not, rules about them neither speak nor count."""
    gathered = any(gap.part is Part.STACKS for gap in snapshot.unavailable)
    return gathered or any(info.stacks for info in snapshot.running)


def _case(broker: BrokerSnapshot, snapshot: ClusterSnapshot, settings: Settings) -> Case:
    origin = snapshot.origin
    newest_ms = max((queue.last_store_time_ms or 0 for queue in broker.queues), default=0)
    by_mtime = origin.observed_from is ObservedFrom.CONFIG_MTIME
    sure = not by_mtime or origin.observed_at_ms - newest_ms <= settings.trusted_mtime_ms
    confidence = Confidence.HIGH if sure else Confidence.MEDIUM
    samples = {
        (sample.queue.topic, sample.queue.queue_id): sample
        for sample in snapshot.tag_samples
        if sample.queue.broker_name == broker.name
    }
    return Case(
        broker, origin.observed_at_ms, settings, confidence, samples, signed=origin.signed, running=snapshot.running
    )


def _chosen(only: tuple[str, ...], skip: tuple[str, ...]) -> list[Rule]:
    from mqctl.rules.engine.registry import RULES

    for pattern in (*only, *skip):
        if not any(fnmatchcase(code, pattern.upper()) for code in RULES):
            raise UsageError(
                sentence("doctor-no-rule-matches", "no rule matches {pattern}", pattern=pattern),
                remedy=command_line("mqctl rules list"),
            )
    chosen = [entry for code, entry in RULES.items() if (not only or _matches(code, only)) and not _matches(code, skip)]
    if not chosen:
        raise UsageError(
            sentence("doctor-no-rule-left", "no rule is left"),
            reason=sentence("doctor-skip-leaves-out-everything", "--skip leaves out everything that --only selects"),
        )
    return chosen


def _matches(code: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(code, pattern.upper()) for pattern in patterns)


def _judge(entry: Rule, case: Case, audience: Audience) -> Iterator[Finding | NotJudged]:
    if entry.judge is None:
        return
    if changes_with_releases(entry) and (unknown := of_broker(case.broker, entry.proven_to)):
        yield _unproven(entry, case.broker, unknown)
        return
    for part in entry.needs:
        gap = case.broker.lacks(part)
        if gap is not None:
            yield _gap(entry, [gap], broker=case.broker.name)
            return
    scoped = _missed(entry, case.broker.unavailable, audience)
    if scoped:
        yield _gap(entry, scoped, broker=case.broker.name)
    yield from _outcomes(entry, entry.judge(case), audience)


def _judge_cluster(entry: Rule, case: ClusterCase, audience: Audience) -> Iterator[Finding | NotJudged]:
    """Judges what is there: a broker that could not be asked is named, and the others are compared all the same."""
    if entry.cluster_judge is None:
        return
    brokers = case.snapshot.brokers if changes_with_releases(entry) else ()
    unknown = [_unproven(entry, broker, why) for broker in brokers if (why := of_broker(broker, entry.proven_to))]
    if unknown:  # it compares brokers: without those nothing is left that it was tried on
        yield from unknown
        return
    for broker in case.snapshot.brokers:
        gaps = _missed(entry, broker.unavailable, audience)
        if gaps:
            yield _gap(entry, gaps, broker=broker.name)
    yield from _outcomes(entry, entry.cluster_judge(case), audience)


def _unproven(entry: Rule, broker: BrokerSnapshot, why: Why) -> NotJudged:
    return NotJudged(code=entry.code, subject=Subject(kind=SubjectKind.BROKER, broker=broker.name), why=why)


def _missed(entry: Rule, gaps: Iterable[Gap], audience: Audience) -> list[Gap]:
    """Returns the gaps that a rule feels: what is not known of a group that it is not for is nothing to it.

    Only brokers tell of a group that it broadcasts, or is behind a proxy; whether one is orderly its members tell.
    """
    return [
        gap
        for gap in gaps
        if gap.part in entry.needs
        and not (
            entry.groups
            and gap.group is not None
            and (kind := audience.group(gap.group)) in _TOLD_BY_BROKERS
            and kind not in entry.groups
        )
    ]


def _concerns(entry: Rule, subject: Subject, audience: Audience) -> bool:
    """Tells whether a rule is for the group and the topic; a group no source tells the kind of is judged by all."""
    if entry.groups and subject.group is not None:
        kind = audience.group(subject.group)
        if kind is not None and kind not in entry.groups:
            return False
    return not entry.topics or subject.topic is None or audience.topic(subject.topic) in entry.topics


def _outcomes(entry: Rule, outcomes: Iterable[Verdict | Unknown], audience: Audience) -> Iterator[Finding | NotJudged]:
    for outcome in outcomes:
        if not _concerns(entry, outcome.subject, audience):
            continue
        if isinstance(outcome, Unknown):
            yield NotJudged(code=entry.code, subject=outcome.subject, why=outcome.why)
            continue
        yield Finding(
            code=entry.code,
            severity=outcome.severity or entry.severity,
            subject=outcome.subject,
            params=outcome.params,
            evidence=tuple(Evidence(name=name, value=value) for name, value in outcome.evidence.items()),
            confidence=outcome.confidence,
            playbook=entry.playbook_of(outcome.variant),
            variant=outcome.variant,
        )


def _gap(entry: Rule, gaps: list[Gap], *, broker: str | None) -> NotJudged:
    """Names the first gap: ten thousand unreadable events are one gap to a reader."""
    first = gaps[0]
    params: dict[str, Value] = {"part_word": str(first.part), "cause_word": str(first.cause), "reason": first.reason}
    subject = Subject(kind=SubjectKind.BROKER, broker=broker)
    why = Why(Reason.GAP_IN, {**params, "scope": first.scope}) if first.scope else Why(Reason.GAP, params)
    return NotJudged(code=entry.code, subject=subject, why=why, gaps=tuple(gaps))
