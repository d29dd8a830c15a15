"""Declared expectations, held against a snapshot: one result each, unknown where the evidence is missing."""

from __future__ import annotations

from collections.abc import Iterator

from mqctl.model.config import perm_text
from mqctl.model.expectation import (
    CheckResult,
    CheckState,
    Expectations,
    GroupExpectation,
    Limit,
    TopicExpectation,
)
from mqctl.model.gap import Gap, Part
from mqctl.model.lag import group_lags, queue_lags
from mqctl.model.names import DLQ_PREFIX
from mqctl.model.runtime import read_runtime
from mqctl.model.snapshot import ClusterSnapshot


def hold(snapshot: ClusterSnapshot, expected: Expectations) -> tuple[CheckResult, ...]:
    """Returns a result for each expectation, in the order of the file."""
    found: list[CheckResult] = []
    if snapshot.without_brokers:
        said = "the name servers answer and list no broker"
        found.append(CheckResult(check="registered", subject="name servers", state=CheckState.CRITICAL, message=said))
    if expected.cluster is not None:
        found.append(_cluster(snapshot, expected.cluster))
    for name in expected.brokers:
        found.append(_broker(snapshot, name))
    if expected.disk_used_share is not None:
        found += _disks(snapshot, expected.disk_used_share)
    for topic in expected.topics:
        found += _topic(snapshot, topic)
    for group in expected.groups:
        found += _group(snapshot, group)
    if expected.delay_overdue_ms is not None:
        found += _delay(snapshot, expected.delay_overdue_ms)
    return tuple(found)


def _cluster(snapshot: ClusterSnapshot, name: str) -> CheckResult:
    known = sorted({broker.cluster for broker in snapshot.brokers if broker.cluster})
    if known == [name]:
        return CheckResult(check="cluster", subject=f"cluster {name}", state=CheckState.OK, message="it is the one")
    state = CheckState.CRITICAL if known else CheckState.UNKNOWN
    said = f"the brokers belong to {', '.join(known)}" if known else "no broker tells its cluster"
    return CheckResult(check="cluster", subject=f"cluster {name}", state=state, message=said)


def _broker(snapshot: ClusterSnapshot, name: str) -> CheckResult:
    entries = [broker for broker in snapshot.brokers if broker.name == name]
    subject = f"broker {name}"
    if not entries:
        return CheckResult(check="answers", subject=subject, state=CheckState.CRITICAL, message="it is not registered")
    gap = next((gap for broker in entries if (gap := broker.lacks(Part.RUNTIME))), None)
    if gap is not None and gap.said_no:
        return _unknown("answers", subject, gap)  # it is there; our keys are what is wrong
    if gap is not None:
        return CheckResult(check="answers", subject=subject, state=CheckState.CRITICAL, message=gap.reason)
    return CheckResult(check="answers", subject=subject, state=CheckState.OK, message="it answers")


def _disks(snapshot: ClusterSnapshot, limit: Limit) -> Iterator[CheckResult]:
    for broker in snapshot.brokers:
        share = read_runtime(broker.runtime).disk_used_share
        subject = f"broker {broker.name}" + (f" ({broker.broker_id})" if broker.broker_id else "")
        if share is None:
            gap = broker.lacks(Part.RUNTIME)
            yield _unknown("disk", subject, gap or "it does not tell")
        else:
            yield _number("disk", subject, share, limit, f"{share:.0%} of the disk is used", unit="share")


def _topic(snapshot: ClusterSnapshot, expected: TopicExpectation) -> Iterator[CheckResult]:
    subject = f"topic {expected.topic}"
    configs = [config for broker in snapshot.brokers for config in broker.topics if config.name == expected.topic]
    gap = next((gap for broker in snapshot.brokers if (gap := broker.lacks(Part.TOPICS))), None)
    if not configs:
        if gap is not None:
            yield _unknown("exists", subject, gap)
        else:
            yield CheckResult(check="exists", subject=subject, state=CheckState.CRITICAL, message="there is none")
        return
    if expected.queue_count is not None:
        count = sum(config.read_queue_count for config in configs)
        if gap is not None:
            yield _unknown("queues", subject, gap)
        else:
            yield _exact(
                "queues", subject, count == expected.queue_count, f"{count} queues, declared {expected.queue_count}"
            )
    if expected.perm is not None:
        perms = sorted({perm_text(config.perm) for config in configs})
        yield _exact("perm", subject, perms == [expected.perm], f"{', '.join(perms)}, declared {expected.perm}")
    if expected.silent_ms is not None:
        yield _silence(snapshot, expected.topic, expected.silent_ms)


def _silence(snapshot: ClusterSnapshot, topic: str, limit: Limit) -> CheckResult:
    queues = [queue for broker in snapshot.brokers for queue in broker.queues if queue.topic == topic]
    newest = max((queue.last_store_time_ms or 0 for queue in queues), default=0)
    if not newest:
        return _unknown("silent_for", f"topic {topic}", "nothing tells when a message was stored last")
    quiet_ms = max(0, snapshot.origin.observed_at_ms - newest)
    said = f"the last message was stored {_span(quiet_ms)} ago"
    return _number("silent_for", f"topic {topic}", quiet_ms, limit, said, unit="ms")


def _group(snapshot: ClusterSnapshot, expected: GroupExpectation) -> Iterator[CheckResult]:
    subject = f"group {expected.group}"
    if expected.lag_count is not None or expected.lag_ms is not None:
        yield from _lag(snapshot, expected, subject)
    members = snapshot.members_of(expected.group)
    gap = next((gap for broker in snapshot.brokers for gap in broker.unavailable if gap.part is Part.MEMBERS), None)
    if expected.members_min is not None or expected.members_max is not None:
        clients = {client for item in members.values() for client in item.client_ids}
        yield _members(subject, len(clients), expected, gap)
    for topic, expression in expected.subscribes.items():
        held = {
            tuple(sorted(item.tags)) or (item.expression,)
            for entry in members.values()
            for item in entry.subscriptions
            if item.topic == topic
        }
        wanted = tuple(sorted(part.strip() for part in expression.split("||")))
        shown = "; ".join(sorted(" || ".join(item) for item in held)) or "nothing"
        said = f"brokers filter {topic} by {shown}, declared {expression}"
        if not members and gap is not None:
            yield _unknown("subscribes", subject, gap)
        else:
            yield _exact("subscribes", subject, held == {wanted}, said)
    yield from _dead_letters(snapshot, expected, subject)


def _lag(snapshot: ClusterSnapshot, expected: GroupExpectation, subject: str) -> Iterator[CheckResult]:
    now_ms = snapshot.origin.observed_at_ms
    rows = [row for broker in snapshot.brokers for row in queue_lags(broker, now_ms) if row.group == expected.group]
    lags = group_lags(rows)
    gaps = [
        gap
        for broker in snapshot.brokers
        for part in (Part.CONSUMER_OFFSETS, Part.QUEUES)
        if (gap := broker.lacks(part))
    ]
    if not lags:
        reason = gaps[0] if gaps else "it has no offsets"
        for name, limit in (("lag", expected.lag_count), ("lag_time", expected.lag_ms)):
            if limit is not None:
                yield _unknown(name, subject, reason)
        return
    for name, limit, values, unit in (
        ("lag", expected.lag_count, [lag.lag_count for lag in lags], ""),
        ("lag_time", expected.lag_ms, [lag.lag_ms for lag in lags], "ms"),
    ):
        if limit is None:
            continue
        known = [value for value in values if value is not None]
        most = max(known, default=None)
        topic = lags[values.index(most)].topic if most is not None else ""
        said = f"{_span(most or 0)} behind on {topic}" if unit else f"{most} messages behind on {topic}"
        result = None if most is None else _number(name, subject, most, limit, said, unit=unit)
        if result is None or (result.state is not CheckState.CRITICAL and (gaps or len(known) < len(values))):
            yield _unknown(name, subject, gaps[0] if gaps else "not known for every topic")
        else:
            yield result


def _members(subject: str, count: int, expected: GroupExpectation, gap: Gap | None) -> CheckResult:
    least, most = expected.members_min, expected.members_max
    wanted = " and ".join(
        part for part in (f"at least {least}" if least is not None else "", f"at most {most}" if most else "") if part
    )
    good = (least is None or count >= least) and (most is None or count <= most)
    if not good and gap is not None and (most is None or count <= most):
        return _unknown("members", subject, gap)
    state = CheckState.OK if good else CheckState.CRITICAL
    said = f"{count} online, declared {wanted}"
    return CheckResult(check="members", subject=subject, state=state, message=said, value=count)


def _dead_letters(snapshot: ClusterSnapshot, expected: GroupExpectation, subject: str) -> Iterator[CheckResult]:
    if expected.dead_letter_count is not None:
        count, gap = _dead_letter_end(snapshot, expected.group, held=True)
        if gap is not None:
            yield _unknown("dead_letters", subject, gap)
        else:
            yield _number("dead_letters", subject, count, expected.dead_letter_count, f"{count} dead letters")
    if expected.dead_letter_growth is not None:
        if snapshot.earlier is None:
            yield _unknown("dead_letter_growth", subject, "needs two looks: add --window")
            return
        now, gap = _dead_letter_end(snapshot, expected.group, held=False)
        then, earlier_gap = _dead_letter_end(snapshot.earlier, expected.group, held=False)
        unknown = gap or earlier_gap
        if unknown is not None:
            yield _unknown("dead_letter_growth", subject, unknown)
            return
        window_ms = snapshot.origin.observed_at_ms - snapshot.earlier.origin.observed_at_ms
        said = f"{now - then} dead letters came within {_span(window_ms)}"
        yield _number("dead_letter_growth", subject, now - then, expected.dead_letter_growth, said)


def _dead_letter_end(snapshot: ClusterSnapshot, group: str, *, held: bool) -> tuple[int, Gap | str | None]:
    """Returns how many dead letters are held, or where their queues end; and why that is not known."""
    if not snapshot.brokers:
        return 0, "no broker is registered"
    for broker in snapshot.brokers:
        if (gap := broker.lacks(Part.QUEUES)) is not None:
            return 0, gap
    queues = [queue for broker in snapshot.brokers for queue in broker.queues if queue.topic == f"{DLQ_PREFIX}{group}"]
    return sum(queue.max_offset - (queue.min_offset if held else 0) for queue in queues), None


def _delay(snapshot: ClusterSnapshot, limit: Limit) -> Iterator[CheckResult]:
    for broker in snapshot.brokers:
        subject = f"broker {broker.name}"
        if broker.broker_id:
            continue
        if broker.delay is None:
            gap = broker.lacks(Part.DELAY)
            yield _unknown("delay_overdue", subject, gap or "it does not tell its delay levels")
            continue
        dues = [level.queue.oldest_overdue_time_ms for level in broker.delay.levels if level.queue is not None]
        oldest = min((due for due in dues if due is not None), default=None)
        late_ms = 0 if oldest is None else max(0, snapshot.origin.observed_at_ms - oldest)
        said = f"the latest delayed message is {_span(late_ms)} late" if late_ms else "nothing is late"
        yield _number("delay_overdue", subject, late_ms, limit, said, unit="ms")


def _number(check: str, subject: str, value: float, limit: Limit, said: str, *, unit: str = "") -> CheckResult:
    state = CheckState.OK
    if limit.critical is not None and value > limit.critical:
        state = CheckState.CRITICAL
    elif limit.warning is not None and value > limit.warning:
        state = CheckState.WARNING
    return CheckResult(check=check, subject=subject, state=state, message=said, value=value, unit=unit, limit=limit)


def _exact(check: str, subject: str, good: bool, said: str) -> CheckResult:  # noqa: FBT001 - the one thing it is about
    state = CheckState.OK if good else CheckState.CRITICAL
    return CheckResult(check=check, subject=subject, state=state, message=said)


def _unknown(check: str, subject: str, why: Gap | str) -> CheckResult:
    gap = why if isinstance(why, Gap) else None
    message = why.reason if isinstance(why, Gap) else why
    return CheckResult(check=check, subject=subject, state=CheckState.UNKNOWN, message=message, gap=gap)


def _span(span_ms: float) -> str:
    seconds = span_ms / 1000
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
