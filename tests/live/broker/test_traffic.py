"""What brokers count and hold below the messages: traffic, queue entries, name server settings."""

from __future__ import annotations

from time import time

import pytest

from embedded_broker import Answer, EmbeddedCluster
from embedded_broker.remoting.faults import CloseConnection
from mqctl.client.admin.broker_changes import commit_offset, put_group, put_topic
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_stats import BrokerStatsData, StatsItem, TopicOffset, TopicStatsTable
from mqctl.protocol.codes import RequestCode
from tests.each import each
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run, change


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_traffic_adds_the_brokers_up(mqctl: Run, version: str) -> None:
    with EmbeddedCluster(brokers=2, version=version, virtual_time=True) as cluster:
        for name in ("broker-a", "broker-b"):
            change(cluster, name, put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)))
            change(cluster, name, put_group(SubscriptionGroupConfig(name="G")))
            change(cluster, name, commit_offset("G", "Pay", 0, 0))
            with Peer(cluster.broker(name).address) as peer:
                for _ in range(5):
                    assert peer.call(send("Pay"), b"x").code == 0
        cluster.advance(20_000)
        (row,) = mqctl("topic", "traffic", "-o", "json", env={"MQCTL_NAMESRV": cluster.namesrv}).json["topics"]
    group = {"group": "G", "out_tps": 0.0, "out_day_count": 0}
    assert row == {"topic": "Pay", "in_tps": 0.5, "in_day_count": 10, "groups": [group]}


def test_traffic_of_a_topic_that_is_not_there(live: Run) -> None:
    outcome = live("topic", "traffic", "-t", "Nope")
    assert (outcome.exit_code, outcome.stdout) == (66, "")
    assert "there is no topic Nope" in outcome.stderr


def test_what_a_silent_broker_counts_is_unknown_not_zero(live: Run, cluster: EmbeddedCluster) -> None:
    cluster.fault(315, CloseConnection(), server="broker-b")
    outcome = live("topic", "traffic", "-o", "json")
    assert outcome.exit_code == 69
    assert outcome.json["topics"][0]["in_day_count"] is None
    assert "broker-b" in outcome.stderr


NOTHING = BrokerStatsData()
HOURLY = BrokerStatsData(stats_hour=StatsItem(sum=7, tps=0.1, avgpt=1.0))


@each(
    "counted, stored_ago_ms, day_count",
    [
        (NOTHING, 0, None),
        (NOTHING, 23 * 3_600_000, None),
        (NOTHING, 25 * 3_600_000, 0),
        (HOURLY, 0, 14),
        (HOURLY, 25 * 3_600_000, 14),
    ],
)
def test_a_counter_that_has_not_been_sampled_is_unknown_unless_nothing_was_stored_for_a_day(
    live: Run, cluster: EmbeddedCluster, counted: BrokerStatsData, stored_ago_ms: int, day_count: int | None
) -> None:
    """A counter begins with a message: one that is there and tells nothing has not been sampled, or rests."""
    cluster.reset()
    moment_ms = round(time() * 1000) - stored_ago_ms
    bounds = TopicOffset(min_offset=0, max_offset=5, last_update_timestamp=moment_ms)
    for name in ("broker-a", "broker-b"):
        change(cluster, name, put_topic(TopicConfig(name="Pay", read_queue_count=1, write_queue_count=1)))
        change(cluster, name, put_group(SubscriptionGroupConfig(name="G")))
        change(cluster, name, commit_offset("G", "Pay", 0, 0))
        stats = TopicStatsTable(offset_table={MessageQueue("Pay", name, 0): bounds})
        cluster.fault(RequestCode.GET_TOPIC_STATS_INFO, Answer(0, body=stats.to_bytes()), server=name)
    cluster.fault(RequestCode.VIEW_BROKER_STATS_DATA, Answer(0, body=counted.to_bytes()))
    outcome = live("topic", "traffic", "-t", "Pay", "-o", "json")
    (row,) = outcome.json["topics"]
    assert (row["in_day_count"], row["groups"][0]["out_day_count"]) == (day_count, day_count)
    assert bool(live("topic", "traffic", "--active", "-o", "json").json["topics"]) == (day_count != 0)


def test_entries_of_a_queue_with_the_verdict_of_a_groups_filter(live: Run) -> None:
    listed = live("topic", "entries", "-t", "Pay", "-q", "0", "--broker", "broker-a", "-g", "G", "-o", "json").json
    assert [(row["queue_offset"], row["tags_code"]) for row in listed["entries"]] == [(n, ord("A")) for n in range(5)]
    assert {row["passes"] for row in listed["entries"]} == {None}, "nobody of G is online: there is no subscription"
    assert [(item["min_offset"], item["max_offset"]) for item in listed["queues"]] == [(0, 5)]
    text = live("topic", "entries", "-t", "Pay", "-q", "0", "-g", "G").stdout
    assert "no subscription of G" in text


def test_entries_beyond_the_end_are_said_to_be_none(live: Run) -> None:
    outcome = live("topic", "entries", "-t", "Pay", "-q", "1", "--offset", "7")
    assert outcome.exit_code == 0
    assert "queue 1 has no entry at 7" in outcome.stdout
    assert live("topic", "entries", "-t", "Pay", "-q", "9").exit_code == 66


def test_settings_of_name_servers_and_where_they_differ(live: Run, cluster: EmbeddedCluster) -> None:
    rows = live("cluster", "describe", "--config", "--key", "listenPort", "--diff", "-o", "json").json["settings"]
    assert {f"127.0.0.1:{row['value']}" for row in rows} == set(cluster.namesrv.split(";"))
    assert live("cluster", "describe", "--config", "--key", "nothing*").stdout.strip() == "nothing to show"
