"""Records that a machine of the broker cannot handle are set aside and counted; what comes behind them is handled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.model.names import HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.properties import format_properties
from mqctl.protocol.requests_admin import GetBrokerRuntimeInfo, ResumeCheckHalfMessage
from mqctl.protocol.requests_client import EndTransaction
from mqctl.store.record_writer import Incoming
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.test_transactions import TICK_MS, checked, half, pass_time, stored
from tests.embedded_broker.wire import Peer

ENDLESS = "9" * 5_000


@pytest.fixture
def five(tmp_path: Path) -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(virtual_time=True, version="5.3.3", data_dir=tmp_path) as cluster:
        yield cluster


def plant(cluster: EmbeddedCluster, topic: str, properties: dict[str, str], body: bytes = b"planted") -> None:
    """Stores a record in an internal topic as an older broker, which let anybody send there, would hold it."""

    def store(broker: Broker) -> None:
        broker.storage.append(
            Incoming(
                topic=topic, queue_id=0, body=body, properties=format_properties(properties),
                born_ms=broker.clock.now_ms(), born_host="192.0.2.1:1", store_host=broker.address,
            )
        )  # fmt: skip

    cluster.broker().on_loop(store)


def aside(peer: Peer, topic: str) -> int:
    table = KVTable.from_bytes(peer.call(GetBrokerRuntimeInfo()).body).table
    return int(table.get(f"recordsSetAside_{topic}", "0"))


@pytest.mark.parametrize(
    "properties",
    [
        {"TIMER_OUT_MS": ENDLESS, "REAL_TOPIC": "T", "REAL_QID": "0"},
        {"TIMER_OUT_MS": "²", "REAL_TOPIC": "T", "REAL_QID": "0"},
        {"TIMER_OUT_MS": str(10**18), "REAL_TOPIC": "T", "REAL_QID": "0"},
        {"TIMER_OUT_MS": "1000", "REAL_TOPIC": "T", "REAL_QID": str(10**12)},
        {"TIMER_OUT_MS": "1000", "REAL_TOPIC": "T", "REAL_QID": ENDLESS},
        {"TIMER_OUT_MS": "1000", "REAL_TOPIC": TIMER_TOPIC, "REAL_QID": "0"},
        {"TIMER_OUT_MS": "1000", "REAL_TOPIC": "../T", "REAL_QID": "0"},
    ],
)
def test_the_wheel_turns_on_behind_a_record_that_it_cannot_hang(
    five: EmbeddedCluster, properties: dict[str, str]
) -> None:
    plant(five, TIMER_TOPIC, properties)
    with Peer(five.broker().address) as peer:
        assert peer.call(send("T", properties={"TIMER_DELAY_SEC": "2"}), b"later").code == 0
        five.advance(4_000)
        assert [message.body for message in stored(peer, "T")] == [b"later"]
        assert aside(peer, TIMER_TOPIC) == 1
    five.broker().restart()
    with Peer(five.broker().address) as peer:
        assert peer.call(send("T", properties={"TIMER_DELAY_SEC": "2"}), b"once more").code == 0
        five.advance(4_000)
        assert [message.body for message in stored(peer, "T")] == [b"later", b"once more"]


@pytest.mark.parametrize("topic", [TIMER_TOPIC, "CHECKPOINT_TOPIC", "rmq_sys_REVIVE_LOG_DefaultCluster", HALF_TOPIC,
                                   OP_TOPIC, SCHEDULE_TOPIC])  # fmt: skip
def test_nobody_sends_to_topics_that_only_the_broker_fills(five: EmbeddedCluster, topic: str) -> None:
    with Peer(five.broker().address) as peer:
        answer = peer.call(send(topic, properties={"TIMER_OUT_MS": "1"}), b"x")
        assert (answer.code, topic in (answer.remark or "")) == (ResponseCode.NO_PERMISSION, True)


@pytest.mark.parametrize(
    "poison",
    [
        {"CHECK_IMMUNITY_TIME_IN_SECONDS": ENDLESS},
        {"TRANSACTION_CHECK_TIMES": ENDLESS},
        {"TRAN_PREPARED_QUEUE_OFFSET": ENDLESS},
        {"filler": "x" * 32_670},
    ],
)
def test_half_messages_behind_a_poisoned_one_are_checked(poison: dict[str, str]) -> None:
    """The last one is nearly full: its copy with the count of checks fits no record."""
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        pass_time(cluster, peer, 1)
        wanted = {"TRAN_MSG": "true", "PGROUP": "GP", "REAL_TOPIC": "TopicTx", "REAL_QID": "0", **poison}
        plant(cluster, HALF_TOPIC, {"UNIQ_KEY": "poison", **wanted})
        half(cluster, peer, "sound")
        pass_time(cluster, peer, 2 * TICK_MS)
        checked_keys = {checked(peer)[0].key}
        if "filler" in poison:
            assert aside(peer, HALF_TOPIC) == 1
        else:
            checked_keys.add(checked(peer)[0].key)
        assert "sound" in checked_keys


def test_a_half_message_whose_copies_cannot_fit_is_refused_when_it_is_sent() -> None:
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer:
        properties = {"TRAN_MSG": "true", "PGROUP": "GP", "UNIQ_KEY": "K", "filler": "x" * 32_600}
        answer = peer.call(send("TopicTx", properties=properties, sys_flag=4), b"x")
        assert answer.code == ResponseCode.MESSAGE_ILLEGAL
        del properties["TRAN_MSG"]
        assert peer.call(send("TopicTx", properties=properties), b"x").code == 0


def test_only_half_messages_end_and_only_those_given_up_are_resumed() -> None:
    """A plain message that names the schedule topic, committed, would be delivered to its own level again and again."""
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        pass_time(cluster, peer, 1)
        properties = {"PGROUP": "GP", "REAL_TOPIC": SCHEDULE_TOPIC, "REAL_QID": "0", "DELAY": "-1", "UNIQ_KEY": "K"}
        sent = peer.call(send("T", properties=properties), b"x")
        place = OffsetId.parse(sent.ext("msgId") or "").physical_offset
        end = EndTransaction(
            producer_group="GP",
            tran_state_table_offset=int(sent.ext("queueOffset") or -1),
            commit_log_offset=place,
            commit_or_rollback=8,
            msg_id="K",
        )
        assert peer.call(end).code == ResponseCode.SYSTEM_ERROR
        resume = ResumeCheckHalfMessage(msg_id=sent.ext("msgId"))
        assert peer.call(resume).code == ResponseCode.SYSTEM_ERROR
        plant(cluster, SCHEDULE_TOPIC, {"DELAY": "1", "REAL_TOPIC": SCHEDULE_TOPIC, "REAL_QID": "0"})
        assert peer.call(send("T", properties={"DELAY": "1"}), b"behind it").code == 0
        cluster.advance(10_000)
        assert cluster.broker().on_loop(lambda broker: broker.storage.max_offset(SCHEDULE_TOPIC, 0)) == 2
        assert [message.body for message in stored(peer, "T")] == [b"x", b"behind it"]
        assert aside(peer, SCHEDULE_TOPIC) == 1


@pytest.mark.parametrize("queue_id", ["", "-1", ENDLESS, str(1 << 31)])
def test_a_half_message_that_names_no_queue_cannot_be_committed(queue_id: str) -> None:
    with EmbeddedCluster(virtual_time=True) as cluster, Peer(cluster.broker().address) as peer:
        plant(cluster, HALF_TOPIC, {"PGROUP": "GP", "REAL_TOPIC": "T", "REAL_QID": queue_id})
        end = EndTransaction(
            producer_group="GP", tran_state_table_offset=0, commit_log_offset=0, commit_or_rollback=8, msg_id="K"
        )
        answer = peer.call(end)
        assert (answer.code, "names no queue" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)


def test_a_precision_of_nothing_is_not_taken(five: EmbeddedCluster) -> None:
    five.broker().on_loop(lambda broker: broker.change_settings({"timerPrecisionMs": "0"}))
    with Peer(five.broker().address) as peer:
        assert peer.call(send("T", properties={"TIMER_DELAY_SEC": "2"}), b"later").code == 0


def test_half_of_a_surrogate_pair_in_properties_becomes_a_character() -> None:
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer:
        request = send("T").command(opaque=peer.next_opaque())
        fields = dict(request.ext_fields or {})
        key = next(name for name, value in fields.items() if "WAIT" in value)
        peer.socket.sendall(_json_frame(fields | {key: "K\x01\ud800"}, request.code, request.opaque))
        assert peer.answer_to(request.opaque).code == 0
        (message,) = decode_messages(peer.call(pull("T", 0)).body)
        assert message.properties["K"] == "\ufffd"


def _json_frame(fields: dict[str, str], code: int, opaque: int) -> bytes:
    import json

    header = json.dumps({"code": code, "opaque": opaque, "flag": 0, "extFields": fields, "version": 409}).encode()
    return (4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header
