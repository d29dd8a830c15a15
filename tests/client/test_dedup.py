"""Consuming once what is delivered twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event, Thread

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.client.consumer.dedup import (
    DedupCounts,
    SqliteStates,
    Standing,
    States,
    by_business_key,
    by_message_id,
    consume_once,
)
from mqctl.client.consumer.dedup_redis import RedisStates
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.remoting.clock import ClientClock
from mqctl.errors import ConfigurationError, StorageError
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from tests.client.consuming import LONG_S, Heard, create_topic, quick, quick_client, send, wait_until
from tests.requires import need_extra

QUEUE = MessageQueue("T", "broker-a", 0)


class SetClock(ClientClock):
    """A clock that a test sets."""

    def __init__(self) -> None:
        super().__init__()
        self.at_ms = 1_000

    def now_ms(self) -> int:
        return self.at_ms


@pytest.fixture
def redis_url() -> Iterator[str]:
    """A server in this process that speaks Redis's protocol on a port of its own."""
    need_extra("interop", "fakeredis")
    from fakeredis import TcpFakeServer

    server = TcpFakeServer(("127.0.0.1", 0), server_type="redis")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"redis://127.0.0.1:{server.server_address[1]}/0"
    server.shutdown()
    server.server_close()
    thread.join(LONG_S)


@pytest.fixture(params=["sqlite", "redis"])
def states(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStates | RedisStates]:
    """States in each of the two places."""
    if request.param == "sqlite":
        kept: SqliteStates | RedisStates = SqliteStates(tmp_path / "states.db")
    else:
        kept = RedisStates(request.getfixturevalue("redis_url"), prefix=f"{tmp_path}:")
    yield kept
    kept.close()


def received(name: str, keys: str = "") -> ReceivedMessage:
    properties = {"UNIQ_KEY": name, **({"KEYS": keys} if keys else {})}
    stored = Message(
        topic="T", queue_id=0, queue_offset=0, physical_offset=0, size_bytes=1, flag=0, sys_flag=0, born_time_ms=0,
        born_host="127.0.0.1:1", store_time_ms=0, store_host="127.0.0.1:1", reconsume_times=0,
        prepared_transaction_offset=0, body_crc=0, body=b"x", properties=properties,
    )  # fmt: skip
    return ReceivedMessage(stored, QUEUE)


def names(messages: Sequence[ReceivedMessage]) -> list[str]:
    return [message.message_id for message in messages]


def test_a_repetition_is_skipped_until_it_expires(states: States) -> None:
    clock, heard, counts = SetClock(), Heard(), DedupCounts()
    listener = consume_once(heard, states, clock, counts=counts, consumed_expiry_ms=100)
    for _ in range(3):
        assert listener([received("a")], ConsumeContext(QUEUE)) is Consumed.SUCCESS
    assert names(heard.messages) == ["a"]
    clock.at_ms += 100
    listener([received("a")], ConsumeContext(QUEUE))
    assert names(heard.messages) == ["a", "a"]
    assert (counts.consumed, counts.skipped, counts.postponed) == (2, 2, 0)


@pytest.mark.parametrize("fault", [Consumed.RECONSUME_LATER, None, ValueError("no")])
def test_what_failed_is_consumed_again(states: States, fault: Consumed | Exception | None) -> None:
    outcomes: list[Consumed | Exception | None] = [fault, Consumed.SUCCESS]

    def listener(_: ReceivedMessage) -> Consumed | None:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    once = consume_once(Heard(listener), states, SetClock())
    if isinstance(fault, Exception):
        with pytest.raises(ValueError, match="no"):
            once([received("a")], ConsumeContext(QUEUE))
    else:
        assert once([received("a")], ConsumeContext(QUEUE)) is fault
    assert once([received("a")], ConsumeContext(QUEUE)) is Consumed.SUCCESS
    assert outcomes == []


def test_what_another_thread_has_comes_back_later(states: States) -> None:
    entered, gate = Event(), Event()

    def hangs(_: ReceivedMessage) -> Consumed:
        entered.set()
        gate.wait(LONG_S)
        return Consumed.SUCCESS

    counts = DedupCounts()
    once = consume_once(Heard(hangs), states, SetClock(), counts=counts)
    thread = Thread(target=once, args=([received("a")], ConsumeContext(QUEUE)))
    thread.start()
    assert entered.wait(LONG_S)
    assert once([received("b"), received("a")], ConsumeContext(QUEUE)) is Consumed.RECONSUME_LATER
    gate.set()
    thread.join()
    assert once([received("b"), received("a")], ConsumeContext(QUEUE)) is Consumed.SUCCESS
    assert (counts.consumed, counts.skipped, counts.postponed) == (2, 1, 2)


def test_what_a_dead_process_had_becomes_new_again(states: States) -> None:
    assert states.begin("k", 0, 50) is Standing.NEW
    assert states.begin("k", 49, 99) is Standing.CONSUMING
    assert states.begin("k", 50, 99) is Standing.NEW
    states.finish("k", 200)
    assert states.begin("k", 199, 300) is Standing.CONSUMED
    states.forget("k")
    assert states.begin("k", 199, 300) is Standing.NEW


def test_batches_keep_their_ack_index(states: States) -> None:
    states.begin("T#b", 0, 10_000)
    states.finish("T#b", 10_000)

    def listener(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        context.ack_index = 1
        return Consumed.SUCCESS

    context = ConsumeContext(QUEUE)
    once = consume_once(listener, states, SetClock())
    once([received(name) for name in ("a", "b", "c", "a", "d")], context)
    assert context.ack_index == 3
    assert states.begin("T#c", 1_000, 2_000) is Standing.CONSUMED
    assert states.begin("T#d", 1_000, 2_000) is Standing.NEW


def test_keys_of_messages() -> None:
    assert by_message_id(received("a", "k")) == "T#a"
    assert by_business_key(received("a", "k l")) == "T#k l"
    assert by_business_key(received("a")) == "T#a"


def test_states_outlive_the_process_and_expired_ones_go(tmp_path: Path) -> None:
    first = SqliteStates(tmp_path / "s.db")
    for number in range(1_500):
        first.begin(f"k{number}", number, number + 1)
    first.finish("kept", 10_000)
    first.close()
    second = SqliteStates(tmp_path / "s.db")
    assert second.begin("kept", 5_000, 6_000) is Standing.CONSUMED
    (count,) = second._connection.execute("SELECT count(*) FROM messages").fetchone()
    assert count < 600
    second.close()


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(b"this is no database, and long enough to be looked at" * 30)
    with pytest.raises(StorageError, match=r"s\.db cannot be used"):
        SqliteStates(path)


def test_messages_sent_twice_are_consumed_once(states: States) -> None:
    with EmbeddedCluster() as cluster:
        create_topic(cluster, "T")
        messages = [OutgoingMessage(topic="T", body=str(n % 20).encode(), keys=f"order-{n % 20}") for n in range(60)]
        send(cluster, messages)
        heard, counts = Heard(), DedupCounts()
        listener = consume_once(heard, states, ClientClock(), key_of=by_business_key, counts=counts)
        consumer = PushConsumer("G", quick_client(cluster), listener, quick())
        consumer.subscribe("T")
        with consumer:
            wait_until(lambda: counts.consumed + counts.skipped + counts.postponed >= 60, "all delivered")
    assert counts.consumed == 20
    assert len({message.body for message in heard.messages}) == len(heard.messages) == 20


def test_a_redis_that_is_not_there_or_a_url_that_is_none_is_named() -> None:
    with pytest.raises(StorageError, match=r"redis://127\.0\.0\.1:1/0 cannot be used"):
        RedisStates("redis://127.0.0.1:1/0")
    with pytest.raises(ConfigurationError, match="http://x"):
        RedisStates("http://x")


def test_only_one_of_many_members_begins(states: States) -> None:
    standings: list[Standing] = []
    threads = [Thread(target=lambda: standings.append(states.begin("k", 0, 50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(standings) == [Standing.CONSUMING] * 7 + [Standing.NEW]
