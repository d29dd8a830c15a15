"""The registry of rules, and the judging of a snapshot by all of them.

A rule is a pure function of one broker's snapshot, or of the whole cluster's where brokers must be compared. It yields
verdicts; code, severity and playbook come from its registration. Missing evidence makes a rule `not judged`, never
silent; a rule about what the source can never show (the threads of consumers in a store directory) is not asked at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mqctl.allocation.group_view import GroupView, group_views
from mqctl.model.finding import Confidence, Reason, Severity, Subject, Value, Why
from mqctl.model.gap import Part
from mqctl.model.lag import GroupLag, QueueLag, group_lags, queue_lags
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.names import group_of, is_system_topic
from mqctl.model.origin import OriginKind
from mqctl.model.queue import MessageQueue
from mqctl.model.queue_state import QueueState, TagSample
from mqctl.model.release import NEWEST, Release
from mqctl.model.route import TopicRoute
from mqctl.model.snapshot import BrokerSnapshot, ClusterSnapshot
from mqctl.model.thresholds import Settings
from mqctl.rules.engine.audience import GroupKind, TopicKind
from mqctl.rules.engine.playbooks import PLAYBOOKS
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.stacks.verdict import StackVerdict


@dataclass(frozen=True)
class Case:
    """What a rule looks at: one broker at one moment; what several rules need is put together once.

    Attributes:
        now_ms: the moment all ages refer to.
        age_confidence: how far ages can be trusted. A plain copy gives configuration files the time of copying, and
            that may pass for the broker's last instant.
        tag_samples: the tags of its newest messages, by topic and queue.
        signed: whether it was asked with access keys.
        running: what instances of the cluster say of themselves.
    """

    broker: BrokerSnapshot
    now_ms: int
    settings: Settings
    age_confidence: Confidence = Confidence.HIGH
    tag_samples: Mapping[tuple[str, int], TagSample] = field(default_factory=dict)
    signed: bool = False
    running: tuple[RunningInfo, ...] = ()

    @cached_property
    def lags(self) -> list[QueueLag]:
        """How far every group is behind, queue by queue."""
        return queue_lags(self.broker, self.now_ms)

    @cached_property
    def lag_totals(self) -> list[GroupLag]:
        """The same by group and topic."""
        return group_lags(self.lags)

    def queues_by_topic(self) -> dict[str, list[QueueState]]:
        queues: dict[str, list[QueueState]] = {}
        for queue in self.broker.queues:
            queues.setdefault(queue.topic, []).append(queue)
        return queues


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
    why: Why


def restarting(subject: Subject, reason: Reason, seen_count: int) -> Unknown:
    """Leaves open what may be over in a moment."""
    return Unknown(subject=subject, why=Why(reason, {"seen_count": seen_count}))


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
    def window_ms(self) -> int:
        """Milliseconds between the earlier look and this one; 0 where there is only one."""
        earlier = self.snapshot.earlier
        return self.now_ms - earlier.origin.observed_at_ms if earlier is not None else 0

    @cached_property
    def looks(self) -> tuple[ClusterSnapshot, ...]:
        """Every look at members, oldest first."""
        earlier = self.snapshot.earlier
        return (*((earlier,) if earlier is not None else ()), *self.snapshot.between, self.snapshot)

    @cached_property
    def views(self) -> list[GroupView]:
        """Every group with members."""
        return group_views(self.snapshot)

    @cached_property
    def routes(self) -> dict[str, TopicRoute]:
        """Routes by topic."""
        return self.snapshot.routes()

    @cached_property
    def user_routes(self) -> list[TopicRoute]:
        """Routes of application topics, by name. Retry and dead-letter topics live where they are needed."""
        names = sorted(topic for topic in self.routes if not is_system_topic(topic) and group_of(topic) is None)
        return [self.routes[topic] for topic in names]

    def shared_topics(self, view: GroupView) -> Iterator[tuple[str, list[MessageQueue]]]:
        """Yields the topics that the members share out, with their readable queues.

        Broadcasting and POP share nothing out, and who pulls may assign queues by hand.
        """
        if not view.shares:
            return
        for topic in view.topics():
            if topic in self.readable_queues and topic not in view.popped_topics:
                yield topic, self.readable_queues[topic]

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
    def committed_before(self) -> dict[tuple[str, MessageQueue], int]:
        """Committed offsets at the earlier look; none without one."""
        brokers = self.snapshot.earlier.brokers if self.snapshot.earlier else ()
        return {
            (item.group, MessageQueue(item.topic, broker.name or "", item.queue_id)): item.offset
            for broker in brokers
            for item in broker.consumer_offsets
        }

    @cached_property
    def next_store_times(self) -> dict[tuple[str, MessageQueue], int | None]:
        """Store times of the messages at committed offsets, by group and queue."""
        return {
            (item.group, MessageQueue(item.topic, broker.name or "", item.queue_id)): item.next_store_time_ms
            for broker in self.snapshot.brokers
            for item in broker.consumer_offsets
        }

    def unfinished_ms(self, group: str, held: HeldQueue) -> int:
        """Returns for how many milliseconds a member has finished none of what it holds of a queue.

        Nothing is held longer than it exists: what lies above the queue's end came after that was asked for, and what
        lies at or above the committed offset is no older than the message there.
        """
        first, arrived_ms = held.first_held_offset, None
        state = self.queue_states.get(held.queue)
        committed = self.committed.get((group, held.queue))
        if first is not None and state is not None and first >= state.max_offset:
            arrived_ms = self.now_ms
        elif first is not None and committed is not None and committed <= first:
            arrived_ms = self.next_store_times[group, held.queue]
        return self.now_ms - held.unfinished_since_ms(arrived_ms)

    def waiting_in(self, group: str, queues: list[MessageQueue]) -> int | None:
        """Counts the messages that wait in `queues`; None when no broker tells its queues."""
        known = {queue: self.queue_states[queue] for queue in queues if queue in self.queue_states}
        if not known:
            return None
        return sum(
            max(0, state.max_offset - self.committed.get((group, queue), state.min_offset))
            for queue, state in known.items()
        )

    @cached_property
    def _members_before(self) -> dict[str, tuple[str, ...]]:
        earlier = self.snapshot.earlier
        return {view.group: view.client_ids for view in group_views(earlier)} if earlier else {}

    def settling(self, view: GroupView) -> bool:
        """Tells whether queues may be on their way: a member has just started, or came or went between two looks."""
        before = self._members_before.get(view.group, view.client_ids)
        return before != view.client_ids or view.settling(self.now_ms, self.settings)

    def age_confidence(self, info: RunningInfo) -> Confidence:
        """Returns how sure ages are that an instance tells: if all its times are old, its clock may be behind ours."""
        times = ((held.last_pull_time_ms, held.last_consume_time_ms, held.last_lock_time_ms) for held in info.queues)
        newest_ms = max((max(source) for source in times), default=0)
        usual_ms = self.settings.scaled(self.settings.pull_stopped_ms)
        return Confidence.HIGH if self.now_ms - newest_ms <= usual_ms else Confidence.MEDIUM

    @cached_property
    def stack_verdicts(self) -> list[tuple[str, StackVerdict]]:
        """What the stacks of all instances mean, each after its client id; empty where none were taken."""
        if not any(info.stacks for info in self.snapshot.running):
            return []
        from mqctl.stacks.snapshot_verdicts import stack_verdicts  # no stacks, no import of what reads them

        return stack_verdicts(self.snapshot, self.now_ms, self.settings)


Judge: TypeAlias = Callable[[Case], Iterable[Verdict | Unknown]]
ClusterJudge: TypeAlias = Callable[[ClusterCase], Iterable[Verdict | Unknown]]
J = TypeVar("J", Judge, ClusterJudge)
_JUDGES = {"Case": "judge", "ClusterCase": "cluster_judge"}
"""Fields of a `Rule`, by what its function is annotated to look at."""

_FILES_ONLY = frozenset({Part.STORAGE, Part.VERIFICATION, Part.CLOCKS, Part.OFFSET_JUMPS})
_LIVE_ONLY = frozenset(
    {Part.ROUTES, Part.MEMBERS, Part.PRODUCERS, Part.RUNNING_INFO, Part.RUNTIME, Part.CONFIG}
    | {Part.NEWEST, Part.PROBE, Part.REPLICATION, Part.CONTROLLERS, Part.PAST}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTexts:
    """The sentences of a rule in English: other languages have them by the keys that `keyed` gives them.

    Places have the names of a finding's params and evidence, and are written by the unit that the name ends in.

    Attributes:
        title: what the rule finds, for listings.
        speaks, silent: the two worlds of a rule in a few words, for its page: one in which it speaks, and the likeliest
            false alarm, of which it says nothing. `tests/rules/test_worlds.py` builds both.
        what: template of what is wrong, by variant; the empty variant is the usual one.
        effect: template of what follows from it.
        advice: template of what to do; `{command}` is the place of `command`.
        explain: what the rule looks at and why, for `mqctl explain`.
        next_command: template of the next command to type (see `command_line`), None when there is none. `{source}`
            stands for the option that names the evidence.
        live_command: the one for a live cluster, where that is another.
        command: the command that the advice names, where it has places.
        other_advice: of variants that want other advice, by their first word.
    """

    title: str
    what: Mapping[str, str]
    effect: str
    advice: str
    explain: str
    next_command: str | None = None
    live_command: str | None = None
    command: str | None = None
    other_advice: Mapping[str, str] = field(default_factory=dict)
    speaks: str = ""
    silent: str = ""

    def keyed(self, code: str) -> dict[str, str]:
        """Returns the templates by key: `mq410-title`, `mq410-what`, `mq412-what-orderly`, ..."""
        parts = {"title": self.title, "effect": self.effect, "advice": self.advice, "explain": self.explain}
        parts |= {_part("what", variant): template for variant, template in self.what.items()}
        parts |= {_part("advice", variant): template for variant, template in self.other_advice.items()}
        return {f"{code.lower()}-{part}": template for part, template in parts.items()}

    def said(self, code: str, part: str, values: Mapping[str, object], variant: str | None = None) -> str:
        """Returns the sentence `title`, `what`, `effect`, `advice` or `explain` with its values."""
        if part == "what":
            return sentence(f"{code.lower()}-{_part(part, variant)}", self.what[variant or ""], **values)
        first = (variant or "").partition("-")[0]
        if part == "advice" and first in self.other_advice:
            return sentence(f"{code.lower()}-{_part(part, first)}", self.other_advice[first], **values)
        template: str = getattr(self, part)
        return sentence(f"{code.lower()}-{part}", template, **values)


def _part(part: str, variant: str | None) -> str:
    return f"{part}-{variant.replace('_', '-')}" if variant else part


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One registered rule.

    Attributes:
        code: stable; the first digit names the family.
        severity: the worst it says.
        source: RocketMQ's class (and member) whose behaviour it judges, as of 4.9.8 and 5.3.3.
        proven_to: the newest release on which it was tried; what it looks at may mean something else on later ones
            (`unknown.changes_with_releases`).
        needs: parts of the snapshot without which it is not judged.
        other_playbooks: of variants that want another playbook.
        groups: the kinds of consumer groups that it judges, and no others; empty for a rule that is not about groups.
        topics: the kinds of topics that it judges, and no others; empty for a rule that names no topic.
        least_window: milliseconds that two looks must lie apart for it; None for a rule that one look is enough for.
        judge: for a rule that looks at one broker at a time.
        cluster_judge: for a rule that looks at the cluster; one of the two is set.
    """

    code: str
    severity: Severity
    source: str
    needs: tuple[Part, ...]
    playbook: str
    texts: RuleTexts
    groups: frozenset[GroupKind] = frozenset()
    topics: frozenset[TopicKind] = frozenset()
    proven_to: Release = NEWEST
    least_window: Callable[[Settings], int] | None = None
    other_playbooks: Mapping[str, str] = field(default_factory=dict)
    judge: Judge | None = None
    cluster_judge: ClusterJudge | None = None

    def playbook_of(self, variant: str | None) -> str:
        """Returns the playbook that a finding leads to."""
        return self.other_playbooks.get(variant or "", self.playbook)

    def applies_to(self, kind: OriginKind) -> bool:
        """Tells whether a source of this kind can show what the rule looks at."""
        return _FILES_ONLY.isdisjoint(self.needs) if kind is OriginKind.LIVE else _LIVE_ONLY.isdisjoint(self.needs)


RULES: dict[str, Rule] = {}


def any_window(settings: Settings) -> int:
    """The least window of a rule for which two looks are enough, however close."""
    return 0


def rule(
    code: str,
    severity: Severity,
    *,
    source: str,
    needs: tuple[Part, ...] = (),
    playbook: str,
    texts: RuleTexts,
    groups: frozenset[GroupKind] = frozenset(),
    topics: frozenset[TopicKind] = frozenset(),
    proven_to: Release = NEWEST,
    least_window: Callable[[Settings], int] | None = None,
    other_playbooks: Mapping[str, str] | None = None,
) -> Callable[[J], J]:
    """Registers a rule: a function of a `Case`, which is asked of each broker, or of a `ClusterCase`, asked once.

    Raises:
        ValueError: the code is taken or the playbook is none of ours.
        TypeError: it is a function of something else.
    """

    _check(code, playbook, *(other_playbooks or {}).values())

    def register(judge: J) -> J:
        looks_at = next(iter(judge.__annotations__.values()), None)
        if looks_at not in _JUDGES:
            raise TypeError(f"rule {code} looks at {looks_at}: not at a {' or '.join(_JUDGES)}")
        judges: dict[str, Any] = {_JUDGES[looks_at]: judge}
        RULES[code] = Rule(
            code=code,
            severity=severity,
            source=source,
            needs=needs,
            playbook=playbook,
            texts=texts,
            groups=groups,
            topics=topics,
            proven_to=proven_to,
            least_window=least_window,
            other_playbooks=other_playbooks or {},
            **judges,
        )
        return judge

    return register


def _check(code: str, *playbooks: str) -> None:
    if code in RULES:
        raise ValueError(f"rule {code} is registered twice")
    unknown = ", ".join(sorted(set(playbooks) - PLAYBOOKS.keys()))
    if unknown:
        raise ValueError(f"rule {code} names an unknown playbook {unknown}")
