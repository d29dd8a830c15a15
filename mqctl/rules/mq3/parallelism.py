"""MQ3: shares of queues, and whether threads and caches keep up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mqctl.allocation.group_view import GroupView, queue_names
from mqctl.model.finding import Confidence, Reason, Severity, Subject, SubjectKind, Value, Why
from mqctl.model.gap import Part
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.names import group_of, is_retry_topic, is_system_topic
from mqctl.model.numbers import decimal
from mqctl.model.queue_state import QueueState
from mqctl.rules.engine.audience import APPLICATION, PUSHED, SHARING, SUBSCRIBED, GroupKind
from mqctl.rules.engine.rule import Case, ClusterCase, RuleTexts, Unknown, Verdict, restarting, rule
from mqctl.rules.engine.stalled_queues import pushed_instances, unfinished_queues, untried_queues, works_elsewhere

_SHOW = "mqctl allocation show {source} -g {group}"
_MEMBERS_TEXT = "mqctl group members {source} -g {group}"
_STACKS = "mqctl stacks dump {source} -g {group} --client {client}"

_MEMBERS = (Part.MEMBERS, Part.ROUTES)
_RUNNING = (Part.MEMBERS, Part.RUNNING_INFO)


def _client(view: GroupView, client: str, held: HeldQueue | None = None) -> Subject:
    topic = held.queue.topic if held else None
    queue_id = held.queue.queue_id if held else None
    return Subject(kind=SubjectKind.CLIENT, group=view.group, client=client, topic=topic, queue_id=queue_id)


@rule(
    "MQ302",
    Severity.WARNING,
    source="AllocateMessageQueueAveragely",
    needs=_MEMBERS,
    playbook="scale-out",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="More instances than queues",
        speaks="three instances share two queues",
        silent="two instances share two queues",
        what={"": "Group {group} has {member_count:instance} for {queue_count:queue} of {topic}."},
        effect="{idle_count:instance does/do} nothing for this topic; adding more does not help.",
        advice="Add queues (they take new messages only), or more threads instead of instances.",
        explain="A queue has one owner. Instances beyond the number of readable queues stay idle, whatever the "
        "strategy.",
        next_command=_SHOW,
    ),
)
def idle_instances(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """More instances than queues: the surplus gets nothing."""
    for view in case.views:
        members = len(view.client_ids)
        for topic, queues in case.shared_topics(view):
            if queues and members > len(queues):
                subject = Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic)
                if case.settling(view):
                    yield restarting(subject, Reason.RESTARTING_SURPLUS, members - len(queues))
                    continue
                yield Verdict(
                    subject=subject,
                    params={"group": view.group, "topic": topic},
                    evidence={
                        "member_count": members,
                        "queue_count": len(queues),
                        "idle_count": members - len(queues),
                    },
                )


@rule(
    "MQ303",
    Severity.WARNING,
    source="AllocateMessageQueueAveragely",
    needs=_MEMBERS,
    playbook="scale-out",
    groups=SHARING,
    topics=SUBSCRIBED,
    texts=RuleTexts(
        title="Queues cannot be split evenly among the instances",
        speaks="two instances share three queues",
        silent="two instances share four queues",
        what={"": "Group {group} shares {queue_count:queue} of {topic} among {member_count:instance}."},
        effect="{doubled_count:instance carries/carry} two queues and the others one: the group is only as fast as "
        "its slowest instance.",
        advice="Choose the number of queues as a multiple of the instances, at least twice as many.",
        explain="Reported when there are more queues than instances, but fewer than twice as many.",
        next_command=_SHOW,
    ),
)
def uneven_shares(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """Few queues for the instances and no multiple of them: some carry twice what others carry."""
    for view in case.views:
        members = len(view.client_ids)
        for topic, queues in case.shared_topics(view):
            if members < len(queues) < 2 * members:
                subject = Subject(kind=SubjectKind.GROUP, group=view.group, topic=topic)
                if case.settling(view):
                    yield restarting(subject, Reason.RESTARTING_UNEVEN, len(queues) - members)
                    continue
                yield Verdict(
                    subject=subject,
                    params={"group": view.group, "topic": topic},
                    evidence={
                        "member_count": members,
                        "queue_count": len(queues),
                        "doubled_count": len(queues) - members,
                    },
                )


@rule(
    "MQ304",
    Severity.WARNING,
    source="ConsumeMessageConcurrentlyService",
    needs=_RUNNING,
    playbook="stuck-consumer",
    groups=PUSHED,
    texts=RuleTexts(
        title="consumeThreadMax has no effect",
        speaks="a full cache, and a thread maximum that is never reached",
        silent="the same maximum with a cache that is nearly empty",
        what={
            "": "{client} of {group} holds {cached_count:message} with {thread_min_count:thread}; its maximum of "
            "{thread_max_count} is never reached."
        },
        effect="The consumer is slower than its settings suggest.",
        advice="Set consumeThreadMin to the number of threads you want.",
        explain="The queue in front of the pool is unbounded, so a pool never grows beyond its minimum.",
        next_command=_MEMBERS_TEXT,
    ),
)
def ineffective_thread_maximum(case: ClusterCase) -> Iterator[Verdict]:
    """A full cache while the pool stays at its minimum: the work queue is unbounded, so it never grows."""
    for view, info in pushed_instances(case):
        low, high = (decimal(info.properties.get(name)) for name in ("consumeThreadMin", "consumeThreadMax"))
        full = [held for held in info.queues if held.cached_count >= case.settings.cache_limit_count]
        if low is not None and high is not None and low < high and full:
            yield Verdict(
                subject=_client(view, info.client_id),
                params={"group": view.group, "client": info.client_id},
                evidence={
                    "thread_min_count": low,
                    "thread_max_count": high,
                    "cached_count": sum(held.cached_count for held in info.queues),
                },
            )


@rule(
    "MQ305",
    Severity.INFO,
    source="ConsumeMessageOrderlyService",
    needs=_RUNNING,
    playbook="scale-out",
    groups=frozenset({GroupKind.ORDERLY}),
    texts=RuleTexts(
        title="More threads than queues in an orderly consumer",
        speaks="an orderly consumer with a full cache has more threads than queues",
        silent="the same without a backlog in its cache",
        what={"": "{client} of {group} has {thread_count:thread} for {queue_count:queue}."},
        effect="The extra threads never work: an orderly queue is consumed by one thread at a time.",
        advice="More queues, or key-ordered consumption (one thread per key instead of per queue), spread the work; "
        "more threads do not.",
        explain="Reported only for consumers whose cache is full.",
        next_command=_MEMBERS_TEXT,
    ),
)
def threads_beyond_queues(case: ClusterCase) -> Iterator[Verdict]:
    """An orderly consumer with a full cache and more threads than queues: each queue is one thread's."""
    for view, info in pushed_instances(case):
        threads = info.thread_count
        busy = any(held.cached_count >= case.settings.cache_limit_count for held in info.queues)
        # Its retry queue is held as well and, consumed in order, never gets a message.
        queues = [held for held in info.queues if not is_retry_topic(held.queue.topic) and not held.dropped]
        if info.orderly and threads is not None and busy and threads > len(queues):
            yield Verdict(
                subject=_client(view, info.client_id),
                params={"group": view.group, "client": info.client_id},
                evidence={"thread_count": threads, "queue_count": len(queues)},
            )


@rule(
    "MQ306",
    Severity.WARNING,
    source="DefaultMQPushConsumerImpl.pullMessage",
    needs=_RUNNING,
    playbook="stuck-consumer",
    groups=PUSHED,
    texts=RuleTexts(
        title="A consumer is flow-controlled: its cache is full",
        speaks="a full cache holds a concurrent consumer back",
        silent="an orderly consumer with offsets far apart, which may be",
        what={
            "count": "Consumer {client} (group {group}) is flow-controlled on {queues}: {cached_count:message} of one "
            "queue cached, pulling paused.",
            "size": "Consumer {client} (group {group}) is flow-controlled on {queues}: {cached_bytes} of one queue "
            "cached, pulling paused.",
            "span": "Consumer {client} (group {group}) is flow-controlled on {queues}: cached messages span "
            "{span_count:offset}, pulling paused.",
        },
        effect="The listener is the bottleneck, not the network; with a span, its slowest message is.",
        advice="Check what the consume threads are doing.",
        explain="Clients stop pulling a queue at 1,000 cached messages, 100 MiB, or 2,000 offsets between the first "
        "and the last unfinished message.",
        next_command=_STACKS,
    ),
)
def cache_full(case: ClusterCase) -> Iterator[Verdict]:
    """A queue whose cache holds it back: the consumer pulls no more until its listener catches up."""
    for view, info in pushed_instances(case):
        full = [held for held in info.queues if not held.dropped and _limit(case, info, held)]
        if full:
            worst = max(full, key=lambda held: held.cached_count)
            yield Verdict(
                subject=_client(view, info.client_id),
                params={
                    "group": view.group,
                    "client": info.client_id,
                    "queues": queue_names([held.queue for held in full]),
                },
                evidence={
                    "cached_count": worst.cached_count,
                    "cached_bytes": worst.cached_mib << 20,
                    "span_count": worst.cached_max_offset - worst.cached_min_offset,
                },
                variant=_limit(case, info, worst),
            )


def _limit(case: ClusterCase, info: RunningInfo, held: HeldQueue) -> str | None:
    """Names the pull threshold that a queue has reached, or None."""
    if held.cached_count >= case.settings.cache_limit_count:
        return "count"
    if held.cached_mib >= case.settings.cache_limit_mib:
        return "size"
    span = held.cached_max_offset - held.cached_min_offset
    return "span" if not info.orderly and held.cached_count and span > case.settings.span_limit_count else None


def _waiting(case: ClusterCase) -> Iterator[tuple[RunningInfo, Verdict, bool]]:
    """Yields each instance with such queues, a verdict, and whether they only wait for threads that work elsewhere."""
    for view, info in pushed_instances(case):
        unfinished = unfinished_queues(case, view.group, info)
        if unfinished:
            yield info, _standing(case, view, info, unfinished), works_elsewhere(case, info, unfinished)


def _standing(case: ClusterCase, view: GroupView, info: RunningInfo, unfinished: dict[HeldQueue, int]) -> Verdict:
    return Verdict(
        subject=_client(view, info.client_id),
        params={
            "group": view.group,
            "client": info.client_id,
            "queues": queue_names([held.queue for held in unfinished]),
        },
        evidence={
            "cached_count": sum(held.cached_count for held in unfinished),
            "idle_ms": max(unfinished.values()),
            "first_offset": min(held.cached_min_offset for held in unfinished),
        },
        confidence=case.age_confidence(info),
    )


def _untried(view: GroupView, info: RunningInfo, untried: dict[HeldQueue, int]) -> Unknown:
    values: dict[str, Value] = {
        "client": info.client_id,
        "cached_count": sum(held.cached_count for held in untried),
        "since_ms": max(untried.values()),
        "queues": queue_names([held.queue for held in untried]),
    }
    return Unknown(subject=_client(view, info.client_id), why=Why(Reason.UNTRIED, values))


@rule(
    "MQ307",
    Severity.ERROR,
    source="ProcessQueue",
    needs=_RUNNING,
    playbook="stuck-consumer",
    groups=PUSHED,
    texts=RuleTexts(
        title="Consumption is blocked",
        speaks="messages are cached and none was finished for three minutes",
        silent="none was finished for 50 seconds",
        what={"": "{client} of {group} holds {cached_count:message} and has finished none for {idle_ms}, in {queues}."},
        effect="The offset stays at {first_offset}; a restart delivers everything above it again.",
        advice="Take the stacks of its consume threads. They tell apart what looks the same from outside: threads "
        "waiting for something, threads busy with one long message, and idle threads whose finished messages "
        "were never removed.",
        explain="Messages in the cache and no consumption for a minute. Concurrent consumers commit the smallest unfinished "
        "offset, so one hung message is enough. Queues that threads have not come to yet are MQ315. A reset or skip gives "
        "a member its queues anew: it is not judged until it finishes a message, or a minute has passed.",
        next_command=_STACKS,
    ),
)
def blocked(case: ClusterCase) -> Iterator[Verdict | Unknown]:
    """A queue that holds messages of which none was finished for a minute, although threads are free or hang."""
    for view, info in pushed_instances(case):
        unfinished = unfinished_queues(case, view.group, info)
        if unfinished and not works_elsewhere(case, info, unfinished):
            yield _standing(case, view, info, unfinished)
        elif untried := untried_queues(case, view.group, info):
            yield _untried(view, info, untried)


@rule(
    "MQ315",
    Severity.WARNING,
    source="ConsumeMessageConcurrentlyService",
    needs=_RUNNING,
    playbook="backlog",
    groups=PUSHED,
    texts=RuleTexts(
        title="Queues wait for threads that work on other queues",
        speaks="the only thread finishes a message every two seconds, of other queues",
        silent="the same, and half the time it is idle",
        what={
            "": "{client} of {group} has {cached_count:message} of {queues} cached and none finished for {idle_ms}: "
            "its {thread_count:consume thread is/are} busy with other queues."
        },
        effect="Nothing hangs: these queues wait their turn, one behind another, and their lag time grows until then.",
        advice="Use more consume threads or more instances, or make the listener faster; a restart only delivers what is "
        "cached again.",
        explain="As MQ307, but all threads of the instance are at work: messages per second times the time of each give "
        "the size of the pool. A thread that hung would be missing there.",
        next_command="mqctl group lag {source} -g {group}",
        live_command="mqctl group lag {source} -g {group} --advise",
    ),
)
def waits_its_turn(case: ClusterCase) -> Iterator[Verdict]:
    """A queue that the consume threads have not come to for a minute: all of them work on other queues."""
    for info, verdict, elsewhere in _waiting(case):
        if elsewhere:
            numbers = {name: verdict.evidence[name] for name in ("cached_count", "idle_ms")}
            yield replace(verdict, evidence={"thread_count": info.thread_count, **numbers})


@rule(
    "MQ308",
    Severity.ERROR,
    source="ProcessQueue.isPullExpired",
    needs=_RUNNING,
    playbook="stuck-consumer",
    groups=PUSHED,
    texts=RuleTexts(
        title="A consumer has stopped pulling",
        speaks="a queue was not pulled for three minutes",
        silent="a full cache is why it was not pulled",
        what={"": "{client} of {group} has not pulled {queues} for {idle_ms}."},
        effect="These queues are not consumed. After 120 s without a pull the consumer drops them and takes them "
        "again by itself, which does not help if the cause remains.",
        advice="Check in the stacks what the pull thread is doing, and restart the instance if the thread is gone. "
        "If all times that the instance reports are as old, compare its clock with this machine's first.",
        explain="A minute without a pull although no threshold holds the consumer back. A suspended Java consumer "
        "still counts as pulling and is not reported. The time is the client's: a clock that is behind looks "
        "the same, and then all its times are as old.",
        next_command=_STACKS,
    ),
)
def pull_stopped(case: ClusterCase) -> Iterator[Verdict]:
    """A queue that its owner stopped pulling although nothing in its cache holds it back."""
    limit_ms = case.settings.scaled(case.settings.pull_stopped_ms)
    for view, info in pushed_instances(case):
        silent = [
            held
            for held in info.queues
            if not held.dropped
            and held.last_pull_time_ms
            and case.now_ms - held.last_pull_time_ms > limit_ms
            and not _limit(case, info, held)
        ]
        if silent:
            yield Verdict(
                subject=_client(view, info.client_id),
                params={
                    "group": view.group,
                    "client": info.client_id,
                    "queues": queue_names([held.queue for held in silent]),
                },
                evidence={"idle_ms": case.now_ms - min(held.last_pull_time_ms for held in silent)},
                confidence=case.age_confidence(info),
            )


@rule(
    "MQ301",
    Severity.WARNING,
    source="SelectMessageQueueByHash",
    needs=(Part.QUEUES,),
    playbook="hot-key",
    topics=APPLICATION,
    texts=RuleTexts(
        title="One queue holds far more than its share",
        speaks="a queue holds ten times as much as the others",
        silent="the same on a topic of a few hundred messages",
        what={
            "key": "Queue {queue_id} of {topic} holds {queue_share} of its broker's messages; {key_share} of them have the key "
            "{key}.",
            "queue": "Queue {queue_id} of {topic} holds {queue_share} of its broker's messages ({message_count}; the mean is "
            "{mean_count}).",
        },
        effect="One consumer instance handles this queue alone; more instances do not help.",
        advice="Spread the key (add a salt where order allows), or check the selector's hash. If many keys share the queue of "
        "an orderly group, key-ordered consumption handles them in parallel. Queues that were "
        "added later hold fewer messages, which is normal: `mqctl topic describe` shows whether the same queue "
        "is still the one that grows.",
        explain="A queue is hot when it holds more than twice the mean of its topic. Keys are sampled evenly over the queue.",
        next_command="mqctl report backlog {source} -t {topic} --by queue",
        live_command="mqctl topic describe {source} -t {topic}",
    ),
)
def hot_queue(case: Case) -> Iterator[Verdict]:
    """One queue of a topic holds far more than its share."""
    topics: dict[str, list[QueueState]] = {}
    counts = case.broker.queue_counts or {}
    for queue in case.broker.queues:
        removed = queue.queue_id >= counts.get(queue.topic, queue.queue_id + 1)
        if not (removed or is_system_topic(queue.topic) or group_of(queue.topic) is not None):
            topics.setdefault(queue.topic, []).append(queue)
    for topic, queues in sorted(topics.items()):
        total = sum(queue.message_count for queue in queues)
        mean = total / len(queues)
        hottest = max(queues, key=lambda queue: queue.message_count)
        enough = hottest.message_count >= case.settings.hot_queue_min_count
        if len(queues) < 2 or not enough or hottest.message_count <= case.settings.hot_queue_factor * mean:
            continue
        key = hottest.hot_key
        share = key.key_count / key.sampled_count if key else None
        explained = share is not None and share >= case.settings.hot_key_share
        yield Verdict(
            subject=Subject(kind=SubjectKind.QUEUE, broker=case.broker.name, topic=topic, queue_id=hottest.queue_id),
            params={"topic": topic, "queue_id": hottest.queue_id, "key": key.key if key else None},
            evidence={
                "message_count": hottest.message_count,
                "mean_count": round(mean),
                "queue_share": hottest.message_count / total,
                "key_share": share,
            },
            variant="key" if explained else "queue",
            confidence=Confidence.HIGH if explained else Confidence.MEDIUM,
        )
