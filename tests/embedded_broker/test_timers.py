"""Timer messages of the embedded broker as 5.3.3: when they arrive, what they leave in the files, what kills take."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.model.java_hash import java_string_hash
from mqctl.model.message import Message
from mqctl.model.names import TIMER_TOPIC
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.recall_handle import RecallHandle
from mqctl.protocol.requests_admin import GetBrokerRuntimeInfo
from mqctl.protocol.requests_client import RecallMessage
from mqctl.protocol.requests_v5 import GetTimerCheckPoint
from mqctl.store.layouts import TIMER_CHECK
from mqctl.store.timer import chain, read_timer_check, timer_log, used_slots
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer

SECOND = 1_000
DAY = 86_400 * SECOND

RECALLS = {"recallMessageEnable": "true"}  # off by default


@pytest.fixture
def five() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(virtual_time=True, version="5.3.3", settings=RECALLS) as cluster:
        on_the_second(cluster)
        yield cluster


@pytest.fixture
def peer(five: EmbeddedCluster) -> Iterator[Peer]:
    with Peer(five.broker().address) as peer:
        yield peer


def on_the_second(cluster: EmbeddedCluster) -> None:
    cluster.advance(SECOND - cluster.now_ms() % SECOND)


def arrived(peer: Peer, topic: str = "T", offset: int = 0) -> list[Message]:
    return decode_messages(peer.call(pull(topic, offset)).body)


def test_each_way_to_say_when(five: EmbeddedCluster, peer: Peer) -> None:
    now = five.now_ms()
    wishes = {"TIMER_DELAY_SEC": "2", "TIMER_DELAY_MS": "3000", "TIMER_DELIVER_MS": str(now + 4_500)}
    for name, value in wishes.items():
        answer = peer.call(send("T", properties={name: value, "TAGS": "TagA"}), name.encode())
        assert (answer.code, answer.ext("queueId")) == (0, "0")
    waiting = arrived(peer, TIMER_TOPIC)
    assert [int(message.properties["TIMER_OUT_MS"]) - now for message in waiting] == [1_000, 2_000, 4_000]
    assert {message.properties["REAL_TOPIC"] for message in waiting} == {"T"}
    seen = []
    for _ in range(6):
        five.advance(SECOND)
        seen.append([message.body.decode() for message in arrived(peer)])
    first, second, third = wishes
    assert seen == [[], [first], [first, second], [first, second], [first, second, third], [first, second, third]]
    delivered = arrived(peer)[2]
    assert delivered.tags == "TagA"
    assert delivered.properties["TIMER_DEQUEUE_MS"] == str(now + 5_000)
    assert int(delivered.properties["TIMER_ENQUEUE_MS"]) <= now + 1_000
    assert delivered.properties["TIMER_DELIVER_MS"] == str(now + 4_500)


def test_what_is_due_already_goes_straight_through(five: EmbeddedCluster, peer: Peer) -> None:
    peer.call(send("T", properties={"TIMER_DELIVER_MS": str(five.now_ms() - 1)}), b"late")
    assert [message.body for message in arrived(peer)] == [b"late"]


def test_a_delay_level_wins(five: EmbeddedCluster, peer: Peer) -> None:
    peer.call(send("T", properties={"DELAY": "1", "TIMER_DELAY_SEC": "3600"}), b"level")
    five.advance(3 * SECOND)
    (message,) = arrived(peer)
    assert "TIMER_DELAY_SEC" not in message.properties


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_DELAY_SEC": "soon"},
        {"TIMER_DELAY_SEC": str(3 * 86_400 + 1)},
        {"TIMER_DELIVER_MS": "9" * 30},
        {"TIMER_DELIVER_MS": "1", "TIMER_DEL_UNIQKEY": "T+K"},
    ],
)
def test_times_that_are_none(peer: Peer, properties: dict[str, str]) -> None:
    answer = peer.call(send("T", properties=properties), b"x")
    assert (answer.code, "timer message illegal" in (answer.remark or "")) == (ResponseCode.MESSAGE_ILLEGAL, True)


def test_an_empty_time_is_no_property_and_asks_for_nothing(peer: Peer) -> None:
    """Text of properties is read without pairs that lack a value (`MessageDecoder.string2messageProperties`)."""
    answer = peer.call(send("T", properties={"TIMER_DELAY_MS": "", "KEYS": "k"}), b"x")
    assert (answer.code, answer.ext("recallHandle")) == (0, None)
    assert peer.call(pull("T", 0)).code == 0


def test_without_a_wheel_they_are_refused_and_4_9_knows_none() -> None:
    timed = send("T", properties={"TIMER_DELAY_SEC": "5"})
    with (
        EmbeddedCluster(version="5.3.3", settings={"timerWheelEnable": "false"}) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        answer = peer.call(timed, b"x")
        assert (answer.code, "timerWheelEnable" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer:
        assert peer.call(timed, b"x").code == 0
        assert len(arrived(peer)) == 1


def test_a_delete_marker_takes_a_message_of_its_slot_away(five: EmbeddedCluster, peer: Peer) -> None:
    at = str(five.now_ms() + 5_000)
    peer.call(send("T", properties={"TIMER_DELIVER_MS": at, "UNIQ_KEY": "K1"}), b"recalled")
    peer.call(send("T", properties={"TIMER_DELIVER_MS": at, "UNIQ_KEY": "K2"}), b"kept")
    peer.call(send("T", properties={"TIMER_DELIVER_MS": at, "UNIQ_KEY": "K3", "TIMER_DEL_UNIQKEY": "T+K1"}), b"marker")
    five.advance(7 * SECOND)
    assert [message.body for message in arrived(peer)] == [b"kept"]


def test_the_timer_log_goes_with_the_commit_log(tmp_path: Path) -> None:
    settings = {**RECALLS, "mappedFileSizeTimerLog": str(10 * 52 + 16), "mappedFileSizeCommitLog": "8192"}
    with EmbeddedCluster(virtual_time=True, version="5.3.3", settings=settings, data_dir=tmp_path) as cluster:
        on_the_second(cluster)
        with Peer(cluster.broker().address) as peer:
            for number in range(60):
                assert peer.call(send("T", properties={"TIMER_DELAY_SEC": "2"}), b"%d" % number).code == 0
            cluster.advance(4 * SECOND)
            files = sorted(tmp_path.glob("*/timerlog/*"))
            assert len(files) == 6
            last = peer.call(send("T", properties={"TIMER_DELAY_SEC": "60"}), b"waits")
            assert last.code == 0
            cluster.advance(2 * SECOND)
            cluster.broker().on_loop(lambda broker: broker.storage.retention.delete_all_but_the_newest(2))
            cluster.advance(30 * SECOND)
            kept = sorted(tmp_path.glob("*/timerlog/*"))
            assert kept == [*kept[:-1], tmp_path / "broker-a" / "timerlog" / f"{6 * 536:020d}"]
            assert len(kept) < len(files)
            cluster.advance(40 * SECOND)
            assert arrived(peer, "T", 60)[-1].body == b"waits"


def test_recalls_are_off_unless_the_broker_allows_them() -> None:
    with EmbeddedCluster(version="5.3.3") as cluster, Peer(cluster.broker().address) as peer:
        answer = peer.call(recall("handle"))
        assert (answer.code, answer.remark) == (ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
        assert answer.ext("MSG_REGION") == "DefaultRegion"


def recall(handle: str, topic: str = "T") -> RecallMessage:
    return RecallMessage(topic=topic, recall_handle=handle, producer_group="GP")


def test_a_waiting_message_can_be_recalled(five: EmbeddedCluster, peer: Peer) -> None:
    out_ms = five.now_ms() + 4_000
    sent = peer.call(send("T", properties={"TIMER_DELAY_SEC": "5", "UNIQ_KEY": "K1"}), b"recalled")
    peer.call(send("T", properties={"TIMER_DELAY_SEC": "5", "UNIQ_KEY": "K2"}), b"kept")
    handle = sent.ext("recallHandle") or ""
    assert b64decode(handle) == f"v1 T broker-a {out_ms + 1} K1".encode()
    answer = peer.call(recall(handle))
    assert (answer.code, answer.ext("msgId")) == (0, "K1")
    five.advance(7 * SECOND)
    assert [message.body for message in arrived(peer)] == [b"kept"]
    late = peer.call(recall(handle))
    assert (late.code, late.remark) == (ResponseCode.ILLEGAL_OPERATION, "recall failed, timestamp invalid")
    assert peer.call(send("T"), b"x").ext("recallHandle") is None


def test_handles_as_a_real_broker_writes_them() -> None:
    text = "djEgVG9waWNEZWxheSBicm9rZXItYSAxNzk1MjE5MTQ1MDAxIEMwMDAwMjAyM0VENDRFMEUyRjJBNjZGREZCMDkwMDE2"
    handle = RecallHandle.parse(text)
    assert handle == RecallHandle("TopicDelay", "broker-a", 1_795_219_145_001, "C00002023ED44E0E2F2A66FDFB090016")
    assert str(handle) == text


@pytest.mark.parametrize(
    ("handle", "code"),
    [
        ("", ResponseCode.ILLEGAL_OPERATION),
        ("no base64!", ResponseCode.ILLEGAL_OPERATION),
        ("\u00e4", ResponseCode.ILLEGAL_OPERATION),
        (str(RecallHandle("Other", "broker-a", 1, "K")), ResponseCode.ILLEGAL_OPERATION),
        (str(RecallHandle("T", "broker-b", 1, "K")), ResponseCode.ILLEGAL_OPERATION),
    ],
)
def test_handles_that_are_none(peer: Peer, handle: str, code: int) -> None:
    peer.call(send("T"), b"x")
    assert peer.call(recall(handle)).code == code
    assert peer.call(recall(handle, topic="Missing")).code == ResponseCode.TOPIC_NOT_EXIST


def test_where_the_wheel_stands_can_be_asked(five: EmbeddedCluster, peer: Peer) -> None:
    peer.call(send("T", properties={"TIMER_DELAY_SEC": "500"}), b"x")
    five.advance(3 * SECOND)
    body = peer.call(GetTimerCheckPoint()).body
    read_ms, log_pos, offset, master_offset, *_ = TIMER_CHECK.unpack(body)
    assert (read_ms, log_pos, offset, master_offset) == (five.now_ms(), 52, 1, 1)
    table = KVTable.from_bytes(peer.call(GetBrokerRuntimeInfo()).body).table
    assert (table["timerReadBehind"], table["timerOffsetBehind"]) == ("0", "0")


def test_far_messages_are_rolled() -> None:
    settings = {**RECALLS, "timerRollWindowSlot": "30"}
    with (
        EmbeddedCluster(virtual_time=True, version="5.3.3", settings=settings) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        on_the_second(cluster)
        due_ms = cluster.now_ms() + 100 * SECOND
        peer.call(send("T", properties={"TIMER_DELIVER_MS": str(due_ms)}), b"far")
        cluster.advance(99 * SECOND)
        assert arrived(peer) == []
        cluster.advance(2 * SECOND)
        (message,) = arrived(peer)
        assert int(message.properties["TIMER_ROLL_TIMES"]) >= 2
        assert 0 <= message.store_time_ms - due_ms <= SECOND


def test_the_files_are_a_real_brokers(tmp_path: Path) -> None:
    with EmbeddedCluster(virtual_time=True, version="5.3.3", data_dir=tmp_path, settings=RECALLS) as cluster:
        on_the_second(cluster)
        now = cluster.now_ms()
        with Peer(cluster.broker().address) as peer:
            for number in range(3):
                peer.call(send("TopicDelay", properties={"TIMER_DELAY_SEC": "3600"}), b"%d" % number)
            waiting = arrived(peer, TIMER_TOPIC)
            cluster.advance(2 * SECOND)
        cluster.broker().stop()
        store = cluster.broker().store
        check = read_timer_check(store / "config" / "timercheck")
        assert check is not None
        assert (check.last_timer_queue_offset, check.last_timer_log_flush_pos) == (3, 3 * 52)
        assert check.last_read_time_ms == now + 2 * SECOND
        (slot,) = used_slots(store / "timerwheel").tolist()
        assert slot == (now // SECOND + 3_599, 0, 104, 3, 0)
        positions, records = timer_log(store / "timerlog")
        assert chain(slot[2], positions, records) == [2, 1, 0]
        assert records["physical_offset"].tolist() == [message.physical_offset for message in waiting]
        assert set(records["topic_hash"].tolist()) == {java_string_hash("TopicDelay")}
        assert (records["write_time_ms"] + records["delayed_ms"]).tolist() == [(now // SECOND + 3_599) * SECOND] * 3


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_broker_that_was_down_delivers_what_became_due(end: str, tmp_path: Path) -> None:
    with EmbeddedCluster(virtual_time=True, version="5.3.3", data_dir=tmp_path, settings=RECALLS) as cluster:
        on_the_second(cluster)
        with Peer(cluster.broker().address) as peer:
            for seconds in (2, 30, 600):
                peer.call(send("T", properties={"TIMER_DELAY_SEC": str(seconds)}), b"%d" % seconds)
            cluster.advance(5 * SECOND)
            peer.call(send("T", properties={"TIMER_DELAY_SEC": "31"}), b"not in the wheel yet")
            assert len(arrived(peer)) == 1
        cluster.broker().kill() if end == "kill" else cluster.broker().stop()
        cluster.advance(60 * SECOND)
        cluster.broker().start()
        cluster.advance(SECOND)
        with Peer(cluster.broker().address) as peer:
            bodies = [message.body for message in arrived(peer)]
            assert bodies == [b"2", b"30", b"not in the wheel yet"]
            cluster.advance(600 * SECOND)
        with Peer(cluster.broker().address) as peer:
            assert [message.body for message in arrived(peer)] == [*bodies, b"600"]


@pytest.mark.parametrize("damage", ["wheel", "check", "garbage"])
def test_the_log_alone_brings_the_wheel_back(damage: str, tmp_path: Path) -> None:
    with EmbeddedCluster(virtual_time=True, version="5.3.3", data_dir=tmp_path, settings=RECALLS) as cluster:
        on_the_second(cluster)
        with Peer(cluster.broker().address) as peer:
            for number in range(3):
                peer.call(send("T", properties={"TIMER_DELAY_SEC": "30"}), b"%d" % number)
        cluster.advance(2 * SECOND)
        cluster.broker().kill()
        store = cluster.broker().store
        match damage:
            case "wheel":
                (store / "timerwheel").unlink()
            case "check":
                (store / "config" / "timercheck").unlink()
            case _:
                check = TIMER_CHECK.pack(cluster.now_ms(), 12_345_678_901, -5, 7, 0, 0, 0)
                (store / "config" / "timercheck").write_bytes(check.ljust(4_096, b"\0"))
        cluster.broker().start()
        cluster.advance(40 * SECOND)
        with Peer(cluster.broker().address) as peer:
            peer.call(send("T", properties={"TIMER_DELAY_SEC": "2"}), b"new")
            cluster.advance(4 * SECOND)
            assert [message.body for message in arrived(peer)] == [b"0", b"1", b"2", b"new"]


def test_records_go_on_in_the_next_file(tmp_path: Path) -> None:
    settings = {**RECALLS, "mappedFileSizeTimerLog": str(52 * 4 + 16)}
    with EmbeddedCluster(virtual_time=True, version="5.3.3", data_dir=tmp_path, settings=settings) as cluster:
        on_the_second(cluster)
        with Peer(cluster.broker().address) as peer:
            for number in range(10):
                peer.call(send("T", properties={"TIMER_DELAY_SEC": "20"}), b"%d" % number)
            cluster.advance(2 * SECOND)
        cluster.broker().kill()
        store = cluster.broker().store
        assert len(list((store / "timerlog").iterdir())) == 3
        assert len(timer_log(store / "timerlog")[0]) == 10
        cluster.broker().start()
        cluster.advance(20 * SECOND)
        with Peer(cluster.broker().address) as peer:
            assert [message.body for message in arrived(peer)] == [b"%d" % number for number in range(10)]


def test_a_full_disk_delays_but_loses_nothing(five: EmbeddedCluster, peer: Peer) -> None:
    peer.call(send("T", properties={"TIMER_DELAY_SEC": "5"}), b"x")
    five.advance(2 * SECOND)
    five.broker().limit_disk(0)
    five.advance(10 * SECOND)
    assert arrived(peer) == []
    five.broker().limit_disk(None)
    five.advance(2 * SECOND)
    assert [message.body for message in arrived(peer)] == [b"x"]


def test_many_at_once_leave_room_for_others(five: EmbeddedCluster, peer: Peer) -> None:
    at = str(five.now_ms() + 5_000)
    for number in range(500):
        peer.call(send("T", properties={"TIMER_DELIVER_MS": at}), b"%d" % number)
    five.advance(6 * SECOND)

    def end(broker: Broker) -> int:
        return broker.storage.max_offset("T", 0)

    assert five.broker().on_loop(end) == 500
