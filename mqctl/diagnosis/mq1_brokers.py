"""MQ1 as far as a live broker tells it of itself (request 28): disks, queues of requests, dispatch."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.diagnosis.rule import Case, Verdict, rule
from mqctl.model.finding import Severity, Subject, SubjectKind, Value
from mqctl.model.gap import Part
from mqctl.model.numbers import decimal, fraction

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
    "MQ110", Severity.FATAL, source="DefaultMessageStore.CleanCommitLogService", needs=_RUNTIME, playbook="broker-down"
)
def disk_watermark(case: Case) -> Iterator[Verdict]:
    """A disk past one of the broker's watermarks: 75, 85 and 90 % used."""
    ratios = [value for key in ("commitLogDiskRatio", "consumeQueueDiskRatio") if (value := _number(case, key))]
    used = max(ratios, default=0.0)
    for limit, severity, variant in _TIERS:
        if used > limit:
            yield _verdict(case, variant=variant, severity=severity, disk_used_share=used)
            return


@rule("MQ111", Severity.ERROR, source="DefaultMessageStore.isOSPageCacheBusy", needs=_RUNTIME, playbook="broker-down")
def page_cache_busy(case: Case) -> Iterator[Verdict]:
    """An append that holds the page cache lock for more than a second: the broker rejects sends."""
    held = _number(case, "pageCacheLockTimeMills")
    if held is not None and held > 1_000:
        yield _verdict(case, lock_ms=int(held))


@rule("MQ112", Severity.ERROR, source="BrokerFastFailure", needs=_RUNTIME, playbook="broker-down")
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


@rule("MQ113", Severity.ERROR, source="DefaultMessageStore.ReputMessageService", needs=_RUNTIME, playbook="broker-down")
def dispatch_behind(case: Case) -> Iterator[Verdict]:
    """Messages in the commit log that consume queues do not know yet: consumers cannot see them."""
    behind = _number(case, "dispatchBehindBytes")
    if behind is not None and behind > case.settings.dispatch_behind_bytes:
        yield _verdict(case, behind_bytes=int(behind))


@rule("MQ114", Severity.WARNING, source="StoreStatsService", needs=_RUNTIME, playbook="broker-down")
def slow_appends(case: Case) -> Iterator[Verdict]:
    """One append in a hundred takes longer than 50 ms (5.x tells it)."""
    latency = _number(case, "putLatency99")
    if latency is not None and latency > 50:
        yield _verdict(case, append_ms=int(latency))


@rule("MQ115", Severity.ERROR, source="TransientStorePool", needs=_RUNTIME, playbook="broker-down")
def buffers_exhausted(case: Case) -> Iterator[Verdict]:
    """A pool of off-heap buffers that is used up: the broker rejects sends."""
    left = _number(case, "remainTransientStoreBufferNumbs")
    enabled = case.broker.config.get("transientStorePoolEnable", "false").lower() == "true"
    if enabled and left == 0:
        yield _verdict(case, buffer_count=0)


@rule("MQ119", Severity.ERROR, source="TimerMessageStore", needs=_RUNTIME, playbook="broker-down")
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
