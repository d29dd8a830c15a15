"""Statistics items over the minute, the hour and the day, sampled as a real broker samples them."""

from __future__ import annotations

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.protocol.bodies_stats import BrokerStatsData, StatsItem
from mqctl.protocol.requests_admin import DeleteSubscriptionGroup, DeleteTopic, ViewBrokerStatsData
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer


def item(peer: Peer, name: str, key: str) -> BrokerStatsData | None:
    answer = peer.call(ViewBrokerStatsData(stats_name=name, stats_key=key))
    return BrokerStatsData.from_bytes(answer.body) if answer.code == 0 else None


def test_counters_reach_their_spans_with_the_samples() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        assert item(peer, "TOPIC_PUT_NUMS", "T") is None
        for _ in range(9):
            peer.call(send("T"), b"x")
        peer.call(pull("T", 0))
        cluster.advance(10_000)
        puts, gets = item(peer, "TOPIC_PUT_NUMS", "T"), item(peer, "GROUP_GET_NUMS", "T@GC")
        assert puts is not None
        assert gets is not None
        assert puts.stats_minute == StatsItem(sum=9, tps=0.9, avgpt=1.0)
        assert puts.stats_hour == StatsItem()
        assert (gets.stats_minute.sum, gets.stats_minute.avgpt) == (9, 9.0)
        cluster.advance(590_000)
        with Peer(cluster.broker().address) as later:  # ten minutes of silence have closed the first connection
            puts = item(later, "TOPIC_PUT_NUMS", "T")
        assert puts is not None
        assert puts.stats_minute.sum == 0
        assert puts.stats_hour == StatsItem(sum=9, tps=0.015, avgpt=1.0)  # the figures of a recorded answer


@pytest.mark.parametrize("drops", [False, True])
def test_counters_go_with_topic_and_group_where_the_broker_is_told_so(drops: bool) -> None:
    counters = (
        ("TOPIC_PUT_NUMS", "T"), ("TOPIC_PUT_SIZE", "T"), ("GROUP_GET_NUMS", "T@GC"), ("GROUP_GET_SIZE", "T@GC"),
        ("GROUP_GET_NUMS", "U@GC"),
    )  # fmt: skip
    settings = {"autoDeleteUnusedStats": str(drops).lower()}
    with EmbeddedCluster(settings=settings) as cluster, Peer(cluster.broker().address) as peer:
        for topic in ("T", "U"):
            peer.call(send(topic), b"x")
            peer.call(pull(topic, 0))
        assert all(item(peer, *counter) for counter in counters)
        peer.call(DeleteTopic(topic="T"))
        assert [item(peer, *counter) is None for counter in counters] == [drops, drops, drops, drops, False]
        peer.call(DeleteSubscriptionGroup(group_name="GC"))
        assert (item(peer, "GROUP_GET_NUMS", "U@GC") is None) == drops
        assert item(peer, "TOPIC_PUT_NUMS", "U") is not None
        peer.call(send("T"), b"again")
        counted = item(peer, "TOPIC_PUT_NUMS", "T")
        assert counted is not None
