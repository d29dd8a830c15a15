"""Which queues a client has when the broker says so, by hand; and for how long a route is good."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from embedded_broker.clock import VirtualClock
from embedded_broker.pop.assignments import RequestModes
from mqctl.protocol.bodies_pop import Assignments, MessageRequestMode, MessageRequestModes
from mqctl.protocol.requests_admin import CreateTopic
from mqctl.protocol.requests_pop import QueryAssignment, SetMessageRequestMode
from tests.each import each
from tests.embedded_broker.messages import heartbeat
from tests.embedded_broker.wire import Peer

CLIENTS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    """Group G with four members; topic T with six queues to read on one broker, Two with two, Hidden with none."""
    with EmbeddedCluster(version="5.3.3", virtual_time=True) as cluster:
        peers = [Peer(cluster.broker().address, version=479) for _ in CLIENTS]
        for peer, client in zip(peers, CLIENTS, strict=True):
            assert heartbeat(peer, client, group="G", subscriptions={"T": "*"}).code == 0
        for topic, queues, perm in (("T", 6, 6), ("Two", 2, 6), ("Hidden", 2, 2)):
            create(peers[0], topic, queues, perm)
        yield cluster
        for peer in peers:
            peer.socket.close()


def create(peer: Peer, topic: str, queues: int, perm: int = 6) -> None:
    request = CreateTopic(
        topic=topic, default_topic="TBW102", read_queue_nums=queues, write_queue_nums=queues, perm=perm,
        topic_filter_type="SINGLE_TAG", topic_sys_flag=0, order=False,
    )  # fmt: skip
    assert peer.call(request).code == 0


def asked(
    cluster: EmbeddedCluster, topic: str, client: str, *, group: str = "G", model: str = "CLUSTERING", how: str = "AVG"
) -> list[int] | None:
    """Returns the queue ids of a client; -1 stands for all."""
    query = {"topic": topic, "consumerGroup": group, "clientId": client, "messageModel": model, "strategyName": how}
    with Peer(cluster.broker().address, version=479) as peer:
        answer = peer.call(QueryAssignment(), json.dumps(query).encode())
    assert answer.code == 0
    given = Assignments.from_bytes(answer.body).message_queue_assignments
    return None if given is None else [one.message_queue.queue_id for one in given]


def use(cluster: EmbeddedCluster, topic: str, mode: str, share: int = 0) -> None:
    with Peer(cluster.broker().address, version=479) as peer:
        body = json.dumps({"topic": topic, "consumerGroup": "G", "mode": mode, "popShareQueueNum": share}).encode()
        assert peer.call(SetMessageRequestMode(), body).code == 0


@each(
    "mode, share, topic, expected",
    [
        ("PULL", 0, "T", ([0, 1], [2, 3], [4], [5])),
        ("POP", -1, "T", ([-1],) * 4),
        ("POP", 0, "T", ([-1],) * 4),
        ("POP", 1, "T", ([0, 1, 2, 3], [2, 3, 4], [4, 5], [5, 0, 1])),
        ("POP", 2, "T", ([0, 1, 2, 3, 4], [2, 3, 4, 5], [4, 5, 0, 1], [5, 0, 1, 2, 3])),
        ("POP", 3, "T", ([-1],) * 4),
        ("POP", 1, "Two", ([0], [1], [0], [1])),
        ("PULL", 0, "Two", ([0], [1], [], [])),
    ],
)
def test_a_client_has_its_queues_and_those_of_the_next_clients(
    cluster: EmbeddedCluster, mode: str, share: int, topic: str, expected: Sequence[list[int]]
) -> None:
    use(cluster, topic, mode, share)
    assert [asked(cluster, topic, client) for client in CLIENTS] == list(expected)


def test_who_is_told_of_no_queue_and_who_of_all(cluster: EmbeddedCluster) -> None:
    use(cluster, "T", "POP", 1)
    assert asked(cluster, "T", "stranger") == []
    use(cluster, "T", "PULL")
    assert asked(cluster, "T", "stranger") in ([], None)
    assert asked(cluster, "T", "a", model="BROADCASTING") == [0, 1, 2, 3, 4, 5]
    assert asked(cluster, "T", "a", how="AVG_BY_CIRCLE") == [0, 4]
    assert asked(cluster, "T", "a", how="MACHINE_ROOM") is None
    assert asked(cluster, "T", "a", group="Nobody") is None
    assert asked(cluster, "Hidden", "a") is None
    assert asked(cluster, "Unknown", "a") is None
    cluster.broker().on_loop(lambda broker: setattr(broker.settings, "server_load_balancer_enable", False))
    assert asked(cluster, "T", "a") == [0, 1, 2, 3, 4, 5]
    cluster.broker().on_loop(lambda broker: setattr(broker.settings, "server_load_balancer_enable", True))


def test_what_nobody_set_is_as_the_settings_have_it(cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker().address, version=479) as peer:
        create(peer, "%RETRY%G", 2)
        create(peer, "Unset", 2)

    def default(broker: Broker) -> None:
        broker.settings.default_message_request_mode, broker.settings.default_pop_share_queue_num = "POP", 0

    cluster.broker().on_loop(default)
    assert asked(cluster, "Unset", "a") == [-1]
    assert asked(cluster, "%RETRY%G", "a") == [0], "what failed is pulled"


def test_a_route_is_good_for_half_a_minute(cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker().address, version=479) as peer:
        create(peer, "Grows", 1)
        use(cluster, "Grows", "PULL")
        assert asked(cluster, "Grows", "a") == [0]
        create(peer, "Grows", 4)
    cluster.advance(29_999)
    assert asked(cluster, "Grows", "b", model="BROADCASTING") == [0]
    cluster.advance(1)
    assert asked(cluster, "Grows", "b", model="BROADCASTING") == [0, 1, 2, 3]


def test_without_a_name_server_the_last_route_counts(cluster: EmbeddedCluster) -> None:
    with Peer(cluster.broker().address, version=479) as peer:
        create(peer, "Known", 3)
        create(peer, "Unseen", 3)
    assert asked(cluster, "Known", "a", model="BROADCASTING") == [0, 1, 2]
    cluster.stop_name_server()
    cluster.advance(30_000)
    assert asked(cluster, "Known", "a", model="BROADCASTING") == [0, 1, 2]
    assert asked(cluster, "Unseen", "a", model="BROADCASTING") is None
    cluster.start_name_server()


def test_modes_are_kept_by_topic_and_group(tmp_path: Path) -> None:
    clock = VirtualClock(0)
    modes = RequestModes(clock, tmp_path)
    first = MessageRequestMode(topic="T", consumer_group="G", mode="POP", pop_share_queue_num=2)
    other = MessageRequestMode(topic="T", consumer_group="H", mode="PULL", pop_share_queue_num=0)
    modes.put(first)
    modes.put(other)
    again = RequestModes(clock, tmp_path)
    assert (again.find("T", "G"), again.find("T", "H"), again.find("U", "G")) == (first, other, None)
    assert (
        again.table() == modes.table() == MessageRequestModes(message_request_mode_map={"T": {"G": first, "H": other}})
    )
    again.replace_all(MessageRequestModes(message_request_mode_map={"U": {"G": first}}))
    assert (again.find("T", "G"), again.find("T", "H")) == (first, None)
    assert RequestModes(clock, tmp_path).find("T", "H") == other, "not written yet"
    again.file.write()
    assert RequestModes(clock, tmp_path).find("T", "H") is None
