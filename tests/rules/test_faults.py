"""Every rule is silent on a healthy broker, and names its own fault and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqctl.model.config import TopicConfig
from mqctl.model.finding import Confidence, Severity
from mqctl.model.gap import Part
from mqctl.model.origin import ObservedFrom, OriginKind
from mqctl.model.probe import SendProbe
from mqctl.model.snapshot import BrokerSnapshot
from mqctl.model.storage_state import QueueBehind
from mqctl.rules import RULES, diagnose
from tests.each import each
from tests.rules.live_snapshots import LIVE
from tests.rules.past_faults import STEADY
from tests.rules.snapshots import (
    DOUBLE_FAULTS,
    FAULTS,
    FIVE_SECONDS,
    HEALTHY,
    HOUR,
    MINUTE,
    NOW,
    STORAGE,
    TRANSACTIONS,
    Fault,
    cluster,
    delay_with,
    offset,
    pending,
    queue,
)
from tests.rules.stack_faults import IDLE_POOL


def test_a_healthy_broker_has_no_findings_and_no_gaps() -> None:
    diagnosis = diagnose(cluster(HEALTHY))
    assert diagnosis.findings == ()
    assert diagnosis.not_judged == ()
    assert diagnosis.verdict == "ok"
    assert diagnosis.exit_code() == 0
    assert set(diagnosis.rules_run) == {
        code for code, entry in RULES.items() if entry.applies_to(OriginKind.STORE) and entry.least_window is None
    }


def test_a_healthy_live_cluster_has_no_findings_and_no_gaps() -> None:
    diagnosis = diagnose(LIVE)
    assert diagnosis.findings == ()
    assert diagnosis.not_judged == ()
    expected = {
        code for code, entry in RULES.items() if entry.least_window is None and entry.applies_to(OriginKind.LIVE)
    }
    on_request = {code for code in expected if {Part.STACKS, Part.PROBE, Part.PAST} & {*RULES[code].needs}}
    assert set(diagnosis.rules_run) == expected - on_request
    idle = tuple(replace(info, stacks=IDLE_POOL) for info in LIVE.running)
    took = tuple(replace(item, probe=SendProbe(topic=item.name or "", status="SEND_OK")) for item in LIVE.brokers)
    with_stacks = diagnose(replace(LIVE, running=idle, brokers=took))
    assert (with_stacks.findings, with_stacks.not_judged) == ((), ())
    over_time = {code for code in expected if Part.PAST in RULES[code].needs}
    assert set(with_stacks.rules_run) == expected - over_time
    with_past = diagnose(STEADY)
    assert with_past.findings == ()
    assert set(with_past.rules_run) == expected - on_request | over_time
    assert set(RULES) == {code for code, entry in RULES.items() if any(map(entry.applies_to, OriginKind))}


@each("fault", FAULTS)
def test_a_fault_is_named_by_its_rule_alone(fault: Fault) -> None:
    findings = diagnose(cluster(fault.broker), settings=fault.settings).findings
    assert [(item.code, item.variant) for item in findings] == [(fault.code, fault.variant)]
    rule = RULES[fault.code]
    assert findings[0].playbook == rule.playbook_of(fault.variant)
    assert findings[0].evidence or findings[0].params


@each("fault, companion", DOUBLE_FAULTS)
def test_a_fault_with_two_sides_is_named_by_both_rules(fault: Fault, companion: str) -> None:
    assert {item.code for item in diagnose(cluster(fault.broker), settings=fault.settings).findings} == {
        fault.code,
        companion,
    }


def _severities(broker: BrokerSnapshot) -> dict[str, Severity]:
    return {item.code: item.severity for item in diagnose(cluster(broker)).findings}


@each(
    "age_ms, severity",
    [
        (5 * MINUTE - 1, None),
        (5 * MINUTE, Severity.WARNING),
        (HOUR - 1, Severity.WARNING),
        (HOUR, Severity.ERROR),
    ],
)
def test_backlog_turns_from_nothing_to_warning_to_error(age_ms: int, severity: Severity | None) -> None:
    broker = replace(HEALTHY, consumer_offsets=(offset("G", "Pay", 0, 500, age_ms),))
    assert _severities(broker).get("MQ401") == severity


@each(
    "kinds, named",
    [
        ({"b": "FIFO"}, "b"),
        ({"b": "FIFO", "a": "TRANSACTION"}, "a, b"),
        ({"a": "FIFO", "b": "NORMAL", "c": "TRANSACTION"}, "a, c"),
        (dict.fromkeys("abcdefg", "FIFO"), "a, b, c, d, e, ..."),
        ({"a": "NORMAL"}, None),
    ],
)
def test_every_topic_that_a_setting_contradicts_is_named(kinds: dict[str, str], named: str | None) -> None:
    first, *others = LIVE.brokers
    topics = [TopicConfig(name=name, attributes={"message.type": kind}) for name, kind in kinds.items()]
    config = {"flushDiskType": "ASYNC_FLUSH", "brokerRole": "ASYNC_MASTER"}
    world = replace(LIVE, brokers=(replace(first, topics=(*first.topics, *topics), config=config), *others))
    users = [item.params["user"] for item in diagnose(world, only=("MQ640",)).findings]
    assert users == ([named] if named else [])


@each("log_end, fires", [(None, True), (1_100, True), (1_199, True), (1_200, False), (1_500, False)])
def test_no_offset_is_beyond_a_queue_that_lacks_what_the_log_has(log_end: int | None, fires: bool) -> None:
    assert HEALTHY.storage is not None
    behind = (
        () if log_end is None else (QueueBehind(topic="Pay", queue_id=0, max_offset=1_000, log_max_offset=log_end),)
    )
    storage = replace(HEALTHY.storage, behind=behind)
    broker = replace(HEALTHY, storage=storage, consumer_offsets=(offset("G", "Pay", 0, 1_200),))
    codes = _severities(broker).keys()
    assert ("MQ404" in codes, "MQ103" in codes) == (fires, bool(behind))


@each("age_ms, fires", [(70 * HOUR - 1, False), (70 * HOUR, True)])
def test_expiry_is_announced_two_hours_ahead(age_ms: int, fires: bool) -> None:
    broker = replace(HEALTHY, consumer_offsets=(offset("G", "Pay", 0, 500, age_ms),))
    assert ("MQ403" in _severities(broker)) == fires


def test_the_loss_below_the_minimum_is_counted_over_all_queues() -> None:
    broker = replace(HEALTHY, consumer_offsets=(offset("G", "Pay", 0, 40), offset("G", "Pay", 1, 95)))
    (finding,) = [item for item in diagnose(cluster(broker)).findings if item.code == "MQ402"]
    assert {item.name: item.value for item in finding.evidence}["lost_count"] == 65
    assert finding.params["queues"] == "0, 1"


def test_messages_with_an_unreadable_store_time_are_not_judged_by_time() -> None:
    diagnosis = diagnose(cluster(replace(HEALTHY, consumer_offsets=(offset("G", "Pay", 0, 500),))), only=("MQ401",))
    assert diagnosis.findings == ()
    assert [gap.subject.group for gap in diagnosis.not_judged] == ["G"]
    assert diagnosis.verdict == "unknown"


@each(
    "broker",
    [
        replace(HEALTHY, consumer_offsets=(offset("CID_RMQ_SYS_TRANS", "RMQ_SYS_TRANS_HALF_TOPIC", 0, 0, 90 * HOUR),)),
        replace(HEALTHY, consumer_offsets=(offset("TOOLS_CONSUMER", "Pay", 0, 0, 90 * HOUR),)),
        replace(
            HEALTHY,
            consumer_offsets=(),
            queues=(queue("SCHEDULE_TOPIC_XXXX", 0, 0, 90_000), queue("SCHEDULE_TOPIC_XXXX", 1, 0, 1)),
        ),
    ],
)
def test_rocketmq_own_groups_and_topics_raise_no_alarm(broker: BrokerSnapshot) -> None:
    assert _severities(broker) == {}


def test_an_offset_on_a_queue_that_is_gone_lies_beyond_it() -> None:
    wide = (TopicConfig(name="Pay", read_queue_count=8, write_queue_count=8),)
    broker = replace(HEALTHY, topics=wide, consumer_offsets=(offset("G", "Pay", 7, 55), offset("G", "Deleted", 0, 9)))
    (finding,) = diagnose(cluster(broker), only=("MQ404",)).findings
    assert (finding.subject.topic, finding.params["queues"]) == ("Pay", "7")
    assert {item.name: item.value for item in finding.evidence} == {
        "beyond_count": 55,
        "consumer_offset": 55,
        "max_offset": 0,
    }


@each(
    "observed_from, late_ms, confidence",
    [
        (ObservedFrom.CONFIG_MTIME, 2 * HOUR, Confidence.MEDIUM),
        (ObservedFrom.CONFIG_MTIME, HOUR // 2, Confidence.HIGH),
        (ObservedFrom.GIVEN, 2 * HOUR, Confidence.HIGH),
    ],
)
def test_ages_by_a_file_time_that_may_be_a_copys_are_less_certain(
    observed_from: ObservedFrom, late_ms: int, confidence: Confidence
) -> None:
    snapshot = cluster(replace(HEALTHY, consumer_offsets=(offset("G", "Pay", 0, 500, HOUR),)))
    origin = replace(snapshot.origin, observed_from=observed_from, observed_at_ms=NOW + late_ms)
    (finding,) = diagnose(replace(snapshot, origin=origin), only=("MQ401",)).findings
    assert finding.confidence is confidence


def test_too_many_late_messages_leave_two_questions_open() -> None:
    many = replace(FIVE_SECONDS, overdue_count=9_000, redelivered_count=None, oldest_overdue_time_ms=NOW - MINUTE)
    without = diagnose(cluster(replace(HEALTHY, delay=delay_with(many, None))))
    assert [gap.code for gap in without.not_judged] == ["MQ703"]
    recorded = diagnose(cluster(replace(HEALTHY, delay=delay_with(many, 7))))
    assert [gap.code for gap in recorded.not_judged] == ["MQ706"]
    assert [(item.code, item.confidence) for item in recorded.findings] == [("MQ707", Confidence.MEDIUM)]


def test_a_small_topic_is_never_hot() -> None:
    queues = (queue("Pay", 0, 0, 399), *(queue("Pay", number, 0, 1) for number in range(1, 5)))
    broker = replace(HEALTHY, topics=(), queues=queues, consumer_offsets=())
    assert "MQ301" not in _severities(broker)


@given(kept=st.integers(2, 8), gone=st.integers(0, 60), count=st.integers(1_000, 90_000), held=st.integers(0, 5))
def test_queues_that_were_removed_make_no_other_hot(kept: int, gone: int, count: int, held: int) -> None:
    """A topic that was made smaller is judged by the queues that it has; their share is that of their broker."""
    queues = [queue("Pay", number, 0, count if number < kept else held) for number in range(kept + gone)]
    topics = (TopicConfig(name="Pay", read_queue_count=kept, write_queue_count=kept),)
    broker = replace(HEALTHY, topics=topics, queues=tuple(queues), consumer_offsets=())
    assert "MQ301" not in _severities(broker)


def test_a_level_that_has_delivered_nothing_yet_needs_no_offset() -> None:
    waiting = replace(delay_with().levels[1].queue or pytest.fail("no queue"), waiting_count=10, not_due_count=10)
    assert _severities(replace(HEALTHY, delay=delay_with(waiting, None))) == {}


def test_young_transactions_are_mentioned_but_no_warning() -> None:
    broker = replace(HEALTHY, transactions=replace(TRANSACTIONS, pending=(pending(0, 20_000),)))
    assert _severities(broker) == {"MQ720": Severity.INFO}
    assert diagnose(cluster(broker)).exit_code() == 0


def test_an_empty_store_needs_no_checkpoint() -> None:
    assert STORAGE.commit_log is not None
    storage = replace(STORAGE, commit_log=replace(STORAGE.commit_log, max_offset=0), checkpoint=None)
    assert _severities(replace(HEALTHY, storage=storage)) == {}


def test_offsets_on_a_deleted_topic_matter_more_while_messages_are_left() -> None:
    broker = replace(HEALTHY, consumer_offsets=(offset("G", "Gone", 0, 12), offset("G", "%RETRY%Old", 0, 3)))
    (hint,) = diagnose(cluster(broker), only=("MQ604",)).findings
    assert (hint.severity, hint.subject.topic) == (Severity.INFO, "Gone")
    (warning,) = diagnose(
        cluster(replace(broker, queues=(*HEALTHY.queues, queue("Gone", 0, 0, 40)))), only=("MQ604",)
    ).findings
    assert warning.severity is Severity.WARNING
