"""What the stacks of a consumer mean, joined with what it holds in its queues and how far its group is behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from mqctl.model.finding import Confidence, Severity, Value
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.stacks.group import Motion, StackGroup, StackReport
from mqctl.stacks.holding import ConsumerFacts, ConsumerSituation, StackLimits
from mqctl.stacks.normal import shown_frame
from mqctl.stacks.rules import StackClass as C

__all__ = ["ConsumerFacts", "StackLimits", "StackVerdict", "verdict"]

DEADLOCK, LOCKED, DOWNSTREAM, SLEEPING, WORKING = "MQ320", "MQ321", "MQ322", "MQ323", "MQ324"
QUEUE_LOCKED, UNKNOWN, IDLE, FEWER = "MQ325", "MQ326", "MQ327", "MQ328"

_CODES: dict[str, str] = {
    C.LOCK: LOCKED,
    C.HTTP: DOWNSTREAM,
    C.DATABASE: DOWNSTREAM,
    C.REDIS: DOWNSTREAM,
    C.RPC: DOWNSTREAM,
    C.SEND: DOWNSTREAM,
    C.SOCKET: DOWNSTREAM,
    C.DNS: DOWNSTREAM,
    C.CONNECTION_POOL: DOWNSTREAM,
    C.SLEEP: SLEEPING,
    C.RETRY: SLEEPING,
    C.WAIT: SLEEPING,
    C.CPU: WORKING,
    C.GC: WORKING,
    C.SERIALISATION: WORKING,
    C.LOGGING: WORKING,
    C.FILE: WORKING,
    C.CLASS_LOADING: WORKING,
    C.QUEUE_LOCK: QUEUE_LOCKED,
}
_GC_SHARE = 0.5
_LOWER = {Confidence.HIGH: Confidence.MEDIUM, Confidence.MEDIUM: Confidence.LOW, Confidence.LOW: Confidence.LOW}


@dataclass(frozen=True, slots=True, kw_only=True)
class StackVerdict:
    """One verdict; playbook and sentences belong to the rule `code` (MQ32x), and its severity where none is given.

    Attributes:
        group: consumer group; None where nothing tells it.
    """

    code: str
    group: str | None
    variant: str | None = None
    params: Mapping[str, Value] = field(default_factory=dict)
    evidence: Mapping[str, Value] = field(default_factory=dict)
    severity: Severity | None = None
    confidence: Confidence = Confidence.HIGH


@dataclass(frozen=True, slots=True)
class _Pool:
    """The consume threads of one group."""

    report: StackReport
    groups: tuple[StackGroup, ...]
    situation: ConsumerSituation

    @property
    def count(self) -> int:
        return sum(item.count for item in self.groups)

    @property
    def idle_count(self) -> int:
        return sum(item.count for item in self.groups if item.cls == C.IDLE)

    @property
    def working(self) -> list[StackGroup]:
        """Groups that do something, the largest first."""
        return sorted((item for item in self.groups if item.cls != C.IDLE), key=lambda item: -item.count)

    @property
    def deadlocked(self) -> bool:
        """Whether most of the threads that work are in a deadlock, which is told by itself."""
        circles = {name for circle in (*self.report.deadlocks, *self.report.suspected) for name in circle}
        caught = sum(1 for item in self.working for name in item.names if name in circles)
        return 2 * caught > self.count - self.idle_count

    @property
    def saturated(self) -> bool:
        """Whether no thread is to spare: few idle, or for an orderly consumer one at work for each waiting queue."""
        if not self.working:
            return False
        info = self.situation.info
        if info is not None and info.orderly:
            waiting = sum(1 for queue in self.situation.queues if queue.cached_count)
            return self.count - self.idle_count >= max(1, waiting)
        return self.idle_count <= self.situation.limits.saturated_share * self.count


def verdict(report: StackReport, facts: ConsumerFacts, limits: StackLimits | None = None) -> list[StackVerdict]:
    """Returns what is wrong with the consume threads in `report`, worst first; empty when nothing is.

    Threads that work are nothing wrong by themselves: unless a deadlock is found, a verdict needs a consumer that is
    behind or stands. Where nothing tells whether it is, the verdict is a warning of less confidence.
    """
    windows = limits or StackLimits()
    verdicts = list(_deadlocks(report, facts))
    pools = report.consumer_groups() or ((facts.info.group,) if facts.info else ())
    for name in pools:
        groups = tuple(item for item in report.consuming() if item.group == name)
        owner = facts.info.group if facts.info and _is_of(name, facts.info.group) else name
        pool = _Pool(report, groups, ConsumerSituation(owner, facts, windows))
        verdicts += _pool_verdicts(pool)
    return verdicts


def _is_of(name: str | None, group: str) -> bool:
    return name is None or name == group or (len(name) >= 10 and group.startswith(name))


def _deadlocks(report: StackReport, facts: ConsumerFacts) -> Iterator[StackVerdict]:
    group_of = {name: item.group for item in report.consuming() for name in item.names}
    for circles, variant in ((report.deadlocks, "proven"), (report.suspected, "suspected")):
        for circle in circles:
            group = next((group_of[name] for name in circle if group_of.get(name)), None)
            lines = [shown_frame(item.line) for item in report.groups if item.line and set(item.names) & set(circle)]
            yield StackVerdict(
                code=DEADLOCK,
                group=group or (facts.info.group if facts.info else None),
                variant=variant,
                params={"threads": ", ".join(circle), "line": ", ".join(dict.fromkeys(lines)) or "-"},
                evidence={"thread_count": len(circle), "span_ms": report.span_ms},
                severity=None if variant == "proven" else Severity.ERROR,
                confidence=Confidence.HIGH if variant == "proven" else Confidence.LOW,
            )


def _pool_verdicts(pool: _Pool) -> Iterator[StackVerdict]:
    situation = pool.situation
    pressing = situation.pressing
    if pressing is False:
        return
    configured = situation.info.thread_count if situation.info else None
    fewer = configured is not None and pool.count < configured and not pool.report.truncated
    if fewer and situation.cached_count and (situation.cached_count > pool.count or not pool.count):
        yield _made(pool, FEWER, evidence={"configured_count": configured, **_numbers(pool)})
    if pool.saturated:
        if not pool.deadlocked:
            yield _busy(pool)
    elif pressing and (pool.count or situation.info is not None):
        idle = _idle(pool)
        if idle is not None:
            yield idle


def _made(
    pool: _Pool,
    code: str,
    *,
    variant: str | None = None,
    params: Mapping[str, Value] | None = None,
    evidence: Mapping[str, Value] | None = None,
) -> StackVerdict:
    known = pool.situation.pressing is not None
    sure = Confidence.HIGH if pool.report.dump_count > 1 else Confidence.MEDIUM
    sure = sure if known else _LOWER[sure]
    return StackVerdict(
        code=code,
        group=pool.situation.group,
        variant=variant,
        params=params or {},
        evidence={name: value for name, value in (evidence or {}).items() if value is not None},
        severity=None if known else Severity.WARNING,
        confidence=_LOWER[sure] if pool.report.truncated else sure,
    )


def _numbers(pool: _Pool) -> dict[str, Value]:
    situation = pool.situation
    return {
        "pool_count": pool.count,
        "idle_count": pool.idle_count,
        "cached_count": situation.cached_count,
        "idle_ms": situation.idle_ms,
        "lag_count": situation.lag_count,
        "lag_ms": situation.lag_ms,
        "dump_count": pool.report.dump_count,
        "span_ms": pool.report.span_ms,
    }


def _busy(pool: _Pool) -> StackVerdict:
    """Judges a pool without threads to spare by what most of its threads do."""
    counts: dict[str, int] = {}
    for item in pool.working:
        counts[item.cls] = counts.get(item.cls, 0) + item.count
    cls = max(counts, key=lambda name: counts[name])
    mine = [item for item in pool.working if item.cls == cls]
    first = mine[0]
    others = {**counts, C.IDLE: pool.idle_count}
    rest = ", ".join(
        f"{others[name]} {name}" for name in sorted(others, key=lambda n: -others[n]) if name != cls and others[name]
    )
    code = _CODES.get(cls, UNKNOWN)
    variant: str | None = cls
    params: dict[str, Value] = {"line": _line(first), "rest": rest or f"0 {C.IDLE}"}
    if code == LOCKED or (code == QUEUE_LOCKED and first.root):
        variant = "owner" if first.root else None
        if first.root:
            params |= {"owner": first.root, "owner_line": _root_line(first)}
    elif code == WORKING and cls == C.CPU and (pool.report.gc_share or 0) >= _GC_SHARE:
        variant = C.GC
    elif code in (UNKNOWN, QUEUE_LOCKED):
        variant = None
        params["cls"] = cls
    moved = {motion: sum(item.motions.get(motion, 0) for item in mine) for motion in Motion}
    numbers = _numbers(pool)
    slow = pool.situation.consumes
    if slow:  # seconds at one place are the time of a message
        moved |= {Motion.STUCK: 0, Motion.SLOW: moved[Motion.SLOW] + moved[Motion.STUCK]}
    if pool.report.dump_count > 1:
        numbers |= {f"{motion}_count": moved[motion] for motion in (Motion.STUCK, Motion.SLOW, Motion.BUSY)}
    shares = [item.cpu_share for item in mine if item.cpu_share is not None]
    numbers["cpu_share"] = sum(shares) / len(shares) if shares else None
    holding = pool.situation.holds_offset()
    if holding is not None:
        numbers |= {"held_queue": _queue(holding.queue), "queue_offset": holding.cached_min_offset}
        numbers["idle_ms"] = pool.situation.unfinished_ms(holding)
    made = _made(pool, code, variant=variant, params=params, evidence={"thread_count": counts[cls], **numbers})
    return replace(made, severity=Severity.WARNING) if slow else made


def _line(item: StackGroup) -> str:
    return shown_frame(item.place) if item.place is not None else "-"


def _root_line(item: StackGroup) -> str:
    where = shown_frame(item.root_line) if item.root_line else "-"
    return f"{where} ({item.root_cls})" if item.root_cls else where


def _idle(pool: _Pool) -> StackVerdict | None:
    """Judges a pool that has threads to spare although its consumer is behind."""
    situation = pool.situation
    numbers = _numbers(pool)
    holding = situation.holds_offset()
    if holding is not None:
        at_work = pool.working[0] if pool.working else None
        return _made(
            pool,
            IDLE,
            variant="held" if at_work else "lost",
            params={"queue": _queue(holding.queue), "line": _line(at_work) if at_work else "-"},
            evidence={
                **numbers,
                "queue_offset": holding.cached_min_offset,
                "cached_count": holding.cached_count,
                "idle_ms": situation.unfinished_ms(holding),
            },
        )
    late = situation.uncommitted()
    if late is not None:
        queue, row = late
        offsets: dict[str, Value] = {"queue_offset": queue.commit_offset, "consumer_offset": row.consumer_offset}
        idle_ms = max(0, situation.held.now_ms - queue.last_consume_time_ms)
        evidence = {**numbers, **offsets, "idle_ms": idle_ms}
        return _made(pool, IDLE, variant="commit", params={"queue": _queue(queue.queue)}, evidence=evidence)
    for variant, queues in (("unlocked", situation.unlocked()), ("stopped", situation.unpulled())):
        if queues:
            named = {"queue": ", ".join(_queue(item.queue) for item in queues[:3])}
            return _made(pool, IDLE, variant=variant, params=named, evidence={**numbers, "queue_count": len(queues)})
    if pool.working or situation.cached_count or not situation.starved():
        return None
    return _made(pool, IDLE, variant="starved", evidence=numbers)


def _queue(queue: MessageQueue) -> str:
    return f"{queue.topic} {queue.broker_name}/{queue.queue_id}"
