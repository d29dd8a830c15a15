"""Declared expectations, held against a snapshot: one result each, unknown where the evidence is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mqctl.model.config import perm_text
from mqctl.model.counts import counted
from mqctl.model.expectation import (
    CheckResult,
    CheckState,
    Expectations,
    Limit,
    TopicExpectation,
)
from mqctl.model.gap import Part
from mqctl.model.names import group_of, is_system_topic
from mqctl.model.names_alike import is_pattern
from mqctl.model.release import NEWEST
from mqctl.model.runtime import read_runtime
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules.engine.expected_groups import hold_groups
from mqctl.rules.engine.expected_slaves import hold_slaves
from mqctl.rules.engine.expecting import (
    Checked,
    amount,
    exact,
    meant_by,
    none_like,
    result,
    unknown,
    why_missed,
)
from mqctl.rules.engine.gone_brokers import GoneBroker, gone_brokers, registered_names
from mqctl.rules.engine.unknown import UnknownKinds, of_broker
from mqctl.rules.engine.why_words import reason
from mqctl.text import sentence


def hold(snapshot: ClusterSnapshot, expected: Expectations) -> tuple[CheckResult, ...]:
    """Returns a result for each expectation, in the order of the file."""
    results: list[CheckResult] = []
    if snapshot.without_brokers:
        said = sentence("check-no-broker-listed", "the name servers answer and list no broker")
        results.append(result("registered", Checked("name servers"), CheckState.ERROR, said))
    gone = brokers_missed(snapshot, expected)
    results += [_not_registered(item) for item in gone if item.name not in expected.brokers]
    results += _unknown_brokers(snapshot)
    if expected.cluster is not None:
        results.append(_cluster(snapshot, expected.cluster))
    for name in expected.brokers:
        results.append(_broker(snapshot, name))
    if expected.disk_used_share is not None:
        results += _disks(snapshot, expected.disk_used_share)
    if expected.slave_count is not None or expected.slave_behind_bytes is not None:
        results += hold_slaves(snapshot, expected.slave_count, expected.slave_behind_bytes)
    if expected.broker_count is not None:
        results.append(_broker_count(snapshot, expected.broker_count))
    for topic in _each_topic(snapshot, expected.topics):
        results += _topic(snapshot, topic) if not is_pattern(topic.topic) else [none_like("topic", topic.topic)]
    if expected.groups:
        results += hold_groups(snapshot, expected.groups, gone)
    if expected.delay_overdue_ms is not None:
        results += _delay(snapshot, expected.delay_overdue_ms)
    return (*results, *_unknown_kinds(snapshot, results))


def brokers_missed(snapshot: ClusterSnapshot, expected: Expectations) -> list[GoneBroker]:
    """Returns the brokers whose queues are out of reach.

    One that merely was registered within a day is not missed where it is declared which brokers, or how many, there
    ought to be.
    """
    if snapshot.without_brokers:
        return []
    declared = {*expected.brokers, *(item.name for item in snapshot.seen_brokers if item.expected_by)}
    enough = expected.broker_count is not None and expected.broker_count <= len(registered_names(snapshot))
    return [
        item
        for item in gone_brokers(snapshot)
        if item.belongs or item.name in declared or (item.recent and not declared and not enough)
    ]


def _not_registered(gone: GoneBroker) -> CheckResult:
    message = sentence("check-queues-out-of-reach", "{why}: its queues are out of reach", why=why_missed(gone))
    state = CheckState.ERROR if gone.belongs else CheckState.UNKNOWN
    return result("registered", Checked("broker", gone.name), state, message)


def _unknown_brokers(snapshot: ClusterSnapshot) -> Iterator[CheckResult]:
    """Yields brokers of a release, or with an engine, that mqctl does not know: what they say may mean otherwise."""
    for broker in snapshot.brokers:
        if why := of_broker(broker, NEWEST):
            yield unknown("known", Checked("broker", broker.name or "", broker.broker_id or 0), reason(why))


def _unknown_kinds(snapshot: ClusterSnapshot, results: Iterable[CheckResult]) -> Iterator[CheckResult]:
    """Yields topics and groups that were checked, and topics that such groups consume, of a kind that mqctl does not
    know."""
    checked = {(item.kind, item.name) for item in results}
    for broker in snapshot.brokers:
        consumed = {(item.group, item.topic) for item in broker.consumer_offsets}
        consumed |= {(item.group, each.topic) for item in broker.memberships for each in item.subscriptions}
        checked |= {("topic", topic) for group, topic in consumed if ("group", group) in checked}
    kinds = UnknownKinds(snapshot)
    for kind, odd in (("topic", kinds.topics), ("group", kinds.groups)):
        for name, why in odd.items():
            if (kind, name) in checked:
                yield unknown("known", Checked(kind, name), reason(why))


def _cluster(snapshot: ClusterSnapshot, name: str) -> CheckResult:
    known = sorted({broker.cluster for broker in snapshot.brokers if broker.cluster})
    if known == [name]:
        return result(
            "cluster", Checked("cluster", name), CheckState.OK, sentence("check-cluster-right", "it is the one")
        )
    state = CheckState.ERROR if known else CheckState.UNKNOWN
    said = (
        sentence("check-cluster-other", "the brokers belong to {clusters}", clusters=known)
        if known
        else sentence("check-cluster-unknown", "no broker reports its cluster")
    )
    return result("cluster", Checked("cluster", name), state, said)


def _broker(snapshot: ClusterSnapshot, name: str) -> CheckResult:
    entries = [broker for broker in snapshot.brokers if broker.name == name]
    subject = Checked("broker", name)
    if not entries:
        return result("answers", subject, CheckState.ERROR, sentence("check-not-registered", "it is not registered"))
    gap = next((gap for broker in entries if (gap := broker.lacks(Part.RUNTIME))), None)
    if gap is not None and gap.said_no:
        return unknown("answers", subject, gap)  # it is there; our keys are what is wrong
    if gap is not None:
        return result("answers", subject, CheckState.ERROR, gap.reason)
    return result("answers", subject, CheckState.OK, sentence("check-broker-answers", "it answers"))


def _broker_count(snapshot: ClusterSnapshot, least: int) -> CheckResult:
    names = {broker.name for broker in snapshot.brokers}
    silent = {broker.name: gap for broker in snapshot.brokers if (gap := broker.lacks(Part.RUNTIME))}
    count = len(names - silent.keys())
    said = sentence(
        "check-broker-count",
        "{count} of {registered} registered answer, declared at least {least}",
        count=count,
        registered=len(names),
        least=least,
    )
    if count < least <= len(names) and all(gap.said_no for gap in silent.values()):
        return unknown("brokers", Checked("cluster brokers"), next(iter(silent.values())))
    return exact("brokers", Checked("cluster brokers"), count >= least, said)


def _each_topic(snapshot: ClusterSnapshot, declared: Sequence[TopicExpectation]) -> Iterator[TopicExpectation]:
    """Yields what is declared of each topic; a pattern that no topic looks like comes as it is."""
    known = {config.name for broker in snapshot.brokers for config in broker.topics}
    usual = {name for name in known if not is_system_topic(name) and group_of(name) is None}
    named = {item.topic for item in declared}
    for item in declared:
        meant = meant_by(item.topic, item.without, usual, named)
        for name in meant or [item.topic]:
            yield replace(item, topic=name)


def _disks(snapshot: ClusterSnapshot, limit: Limit) -> Iterator[CheckResult]:
    for broker in snapshot.brokers:
        share = read_runtime(broker.runtime).disk_used_share
        subject = Checked("broker", broker.name, broker.broker_id or 0)
        if share is None:
            gap = broker.lacks(Part.RUNTIME)
            yield unknown("disk", subject, gap or sentence("check-not-reported", "it does not report this"))
        else:
            said = sentence("check-disk", "{used_share} of the disk is used", used_share=share)
            yield amount("disk", subject, share, limit, said, unit="share")


def _topic(snapshot: ClusterSnapshot, expected: TopicExpectation) -> Iterator[CheckResult]:
    subject = Checked("topic", expected.topic)
    configs = [config for broker in snapshot.brokers for config in broker.topics if config.name == expected.topic]
    gap = next((gap for broker in snapshot.brokers if (gap := broker.lacks(Part.TOPICS))), None)
    if not configs:
        if gap is not None:
            yield unknown("exists", subject, gap)
        else:
            yield result("exists", subject, CheckState.ERROR, sentence("check-none", "there is none"))
        return
    if expected.queue_count is not None:
        count = sum(config.read_queue_count for config in configs)
        if gap is not None:
            yield unknown("queues", subject, gap)
        else:
            yield exact(
                "queues",
                subject,
                count == expected.queue_count,
                sentence(
                    "check-queues",
                    "{count}, declared {queue_count}",
                    count=counted(count, "queue"),
                    queue_count=expected.queue_count,
                ),
            )
    if expected.perm is not None:
        perms = sorted({perm_text(config.perm) for config in configs})
        said = sentence("check-perm", "{perms}, declared {perm}", perms=perms, perm=expected.perm)
        yield exact("perm", subject, perms == [expected.perm], said)
    if expected.silent_ms is not None:
        yield _silence(snapshot, expected.topic, expected.silent_ms)


def _silence(snapshot: ClusterSnapshot, topic: str, limit: Limit) -> CheckResult:
    queues = [queue for broker in snapshot.brokers for queue in broker.queues if queue.topic == topic]
    newest = max((queue.last_store_time_ms or 0 for queue in queues), default=0)
    if not newest:
        why = sentence("check-newest-unknown", "the time of the newest message is not known")
        return unknown("silent_for", Checked("topic", topic), why)
    quiet_ms = max(0, snapshot.origin.observed_at_ms - newest)
    said = sentence("check-silent-for", "the last message was stored {quiet_ms} ago", quiet_ms=quiet_ms)
    checked = amount("silent_for", Checked("topic", topic), quiet_ms, limit, said, unit="ms")
    gaps = (gap for broker in snapshot.brokers for gap in broker.unavailable if gap.part is Part.QUEUES)
    gap = next((gap for gap in gaps if gap.topic in (None, topic)), None)
    # A queue that was not read may have got a message since.
    if gap is not None and checked.state is not CheckState.OK:
        return unknown("silent_for", Checked("topic", topic), gap)
    return checked


def _delay(snapshot: ClusterSnapshot, limit: Limit) -> Iterator[CheckResult]:
    for broker in snapshot.brokers:
        subject = Checked("broker", broker.name)
        if broker.broker_id:
            continue
        if broker.delay is None:
            gap = broker.lacks(Part.DELAY)
            yield unknown(
                "delay_overdue",
                subject,
                gap or sentence("check-no-delay-levels", "it does not report its delay levels"),
            )
            continue
        dues = [level.queue.oldest_overdue_time_ms for level in broker.delay.levels if level.queue is not None]
        oldest = min((due for due in dues if due is not None), default=None)
        late_ms = 0 if oldest is None else max(0, snapshot.origin.observed_at_ms - oldest)
        said = (
            sentence("check-delay-late", "the latest delayed message is {late_ms} late", late_ms=late_ms)
            if late_ms
            else sentence("check-nothing-late", "nothing is late")
        )
        yield amount("delay_overdue", subject, late_ms, limit, said, unit="ms")
