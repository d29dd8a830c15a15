"""What people and bad networks do to a cluster in a soak: administration, and connections that end without a word."""

from __future__ import annotations

import socket
import struct
from itertools import count
from time import time

from mqctl.client.admin import broker_changes as change
from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.broker_messages import messages_by_key
from mqctl.client.admin.cluster import Cluster
from mqctl.client.admin.nameserver import delete_route
from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.names import retry_topic
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer
from tests.reliability.soak import mix
from tests.reliability.soak.consuming import Consumers

_BACK_MS = 1_500
_BACK_MESSAGES = 5
_LINGER_NOT = struct.pack("ii", 1, 0)


def create_topics(cluster: Cluster, address: str) -> None:
    """Creates what the soak sends to; the topic for sockets has one queue, and one of the idle topic's is read only."""
    for topic in {*mix.TOPICS.values(), mix.IDLE_TOPIC}:
        queues = 1 if topic == mix.TOPICS[mix.RAW] else mix.QUEUES
        read = mix.IDLE_QUEUE + 1 if topic == mix.IDLE_TOPIC else queues
        cluster.ask(address, change.put_topic(TopicConfig(name=topic, read_queue_count=read, write_queue_count=queues)))


class Administration:
    """Requests of administrators, one round after the other; each round's topic and group are new and go again."""

    def __init__(self, cluster: Cluster, namesrv: str, address: str, consumers: Consumers, *, is_v5: bool) -> None:
        self._cluster = cluster
        self._is_v5 = is_v5
        self._namesrv = namesrv
        self._address = address
        self._consumers = consumers
        self._rounds = count()

    def round(self) -> None:
        """A topic and a group with traffic of their own come and go, and the usual questions are asked."""
        number = next(self._rounds)
        with Cluster(self._namesrv) as cluster:  # a tool that starts, asks and ends
            self._come_and_go(cluster, number)
            cluster.name_servers.cluster_info()
        self._questions(number)

    def _come_and_go(self, cluster: Cluster, number: int) -> None:
        topic, group = f"Made{number}", f"GMade{number}"
        address = self._address
        cluster.ask(address, change.put_topic(TopicConfig(name=topic, read_queue_count=2, write_queue_count=2)))
        cluster.ask(address, change.put_group(SubscriptionGroupConfig(name=group)))
        with Peer(address) as peer:
            heartbeat(peer, f"made@{number}", group=group, subscriptions={topic: "*", retry_topic(group): "*"})
            assert peer.call(send(topic, group=f"PMade{number}"), b"made").code == 0
            assert peer.call(pull(topic, 0, group=group)).code == 0
            peer.call(pull(topic, 1, group=group, commit=1, wait_ms=1))
        cluster.ask(address, ask.topic_stats(topic))
        for name in (topic, retry_topic(group)):
            cluster.ask(address, change.delete_topic(name))
            cluster.name_servers.ask_all(delete_route(name))
        cluster.ask(address, change.delete_group(group, with_offsets=True))

    def _questions(self, number: int) -> None:
        cluster, address, plain = self._cluster, self._address, mix.TOPICS[mix.PLAIN]
        now_ms = round(time() * 1_000)
        cluster.ask(address, ask.runtime_info())
        cluster.ask(address, ask.topic_stats(plain))
        cluster.ask(address, ask.consume_stats(mix.STEADY))
        cluster.ask(address, ask.consumer_connections(mix.CHANGING))
        cluster.ask(address, ask.running_info(mix.ORDERED, self._consumers.client_id(mix.ORDERED)))
        cluster.ask(address, ask.consumer_status(plain, mix.FILTERED))
        cluster.ask(address, messages_by_key(plain, f"k{number}", begin_ms=now_ms - 60_000, end_ms=now_ms))
        cluster.route(plain)

    def reset(self) -> None:
        """Sets one group back by a moment: what it consumed comes again.

        A 5.x broker does that itself, and by time would also move a group that is behind forward: it gets offsets.
        """
        topic, cluster_ask = mix.TOPICS[mix.PLAIN], self._cluster.ask
        stored = [
            cluster_ask(self._address, ask.consumer_offset(mix.RESET, topic, queue)) for queue in range(mix.QUEUES)
        ]
        if None in stored:
            return  # the group has not committed every queue yet, and is refused
        if not self._is_v5:
            time_ms = round(time() * 1_000) - _BACK_MS
            cluster_ask(self._address, change.reset_offsets(topic, mix.RESET, time_ms, force=False))
            return
        for queue, committed in enumerate(stored):
            low = cluster_ask(self._address, ask.min_offset(topic, queue))
            offset = max(low, (committed or 0) - _BACK_MESSAGES)
            cluster_ask(self._address, change.reset_offset_here(mix.RESET, topic, queue, offset))


class Rudeness:
    """Clients that vanish."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._numbers = count()
        self._kept: list[Peer] = []

    def vanish(self) -> None:
        """Ends one connection in the middle of a frame, and one with a pull that is held, without a farewell."""
        number = next(self._numbers)
        with Peer(self._address) as half:
            half.socket.sendall(b'\0\0\1\0\0\0\0\x20{"code":')
        peer = Peer(self._address)
        heartbeat(peer, f"rude@{number}", group="GRude", subscriptions={mix.IDLE_TOPIC: "*"})
        peer.post(pull(mix.IDLE_TOPIC, 0, queue_id=mix.IDLE_QUEUE, group="GRude", wait_ms=60_000))
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
        peer.socket.close()

    def keep(self) -> None:
        """The planted leak: a connection that nobody closes."""
        self._kept.append(Peer(self._address))

    def close(self) -> None:
        """Closes what the planted leak kept."""
        for peer in self._kept:
            peer.socket.close()
