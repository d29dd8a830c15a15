"""Transactions of the embedded broker: through the wire, on a virtual clock, and as they stand in the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.model.message import Message
from mqctl.model.names import DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_GROUP
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_message, decode_messages
from mqctl.protocol.requests_admin import ResumeCheckHalfMessage
from mqctl.protocol.requests_client import EndTransaction, QueryConsumerOffset
from mqctl.snapshot.store.gatherer import gather_store
from tests.conftest import Outcome
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.wire import Peer

COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
TICK_MS = 60_000
CHECK = RequestCode.CHECK_TRANSACTION_STATE


@dataclass
class Half:
    """A half message that a producer sent."""

    group: str
    half_offset: int
    physical_offset: int
    key: str

    def end(self, how: int = COMMIT, *, group: str | None = None, checked: bool = False) -> EndTransaction:
        return EndTransaction(
            producer_group=group or self.group,
            tran_state_table_offset=self.half_offset,
            commit_log_offset=self.physical_offset,
            commit_or_rollback=how,
            from_transaction_check=checked,
            msg_id=self.key,
        )


@pytest.fixture
def timed() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(virtual_time=True) as cluster:
        yield cluster


@pytest.fixture
def producer(timed: EmbeddedCluster) -> Iterator[Peer]:
    with Peer(timed.broker().address) as peer:
        heartbeat(peer, "producer")
        yield peer


def half(
    cluster: EmbeddedCluster,
    peer: Peer,
    key: str = "K1",
    *,
    queue_id: int = 0,
    body: bytes = b"half",
    age_ms: int = 0,
    **properties: str,
) -> Half:
    wanted = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "GP", "TAGS": "TagT", **properties}
    born_ms = cluster.now_ms() - age_ms
    answer = peer.call(send("TopicTx", queue_id=queue_id, properties=wanted, sys_flag=4, born_ms=born_ms), body)
    assert answer.code == 0, answer.remark
    offset_id = OffsetId.parse(answer.ext("msgId") or "")
    return Half("GP", int(answer.ext("queueOffset") or -1), offset_id.physical_offset, key)


def stored(peer: Peer, topic: str, offset: int = 0, queue_id: int = 0) -> list[Message]:
    messages: list[Message] = []
    while batch := decode_messages(peer.call(pull(topic, offset + len(messages), queue_id=queue_id)).body):
        messages += batch
    return messages


def ops(cluster: EmbeddedCluster) -> list[Message]:
    """The op messages; a 4.9 broker has no such topic for consumers, only the queue."""

    def read(broker: Broker) -> list[Message]:
        entries = broker.storage.entries(OP_TOPIC, 0, 0, 100)
        return [decode_message(broker.storage.message_at(offset) or b"") for offset, _, _ in entries]

    return cluster.broker().on_loop(read)


def progress(peer: Peer, topic: str) -> int:
    answer = peer.call(QueryConsumerOffset(consumer_group=TRANSACTION_GROUP, topic=topic, queue_id=0))
    return int(answer.ext("offset") or -1) if answer.code == 0 else -1


def pass_time(cluster: EmbeddedCluster, peer: Peer, ms: int) -> None:
    """Lets time pass, in steps short enough that the producer stays registered."""
    while ms > 0:
        step = min(ms, TICK_MS)
        cluster.advance(step)
        heartbeat(peer, "producer")
        ms -= step


def checked(peer: Peer) -> tuple[Half, RemotingCommand]:
    check = peer.asked(CHECK)
    half_offset, physical_offset = (int(check.ext(name) or -1) for name in ("tranStateTableOffset", "commitLogOffset"))
    return Half("GP", half_offset, physical_offset, check.ext("msgId") or ""), check


def test_a_committed_message_appears_where_it_was_sent_to(timed: EmbeddedCluster, producer: Peer) -> None:
    one = half(timed, producer, queue_id=2, body=b"paid")
    assert stored(producer, "TopicTx", queue_id=2) == []
    (waiting,) = stored(producer, HALF_TOPIC)
    assert (waiting.sys_flag & 0xC, waiting.properties["REAL_TOPIC"], waiting.properties["REAL_QID"]) == (
        0, "TopicTx", "2",
    )  # fmt: skip
    assert producer.call(one.end()).code == 0
    (message,) = stored(producer, "TopicTx", queue_id=2)
    assert (message.body, message.tags, message.sys_flag & 0xC) == (b"paid", "TagT", 8)
    assert message.prepared_transaction_offset == one.physical_offset == waiting.physical_offset
    assert (message.born_host, message.born_time_ms) == (waiting.born_host, waiting.born_time_ms)
    assert message.properties == waiting.properties
    (op,) = ops(timed)
    assert (op.body, op.tags, op.properties) == (b"0", "d", {"WAIT": "true", "TAGS": "d"})


def test_a_rolled_back_message_never_appears(timed: EmbeddedCluster, producer: Peer) -> None:
    one = half(timed, producer)
    assert producer.call(one.end(ROLLBACK)).code == 0
    pass_time(timed, producer, 2 * TICK_MS)
    assert stored(producer, "TopicTx") == []
    assert [op.body for op in ops(timed)] == [b"0"]
    assert (progress(producer, HALF_TOPIC), progress(producer, OP_TOPIC)) == (1, 1)
    assert len(stored(producer, HALF_TOPIC)) == 1, "nothing was left to check"


def test_unknown_is_no_end_and_no_answer(timed: EmbeddedCluster, producer: Peer) -> None:
    one = half(timed, producer)
    opaque = producer.post(one.end(UNKNOWN))
    heartbeat(producer, "producer")
    assert all(command.opaque != opaque for command in producer.unasked)
    assert ops(timed) == []


def test_what_ends_no_transaction(timed: EmbeddedCluster, producer: Peer) -> None:
    one = half(timed, producer)
    shifted = Half("GP", one.half_offset, one.physical_offset + 4, one.key)
    other_row = Half("GP", one.half_offset + 1, one.physical_offset, one.key)
    beyond = Half("GP", 0, 1 << 40, one.key)
    for end, words in (
        (one.end(group="GP_other"), "The producer group wrong"),
        (other_row.end(), "The transaction state table offset wrong"),
        (shifted.end(), "Find prepared transaction message failed"),
        (beyond.end(), "Find prepared transaction message failed"),
    ):
        answer = producer.call(end)
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert words in (answer.remark or "")
    assert stored(producer, "TopicTx") == []
    assert ops(timed) == []


def test_ending_twice_stores_twice_as_the_original_does(timed: EmbeddedCluster, producer: Peer) -> None:
    one = half(timed, producer)
    assert [producer.call(one.end()).code for _ in range(2)] == [0, 0]
    copies = stored(producer, "TopicTx")
    assert [copy.prepared_transaction_offset for copy in copies] == [one.physical_offset] * 2


def test_an_ordinary_message_is_no_half_message(timed: EmbeddedCluster, producer: Peer) -> None:
    ordinary = producer.call(send("Plain", properties={"PGROUP": "GP"}), b"x")
    physical = OffsetId.parse(ordinary.ext("msgId") or "").physical_offset
    answer = producer.call(Half("GP", 0, physical, "x").end())
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "Find prepared transaction message failed"


def test_producers_are_asked_about_what_they_left_open(timed: EmbeddedCluster, producer: Peer) -> None:
    one = half(timed, producer, "K1", queue_id=3)
    done = half(timed, producer, "K2")
    producer.call(done.end())
    pass_time(timed, producer, TICK_MS)
    copy, check = checked(producer)
    assert (copy.half_offset, copy.key, check.ext("transactionId")) == (2, "K1", "K1")
    assert OffsetId.parse(check.ext("offsetMsgId") or "").physical_offset == copy.physical_offset
    assert check.is_oneway
    body = decode_message(check.body)
    assert (body.topic, body.queue_id, body.queue_offset, body.body) == ("TopicTx", 3, 2, b"half")
    assert body.properties["TRANSACTION_CHECK_TIMES"] == "1"
    assert copy.physical_offset > one.physical_offset
    assert producer.call(copy.end(checked=True)).code == 0
    assert len(stored(producer, "TopicTx", queue_id=3)) == 1
    pass_time(timed, producer, 3 * TICK_MS)
    assert not [command for command in producer.unasked if command.code == CHECK]
    assert (progress(producer, HALF_TOPIC), progress(producer, OP_TOPIC)) == (3, 2)


def test_a_young_half_message_holds_up_those_behind_it(timed: EmbeddedCluster, producer: Peer) -> None:
    pass_time(timed, producer, TICK_MS - 3_000)
    half(timed, producer, "young")
    half(timed, producer, "born long ago", age_ms=10_000)
    pass_time(timed, producer, 4_000)
    assert progress(producer, HALF_TOPIC) in (-1, 0)
    assert not producer.unasked
    pass_time(timed, producer, TICK_MS)
    assert {checked(producer)[0].key for _ in range(2)} == {"young", "born long ago"}


def test_after_fifteen_checks_it_is_given_up_and_can_be_resumed(timed: EmbeddedCluster, producer: Peer) -> None:
    half(timed, producer, "K1")
    for count in range(1, 16):
        pass_time(timed, producer, TICK_MS)
        _, check = checked(producer)
        assert decode_message(check.body).properties["TRANSACTION_CHECK_TIMES"] == str(count)
    pass_time(timed, producer, TICK_MS)
    assert not producer.unasked
    (given_up,) = stored(producer, DISCARD_TOPIC)
    assert given_up.properties["TRANSACTION_CHECK_TIMES"] == "15"
    assert given_up.properties["REAL_TOPIC"] == "TopicTx"
    assert len(stored(producer, HALF_TOPIC)) == 16
    pass_time(timed, producer, 2 * TICK_MS)
    assert len(stored(producer, HALF_TOPIC)) == 16
    host = timed.broker().address
    resume = ResumeCheckHalfMessage(msg_id=str(OffsetId(host, given_up.physical_offset)))
    assert producer.call(resume).code == 0
    pass_time(timed, producer, TICK_MS)
    copy, _ = checked(producer)
    producer.call(copy.end(checked=True))
    assert [message.body for message in stored(producer, "TopicTx")] == [b"half"]
    for wrong in ("", "xyz", str(OffsetId(host, 1 << 40))):
        assert producer.call(ResumeCheckHalfMessage(msg_id=wrong)).code == ResponseCode.SYSTEM_ERROR


def test_a_group_without_producers_is_not_asked_but_counted(timed: EmbeddedCluster) -> None:
    with Peer(timed.broker().address) as silent:
        half(timed, silent)
        for _ in range(3):
            timed.advance(TICK_MS)
            progress(silent, HALF_TOPIC)  # a connection that says nothing is closed
        copies = stored(silent, HALF_TOPIC)
        assert [copy.properties.get("TRANSACTION_CHECK_TIMES") for copy in copies] == [None, "1", "2", "3"]
        assert not silent.unasked


def test_an_immune_half_message_is_not_in_the_way_of_others(timed: EmbeddedCluster, producer: Peer) -> None:
    half(timed, producer, "immune", CHECK_IMMUNITY_TIME_IN_SECONDS="600")
    half(timed, producer, "plain")
    pass_time(timed, producer, TICK_MS)
    assert checked(producer)[0].key == "plain"


def test_five_gathers_op_messages_and_refuses_late_ends() -> None:
    with EmbeddedCluster(virtual_time=True, version="5.3.3") as cluster, Peer(cluster.broker().address) as peer:
        heartbeat(peer, "producer")
        first, second = half(cluster, peer, "K1"), half(cluster, peer, "K2")
        assert stored(peer, HALF_TOPIC)[0].properties["__transactionId__"] == "K1"
        assert [peer.call(one.end(ROLLBACK)).code for one in (first, second)] == [0, 0]
        assert ops(cluster) == []
        cluster.advance(3_000)
        assert [op.body for op in ops(cluster)] == [b"0,1,"]
        late = half(cluster, peer, "K3", age_ms=20_000, CHECK_IMMUNITY_TIME_IN_SECONDS="10")
        assert peer.call(late.end()).code == ResponseCode.ILLEGAL_OPERATION
        assert peer.call(late.end(checked=True)).code == 0
        cluster.advance(30_000)
        assert (progress(peer, HALF_TOPIC), progress(peer, OP_TOPIC)) == (3, 2)
        open_one = half(cluster, peer, "K4")
        cluster.advance(30_000)
        copy, check = checked(peer)
        assert (check.ext("topic"), copy.half_offset > open_one.half_offset) == ("TopicTx", True)


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
def test_a_killed_broker_asks_again(version: str, tmp_path: Path) -> None:
    with EmbeddedCluster(virtual_time=True, version=version, data_dir=tmp_path) as cluster:
        with Peer(cluster.broker().address) as peer:
            half(cluster, peer, "open")
            half(cluster, peer, "rolled back")
            done = half(cluster, peer, "committed")
            peer.call(done.end())
            cluster.advance(4_000)
        cluster.broker().kill()
        cluster.broker().start()
        with Peer(cluster.broker().address) as peer:
            heartbeat(peer, "producer")
            pass_time(cluster, peer, TICK_MS)
            keys = {checked(peer)[0].key for _ in range(2)}
            assert keys == {"open", "rolled back"}
            assert [message.unique_key for message in stored(peer, "TopicTx")] == ["committed"]


def test_half_messages_can_be_switched_off() -> None:
    with (
        EmbeddedCluster(settings={"rejectTransactionMessage": "true"}) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        answer = peer.call(send("T", properties={"TRAN_MSG": "true"}), b"x")
        assert answer.code == ResponseCode.NO_PERMISSION
        assert "transaction" in (answer.remark or "")


def test_files_tell_what_is_pending_as_the_broker_does(mqctl: Callable[..., Outcome], tmp_path: Path) -> None:
    with EmbeddedCluster(virtual_time=True, data_dir=tmp_path) as cluster:
        with Peer(cluster.broker().address) as peer:
            heartbeat(peer, "producer")
            half(cluster, peer, "open")
            committed, rolled_back = half(cluster, peer, "committed"), half(cluster, peer, "rolled back")
            peer.call(committed.end())
            peer.call(rolled_back.end(ROLLBACK))
            pass_time(cluster, peer, 2 * TICK_MS)
        store = cluster.broker().store
    assert mqctl("store", "verify", "--store", store).exit_code == 0
    (broker,) = gather_store(store).brokers
    state = broker.transactions
    assert state is not None
    assert [(one.unique_key, one.check_count) for one in state.pending] == [("open", 2)]
    assert (state.committed_count, state.rolled_back_count, state.discarded) == (1, 1, ())
    assert (state.lost_ops, state.double_commits) == ((), ())


def test_progress_beyond_the_queues_goes_back_to_their_ends(tmp_path: Path) -> None:
    """After a power loss the offsets may be on disk and the tails not: what comes next is not taken for dealt with."""
    with EmbeddedCluster(virtual_time=True, data_dir=tmp_path) as cluster:
        broker = cluster.broker()

        def run_ahead(inner: Broker) -> None:
            for topic in (HALF_TOPIC, OP_TOPIC):
                inner.offsets.commit(TRANSACTION_GROUP, topic, 0, 5)

        broker.on_loop(run_ahead)
        broker.restart()
        with Peer(broker.address) as peer:
            heartbeat(peer, "producer")
            half(cluster, peer, "open")
            assert peer.call(half(cluster, peer, "ended").end()).code == 0
            pass_time(cluster, peer, TICK_MS)
            one, _ = checked(peer)
            assert one.key == "open"
            assert peer.call(one.end(checked=True)).code == 0
            pass_time(cluster, peer, TICK_MS)
            assert [request for request in peer.unasked if request.code == CHECK] == []
