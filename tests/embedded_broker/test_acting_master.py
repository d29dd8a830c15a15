"""Slaves that stand in for a lost master (5.3.3): what name servers say, recorded, and what becomes of a cluster."""

from __future__ import annotations

import base64
import gzip
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from embedded_broker import Answer, EmbeddedCluster
from mqctl.model.message import DELAY
from mqctl.protocol.bodies_cluster import DelayOffsetTable, KVTable, TopicRouteData
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.frame import FrameDecoder, RemotingCommand, encode
from mqctl.protocol.requests_admin import GetAllDelayOffset, GetBrokerRuntimeInfo
from mqctl.protocol.requests_client import GetMaxOffset, QueryConsumerOffset, UpdateConsumerOffset
from mqctl.protocol.requests_namesrv import GetRouteInfo
from mqctl.protocol.requests_v5 import ExchangeBrokerHaInfo
from tests.client.consuming import wait_until
from tests.embedded_broker.ha_streams import DIRECTORY
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

SECONDS = 90.0
MASTER, MASTER_HA, SLAVE = "127.0.0.1:31711", "127.0.0.1:31712", "127.0.0.1:31721"
ACTING = {"enableSlaveActingMaster": "true", "registerNameServerPeriod": "10000"}


class Recording:
    """The recorded frames by number; the slave's address in them is that of somebody who listens here."""

    def __init__(self, slave: str) -> None:
        frames = json.loads(gzip.decompress((DIRECTORY / "5.3.3-acting-frames.json.gz").read_bytes()))
        self._frames = {one["seq"]: base64.b64decode(one["frame"]) for one in frames}
        self._slave = slave

    def __getitem__(self, number: int) -> RemotingCommand:
        (command,) = FrameDecoder().feed(self._frames[number])
        ext = {name: self.here(value) for name, value in (command.ext_fields or {}).items()}
        is_registration = command.code == 103 and not command.is_response
        body = command.body if is_registration else self.here(command.body.decode()).encode()
        return replace(command, ext_fields=ext, body=body)

    def here(self, text: str) -> str:
        return text.replace(SLAVE, self._slave)

    def play(self, peer: Peer, question: int, answer: int | None = None) -> None:
        """Sends a recorded request; what comes back is what came back then."""
        command = replace(self[question], opaque=peer.next_opaque())
        peer.socket.sendall(encode(command))
        response = peer.answer_to(command.opaque)
        assert response.code == 0
        if answer is not None:
            then = self[answer]
            assert (response.ext_fields or {}, sorted_body(response)) == (then.ext_fields or {}, sorted_body(then))


def sorted_body(command: RemotingCommand) -> list[str]:
    """Returns a body's pieces: in which order a name server lists brokers follows from Java's hashes."""
    return sorted(command.body.decode().replace("{", ",").replace("}", ",").replace("]", ",").split(","))


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    """Two masters with a slave each; topic T is on both, group G has consumed 3 of it at broker-a."""
    settings = {**ACTING, "enableRemoteEscape": "true", "totalReplicas": "2", "compatibleWithOldNameSrv": "false"}
    with EmbeddedCluster(
        version="5.3.3", brokers=("broker-a", "broker-b"), slaves=1, time_scale=20.0, settings=settings
    ) as cluster:
        for name in ("broker-a", "broker-b"):
            with Peer(cluster.broker(name).address) as peer:
                for number in range(5):
                    assert peer.call(send("T"), f"body {number}".encode()).code == 0
        with Peer(cluster.broker("broker-a").address) as peer:
            assert peer.call(pull("T", 0, group="G")).code == 0
            assert peer.call(commit(3)).code == 0
        wait_until(lambda: len({ends(cluster, name) for name in ("broker-a", "broker-a-s")}) == 1)
        slave = cluster.broker("broker-a-s")
        wait_until(lambda: slave.on_loop(lambda broker: broker.offsets.query("G", "T", 0)) == 3)
        yield cluster


def ends(cluster: EmbeddedCluster, name: str) -> int:
    return int(cluster.broker(name).on_loop(lambda broker: broker.storage.log.position))


def commit(offset: int) -> UpdateConsumerOffset:
    return UpdateConsumerOffset(consumer_group="G", topic="T", queue_id=0, commit_offset=offset)


def committed(address: str) -> Mapping[str, str]:
    with Peer(address) as peer:
        return peer.call(QueryConsumerOffset(consumer_group="G", topic="T", queue_id=0)).ext_fields or {}


def route(cluster: EmbeddedCluster) -> tuple[dict[int, str], int]:
    """Returns addresses and permission of broker-a for topic T."""
    with Peer(cluster.namesrv) as namesrv:
        answer = namesrv.call(GetRouteInfo(topic="T", accept_standard_json_only=True))
    known = TopicRouteData.from_bytes(answer.body)
    addresses = next(data.broker_addrs for data in known.broker_datas if data.broker_name == "broker-a")
    return dict(addresses), next(data.perm for data in known.queue_datas if data.broker_name == "broker-a")


def is_active(cluster: EmbeddedCluster, name: str) -> bool:
    with Peer(cluster.broker(name).address) as peer:
        return KVTable.from_bytes(peer.call(GetBrokerRuntimeInfo()).body).table["brokerActive"] == "true"


def stored(cluster: EmbeddedCluster, name: str) -> int:
    """Returns how many messages of topic T a broker has."""
    with Peer(cluster.broker(name).address) as peer:
        tops = [peer.call(GetMaxOffset(topic="T", queue_id=number)).ext_fields or {} for number in range(8)]
    return sum(int(top["offset"]) for top in tops)


def test_name_servers_answer_as_recorded_while_a_master_goes_and_comes_back() -> None:
    with socket.create_server(("127.0.0.1", 0)) as slave, EmbeddedCluster(version="5.3.3", settings=ACTING) as cluster:
        cluster.broker("broker-a").stop()
        recording = Recording("127.0.0.1:{}".format(*slave.getsockname()[1:]))
        with Peer(cluster.namesrv) as other, Peer(cluster.namesrv) as follower, Peer(cluster.namesrv) as admin:
            with Peer(cluster.namesrv) as master:
                for peer, registration in ((other, 300), (master, 307), (master, 322), (other, 318)):
                    recording.play(peer, registration)
                recording.play(follower, 328, 329)
                for question in (331, 333, 335):
                    recording.play(admin, question, question + 1)
            slave.settimeout(SECONDS)
            answer, _ = slave.accept()
            with answer:
                assert notice(answer) == recording[365].ext_fields
                for peer, question in ((admin, 363), (follower, 370), (admin, 372)):
                    recording.play(peer, question, question + 1)
                with Peer(cluster.namesrv) as returned:
                    recording.play(returned, 322)
                    assert notice(answer) == recording[427].ext_fields
                    for question in (429, 433, 435):
                        recording.play(admin, question, question + 1)


def notice(connection: socket.socket) -> Mapping[str, str] | None:
    """Returns what the next request 905 says."""
    connection.settimeout(SECONDS)
    decoder = FrameDecoder()
    while True:
        for command in decoder.feed(connection.recv(1 << 16)):
            assert (command.code, command.is_oneway) == (905, True)
            return command.ext_fields


def test_brokers_exchange_their_addresses_as_recorded(cluster: EmbeddedCluster) -> None:
    master, slave = cluster.broker("broker-a"), cluster.broker("broker-a-s")
    then = Recording(slave.address)
    with Peer(master.address) as peer:
        answer = peer.call(ExchangeBrokerHaInfo())
    port = master.on_loop(lambda broker: broker.settings.ha_listen_port)
    here = {MASTER: master.address, MASTER_HA: f"127.0.0.1:{port}"}
    assert answer.ext_fields == {name: here.get(text, text) for name, text in (then[342].ext_fields or {}).items()}
    with Peer(slave.address) as peer:
        command = then[417]
        ext = {name: here.get(text, text) for name, text in (command.ext_fields or {}).items()}
        command = replace(command, opaque=peer.next_opaque(), ext_fields=ext)
        peer.socket.sendall(encode(command))
        answer = peer.answer_to(command.opaque)
    assert (answer.code, answer.ext_fields or {}) == (then[418].code, then[418].ext_fields or {})


def test_a_slave_stands_in_for_readers_and_the_master_takes_its_offsets_back(cluster: EmbeddedCluster) -> None:
    master, slave = cluster.broker("broker-a"), cluster.broker("broker-a-s")
    assert not is_active(cluster, "broker-a-s")
    master.on_loop(lambda broker: broker.schedule.pause())
    with Peer(master.address) as peer:
        assert peer.call(send("T", properties={DELAY: "3"}), b"late").code == 0
    wait_until(lambda: len({ends(cluster, name) for name in ("broker-a", "broker-a-s")}) == 1)
    master.kill()
    wait_until(lambda: route(cluster) == ({0: slave.address}, 4))
    wait_until(lambda: is_active(cluster, "broker-a-s"))
    with Peer(slave.address) as peer:
        refused = peer.call(send("T"), b"no")
        assert (refused.code, (refused.remark or "")[:25]) == (14, "service not available now")
        assert peer.call(pull("T", 0, group="G")).code == 0
        assert peer.call(commit(5)).code == 0
        wait_until(lambda: stored(cluster, "broker-b") == 6)
        body = peer.call(GetAllDelayOffset()).body
        assert DelayOffsetTable.from_bytes(body).offset_table == {3: 1}
    master.start()
    wait_until(lambda: route(cluster) == ({0: master.address, 1: slave.address}, 6))
    assert committed(master.address) == {"offset": "5"}
    wait_until(lambda: not is_active(cluster, "broker-a-s"))
    assert (stored(cluster, "broker-a"), stored(cluster, "broker-b")) == (5, 6), "delivered by the slave alone"
    with Peer(master.address) as peer:
        assert DelayOffsetTable.from_bytes(peer.call(GetAllDelayOffset()).body).offset_table == {3: 1}
        assert peer.call(send("T"), b"again").code == 0
    wait_until(lambda: len({ends(cluster, name) for name in ("broker-a", "broker-a-s")}) == 1)


@pytest.mark.parametrize("others", [1, 2])
def test_a_slave_sends_what_falls_due_to_others_also_where_the_route_has_its_own_as_writable(others: int) -> None:
    """A slave that answers for its master is listed as master: it is never its own way out."""
    names = tuple(f"broker-{letter}" for letter in "abc"[: 1 + others])
    settings = {**ACTING, "enableRemoteEscape": "true"}
    with EmbeddedCluster(version="5.3.3", brokers=names, slaves=1, time_scale=20.0, settings=settings) as cluster:
        master, slave = cluster.broker("broker-a"), cluster.broker("broker-a-s")
        for name in names:
            with Peer(cluster.broker(name).address) as peer:
                assert peer.call(send("T"), b"first").code == 0
        master.on_loop(lambda broker: broker.schedule.pause())
        with Peer(master.address) as peer:
            for _ in range(8):
                assert peer.call(send("T", properties={DELAY: "3"}), b"late").code == 0
        wait_until(lambda: len({ends(cluster, name) for name in ("broker-a", "broker-a-s")}) == 1)
        with Peer(cluster.namesrv) as namesrv:
            known = namesrv.call(GetRouteInfo(topic="T", accept_standard_json_only=True)).body
        as_master = known.replace(master.address.encode(), slave.address.encode())
        assert (as_master != known, known.count(b'"perm":6')) == (True, len(names))
        cluster.fault(RequestCode.GET_ROUTEINFO_BY_TOPIC, Answer(code=0, body=as_master), where={"topic": "T"})
        cluster.record_requests()
        master.kill()
        wait_until(lambda: sum(stored(cluster, name) for name in names[1:]) == 8 + others)
        assert {stored(cluster, name) for name in names[1:]} == {1 + 8 // others}
        assert cluster.requests(RequestCode.SEND_MESSAGE_V2, server="broker-a-s") == []


def test_old_name_servers_are_asked_in_requests_that_they_know() -> None:
    """Without escape, what falls due waits for the master."""
    with EmbeddedCluster(version="5.3.3", slaves=1, time_scale=20.0, settings=ACTING) as cluster:
        with Peer(cluster.broker("broker-a").address) as peer:
            assert peer.call(send("T"), b"body").code == 0
        wait_until(lambda: len({ends(cluster, name) for name in ("broker-a", "broker-a-s")}) == 1)
        cluster.broker("broker-a").kill()
        wait_until(lambda: is_active(cluster, "broker-a-s"))
        assert route(cluster)[0] == {0: cluster.broker("broker-a-s").address}
        cluster.broker("broker-a").start()
        wait_until(lambda: not is_active(cluster, "broker-a-s"))
