"""MQ72x: half messages that wait, and transactions that ended oddly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mqctl.diagnosis.rule import Case, ClusterCase, Verdict, any_window, cluster_rule, rule
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.transaction_state import CommittedTransaction, PendingTransaction

_NEEDS = (Part.TRANSACTIONS,)
_HISTORY = (Part.TRANSACTIONS, Part.VERIFICATION)
_UNKNOWN = "?"
# A transaction is first checked 6 s after its half message was stored, at the next round of 60 s.
_GRACE_MS = 66_000
# transactionCheckInterval of 4.9; 5.x has half of it, and brokers tell theirs.
_ROUND_MS = 60_000


def _producer(case: Case, group: str) -> Subject:
    return Subject(kind=SubjectKind.PRODUCER_GROUP, broker=case.broker.name, group=group)


def _pending_by_group(case: Case) -> Iterator[tuple[str, list[PendingTransaction]]]:
    groups: dict[str, list[PendingTransaction]] = {}
    for pending in case.broker.transactions.pending if case.broker.transactions else ():
        groups.setdefault(pending.producer_group or _UNKNOWN, []).append(pending)
    yield from sorted(groups.items())


def _topics(members: list[PendingTransaction]) -> str:
    return ", ".join(sorted({member.topic or _UNKNOWN for member in members}))


@rule(
    "MQ720",
    Severity.WARNING,
    source="TransactionalMessageServiceImpl.check",
    needs=_NEEDS,
    playbook="transaction-pending",
)
def pending_transactions(case: Case) -> Iterator[Verdict]:
    """Half messages that nobody committed or rolled back; consumers do not see them."""
    for group, members in _pending_by_group(case):
        oldest = min(member.born_time_ms for member in members)
        yield Verdict(
            subject=_producer(case, group),
            params={"group": group, "topics": _topics(members)},
            evidence={
                "pending_count": len(members),
                "oldest_ms": case.now_ms - oldest,
                "most_checks_count": max(member.check_count for member in members),
            },
            severity=Severity.INFO if case.now_ms - oldest < case.settings.scaled(_GRACE_MS) else None,
        )


@rule(
    "MQ721",
    Severity.ERROR,
    source="TransactionalMessageServiceImpl.needDiscard",
    needs=_NEEDS,
    playbook="transaction-pending",
)
def many_checks(case: Case) -> Iterator[Verdict]:
    """Transactions checked so often that they will soon be discarded."""
    for group, members in _pending_by_group(case):
        many = [member for member in members if member.check_count >= case.settings.many_checks]
        if many:
            yield Verdict(
                subject=_producer(case, group),
                params={"group": group, "topics": _topics(many)},
                evidence={
                    "pending_count": len(many),
                    "oldest_ms": case.now_ms - min(member.born_time_ms for member in many),
                    "most_checks_count": max(member.check_count for member in many),
                },
            )


@rule(
    "MQ725",
    Severity.ERROR,
    source="AbstractTransactionalMessageCheckListener",
    needs=_NEEDS,
    playbook="transaction-pending",
)
def nobody_to_ask(case: Case) -> Iterator[Verdict]:
    """Pending transactions of a producer group that has nobody online: the broker's checks reach no one."""
    online = case.broker.transactions.online if case.broker.transactions else None
    if online is None:
        return
    for group, members in _pending_by_group(case):
        if online.get(group) == 0:
            yield Verdict(
                subject=_producer(case, group),
                params={"group": group, "topics": _topics(members)},
                evidence={
                    "pending_count": len(members),
                    "oldest_ms": case.now_ms - min(member.born_time_ms for member in members),
                    "most_checks_count": max(member.check_count for member in members),
                },
            )


@rule(
    "MQ722",
    Severity.ERROR,
    source="DefaultTransactionalMessageCheckListener.resolveDiscardMsg",
    needs=_NEEDS,
    playbook="transaction-pending",
)
def discarded_transactions(case: Case) -> Iterator[Verdict]:
    """Transactions that the broker gave up on: nobody said whether they were to be committed."""
    transactions = case.broker.transactions
    counts = Counter((item.producer_group or _UNKNOWN) for item in (transactions.discarded if transactions else ()))
    for group, count in sorted(counts.items()):
        own = (
            [item for item in transactions.discarded if (item.producer_group or _UNKNOWN) == group]
            if transactions
            else []
        )
        yield Verdict(
            subject=_producer(case, group),
            params={"group": group, "topics": ", ".join(sorted({item.topic or _UNKNOWN for item in own}))},
            evidence={"discarded_count": count, "last_time_ms": max(item.discarded_time_ms for item in own)},
        )


def _by_group(items: tuple[CommittedTransaction, ...]) -> Iterator[tuple[str, list[CommittedTransaction]]]:
    groups: dict[str, list[CommittedTransaction]] = {}
    for item in items:
        groups.setdefault(item.producer_group or _UNKNOWN, []).append(item)
    yield from sorted(groups.items())


@rule(
    "MQ723",
    Severity.WARNING,
    source="TransactionalMessageServiceImpl.deletePrepareMessage",
    needs=_HISTORY,
    playbook="transaction-pending",
)
def lost_ops(case: Case) -> Iterator[Verdict]:
    """Committed transactions without an op message: they will be checked again and may be committed twice."""
    for group, members in _by_group(case.broker.transactions.lost_ops if case.broker.transactions else ()):
        yield Verdict(
            subject=_producer(case, group),
            params={"group": group},
            evidence={"transaction_count": len(members), "first_half_offset": members[0].half_offset},
        )


@rule("MQ724", Severity.ERROR, source="EndTransactionProcessor", needs=_HISTORY, playbook="transaction-pending")
def double_commits(case: Case) -> Iterator[Verdict]:
    """Transactions committed more than once: consumers got the message as often."""
    for group, members in _by_group(case.broker.transactions.double_commits if case.broker.transactions else ()):
        yield Verdict(
            subject=_producer(case, group),
            params={"group": group, "key": members[0].unique_key},
            evidence={
                "transaction_count": len(members),
                "extra_count": sum(member.commit_count - 1 for member in members),
            },
        )


@rule(
    "MQ727",
    Severity.ERROR,
    source="TransactionalMessageBridge.parseHalfMessageInner",
    needs=_NEEDS,
    playbook="transaction-pending",
)
def delayed_half(case: Case) -> Iterator[Verdict]:
    """Half messages with a delay: each check puts a copy into the delay topic, and none ever comes to its end."""
    for group, members in _pending_by_group(case):
        delayed = [member for member in members if member.delayed]
        if delayed:
            yield Verdict(
                subject=_producer(case, group),
                params={"group": group, "topics": _topics(delayed)},
                evidence={"transaction_count": len(delayed)},
            )


@cluster_rule(
    "MQ726",
    Severity.ERROR,
    source="TransactionalMessageServiceImpl.check",
    needs=_NEEDS,
    playbook="transaction-pending",
    least_window=any_window,
)
def checks_stand(case: ClusterCase) -> Iterator[Verdict]:
    """A check loop that has not moved between two looks, several of its rounds apart, while half messages wait."""
    earlier = case.snapshot.earlier
    if earlier is None:
        return
    before = {broker.address: broker.transactions for broker in earlier.brokers}
    for broker in case.snapshot.brokers:
        then, now = before.get(broker.address), broker.transactions
        round_ms = decimal(broker.config.get("transactionCheckInterval")) or _ROUND_MS
        if then is None or now is None or case.window_ms < case.settings.scaled(2 * round_ms):
            continue
        if now.half_progress == then.half_progress and then.half_behind_count and now.half_behind_count:
            yield Verdict(
                subject=Subject(kind=SubjectKind.BROKER, broker=broker.name),
                params={"broker": broker.name},
                evidence={
                    "half_count": now.half_behind_count,
                    "recorded_offset": now.half_progress,
                    "window_ms": case.window_ms,
                },
            )
