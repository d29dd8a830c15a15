"""Sending against scripted brokers: queues, retries, limits, and the meaning of Java's recorded requests."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from queue import Queue

import pytest

from mqctl.allocation.rooms import room_rule
from mqctl.client.identity import MessageClientIds, client_id
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage, SendResult, SendStatus
from mqctl.client.producer.latency import LatencyFaults, avoided_for_ms
from mqctl.client.producer.packing import ProducerSettings
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key, in_room
from mqctl.client.remoting.answers import RefusedAnswerError
from mqctl.client.remoting.clock import ClientClock
from mqctl.errors import DeadlineError, MqctlError, NotFoundError, UnreachableError, UsageError
from mqctl.model.queue import MessageQueue
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.frame import RemotingCommand, decode
from mqctl.protocol.message_batch import decode_batch
from mqctl.protocol.message_id import UniqueId
from mqctl.protocol.properties import parse_properties
from tests.client.scripted_cluster import ScriptedCluster, storing
from tests.client.wire_server import Peer, silent
from tests.protocol.conftest import RecordedFrame

SEND = RequestCode.SEND_MESSAGE_V2


def message(body: bytes = b"hi", **parts: object) -> OutgoingMessage:
    return OutgoingMessage(**{"topic": "T", "body": body, **parts})  # type: ignore[arg-type]


def producer(cluster: ScriptedCluster, **settings: object) -> Producer:
    return Producer(
        "PG",
        ClientSettings(name_servers=cluster.address),
        ProducerSettings(**settings),  # type: ignore[arg-type]
    )


def drop(peer: Peer, command: RemotingCommand) -> None:
    peer.close()


def test_queues_take_turns_and_the_answer_is_the_result() -> None:
    with ScriptedCluster({"a": storing(), "b": storing()}, {"T": 2}) as cluster, producer(cluster) as sender:
        results = [sender.send(message()) for _ in range(8)]
    assert Counter(result.queue for result in results) == {
        MessageQueue("T", name, queue_id): 2 for name in "ab" for queue_id in range(2)
    }
    first = results[0]
    assert first.status is SendStatus.SEND_OK
    assert (first.offset_id, first.queue_offset, first.region) == (
        "7F00000100002A9F0000000000000000",
        3,
        "DefaultRegion",
    )
    assert len({result.message_id for result in results}) == 8


def test_a_send_means_what_java_s_means(recorded_frames: list[RecordedFrame]) -> None:
    recorded = next(
        frame
        for frame in recorded_frames
        if frame.request_code == SEND and not frame.is_response and frame.serialize == "JSON"
    )
    theirs = decode(recorded.data)
    with ScriptedCluster({"broker-a": storing()}, {"TopicTest": 4}) as cluster, producer(cluster) as sender:
        sender.send(message(topic="TopicTest", tags="TagA"))
        (ours,) = cluster.requests("broker-a", SEND)
    assert theirs.ext_fields
    assert ours.ext_fields
    assert set(ours.ext_fields) == set(theirs.ext_fields)
    for key in "cdhjkm":
        assert ours.ext(key) == theirs.ext(key)
    properties = parse_properties(ours.ext("i") or "")
    assert properties.keys() == {"TAGS", "UNIQ_KEY", "WAIT"}
    assert UniqueId.parse(properties["UNIQ_KEY"])
    assert (ours.ext("b"), ours.ext("n"), ours.body, ours.version) == ("TopicTest", "broker-a", b"hi", 409)


def test_a_batch_means_what_java_s_means(recorded_frames: list[RecordedFrame]) -> None:
    recorded = next(f for f in recorded_frames if f.request_code == 320 and not f.is_response)
    theirs = decode(recorded.data)
    with ScriptedCluster({"broker-a": storing()}, {"T": 1}) as cluster, producer(cluster) as sender:
        result = sender.send_batch([message(b"one", tags="A"), message(b"two", keys=["k1", "k2"])])
        (ours,) = cluster.requests("broker-a", RequestCode.SEND_BATCH_MESSAGE)
    assert theirs.ext("i") == ours.ext("i") == "WAIT\x01true"
    assert theirs.ext("m") == ours.ext("m") == "true"
    elements = decode_batch(ours.body)
    assert [element.body for element in elements] == [b"one", b"two"]
    properties = [parse_properties(element.properties_text) for element in elements]
    assert properties[1]["KEYS"] == "k1 k2"
    assert result.message_id == ",".join(item["UNIQ_KEY"] for item in properties)
    theirs_properties = [parse_properties(element.properties_text).keys() for element in decode_batch(theirs.body)]
    assert all({"UNIQ_KEY", "WAIT"} <= keys for keys in theirs_properties)


def test_long_bodies_travel_compressed() -> None:
    with ScriptedCluster({"a": storing()}, {"T": 1}) as cluster, producer(cluster) as sender:
        sender.send(message(b"x" * 4095))
        sender.send(message(b"x" * 4096))
        plain, squeezed = cluster.requests("a", SEND)
    assert (plain.ext("f"), plain.body) == ("0", b"x" * 4095)
    assert squeezed.ext("f") == str(0x301)
    assert zlib.decompress(squeezed.body) == b"x" * 4096


@pytest.mark.parametrize("fault", [drop, storing(14, "not writable"), storing(1, "io"), storing(17, "no topic")])
def test_another_broker_gets_what_one_did_not_store(fault: object) -> None:
    with (
        ScriptedCluster({"bad": fault, "good": storing()}, {"T": 1}) as cluster,  # type: ignore[dict-item]
        producer(cluster) as sender,
    ):
        results = [sender.send(message()) for _ in range(4)]
    assert {result.queue.broker_name for result in results} == {"good"}
    assert max(result.attempts for result in results) == 2


@pytest.mark.parametrize("code", [2, 13])
def test_some_refusals_are_final(code: int) -> None:
    with (
        ScriptedCluster({"a": storing(code, "no"), "b": storing(code, "no")}, {"T": 1}) as cluster,
        producer(cluster) as sender,
    ):
        with pytest.raises(RefusedAnswerError) as caught:
            sender.send(message())
        assert caught.value.code == code
        assert len(cluster.requests("a", SEND) + cluster.requests("b", SEND)) == 1


def test_attempts_end_and_are_counted() -> None:
    with ScriptedCluster({"a": storing(1, "broken")}, {"T": 1}) as cluster, producer(cluster) as sender:
        with pytest.raises(RefusedAnswerError, match=r'"broken" \(attempt 3 of 3\)'):
            sender.send(message())
        assert len(cluster.requests("a", SEND)) == 3
        with pytest.raises(RefusedAnswerError, match=r'"broken"$'):
            sender.send(message(), select=by_key("k"))
        assert len(cluster.requests("a", SEND)) == 4


def test_the_timeout_covers_all_attempts() -> None:
    with ScriptedCluster({"a": silent}, {"T": 1}) as cluster, producer(cluster, send_timeout_ms=500) as sender:
        with pytest.raises(DeadlineError):
            sender.send(message())
        assert len(cluster.requests("a", SEND)) == 1


def test_stored_but_not_flushed_is_a_result_unless_another_broker_is_wanted() -> None:
    brokers = {"a": storing(10), "b": storing(0)}
    with ScriptedCluster(brokers, {"T": 1}) as cluster:
        with producer(cluster) as sender:
            statuses = {sender.send(message()).status for _ in range(2)}
            assert statuses == {SendStatus.SEND_OK, SendStatus.FLUSH_DISK_TIMEOUT}
        with producer(cluster, retry_another_broker_when_not_stored=True) as sender:
            assert {sender.send(message()).status for _ in range(4)} == {SendStatus.SEND_OK}


def test_the_first_message_creates_its_topic_on_brokers_with_the_template() -> None:
    with ScriptedCluster({"a": storing()}, {"TBW102": 8}) as cluster, producer(cluster) as sender:
        assert {sender.send(message(topic="New")).queue.queue_id for _ in range(8)} == {0, 1, 2, 3}
        assert {request.ext("c") for request in cluster.requests("a", SEND)} == {"TBW102"}
    with (
        ScriptedCluster({"a": storing()}, {}) as cluster,
        producer(cluster) as sender,
        pytest.raises(NotFoundError, match="Topic New has no queue to send to"),
    ):
        sender.send(message(topic="New"))


def test_oneway_and_async() -> None:
    heard: Queue[tuple[SendResult | None, MqctlError | None]] = Queue()
    with ScriptedCluster({"bad": drop, "good": storing()}, {"T": 3}) as cluster, producer(cluster) as sender:
        for _ in range(6):
            sender.send_async(message(), lambda result, error: heard.put((result, error)))
        outcomes = [heard.get(timeout=60) for _ in range(6)]
        assert all(result is not None and result.queue.broker_name == "good" for result, _ in outcomes)
        sender.send_oneway(message(), queue=MessageQueue("T", "good", 2))
        sender.send(message(), queue=MessageQueue("T", "good", 1))
        assert [request.flag for request in cluster.requests("good", SEND)][-2:] == [2, 0]


def test_an_async_send_to_nobody_tells_of_it() -> None:
    heard: Queue[MqctlError | None] = Queue()
    with ScriptedCluster({"bad": drop}, {"T": 1}) as cluster, producer(cluster) as sender:
        sender.send_async(message(), lambda _, error: heard.put(error))
        assert isinstance(heard.get(timeout=60), UnreachableError)
        assert len(cluster.requests("bad", SEND)) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic": ""},
        {"topic": "a b"},
        {"topic": "x" * 128},
        {"topic": "SCHEDULE_TOPIC_XXXX"},
        {"body": b""},
        {"body": b"x" * (4 * 1024 * 1024 + 1)},
    ],
)
def test_what_no_broker_takes_is_not_sent(wrong: dict[str, object]) -> None:
    with ScriptedCluster({"a": storing()}, {"T": 1}) as cluster, producer(cluster) as sender:
        with pytest.raises(UsageError):
            sender.send(message(**wrong))  # type: ignore[arg-type]
        assert not cluster.requests("a", SEND)


def test_batches_that_cannot_travel_together() -> None:
    with ScriptedCluster({"a": storing()}, {"T": 1}) as cluster, producer(cluster) as sender:
        for wrong in (
            [],
            [message(), message(topic="U")],
            [message(), message(delay_level=1)],
            [message(), message(wait_store_ok=False)],
            [message(topic="%RETRY%G")],
        ):
            with pytest.raises(UsageError):
                sender.send_batch(wrong)


def test_a_group_has_a_name() -> None:
    for name in ("", "DEFAULT_PRODUCER", "a b", "x" * 256):
        with pytest.raises(UsageError):
            Producer(name, ClientSettings(name_servers="h:1"))


def test_equal_keys_share_a_queue_as_in_java() -> None:
    queues = [MessageQueue("T", "a", n) for n in range(4)]
    assert by_key("TagA")(queues, message()).queue_id == 2598919 % 4
    assert by_key("polygenelubricants")(queues, message()).queue_id == 0  # the hash is -2147483648


def test_rooms_are_kept_to_while_they_have_queues() -> None:
    queues = [MessageQueue("T", f"{room}-broker-a", n) for room in ("HT", "CP") for n in range(2)]
    near = in_room("CP", room_rule("prefix:-"))
    assert {near(queues, message()) for _ in range(4)} == set(queues[2:])
    assert {near(queues[:2], message()) for _ in range(4)} == set(queues[:2])


def test_client_ids_and_unique_ids() -> None:
    assert client_id(ip="10.0.0.1", instance="x") == "10.0.0.1@x"
    assert client_id(ip="10.0.0.1", instance="x", unit="u", room="HT") == "HT-10.0.0.1@x@u"
    assert re.fullmatch(r"10\.0\.0\.1@\d+#\d+", client_id(ip="10.0.0.1"))
    ids = MessageClientIds(ClientClock(), ip="10.1.2.3", loader=7)
    first, second = UniqueId.parse(ids.next()), UniqueId.parse(ids.next())
    assert (first.address, first.loader, first.counter, second.counter) == ("10.1.2.3", 7, 0, 1)
    assert first.process == second.process != 0
    assert 0 <= first.month_ms <= 31 * 86_400_000


def test_slow_brokers_are_avoided() -> None:
    assert [avoided_for_ms(ms) for ms in (0, 100, 549, 550, 1000, 14_999, 30_000)] == [
        0, 0, 0, 30_000, 60_000, 180_000, 600_000,
    ]  # fmt: skip
    faults = LatencyFaults(ClientClock())
    queues = [MessageQueue("T", name, 0) for name in ("slow", "quick")]
    faults.note("slow", 700)
    faults.note("quick", 3)
    assert {faults.choose(queues, start).broker_name for start in range(4)} == {"quick"}
    faults.note("quick", 30_000)
    assert {faults.choose(queues, start).broker_name for start in range(4)} == {"slow"}


def test_latency_faults_keep_a_dead_broker_out() -> None:
    with (
        ScriptedCluster({"bad": drop, "good": storing()}, {"T": 1}) as cluster,
        producer(cluster, latency_fault_enable=True) as sender,
    ):
        for _ in range(6):
            sender.send(message())
        assert len(cluster.requests("bad", SEND)) <= 1


def test_a_producer_announces_its_group_and_leaves() -> None:
    with ScriptedCluster({"a": storing()}, {"T": 1}) as cluster:
        with producer(cluster) as sender:
            sender.send(message())
        farewells = cluster.requests("a", RequestCode.UNREGISTER_CLIENT)
        assert [command.ext("producerGroup") for command in farewells] == ["PG", "CLIENT_INNER_PRODUCER"]
