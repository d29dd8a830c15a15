from __future__ import annotations

import socket
import sys
from pathlib import Path
from time import monotonic
from urllib.request import urlopen

import pytest

from embedded_broker import Drop, EmbeddedBroker, EmbeddedCluster
from mqctl.errors import MqctlError, NotFoundError, RefusedError, UsageError
from mqctl.protocol.bodies_cluster import ClusterInfo, TopicRouteData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.requests_namesrv import GetBrokerClusterInfo, GetRouteInfo
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer


def names_at(namesrv: str) -> set[str]:
    with Peer(namesrv) as peer:
        return set(ClusterInfo.from_bytes(peer.call(GetBrokerClusterInfo()).body).broker_addr_table)


def test_two_rooms_share_a_cluster_and_have_a_name_server_each() -> None:
    with EmbeddedCluster(rooms=("HT", "CP")) as cluster:
        first, second = cluster.namesrv.split(";")
        assert names_at(first) == names_at(second) == {"HT-broker-a", "CP-broker-a"}
        for room, address in (("HT", first), ("CP", second)):
            with urlopen(cluster.nsaddr_url(room), timeout=60) as answer:
                assert answer.read().decode().strip() == address


def test_rooms_can_be_clusters_of_their_own() -> None:
    with EmbeddedCluster(rooms=("HT", "CP"), brokers=("HT-a", "CP@b"), isolated_rooms=True) as cluster:
        first, second = cluster.namesrv.split(";")
        assert (names_at(first), names_at(second)) == ({"HT-a"}, {"CP@b"})


def asked(cluster: EmbeddedCluster, room: str) -> str:
    with urlopen(cluster.nsaddr_url(room) + "-unit?nofix=1", timeout=60) as answer:
        return str(answer.read().decode().strip())


def test_a_room_is_switched_by_hand_and_by_health() -> None:
    with EmbeddedCluster(rooms=("HT", "CP")) as cluster:
        ht, cp = cluster.namesrv.split(";")
        cluster.switch_room("HT", to="CP")
        assert (asked(cluster, "HT"), asked(cluster, "CP")) == (cp, cp)
        cluster.switch_room("HT", to=None)
        assert asked(cluster, "HT") == ht
        cluster.broker("HT-broker-a").kill()
        assert asked(cluster, "HT") == ht
        cluster.switch_by_health()
        assert asked(cluster, "HT") == cp
        cluster.broker("HT-broker-a").start()
        assert asked(cluster, "HT") == ht
        with pytest.raises(UsageError):
            cluster.switch_room("HT", to="XX")


def test_one_broker_of_two_fails_and_returns() -> None:
    with EmbeddedCluster(brokers=2) as cluster, Peer(cluster.namesrv) as namesrv:
        for name in ("broker-a", "broker-b"):
            with Peer(cluster.broker(name).address) as peer:
                assert peer.call(send("T"), name.encode()).code == 0
        route = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="T")).body)
        assert {data.broker_name for data in route.queue_datas} == {"broker-a", "broker-b"}
        cluster.broker("broker-b").kill()
        route = TopicRouteData.from_bytes(namesrv.call(GetRouteInfo(topic="T")).body)
        assert [data.broker_name for data in route.queue_datas] == ["broker-a"]
        assert not cluster.broker("broker-b").running
        cluster.broker("broker-b").start()
        with Peer(cluster.broker("broker-b").address) as peer:
            assert peer.call(pull("T", 0)).code == 0


def test_two_name_servers_one_lost() -> None:
    with EmbeddedCluster(name_servers=2) as cluster:
        first, second = cluster.namesrv.split(";")
        cluster.stop_name_server("namesrv", kill=True)
        with pytest.raises(OSError, match="refused"):
            Peer(first)
        with Peer(cluster.broker().address) as broker, Peer(second) as namesrv:
            assert broker.call(send("T"), b"x").code == 0
            assert namesrv.call(GetRouteInfo(topic="T")).code == 0
        cluster.start_name_server("namesrv")
        assert names_at(first) == {"broker-a"}


def test_a_silent_broker_expires_and_a_lively_one_does_not() -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.namesrv) as namesrv:
        for _ in range(6):
            cluster.advance(100_000)
            assert namesrv.call(GetRouteInfo(topic="TBW102")).code == 0
        cluster.fault(103, Drop())
        cluster.advance(80_000)
        assert namesrv.call(GetRouteInfo(topic="TBW102")).code == 0
        cluster.advance(60_000)
        assert namesrv.call(GetRouteInfo(topic="TBW102")).code == ResponseCode.TOPIC_NOT_EXIST


def test_a_store_outlives_its_cluster(tmp_path: Path) -> None:
    with EmbeddedCluster(data_dir=tmp_path) as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(send("T", queue_id=3), b"kept").code == 0
    assert (tmp_path / "broker-a" / "config" / "topics.json").exists()
    with EmbeddedCluster(data_dir=tmp_path) as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(pull("T", 0, queue_id=3)).code == 0
        assert peer.call(send("T", queue_id=3, default_topic="none"), b"more").ext("queueOffset") == "1"


def test_a_throw_away_store_is_thrown_away() -> None:
    with EmbeddedBroker() as broker:
        store = broker.store
        assert store.is_dir()
    assert not store.exists()


def test_reset_empties_everything_and_keeps_addresses() -> None:
    with EmbeddedCluster() as cluster:
        addresses = cluster.namesrv, cluster.broker().address
        with Peer(cluster.broker().address) as peer:
            peer.call(send("T"), b"x")
        cluster.reset()
        assert (cluster.namesrv, cluster.broker().address) == addresses
        with Peer(cluster.broker().address) as peer:
            assert peer.call(pull("T", 0)).code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.skipif(sys.platform != "linux", reason="held on Linux only")
def test_ports_stay_the_cluster_s_while_nobody_listens_on_them() -> None:
    with EmbeddedCluster() as cluster:
        addresses = cluster.namesrv, cluster.broker().address
        cluster.broker().kill()
        cluster.stop_name_server(kill=True)
        for address in addresses:
            host, _, port = address.rpartition(":")
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind((host, int(port)))
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((host, int(port)), timeout=60)
        cluster.start_name_server()
        cluster.broker().start()
        assert (cluster.namesrv, cluster.broker().address) == addresses
    for address in addresses:
        host, _, port = address.rpartition(":")
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind((host, int(port)))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: EmbeddedCluster(version="3.0.0").start(), MqctlError),
        (lambda: EmbeddedCluster(rooms=("HT",), brokers=("broker-a",)).start(), UsageError),
        (lambda: EmbeddedCluster(brokers=("a", "a")).start(), UsageError),
        (lambda: EmbeddedCluster(name_servers=0).start(), UsageError),
        (lambda: EmbeddedCluster().namesrv, RefusedError),
        (lambda: EmbeddedCluster().advance(1), RefusedError),
    ],
)
def test_what_cannot_be(make: object, error: type[MqctlError]) -> None:
    assert callable(make)
    with pytest.raises(error):
        make()


def test_what_is_not_running_cannot_be_stopped(cluster: EmbeddedCluster) -> None:
    with pytest.raises(NotFoundError):
        cluster.broker("none").stop()
    with pytest.raises(RefusedError):
        cluster.broker().start()
    with pytest.raises(RefusedError):
        cluster.advance(1)


def test_a_store_is_for_one_broker_at_a_time(tmp_path: Path) -> None:
    with EmbeddedCluster(data_dir=tmp_path) as cluster:
        with pytest.raises(RefusedError, match="another broker"):
            EmbeddedCluster(data_dir=tmp_path).start()
        cluster.broker().restart()
    with EmbeddedCluster(data_dir=tmp_path):
        pass


def test_a_port_in_use_is_an_error_that_leaves_nothing_behind(tmp_path: Path) -> None:
    with EmbeddedCluster() as cluster:
        port = int(cluster.broker().address.rpartition(":")[2])
        with pytest.raises(MqctlError, match="could not listen"):
            EmbeddedBroker(data_dir=tmp_path, broker_port=port).cluster.start()
    with EmbeddedCluster(data_dir=tmp_path):
        pass


def test_a_peer_that_does_not_read_cannot_hold_up_a_stop() -> None:
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer:
        for _ in range(8):
            peer.call(send("T"), bytes(1 << 20))
        for offset in range(8):
            peer.post(pull("T", offset, count=1))
        for offset in range(8):
            peer.post(pull("T", offset, count=1))


def test_a_name_server_that_forgot_everything_learns_it_from_the_next_change(tmp_path: Path) -> None:
    with EmbeddedCluster(data_dir=tmp_path / "names", virtual_time=True) as forgetful:
        settings = {"namesrvAddr": forgetful.namesrv}
        with EmbeddedCluster(data_dir=tmp_path / "broker", brokers=("broker-x",), settings=settings) as cluster:
            assert names_at(forgetful.namesrv) == {"broker-a", "broker-x"}
            forgetful.stop_name_server(kill=True)
            forgetful.start_name_server()
            assert names_at(forgetful.namesrv) == {"broker-a"}
            with Peer(cluster.broker().address) as peer, Peer(forgetful.namesrv) as namesrv:
                assert peer.call(send("Fresh"), b"x").code == 0
                deadline = monotonic() + 60
                while namesrv.call(GetRouteInfo(topic="Fresh")).code != 0:
                    assert monotonic() < deadline
                assert namesrv.call(GetRouteInfo(topic="broker-x")).code == 0
