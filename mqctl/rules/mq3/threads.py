"""MQ32x: what the threads of a consumer do, where a snapshot has its stacks.

The judging is in `mqctl.stacks.snapshot_verdicts`, which is imported when there are stacks to judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mqctl.model.finding import Severity, Subject, SubjectKind
from mqctl.model.gap import Part
from mqctl.rules.engine.audience import ONLINE
from mqctl.rules.engine.rule import ClusterCase, RuleTexts, Verdict, rule

if TYPE_CHECKING:
    from mqctl.stacks.verdict import StackVerdict

_LAG = "mqctl group lag {source} -g {group}"
_OF = "Of {pool_count:consume thread} of {group} in {client}, "
_REST = "The others: {rest}."
_QUEUES = "mqctl group lag {source} -g {group} --by queue"

_STACKS = (Part.MEMBERS, Part.RUNNING_INFO, Part.STACKS)


def _of(case: ClusterCase, code: str) -> Iterator[Verdict]:
    return (verdict_about(client, verdict) for client, verdict in case.stack_verdicts if verdict.code == code)


def verdict_about(client: str, verdict: StackVerdict) -> Verdict:
    """Returns what the stacks of the instance `client` mean, as a rule says it."""
    return Verdict(
        subject=Subject(kind=SubjectKind.CLIENT, group=verdict.group, client=client),
        params={"group": verdict.group, "client": client, **verdict.params},
        evidence=verdict.evidence,
        severity=verdict.severity,
        confidence=verdict.confidence,
        variant=verdict.variant,
    )


@rule(
    "MQ320",
    Severity.FATAL,
    source="ConsumeMessageService",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Threads of a consumer wait for each other",
        speaks="threads wait for each other, in two samples",
        silent="two blocked threads go on before the second look",
        what={
            "proven": "A deadlock in {client}, found by its JVM: {threads} wait for each other, at {line}.",
            "suspected": "{client} is probably in a deadlock: {threads} wait for locks and do not move, at {line}.",
        },
        effect="These threads never continue: their messages stay unfinished, and the offsets of their queues do "
        "not move.",
        advice="Restart the instance. Then fix the code: take the locks in the same order everywhere, or with a "
        "timeout. Only jstack -l proves a deadlock; py-spy and stacks through the broker do not show who "
        "holds a lock.",
        explain="Each thread of the circle waits for a lock that the next one holds. A JVM detects this itself. "
        "Where the dump does not name the owners, a deadlock is suspected when several threads wait for "
        "locks, never move, and no other thread is in the code that takes these locks.",
        next_command=_LAG,
    ),
)
def deadlock(case: ClusterCase) -> Iterator[Verdict]:
    """Consume threads that wait for each other."""
    return _of(case, "MQ320")


@rule(
    "MQ321",
    Severity.ERROR,
    source="ConsumeMessageService",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Consume threads wait for a lock",
        speaks="18 of 20 threads wait for one lock, and messages wait",
        silent="they wait for a lock while the group keeps up",
        what={
            "owner": f"{_OF}{{thread_count:waits/wait}} for one lock, at {{line}}. {{owner}} has it and is at {{owner_line}}. {_REST}",
            "": f"{_OF}{{thread_count:waits/wait}} for a lock, at {{line}}; the dump does not name its holder. {_REST}",
        },
        effect="Only one thread works at a time, however many there are: more threads or queues do not help.",
        advice="Check what the owner is doing: the others wait for a slow call inside the lock. Move the call out "
        "of the lock, or use one lock per key.",
        explain="Most threads of the pool wait for a monitor or a lock, and the consumer is behind. A Java dump names the holder of a "
        "monitor, with -l also who has a lock; the last in the chain of owners holds up all of them.",
        next_command=_LAG,
    ),
)
def lock_wait(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads wait for a lock."""
    return _of(case, "MQ321")


@rule(
    "MQ322",
    Severity.ERROR,
    source="ConsumeMessageService",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Consume threads wait for something outside the process",
        speaks="18 of 20 threads wait for HTTP answers, and messages wait",
        silent="they wait for HTTP answers while the group keeps up",
        what={
            "http": f"{_OF}{{thread_count:waits/wait}} for an HTTP answer, called from {{line}}. {_REST}",
            "database": f"{_OF}{{thread_count:waits/wait}} for a database, called from {{line}}. {_REST}",
            "redis": f"{_OF}{{thread_count:waits/wait}} for Redis, called from {{line}}. {_REST}",
            "rpc": f"{_OF}{{thread_count:waits/wait}} for the answer of a remote call, made from {{line}}. {_REST}",
            "send": f"{_OF}{{thread_count:is/are}} sending messages and waiting for the broker, called from {{line}}. {_REST}",
            "socket": f"{_OF}{{thread_count:waits/wait}} on a socket, called from {{line}}. {_REST}",
            "dns": f"{_OF}{{thread_count:looks/look}} up a host name, called from {{line}}. {_REST}",
            "connection-pool": f"{_OF}{{thread_count:waits/wait}} for a free connection of a pool, called from {{line}}. {_REST}",
        },
        effect="The consumer is only as fast as what it waits for. More instances put more load on something that "
        "cannot keep up already.",
        advice="Measure the call, and give it a timeout far below consumeTimeout (15 min). More threads or batches "
        "help only if the other side can take the load. A connection pool needs one connection per consume "
        "thread.",
        explain="Most threads of the pool are inside a client library or a driver, and the consumer is behind. The table of "
        "classes is in docs/stack-classes.md; a thread at the same place in all dumps is stuck, one that moves is slow.",
        next_command=_LAG,
    ),
)
def slow_downstream(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads wait for something outside the process."""
    return _of(case, "MQ322")


@rule(
    "MQ323",
    Severity.ERROR,
    source="ConsumeMessageService",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Consume threads sleep, or wait for other threads",
        speaks="18 of 20 threads sleep, and messages wait",
        silent="they sleep while the group keeps up",
        what={
            "sleep": f"{_OF}{{thread_count:sleeps/sleep}}, at {{line}}. {_REST}",
            "retry": f"{_OF}{{thread_count:sleeps/sleep}} between attempts of their own, at {{line}}. {_REST}",
            "wait": f"{_OF}{{thread_count:waits/wait}} at {{line}}; the stacks do not show for what (another thread, or native code). {_REST}",
        },
        effect="A thread that sleeps or waits consumes nothing in that time: the messages behind it wait.",
        advice="Look at the calls (`mqctl stacks dump --calls`). Where the listener sleeps, return RECONSUME_LATER instead: the "
        "message comes back after growing delays, and the thread stays free. Where it waits for another thread, find out what "
        "keeps that one. What a Python thread waits for in C, --pid PID --native shows on its host.",
        explain="Most threads of the pool sleep, wait for a future, a latch or a queue, or are in a C function that "
        "the tool does not show, and the consumer is behind.",
        next_command=_LAG,
    ),
)
def own_waiting(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads sleep, or wait for other threads."""
    return _of(case, "MQ323")


@rule(
    "MQ324",
    Severity.WARNING,
    source="ConsumeMessageService",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Consume threads are all at work inside the process",
        speaks="18 of 20 threads compute, and messages wait",
        silent="they compute while the group keeps up",
        what={
            "cpu": f"{_OF}{{thread_count:computes/compute}}, at {{line}}. {_REST}",
            "gc": f"{_OF}{{thread_count:runs/run}} while the garbage collector takes a good part of the processor, at {{line}}. {_REST}",
            "serialisation": f"{_OF}{{thread_count:turns/turn}} objects into text or bytes or back, called from {{line}}. {_REST}",
            "logging": f"{_OF}{{thread_count:is/are}} writing log lines or waiting to, called from {{line}}. {_REST}",
            "file": f"{_OF}{{thread_count:is/are}} reading or writing files, called from {{line}}. {_REST}",
            "class-loading": f"{_OF}{{thread_count:is/are}} loading classes or importing modules, called from {{line}}. {_REST}",
        },
        effect="The pool has no free thread; more threads on the same machine only share the same processors and "
        "disks.",
        advice="For CPU-bound work use about one thread per processor and more instances on other machines. Log "
        "asynchronously, give the heap room, and load classes before the consumer starts.",
        explain="Most threads of the pool run, or use the process's own means (files, log, classes, memory), and the consumer is "
        "behind. The processor time of each thread between dumps is in the evidence where the system reports it.",
        next_command=_LAG,
    ),
)
def own_work(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads are all at work inside the process."""
    return _of(case, "MQ324")


@rule(
    "MQ325",
    Severity.WARNING,
    source="MessageQueueLock",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Orderly consume threads wait for their queue",
        speaks="orderly threads wait for their queue, and messages wait",
        silent="they wait while the group keeps up",
        what={
            "owner": f"{_OF}{{thread_count:waits/wait}} for an orderly queue. {{owner}} has it and is at {{owner_line}}. {_REST}",
            "": f"{_OF}{{thread_count:waits/wait}} for an orderly queue that another thread has. {_REST}",
        },
        effect="One thread at a time consumes an orderly queue: threads beyond the number of queues wait, and a "
        "slow message holds up its whole queue.",
        advice="Check the thread that has the queue. More threads do not help; more queues do, for new messages. "
        "Consuming by key keeps the order of a key and uses all the threads.",
        explain="ConsumeMessageOrderlyService takes a lock for each queue before it calls the listener. Threads that wait there "
        "are not a fault by themselves; they show that one queue has work for many.",
        next_command=_QUEUES,
    ),
)
def queue_lock_wait(case: ClusterCase) -> Iterator[Verdict]:
    """Orderly consume threads that wait for a queue which another thread of theirs has."""
    return _of(case, "MQ325")


@rule(
    "MQ326",
    Severity.WARNING,
    source="ConsumeMessageService",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Consume threads are in code that no rule knows",
        speaks="18 of 20 threads stand in the same unknown call, and messages wait",
        silent="they stand there while the group keeps up",
        what={"": f"{_OF}{{thread_count:stands/stand}} at {{line}} ({{cls}}). {_REST}"},
        effect="The pool has no free thread, for a reason that no rule names yet.",
        advice="Look at the calls shown. If it is a library of yours, name it in a file for --rules-file "
        "(docs/stack-classes.md).",
        explain="Most threads of the pool are of the class unknown, or of one that a user's rules name, and the consumer is behind.",
        next_command=_LAG,
    ),
)
def unknown_standstill(case: ClusterCase) -> Iterator[Verdict]:
    """A pool whose threads stand in something that no rule knows."""
    return _of(case, "MQ326")


@rule(
    "MQ327",
    Severity.ERROR,
    source="ProcessQueue",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Consume threads are idle although the consumer is behind",
        speaks="all threads are idle although messages wait",
        silent="all threads are idle and nothing waits",
        what={
            "held": "Of {pool_count:consume thread} of {group} in {client}, {idle_count:is/are} idle, but the offset of {queue} is held "
            "at {queue_offset} by one message: its thread is at {line}, and the queue has finished nothing for {idle_ms}.",
            "lost": "All consume threads ({pool_count}) of {group} in {client} are idle, but the offset of {queue} stands at "
            "{queue_offset}: the message is cached, nobody works on it, and the queue has finished nothing for {idle_ms}.",
            "commit": "{client} has consumed {queue} up to {queue_offset}, {idle_ms} ago, but the broker still has "
            "{consumer_offset} for {group}: its commits do not arrive. Of {pool_count:consume thread}, {idle_count:is/are} idle.",
            "unlocked": "Of {pool_count:consume thread} of {group} in {client}, {idle_count:is/are} idle: {queue_count:queue} not locked "
            "on the broker ({queue}).",
            "stopped": "Of {pool_count:consume thread} of {group} in {client}, {idle_count:is/are} idle: {queue_count:queue} no longer "
            "pulled ({queue}).",
            "starved": "All consume threads ({pool_count}) of {group} in {client} are idle, although "
            "{lag_count:message waits/wait} in their queues: nothing reaches them.",
        },
        effect="The backlog grows although threads are free: more threads or instances do not help.",
        advice="Where one message holds the offset, find out what it waits for; after consumeTimeout (15 min) it is sent back, a "
        "restart repeats everything above the offset. Where commits do not arrive, or nothing is pulled or locked, look at the "
        "connection to that broker's master. Where nothing comes, look at the filter and at what the broker reads from disk.",
        explain="A concurrent consumer commits the smallest unfinished offset, so that one hanging message freezes its queue while "
        "all other threads are free; at a span of 2,000 pulling stops as well. Idle threads alone are those of a fast consumer: "
        "a message counts that waited through all dumps, for 10 s at least, while the consumer got no further. One that was "
        "started within the last minute is still finding its brokers.",
        next_command=_QUEUES,
    ),
)
def idle_behind(case: ClusterCase) -> Iterator[Verdict]:
    """A pool with threads to spare although its consumer is behind."""
    return _of(case, "MQ327")


@rule(
    "MQ328",
    Severity.WARNING,
    source="ConsumeMessageConcurrentlyService",
    needs=_STACKS,
    playbook="stuck-consumer",
    groups=ONLINE,
    texts=RuleTexts(
        title="Fewer consume threads than configured",
        speaks="one of 20 threads exists although messages are cached",
        silent="one of 20 threads exists, and no more were needed yet",
        what={
            "": "{client} has {pool_count:consume thread} of {group}, {configured_count:is/are} configured, and "
            "{cached_count:message waits/wait} in its cache.",
        },
        effect="Messages wait because threads are missing.",
        advice="Look into the consumer's log for errors that ended threads, and restart it. A thread pool of Java starts its threads "
        "one by one as work comes, so that right after the start fewer are normal.",
        explain="The threads named ConsumeMessageThread_ are counted and compared with the core size that the instance reports.",
        next_command="mqctl group members {source} -g {group}",
    ),
)
def missing_threads(case: ClusterCase) -> Iterator[Verdict]:
    """Fewer consume threads than configured while messages wait for them."""
    return _of(case, "MQ328")
