"""The registry of rules, and the judging of a snapshot by all of them.

A rule is a pure function of one broker's snapshot, or of the whole cluster's where brokers must be compared. It yields
verdicts; code, severity and playbook come from its registration. Missing evidence makes a rule `not judged`, never
silent; a rule about what the source can never show (the threads of consumers in a store directory) is not asked at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TypeAlias

from mqctl.diagnosis.group_view import GroupView, group_views
from mqctl.diagnosis.playbooks import PLAYBOOKS
from mqctl.diagnosis.settings import Settings
from mqctl.errors import UsageError
from mqctl.model.finding import Confidence, Evidence, Finding, NotJudged, Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Gap, Part
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import QueueState
from mqctl.model.route import TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot


@dataclass(frozen=True, slots=True)
class Case:
    """What a rule looks at: one broker at one moment.

    Attributes:
        now_ms: the moment all ages refer to.
        age_confidence: how far ages can be trusted. A plain copy gives configuration files the time of copying, and
            that may pass for the broker's last instant.
    """

    broker: BrokerSnapshot
    now_ms: int
    settings: Settings
    age_confidence: Confidence = Confidence.HIGH


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a rule found: a finding without what the registration already tells. `severity` overrides the rule's own."""

    subject: Subject
    params: Mapping[str, Value] = field(default_factory=dict)
    evidence: Mapping[str, Value] = field(default_factory=dict)
    severity: Severity | None = None
    confidence: Confidence = Confidence.HIGH
    variant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """What a rule yields when it cannot decide about a subject."""

    subject: Subject
    reason: str


@dataclass(frozen=True)
class ClusterCase:
    """What a rule about the whole cluster looks at; what several rules need is put together once.

    Attributes:
        now_ms: the moment all ages refer to.
    """

    snapshot: ClusterSnapshot
    now_ms: int
    settings: Settings

    @cached_property
    def views(self) -> list[GroupView]:
        """Every group with members."""
        return group_views(self.snapshot)

    @cached_property
    def routes(self) -> dict[str, TopicRoute]:
        """Routes by topic."""
        return self.snapshot.routes()

    @cached_property
    def readable_queues(self) -> dict[str, list[MessageQueue]]:
        """Readable queues by topic, sorted as consumers sort them."""
        return {topic: list(route.readable_queues()) for topic, route in self.routes.items()}

    @cached_property
    def queue_states(self) -> dict[MessageQueue, QueueState]:
        """Bounds by queue, of all brokers."""
        return {
            MessageQueue(queue.topic, broker.name or "", queue.queue_id): queue
            for broker in self.snapshot.brokers
            for queue in broker.queues
        }

    @cached_property
    def committed(self) -> dict[tuple[str, MessageQueue], int]:
        """Committed offsets by group and queue, of all brokers."""
        return {
            (item.group, MessageQueue(item.topic, broker.name or "", item.queue_id)): item.offset
            for broker in self.snapshot.brokers
            for item in broker.consumer_offsets
        }

    @cached_property
    def _members_before(self) -> dict[str, tuple[str, ...]]:
        earlier = self.snapshot.earlier
        return {view.group: view.client_ids for view in group_views(earlier)} if earlier else {}

    def settling(self, view: GroupView) -> bool:
        """Tells whether queues may be on their way: a member has just started, or came or went between two looks."""
        before = self._members_before.get(view.group, view.client_ids)
        return before != view.client_ids or view.settling(self.now_ms, self.settings)

    @cached_property
    def stack_verdicts(self) -> list[tuple[str, Verdict]]:
        """What the stacks of all instances mean, each with its rule's code; empty where none were taken."""
        if not any(info.stacks for info in self.snapshot.running):
            return []
        from mqctl.diagnosis.stack_judging import judged  # a snapshot without stacks does not pay for their readers

        return judged(self)


Judge: TypeAlias = Callable[[Case], Iterable[Verdict | Unknown]]
ClusterJudge: TypeAlias = Callable[[ClusterCase], Iterable[Verdict | Unknown]]

_FILES_ONLY = frozenset({Part.STORAGE, Part.VERIFICATION, Part.CLOCKS, Part.OFFSET_JUMPS})
_LIVE_ONLY = frozenset({Part.ROUTES, Part.MEMBERS, Part.RUNNING_INFO, Part.RUNTIME, Part.CONFIG})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One registered rule.

    Attributes:
        code: stable; the first digit names the family.
        severity: the worst it says.
        source: where the reference catalogue describes it, such as `B3` or `D7`.
        needs: parts of the snapshot without which it is not judged.
        judge: for a rule that looks at one broker at a time.
        cluster_judge: for a rule that looks at the cluster; one of the two is set.
    """

    code: str
    severity: Severity
    source: str
    needs: tuple[Part, ...]
    playbook: str
    judge: Judge | None = None
    cluster_judge: ClusterJudge | None = None

    def applies_to(self, kind: OriginKind) -> bool:
        """Tells whether a source of this kind can show what the rule looks at."""
        return _FILES_ONLY.isdisjoint(self.needs) if kind is OriginKind.LIVE else _LIVE_ONLY.isdisjoint(self.needs)


RULES: dict[str, Rule] = {}


def rule(
    code: str, severity: Severity, *, source: str, needs: tuple[Part, ...] = (), playbook: str
) -> Callable[[Judge], Judge]:
    """Registers a rule that looks at one broker at a time.

    Raises:
        ValueError: the code is taken or the playbook is none of ours.
    """

    _check(code, playbook)

    def register(judge: Judge) -> Judge:
        RULES[code] = Rule(code=code, severity=severity, source=source, needs=needs, playbook=playbook, judge=judge)
        return judge

    return register


def cluster_rule(
    code: str, severity: Severity, *, source: str, needs: tuple[Part, ...] = (), playbook: str
) -> Callable[[ClusterJudge], ClusterJudge]:
    """Registers a rule that looks at the whole cluster.

    Raises:
        ValueError: the code is taken or the playbook is none of ours.
    """

    _check(code, playbook)

    def register(judge: ClusterJudge) -> ClusterJudge:
        RULES[code] = Rule(
            code=code, severity=severity, source=source, needs=needs, playbook=playbook, cluster_judge=judge
        )
        return judge

    return register


def _check(code: str, playbook: str) -> None:
    if code in RULES:
        raise ValueError(f"rule {code} is registered twice")
    if playbook not in PLAYBOOKS:
        raise ValueError(f"rule {code} names an unknown playbook {playbook}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All findings on a snapshot, worst first, and what could not be judged."""

    findings: tuple[Finding, ...]
    not_judged: tuple[NotJudged, ...]
    rules_run: tuple[str, ...]

    def exit_code(self, fail_on: Severity = Severity.WARNING) -> int:
        """Returns 0 fine, 1 warning, 2 critical, or 3 when nothing was found but evidence is missing.

        Args:
            fail_on: milder findings do not count.
        """
        worst = max(
            (item.severity.exit_code for item in self.findings if item.severity.rank >= fail_on.rank), default=0
        )
        return worst or (3 if self.not_judged else 0)

    @property
    def verdict(self) -> str:
        """`ok`, `warning`, `critical` or `unknown`."""
        return ("ok", "warning", "critical", "unknown")[self.exit_code()]


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
    fitting = [entry for entry in _chosen(only, skip) if entry.applies_to(snapshot.origin.kind)]
    chosen = [entry for entry in fitting if Part.STACKS not in entry.needs or _has_stacks(snapshot)]
    used = settings or Settings()
    outcomes: list[Finding | NotJudged] = [
        NotJudged(code=entry.code, subject=Subject(kind=SubjectKind.CLUSTER), reason="no stacks were taken: --stacks")
        for entry in fitting
        if entry not in chosen and entry.code in only
    ]
    whole = ClusterCase(snapshot, snapshot.origin.observed_at_ms, used)
    for entry in chosen:
        outcomes += [_gap(entry, [gap], broker=None) for gap in snapshot.unavailable if gap.part in entry.needs]
        if entry.cluster_judge is not None:
            outcomes += _judge_cluster(entry, whole)
    for broker in snapshot.brokers:
        case = _case(broker, snapshot.origin, used)
        for entry in chosen:
            outcomes += _judge(entry, case)
    findings = [item for item in outcomes if isinstance(item, Finding)]
    gaps = [item for item in outcomes if isinstance(item, NotJudged)]
    findings.sort(key=lambda item: (-item.severity.rank, item.code))
    return Diagnosis(findings=tuple(findings), not_judged=tuple(gaps), rules_run=tuple(entry.code for entry in chosen))


def _has_stacks(snapshot: ClusterSnapshot) -> bool:
    """Tells whether consumers were asked for their stacks: where not, rules about them neither speak nor count."""
    asked = any(gap.part is Part.STACKS for gap in snapshot.unavailable)
    return asked or any(info.stacks for info in snapshot.running)


def _case(broker: BrokerSnapshot, origin: Origin, settings: Settings) -> Case:
    newest_ms = max((queue.last_store_time_ms or 0 for queue in broker.queues), default=0)
    by_mtime = origin.observed_from is ObservedFrom.CONFIG_MTIME
    sure = not by_mtime or origin.observed_at_ms - newest_ms <= settings.trusted_mtime_ms
    confidence = Confidence.HIGH if sure else Confidence.MEDIUM
    return Case(broker, origin.observed_at_ms, settings, confidence)


def _chosen(only: tuple[str, ...], skip: tuple[str, ...]) -> list[Rule]:
    for pattern in (*only, *skip):
        if not any(fnmatchcase(code, pattern.upper()) for code in RULES):
            raise UsageError(f"no rule matches {pattern}", remedy="mqctl rules list")
    return [
        entry
        for code, entry in sorted(RULES.items())
        if (not only or _matches(code, only)) and not _matches(code, skip)
    ]


def _matches(code: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(code, pattern.upper()) for pattern in patterns)


def _judge(entry: Rule, case: Case) -> Iterator[Finding | NotJudged]:
    if entry.judge is None:
        return
    for part in entry.needs:
        gap = case.broker.lacks(part)
        if gap is not None:
            yield _gap(entry, [gap], broker=case.broker.name)
            return
    scoped = [gap for gap in case.broker.unavailable if gap.part in entry.needs]
    if scoped:
        yield _gap(entry, scoped, broker=case.broker.name)
    yield from _outcomes(entry, entry.judge(case))


def _judge_cluster(entry: Rule, case: ClusterCase) -> Iterator[Finding | NotJudged]:
    """Judges what is there: a broker that could not be asked is named, and the others are compared all the same."""
    if entry.cluster_judge is None:
        return
    for broker in case.snapshot.brokers:
        missing = [gap for gap in broker.unavailable if gap.part in entry.needs]
        if missing:
            yield _gap(entry, missing, broker=broker.name)
    yield from _outcomes(entry, entry.cluster_judge(case))


def _outcomes(entry: Rule, found: Iterable[Verdict | Unknown]) -> Iterator[Finding | NotJudged]:
    for outcome in found:
        if isinstance(outcome, Unknown):
            yield NotJudged(code=entry.code, subject=outcome.subject, reason=outcome.reason)
            continue
        yield Finding(
            code=entry.code,
            severity=outcome.severity or entry.severity,
            subject=outcome.subject,
            params=outcome.params,
            evidence=tuple(Evidence(name=name, value=value) for name, value in outcome.evidence.items()),
            confidence=outcome.confidence,
            playbook=entry.playbook,
            variant=outcome.variant,
        )


def _gap(entry: Rule, gaps: list[Gap], *, broker: str | None) -> NotJudged:
    """Names the first gap in full and counts the rest: ten thousand unreadable events are one gap to a reader."""
    first = gaps[0]
    where = f" ({first.scope})" if first.scope else ""
    more = f", and {len(gaps) - 1} more" if len(gaps) > 1 else ""
    subject = Subject(kind=SubjectKind.BROKER, broker=broker)
    return NotJudged(code=entry.code, subject=subject, reason=f"{first.part}{where}: {first.reason}{more}")
