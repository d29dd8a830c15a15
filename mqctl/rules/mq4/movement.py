"""MQ4 as far as it takes two looks: offsets that stand still or go back, failures and dead letters that grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from mqctl.allocation.group_view import GroupView, queue_names
from mqctl.lag.advice import BacklogAdvice, backlog_advice
from mqctl.lag.rates import Outlook
from mqctl.lag.remedies import Effect
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.member import RunningInfo
from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, group_of, is_retry_topic, is_system_group
from mqctl.model.pop_share import summed_shares
from mqctl.model.queue import MessageQueue
from mqctl.model.route import MASTER_ID
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.audience import (
    COMMITTING,
    EVERY,
    EVERY_TOPIC,
    JOINED,
    LAGGING,
    ONLINE,
    SHARING,
    SUBSCRIBED,
    GroupKind,
    TopicKind,
)
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Unknown, Verdict, any_window, restarting, rule
from mqctl.rules.engine.stalled_queues import queues_in_turn

_LAG = "mqctl group lag {source} -g {group}"
_SHOW = "mqctl allocation show {source} -g {group}"

_OFFSETS = (Part.CONSUMER_OFFSETS, Part.QUEUES, Part.MEMBERS)
_RATES = (*_OFFSETS, Part.RUNNING_INFO)
# Six commits of a consumer: what has not arrived by then does not arrive.
_COMMITTED_BY_MS = 30_000
_Key: TypeAlias = tuple[str, str, str, int]


def _committed(snapshot: ClusterSnapshot) -> dict[_Key, int]:
    """Returns committed offsets by (group, topic, broker name, queue id)."""
    committed: dict[_Key, int] = {}
    for broker in snapshot.brokers:
        own = {group for group in {item.group for item in broker.consumer_offsets} if not is_system_group(group)}
        name = broker.name or ""
        for item in broker.consumer_offsets:
            if item.group in own:
                committed[item.group, item.topic, name, item.queue_id] = item.offset
    return committed


def _ends(snapshot: ClusterSnapshot) -> dict[tuple[str, str, int], int]:
    """Returns the end of each queue by (topic, broker name, queue id)."""
    return {
        (queue.topic, broker.name or "", queue.queue_id): queue.max_offset
        for broker in snapshot.brokers
        for queue in broker.queues
    }


def _arrived(snapshot: ClusterSnapshot, before: ClusterSnapshot) -> dict[tuple[str, str, int], int]:
    """Returns how many messages came to each queue in between, where any did and the earlier look read it too.

    A queue that the earlier look does not list was empty then, unless a gap covers it.
    """
    gaps = {
        broker.name or "": [gap for gap in broker.unavailable if gap.part is Part.QUEUES] for broker in before.brokers
    }
    then = _ends(before)

    def known(topic: str, broker: str, queue_id: int) -> bool:
        return broker in gaps and not any(gap.covers_queue(topic, queue_id) for gap in gaps[broker])

    return {
        key: end - then.get(key, 0)
        for key, end in _ends(snapshot).items()
        if end > then.get(key, 0) and (key in then or known(*key))
    }


# Members report rates of a minute, by samples of ten seconds each.
_FAILURES_MS = 20_000
_LASTING_SHARE, _FEW = 0.9, 5


def _queue(key: _Key) -> Subject:
    group, topic, broker, queue_id = key
    return Subject(kind=SubjectKind.QUEUE, broker=broker, group=group, topic=topic, queue_id=queue_id)


@rule(
    "MQ410",
    Severity.ERROR,
    source="ProcessQueue.removeMessage",
    needs=_OFFSETS,
    playbook="stuck-consumer",
    groups=JOINED,
    topics=SUBSCRIBED,
    least_window=lambda settings: settings.blocked_ms,
    texts=RuleTexts(
        title="An offset does not move",
        speaks="messages arrive and the offset stands still",
        silent="the offset stands still because all is consumed",
        what={
            "": "Group {group} has stayed at offset {consumer_offset} of queue {queue_id} of {topic} on {broker} "
            "while {arrived_count:message} arrived within {window_ms}.",
            "popped": "Group {group}, which pops, has stayed at offset {consumer_offset} of queue {queue_id} of {topic} on {broker} "
            "while {arrived_count:message} arrived within {window_ms}: nobody pops there, or a batch holds the queue.",
            "held": "Group {group}, which pops, has stayed at offset {consumer_offset} of queue {queue_id} of {topic} on {broker} "
            "while {arrived_count:message} arrived within {window_ms}; what is popped of the topic and not acknowledged comes back from {next_visible_time_ms} on.",
        },
        effect="{lag_count:message waits/wait} there. If one message blocks the offset, a restart repeats "
        "everything after it.",
        advice="Find the owner of the queue and take its stacks.",
        explain="Two looks at least a minute apart: the queue grew, the offset did not, and the group has members. What is popped has no owner: records of pops, "
        "clients of a proxy, or a group set to ordered pops whose members hold no queue tell that, whatever mode brokers have set.",
        other_advice={
            "popped": "See whether its members still pop. An ordered batch holds its queue until it is acknowledged or visible again: brokers do not report it, "
            "`mqctl group lag --store` does.",
            "held": "Find the consumer that holds the batch: its log, its stacks. An acknowledgement of the first message frees an ordered queue.",
        },
        next_command=_LAG,
    ),
)
def stuck_offset(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """An offset that stands still while its queue grows and the group has members."""
    before = case.snapshot.earlier
    if before is None:
        return
    settling = {view.group: case.settling(view) for view in case.views}
    moving_on: Counter[tuple[str, str]] = Counter()
    then, ends_then, ends = _committed(before), _ends(before), _ends(case.snapshot)
    in_turn = queues_in_turn(case)
    popped = {
        (view.group, topic)
        for view in case.views
        for topic in (view.topics() if view.pops else view.popped_topics | view.recorded_pops)
    }
    next_back = _next_back(case.snapshot)
    for key, offset in sorted(_committed(case.snapshot).items()):
        group, topic, broker, queue_id = key
        end, end_then = ends.get((topic, broker, queue_id)), ends_then.get((topic, broker, queue_id))
        if group not in settling or is_retry_topic(topic) or end is None or end_then is None:
            continue
        if (group, MessageQueue(topic, broker, queue_id)) in in_turn:
            continue  # MQ315 tells of them
        if then.get(key) != offset or end <= end_then or end <= offset:
            continue
        if settling[group]:
            moving_on[group, topic] += 1
        else:
            back_ms = next_back.get((group, topic))
            more: dict[str, Value] = {"next_visible_time_ms": back_ms} if back_ms is not None else {}
            yield Verdict(
                subject=_queue(key),
                params={"group": group, "topic": topic, "broker": broker, "queue_id": queue_id},
                evidence={
                    "consumer_offset": offset,
                    "lag_count": end - offset,
                    "arrived_count": end - end_then,
                    "window_ms": case.window_ms,
                    **more,
                },
                variant=None if (group, topic) not in popped else "held" if more else "popped",
            )
    for (group, topic), count in sorted(moving_on.items()):
        subject = Subject(kind=SubjectKind.GROUP, group=group, topic=topic)
        yield restarting(subject, Reason.RESTARTING_STANDING, count)


def _next_back(snapshot: ClusterSnapshot) -> dict[tuple[str, str], int]:
    """Returns when the next popped message comes back, by group and topic."""
    shares = summed_shares(share for broker in snapshot.brokers for share in broker.pop)
    return {key: share.next_visible_ms[0] for key, share in shares.items() if share.next_visible_ms}


@rule(
    "MQ411",
    Severity.WARNING,
    source="ConsumerOffsetManager",
    needs=(Part.CONSUMER_OFFSETS,),
    playbook="skip-and-replay",
    groups=COMMITTING,
    topics=EVERY_TOPIC,
    least_window=any_window,
    texts=RuleTexts(
        title="An offset went back",
        speaks="the offset went back between two samples",
        silent="the offset went forward between two samples",
        what={
            "": "Group {group} went from {earlier_offset} back to {consumer_offset} in queue {queue_id} of {topic} on "
            "{broker} within {window_ms}."
        },
        effect="{repeated_count:message is/are} consumed again.",
        advice="Time and scope separate the causes: a reset or replay is in `mqctl history` and moves whole "
        "topics; a broker that crashed or failed over loses the last seconds of all groups; two instances "
        "that own the same queue move its offset back and forth.",
        explain="Clients only move offsets forward; a reset, a replay or a second owner moves them back.",
        next_command=_SHOW,
    ),
)
def offsets_going_back(case: ClusterCase) -> Iterator[Verdict]:
    """An offset that is lower than a moment ago: a reset, or two owners that overwrite each other."""
    if case.snapshot.earlier is None:
        return
    then = _committed(case.snapshot.earlier)
    for key, offset in sorted(_committed(case.snapshot).items()):
        earlier = then.get(key)
        if earlier is not None and offset < earlier:
            group, topic, broker, queue_id = key
            yield Verdict(
                subject=_queue(key),
                params={"group": group, "topic": topic, "broker": broker, "queue_id": queue_id},
                evidence={
                    "consumer_offset": offset,
                    "earlier_offset": earlier,
                    "repeated_count": earlier - offset,
                    "window_ms": case.window_ms,
                },
            )


@rule(
    "MQ412",
    Severity.ERROR,
    source="SendMessageProcessor.consumerSendMsgBack, ConsumeMessageConcurrentlyService.processConsumeResult",
    needs=(Part.MEMBERS, Part.RUNNING_INFO),
    playbook="dead-letters",
    # Orderly members retry in place: nothing comes to the dead letters, and the queue stands still.
    other_playbooks={"orderly": "stuck-consumer"},
    groups=ONLINE,
    topics=EVERY_TOPIC,
    texts=RuleTexts(
        title="Consumption fails",
        speaks="one message in ten fails",
        silent="one message in two hundred fails",
        what={
            "": "{failed_share} of what group {group} consumes of {topic} fails. A failed message should come back as a "
            "retry, and become a dead letter after the last one; `--window 1m` looks whether they do.",
            "returned": "{failed_share} of what group {group} consumes of {topic} fails. Failed messages come back as retries, and "
            "become dead letters after the last one: {stored_count:message} within {window_ms}.",
            "lost": "{failed_share} of what group {group} consumes of {topic} fails, and no failed message comes back: about "
            "{failed_count:message} failed within {window_ms}, no retry or dead letter was stored, and the offsets moved on.",
            "broadcasting": "{failed_share} of what group {group} consumes of {topic} fails. The group broadcasts: a message that "
            "fails is not tried again, on that instance it is lost.",
            "orderly": "{failed_share} of what orderly group {group} consumes of {topic} fails. A message that fails is tried again "
            "in place, without end unless maxReconsumeTimes is set, and its queue waits behind it.",
        },
        effect="Retries add to the load, and the messages behind them are delayed; what does not come back is lost for the group.",
        advice="Read the listener's errors and the reasons in its retries. Where nothing comes back, look at what the application does with a "
        "failed call, and replay what was lost.",
        explain="Sums the rates that instances report; 1 % or more counts as failing. With two samples 20 s apart, failures that continued all "
        "the time are held against what was stored for the group in retry, delay and dead-letter queues: where nothing was, and offsets moved "
        "on, the failed messages are lost for the group.",
        next_command=_LAG,
    ),
)
def failing_consumption(case: ClusterCase) -> Iterator[Verdict]:
    """More than one message in a hundred fails."""
    for view in case.views:
        totals: dict[str, tuple[float, float]] = {}
        for info in view.running.values():
            for rates in info.rates:
                good, bad = totals.get(rates.topic, (0.0, 0.0))
                totals[rates.topic] = (good + rates.consume_ok_tps, bad + rates.consume_failed_tps)
        for topic, (good, bad) in sorted(totals.items()):
            share = bad / (good + bad) if bad else 0.0
            if share > case.settings.failed_share:
                variant = "broadcasting" if view.broadcasting else "orderly" if view.orderly else None
                more: dict[str, Value] = {}
                if variant is None and not view.pops:
                    variant, more = _returned(case, view, topic, (bad, share))
                yield Verdict(
                    subject=Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic),
                    params={"group": view.group, "topic": topic},
                    evidence={"failed_share": share, "failed_tps": bad, **more},
                    severity=None if variant == "lost" else Severity.WARNING,
                    variant=variant,
                )


def _returned(
    case: ClusterCase, view: GroupView, topic: str, failing: tuple[float, float]
) -> tuple[str | None, dict[str, Value]]:
    """Tells whether failed messages came back between two samples, as far as that can be told.

    Members report the failures of a minute: only where these did not become fewer did messages fail in the window. How
    many they were is their share of what offsets passed; an offset that stands holds them still.

    Args:
        failing: failures per second, and their share of what is consumed.
    """
    failed_tps, share = failing
    earlier = case.snapshot.earlier
    if earlier is None or case.window_ms < case.settings.scaled(_FAILURES_MS):
        return None, {}
    before_tps = sum(
        rates.consume_failed_tps
        for info in earlier.running
        if info.group == view.group
        for rates in info.rates
        if rates.topic == topic
    )
    stored = _stored_for(case.snapshot, view.group, earlier)
    if stored:
        return "returned", {"stored_count": stored, "window_ms": case.window_ms}
    then, now = _committed(earlier), _committed(case.snapshot)
    moved = sum(max(0, now[key] - then.get(key, now[key])) for key in now if key[:2] == (view.group, topic))
    failed, lasting = round(share * moved), failed_tps >= before_tps * _LASTING_SHARE > 0
    if failed < _FEW or not lasting or stored is None or _delays_grew(case.snapshot, earlier):
        return None, {}
    return "lost", {"failed_count": failed, "window_ms": case.window_ms, "stored_count": 0}


def _stored_for(snapshot: ClusterSnapshot, group: str, earlier: ClusterSnapshot) -> int | None:
    """Returns how many messages came to a group's retry and dead-letter topics; None where queues are not known."""
    looks = (*earlier.brokers, *snapshot.brokers)
    if any(gap.part is Part.QUEUES for broker in looks for gap in broker.unavailable):
        return None
    topics = (RETRY_PREFIX + group, DLQ_PREFIX + group)
    return sum(count for (topic, *_), count in _arrived(snapshot, earlier).items() if topic in topics)


def _delays_grew(snapshot: ClusterSnapshot, earlier: ClusterSnapshot) -> bool:
    """Tells whether delay levels may have got messages, retries among them, in between."""
    then, now = _level_ends(earlier), _level_ends(snapshot)
    return then is None or now is None or any(end > then.get(key, 0) for key, end in now.items())


def _level_ends(snapshot: ClusterSnapshot) -> dict[tuple[str, int], int] | None:
    """Returns the end of each delay level by (broker name, level); None where a master does not tell."""
    ends: dict[tuple[str, int], int] = {}
    for broker in snapshot.brokers:
        if broker.broker_id not in (None, MASTER_ID):
            continue
        if broker.delay is None:
            return None
        for level in broker.delay.levels:
            ends[broker.name or "", level.level] = level.queue.max_offset if level.queue is not None else 0
    return ends


@rule(
    "MQ413",
    Severity.ERROR,
    source="SendMessageProcessor.consumerSendMsgBack",
    needs=(Part.QUEUES,),
    playbook="dead-letters",
    groups=EVERY,
    topics=frozenset({TopicKind.DEAD_LETTER}),
    least_window=any_window,
    texts=RuleTexts(
        title="Dead letters are growing",
        speaks="four dead letters came between two samples",
        silent="old dead letters, and none came between two samples",
        what={"": "{new_count:message} went to {topic} within {window_ms}."},
        effect="They failed as often as allowed; nobody consumes them any more.",
        advice="Fix the cause first, then send them again.",
        explain="Compares the ends of dead-letter queues between two samples.",
        next_command="mqctl dlq list {source} -g {group}",
    ),
)
def growing_dead_letters(case: ClusterCase) -> Iterator[Verdict]:
    """A dead-letter topic that grew since the earlier look."""
    if case.snapshot.earlier is None:
        return
    grown: dict[str, int] = {}
    for (topic, *_), count in _arrived(case.snapshot, case.snapshot.earlier).items():
        if topic.startswith(DLQ_PREFIX):
            grown[topic] = grown.get(topic, 0) + count
    for topic, count in sorted(grown.items()):
        group = group_of(topic) or ""
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, group=group, topic=topic),
            params={"group": group, "topic": topic},
            evidence={"new_count": count, "window_ms": case.window_ms},
        )


@rule(
    "MQ414",
    Severity.FATAL,
    source="DefaultMessageStore.CleanCommitLogService",
    needs=_RATES,
    playbook="backlog",
    groups=JOINED,
    topics=LAGGING - {TopicKind.RETRY},
    least_window=lambda settings: settings.drain_window_ms,
    texts=RuleTexts(
        title="A backlog never ends, or ends too late",
        speaks="more arrives than the group consumes",
        silent="the group consumes more than arrives",
        what={
            "never": "Group {group} consumes {out_tps} messages/s of {topic} while {in_tps} arrive: its backlog of "
            "{lag_count:message} never shrinks. Limited by: {bound_word}.",
            "late": "At {out_tps} messages/s consumed and {in_tps} arriving, group {group} needs {drain_ms} for its "
            "{lag_count:message} on {topic}, but retention deletes them in {expires_in_ms}. Limited by: "
            "{bound_word}.",
        },
        effect="Consumers fall ever further behind, until files are deleted before they are read.",
        advice="For the backlog: {remedy_words}. New queues take new messages only.",
        explain="Two looks give the rates at which queues fill and empty; --window sets how far apart. The queues of a concurrent "
        "instance share its threads, a queue consumed in order has one. A window shorter than consumers commit (5 s) gives no rate.",
        next_command="mqctl group lag {source} -g {group} --advise",
    ),
)
def endless_backlog(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A group that consumes more slowly than messages arrive, or too slowly for the retention of what waits.

    One that does not move at all is the matter of MQ309 and MQ410.
    """
    settling = {view.group for view in case.views if case.settling(view)}
    for advice in backlog_advice(case.snapshot, case.settings):
        moving = any(flow.behind and flow.out_tps for flow in advice.queues)
        never = advice.drain.outlook is Outlook.NEVER
        late = advice.loses and advice.drain.outlook is Outlook.DRAINS
        if not moving or not (never or late):
            continue
        if advice.group in settling:
            subject = Subject(kind=SubjectKind.GROUP, group=advice.group, topic=advice.topic)
            yield restarting(subject, Reason.RESTARTING_BACKLOG, advice.lag_count or 0)
        elif never:
            yield _verdict(advice, case.window_ms, "never", Severity.ERROR)
        else:
            yield _verdict(advice, case.window_ms, "late", Severity.FATAL)


def _verdict(advice: BacklogAdvice, window_ms: int, variant: str, severity: Severity) -> Verdict:
    helping = [item.what for item in advice.remedies if item.effect is Effect.YES]
    return Verdict(
        subject=Subject(kind=SubjectKind.GROUP, group=advice.group, topic=advice.topic),
        params={
            "group": advice.group,
            "topic": advice.topic,
            "bound_word": advice.bound.value,
            "remedy_words": ",".join(helping) or "nothing",
        },
        evidence={
            "lag_count": advice.lag_count,
            "in_tps": round(advice.in_tps or 0.0, 1),
            "out_tps": round(advice.out_tps or 0.0, 1),
            "drain_ms": advice.drain.after_ms,
            "expires_in_ms": advice.expires_in_ms,
            "window_ms": window_ms,
        },
        variant=variant,
        severity=severity,
        confidence=Confidence.MEDIUM if advice.confidence is Confidence.HIGH else Confidence.LOW,
    )


@rule(
    "MQ418",
    Severity.INFO,
    source="PopMessageProcessor, HeartbeatSyncer",
    needs=(Part.CONSUMER_OFFSETS, Part.MEMBERS, Part.POP),
    playbook="backlog",
    groups=frozenset({GroupKind.OFFLINE}),
    least_window=any_window,
    texts=RuleTexts(
        title="A group's messages are popped although no member is online",
        speaks="messages are popped and nobody is online",
        silent="an administrator moves the offsets of a group without members",
        what={
            "": "Group {group} popped {consumed_count:message} within {window_ms}, and no broker knows a member of it."
        },
        effect="Its members cannot be listed or judged from here.",
        advice="Its clients probably sit behind a Proxy whose heartbeats the brokers do not have, or a tool pops without heartbeats. Ask the Proxy for its clients: set MQCTL_PROXY=HOST:PORT.",
        explain="Compares committed offsets of two samples and reads when the group popped last: offsets that an administrator moved are not reported. Clients of a Proxy are connected to it and to no broker; what Proxies tell each other through the brokers is read.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def moves_unseen(case: ClusterCase) -> Iterator[Verdict]:
    """A group whose messages are popped although no broker knows anybody of it.

    Offsets alone tell nothing: an administrator moves them, too.
    """
    earlier = case.snapshot.earlier
    if earlier is None:
        return
    online = {item.group for broker in case.snapshot.brokers for item in broker.memberships}
    online |= {item.group for broker in earlier.brokers for item in broker.memberships}
    popped = {
        (share.group, share.topic)
        for broker in case.snapshot.brokers
        for share in broker.pop
        if share.last_pop_ms is not None and share.last_pop_ms >= earlier.origin.observed_at_ms
    }
    before = _committed(earlier)
    moved: dict[str, int] = {}
    for key, offset in _committed(case.snapshot).items():
        group, topic, _, _ = key
        if group not in online and (group, topic) in popped and offset > before.get(key, 0):
            moved[group] = moved.get(group, 0) + offset - before.get(key, 0)
    for group, count in sorted(moved.items()):
        yield Verdict(
            subject=Subject(kind=SubjectKind.GROUP, group=group),
            params={"group": group},
            evidence={"consumed_count": count, "window_ms": case.window_ms},
            confidence=Confidence.MEDIUM,
        )


@rule(
    "MQ419",
    Severity.WARNING,
    source="RemoteBrokerOffsetStore.persistAll",
    needs=(Part.CONSUMER_OFFSETS, Part.MEMBERS, Part.RUNNING_INFO),
    playbook="skip-and-replay",
    groups=SHARING,
    texts=RuleTexts(
        title="A member's progress is not stored by the broker",
        speaks="a member is ahead of its stored offset a minute after it consumed",
        silent="the same, and what it is ahead by came a moment ago",
        what={
            "": "{client} of group {group} is {ahead_count:message} ahead of the offsets that brokers store, in "
            "{queue_count:queue} ({queues}), half a minute after it last consumed."
        },
        effect="After a restart or a rebalance these messages are delivered again.",
        advice="Look at the client's log for failed offset commits, and whether something else commits offsets of the same group (a second application, a reset).",
        explain="Compares the offset in a member's memory with the one its broker stores. Members commit every five seconds; what is still cached or being consumed is not counted.",
        next_command="mqctl group members {source} -g {group} --client {client}",
    ),
)
def progress_not_stored(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A member that is further than what its broker stores, long after it consumed: its commits do not arrive.

    A queue whose messages the member does not want moves on without consumption, and its offset is stored with the next
    commit: what came after offsets were asked for, or lately, is not stored yet. Where two looks show another stored
    offset, commits do arrive.
    """
    earlier = case.committed_before
    for view in case.views:
        for client, info in sorted(view.running.items()):
            ahead: dict[MessageQueue, int] = {}
            for held in info.queues:
                stored = case.committed.get((view.group, held.queue))
                idle_ms = case.now_ms - held.last_consume_time_ms
                late_ms = case.settings.scaled(_COMMITTED_BY_MS)
                if stored is None or held.dropped or idle_ms < late_ms:
                    continue
                next_ms = case.next_store_times.get((view.group, held.queue))
                lately = next_ms is None or case.now_ms - next_ms < late_ms
                if lately or earlier.get((view.group, held.queue), stored) != stored:
                    continue
                if held.commit_offset > stored and held.cached_count == 0 and not info.stacks:
                    ahead[held.queue] = held.commit_offset - stored
            subject = Subject(kind=SubjectKind.CLIENT, group=view.group, client=client)
            if ahead and case.settling(view):
                yield restarting(subject, Reason.RESTARTING_AHEAD, len(ahead))
            elif ahead:
                yield Verdict(
                    subject=subject,
                    params={"group": view.group, "client": client, "queues": queue_names(list(ahead))},
                    evidence={"ahead_count": sum(ahead.values()), "queue_count": len(ahead)},
                )


@rule(
    "MQ424",
    Severity.WARNING,
    source="ProcessQueue.removeMessage, ConsumerOffsetManager.commitOffset",
    needs=(Part.CONSUMER_OFFSETS, Part.MEMBERS, Part.RUNNING_INFO),
    playbook="skip-and-replay",
    groups=SHARING,
    texts=RuleTexts(
        title="A member holds messages below the stored offset",
        speaks="a member holds messages below the stored offset",
        silent="what it holds begins at the stored offset",
        what={
            "": "{client} of group {group} still has {below_count:message} in its cache below the offset that brokers store, in {queue_count:queue} ({queues}): lag says {lag_count}, the member holds {cached_count}."
        },
        effect="Lag reads too low. If the member stops now, what it holds below the offset is skipped; if it commits, the offset goes back.",
        advice="After a reset or skip, look again in half a minute: members take the new offset over within about 10 s. If it stays, find what else commits offsets of the group: another application, a tool, a second owner of the queue.",
        explain="A member commits the lowest offset that it holds, so a stored offset above it was written by another client. With --window the finding is certain where both looks show it.",
        next_command="mqctl group lag {source} -g {group}",
    ),
)
def cached_below_offset(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A member that still holds messages below the offset that the broker has: lag leaves them out.

    A member commits the lowest offset that it holds, and members are asked after offsets: what they consume between
    the two questions only raises what they hold.
    """
    before = _held_below(case.snapshot.earlier) if case.snapshot.earlier is not None else set()
    for view in case.views:
        for client, info in sorted(view.running.items()):
            below = _below(info, case.committed)
            if not below:
                continue
            subject = Subject(kind=SubjectKind.CLIENT, group=view.group, client=client)
            if case.settling(view):
                yield restarting(subject, Reason.RESTARTING_CACHED, len(below))
                continue
            cached = sum(held.cached_count for held in info.queues if held.queue in below)
            yield Verdict(
                subject=subject,
                params={"group": view.group, "client": client, "queues": queue_names(list(below))},
                evidence={
                    "below_count": sum(below.values()),
                    "cached_count": cached,
                    "lag_count": case.waiting_in(view.group, list(below)),
                    "queue_count": len(below),
                },
                confidence=Confidence.HIGH if (view.group, client) in before else Confidence.MEDIUM,
            )


def _below(info: RunningInfo, committed: Mapping[tuple[str, MessageQueue], int]) -> dict[MessageQueue, int]:
    """Counts, at most, what a member holds below the offset of each of its queues; queues without such are left out."""
    counts = {}
    for held in info.queues:
        offset = committed.get((info.group, held.queue), 0)
        # A span that is too short for what is held is that of a client that does not tell it.
        plausible = 0 < held.cached_count <= held.cached_max_offset - held.cached_min_offset + 1
        if plausible and not held.dropped and held.cached_min_offset < offset:
            counts[held.queue] = min(held.cached_count, offset - held.cached_min_offset)
    return counts


def _held_below(snapshot: ClusterSnapshot) -> set[tuple[str, str]]:
    """Returns group and client id of the members of which the same is true in an earlier look."""
    committed = {
        (group, MessageQueue(topic, broker, queue_id)): offset
        for (group, topic, broker, queue_id), offset in _committed(snapshot).items()
    }
    return {(info.group, info.client_id) for info in snapshot.running if _below(info, committed)}
