"""Streams recorded between real masters and slaves, played against the embedded master and the embedded slave."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from functools import partial

import pytest

from embedded_broker import EmbeddedBroker, EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.protocol.ha_stream import Block, encode_block_head
from tests.embedded_broker.ha_streams import (
    FILE_BYTES,
    FakeMaster,
    Recorded,
    exactly,
    recorded,
    recordings,
    until_closed,
)

SMALL_FILES = {"mappedFileSizeCommitLog": str(FILE_BYTES)}


@pytest.fixture
def fake() -> Iterator[FakeMaster]:
    master = FakeMaster()
    yield master
    master.close()


# Who connected was no slave, or never reported.
STRANGERS = {
    "4.9.8-01-sync_probe_open",
    "4.9.8-02-sync_probe_http",
    "4.9.8-14-different_file_size",
    "4.9.8-19-kill9_under_traffic",
    "4.9.8-24-probe_then_idle_socket",
    "4.9.8-25-probe_then_idle_socket",
    "4.9.8-27-slave_short_report",
    "4.9.8-29-mqadmin_master_dead",
    "5.3.3-01-probe",
}
OTHER_FILE_SIZE = {"4.9.8-12-different_file_size", "4.9.8-13-different_file_size"}
AHEAD = {"4.9.8-21-slave_really_ahead", "4.9.8-22-slave_really_ahead"}
SLAVES = sorted(set(recordings()) - STRANGERS)


@pytest.mark.parametrize("name", SLAVES)
def test_the_slave_reports_as_the_real_one_did_and_has_its_bytes(name: str, fake: FakeMaster) -> None:
    stream = recorded(name)
    file_bytes = 98_304 if name in OTHER_FILE_SIZE else FILE_BYTES
    settings = {"mappedFileSizeCommitLog": str(file_bytes), "haMasterAddress": fake.address}
    with EmbeddedCluster(version=stream.release, slaves=1, virtual_time=True, settings=settings) as cluster:
        if stream.first_report:
            _fill_slave(cluster, fake, stream, file_bytes)
        with _linked(cluster, fake) as connection:
            assert _play_to_slave(cluster, connection, stream) == stream.to_master
            if name in OTHER_FILE_SIZE:  # the block after the one that fits no file does not follow
                assert b"".join(until_closed(connection)) == b""
        slave = cluster.broker("broker-a-s")
        end = max(part.offset for part in stream.parts if part.kind == "report")
        for block in stream.blocks:
            if block.offset < end:
                assert slave.on_loop(partial(_read, block)) == block.data
        assert slave.on_loop(lambda broker: broker.storage.log.position) == end


def _read(block: Block, broker: Broker) -> bytes:
    return broker.storage.log.read(block.offset, len(block.data))


def _fill_slave(cluster: EmbeddedCluster, fake: FakeMaster, stream: Recorded, file_bytes: int) -> None:
    """Gives the slave, by a connection before, a log that ends where its first recorded report says."""
    end = stream.first_report
    begin = (end - 1) - (end - 1) % file_bytes
    with _linked(cluster, fake) as connection:
        if stream.release == "4.9.8":  # later releases report at once
            cluster.advance(5_001)
        assert exactly(connection, 8) == bytes(8)
        connection.sendall(encode_block_head(begin, end - begin) + b"x" * (end - begin))
        assert exactly(connection, 8) == end.to_bytes(8, "big")
    if stream.release == "5.3.3":  # it looks for its master again after 5 s
        slave = cluster.broker("broker-a-s")
        while slave.on_loop(lambda broker: broker.replication.slave and broker.replication.slave.local):
            pass
        cluster.advance(5_001)


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
    for part in stream.parts:
        ahead = began + part.ms + 1 - cluster.now_ms()
        if ahead > 0:
            cluster.advance(ahead)
        if part.kind == "report":
            got += exactly(connection, 8)
            continue
        try:
            connection.sendall(stream.sent_by_master(part))
        except (BrokenPipeError, ConnectionResetError):  # the slave left
            break
    return got


@pytest.mark.parametrize("name", SLAVES)
def test_the_master_sends_what_the_real_one_sent(name: str) -> None:
    stream = recorded(name)
    with EmbeddedCluster(version=stream.release, virtual_time=True, settings=SMALL_FILES) as cluster:
        broker = cluster.broker()
        end = stream.first_report - (15_000 if name in AHEAD else 0)
        if end:
            begin = (end - 1) - (end - 1) % FILE_BYTES
            _append(broker, begin, b"x" * (end - begin))
        with _to_ha_port(broker) as connection:
            assert _play_to_master(cluster, connection, stream) == stream.to_slave
            if name in AHEAD:
                assert b"".join(until_closed(connection)) == b""


def _play_to_master(cluster: EmbeddedCluster, connection: socket.socket, stream: Recorded) -> bytes:
    """Reports as the slave did, lets the log grow as it did, at the recorded times; returns what the master sends."""
    broker, bursts, got, last_ms = cluster.broker(), stream.bursts, b"", 0
    for part, frozen in zip(stream.parts, stream.is_frozen, strict=True):
        if not frozen:
            cluster.advance(max(1, part.ms - last_ms))
        last_ms = part.ms
        if bursts and part.ms >= bursts[0].due_ms:
            for piece in bursts.pop(0).pieces:
                _append(broker, piece.offset, piece.data)
        if part.kind == "report":
            connection.sendall(stream.sent_by_slave(part))
            _heard(broker, stream.sent_by_slave(part))
        else:
            got += _next_from_master(cluster, connection, 12 + part.size)
    return got


def _next_from_master(cluster: EmbeddedCluster, connection: socket.socket, size: int) -> bytes:
    """Waits, as long as a heartbeat may take; it looks for new data, and whether a heartbeat is due, every 100 ms."""
    for _ in range(60):
        if select.select([connection], [], [], 0)[0]:
            return exactly(connection, size)
        cluster.advance(100)
    raise AssertionError("nothing more came from the master")


@pytest.mark.parametrize("name", sorted(STRANGERS))
def test_who_is_no_slave_gets_what_the_real_master_gave(name: str) -> None:
    stream = recorded(name)
    closer, closed_ms = stream.closed
    with EmbeddedCluster(version=stream.release, virtual_time=True) as cluster:
        broker = cluster.broker()
        with _to_ha_port(broker) as connection:
            if stream.to_master:
                connection.sendall(stream.to_master)
                if stream.parts:
                    _heard(broker, stream.to_master[len(stream.to_master) // 8 * 8 - 8 :][:8])
            cluster.advance(closed_ms + (1_000 if closed_ms > 20_000 else 100))
            got = exactly(connection, len(stream.to_slave))
            if closer == "server" and closed_ms >= 20_000:
                got += b"".join(until_closed(connection))
            else:
                assert not select.select([connection], [], [], 0)[0]
            assert got == stream.to_slave


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
