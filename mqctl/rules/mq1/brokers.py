"""MQ1 as far as a live broker tells it of itself (request 28): disks, queues of requests, dispatch."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.finding import Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal, fraction
from mqctl.rules.engine.rule import Case, RuleTexts, Verdict, rule

_BROKER = "mqctl broker describe {source} {broker} --counters"

_RUNTIME = (Part.RUNTIME,)
_SET_ASIDE = "recordsSetAside_"  # told by embedded brokers only
_TIERS = ((0.90, Severity.FATAL, "refused"), (0.85, Severity.ERROR, "forced"), (0.75, Severity.WARNING, "early"))
_POOLS = (
    ("send", "sendThreadPoolQueue", 200),
    ("pull", "pullThreadPoolQueue", 4_000),
    ("query", "queryThreadPoolQueue", 15_000),
)


def _number(case: Case, key: str) -> float | None:
    """Returns a runtime value as a number, or None when the broker does not tell it or it is none."""
    return fraction(case.broker.runtime.get(key))


def _verdict(case: Case, *, variant: str | None = None, severity: Severity | None = None, **evidence: Value) -> Verdict:
    subject = Subject(kind=SubjectKind.BROKER, broker=case.broker.name)
    params = {"broker": case.broker.name}
    return Verdict(subject=subject, params=params, evidence=evidence, variant=variant, severity=severity)


@rule(
    "MQ110",
    Severity.FATAL,
    source="DefaultMessageStore.CleanCommitLogService",
    needs=_RUNTIME,
    playbook="broker-down",
    texts=RuleTexts(
        title="A broker's disk is nearly full",
        speaks="the disk is fuller than the level from which old files are deleted early",
        silent="the disk is just below that level",
        what={
            "early": "The disk of {broker} is {disk_used_share} full: files are deleted before their time.",
            "forced": "The disk of {broker} is {disk_used_share} full: files are deleted whatever their age.",
            "refused": "The disk of {broker} is {disk_used_share} full: sends are refused.",
        },
        effect="Messages that nobody has consumed yet are deleted, and beyond 90 % nothing can be sent.",
        advice="Add disk or lower fileReservedTime; look for groups whose backlog is about to expire.",
        explain="A broker deletes at its usual hour, from 75 % on at any hour, from 85 % on regardless of age, and answers sends "
        "with 14 from 90 % on.",
        next_command=_BROKER,
    ),
)
def disk_watermark(case: Case) -> Iterator[Verdict]:
    """A disk past one of the broker's watermarks: 75, 85 and 90 % used."""
    ratios = [value for key in ("commitLogDiskRatio", "consumeQueueDiskRatio") if (value := _number(case, key))]
    used = max(ratios, default=0.0)
    for limit, severity, variant in _TIERS:
        if used > limit:
            yield _verdict(case, variant=variant, severity=severity, disk_used_share=used)
            return


@rule(
    "MQ111",
    Severity.ERROR,
    source="DefaultMessageStore.isOSPageCacheBusy",
    needs=_RUNTIME,
    playbook="broker-down",
    texts=RuleTexts(
        title="A broker's page cache is busy",
        speaks="a message waited more than a second for the page cache",
        silent="the page cache is held for less than that",
        what={"": "An append on {broker} has held the page cache lock for {lock_ms}."},
        effect="From one second on the broker rejects sends with code 2.",
        advice="Look at disk I/O, swapping and memory pressure of that machine.",
        explain="pageCacheLockTimeMills is the age of the append that is under way; a healthy one takes less than a "
        "millisecond.",
        next_command=_BROKER,
    ),
)
def page_cache_busy(case: Case) -> Iterator[Verdict]:
    """An append that holds the page cache lock for more than a second: the broker rejects sends."""
    held = _number(case, "pageCacheLockTimeMills")
    if held is not None and held > 1_000:
        yield _verdict(case, lock_ms=int(held))


@rule(
    "MQ112",
    Severity.ERROR,
    source="BrokerFastFailure",
    needs=_RUNTIME,
    playbook="broker-down",
    texts=RuleTexts(
        title="Requests wait in a broker",
        speaks="sends wait 250 ms in their queue, longer than sends may",
        silent="as many sends wait, but only 150 ms",
        what={
            "send": "Sends wait {wait_ms} on {broker}, {waiting_count} of them.",
            "pull": "Pulls wait {wait_ms} on {broker}, {waiting_count} of them.",
            "query": "Queries wait {wait_ms} on {broker}, {waiting_count} of them.",
        },
        effect="A request that waits too long is refused with code 2 (SYSTEM_BUSY), which producers do not retry.",
        advice="Find out what slows the broker down (disk, flush mode, garbage collection), or spread the load over "
        "more brokers.",
        explain="Looks at the wait of the oldest request in the queues for sends (limit 200 ms), pulls (5 s) and queries.",
        next_command=_BROKER,
    ),
)
def requests_waiting(case: Case) -> Iterator[Verdict]:
    """Requests that wait at the head of a queue for almost as long as the broker lets them."""
    for name, prefix, limit_ms in _POOLS:
        wait = _number(case, f"{prefix}HeadWaitTimeMills")
        size = _number(case, f"{prefix}Size")
        if wait is not None and wait >= limit_ms:
            yield _verdict(
                case,
                variant=name,
                severity=None if name == "send" else Severity.WARNING,
                wait_ms=int(wait),
                waiting_count=int(size) if size is not None else None,
            )


@rule(
    "MQ113",
    Severity.ERROR,
    source="DefaultMessageStore.ReputMessageService",
    needs=_RUNTIME,
    playbook="broker-down",
    texts=RuleTexts(
        title="Consume queues lag behind the commit log",
        speaks="dispatching is 100 MiB behind the log",
        silent="dispatching is 60 MiB behind under load",
        what={"": "The consume queues of {broker} are {behind_bytes} behind its commit log."},
        effect="Those messages are stored, but consumers cannot see them yet.",
        advice="Check the disk that holds the consume queues. After a restart, wait until dispatching has caught up.",
        explain="dispatchBehindBytes is how far dispatching is behind the end of the commit log.",
        next_command=_BROKER,
    ),
)
def dispatch_behind(case: Case) -> Iterator[Verdict]:
    """Messages in the commit log that consume queues do not know yet: consumers cannot see them."""
    behind = _number(case, "dispatchBehindBytes")
    if behind is not None and behind > case.settings.dispatch_behind_bytes:
        yield _verdict(case, behind_bytes=int(behind))


@rule(
    "MQ114",
    Severity.WARNING,
    source="StoreStatsService",
    needs=_RUNTIME,
    playbook="broker-down",
    texts=RuleTexts(
        title="Appends are slow",
        speaks="one message in a hundred takes 80 ms to append",
        silent="it takes 30 ms",
        what={"": "One append in a hundred on {broker} takes {append_ms} or more."},
        effect="Producers wait that long; their send timeout is 3 s by default.",
        advice="Check disk latency and the flush mode.",
        explain="Reads putLatency99, which 5.x brokers report; the limit is 50 ms.",
        next_command=_BROKER,
    ),
)
def slow_appends(case: Case) -> Iterator[Verdict]:
    """One append in a hundred takes longer than 50 ms (5.x tells it)."""
    latency = _number(case, "putLatency99")
    if latency is not None and latency > 50:
        yield _verdict(case, append_ms=int(latency))


@rule(
    "MQ115",
    Severity.ERROR,
    source="TransientStorePool",
    needs=_RUNTIME,
    playbook="broker-down",
    texts=RuleTexts(
        title="Off-heap buffers are used up",
        speaks="the transient store pool has no buffer left",
        silent="the pool is switched off and therefore reports no buffers",
        what={"": "The transient store pool of {broker} has {buffer_count:buffer} left."},
        effect="Sends are rejected until buffers are free again.",
        advice="Raise transientStorePoolSize, or find out why committing is slow.",
        explain="With transientStorePoolEnable messages go to a pool of buffers first; an empty pool makes the broker answer "
        "code 2.",
        next_command=_BROKER,
    ),
)
def buffers_exhausted(case: Case) -> Iterator[Verdict]:
    """A pool of off-heap buffers that is used up: the broker rejects sends."""
    left = _number(case, "remainTransientStoreBufferNumbs")
    enabled = case.broker.config.get("transientStorePoolEnable", "false").lower() == "true"
    if enabled and left == 0:
        yield _verdict(case, buffer_count=0)


@rule(
    "MQ119",
    Severity.ERROR,
    source="TimerMessageStore",
    needs=_RUNTIME,
    playbook="broker-down",
    texts=RuleTexts(
        title="Records of a broker's own topic were set aside",
        speaks="a broker counts three timer records that it could not read",
        silent="messages wait for the timer, and none was set aside",
        what={
            "": "Since {broker} started, {record_count:record} of {topic} could not be handled, and {record_count:/was/were} "
            "passed over."
        },
        effect="The delayed messages, timers or transactions behind these records are not delivered or checked.",
        advice="The broker's log names each record and why. Read it with `mqctl store cat --physical-offset`, fix the client that "
        "sends such messages, and send again what is needed.",
        explain="A record that the timers, the delay levels or the transaction check cannot read would otherwise "
        "block everything behind it. The broker skips it, counts it (recordsSetAside_TOPIC in its runtime "
        "information) and continues.",
        next_command=_BROKER,
    ),
)
def records_set_aside(case: Case) -> Iterator[Verdict]:
    """Records of a broker's own topics that its timers, delay levels or transaction checks could not handle."""
    counters = {key: decimal(value) or 0 for key, value in case.broker.runtime.items() if key.startswith(_SET_ASIDE)}
    topics = sorted(key.removeprefix(_SET_ASIDE) for key, count in counters.items() if count)
    if topics:
        yield Verdict(
            subject=Subject(kind=SubjectKind.BROKER, broker=case.broker.name),
            params={"broker": case.broker.name, "topic": ", ".join(topics)},
            evidence={"record_count": sum(counters.values())},
        )
