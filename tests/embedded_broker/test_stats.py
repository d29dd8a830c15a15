"""Statistics items over the minute, the hour and the day, sampled as a real broker samples them."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from mqctl.protocol.bodies_stats import BrokerStatsData, StatsItem
from mqctl.protocol.requests_admin import ViewBrokerStatsData
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
