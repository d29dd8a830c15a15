"""MQ4 of groups that pop (5.x): what was given out and does not come back, comes too early, or holds up the rest."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.allocation.group_view import GroupView, named_clients
from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.model.pop_share import PopShare, summed_shares
from mqctl.rules.engine.audience import EVERY, ONLINE, POPPED
from mqctl.rules.engine.rule import Case, ClusterCase, RuleTexts, Verdict, rule

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
    texts=RuleTexts(
        title="Popped messages are not redelivered",
        speaks="popped messages have been due for a minute",
        silent="the same within the minute, while they are being revived",
        what={
            "": "{due_count:message} of {topic} that group {group} popped and did not acknowledge "
            "{due_count:/is/are} due for another try, the oldest for {late_ms}, and not in the retry topic."
        },
        effect="They are not delivered again until the broker revives them; nothing else shows that they are missing.",
        advice="Check that the broker's timer wheel works (timerWheelEnable, disk) and that its revive queues advance.",
        explain="A broker of 5.x copies what was not acknowledged into the retry topic two to four seconds after its "
        "invisible time. After more than 1 min, the revive service or the timer wheel is stuck or has a "
        "backlog.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def revive_stands_still(case: Case) -> Iterator[Verdict]:
    """Popped messages are due for another try for long, and the broker does not put them into the retry topic."""
    for share in case.broker.pop:
        late_ms = 0 if share.oldest_due_ms is None else case.now_ms - share.oldest_due_ms
        due_count = (share.due_count or 0) - share.ordered_due_count
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
    texts=RuleTexts(
        title="Retries are stranded under the other name",
        speaks="retries lie under the second name and the broker reads the first",
        silent="the broker reads the second name",
        what={
            "": "{stranded_count:message} of {topic} that group {group} has to try again {stranded_count:/waits/wait} "
            "in the retry topic of the second name, which no pop reads while enableRetryTopicV2 is false.",
            "first": "{stranded_count:message} of {topic} that group {group} has to try again {stranded_count:/waits/wait} "
            "in the retry topic of the first name, which no pop reads while retrieveMessageFromPopRetryTopicV1 is false.",
        },
        effect="They are never delivered, and the lag of 5.x tools leaves that topic out.",
        advice="Set enableRetryTopicV2 and retrieveMessageFromPopRetryTopicV1 to true until the group has drained both "
        "retry topics: pops then read them in turn.",
        explain="Pop retry topics have two names, %RETRY%GROUP_TOPIC and %RETRY%GROUP+TOPIC. The second is written and read only "
        "with enableRetryTopicV2; what lies there when it is switched off stays there, and so does what lies in the first when "
        "retrieveMessageFromPopRetryTopicV1 is switched off.",
        next_command="mqctl group lag {source} -g {group}",
    ),
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


@rule(
    "MQ421",
    Severity.WARNING,
    source="ConsumeMessagePopConcurrentlyService.ConsumeRequest",
    needs=(Part.POP, Part.RUNNING_INFO),
    playbook="pop-stuck",
    groups=ONLINE,
    topics=POPPED,
    texts=RuleTexts(
        title="Consumption takes longer than messages are invisible",
        speaks="members take 90 s for what they pop for a minute",
        silent="they take 50 s of the minute",
        what={
            "": "Members of group {group} take up to {consume_rt_ms} for messages of {topic} that they pop for "
            "{invisible_ms}: the broker gives them to others before they are done.",
            "hung": "Members of group {group} hold {held_count:message} of {topic} and finished none for a minute, but only "
            "{invisible_count:message} {invisible_count:/is/are} still invisible: others are redelivered while they are held.",
        },
        effect="The same messages are consumed twice at the same time, and what finishes late cannot be acknowledged any more.",
        advice="Give pops an invisible time well above the slowest consumption (popInvisibleTime, at most 300 s), renew it while a "
        "message is worked on, or make the listener faster; look at the stacks when nothing is finished.",
        explain="A popped message is visible to others once its invisible time is over, whether its consumer still works on it or "
        "not; a late acknowledgement is answered with success and has no effect. Compared are the consume time that members report, or "
        "what they hold, with the invisible time of most pops and what is invisible at the broker.",
        next_command="mqctl stacks dump -g {group} --explain",
    ),
)
def held_too_long(case: ClusterCase) -> Iterator[Verdict]:
    """Consumption takes longer than messages are invisible: others get them while they are still held."""
    shares = summed_shares(share for broker in case.snapshot.brokers for share in broker.pop)
    for view in case.views:
        for (group, topic), share in shares.items():
            if group != view.group or not share.invisible_ms or share.invisible_count is None:
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
    texts=RuleTexts(
        title="Popped messages are held without end",
        speaks="messages have been renewed for five minutes and are not acknowledged",
        silent="the same after four minutes",
        what={
            "": "Group {group} has held {renewed_count:message} of {topic} for up to {held_ms}: {renewed_count:/its/their} "
            "invisible time is extended repeatedly, and nothing acknowledges {renewed_count:/it/them}."
        },
        effect="Nobody else gets these messages: a proxy extends the time of a consumer that hangs for up to three hours. Lag and "
        "in flight of other tools stay at 0.",
        advice="Find the consumer that hangs. gRPC clients for Python and Node.js give no stacks to brokers: take them on the "
        "consumer's host (`mqctl stacks find`, then `mqctl stacks dump --pid PID --explain`). Restarting it loses nothing: what "
        "it held is redelivered.",
        explain="Push consumers of gRPC receive with auto_renew: the proxy extends the invisible time of what they work on while "
        "they send heartbeats, and a hung listener sends them, too. Every extension is a record in the broker's timer topic. Two "
        "of them and five minutes are more than a message in progress. Only the newest 20,000 records are read from a running "
        "broker, so the time may be longer.",
        next_command="mqctl group members {source} -g {group} -o wide",
    ),
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


@rule(
    "MQ422",
    Severity.ERROR,
    source="RebalanceImpl.getRebalanceResultFromBroker",
    needs=(Part.MEMBERS, Part.RUNNING_INFO),
    playbook="pop-stuck",
    groups=ONLINE,
    topics=POPPED,
    texts=RuleTexts(
        title="Some members pull while their group pops",
        speaks="a member pulls the queues of a topic that its group pops",
        silent="all members pop it, and pull the classic retry topic",
        what={
            "": "Group {group} is set to pop {topic}, and {pulling_count:member} (of {member_count}) {pulling_count:/pulls/pull} it: {clients}.",
            "brokers": "Group {group} is set to pop {topic} on some brokers and to pull it on {brokers}: members follow the broker that they ask, another one each time.",
            "undeclared": "Members of group {group} pop {topic} ({popping_count} of {member_count}: {clients}) while others pull it ({pulling_count}: {others}), and no broker is set to POP for it.",
        },
        effect="Both share one consumer offset: pulling members overwrite what pops committed, so messages are "
        "consumed twice or skipped.",
        advice="Set clientRebalance=false in those members (Java 5.x) so that they ask the broker, restart old clients with ones that "
        "pop, or set the group back: mqadmin setConsumeMode -m PULL. Give all brokers of the cluster the same mode (-c). Where no broker is set to POP, members that pop still follow an older setting or pop by themselves.",
        explain="Request 401 sets how a group consumes a topic. Only clients that ask the broker for their queues (request 400) follow "
        "it; others go on pulling the queues that they allocate themselves. After a switch members follow within 20 s.",
        next_command="mqctl group members {source} -g {group}",
    ),
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
    texts=RuleTexts(
        title="Ordered queues are blocked",
        speaks="an ordered queue is blocked for a minute and messages wait",
        silent="a batch of it is consumed for 50 s",
        what={
            "": "{blocked_queue_count:queue} of {topic} {blocked_queue_count:/gives/give} nothing more to group {group}: a batch was popped {blocked_ms} ago and "
            "is not acknowledged (delivered {delivered_before_count:time} before), and {ready_count:message} {ready_count:/waits/wait}."
        },
        effect="Everything behind the batch waits, for all sharding keys of the queue, until the batch is "
        "acknowledged or its invisible time ends.",
        advice="Find the consumer that holds the batch and why its first message fails or hangs; an acknowledgement of that message "
        "frees the queue.",
        explain="An ordered pop gives out one batch of a queue at a time and nothing behind it while a message of it is neither "
        "acknowledged nor visible again. A minute, or the fourth delivery of one message, is more than a batch in progress. Brokers keep "
        "it in consumerOrderInfo.json and do not report it: only a store shows it.",
        next_command="mqctl group lag {source} -g {group}",
    ),
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
