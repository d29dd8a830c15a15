"""`bench produce`: the plan, the figures and their truth, schedules, quotas, interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from embedded_broker import Answer, Delay, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.client.admin.broker_queries import topic_configs, topic_stats
from mqctl.client.admin.cluster import Cluster
from mqctl.local.state import LocalBroker, LocalCluster, LocalStates, Ready, process_started_ms
from mqctl.model.config import TopicConfig
from mqctl.model.own_messages import BENCH
from mqctl.protocol.codes import RequestCode
from tests.client.consuming import wait_until
from tests.conftest import REPOSITORY, Outcome
from tests.live.bench.conftest import Bench
from tests.live.conftest import change

OWN = "MQCTL_BENCH_default"
SEND, SEND_BATCH, END = RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.END_TRANSACTION


def topics(cluster: EmbeddedCluster) -> set[str]:
    with Cluster(cluster.namesrv) as admin:
        return {name for item in admin.masters() for name in admin.ask(item.address, topic_configs())}


def figures(outcome: Outcome) -> Any:
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.json


def properties(cluster: EmbeddedCluster, code: int = SEND) -> list[dict[str, str]]:
    """What the messages that the broker was sent carried."""
    texts = [request.ext_fields["i"] for request in cluster.requests(code)]
    return [dict(pair.split("\x01") for pair in text.split("\x02") if pair) for text in texts]


def test_without_execute_it_shows_what_it_would_do_and_sends_nothing(bench: Bench, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    outcome = bench("produce", "--count", "50", "--max-bytes", "1m", "-o", "json")
    document = figures(outcome)
    assert document["schema"] == "settings.plan/1"
    assert [(step["subject"], step["kind"], step["moves"]) for step in document["steps"]] == [(OWN, "topic", True)]
    assert any("at most 50 messages, 1 MiB of bodies" in line for line in document["warnings"]), document["warnings"]
    assert "nothing was sent" in outcome.stderr
    assert (cluster.requests(SEND), OWN in topics(cluster)) == ([], False)


@pytest.mark.quick
def test_every_message_counts_once_and_the_broker_says_the_same(bench: Bench, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    run = figures(bench("produce", "--count", "300", "--size", "10-90", "--keys", "7", "--execute", "-o", "json"))
    counts = (run["message_count"], run["request_count"], run["latency"]["count"], run["brokers"][0]["stored_count"])
    assert (counts, run["error_count"], run["ended_by"]) == ((300, 300, 300, 300), 0, "count")
    assert sum(item["message_count"] for item in run["series"]) == 300
    sent = cluster.requests(SEND)
    assert run["size_bytes"] == sum(len(request.body) for request in sent)
    assert {len(request.body) for request in sent} <= set(range(10, 91))
    marks = properties(cluster)
    assert len({item["UNIQ_KEY"] for item in marks}) == 300
    assert {item["KEYS"] for item in marks} == {f"k{number}" for number in range(7)}
    assert all(item[BENCH].isdigit() for item in marks)
    times = run["latency"]
    assert 0 < times["min_ms"] <= times["p50_ms"] <= times["p99_ms"] <= times["p9999_ms"] <= times["max_ms"]
    # What other tools of HdrHistogram read is the whole distribution.
    whole = HdrHistogram.decode(times["histogram"])
    assert (whole.get_total_count(), whole.get_value_at_percentile(50) / 1000) == (300, times["p50_ms"])


def test_a_stall_counts_for_all_that_had_to_wait(bench: Bench, cluster: EmbeddedCluster) -> None:
    """One send in 300 is slow. By the schedule the 200 that were due meanwhile were slow as well."""
    cluster.fault(SEND, Delay(1_000), times=1)
    words = ("--count", "300", "--rate", "200", "--in-flight", "1", "--connections", "1")
    run = figures(bench("produce", *words, "--execute", "-o", "json"))
    assert run["latency"]["count"] == run["service"]["count"] == 300
    slow = HdrHistogram.decode(run["latency"]["histogram"])
    assert slow.get_value_at_percentile(50) >= 100_000, "every other message waited for the one that stalled"
    assert run["latency"]["p90_ms"] > run["service"]["p90_ms"]
    assert run["service"]["max_ms"] >= 1_000


def test_what_was_due_and_never_sent_is_an_error_and_slow(bench: Bench, cluster: EmbeddedCluster) -> None:
    cluster.fault(SEND, Delay(1_300), times=1)
    words = ("--duration", "1s", "--rate", "100", "--in-flight", "1", "--connections", "1")
    run = figures(bench("produce", *words, "--execute", "-o", "json"))
    missed = {item["name"]: item["count"] for item in run["errors"]}["NOT_SENT"]
    assert missed >= 90
    assert run["latency"]["count"] == run["message_count"] + run["error_count"]
    assert run["limit"]["what"] != "schedule"


def test_refusals_are_counted_by_code_and_named_as_the_limit(bench: Bench, cluster: EmbeddedCluster) -> None:
    cluster.fault(SEND, Answer(2, remark="[TIMEOUT_CLEAN_QUEUE]broker busy"), times=5)
    run = figures(bench("produce", "--count", "40", "--execute", "-o", "json"))
    assert [(item["code"], item["name"], item["count"]) for item in run["errors"]] == [(2, "SYSTEM_BUSY", 5)]
    assert "TIMEOUT_CLEAN_QUEUE" in run["errors"][0]["example"]
    assert (run["message_count"], run["brokers"][0]["stored_count"], run["limit"]["what"]) == (35, 35, "broker")


def test_where_nothing_was_stored_the_exit_code_tells(bench: Bench, cluster: EmbeddedCluster) -> None:
    cluster.fault(SEND, Answer(16, remark="the topic is read only"))
    outcome = bench("produce", "--count", "4", "--execute")
    assert (outcome.exit_code, "the topic is read only" in outcome.stdout) == (76, True), outcome.stderr


def test_the_quota_of_bytes_is_held(bench: Bench, cluster: EmbeddedCluster) -> None:
    run = figures(bench("produce", "--size", "1k", "--max-bytes", "100k", "--execute", "-o", "json"))
    assert (run["ended_by"], run["message_count"], run["size_bytes"]) == ("quota", 100, 102_400)


def test_kinds_reach_the_broker_as_such(bench: Bench, cluster: EmbeddedCluster) -> None:
    few = ("--count", "32", "--execute", "-o", "json")
    cluster.record_requests()
    run = figures(bench("produce", "--batch", "16", "--processes", "2", *few))
    assert (run["request_count"], run["message_count"], run["brokers"][0]["stored_count"]) == (2, 32, 32)
    assert len(cluster.requests(SEND_BATCH)) == 2
    run = figures(bench("produce", "--type", "transaction", "--rollback", "0.5", *few))
    ends = [request.ext_fields["commitOrRollback"] for request in cluster.requests(END)]
    assert (len(ends), set(ends)) == (32, {"8", "12"})
    wait_until(lambda: stored(cluster) == 32 + ends.count("8"), "the transactions have ended")
    run = figures(bench("produce", "--mode", "oneway", *few))
    assert (run["message_count"], run["latency"], run["limit"]["what"]) == (32, None, "unknown")
    wait_until(lambda: stored(cluster) == 64 + ends.count("8"), "the oneway sends have arrived")


def stored(cluster: EmbeddedCluster, topic: str = OWN) -> int:
    """How many messages a topic holds."""
    with Cluster(cluster.namesrv) as admin:
        (broker,) = admin.masters()
        table = admin.ask(broker.address, topic_stats(topic)).offset_table
        return sum(item.max_offset - item.min_offset for item in table.values())


def test_order_is_kept_by_key(bench: Bench, cluster: EmbeddedCluster) -> None:
    cluster.record_requests()
    words = ("--type", "fifo", "--keys", "20", "--count", "120", "--compression", "zlib", "--execute", "-o", "json")
    assert figures(bench("produce", *words))["message_count"] == 120
    queues: dict[str, set[str]] = {}
    for request, marks in zip(cluster.requests(SEND), properties(cluster), strict=True):
        queues.setdefault(marks["__SHARDINGKEY"], set()).add(request.ext_fields["e"])
        assert int(request.ext_fields["f"]) & 1, "the body says that it is compressed"
    assert {len(items) for items in queues.values()} == {1}


def test_a_topic_of_others_needs_a_word(bench: Bench, cluster: EmbeddedCluster) -> None:
    with Cluster(cluster.namesrv) as admin:
        (broker,) = admin.masters()
        admin.ask(broker.address, put_topic(TopicConfig(name="paid", read_queue_count=4, write_queue_count=4, perm=6)))
    cluster.record_requests()
    for verb in ("produce", "consume", "latency"):
        refused = bench(verb, "-t", "paid", "--count", "1", "--execute")
        assert (refused.exit_code, "--foreign-topic" in refused.stderr) == (64, True), (verb, refused.stderr)
    changes = {SEND, SEND_BATCH, RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP}
    assert {each.code for each in cluster.requests()}.isdisjoint({*map(int, changes), int(RequestCode.PULL_MESSAGE)})
    assert figures(bench("produce", "-t", "paid", "--foreign-topic", "--count", "3", "--execute", "-o", "json"))
    assert stored(cluster, "paid") == 3
    missing = bench("produce", "-t", "orders", "--foreign-topic", "--count", "1", "--execute")
    assert (missing.exit_code, "orders" in topics(cluster)) == (66, False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--batch", "2", "--type", "delay"), "--batch"),
        (("--type", "fifo"), "--keys"),
        (("--mode", "oneway", "--type", "transaction"), "half message"),
        (("--size", "5m"), "bodies"),
        (("--in-flight", "1", "--processes", "2"), "--processes"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(bench: Bench, words: tuple[str, ...], said: str) -> None:
    outcome = bench("produce", *words, "--execute")
    assert (outcome.exit_code, said in outcome.stderr) == (64, True), outcome.stderr


def test_a_local_cluster_is_not_asked_for(bench: Bench, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    ready = Ready(
        pid=os.getpid(),
        version="5.3.3",
        cluster="DefaultCluster",
        namesrv=cluster.namesrv,
        brokers=(LocalBroker(name="broker-a", address=cluster.broker("broker-a").address, store=""),),
    )
    started_ms = process_started_ms(os.getpid())
    assert started_ms is not None
    known = LocalCluster(name="default", started_ms=started_ms, log="", data_dir=None, ready=ready)
    LocalStates(tmp_path / "mqctl_state_dir" / "local").save(known)
    outcome = bench("produce", "--count", "5", "-o", "json")
    assert figures(outcome)["message_count"] == 5
    assert "at most 5 messages" in outcome.stderr


def test_clean_removes_what_benches_and_drills_made_and_nothing_else(bench: Bench, cluster: EmbeddedCluster) -> None:
    change(cluster, "broker-a", put_topic(TopicConfig(name="MQCTL_DRILL_y", read_queue_count=1, write_queue_count=1)))
    figures(bench("produce", "--count", "3", "--name", "x", "--execute", "-o", "json"))
    before = topics(cluster)
    plan = figures(bench("clean", "-o", "json"))
    assert (plan["schema"], plan["subject"]) == ("settings.plan/1", "MQCTL_BENCH_* MQCTL_DRILL_*")
    assert topics(cluster) == before
    assert bench("clean", "--execute").exit_code == 0
    assert before - topics(cluster) == {"MQCTL_BENCH_x", "MQCTL_DRILL_y"}


def test_ctrl_c_ends_with_the_figures_so_far(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    cluster.record_requests()
    words = ("bench", "produce", "--duration", "1h", "--rate", "50", "--execute", "-o", "json")
    settings = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    command = ["env", "--default-signal=INT", sys.executable, "-m", "mqctl", *words, "--namesrv", cluster.namesrv]
    process = subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(cluster.requests(SEND)) >= 5, "it sends")
    process.send_signal(signal.SIGINT)
    answer, errors = process.communicate(timeout=90)
    assert process.returncode == 130, errors
    run = json.loads(answer)
    assert run["ended_by"] == "interrupt"
    assert run["message_count"] == run["latency"]["count"] >= 5
