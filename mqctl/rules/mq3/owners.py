"""MQ3: who owns which queue: nobody, two instances, or all others."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.allocation.group_view import GroupView, named_clients, queue_names
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Value, Why
from mqctl.model.gap import Part
from mqctl.model.member import MessageModel
from mqctl.model.queue import MessageQueue
from mqctl.rules.engine.audience import EVERY_TOPIC, SHARING, SUBSCRIBED
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, restarting, rule

_SHOW = "mqctl allocation show {source} -g {group}"

_OWNERS = (Part.MEMBERS, Part.RUNNING_INFO, Part.ROUTES)


@rule(
    "MQ309",
    Severity.FATAL,
    source="RebalanceImpl.updateProcessQueueTableInRebalance",
    needs=_OWNERS,
    playbook="unconsumed-queue",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Queues that no instance consumes",
        speaks="a queue that no member owns",
        silent="the same a minute after the members were started: it is not judged yet",
        what={
            "": "Nobody in group {group} consumes {orphan_count} of {queue_count:queue} of {topic}: {queues}.",
            "topic": "Nobody in group {group} consumes {orphan_count} of {queue_count:queue} of {topic}: {queues}. They "
            "are allocated to members that do not subscribe to it: {clients}.",
            "locked": "Nobody in orderly group {group} owns {orphan_count} of {queue_count:queue} of {topic}: {queues}. If "
            "a consumer was killed, its broker locks keep the new owner out until {over_time_ms} at the latest; "
            "then this resolves itself.",
        },
        effect="{waiting_count:message} waiting there; neither these nor later ones are consumed.",
        advice="Look again after two minutes (`--window 90s` looks twice). If it stays, give all members the same "
        "subscription and strategy, and look for a member that the others do not see.",
        explain="Compares the readable queues of the route with what every instance says it owns. Reported only when "
        "all of them answered and none started within the last two minutes. In an orderly group a killed "
        "consumer's locks last 60 s, and the next owner tries again every 20 s: only a second look after "
        "that time distinguishes a dead queue from a locked one.",
        next_command=_SHOW,
    ),
)
def orphans(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Queues that no member holds, by what the members themselves report."""
    for view in case.views:
        for topic, queues in case.shared_topics(view):
            held = {item.queue for info in view.running.values() for item in info.queues if not item.dropped}
            missing = [queue for queue in queues if queue not in held]
            if not missing:
                continue
            subject = Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic)
            if case.settling(view):
                yield restarting(subject, Reason.RESTARTING_ORPHANS, len(missing))
                continue
            if view.silent:
                values: dict[str, Value] = {"clients": named_clients(view.silent), "queue_count": len(missing)}
                yield Unknown(subject=subject, why=Why(Reason.SILENT_OWNERS, values))
                continue
            without = [client for client in view.running if view.subscription(client, topic) is None]
            locked = _may_be_locked(case, view, missing) if not without else None
            yield Verdict(
                subject=subject,
                params={
                    "group": view.group,
                    "topic": topic,
                    "queues": queue_names(missing),
                    "clients": named_clients(without) if without else None,
                },
                evidence={
                    "orphan_count": len(missing),
                    "queue_count": len(queues),
                    "waiting_count": case.waiting_in(view.group, missing),
                    **({"over_time_ms": locked} if locked is not None else {}),
                },
                variant="topic" if without else "locked" if locked is not None else None,
                severity=Severity.WARNING if locked is not None else None,
                # One look cannot tell it from queues on their way: a member that left is replaced within 20 s.
                confidence=Confidence.HIGH if without or _stays(case) else Confidence.MEDIUM,
            )


def _stays(case: ClusterCase) -> bool:
    """Whether members have been the same for longer than a rebalance takes."""
    return case.window_ms >= case.settings.scaled(_REBALANCE_MS)


# RebalanceLockManager.REBALANCE_LOCK_MAX_LIVE_TIME, and the period in which a consumer tries again to get a queue.
_LOCK_MS, _REBALANCE_MS = 60_000, 20_000


def _may_be_locked(case: ClusterCase, view: GroupView, queues: list[MessageQueue]) -> int | None:
    """Returns when at the latest the locks of a consumer that died are over, for an orderly group; None where nobody
    held the queues at an earlier look longer ago than locks last: what stays so long is no lock.

    Consumers do not take a queue that is locked for another one, and do not say that they were refused.
    """
    if not view.orderly:
        return None
    lasts_ms = case.settings.scaled(_LOCK_MS + _REBALANCE_MS)
    earlier = case.snapshot.earlier
    if earlier is not None and case.window_ms >= lasts_ms:
        held = {held.queue for info in earlier.running if info.group == view.group for held in info.queues}
        if held.isdisjoint(queues):
            return None
    return case.now_ms + lasts_ms


@rule(
    "MQ310",
    Severity.FATAL,
    source="RebalanceImpl.updateProcessQueueTableInRebalance",
    needs=_OWNERS,
    playbook="unconsumed-queue",
    groups=SHARING,
    topics=EVERY_TOPIC,
    texts=RuleTexts(
        title="Queues that two instances consume",
        speaks="two members own one queue",
        silent="the former owner still lists a queue that it has given up",
        what={"": "Two instances of group {group} own the same {double_count:queue} of {topic}: {queues}, {clients}."},
        effect="Messages of those queues are consumed twice, and the two overwrite each other's offsets.",
        advice="Look for two strategies in one group, or brokers that disagree about its members.",
        explain="Instances do not negotiate: each computes its share from what it sees. Different member lists or "
        "strategies give overlapping shares.",
        next_command=_SHOW,
    ),
)
def double_owners(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Queues that two members hold: consumed twice."""
    for view in case.views:
        if not view.shares:
            continue
        owners: dict[MessageQueue, list[str]] = {}
        for client, info in view.running.items():
            # Who broadcasts has every queue, beside those that share them out: that is MQ208's.
            for held in info.queues if info.properties.get("messageModel") != MessageModel.BROADCASTING.value else ():
                if not held.dropped:
                    owners.setdefault(held.queue, []).append(client)
        topics: dict[str, list[MessageQueue]] = {}
        for queue, clients in owners.items():
            if len(clients) > 1:
                topics.setdefault(queue.topic, []).append(queue)
        for topic, queues in sorted(topics.items()):
            subject = Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic)
            if case.settling(view):
                yield restarting(subject, Reason.RESTARTING_OWNERS, len(queues))
                continue
            yield Verdict(
                subject=subject,
                params={
                    "group": view.group,
                    "topic": topic,
                    "queues": queue_names(queues),
                    "clients": named_clients({client for queue in queues for client in owners[queue]}),
                },
                evidence={"double_count": len(queues)},
                confidence=Confidence.MEDIUM,
            )


@rule(
    "MQ313",
    Severity.WARNING,
    source="AllocateMessageQueueAveragely, AllocateMessageQueueAveragelyByCircle",
    needs=_OWNERS,
    playbook="unconsumed-queue",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="An instance without queues, though there are enough",
        speaks="one of two members holds all queues, the other none",
        silent="the same, and members share by consistent hash",
        what={
            "": "In group {group}, {idle_count:instance holds/hold} no queue of {topic}, though {queue_count:queue is/are} "
            "enough for {member_count:instance}: {clients}."
        },
        effect="The other instances carry more than their share, and the group is slower than it could be.",
        advice="Dump its threads: its rebalance thread may hang. If it does, restart the instance.",
        explain="AVG and AVG_BY_CIRCLE give every instance a queue while there are no more instances than queues. An "
        "instance that holds none does not rebalance, or sees another list of members. Judged as likely only where "
        "members do not say by which strategy they share.",
        next_command=_SHOW,
    ),
)
def without_a_share(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Instances that subscribe to a topic and hold none of its queues, while others hold what is theirs."""
    for view in case.views:
        strategies = {info.strategy for info in view.running.values()}
        if not strategies <= {"AVG", "AVG_BY_CIRCLE", None} or (None in strategies and case.settings.room_rule):
            continue  # by rooms, by hash or by hand, somebody may rightly get nothing
        for topic, queues in case.shared_topics(view):
            held = {
                client: {item.queue for item in info.queues if item.queue.topic == topic and not item.dropped}
                for client, info in view.running.items()
            }
            idle = [client for client in view.subscriptions(topic) if not held[client]]
            # Queues that nobody holds are MQ309's, and too few of them MQ302's.
            if not idle or len(view.client_ids) > len(queues) or not set().union(*held.values()) >= set(queues):
                continue
            subject = Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic)
            if case.settling(view):
                yield restarting(subject, Reason.RESTARTING_SURPLUS, len(idle))
                continue
            yield Verdict(
                subject=subject,
                params={"group": view.group, "topic": topic, "clients": named_clients(idle)},
                evidence={
                    "idle_count": len(idle),
                    "member_count": len(view.client_ids),
                    "queue_count": len(queues),
                },
                confidence=Confidence.LOW
                if None in strategies
                else Confidence.HIGH
                if _stays(case)
                else Confidence.MEDIUM,
            )
