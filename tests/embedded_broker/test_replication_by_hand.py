"""Both sides of replication by hand: what a master sends and when, which report counts, and when a slave reports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from embedded_broker.clock import VirtualClock
from embedded_broker.ha.master import HaMaster, SlaveConnection
from embedded_broker.ha.role import slave_refusal
from embedded_broker.release import as_version
from embedded_broker.settings import SLAVE, SYNC_MASTER, BrokerSettings
from mqctl.protocol.bodies_ha import HaRuntimeInfo
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.ha_stream import Block, BlockReader, encode_block_head, encode_report
from mqctl.protocol.requests_namesrv import NotifyMinBrokerIdChange
from mqctl.protocol.requests_v5 import GetBrokerHaStatus
from mqctl.store.disk import Disk
from mqctl.store.log_writer import CommitLogWriter
from tests.client.consuming import wait_until
from tests.each import each
from tests.embedded_broker.ha_streams import FakeMaster, exactly, until_closed
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

START_MS = 1_700_000_000_000
FILE, BATCH = 1_000, 300
HEARTBEAT_MS, SILENCE_MS, TIMEOUT_MS = 5_000, 20_000, 3_000


class Wire(asyncio.Transport):
    """The operating system's side of a connection: keeps what was written."""

    def __init__(self, port: int) -> None:
        super().__init__({"peername": ("127.0.0.1", port)})
        self.written = b""
        self.closed = ""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return bool(self.closed)

    def close(self) -> None:
        self.closed = "closed"

    def abort(self) -> None:
        self.closed = "aborted"

    def blocks(self) -> list[Block]:
        """Returns what was written since the last call."""
        data, self.written = self.written, b""
        return list(BlockReader().receive(data))


class Side:
    """A master with a log of small files, and slaves that are connected to it."""

    def __init__(self, directory: Path, version: str, **changes: Any) -> None:
        self.clock = VirtualClock(START_MS)
        self.log = CommitLogWriter(str(directory / "commitlog"), Disk(), file_bytes=FILE)
        given = {"broker_role": SYNC_MASTER, "ha_transfer_batch_size": BATCH, **changes}
        self.settings = BrokerSettings(**given)
        self.master = HaMaster(self.log, self.settings, as_version(version), self.clock)
        self.wires: dict[SlaveConnection, Wire] = {}
        self.answers: list[tuple[int, str, ResponseCode | None]] = []

    @property
    def now(self) -> int:
        return self.clock.now_ms() - START_MS

    def grow(self, size: int) -> None:
        """Appends bytes that say where they are, in pieces that fit the files."""
        while size:
            at = self.log.position
            piece = min(size, FILE - at % FILE)
            assert self.log.append_copy(content(at, piece), at)
            size -= piece

    def slave(self, *reports: int) -> SlaveConnection:
        connection = SlaveConnection(self.master)
        self.wires[connection] = Wire(len(self.wires) + 1)
        connection.connection_made(self.wires[connection])
        for report in reports:
            connection.data_received(encode_report(report))
        return connection

    def gone(self, connection: SlaveConnection) -> None:
        connection.connection_lost(None)

    def report(self, connection: SlaveConnection, position: int) -> None:
        connection.data_received(encode_report(position))

    def got(self, connection: SlaveConnection) -> list[tuple[int, int]]:
        """Returns offset and size of each block that came since the last call."""
        blocks = self.wires[connection].blocks()
        assert all(block.data == content(block.offset, len(block.data)) for block in blocks)
        return [(block.offset, len(block.data)) for block in blocks]

    def wait(self, end: int, name: str = "") -> None:
        self.master.when_replicated(end, lambda code: self.answers.append((self.now, name, code)))

    def heard(self) -> list[tuple[int, str, ResponseCode | None]]:
        answers, self.answers = self.answers, []
        return answers


def content(at: int, size: int) -> bytes:
    return bytes((number * 7 + number // 251) % 256 for number in range(at, at + size))


def looped(*versions: str, **changes: Any) -> Callable[[Callable[[Side], Awaitable[None]]], Callable[[Path], None]]:
    """Runs a test on a loop of its own, for each release."""

    def decorate(test: Callable[[Side], Awaitable[None]]) -> Callable[[Path], None]:
        def run(tmp_path: Path) -> None:
            for version in versions or ("4.9.8", "5.3.3"):

                async def whole(version: str = version) -> None:
                    await test(Side(tmp_path / version, version, **changes))

                asyncio.run(whole())

        run.__doc__ = test.__doc__
        return run

    return decorate


# What a master sends


@looped()
async def test_a_first_report_says_where_to_begin_and_nothing_means_the_last_file(side: Side) -> None:
    side.grow(2_400)
    for report, begins_at in ((0, 2_000), (2_000, 2_000), (2_399, 2_399), (1, 1)):
        slave = side.slave()
        assert (slave.acknowledged, slave.next_offset, side.got(slave)) == (-1, -1, [])
        side.report(slave, report)
        assert slave.acknowledged == report
        assert side.got(slave)[0][0] == begins_at
    assert side.got(side.slave(2_400)) == []


@looped()
async def test_blocks_follow_each_other_and_end_with_their_file(side: Side) -> None:
    side.grow(1_450)
    slave = side.slave(250)
    assert side.got(slave) == [(250, 300), (550, 300), (850, 150), (1_000, 300), (1_300, 150)]
    assert (slave.next_offset, slave.acknowledged) == (1_450, 250)
    side.grow(10)
    side.report(slave, 1_450)
    assert side.got(slave) == [], "it looks every 100 ms"
    side.clock.advance(99)
    assert side.got(slave) == []
    side.clock.advance(1)
    assert side.got(slave) == [(1_450, 10)]


@looped(ha_transfer_batch_size=10)
async def test_so_many_blocks_go_out_before_others_have_their_turn(side: Side) -> None:
    side.grow(200)
    slave = side.slave(1)
    assert side.got(slave) == [(at, 10) for at in range(1, 161, 10)]
    await asyncio.sleep(0)
    assert side.got(slave) == [(161, 10), (171, 10), (181, 10), (191, 9)]


@looped()
async def test_nothing_goes_out_while_the_system_takes_no_more(side: Side) -> None:
    side.grow(100)
    slave = side.slave(1)
    side.got(slave)
    slave.pause_writing()
    side.grow(500)
    side.clock.advance(10_000)
    assert side.got(slave) == []
    slave.resume_writing()
    assert side.got(slave) == [(100, 0), (100, 300), (400, 200)], "first the heartbeat that was due"


@looped()
async def test_silence_is_filled_by_an_empty_block(side: Side) -> None:
    side.grow(100)
    slave = side.slave(100)
    side.clock.advance(HEARTBEAT_MS)
    assert side.got(slave) == [], "more than five seconds"
    side.clock.advance(100)
    assert side.got(slave) == [(100, 0)]
    side.clock.advance(3_000)
    side.grow(1)
    side.clock.advance(100)
    assert side.got(slave) == [(100, 1)]
    side.clock.advance(HEARTBEAT_MS)
    assert side.got(slave) == []
    side.clock.advance(100)
    assert side.got(slave) == [(101, 0)]


@looped()
async def test_who_reports_nothing_for_too_long_is_left(side: Side) -> None:
    side.grow(1)
    silent, speaks = side.slave(1), side.slave(1)
    side.clock.advance(SILENCE_MS)
    assert side.wires[silent].closed == ""
    side.report(speaks, 1)
    side.clock.advance(1_000)
    assert (side.wires[silent].closed, side.wires[speaks].closed) == ("closed", "")
    side.gone(silent)
    assert list(side.master.connections) == [speaks]
    side.got(silent)
    side.clock.advance(SILENCE_MS)
    assert (side.got(silent), side.wires[speaks].closed) == ([], "closed")


@looped()
async def test_there_is_room_for_a_hundred_slaves(side: Side) -> None:
    came: list[int] = []
    side.master.on_slave = lambda: came.append(len(side.master.connections))
    slaves = [side.slave() for _ in range(101)]
    assert [side.wires[one].closed for one in slaves] == [""] * 100 + ["aborted"]
    assert came == list(range(1, 101))
    for one in slaves:
        side.gone(one)
    assert not side.master.connections


@looped()
async def test_reports_come_in_pieces_and_the_last_one_counts(side: Side) -> None:
    side.grow(500)
    slave = side.slave()
    data = encode_report(100) + encode_report(200) + encode_report(300)
    slave.data_received(data[:7])
    assert slave.acknowledged == -1
    slave.data_received(data[7:12])
    assert (slave.acknowledged, side.got(slave)) == (100, [(100, 300), (400, 100)])
    slave.data_received(data[12:])
    assert (slave.acknowledged, side.got(slave)) == (300, [])


@looped("4.9.8")
async def test_49_leaves_a_slave_that_is_ahead(side: Side) -> None:
    side.grow(500)
    slave = side.slave(501)
    assert side.wires[slave].closed == "", "the first report is a question"
    side.report(slave, 500)
    assert side.wires[slave].closed == ""
    side.report(slave, 501)
    assert (side.wires[slave].closed, side.master.pushed) == ("closed", 501)


@looped("5.3.3")
async def test_5x_keeps_a_slave_that_is_ahead(side: Side) -> None:
    side.grow(500)
    slave = side.slave(600, 600)
    assert (side.wires[slave].closed, slave.acknowledged) == ("", 600)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=8), st.integers(50, 400), st.integers(0, 900), st.booleans())
def test_whatever_the_log_gains_a_slave_gets_all_of_it_once(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int], batch: int, first: int, reports: bool
) -> None:
    async def whole() -> None:
        side = Side(tmp_path_factory.mktemp("log"), "5.3.3", ha_transfer_batch_size=batch)
        side.grow(pieces[0])
        begin = min(first, side.log.position)
        slave = side.slave(begin)
        expected = begin or side.log.position - side.log.position % FILE
        for size in pieces[1:]:
            side.grow(size)
            side.clock.advance(100)
            if reports:
                side.report(slave, slave.next_offset)
        for _ in range(40):
            await asyncio.sleep(0)
            side.clock.advance(100)
        for offset, size in side.got(slave):
            assert offset == expected and 0 < size <= batch and offset % FILE + size <= FILE
            expected += size
        assert expected == side.log.position

    asyncio.run(whole())


# What a send waits for


@each(
    "version, changes, expected",
    [
        ("4.9.8", {}, True), ("4.9.8", {"broker_role": "ASYNC_MASTER"}, False),
        ("5.3.3", {}, False), ("5.3.3", {"in_sync_replicas": 2}, True),
        ("5.3.3", {"in_sync_replicas": 2, "broker_role": "ASYNC_MASTER"}, False),
    ],
)  # fmt: skip
def test_which_sends_wait(version: str, changes: dict[str, Any], expected: bool) -> None:
    assert Side(Path("/nowhere"), version, **changes).master.waits is expected


@looped("4.9.8", ha_slave_fallbehind_max=400)
async def test_49_counts_the_highest_report_of_anybody(side: Side) -> None:
    side.grow(500)
    side.wait(100)
    assert side.heard() == [(0, "", ResponseCode.SLAVE_NOT_AVAILABLE)], "nobody is there"
    first, second = side.slave(100), side.slave(50)
    assert side.master.pushed == 100
    side.wait(100)
    assert side.heard() == [(0, "", None)]
    side.wait(499, "near")
    side.wait(500, "far")
    assert side.heard() == [(0, "far", ResponseCode.SLAVE_NOT_AVAILABLE)], "400 bytes behind are too many"
    side.report(second, 498)
    assert side.heard() == []
    side.report(second, 499)
    assert side.heard() == [(0, "near", None)]
    side.gone(second)
    side.report(first, 120)
    assert side.master.pushed == 499, "it is remembered"
    side.wait(499)
    assert side.heard() == [(0, "", None)]


@looped("5.3.3", in_sync_replicas=3)
async def test_5x_counts_as_many_slaves_as_are_wanted(side: Side) -> None:
    side.grow(500)
    first, second = side.slave(100), side.slave(200)
    side.wait(100)
    assert side.heard() == [(0, "", None)], "two have it, and the master"
    side.wait(101, "both")
    side.report(second, 500)
    assert side.heard() == []
    side.report(first, 101)
    assert side.heard() == [(0, "both", None)]
    third = side.slave(300)
    side.wait(301, "two of three")
    side.wait(302, "next")
    side.report(third, 301)
    assert side.heard() == [(0, "two of three", None)]
    side.gone(second)
    side.report(third, 500)
    assert side.heard() == [], "of those who are there only one has it"
    side.report(first, 400)
    assert side.heard() == [(0, "next", None)]
    side.gone(first)
    side.wait(1)
    assert side.heard() == [], "one alone is not enough, however far he is"


@looped(in_sync_replicas=2)
async def test_a_send_waits_so_long_and_the_oldest_gives_up_first(side: Side) -> None:
    side.grow(500)
    slave = side.slave(100)
    side.got(slave)
    for name in ("first", "second"):
        side.wait(500, name)
        side.clock.advance(1_000)
    side.clock.advance(999)
    assert side.heard() == []
    side.clock.advance(1)
    assert side.heard() == [(TIMEOUT_MS, "first", ResponseCode.FLUSH_SLAVE_TIMEOUT)]
    side.report(slave, 500)
    assert side.heard() == [(TIMEOUT_MS, "second", None)]
    side.clock.advance(10_000)
    assert side.heard() == [], "each is answered once"


@looped(in_sync_replicas=2)
async def test_a_send_that_waits_has_its_bytes_sent_at_once(side: Side) -> None:
    side.grow(100)
    slave = side.slave(100)
    side.grow(50)
    side.wait(150)
    assert side.got(slave) == [(100, 50)]


@looped(in_sync_replicas=2)
async def test_a_master_that_stops_answers_nobody_more(side: Side) -> None:
    side.grow(100)
    slave = side.slave(50)
    side.wait(100)
    await side.master.close()
    assert side.wires[slave].closed == "aborted"
    side.clock.advance(10_000)
    side.gone(slave)
    assert side.heard() == []


# What a slave says, and refuses


@pytest.fixture
def fake() -> Iterator[FakeMaster]:
    master = FakeMaster()
    yield master
    master.close()


def linked(cluster: EmbeddedCluster, fake: FakeMaster) -> Any:
    connection = fake.accept()
    connection.settimeout(5)
    own, slave = connection.getpeername(), cluster.broker("broker-a-s")
    while slave.on_loop(lambda broker: broker.replication.slave and broker.replication.slave.local) != own:
        pass
    return connection


def has(cluster: EmbeddedCluster) -> tuple[int, int]:
    """Returns where the slave's log ends, and what it reported last."""

    def look(broker: Broker) -> tuple[int, int]:
        slave = broker.replication.slave
        assert slave is not None
        return slave.log.end, slave.reported

    return cluster.broker("broker-a-s").on_loop(look)


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
@pytest.mark.both_releases
def test_a_slave_reports_what_it_has_and_again_after_five_seconds(version: str, fake: FakeMaster) -> None:
    changes = {"haMasterAddress": fake.address, "mappedFileSizeCommitLog": "1024"}
    with (
        EmbeddedCluster(
            version=version, slaves=1, virtual_time=True, starts_at_ms=START_MS, settings=changes
        ) as cluster,
        linked(cluster, fake) as connection,
    ):
        if version == "4.9.8":
            cluster.advance(HEARTBEAT_MS)
            connection.settimeout(0.05)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.settimeout(5)
            cluster.advance(1)
        assert exactly(connection, 8) == encode_report(0)
        for offset, size in ((2_048, 1_000), (3_048, 24), (3_072, 1)):  # an empty log begins where the master says
            connection.sendall(encode_block_head(offset, size) + bytes(size))
            assert exactly(connection, 8) == encode_report(offset + size)
        assert has(cluster) == (3_073, 3_073)
        connection.sendall(encode_block_head(3_073, 0))
        wait_until(lambda: has(cluster) == (3_073, 3_073))
        cluster.advance(HEARTBEAT_MS + 1)
        assert exactly(connection, 8) == encode_report(3_073)
        connection.sendall(encode_block_head(3_072, 1) + b"x")
        assert b"".join(until_closed(connection)) == b"", "that was there already"
        assert has(cluster) == (3_073, 3_073)


def test_a_slave_that_refused_twice_comes_back_after_five_seconds(fake: FakeMaster) -> None:
    changes = {"haMasterAddress": fake.address}
    with EmbeddedCluster(slaves=1, virtual_time=True, starts_at_ms=START_MS, settings=changes) as cluster:
        for refusal in range(3):
            with linked(cluster, fake) as connection:
                connection.sendall(encode_block_head(0, -1))
                assert b"".join(until_closed(connection)) == b""
            if refusal:
                cluster.advance(4_999)
                assert not fake.is_asked()
                cluster.advance(1)
        with linked(cluster, fake) as connection:
            connection.sendall(encode_block_head(0, 10) + bytes(10))
            assert exactly(connection, 8) == encode_report(10)
            connection.sendall(encode_block_head(0, 10) + bytes(10))
            assert b"".join(until_closed(connection)) == b""
        with linked(cluster, fake):
            assert has(cluster) == (10, 10), "at once, since something was taken between"


@each("version, code, slave_reads, acts, refused", [
    ("4.9.8", RequestCode.END_TRANSACTION, False, False, ResponseCode.SLAVE_NOT_AVAILABLE),
    ("5.3.3", RequestCode.END_TRANSACTION, True, True, ResponseCode.SLAVE_NOT_AVAILABLE),
    *[("4.9.8", code, False, False, ResponseCode.SYSTEM_ERROR) for code in (
        RequestCode.UPDATE_AND_CREATE_TOPIC, RequestCode.DELETE_TOPIC_IN_BROKER,
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, RequestCode.DELETE_SUBSCRIPTIONGROUP)],
    ("4.9.8", RequestCode.SEND_MESSAGE, False, False, None),  # the store refuses it
    ("4.9.8", RequestCode.PULL_MESSAGE, False, False, None),
    ("4.9.8", RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, False, False, None),
    *[("5.3.3", code, True, False, ResponseCode.SYSTEM_BUSY) for code in (
        RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.CONSUMER_SEND_MSG_BACK)],
    ("5.3.3", RequestCode.SEND_MESSAGE, False, True, None),
    ("5.3.3", RequestCode.PULL_MESSAGE, False, True, ResponseCode.SYSTEM_BUSY),
    ("5.3.3", RequestCode.LITE_PULL_MESSAGE, False, False, ResponseCode.SYSTEM_BUSY),
    ("5.3.3", RequestCode.PULL_MESSAGE, True, False, None),
    ("5.3.3", RequestCode.UPDATE_AND_CREATE_TOPIC, True, True, None),
    ("5.3.3", RequestCode.QUERY_CONSUMER_OFFSET, False, False, None),
    ("5.3.3", RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, True, True, ResponseCode.SYSTEM_ERROR),
])  # fmt: skip
def test_what_a_slave_refuses(
    version: str, code: int, slave_reads: bool, acts: bool, refused: ResponseCode | None
) -> None:
    own = BrokerSettings(broker_role=SLAVE, slave_read_enable=slave_reads, enable_slave_acting_master=acts)
    refusal = slave_refusal(code, own, as_version(version))
    assert (None if refusal is None else refusal.code) == refused


@pytest.mark.parametrize(("version", "first_ms", "period_ms"), [("4.9.8", 3_000, 10_000), ("5.3.3", 60_000, 60_000)])
@pytest.mark.both_releases
def test_a_slave_asks_for_the_tables_at_these_moments(version: str, first_ms: int, period_ms: int) -> None:
    codes = {
        RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ALL_DELAY_OFFSET,
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    }  # fmt: skip
    with EmbeddedCluster(version=version, slaves=1, virtual_time=True, starts_at_ms=START_MS) as cluster:
        cluster.record_requests()

        def asked(code: int) -> int:
            return len(cluster.requests(code, server="broker-a"))

        cluster.advance(first_ms - 1)
        assert {asked(code) for code in codes} == {0}
        cluster.advance(1)
        wait_until(lambda: {asked(code) for code in codes} == {1})
        with Peer(cluster.broker("broker-a").address) as peer:
            assert peer.call(send("New"), b"x").code == 0
        cluster.advance(period_ms - 1)
        slave = cluster.broker("broker-a-s")
        assert {asked(code) for code in codes} == {1}
        assert slave.on_loop(lambda broker: broker.topics.find("New")) is None
        cluster.advance(1)
        wait_until(lambda: {asked(code) for code in codes} == {2})
        wait_until(lambda: slave.on_loop(lambda broker: broker.topics.find("New")) is not None)


# Who acts, and what 907 says


@pytest.fixture(scope="module")
def acting() -> Iterator[EmbeddedCluster]:
    changes = {"enableSlaveActingMaster": "true", "brokerHeartbeatInterval": "100000000"}
    changes["syncBrokerMemberGroupPeriod"] = "100000000"
    with EmbeddedCluster(
        version="5.3.3", slaves=2, virtual_time=True, starts_at_ms=START_MS, settings=changes
    ) as cluster:
        yield cluster


MASTER, HA, OTHER = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"


@each(
    "notice, acts, master, ha",
    [
        # each is told to the slave with id 1 after it heard of a master with id 0 at MASTER and HA
        ((1, "own", None, None), True, None, ""),
        ((2, OTHER, None, None), False, MASTER, HA),
        ((2, OTHER, MASTER, None), False, None, ""),
        ((0, OTHER, None, None), False, OTHER, HA),
        ((0, OTHER, None, "127.0.0.1:4"), False, OTHER, "127.0.0.1:4"),
        ((0, MASTER, None, "127.0.0.1:4"), False, MASTER, HA),
    ],
)
def test_a_slave_stands_in_when_it_has_the_lowest_id(
    acting: EmbeddedCluster, notice: tuple[int, str, str | None, str | None], acts: bool, master: str | None, ha: str
) -> None:
    slave = acting.broker("broker-a-s")

    def tell(broker_id: int, address: str, gone: str | None, ha_address: str | None) -> None:
        own = slave.address if address == "own" else address
        request = NotifyMinBrokerIdChange(
            min_broker_id=broker_id, broker_name="broker-a", min_broker_addr=own, offline_broker_addr=gone,
            ha_broker_addr=ha_address,
        )  # fmt: skip
        with Peer(slave.address, version=479) as peer:
            assert peer.call(request).code == 0

    def state(broker: Broker) -> tuple[bool, str | None, str]:
        replication = broker.replication
        assert replication.copier is not None and replication.slave is not None
        return broker.membership.is_acting, replication.copier.master, replication.slave.address

    tell(0, OTHER, None, None)
    tell(0, MASTER, None, HA)
    assert slave.on_loop(state) == (False, MASTER, HA)
    tell(*notice)
    assert slave.on_loop(state) == (acts, master, ha)


def test_slaves_leave_a_master_that_is_gone_and_follow_it_when_it_is_back() -> None:
    changes = {"enableSlaveActingMaster": "true", "registerNameServerPeriod": "10000"}
    with EmbeddedCluster(version="5.3.3", slaves=2, virtual_time=True, settings=changes) as cluster:

        def state(broker: Broker) -> tuple[bool, str | None]:
            copier = broker.replication.copier
            assert copier is not None
            return broker.membership.is_acting, copier.master

        def states() -> list[tuple[bool, str | None]]:
            cluster.advance(1_000)
            return [cluster.broker(name).on_loop(state) for name in ("broker-a-s", "broker-a-s2")]

        master = cluster.broker("broker-a").address
        wait_until(lambda: states() == [(False, master)] * 2)
        cluster.broker("broker-a").kill()
        wait_until(lambda: states() == [(True, None), (False, None)])
        cluster.broker("broker-a").start()
        wait_until(lambda: states() == [(False, cluster.broker("broker-a").address)] * 2)


def test_both_sides_go_online_when_they_are_connected(caplog: pytest.LogCaptureFixture) -> None:
    """Neither waits for the other in vain, which would be ten seconds."""
    changes = {"enableSlaveActingMaster": "true", "totalReplicas": "2"}
    with EmbeddedCluster(version="5.3.3", slaves=1, time_scale=20.0, settings=changes) as cluster:
        cluster.broker("broker-a").restart()
        slave = cluster.broker("broker-a-s")

        def is_linked(broker: Broker) -> bool:
            return broker.replication.slave is not None and broker.replication.slave.local is not None

        wait_until(lambda: slave.on_loop(is_linked))
    assert not [record for record in caplog.records if "has connected" in record.msg]


@each("behind, in_sync", [(0, True), ((256 << 20) - 1, True), (256 << 20, False)])
def test_907_tells_what_a_slave_said_and_how_far_it_is_behind(behind: int, in_sync: bool) -> None:
    with EmbeddedCluster(version="5.3.3", virtual_time=True) as cluster:
        with Peer(cluster.broker().address, version=479) as peer:
            assert peer.call(send("T"), b"x").code == 0

            def connect(broker: Broker) -> int:
                one = SlaveConnection(broker.replication.master)
                one.peer, one.next_offset = "127.0.0.1:7", 77
                one.acknowledged = broker.storage.log.position - behind
                broker.replication.master.connections[one] = None
                return broker.storage.log.position

            end = cluster.broker().on_loop(connect)
            seen = HaRuntimeInfo.from_bytes(peer.call(GetBrokerHaStatus()).body)
        (one,) = seen.ha_connection_info
        assert (one.addr, one.diff, one.in_sync) == ("127.0.0.1:7", behind, in_sync)
        assert (one.slave_ack_offset, one.transfer_from_where) == (end - behind, 77)
        assert (seen.in_sync_slave_nums, seen.master_commit_log_max_offset) == (int(in_sync), end)
