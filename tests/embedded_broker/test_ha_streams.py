"""Streams recorded between real masters and slaves, played against the embedded master and the embedded slave."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import partial

import pytest

from embedded_broker import EmbeddedBroker, EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.protocol.ha_stream import Block, encode_block_head
from tests.embedded_broker.ha_streams import FILE_BYTES, FakeMaster, Recorded, exactly, recorded, until_closed

SMALL_FILES = {"mappedFileSizeCommitLog": str(FILE_BYTES)}


@pytest.fixture
def fake() -> Iterator[FakeMaster]:
    master = FakeMaster()
    yield master
    master.close()


@pytest.mark.parametrize(
    "name",
    [
        "4.9.8-03-slave_empty_store",
        "4.9.8-05-slave_empty_many_files",
        "5.3.3-02-slave_empty_store",
        "5.3.3-04-slave_empty_many_files",
    ],
)
def test_the_slave_reports_as_the_real_one_did_and_has_its_bytes(name: str, fake: FakeMaster) -> None:
    stream = recorded(name)
    settings = {**SMALL_FILES, "haMasterAddress": fake.address}
    with EmbeddedCluster(version=stream.release, slaves=1, virtual_time=True, settings=settings) as cluster:
        with _linked(cluster, fake) as connection:
            reports = _play_to_slave(cluster, connection, stream)
        assert reports == stream.to_master
        slave = cluster.broker("broker-a-s")
        for block in stream.blocks:
            assert slave.on_loop(partial(_read, block)) == block.data
        end = stream.blocks[-1].offset + len(stream.blocks[-1].data)
        assert slave.on_loop(lambda broker: (broker.storage.log.position, broker.replication.behind_bytes)) == (end, 0)


def _read(block: Block, broker: Broker) -> bytes:
    return broker.storage.log.read(block.offset, len(block.data))


def _linked(cluster: EmbeddedCluster, fake: FakeMaster) -> socket.socket:
    """Accepts the slave's next connection; time goes on only when it stands on both sides."""
    connection = fake.accept()
    own = connection.getpeername()
    slave = cluster.broker("broker-a-s")
    while slave.on_loop(lambda broker: broker.replication.slave and broker.replication.slave.local) != own:
        pass
    return connection


def _play_to_slave(cluster: EmbeddedCluster, connection: socket.socket, stream: Recorded) -> bytes:
    """Sends what the master sent, at its times, and returns what the slave reports."""
    began, got = cluster.now_ms(), b""
    for kind, ms, place, offset, size in stream.decoded:
        ahead = began + int(ms) + 1 - cluster.now_ms()
        if ahead > 0:
            cluster.advance(ahead)
        if kind == "report":
            got += exactly(connection, 8)
        else:
            head = encode_block_head(offset, size)
            assert stream.to_slave[place : place + 12] == head
            connection.sendall(head + stream.to_slave[place + 12 : place + 12 + size])
    return got


@pytest.mark.parametrize(
    "name",
    ["4.9.8-05-slave_empty_many_files", "4.9.8-20-restart_after_kill9", "5.3.3-04-slave_empty_many_files"],
)
def test_the_master_sends_the_blocks_that_the_real_one_sent(name: str) -> None:
    stream = recorded(name)
    with EmbeddedCluster(version=stream.release, virtual_time=True, settings=SMALL_FILES) as cluster:
        broker = cluster.broker()
        for block in stream.blocks:
            _append(broker, block.offset, block.data)
        began = cluster.now_ms()
        with _to_ha_port(broker) as connection:
            for kind, ms, place, _offset, _size in stream.decoded:
                cluster.advance(max(1, began + int(ms) - cluster.now_ms()))
                if kind == "report":
                    connection.sendall(stream.to_master[place : place + 8])
                    _heard(broker, stream.to_master[place : place + 8])
            cluster.advance(200)  # it looks every 100 ms whether a heartbeat is due
            assert exactly(connection, len(stream.to_slave)) == stream.to_slave


def _append(broker: EmbeddedBroker, offset: int, data: bytes) -> None:
    assert broker.on_loop(lambda running: running.storage.log.append_copy(data, offset))


def _to_ha_port(broker: EmbeddedBroker) -> socket.socket:
    port = broker.on_loop(lambda running: running.settings.ha_listen_port)
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    while not broker.on_loop(lambda running: len(running.replication.master.connections)):
        pass
    return connection


def _heard(broker: EmbeddedBroker, report: bytes) -> None:
    wanted = int.from_bytes(report, "big", signed=True)
    while True:
        acks = broker.on_loop(lambda running: [one.acknowledged for one in running.replication.master.connections])
        if wanted in acks or not acks:
            return


def test_an_http_probe_is_a_report_and_an_idle_one_is_dropped_after_20_s() -> None:
    """4.9.8 then takes any connection for a slave that has everything."""
    stream = recorded("4.9.8-02-sync_probe_http")
    with EmbeddedCluster(virtual_time=True) as cluster:
        broker = cluster.broker()
        with _to_ha_port(broker) as connection:
            connection.sendall(stream.to_master)
            _heard(broker, stream.to_master[8:16])
            assert broker.on_loop(lambda running: running.replication.master.pushed) == 6_075_407_785_597_603_082
            cluster.advance(5_100)
            assert exactly(connection, 12) == stream.to_slave
            cluster.advance(20_000)
            assert set(_in_twelves(b"".join(until_closed(connection)))) == {stream.to_slave}


def _in_twelves(data: bytes) -> list[bytes]:
    return [data[at : at + 12] for at in range(0, len(data), 12)]


def test_a_master_of_49_closes_on_a_slave_that_is_ahead_and_53_does_not() -> None:
    for version in ("4.9.8", "5.3.3"):
        with EmbeddedCluster(version=version, virtual_time=True) as cluster:
            broker = cluster.broker()
            _append(broker, 0, b"x" * 100)
            with _to_ha_port(broker) as connection:
                for _ in range(2):
                    connection.sendall((480_996).to_bytes(8, "big"))
                    _heard(broker, (480_996).to_bytes(8, "big"))
                    cluster.advance(5_100)
                if version == "4.9.8":
                    heartbeats = b"".join(until_closed(connection))
                    assert heartbeats == encode_block_head(480_996, 0)
                else:
                    assert exactly(connection, 24) == encode_block_head(480_996, 0) * 2


@pytest.mark.parametrize("wrong", [encode_block_head(77, 3) + b"abc", encode_block_head(100, -1)])
def test_the_slave_leaves_a_master_whose_block_does_not_follow(fake: FakeMaster, wrong: bytes) -> None:
    settings = {**SMALL_FILES, "haMasterAddress": fake.address}
    with EmbeddedCluster(slaves=1, virtual_time=True, settings=settings) as cluster:
        with _linked(cluster, fake) as connection:
            cluster.advance(5_100)
            assert exactly(connection, 8) == bytes(8)
            connection.sendall(encode_block_head(0, 100) + b"y" * 100)
            assert exactly(connection, 8) == (100).to_bytes(8, "big")
            connection.sendall(wrong)
            assert b"".join(until_closed(connection)) == b""
        with _linked(cluster, fake) as again:  # 4.9 comes back at once
            cluster.advance(5_100)
            assert exactly(again, 8) == (100).to_bytes(8, "big")


def test_a_block_that_fits_no_file_of_the_slave_stops_it_there_for_ever(fake: FakeMaster) -> None:
    """A master with other file sizes: the next block does not follow, and every new try ends alike."""
    settings = {"mappedFileSizeCommitLog": "98304", "haMasterAddress": fake.address}
    with EmbeddedCluster(slaves=1, virtual_time=True, settings=settings) as cluster:
        for begin in (0, 90_000):
            with _linked(cluster, fake) as connection:
                cluster.advance(5_100)
                assert exactly(connection, 8) == begin.to_bytes(8, "big")
                if not begin:
                    connection.sendall(encode_block_head(0, 90_000) + b"y" * 90_000)
                    assert exactly(connection, 8) == (90_000).to_bytes(8, "big")
                connection.sendall(encode_block_head(90_000, 10_000) + b"z" * 10_000)
                connection.sendall(encode_block_head(100_000, 10) + b"z" * 10)
                assert b"".join(until_closed(connection)) == b""
