"""`message probe`: sends that are timed, and counted on the broker."""

from __future__ import annotations

from embedded_broker import Answer, EmbeddedCluster
from tests.live.conftest import Run


def test_each_queue_of_a_topic_gets_its_messages(live: Run) -> None:
    before = live("topic", "describe", "-t", "Pay", "-o", "json").json["message_count"]
    outcome = live("message", "probe", "-t", "Pay", "--count", "3", "--size", "64", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    rows = outcome.json["queues"]
    assert [(row["broker_name"], row["queue_id"], row["sent_count"]) for row in rows] == [
        (broker, queue, 3) for broker in ("broker-a", "broker-b") for queue in (0, 1)
    ]
    assert all(0 < row["median_ms"] <= row["max_ms"] for row in rows)
    assert live("topic", "describe", "-t", "Pay", "-o", "json").json["message_count"] == before + 12


def test_without_a_topic_each_broker_gets_them_in_its_own(live: Run) -> None:
    rows = live("message", "probe", "--broker", "broker-b", "--count", "1", "-o", "json").json["queues"]
    assert [(row["topic"], row["sent_count"], row["median_ms"]) for row in rows] == [("broker-b", 1, None)]
    assert live("topic", "describe", "-t", "broker-b", "-o", "json").json["message_count"] >= 1


def test_a_broker_that_refuses_is_named_and_not_asked_again(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(310, Answer(code=14, remark="the disk is full"), server="broker-b")
    outcome = live("message", "probe", "-t", "Pay", "--count", "2", "-o", "json")
    cluster.clear_faults()
    assert outcome.exit_code == 76
    counts = {row["broker_name"]: (row["sent_count"], row["failed_count"]) for row in outcome.json["queues"]}
    assert counts == {"broker-a": (2, 0), "broker-b": (0, 2)}
    assert "the disk is full" in next(row["problem"] for row in outcome.json["queues"] if row["problem"])


def test_what_is_not_there_is_not_created(live: Run) -> None:
    outcome = live("message", "probe", "-t", "nope")
    assert (outcome.exit_code, "nope" in outcome.stderr) == (66, True)
    assert live("topic", "describe", "-t", "nope").exit_code == 66
    assert live("message", "probe", "--broker", "broker-z").exit_code == 66
