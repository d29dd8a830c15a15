"""What a diagnosis judged of each group, topic and broker, and what it could not: an all-clear must be earned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from mqctl.lag.advice import BacklogAdvice
from mqctl.lag.rates import Movement
from mqctl.model.finding import NotJudged, Reason, Subject, SubjectKind, Why
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import is_system_group, is_system_topic
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.audience import GroupKind, TopicKind, kinds
from mqctl.rules.engine.judging import Diagnosis
from mqctl.rules.engine.rule import RULES

_NOBODY_ONLINE = Why(Reason.NOBODY_ONLINE)
_OWN = Why(Reason.OWN)
# Two periods in which consumers commit.
_COMMITTED_MS = 10_000
_OF_ALL_GROUPS = "MQ216"


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """How far one group, topic or broker was judged.

    Attributes:
        kind: `group`, `topic` or `broker`.
        judged: `yes`, `partly` or `no`.
        why: why not wholly.
        more_count: how many gaps there are besides the one that `why` tells.
        rules: how many of the rules that were asked for said nothing of it.
    """

    kind: str
    name: str
    judged: str
    why: Why | None = None
    more_count: int = 0
    rules: int = 0


def earned(
    diagnosis: Diagnosis,
    snapshot: ClusterSnapshot,
    *,
    groups: Collection[str] = (),
    topics: Collection[str] = (),
    brokers: Collection[str] = (),
    rules: Collection[str] = (),
) -> Diagnosis:
    """Adds what was asked by name and could not be judged.

    Args:
        groups, topics, brokers, rules: what was asked for by name; rules as codes.
    """
    added = [
        *_offline(diagnosis, snapshot, groups),
        *_unseen(diagnosis, snapshot, topics, brokers),
        *_no_members(diagnosis, snapshot, groups, rules),
        *_among_others(snapshot, groups, brokers, rules),
    ]
    return replace(diagnosis, not_judged=(*diagnosis.not_judged, *added)) if added else diagnosis


def coverage(
    diagnosis: Diagnosis,
    snapshot: ClusterSnapshot,
    *,
    groups: Collection[str] = (),
    topics: Collection[str] = (),
    brokers: Collection[str] = (),
) -> list[Covered]:
    """Returns how far each group was judged that was asked for, or has members or offsets where was asked for, by
    name."""
    if snapshot.origin.kind is not OriginKind.LIVE:
        return []
    in_scope = [broker for broker in snapshot.brokers if not brokers or broker.name in brokers]
    known = {
        item.group
        for broker in in_scope
        for item in broker.memberships
        if not topics or any(wanted.topic in topics for wanted in item.subscriptions)
    }
    known |= {
        item.group for broker in in_scope for item in broker.consumer_offsets if not topics or item.topic in topics
    }
    online = kinds(snapshot).keys() | _untold(snapshot)
    about_members = _about_members(diagnosis)
    open_of, open_for_all = _left_open(diagnosis)
    covered = []
    for name in sorted(item for item in {*known, *groups} if not is_system_group(item)):
        if groups and name not in groups:
            continue
        if name not in online:
            covered.append(
                Covered(kind="group", name=name, judged="partly", why=_NOBODY_ONLINE, rules=len(about_members))
            )
        elif left := [*open_of.get(name, ()), *open_for_all]:
            first, codes = left[0], {item.code for item in left}
            covered.append(
                Covered(
                    kind="group",
                    name=name,
                    judged="partly",
                    why=first.why,
                    more_count=first.more_count,
                    rules=len(codes),
                )
            )
        else:
            covered.append(Covered(kind="group", name=name, judged="yes"))
    return covered


def with_standing(diagnosis: Diagnosis, backlogs: Iterable[BacklogAdvice]) -> Diagnosis:
    """Adds the groups that consumed nothing between two looks, and of which no finding says why: that is not well."""
    named = {item.subject.group for item in diagnosis.findings}
    named |= {item.subject.group for item in diagnosis.not_judged if item.code == "MQ410"}
    standing = [
        NotJudged(
            code="MQ410",
            subject=Subject(kind=SubjectKind.GROUP, group=item.group, topic=item.topic),
            why=Why(Reason.STANDING if item.movement is Movement.STALLED else Reason.SHORT_WINDOW),
        )
        for item in backlogs
        if item.group not in named
        and (item.movement is Movement.STALLED or (item.movement is Movement.UNKNOWN and _is_old(item)))
    ]
    return replace(diagnosis, not_judged=(*diagnosis.not_judged, *standing))


def _is_old(item: BacklogAdvice) -> bool:
    """Tells whether what waits has waited for longer than consumers take to commit what they have consumed."""
    return (item.lag_ms or 0) >= _COMMITTED_MS


def _untold(snapshot: ClusterSnapshot) -> set[str]:
    """Returns the groups of which a broker or a proxy did not tell the members: nobody online is not known of them."""
    gaps = (gap for broker in snapshot.brokers for gap in broker.unavailable)
    return {gap.group for gap in gaps if gap.part is Part.MEMBERS and gap.group}


def _left_open(diagnosis: Diagnosis) -> tuple[dict[str, list[NotJudged]], list[NotJudged]]:
    """Returns what was not judged of one group, by its name, and what was not judged of any."""
    of_group: dict[str, list[NotJudged]] = {}
    of_all: list[NotJudged] = []
    for item in diagnosis.not_judged:
        named = {item.subject.group} if item.subject.group else {gap.group for gap in item.gaps if gap.group}
        for name in named:
            of_group.setdefault(str(name), []).append(item)
        if not named and RULES[item.code].groups:
            of_all.append(item)
    return of_group, of_all


def _about_members(diagnosis: Diagnosis) -> list[str]:
    """Returns the rules that were asked for and judge groups with members only."""
    rules = (RULES[code] for code in diagnosis.rules_run)
    return [entry.code for entry in rules if entry.groups and GroupKind.OFFLINE not in entry.groups]


def _offline(diagnosis: Diagnosis, snapshot: ClusterSnapshot, groups: Collection[str]) -> Iterator[NotJudged]:
    if snapshot.origin.kind is not OriginKind.LIVE or snapshot.without_brokers:
        return
    online = kinds(snapshot).keys() | _untold(snapshot)
    for name in sorted(name for name in groups if name not in online):
        own = is_system_group(name)
        why = _OWN if own else _NOBODY_ONLINE
        codes = [code for code in diagnosis.rules_run if RULES[code].groups] if own else _about_members(diagnosis)
        for code in codes:
            yield NotJudged(code=code, subject=Subject(kind=SubjectKind.GROUP, group=name), why=why)


def _no_members(
    diagnosis: Diagnosis, snapshot: ClusterSnapshot, groups: Collection[str], rules: Collection[str]
) -> Iterator[NotJudged]:
    """A rule that was asked by its code, where no group at all has anybody for it to look at."""
    if groups or snapshot.origin.kind is not OriginKind.LIVE or kinds(snapshot):
        return
    for code in set(rules) & set(_about_members(diagnosis)):
        why = Why(Reason.NO_BROKERS if snapshot.without_brokers else Reason.NOBODY_ANYWHERE)
        yield NotJudged(code=code, subject=Subject(kind=SubjectKind.CLUSTER), why=why)


def _among_others(
    snapshot: ClusterSnapshot, groups: Collection[str], brokers: Collection[str], rules: Collection[str]
) -> Iterator[NotJudged]:
    """The rule that compares all groups of a topic, where it was asked by its code and groups were left out."""
    if _OF_ALL_GROUPS in rules and (groups or brokers) and snapshot.origin.kind is OriginKind.LIVE:
        yield NotJudged(code=_OF_ALL_GROUPS, subject=Subject(kind=SubjectKind.CLUSTER), why=Why(Reason.ALL_GROUPS))


def _unseen(
    diagnosis: Diagnosis, snapshot: ClusterSnapshot, topics: Collection[str], brokers: Collection[str]
) -> Iterator[NotJudged]:
    """Names that are known and of which nothing could be looked at."""
    if snapshot.origin.kind is not OriginKind.LIVE or snapshot.without_brokers:
        return
    answered = {broker.name for broker in snapshot.brokers}
    for name in sorted(set(brokers) - answered):
        subject = Subject(kind=SubjectKind.BROKER, broker=name)
        if not any(item.subject == subject for item in diagnosis.findings):
            for code in diagnosis.rules_run:
                yield NotJudged(code=code, subject=subject, why=Why(Reason.NOT_REGISTERED))
    seen = {queue.topic for broker in snapshot.brokers for queue in broker.queues}
    seen |= {config.name for broker in snapshot.brokers for config in broker.topics}
    for name in sorted(filter(is_system_topic, topics)):
        topical = (code for code in diagnosis.rules_run if RULES[code].topics)
        for code in (code for code in topical if TopicKind.SYSTEM not in RULES[code].topics):
            yield NotJudged(code=code, subject=Subject(kind=SubjectKind.TOPIC, topic=name), why=_OWN)
    for name in sorted(name for name in set(topics) - seen if not is_system_topic(name)):
        for code in diagnosis.rules_run:
            subject = Subject(kind=SubjectKind.TOPIC, topic=name)
            yield NotJudged(code=code, subject=subject, why=Why(Reason.NOTHING_TOLD))
