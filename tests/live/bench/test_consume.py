"""`bench consume` and `bench latency`: every message once, nobody's progress touched, times from when it was due."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from embedded_broker import Answer, Delay, Drop, EmbeddedCluster
from mqctl.bench.connection import BenchConnection
from mqctl.bench.limits import LimitEvidence, pull_limit
from mqctl.model.bench import BenchClient, Workload
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.frame import RemotingCommand, encode
from tests.conftest import Outcome
from tests.live.bench.conftest import Bench

SEND, PULL = RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE
COMMITS = (RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.HEART_BEAT)


def figures(outcome: Outcome) -> Any:
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.json


def test_it_reads_each_message_once_and_commits_nothing(bench: Bench, cluster: EmbeddedCluster, tmp_path: Path) -> None:
    sent = figures(bench("produce", "--count", "300", "--size", "10-90", "--execute", "-o", "json"))
    cluster.record_requests()
    page = tmp_path / "run.html"
    run = figures(bench("consume", "--batch", "8", "--processes", "2", "--html", page, "--execute", "-o", "json"))
    assert (run["kind"], run["ended_by"], run["message_count"], run["error_count"]) == ("consume", "end", 300, 0)
    assert run["latency"]["count"] == 300
    assert run["latency"]["min_ms"] > 0
    assert run["service"]["count"] == run["request_count"] >= 300 / 8
    assert sum(second["message_count"] for second in run["series"]) == 300
    assert [cluster.requests(code) for code in COMMITS] == [[], []]
    text = page.read_text()
    assert text.count("<svg") == 2
    assert "Messages a second" in text
    assert "http-equiv" in text and "<script" not in text
    for name, document in (("produce", sent), ("consume", run)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    compared = bench("compare", tmp_path / "produce.json", tmp_path / "consume.json", "-o", "json")
    assert compared.exit_code == 3
    assert "kind: produce and consume" in compared.json["differing"]


def test_pulls_that_fail_are_counted_by_code_and_made_again(bench: Bench, cluster: EmbeddedCluster) -> None:
    figures(bench("produce", "--count", "40", "--execute", "-o", "json"))
    cluster.fault(PULL, Answer(2, remark="broker busy"), times=3)
    run = figures(bench("consume", "--execute", "-o", "json"))
    assert [(item["name"], item["count"]) for item in run["errors"]] == [("SYSTEM_BUSY", 3)]
    assert (run["message_count"], run["ended_by"]) == (40, "end")


def test_a_broker_that_takes_long_to_answer_pulls_is_named_as_the_limit(bench: Bench, cluster: EmbeddedCluster) -> None:
    figures(bench("produce", "--count", "40", "--execute", "-o", "json"))
    cluster.fault(PULL, Delay(300))
    run = figures(bench("consume", "--batch", "1", "--execute", "-o", "json"))
    assert run["counted_s"] >= 1
    assert (run["limit"]["what"], run["message_count"]) == ("broker", 40), run["limit"]
    assert "one pull under way" in run["limit"]["evidence"]


def test_answers_that_come_in_pieces_name_the_network() -> None:
    answers: list[RemotingCommand] = []
    connection = BenchConnection("broker-a", lambda _, came: answers.extend(came), lambda *_: None, lambda: None)
    frame = encode(RemotingCommand(code=0, flag=1, opaque=7, body=b"x" * 1000))
    connection.data_received(frame)
    assert (len(answers), connection.arriving_s) == (1, 0.0)
    connection.data_received(frame[:500])
    connection.data_received(frame[500:])
    assert (len(answers), connection.arriving_s > 0) == (2, True)
    client = BenchClient(cpu_share=0.2, cpu_us_per_message=20.0, blocked_share=0.0, connect_ms=0.2, arriving_share=0.4)
    run = LimitEvidence(
        workload=Workload(),
        counted_s=9.0,
        messages_per_s=500.0,
        client=client,
        brokers=[],
        errors=[],
        service=None,
    )
    assert pull_limit(run, 32.0, follows=False).what == "network"
    assert "for 40% of the time" in pull_limit(run, 32.0, follows=True).evidence


def test_where_there_is_nothing_to_read_no_topic_is_made(bench: Bench, cluster: EmbeddedCluster) -> None:
    outcome = bench("consume", "--execute")
    assert (outcome.exit_code, "there is no topic MQCTL_BENCH_default" in outcome.stderr) == (66, True), outcome.stderr


def test_latency_counts_from_when_a_message_was_due(bench: Bench, cluster: EmbeddedCluster) -> None:
    """One send is slow: it is late at the consumer, too, and all messages come."""
    cluster.fault(SEND, Delay(1_000), times=1)
    run = figures(bench("latency", "--rate", "100", "--count", "100", "--execute", "-o", "json"))
    assert (run["kind"], run["message_count"], run["error_count"]) == ("latency", 100, 0)
    assert run["latency"]["count"] == run["send"]["count"] == 100
    assert run["latency"]["max_ms"] >= 1_000
    assert run["send"]["max_ms"] >= 1_000
    there, stored = (HdrHistogram.decode(run[name]["histogram"]) for name in ("latency", "send"))
    assert there.get_mean_value() > 0 < stored.get_mean_value()


def test_what_never_came_is_an_error(bench: Bench, cluster: EmbeddedCluster) -> None:
    cluster.fault(PULL, Drop())
    outcome = bench("latency", "--rate", "200", "--count", "10", "--execute", "-o", "json")
    assert {item["name"]: item["count"] for item in outcome.json["errors"]}["NOT_RECEIVED"] == 10
    assert outcome.json["message_count"] == 0


@pytest.mark.parametrize("verb", ["consume", "latency"])
def test_without_execute_nothing_is_sent_or_read(verb: str, bench: Bench, cluster: EmbeddedCluster) -> None:
    figures(bench("produce", "--count", "4", "--execute", "-o", "json"))
    cluster.record_requests()
    outcome = bench(verb, "-o", "json")
    assert (figures(outcome)["schema"], cluster.requests(SEND), cluster.requests(PULL)) == ("settings.plan/1", [], [])
    assert "nothing was sent" in outcome.stderr
