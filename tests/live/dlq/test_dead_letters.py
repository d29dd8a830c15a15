"""`mqctl dlq list|show` and `retry list`: what groups gave up or will get again, as brokers of each release keep it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.client.admin.broker_changes import put_topic
from mqctl.model.config import TopicConfig
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change
from tests.live.failing import fail

_PULL = 11

LETTERS = "%DLQ%G"
WRITE_ONLY = TopicConfig(name=LETTERS, read_queue_count=1, write_queue_count=1, perm=2)


@pytest.fixture
def dead(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """G gave up three messages on broker-a and one on broker-b."""
    for number in range(3):
        fail(cluster, "broker-a", number, level=-1)
    fail(cluster, "broker-b", 0, most=0)
    return cluster


def test_letters_are_counted_by_group_and_broker(live: Run, dead: EmbeddedCluster) -> None:
    rows = live("dlq", "list", "-o", "json").json["groups"]
    assert [(row["group"], row["broker_name"], row["letter_count"]) for row in rows] == [
        ("G", "broker-a", 3),
        ("G", "broker-b", 1),
    ]
    assert all(row["oldest_store_time_ms"] <= row["newest_store_time_ms"] for row in rows)
    several = live("dlq", "list", "-g", "other", "-g", "G", "-o", "json").json
    assert ([row["broker_name"] for row in several["groups"]], several["letters"]) == (["broker-a", "broker-b"], None)
    assert live("dlq", "list", "-g", "other", "-g", "G", "--key", "k0").exit_code == 64


def test_a_letter_tells_its_reason_and_origin(live: Run, dead: EmbeddedCluster) -> None:
    outcome = live("dlq", "list", "-g", "G", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    letters = outcome.json["letters"]
    assert [(item["broker_name"], item["keys"]) for item in letters] == [
        *(("broker-a", f"k{number}") for number in range(3)),
        ("broker-b", "k0"),
    ]
    assert {(item["origin_topic"], item["failed_count"], item["retry_limit"]) for item in letters} == {("Pay", 1, 16)}
    assert {item["given_up"] for item in letters} == {"early"}
    peeked = live("message", "peek", "-t", "Pay", "--from-start", "--count", "9", "-o", "json").json["messages"]
    assert {item["origin_message_id"] for item in letters} <= {item["message_id"] for item in peeked}


def test_used_up_retries_are_told_from_letters_given_up_early(live: Run, cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker("broker-a").address) as peer:
        peer.version = 401
        failed = send("%RETRY%G", properties={"RETRY_TOPIC": "Pay"}, reconsume_times=17, max_reconsume_times=16)
        assert peer.call(failed, b"x").code == 0
    (letter,) = live("dlq", "list", "-g", "G", "-o", "json").json["letters"]
    assert (letter["given_up"], letter["failed_count"], letter["origin_topic"]) == ("exhausted", 17, "Pay")
    # 17 deliveries, and the documented waits of 16 retries between them.
    assert len(letter["failed_by_ms"]) == 17 and letter["failed_by_ms"][-1] == letter["store_time_ms"]
    assert letter["store_time_ms"] - letter["first_failed_by_ms"] == 17_140_000
    shown = live("dlq", "list", "-g", "G").stdout
    assert "exhausted: 1" in shown
    assert "(failures: 17)" in shown and "is a dead letter after 4 h 45 min" in shown and "--to %RETRY%G" in shown


def test_letters_are_chosen_by_key_id_time_and_broker(live: Run, dead: EmbeddedCluster) -> None:
    letters = live("dlq", "list", "-g", "G", "-o", "json").json["letters"]

    def keys(*words: object) -> list[tuple[str, str]]:
        chosen = live("dlq", "list", "-g", "G", *words, "-o", "json").json["letters"]
        return [(item["broker_name"], item["keys"]) for item in chosen]

    assert keys("--key", "k0") == [("broker-a", "k0"), ("broker-b", "k0")]
    assert keys("--id", letters[1]["message_id"]) == [("broker-a", "k1")]
    assert keys("--id", letters[2]["origin_message_id"]) == [("broker-a", "k2")]
    assert keys("--broker", "broker-b") == [("broker-b", "k0")]
    assert keys("--broker", dead.broker("broker-b").address) == [("broker-b", "k0")]
    moment = letters[-1]["store_time_ms"] + 1
    assert keys("--since", moment) == []
    assert len(keys("--until", moment)) == 4
    limited = live("dlq", "list", "-g", "G", "--limit", "2", "-o", "json").json
    assert (len(limited["letters"]), limited["more"]) == (3, True)
    assert live("dlq", "list", "-g", "G", "--since", moment, "--until", moment).exit_code == 64
    assert live("dlq", "list", "-g", "G", "--broker", "nowhere").exit_code == 66
    assert live("dlq", "list", "-g", "misspelt").exit_code == 66


def test_letters_that_no_consumer_may_read_are_shown_and_said_to_be_so(live: Run, dead: EmbeddedCluster) -> None:
    change(dead, "broker-a", put_topic(WRITE_ONLY))
    table = live("dlq", "list").stdout
    assert "%DLQ%G on broker-a is -W-" in table
    assert "mqctl topic update -t %DLQ%G --perm RW- --broker broker-a" in table
    rows = {row["broker_name"]: row["readable"] for row in live("dlq", "list", "-o", "json").json["groups"]}
    assert rows == {"broker-a": False, "broker-b": True}
    outcome = live("dlq", "list", "-g", "G", "-o", "json")
    assert (outcome.exit_code, len(outcome.json["letters"])) == (0, 4), outcome.stderr


def test_retries_wait_and_become_ready(live: Run, cluster: EmbeddedCluster) -> None:
    fail(cluster, "broker-a", 0, level=14)
    fail(cluster, "broker-a", 1, level=16)
    with Peer(cluster.broker("broker-b").address) as peer:
        peer.version = 401
        assert peer.call(send("%RETRY%G", properties={"RETRY_TOPIC": "Pay"}, reconsume_times=2), b"again").code == 0
    outcome = live("retry", "list", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    retry_rows = outcome.json["retries"]
    rows = [(row["broker_name"], row["state"], row["failed_count"], row["origin_topic"]) for row in retry_rows]
    assert sorted(rows) == [
        ("broker-a", "waiting", 1, "Pay"),
        ("broker-a", "waiting", 1, "Pay"),
        ("broker-b", "ready", 2, "Pay"),
    ]
    spans = {row["due_ms"] - row["store_time_ms"] for row in retry_rows if row["state"] == "waiting"}
    assert spans == {600_000, 1_800_000}
    assert live("group", "create", "-g", "other", "--execute").exit_code == 0
    assert live("retry", "list", "-g", "other", "-o", "json").json["retries"] == []
    assert "G: 2 waiting, 1 ready; failed up to 2 times" in live("retry", "list").stdout


def test_a_retry_tells_its_tries_and_when_it_becomes_a_dead_letter(live: Run, cluster: EmbeddedCluster) -> None:
    fail(cluster, "broker-a", 0, level=14)
    with Peer(cluster.broker("broker-b").address) as peer:
        peer.version = 401
        for times in (14, 15):
            again = send("%RETRY%G", properties={"RETRY_TOPIC": "Pay"}, reconsume_times=times)
            assert peer.call(again, b"again").code == 0
    by_tries = {row["failed_count"]: row for row in live("retry", "list", "-o", "json").json["retries"]}
    assert {count: row["tries_left"] for count, row in by_tries.items()} == {1: 16, 14: 3, 15: 2}
    waits = [after - before for before, after in pairwise(by_tries[14]["next_tries_ms"])]
    assert waits == [3_600_000, 7_200_000]
    assert by_tries[14]["dead_letter_ms"] == by_tries[14]["next_tries_ms"][-1]
    assert by_tries[14]["dead_letter_in_ms"] == 10_800_000
    assert by_tries[15]["dead_letter_in_ms"] == 7_200_000
    # What waits is tried first when its level lets it go: 10 minutes of level 14, then the ladder from its second step.
    assert by_tries[1]["next_tries_ms"][0] == by_tries[1]["due_ms"]
    assert by_tries[1]["dead_letter_ms"] - by_tries[1]["due_ms"] == 17_130_000
    shown = live("retry", "list").stdout
    assert "if every try fails, the first becomes a dead letter at" in shown and "have the fix out by then" in shown
    (window,) = live("group", "lag", "-g", "G", "-o", "json").json["windows"]
    assert (window["group"], window["failing_count"], window["closes_in_ms"]) == ("G", 3, 7_200_000)
    lag = live("group", "lag", "-g", "G").stdout
    assert "G: messages that failed and wait to be tried again: 3. If every try fails" in lag
    # Who names no group is shown those whose window closes.
    assert "G: messages that failed and wait to be tried again: 3. If every try fails" in live("group", "lag").stdout
    (plain,) = live("group", "lag", "-o", "json").json["windows"]
    assert {**plain, "closes_ms": 0} == {**window, "closes_ms": 0}
    assert live("group", "lag", "--online").stdout.count("try fails") == 0


def test_where_nothing_fails_a_glance_at_the_delay_levels_is_all_that_lag_asks_for_it(
    live: Run, cluster: EmbeddedCluster
) -> None:
    cluster.record_requests()
    outcome = live("group", "lag", "-o", "json")
    pulls = Counter(request.server for request in cluster.requests(_PULL))
    cluster.record_requests(on=False)
    assert (outcome.exit_code, outcome.json["windows"]) == (0, [])
    assert set(pulls.values()) <= {18}


def test_without_the_groups_settings_no_end_is_promised(live: Run, cluster: EmbeddedCluster) -> None:
    fail(cluster, "broker-a", 0, level=14)
    cluster.fault(201, Answer(1, "no"))
    try:
        outcome = live("retry", "list", "-o", "json")
    finally:
        cluster.clear_faults()
    (row,) = outcome.json["retries"]
    assert (row["tries_left"], row["next_tries_ms"], row["dead_letter_ms"]) == (None, [], None)
    assert outcome.exit_code != 0 and "dead letter at" not in outcome.stdout
