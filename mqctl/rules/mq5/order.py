"""MQ5: ordered consumption that stands still, or an order that no longer holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from mqctl.allocation.group_view import GroupView, named_clients, queue_names
from mqctl.model.finding import Reason, Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.numbers import decimal
from mqctl.model.queue import MessageQueue
from mqctl.model.route import TopicRoute
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.audience import APPLICATION, ORDERED, SHARING, SUBSCRIBED, GroupKind, TopicKind
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, any_window, restarting, rule

_SHOW = "mqctl allocation show {source} -g {group}"
_STACKS = "mqctl stacks dump {source} -g {group} --client {client}"
_MEMBERS = "mqctl group members {source} -g {group}"

_RUNNING = (Part.MEMBERS, Part.RUNNING_INFO)


def _orderly(case: ClusterCase) -> Iterator[tuple[GroupView, RunningInfo]]:
    for view in case.views:
        for _, info in sorted(view.running.items()):
            if info.orderly and not view.broadcasting:
                yield view, info


def _verdict(view: GroupView, info: RunningInfo, queues: list[HeldQueue], **evidence: int) -> Verdict:
    return Verdict(
        subject=Subject(kind=SubjectKind.CLIENT, group=view.group, client=info.client_id),
        params={
            "group": view.group,
            "client": info.client_id,
            "queues": queue_names([held.queue for held in queues]),
        },
        evidence={"queue_count": len(queues), **evidence},
    )


@rule(
    "MQ501",
    Severity.WARNING,
    source="RebalanceLockManager",
    needs=_RUNNING,
    playbook="stuck-consumer",
    groups=frozenset({GroupKind.ORDERLY}),
    texts=RuleTexts(
        title="An orderly consumer waits for queue locks",
        speaks="an orderly consumer has a queue without its lock",
        silent="the same a minute after it was started",
        what={"": "{client} of {group} has no lock on {queue_count:queue}: {queues}."},
        effect="These queues are not consumed until the former owner's locks expire, within a minute.",
        advice="Wait 80 s. If it stays, look for an owner that renews the locks without consuming.",
        explain="The broker locks a queue for one client id for 60 s at a time. An owner that died keeps its locks that long.",
        next_command=_SHOW,
    ),
)
def unlocked_queues(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Queues of an orderly consumer that the broker has not locked for it: another one's lock has not run out."""
    for view, info in _orderly(case):
        waiting = [held for held in info.queues if not held.dropped and not held.locked]
        if not waiting:
            continue
        verdict = _verdict(view, info, waiting)
        if case.settling(view):
            yield restarting(verdict.subject, Reason.RESTARTING_UNLOCKED, len(waiting))
        else:
            yield verdict


@rule(
    "MQ502",
    Severity.ERROR,
    source="RebalancePushImpl.removeUnnecessaryMessageQueue",
    needs=_RUNNING,
    playbook="stuck-consumer",
    groups=frozenset({GroupKind.ORDERLY}),
    texts=RuleTexts(
        title="An orderly consumer hangs",
        speaks="a listener has had one message for two minutes",
        silent="a listener has had one message for 50 seconds",
        what={"": "The listener of {client} ({group}) has not returned for {idle_ms}: {queues}."},
        effect="{queue_count:queue} not consumed; even if they are allocated to another instance, this one does not "
        "release them.",
        advice="Take its stacks, then restart that instance.",
        explain="Reported when a queue was given up and cannot be unlocked, or when messages were passed to the "
        "listener more than a minute ago.",
        next_command=_STACKS,
    ),
)
def hung_owner(case: ClusterCase) -> Iterator[Verdict]:
    """An orderly consumer that gave a queue up and cannot let go of it: its listener has not come back."""
    limit_ms = case.settings.scaled(case.settings.blocked_ms)
    for view, info in _orderly(case):
        hung = [
            held
            for held in info.queues
            if (held.dropped and held.try_unlock_count)
            or (
                held.transaction_count
                and held.last_consume_time_ms > 0
                and case.unfinished_ms(view.group, held) > limit_ms
            )
        ]
        if hung:
            least_ms = min(case.unfinished_ms(view.group, held) for held in hung)
            yield _verdict(view, info, hung, idle_ms=max(0, least_ms))


@rule(
    "MQ503",
    Severity.ERROR,
    source="ConsumeMessageOrderlyService.checkReconsumeTimes",
    needs=_RUNNING,
    playbook="stuck-consumer",
    groups=frozenset({GroupKind.ORDERLY}),
    topics=SUBSCRIBED,
    least_window=any_window,
    texts=RuleTexts(
        title="One message blocks an orderly queue",
        speaks="an orderly queue fails and does not move",
        silent="an orderly queue has messages in its cache and moves",
        what={"": "{client} of {group} retries the message at {queue_offset} of {queues} repeatedly."},
        effect="{cached_count:cached message} and all later ones wait behind it.",
        advice="Fix the listener, or set maxReconsumeTimes so that the message becomes a dead letter. With key-ordered consumption, "
        "only the key of that message would wait.",
        explain="An orderly listener that fails is called again with the same message, 2147483647 times by default.",
        next_command=_STACKS,
    ),
)
def poison_message(case: ClusterCase) -> Iterator[Verdict]:
    """An orderly queue that stands at one message while consumption fails: it is retried for ever."""
    earlier = _held_before(case.snapshot.earlier)
    for view, info in _orderly(case):
        failing = {rates.topic for rates in info.rates if rates.consume_failed_tps > 0}
        for held in info.queues:
            before = earlier.get((view.group, info.client_id, held.queue))
            stands = before is not None and before.commit_offset == held.commit_offset
            if stands and held.queue.topic in failing and held.cached_count:
                yield Verdict(
                    subject=Subject(
                        kind=SubjectKind.CLIENT,
                        group=view.group,
                        client=info.client_id,
                        topic=held.queue.topic,
                        queue_id=held.queue.queue_id,
                    ),
                    params={"group": view.group, "client": info.client_id, "queues": queue_names([held.queue])},
                    evidence={"queue_offset": held.commit_offset, "cached_count": held.cached_count},
                )


def _held_before(earlier: ClusterSnapshot | None) -> dict[tuple[str, str, MessageQueue], HeldQueue]:
    """Returns what instances held at the earlier look, by (group, client id, queue)."""
    running = earlier.running if earlier else ()
    return {(info.group, info.client_id, held.queue): held for info in running for held in info.queues}


@rule(
    "MQ504",
    Severity.ERROR,
    source="ProcessQueue.isLockExpired",
    needs=_RUNNING,
    playbook="broker-down",
    groups=frozenset({GroupKind.ORDERLY}),
    texts=RuleTexts(
        title="Queue locks were not renewed",
        speaks="a queue lock was renewed a minute ago",
        silent="a queue lock was renewed 25 seconds ago",
        what={"": "{client} of {group} renewed its lock on {queues} {idle_ms} ago."},
        effect="After 30 s the consumer stops by itself; after 60 s another one may take the queues.",
        advice="Check that the client reaches the master of those queues. If its pulls are as old (`mqctl group members --client`), the whole process is "
        "paused or its clock is behind.",
        explain="Locks are renewed every 20 s at the master; a slave grants none.",
        next_command=_SHOW,
    ),
)
def expired_locks(case: ClusterCase) -> Iterator[Verdict]:
    """Queue locks that an orderly consumer has not renewed: it consumes nothing until it can."""
    limit_ms = case.settings.scaled(case.settings.lock_expired_ms)
    for view, info in _orderly(case):
        expired = [
            held
            for held in info.queues
            if held.locked
            and not held.dropped
            and held.last_lock_time_ms
            and case.now_ms - held.last_lock_time_ms > limit_ms
        ]
        if expired:
            oldest_ms = min(held.last_lock_time_ms for held in expired)
            verdict = _verdict(view, info, expired, idle_ms=case.now_ms - oldest_ms)
            yield replace(verdict, confidence=case.age_confidence(info))


@rule(
    "MQ505",
    Severity.WARNING,
    source="ConsumeMessageConcurrentlyService",
    needs=(*_RUNNING, Part.ROUTES),
    playbook="hot-key",
    groups=SHARING,
    topics=SUBSCRIBED - {TopicKind.SYSTEM},
    texts=RuleTexts(
        title="An ordered topic is consumed concurrently",
        speaks="an ordered topic is consumed concurrently, or any topic by some members in order only",
        silent="all members are orderly",
        what={
            "": "{topic} is declared as ordered; {concurrent_count:instance consumes/consume} it concurrently in group {group} "
            "of {member_count:instance}.",
            "mixed": "Group {group} consumes {topic} both ways: {orderly_count:instance} in order, {concurrent_count} concurrently "
            "({clients}).",
        },
        effect="Messages of one key are handled by several threads at once wherever a concurrent instance owns the queue. In a mixed "
        "group that changes with every rebalance: a concurrent instance takes no lock, so two instances may consume one queue "
        "meanwhile, and a failed message goes to the retry topic instead of holding its queue.",
        advice="Use an orderly listener in every instance, or one that keeps the order of keys. If nobody needs the order, make all "
        "instances concurrent. Mixed instances are two releases of the program, or two programs under one group name: compare them "
        "with `mqctl group members`.",
        explain="A topic declared as ordered, or consumed in order by some instances of the group, needs an orderly listener in all of "
        "them: a concurrent one takes messages of one queue in parallel and does not lock it. The order that instances report "
        "counts (PROP_CONSUMEORDERLY); instances that do not report it are left out.",
        next_command=_MEMBERS,
    ),
)
def concurrent_on_ordered_topic(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A topic that is consumed concurrently, though it is declared as ordered or others consume it in order."""
    ordered = {topic for topic, route in case.routes.items() if route.order_conf}
    ordered |= {config.name for broker in case.snapshot.brokers for config in broker.topics if config.order}
    for view in case.views:
        for topic in view.topics():
            loose, strict = (_consuming(view, topic, orderly=orderly) for orderly in (False, True))
            if not loose or not (strict or topic in ordered):
                continue
            subject = Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic)
            if topic not in ordered and case.settling(view):
                # One listener replaces the other in a rolling restart.
                yield restarting(subject, Reason.RESTARTING_ORDERLY, len(strict))
                continue
            yield Verdict(
                subject=subject,
                params={"group": view.group, "topic": topic, "clients": named_clients(loose)},
                evidence={
                    "member_count": len(view.client_ids),
                    "concurrent_count": len(loose),
                    "orderly_count": len(strict),
                },
                variant="mixed" if strict else None,
            )


def _consuming(view: GroupView, topic: str, *, orderly: bool) -> list[str]:
    """Returns the members that want `topic` and say that they consume in order, or that they do not."""
    telling = [client for client, info in view.running.items() if info.orderly is orderly]
    return [client for client in telling if view.subscription(client, topic) is not None]


@rule(
    "MQ507",
    Severity.ERROR,
    source="SelectMessageQueueByHash",
    needs=(Part.ROUTES, Part.TOPICS),
    playbook="hot-key",
    topics=ORDERED,
    least_window=any_window,
    texts=RuleTexts(
        title="An ordered topic has another number of queues than before",
        speaks="an ordered topic got more queues between two samples",
        silent="a topic without order got more queues",
        what={"": "Ordered topic {topic} had {earlier_queue_count:queue} and has {queue_count} now."},
        effect="With a selector by hash {moved_share} of the keys go to another queue, where their new messages may overtake old "
        "ones.",
        advice="Stop the producers, let consumers drain, then resize. A fixed order configuration keeps the number "
        "stable.",
        explain="A key's queue is its hash modulo the number of queues: from n to m queues a share of 1 - min(n, m) / lcm(n, m) "
        "moves. Needs two samples.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def ordered_topic_resized(case: ClusterCase) -> Iterator[Verdict]:
    """An ordered topic whose number of queues changed: keys have gone to other queues than their last messages."""
    if case.snapshot.earlier is None:
        return
    before = case.snapshot.earlier.routes()
    ordered = {config.name for broker in case.snapshot.brokers for config in broker.topics if config.order}
    ordered |= {topic for topic, route in case.routes.items() if route.order_conf}
    for topic in sorted(ordered & before.keys() & case.routes.keys()):
        old, new = _write_queues(before[topic]), _write_queues(case.routes[topic])
        brokers = [{queues.broker_name for queues in route.queues} for route in (before[topic], case.routes[topic])]
        if old and new and old != new and brokers[0] <= brokers[1]:
            yield Verdict(
                subject=Subject(kind=SubjectKind.TOPIC, topic=topic),
                params={"topic": topic},
                evidence={
                    "earlier_queue_count": old,
                    "queue_count": new,
                    "moved_share": 1 - min(old, new) / math.lcm(old, new),
                },
            )


@rule(
    "MQ508",
    Severity.ERROR,
    source="MQClientInstance.topicRouteData2TopicPublishInfo",
    needs=(Part.ROUTES,),
    playbook="broker-down",
    topics=APPLICATION,
    texts=RuleTexts(
        title="An order configuration does not fit its topic",
        speaks="an order configuration counts more queues than the topic has",
        silent="it lists one of two brokers, as it is",
        what={
            "": "The order configuration of {topic} ({conf}) counts more queues than the topic has on {brokers}.",
            "unreadable": "The order configuration of {topic} is {conf}; producers read BROKER:QUEUES;BROKER:QUEUES.",
        },
        effect="Sends to a queue that does not exist are refused; what producers cannot read leaves them without a route, and every send fails.",
        advice="Correct it on all name servers: `mqctl topic update --order`.",
        explain="Where a name server runs with orderMessageEnable, producers take the queues of such a topic from ORDER_TOPIC_CONFIG and not from the topic's settings.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def unfit_order_conf(case: ClusterCase) -> Iterator[Verdict]:
    """An order configuration that producers cannot read, or that counts queues which the topic does not have.

    A broker that is gone is MQ617's; one that is not listed gets no messages, which is what the list is for.
    """
    for route in case.user_routes:
        parts = [part.split(":") for part in (route.order_conf or "").split(";")]
        if not route.order_conf:
            continue
        # Producers read the first two parts of each entry, and stumble over what is no number.
        readable = all(len(part) > 1 and decimal(part[1]) is not None for part in parts)
        has = {item.broker_name: max(item.read_queue_count, item.write_queue_count) for item in route.queues}
        short = sorted(part[0] for part in parts if readable and (decimal(part[1]) or 0) > has.get(part[0], math.inf))
        if not readable or short:
            yield Verdict(
                subject=Subject(kind=SubjectKind.TOPIC, topic=route.topic),
                params={"topic": route.topic, "conf": route.order_conf, "brokers": ", ".join(short) or None},
                evidence={"broker_count": len(short)},
                variant="unreadable" if not readable else None,
            )


def _write_queues(route: TopicRoute) -> int:
    return sum(queues.write_queue_count for queues in route.queues)


@rule(
    "MQ506",
    Severity.ERROR,
    source="MQClientInstance.topicRouteData2TopicPublishInfo",
    needs=(Part.ROUTES, Part.TOPICS),
    playbook="hot-key",
    topics=ORDERED,
    least_window=any_window,
    texts=RuleTexts(
        title="An ordered topic lost a broker",
        speaks="an ordered topic lost a broker between two samples",
        silent="a topic without order lost a broker",
        what={"": "The route of {topic} lacks {brokers}, and no order configuration fixes its queues."},
        effect="Producers now spread keys over fewer queues: messages of one key are in two queues.",
        advice="Bring the broker back, or create the topic on it again if `mqctl broker list` still shows it; set ORDER_TOPIC_CONFIG so that "
        "senders wait rather than move keys.",
        explain="Selectors take the hash of a key modulo the number of queues in the route. An order configuration keeps the "
        "number when a broker is away.",
        next_command="mqctl topic route {source} -t {topic}",
    ),
)
def ordered_topic_shrunk(case: ClusterCase) -> Iterator[Verdict]:
    """An ordered topic whose route lacks a broker that its settings know: keys are spread over fewer queues now."""
    ordered: dict[str, set[str]] = {}
    if case.snapshot.earlier is not None:
        for topic, route in case.snapshot.earlier.routes().items():
            ordered[topic] = {queues.broker_name for queues in route.queues}
    declared = {config.name for broker in case.snapshot.brokers for config in broker.topics if config.order}
    for route in case.user_routes:
        gone = sorted(ordered.get(route.topic, set()) - {queues.broker_name for queues in route.queues})
        if route.topic in declared and route.order_conf is None and gone:
            yield Verdict(
                subject=Subject(kind=SubjectKind.TOPIC, topic=route.topic),
                params={"topic": route.topic, "brokers": ", ".join(gone)},
                evidence={"missing_count": len(gone)},
            )
