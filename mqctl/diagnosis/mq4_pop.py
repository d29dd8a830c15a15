"""MQ4 of groups that pop (5.x): what was given out and does not come back, comes too early, or holds up the rest."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.audience import EVERY, ONLINE, POPPED
from mqctl.diagnosis.group_view import GroupView, named_clients
from mqctl.diagnosis.rule import Case, ClusterCase, Verdict, cluster_rule, rule
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.pop_share import PopShare, summed_shares

_SWITCH, _READ_FIRST = "enableRetryTopicV2", "retrieveMessageFromPopRetryTopicV1"
_MANY_TIMES = 3


def _share(case: Case, share: PopShare) -> Subject:
    return Subject(kind=SubjectKind.GROUP, broker=case.broker.name, group=share.group, topic=share.topic)


@rule(
    "MQ416",
    Severity.ERROR,
    source="PopReviveService",
    needs=(Part.POP,),
    playbook="pop-stuck",
    groups=EVERY,
    topics=POPPED,
)
def revive_stands_still(case: Case) -> Iterator[Verdict]:
    """Popped messages are due for another try for long, and the broker does not put them into the retry topic."""
    for share in case.broker.pop:
        late_ms = 0 if share.oldest_due_ms is None else case.now_ms - share.oldest_due_ms
        due_count = share.due_count - share.ordered_due_count
        if due_count and late_ms >= case.settings.scaled(case.settings.revive_late_ms):
            yield Verdict(
                subject=_share(case, share),
                params={"group": share.group, "topic": share.topic},
                evidence={"due_count": due_count, "late_ms": late_ms},
            )


@rule(
    "MQ417",
    Severity.ERROR,
    source="KeyBuilder.buildPopRetryTopic",
    needs=(Part.POP, Part.CONFIG),
    playbook="pop-stuck",
    groups=EVERY,
    topics=POPPED,
)
def stranded_retries(case: Case) -> Iterator[Verdict]:
    """Retries lie under the name that no pop reads: the second one, or the first where the broker leaves that out."""
    reads_second = case.broker.config.get(_SWITCH) == "true"
    if _SWITCH not in case.broker.config or (reads_second and case.broker.config.get(_READ_FIRST) != "false"):
        return
    for share in case.broker.pop:
        stranded = share.retry_count - share.retry_v2_count if reads_second else share.retry_v2_count
        if stranded:
            yield Verdict(
                subject=_share(case, share),
                params={"group": share.group, "topic": share.topic},
                evidence={"stranded_count": stranded},
                variant="first" if reads_second else None,
            )


@cluster_rule(
    "MQ421",
    Severity.WARNING,
    source="ConsumeMessagePopConcurrentlyService.ConsumeRequest",
    needs=(Part.POP, Part.RUNNING_INFO),
    playbook="pop-stuck",
    groups=ONLINE,
    topics=POPPED,
)
def held_too_long(case: ClusterCase) -> Iterator[Verdict]:
    """Consumption takes longer than messages are invisible: others get them while they are still held."""
    shares = summed_shares(share for broker in case.snapshot.brokers for share in broker.pop)
    for view in case.views:
        for (group, topic), share in shares.items():
            if group != view.group or not share.invisible_ms:
                continue
            rates = [item for info in view.running.values() for item in info.rates if item.topic == topic]
            slowest_ms = round(max((item.consume_rt_ms for item in rates), default=0))
            finished = any(item.consume_ok_tps or item.consume_failed_tps for item in rates)
            held = sum(info.held_counts.get(topic, 0) for info in view.running.values())
            evidence = {
                "invisible_ms": share.invisible_ms,
                "held_count": held,
                "invisible_count": share.invisible_count,
                "consume_rt_ms": slowest_ms,
            }
            variant = None
            if slowest_ms < share.invisible_ms:
                if finished or view.behind_proxy or held <= share.invisible_count or not share.retried_count:
                    continue
                variant = "hung"
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, group=group, topic=topic),
                params={"group": group, "topic": topic},
                evidence=evidence,
                variant=variant,
            )


@rule(
    "MQ425",
    Severity.WARNING,
    source="DefaultReceiptHandleManager.scheduleRenewTask",
    needs=(Part.POP,),
    playbook="pop-stuck",
    groups=EVERY,
    topics=POPPED,
)
def held_without_end(case: Case) -> Iterator[Verdict]:
    """Popped messages are neither acknowledged nor given back: their time is lengthened again and again."""
    for share in case.broker.pop:
        held_ms = 0 if share.held_since_ms is None else case.now_ms - share.held_since_ms
        if share.renewed_count and held_ms >= case.settings.scaled(case.settings.popped_held_ms):
            yield Verdict(
                subject=_share(case, share),
                params={"group": share.group, "topic": share.topic},
                evidence={
                    "renewed_count": share.renewed_count,
                    "held_ms": held_ms,
                    "invisible_count": share.invisible_count,
                },
            )


@cluster_rule(
    "MQ422",
    Severity.ERROR,
    source="RebalanceImpl.getRebalanceResultFromBroker",
    needs=(Part.MEMBERS, Part.RUNNING_INFO),
    playbook="pop-stuck",
    groups=ONLINE,
    topics=POPPED,
)
def pulls_what_is_popped(case: ClusterCase) -> Iterator[Verdict]:
    """Members pull a topic that their group is set to pop; or some pop it and some pull it, and no broker is set to."""
    for view in case.views:
        yield from _mixed(view)
        for topic in sorted(view.popped_topics):
            pulling = _pulling(view, topic)
            unset = _not_set_to_pop(case, view, topic)
            if unset:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic, "brokers": ", ".join(unset)},
                    evidence={"broker_count": len(unset), "pulling_count": len(pulling)},
                    variant="brokers",
                )
            elif pulling:
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic, "clients": named_clients(pulling)},
                    evidence={"pulling_count": len(pulling), "member_count": len(view.client_ids)},
                )


def _not_set_to_pop(case: ClusterCase, view: GroupView, topic: str) -> list[str]:
    """Returns the brokers with the topic that have the group pull it, where others have it pop."""
    return sorted(
        broker.name or ""
        for broker in case.snapshot.brokers
        if (held := view.memberships.get(broker.name or "")) is not None
        and topic not in held.popped_topics
        and broker.lacks(Part.POP) is None
        and any(config.name == topic for config in broker.topics)
    )


def _mixed(view: GroupView) -> Iterator[Verdict]:
    """Yields topics that nobody declares as popped, and that members of one group both pop and pull."""
    topics = {topic for info in view.running.values() if info.pops for topic in info.held_counts}
    for topic in sorted(topics - view.popped_topics):
        popping = [client for client, info in view.running.items() if info.pops and topic in info.held_counts]
        pulling = _pulling(view, topic)
        if pulling:
            yield Verdict(
                subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                params={
                    "group": view.group,
                    "topic": topic,
                    "clients": named_clients(popping),
                    "others": named_clients(pulling),
                },
                evidence={
                    "popping_count": len(popping),
                    "pulling_count": len(pulling),
                    "member_count": len(view.client_ids),
                },
                variant="undeclared",
            )


def _pulling(view: GroupView, topic: str) -> list[str]:
    return [
        client
        for client, info in view.running.items()
        if any(held.queue.topic == topic and not held.dropped for held in info.queues)
    ]


@rule(
    "MQ420",
    Severity.WARNING,
    source="ConsumerOrderInfoManager",
    needs=(Part.POP,),
    playbook="pop-stuck",
    groups=EVERY,
    topics=POPPED,
)
def ordered_queues_blocked(case: Case) -> Iterator[Verdict]:
    """Ordered queues give out nothing for long, or again and again the same, while messages wait behind."""
    for share in case.broker.pop:
        if not share.blocked_queue_count or not share.ready_count or share.blocked_since_ms is None:
            continue
        blocked_ms = case.now_ms - share.blocked_since_ms
        if blocked_ms >= case.settings.scaled(case.settings.revive_late_ms) or share.blocked_times >= _MANY_TIMES:
            yield Verdict(
                subject=_share(case, share),
                params={"group": share.group, "topic": share.topic},
                evidence={
                    "blocked_queue_count": share.blocked_queue_count,
                    "blocked_ms": blocked_ms,
                    "delivered_before_count": share.blocked_times,
                    "ready_count": share.ready_count,
                },
            )
