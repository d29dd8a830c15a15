"""`mqctl group lag` against a live cluster: numbers, partial answers, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded_broker import Answer, Delay, Drop, EmbeddedCluster
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.client.consumer.lite_pull import LitePullConsumer, LitePullSettings
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.protocol.codes import RequestCode
from tests.client.consuming import quick_client, wait_until
from tests.embedded_broker.messages import heartbeat
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change


def commit(cluster: EmbeddedCluster, group: str) -> None:
    """Creates a group, which 5.x wants before it takes its offsets, and commits the end of one queue for it."""
    change(cluster, "broker-a", put_group(SubscriptionGroupConfig(name=group)))
    change(cluster, "broker-a", commit_offset(group, "Pay", 0, 5))


def test_lag_by_count_and_time(live: Run) -> None:
    outcome = live("group", "lag", "-g", "G", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    (group,) = outcome.json["groups"]
    assert (group["group"], group["topic"], group["queue_count"], group["lag_count"]) == ("G", "Pay", 4, 4)
    assert 0 < group["lag_ms"] < 60_000
    rows = {(row["broker_name"], row["queue_id"]): row for row in outcome.json["queues"]}
    behind = rows["broker-a", 0]
    assert (behind["broker_offset"], behind["consumer_offset"], behind["state"]) == (5, 3, "behind")
    assert (rows["broker-b", 1]["lag_count"], rows["broker-b", 1]["state"]) == (0, "caught-up")


def test_what_is_in_flight_the_rate_and_the_owner_of_each_queue(live: Run, cluster: EmbeddedCluster) -> None:
    def held() -> object:
        return live("group", "lag", "-g", "G", "-o", "json").json["groups"][0]["in_flight_count"]

    settings = LitePullSettings(auto_commit=False, rebalance_period_ms=300)
    with LitePullConsumer("G", quick_client(cluster, instance_name="one"), settings) as consumer:
        consumer.subscribe("Pay")
        wait_until(lambda: len(consumer.assignment()) == 4, "all queues, the empty ones too")
        wait_until(lambda: held() == 4, "four messages fetched and not committed")
        outcome = live("group", "lag", "-g", "G", "-t", "Pay", "-o", "json")
        (group,) = outcome.json["groups"]
        assert (outcome.exit_code, group["lag_count"]) == (0, 4)
        assert group["consume_tps"] >= 0
        rows = {(row["broker_name"], row["queue_id"]): row for row in outcome.json["queues"]}
        assert {tuple(row["owners"]) for row in rows.values()} == {("127.0.0.1@one",)}
        assert [rows["broker-a", queue]["in_flight_count"] for queue in (0, 1)] == [2, 0]
        table = live("group", "lag", "--by", "queue").stdout
        assert ("OWNER" in table, "127.0.0.1@one" in table, "HANDED OUT/S" in table) == (True, True, False)
        assert "OWNER" not in live("group", "lag").stdout


def test_queues_that_nobody_holds_say_so_and_a_consumer_that_does_not_tell_leaves_them_unknown(
    live: Run, cluster: EmbeddedCluster
) -> None:
    rows = live("group", "lag", "-g", "G", "-o", "json").json["queues"]
    assert {(tuple(row["owners"]), row["in_flight_count"]) for row in rows} == {((), 0)}
    with Peer(cluster.broker("broker-a").address) as one:
        one.version = 61
        heartbeat(one, "client-1", group="G", subscriptions={"Pay": "A"})
        outcome = live("group", "lag", "-g", "G", "-o", "json")
        assert (outcome.exit_code, "running-info (broker-a client-1 of G) not read" in outcome.stderr) == (0, True)
        assert {row["owners"] for row in outcome.json["queues"]} == {None}


def test_a_queue_without_an_offset_is_never_committed_not_zero(live: Run, cluster: EmbeddedCluster) -> None:
    commit(cluster, "H")
    rows = live("group", "lag", "-g", "H", "-o", "json").json["queues"]
    assert {(row["queue_id"], row["state"], row["lag_count"]) for row in rows} == {
        (0, "caught-up", 0),
        (1, "never-committed", None),
    }


def test_all_groups_the_latest_first_and_system_groups_on_request(live: Run, cluster: EmbeddedCluster) -> None:
    commit(cluster, "H")
    commit(cluster, "CID_RMQ_SYS_X")
    names = [group["group"] for group in live("group", "lag", "-o", "json").json["groups"]]
    assert names == ["G", "H"]
    everyone = live("group", "lag", "--all", "-o", "json").json["groups"]
    assert "CID_RMQ_SYS_X" in {group["group"] for group in everyone}


def test_a_group_that_is_not_there(live: Run) -> None:
    outcome = live("group", "lag", "-g", "nobody")
    assert (outcome.exit_code, "no consumer group nobody" in outcome.stderr) == (66, True)
    assert "next: mqctl group list --all" in outcome.stderr
    assert outcome.stderr.count("nobody") == 1


def test_a_broker_that_is_down_leaves_the_other_one_and_is_named(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.broker("broker-b").kill()
    outcome = live("group", "lag", "-g", "G", "-o", "json")
    (group,) = outcome.json["groups"]
    assert (outcome.exit_code, group["queue_count"], group["lag_count"]) in {(69, 2, 2), (0, 2, 2)}
    if outcome.exit_code == 69:
        assert "GET_ALL_CONSUMER_OFFSET" in outcome.stderr


def test_a_broker_that_never_answers_costs_one_timeout(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(43, Drop(), server="broker-b")
    outcome = live("group", "lag", "-g", "G", "-o", "json", "--timeout", "3s")
    assert (outcome.exit_code, outcome.json["groups"][0]["lag_count"]) == (75, 2)
    assert "no answer" in outcome.stderr
    cluster.clear_faults()


def test_many_answers_that_do_come_may_take_more_than_their_third_of_the_time(
    live: Run, cluster: EmbeddedCluster
) -> None:
    for number in range(130):  # nine rounds of sixteen in flight
        change(
            cluster, "broker-a", put_topic(TopicConfig(name=f"Many{number}", read_queue_count=1, write_queue_count=1))
        )
        change(cluster, "broker-a", commit_offset("G", f"Many{number}", 0, 0))
    cluster.fault(RequestCode.GET_TOPIC_STATS_INFO, Delay(300), server="broker-a")
    try:
        outcome = live("group", "lag", "-g", "G", "--by", "group", "--timeout", "7s", "-o", "json")
    finally:
        cluster.clear_faults()
    assert (outcome.exit_code, len(outcome.json["groups"])) == (0, 131), outcome.stderr


def test_many_gaps_of_one_kind_are_told_once_and_counted(live: Run, cluster: EmbeddedCluster) -> None:
    for number in range(10):
        change(
            cluster, "broker-a", put_topic(TopicConfig(name=f"Many{number}", read_queue_count=1, write_queue_count=1))
        )
        change(cluster, "broker-a", commit_offset("G", f"Many{number}", 0, 0))
    cluster.fault(RequestCode.GET_TOPIC_STATS_INFO, Answer(2, remark="busy"), server="broker-a")
    try:
        outcome = live("group", "lag")
    finally:
        cluster.clear_faults()
    assert (outcome.exit_code, outcome.stderr.count("busy")) == (76, 1), outcome.stderr
    assert "queues (broker-a Many0, Many1, Many2, Many3, Many4 and 6 more) not read: " in outcome.stderr


def test_name_servers_fail_over_and_all_down_is_69(live: Run, cluster: EmbeddedCluster) -> None:
    first, second = cluster.namesrv.split(";")
    dead = f"127.0.0.1:1;{second}"
    assert live("group", "lag", env={"MQCTL_NAMESRV": dead}).exit_code == 0
    outcome = live("group", "lag", env={"MQCTL_NAMESRV": "127.0.0.1:1"})
    assert (outcome.exit_code, "127.0.0.1:1" in outcome.stderr) == (69, True)
    assert first


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--timeout", "0s"), 64),
        (("--timeout", "soon"), 64),
        (("--at", "now"), 64),
        (("--store", "/x", "--snapshot", "/y"), 64),
    ],
)
def test_what_makes_no_sense(live: Run, words: tuple[str, ...], code: int) -> None:
    assert live("group", "lag", *words).exit_code == code


def test_without_any_cluster_the_error_says_how_to_get_one(live: Run) -> None:
    outcome = live("group", "lag", env={"MQCTL_NAMESRV": ""})
    assert (outcome.exit_code, "mqctl local up" in outcome.stderr) == (78, True)


def test_a_snapshot_gives_the_same_numbers(live: Run, tmp_path: Path) -> None:
    now = live("group", "lag", "-o", "json").json["groups"]
    file = tmp_path / "x.snap"
    assert live("snapshot", "save", file).exit_code == 0
    then = live("group", "lag", "--snapshot", file, "-o", "json").json["groups"]
    assert [(row["group"], row["lag_count"]) for row in then] == [(row["group"], row["lag_count"]) for row in now]
