"""Clients and brokers at one time scale: Java's own periods, and no test that waits for them."""

from __future__ import annotations

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.received import Consumed
from mqctl.client.remoting.clock import ClientClock
from tests.client.consuming import Heard, create_topic, numbered, send, wait_until

SCALE = 100.0


def test_a_scenario_keeps_java_s_periods() -> None:
    with EmbeddedCluster(time_scale=SCALE) as cluster:
        create_topic(cluster, "T", queues=2)
        client = ClientSettings(
            name_servers=cluster.namesrv, time_scale=SCALE, time_origin_ms=cluster.time_origin_ms, client_ip="127.0.0.1"
        )
        settings = ConsumerSettings(consume_from=ConsumeFrom.FIRST_OFFSET, threads=2)
        heard = Heard(lambda message: Consumed.SUCCESS if message.reconsume_times else None)
        consumer = PushConsumer("G", client, heard, settings)
        consumer.subscribe("T")
        send(cluster, numbered("T", 2))
        with consumer:
            messages = heard.wait_for(4)  # the retries come after ten seconds of the scenario's time
            retried = [message.stored for message in messages if message.reconsume_times]
            assert len(retried) == 2
            assert all(stored.store_time_ms - stored.born_time_ms >= 10_000 for stored in retried)
            with Cluster(cluster.namesrv) as admin:
                address = cluster.broker().address
                wait_until(lambda: admin.ask(address, consumer_offset("G", "T", 0)) == 1, "committed by its own period")
            assert consumer.instance.broker_versions


def test_scaled_clocks_with_one_origin_agree() -> None:
    with EmbeddedCluster(time_scale=SCALE) as cluster:
        clock = ClientClock(SCALE, origin_ms=cluster.time_origin_ms)
        before = clock.now_ms()
        between = cluster.now_ms()
        assert before <= between + SCALE
        assert between <= clock.now_ms() + SCALE
