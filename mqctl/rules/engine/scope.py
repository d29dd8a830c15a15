"""Part of a diagnosis: what concerns certain groups, topics and brokers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from mqctl.model.finding import Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, group_of
from mqctl.model.origin import OriginKind
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.model.transaction_state import TransactionState
from mqctl.rules.engine.judging import Diagnosis

_TELLING = (Part.MEMBERS, Part.CONSUMER_OFFSETS)


def within(
    diagnosis: Diagnosis,
    *,
    groups: Collection[str] | None = None,
    topics: Collection[str] | None = None,
    brokers: Collection[str] | None = None,
    used: Collection[str] | None = None,
    users: Collection[str] | None = None,
) -> Diagnosis:
    """Leaves out what is about other groups, topics or brokers; None or nothing named leaves everything in.

    A finding stays when it names none of the kind: a full disk concerns every group.

    Args:
        used: topics of the groups (`topics_of`): what is wrong with another topic is nothing to them.
        users: groups of the topics (`groups_of`), likewise.
    """

    def concerns(subject: Subject) -> bool:
        if used is not None and subject.group is None and subject.topic is not None and subject.topic not in used:
            return False
        consumes = subject.topic is None and subject.kind is not SubjectKind.PRODUCER_GROUP
        if users is not None and consumes and subject.group is not None and subject.group not in users:
            return False
        named = ((subject.group, groups), (subject.topic, topics), (subject.broker, brokers))
        return all(not chosen or name is None or name in chosen for name, chosen in named)

    return replace(
        diagnosis,
        findings=tuple(item for item in diagnosis.findings if concerns(item.subject)),
        not_judged=tuple(item for item in diagnosis.not_judged if concerns(item.subject)),
    )


def of_topics(snapshot: ClusterSnapshot, topics: Collection[str]) -> ClusterSnapshot:
    """Leaves out transactions of other topics: findings about them name a producer group, which may have several."""
    if not topics:
        return snapshot
    brokers = tuple(
        replace(broker, transactions=_transactions(broker.transactions, topics)) if broker.transactions else broker
        for broker in snapshot.brokers
    )
    return replace(snapshot, brokers=brokers)


def _transactions(state: TransactionState, topics: Collection[str]) -> TransactionState:
    wanted = {None, *topics}  # of one whose topic is not known it is not known that it is none of them
    return replace(
        state,
        pending=tuple(item for item in state.pending if item.topic in wanted),
        discarded=tuple(item for item in state.discarded if item.topic in wanted),
        lost_ops=tuple(item for item in state.lost_ops if item.topic in wanted),
        double_commits=tuple(item for item in state.double_commits if item.topic in wanted),
    )


def topics_of(snapshot: ClusterSnapshot, groups: Collection[str]) -> Collection[str] | None:
    """Returns the topics that groups subscribe to or have offsets on, with their own; None where that is not known."""
    if not groups or not _tells_all(snapshot):
        return None
    used = {prefix + group for group in groups for prefix in (RETRY_PREFIX, DLQ_PREFIX)}
    for broker in snapshot.brokers:
        used |= {item.topic for item in broker.consumer_offsets if item.group in groups}
        used |= {wanted.topic for item in broker.memberships if item.group in groups for wanted in item.subscriptions}
    return used | {wanted.topic for info in snapshot.running if info.group in groups for wanted in info.subscriptions}


def groups_of(snapshot: ClusterSnapshot, topics: Collection[str]) -> Collection[str] | None:
    """Returns the groups that subscribe to topics or have offsets on them; None where that is not known."""
    if not topics or not _tells_all(snapshot):
        return None
    users = {group for group in map(group_of, topics) if group is not None}
    for broker in snapshot.brokers:
        users |= {item.group for item in broker.consumer_offsets if item.topic in topics}
        users |= {
            item.group
            for item in broker.memberships
            if not {*topics}.isdisjoint(one.topic for one in item.subscriptions)
        }
    return users | {
        info.group for info in snapshot.running if not {*topics}.isdisjoint(one.topic for one in info.subscriptions)
    }


def _tells_all(snapshot: ClusterSnapshot) -> bool:
    gaps = (broker.lacks(part) for broker in snapshot.brokers for part in _TELLING)
    return snapshot.origin.kind is OriginKind.LIVE and all(gap is None for gap in gaps)
