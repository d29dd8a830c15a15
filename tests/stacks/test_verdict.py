"""When the stacks of a consumer mean something: only where it is behind or stands, and as sure as the evidence is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mqctl.model.dump import StackDump
from mqctl.model.finding import Confidence, Severity
from mqctl.model.lag import LagState, QueueLag
from mqctl.model.member import HeldQueue, RunningInfo
from mqctl.model.queue import MessageQueue
from mqctl.stacks.group import report_threads
from mqctl.stacks.parse import read_dumps
from mqctl.stacks.verdict import ConsumerFacts, StackLimits, StackVerdict, verdict
from tests.rules.stack_faults import IDLE_POOL, ONE_AT_WORK, busy, threads

NOW = 1_795_218_000_000
HTTP = busy("RUNNABLE", "java.net.SocketInputStream.socketRead0(Native Method)", "okhttp3.Call.run(C.kt:1)")
IDLE = "java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1062)"


def dumps(text: str, count: int = 2) -> list[StackDump]:
    (dump,) = read_dumps(text, source="x")
    return [replace(dump, taken_at_ms=NOW + number * 1_000) for number in range(count)]


def lag(count: int, lag_ms: int | None = 90_000, consumer_offset: int = 100, queue_id: int = 0) -> QueueLag:
    return QueueLag(
        group="G", topic="T", broker_name="b", queue_id=queue_id, min_offset=0, broker_offset=consumer_offset + count,
        consumer_offset=consumer_offset, lag_count=count, lost_count=0, lag_ms=lag_ms, next_store_time_ms=None,
        state=LagState.BEHIND,
    )  # fmt: skip


def info(orderly: bool = False, pool: int = 20, **queue: Any) -> RunningInfo:
    held = HeldQueue(
        queue=MessageQueue("T", "b", 0),
        **{"commit_offset": 100, "last_pull_time_ms": NOW, "last_consume_time_ms": NOW, **queue},
    )
    properties = {"PROP_CONSUMEORDERLY": str(orderly).lower(), "PROP_THREADPOOL_CORE_SIZE": str(pool)}
    return RunningInfo(group="G", client_id="c", queues=(held,), properties=properties)


def judge(text: str, held: ConsumerFacts, count: int = 2, limits: StackLimits | None = None) -> list[StackVerdict]:
    return verdict(report_threads(dumps(text, count)), held, limits)


@pytest.mark.parametrize(
    ("held", "count", "severity", "confidence"),
    [
        (ConsumerFacts(now_ms=NOW, info=info(), lags=[lag(100)]), 2, None, Confidence.HIGH),
        (ConsumerFacts(now_ms=NOW, info=info(), lags=[lag(100)]), 1, None, Confidence.MEDIUM),
        (ConsumerFacts(now_ms=NOW, lags=[lag(100)]), 2, None, Confidence.HIGH),
        (ConsumerFacts(now_ms=NOW, info=info(cached_count=40)), 2, None, Confidence.HIGH),
        (ConsumerFacts(now_ms=NOW), 2, Severity.WARNING, Confidence.MEDIUM),
        (ConsumerFacts(now_ms=NOW), 1, Severity.WARNING, Confidence.LOW),
    ],
)
def test_a_verdict_is_as_sure_as_its_evidence(
    held: ConsumerFacts, count: int, severity: Severity | None, confidence: Confidence
) -> None:
    (verdict_given,) = judge(HTTP, held, count)
    assert (verdict_given.code, verdict_given.variant, verdict_given.group) == ("MQ322", "http", "G")
    assert (verdict_given.severity, verdict_given.confidence) == (severity, confidence)
    assert (verdict_given.evidence["thread_count"], verdict_given.evidence["pool_count"]) == (18, 20)
    assert verdict_given.params["line"] == "shop.orders.Tools.handle(Tools.java:28)"


@pytest.mark.parametrize(
    "held",
    [
        ConsumerFacts(now_ms=NOW, info=info(), lags=[lag(0, 0)]),
        ConsumerFacts(now_ms=NOW, info=info()),
        ConsumerFacts(now_ms=NOW, info=info(), lags=[lag(100, queue_id=7)]),
    ],
)
def test_threads_at_work_are_no_fault_of_a_consumer_that_keeps_up(held: ConsumerFacts) -> None:
    assert judge(HTTP, held) == []


def test_a_young_lag_is_none_for_a_diagnosis_of_the_whole_cluster() -> None:
    held = ConsumerFacts(now_ms=NOW, info=info(), lags=[lag(100, 5_000)])
    assert [item.code for item in judge(HTTP, held)] == ["MQ322"]
    assert judge(HTTP, held, limits=StackLimits(behind_ms=60_000)) == []


def test_a_cut_dump_makes_less_sure_and_proves_no_missing_threads() -> None:
    (dump,) = read_dumps(threads(2, "RUNNABLE", "shop.A.b(A.java:1)"), source="x")
    held = ConsumerFacts(now_ms=NOW, info=info(cached_count=500))
    whole = [item.code for item in verdict(report_threads([dump, dump]), held)]
    (cut,) = verdict(report_threads([replace(dump, truncated=True)] * 2), held)
    assert whole == ["MQ328", "MQ324"]
    assert (cut.code, cut.confidence) == ("MQ324", Confidence.MEDIUM)


def test_consumers_without_any_thread_are_missing_all_of_them() -> None:
    text = threads(1, "WAITING", IDLE).replace("ConsumeMessageThread_G_1", "main                    ")
    (verdict_given,) = judge(text, ConsumerFacts(now_ms=NOW, info=info(cached_count=10)))
    assert (verdict_given.code, verdict_given.evidence["pool_count"], verdict_given.evidence["configured_count"]) == (
        "MQ328",
        0,
        20,
    )


def test_an_orderly_pool_is_busy_when_each_waiting_queue_has_its_thread() -> None:
    held = ConsumerFacts(
        now_ms=NOW, info=info(orderly=True, cached_count=5, locked=True, last_lock_time_ms=NOW), lags=[lag(9)]
    )
    (verdict_given,) = judge(ONE_AT_WORK, held)
    assert (verdict_given.code, verdict_given.variant, verdict_given.evidence["idle_count"]) == ("MQ322", "http", 19)


def test_one_message_that_holds_the_offset_is_found_by_two_looks() -> None:
    standing = info(cached_count=50, cached_min_offset=100, cached_max_offset=149, last_consume_time_ms=NOW - 9_000)
    held = ConsumerFacts(now_ms=NOW, info=standing, earlier=standing, lags=[lag(60)])
    (verdict_given,) = judge(ONE_AT_WORK, held)
    assert (verdict_given.code, verdict_given.variant) == ("MQ327", "held")
    assert (verdict_given.params["queue"], verdict_given.params["line"]) == (
        "T b/0",
        "shop.orders.Tools.handle(Tools.java:28)",
    )
    assert (
        verdict_given.evidence["queue_offset"],
        verdict_given.evidence["idle_ms"],
        verdict_given.evidence["idle_count"],
    ) == (100, 9_000, 19)
    (busy_pool,) = judge(HTTP, held)
    assert (busy_pool.code, busy_pool.evidence["held_queue"], busy_pool.evidence["queue_offset"]) == (
        "MQ322",
        "T b/0",
        100,
    )
    moved = replace(standing, queues=(replace(standing.queues[0], commit_offset=99, cached_min_offset=99),))
    assert judge(ONE_AT_WORK, ConsumerFacts(now_ms=NOW, info=standing, earlier=moved, lags=[lag(60)])) == []


@pytest.mark.parametrize(
    ("queue", "orderly", "variant"),
    [
        ({"commit_offset": 160, "last_consume_time_ms": NOW - 20_000}, False, "commit"),
        ({"last_pull_time_ms": NOW - 130_000}, False, "stopped"),
        ({"locked": False}, True, "unlocked"),
        ({"locked": True, "last_lock_time_ms": NOW - 31_000}, True, "unlocked"),
        ({"locked": True, "last_lock_time_ms": NOW}, True, "starved"),
        ({}, False, "starved"),
    ],
)
def test_an_idle_pool_with_a_backlog_is_told_apart(queue: dict[str, Any], orderly: bool, variant: str) -> None:
    (verdict_given,) = judge(IDLE_POOL, ConsumerFacts(now_ms=NOW, info=info(orderly, **queue), lags=[lag(60)]))
    assert (verdict_given.code, verdict_given.variant) == ("MQ327", variant)


def test_an_idle_pool_without_a_backlog_is_healthy() -> None:
    assert judge(IDLE_POOL, ConsumerFacts(now_ms=NOW, info=info(), lags=[lag(0, 0)])) == []
    assert judge(IDLE_POOL, ConsumerFacts(now_ms=NOW)) == []


def test_a_deadlock_is_told_whatever_the_lag_and_once() -> None:
    pair = threads(2, "BLOCKED", "shop.orders.Tools.cross(Tools.java:83)")
    (verdict_given,) = judge(pair, ConsumerFacts(now_ms=NOW, info=info(), lags=[lag(0, 0)]))
    assert (verdict_given.code, verdict_given.variant, verdict_given.confidence) == (
        "MQ320",
        "suspected",
        Confidence.LOW,
    )
    assert [item.code for item in judge(pair, ConsumerFacts(now_ms=NOW, info=info(pool=2), lags=[lag(50)]))] == [
        "MQ320"
    ]


def test_the_garbage_collector_is_named_where_it_takes_the_processor() -> None:
    def dump(cpu_ms: int, at: int) -> StackDump:
        text = f'"ConsumeMessageThread_G_1" #1 prio=5 cpu={cpu_ms}.0ms tid=0x1 nid=0x1 runnable\n'
        text += "   java.lang.Thread.State: RUNNABLE\n\tat shop.A.b(A.java:1)\n\n"
        text += f'"GC Thread#0" os_prio=0 cpu={cpu_ms}.0ms tid=0x2 nid=0x2 runnable\n\n'
        (read,) = read_dumps(text, source="x", taken_at_ms=NOW + at)
        return read

    report = report_threads([dump(100, 0), dump(900, 1_000)])
    assert report.gc_share == 0.8
    (verdict_given,) = verdict(report, ConsumerFacts(now_ms=NOW, info=info(pool=1), lags=[lag(50)]))
    assert (verdict_given.code, verdict_given.variant) == ("MQ324", "gc")


def test_groups_of_old_clients_are_known_from_their_running_information() -> None:
    old = HTTP.replace("ConsumeMessageThread_G_", "ConsumeMessageThread_  ")
    named = "\n".join(line.replace("Thread_  ", "Thread_") for line in old.splitlines()) + "\n"
    (verdict_given,) = judge(named, ConsumerFacts(now_ms=NOW, info=info(), lags=[lag(50)]))
    assert (verdict_given.group, verdict_given.evidence["pool_count"]) == ("G", 20)
