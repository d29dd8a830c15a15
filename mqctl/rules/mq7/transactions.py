"""MQ72x: half messages that wait, and transactions that ended oddly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from mqctl.model.finding import Confidence, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal
from mqctl.model.transaction_state import CommittedTransaction, PendingTransaction
from mqctl.rules.engine.rule import Case, ClusterCase, RuleTexts, Verdict, any_window, rule

_NEEDS = (Part.TRANSACTIONS,)
_HISTORY = (Part.TRANSACTIONS, Part.VERIFICATION)
_UNKNOWN = "?"
# Of fewer half messages a client may have sent to one of its topics by chance.
_FEW_HALVES = 3
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
    texts=RuleTexts(
        title="Transactions are pending",
        speaks="a half message waits for its end",
        silent="half messages that were ended lie in the half topic as ever",
        what={
            "": "{pending_count:transaction} of producer group {group} ({topics}) pending, the oldest for {oldest_ms}; most "
            "checks of one so far: {most_checks_count}."
        },
        effect="Their messages are invisible to consumers; after 15 checks they are discarded.",
        advice="Check whether a producer of the group is online and what its transaction listener returns.",
        explain="Half messages from the check loop's position on that no op message names; copies of one transaction count "
        "once. Younger than about a minute they are normal.",
        next_command="mqctl transaction list {source} -g {group}",
    ),
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
    texts=RuleTexts(
        title="Transactions will soon be discarded",
        speaks="a transaction was checked twelve times",
        silent="a transaction was checked nine times",
        what={
            "": "{pending_count:transaction} of producer group {group} ({topics}) had up to {most_checks_count:check} "
            "that ended none of them; the oldest is {oldest_ms} old."
        },
        effect="At 15 checks the broker gives up on them and the business data may be inconsistent.",
        advice="See which producers of the group are online, and make their transaction listener answer commit or rollback "
        "before the last check.",
        explain="Once a round (60 s; 30 s from 5.1.1 on) the broker asks one producer of the group, and counts the "
        "checks. One that is not answered counts like one that is answered with unknown.",
        next_command="mqctl transaction list {source} -g {group}",
    ),
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
    texts=RuleTexts(
        title="Nobody answers the checks of pending transactions",
        speaks="no producer is online to be asked",
        silent="a producer of the group is online",
        what={
            "": "{pending_count:transaction} of producer group {group} ({topics}) pending, the oldest for {oldest_ms}; most "
            "checks of one so far: {most_checks_count}, and no producer of the group is connected to this broker."
        },
        effect="The broker's checks reach nobody and count all the same; at 15 it gives up on the transactions.",
        advice="Start a producer of the group with its transaction listener; after that, resume what was discarded.",
        explain="A broker asks only clients that are connected to it as producers of the transaction's own group.",
        next_command="mqctl transaction list {source} -g {group}",
    ),
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
    "MQ729",
    Severity.WARNING,
    source="ProducerManager.getAvailableChannel, AbstractTransactionalMessageCheckListener.sendCheckMessage",
    needs=_NEEDS,
    playbook="transaction-pending",
    texts=RuleTexts(
        title="Checks may reach a producer of other transactions",
        speaks="two producers of one group send half messages to one topic each",
        silent="both producers of the group send to both topics",
        what={
            "": "Producer group {group} has {client_count:client} that send half messages to different topics: {clients}. The broker checks with any of "
            "them, so that one may be asked about a transaction of another."
        },
        effect="A listener that does not know the transaction answers for it: what it rolls back is lost though the work was done, and what it does not know "
        "is discarded after 15 rounds.",
        advice="Give each application a producer group of its own. Until then let the listener answer UNKNOWN for topics that are not its own.",
        explain="Compares which connected client sent each of the newest 256 half messages: two clients of one group with three or more each and no topic in "
        "common. Instances of one application share their topics. `mqctl transaction show` says whether an end came from a check.",
        next_command="mqctl producer list {source}",
    ),
)
def senders_apart(case: Case) -> Iterator[Verdict]:
    """Clients of one producer group with half messages for different topics: a check goes to any client of the group."""
    topics: dict[str, dict[str, Counter[str]]] = {}
    for item in case.broker.transactions.senders if case.broker.transactions else ():
        by_client = topics.setdefault(item.producer_group, {})
        by_client.setdefault(item.client_id, Counter())[item.topic] += item.half_count
    for group, by_client in sorted(topics.items()):
        many = {client: sent for client, sent in sorted(by_client.items()) if sent.total() >= _FEW_HALVES}
        if not any(set(one).isdisjoint(other) for one, other in combinations(many.values(), 2)):
            continue
        yield Verdict(
            subject=_producer(case, group),
            params={
                "group": group,
                "clients": ", ".join(f"{client} ({', '.join(sorted(sent))})" for client, sent in many.items()),
            },
            evidence={
                "client_count": len(many),
                "topic_count": len(set().union(*many.values())),
                "sampled_count": sum(sent.total() for sent in many.values()),
            },
            confidence=Confidence.MEDIUM,
        )


@rule(
    "MQ722",
    Severity.ERROR,
    source="DefaultTransactionalMessageCheckListener.resolveDiscardMsg",
    needs=_NEEDS,
    playbook="transaction-pending",
    texts=RuleTexts(
        title="Transactions were discarded",
        speaks="the broker gave up on a transaction",
        silent="the broker is about to ask for the fourteenth time",
        what={
            "": "The broker gave up on {discarded_count:transaction} of producer group {group} ({topics}), the last at "
            "{last_time_ms}."
        },
        effect="Consumers never get these messages, even if the producer committed its own work.",
        advice="Start a producer of the group and have them checked again: `mqctl transaction resume`. Where its records are "
        "gone, compare with the application's and send the missing messages again.",
        explain="After 15 unanswered checks, or beyond the retention, a half message is copied to TRANS_CHECK_MAX_TIME_TOPIC "
        "and forgotten.",
        next_command="mqctl transaction list {source} -g {group}",
    ),
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
    texts=RuleTexts(
        title="Committed transactions without an op message",
        speaks="a committed transaction has no op message",
        silent="a transaction that is pending has none either",
        what={
            "": "{transaction_count:committed transaction} of producer group {group} have no op message, the first at half "
            "offset {first_half_offset}."
        },
        effect="The broker checks them again, and a second commit delivers the message a second time.",
        advice="Make consumers idempotent; a crash of a 5.x broker loses up to 3 s of op messages.",
        explain="A commit writes the message first and the op message that closes the half message afterwards.",
    ),
)
def lost_ops(case: Case) -> Iterator[Verdict]:
    """Committed transactions without an op message: they will be checked again and may be committed twice."""
    for group, members in _by_group(case.broker.transactions.lost_ops if case.broker.transactions else ()):
        yield Verdict(
            subject=_producer(case, group),
            params={"group": group},
            evidence={"transaction_count": len(members), "first_half_offset": members[0].half_offset},
        )


@rule(
    "MQ724",
    Severity.ERROR,
    source="EndTransactionProcessor",
    needs=_HISTORY,
    playbook="transaction-pending",
    texts=RuleTexts(
        title="Transactions committed more than once",
        speaks="a transaction was committed twice",
        silent="a transaction was committed once, and its op message is lost",
        what={
            "": "{transaction_count:transaction} of producer group {group} were committed {extra_count:time} too often "
            "(unique key {key}, for instance)."
        },
        effect="Consumers got these messages as often.",
        advice="Make consumers idempotent; look for producers that end a transaction twice.",
        explain="Ending a transaction has no test for an earlier answer: each commit writes another message.",
    ),
)
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
    texts=RuleTexts(
        title="Transactions with a delay",
        speaks="a half message has a delay level",
        silent="a half message without a delay waits",
        what={
            "": "{transaction_count:half message} of producer group {group} {transaction_count:/has/have} a delay level (topics {topics})."
        },
        effect="Half messages are delayed like others: checks are repeated, and after fifteen of them they are discarded.",
        advice="Do not set a delay on transactional messages; send the delayed message when the transaction has ended.",
        explain="Looks at the properties of half messages that wait for their end.",
        next_command="mqctl transaction list {source}",
    ),
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


@rule(
    "MQ726",
    Severity.ERROR,
    source="TransactionalMessageServiceImpl.check",
    needs=_NEEDS,
    playbook="transaction-pending",
    least_window=any_window,
    texts=RuleTexts(
        title="The check loop of transactions is stuck",
        speaks="the check loop stands at one offset for two minutes",
        silent="the check loop has moved on, and messages wait",
        what={
            "": "{broker} has {half_count:half message} to check, and its check loop stayed at offset {recorded_offset} for {window_ms}."
        },
        effect="Transactions whose producer went away are neither committed nor rolled back, and nothing is given up.",
        advice="Look for errors of the transaction service in the broker's log: an op queue that was cut or deleted stops it. Restart the broker once that is fixed.",
        explain="Compares the loop's own offset in the half queue in two samples, at least two of its rounds apart. Each round puts waiting messages behind the others, so that it moves even without answers.",
        next_command="mqctl transaction list {source}",
    ),
)
def checks_stand(case: ClusterCase) -> Iterator[Verdict]:
    """A check loop that has not moved between two samples, several of its rounds apart, while half messages wait."""
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
