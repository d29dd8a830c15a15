"""POP consumption beyond the recorded frames: stores continued, kills, the buffer, and what is never lost."""

from __future__ import annotations

import json
import resource
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.model.message import Message
from mqctl.model.names import TIMER_TOPIC, pop_retry_topic, revive_topic
from mqctl.protocol.bodies_pop import BatchAck, BatchAcks, bit_set
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.receipts import Receipt, real_topic
from mqctl.protocol.requests import REQUESTS
from mqctl.protocol.requests_client import GetMaxOffset, QueryConsumerOffset
from mqctl.protocol.requests_pop import AckMessage, BatchAckMessage, PopMessage
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.pop_recording import truth, unpack_recorded_store

SECOND = 1_000
RECORDED_SIZES = {
    "mappedFileSizeCommitLog": "4194304",
    "mappedFileSizeConsumeQueue": "120000",
    "mappedFileSizeTimerLog": "1048576",
    "maxHashSlotNum": "50000",
    "maxIndexNum": "200000",
}


@pytest.fixture
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(version="5.3.3", virtual_time=True) as cluster:
        yield cluster


@pytest.fixture
def peer(cluster: EmbeddedCluster) -> Iterator[Peer]:
    with Peer(cluster.broker().address) as peer:
        yield peer


def number(answer: RemotingCommand, name: str) -> int:
    return int(answer.ext(name) or -1)


def pop(peer: Peer, topic: str = "T", group: str = "G", **changes: Any) -> RemotingCommand:
    wanted: dict[str, Any] = {"queue_id": -1, "max_msg_nums": 32, "invisible_time": 10 * SECOND}
    return peer.call(PopMessage(consumer_group=group, topic=topic, **{**wanted, **changes}))


def popped(answer: RemotingCommand, broker_name: str = "broker-a") -> list[tuple[Message, Receipt]]:
    """Returns the messages of an answer with their receipts, as a client makes them."""
    starts = {}
    for entry in (answer.ext("startOffsetInfo") or "").split(";"):
        if entry:
            flag, queue, start = entry.split(" ")
            starts[flag, int(queue)] = int(start)
    messages = []
    for message in decode_messages(answer.body):
        if "POP_CK" in message.properties:
            receipt = Receipt.parse(message.properties["POP_CK"])
        else:
            receipt = Receipt(
                start_offset=starts["0", message.queue_id],
                pop_ms=number(answer, "popTime"),
                invisible_ms=number(answer, "invisibleTime"),
                revive_queue=number(answer, "reviveQid"),
                retry="0",
                broker_name=broker_name,
                queue_id=message.queue_id,
                offset=message.queue_offset,
            )
        messages.append((message, receipt))
    return messages


def bodies(answer: RemotingCommand) -> list[str]:
    return [message.body.decode() for message in decode_messages(answer.body)]


def ack(peer: Peer, receipt: Receipt, topic: str = "T", group: str = "G") -> int:
    queue_id, offset = receipt.queue_id or 0, receipt.offset or 0
    lies_in = real_topic(topic, group, receipt.retry)
    request = AckMessage(consumer_group=group, topic=lies_in, queue_id=queue_id, extra_info=str(receipt), offset=offset)
    return peer.call(request).code


def fill(peer: Peer, count: int, topic: str = "T") -> None:
    for number in range(count):
        assert peer.call(send(topic), f"{number}".encode()).code == 0


def committed(peer: Peer, topic: str = "T", group: str = "G") -> int:
    return number(peer.call(QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0)), "offset")


def records(peer: Peer) -> int:
    return number(peer.call(GetMaxOffset(topic=TIMER_TOPIC, queue_id=0)), "offset")


def test_a_recorded_store_is_continued_as_the_real_broker_continued_it(tmp_path: Path) -> None:
    store = unpack_recorded_store(tmp_path)
    data = tmp_path / "cluster"
    data.mkdir()
    store.rename(data / "broker-a")
    expected = truth()["seen_after_restart"]
    with (
        EmbeddedCluster(
            version="5.3.3",
            virtual_time=True,
            starts_at_ms=truth()["state_read_ms"] + 86_400_000,  # all that was popped is visible, and no timer lost
            data_dir=data,
            settings=RECORDED_SIZES,
        ) as cluster,
        Peer(cluster.broker().address) as peer,
    ):
        got: dict[str, list[str]] = {"G1": [], "G2": [], "GF": []}
        counts = ""
        for _ in range(8):
            cluster.advance(SECOND)
            for group, topic in (("G1", "T1"), ("G2", "T2"), ("GF", "TF")):
                answer = pop(peer, topic, group, invisible_time=100 * SECOND, order=group == "GF", attempt_id="again")
                if group == "GF" and counts:
                    continue  # the same attempt gets the same messages again
                counts = counts or (answer.ext("orderCountInfo") or "")
                got[group] += bodies(answer)
        assert {group: sorted(own) for group, own in got.items()} == {
            group: sorted(expected[group]) for group in ("G1", "G2", "GF")
        }
        assert counts == expected["GF_orderCountInfo"]


def test_what_is_not_acknowledged_comes_again_and_again_until_it_is(cluster: EmbeddedCluster, peer: Peer) -> None:
    fill(peer, 3)
    first = popped(pop(peer))
    assert ack(peer, first[1][1]) == 0
    assert bodies(pop(peer)) == []
    seen: list[tuple[str, int, str]] = []
    for _ in range(60):
        cluster.advance(SECOND)
        seen += [
            (message.body.decode(), message.reconsume_times, message.properties["1ST_POP_TIME"])
            for message, _ in popped(pop(peer))
        ]
    first_ms = str(first[0][1].pop_ms)
    assert seen[:6] == [(body, times, first_ms) for times in (1, 2, 3) for body in ("0", "2")]
    cluster.advance(20 * SECOND)
    for _, receipt in popped(pop(peer)):
        assert ack(peer, receipt) == 0
    cluster.advance(60 * SECOND)
    assert bodies(pop(peer)) == []


@pytest.mark.parametrize("merge", ["false", "true"])
def test_after_a_kill_everything_not_acknowledged_is_there(cluster: EmbeddedCluster, merge: str) -> None:
    broker = cluster.broker()
    broker.stop()
    broker.start(settings={"enablePopBufferMerge": merge})
    with Peer(broker.address) as peer:
        fill(peer, 6)
        pairs = popped(pop(peer, max_msg_nums=4, invisible_time=60 * SECOND))
        cluster.advance(300)
        assert ack(peer, pairs[0][1]) == 0
        cluster.advance(300)
    broker.kill()
    broker.start(settings={"enablePopBufferMerge": merge})
    with Peer(broker.address) as peer:
        seen: set[str] = set()
        for _ in range(80):
            cluster.advance(SECOND)
            for message, receipt in popped(pop(peer, invisible_time=10 * SECOND)):
                seen.add(message.body.decode())
                assert ack(peer, receipt) == 0
        assert seen >= {"1", "2", "3", "4", "5"}
        assert bodies(pop(peer)) == []


def test_the_buffer_spares_records_and_holds_the_offset_back(cluster: EmbeddedCluster) -> None:
    broker = cluster.broker()
    broker.stop()
    broker.start(settings={"enablePopBufferMerge": "true"})
    with Peer(broker.address) as peer:
        fill(peer, 6, "M1")
        for _, receipt in popped(pop(peer, "M1", max_msg_nums=3, invisible_time=60 * SECOND)):
            assert ack(peer, receipt, "M1") == 0
        cluster.advance(SECOND)
        assert (committed(peer, "M1"), records(peer)) == (3, 0)
        fill(peer, 6, "M2")
        pairs = popped(pop(peer, "M2", max_msg_nums=3, invisible_time=60 * SECOND))
        assert ack(peer, pairs[0][1], "M2") == 0
        cluster.advance(SECOND)
        assert (committed(peer, "M2"), records(peer)) == (0, 0)
        assert bodies(pop(peer, "M2", max_msg_nums=1, invisible_time=60 * SECOND)) == ["3"]
        cluster.advance(12 * SECOND)
        assert (committed(peer, "M2"), records(peer)) == (4, 3)
        assert bodies(pop(peer, "M2", max_msg_nums=1, invisible_time=3 * SECOND)) == ["4"]
        assert records(peer) == 4, "too short for the buffer"
        broker.stop()
    broker.start(settings={"enablePopBufferMerge": "true"})
    with Peer(broker.address) as peer:
        cluster.advance(70 * SECOND)
        assert sorted(bodies(pop(peer, "M2"))) == ["1", "2", "3", "4", "5"], "a clean stop loses nothing"


def test_many_acknowledgements_in_one_request_and_late_ones(cluster: EmbeddedCluster, peer: Peer) -> None:
    fill(peer, 5)
    (_, receipt), *_ = popped(pop(peer))
    batch = BatchAck(
        bits=bit_set([0, 2, 4, 40]), consumer_group="G", invisible_ms=receipt.invisible_ms, pop_ms=receipt.pop_ms,
        queue_id=0, revive_queue=receipt.revive_queue, start_offset=0, topic="T",
    )  # fmt: skip
    body = BatchAcks(acks=(batch,), broker_name="broker-a").to_bytes()
    assert peer.call(BatchAckMessage(), body).code == 0
    cluster.advance(20 * SECOND)
    assert ack(peer, receipt) == 0, "late, and without effect"
    assert bodies(pop(peer)) == ["1", "3"]
    retry = pop_retry_topic("G", "T")
    assert number(peer.call(GetMaxOffset(topic=retry, queue_id=0)), "offset") == 2
    assert number(peer.call(GetMaxOffset(topic=revive_topic("DefaultCluster"), queue_id=0)), "offset") > 0


def test_a_bit_set_of_megabytes_acknowledges_what_its_queue_holds(cluster: EmbeddedCluster, peer: Peer) -> None:
    fill(peer, 5)
    (_, receipt), *_ = popped(pop(peer))
    batch = BatchAck(
        bits=b64encode(b"\xff" * (2 << 20)).decode(), consumer_group="G", invisible_ms=receipt.invisible_ms,
        pop_ms=receipt.pop_ms, queue_id=0, revive_queue=receipt.revive_queue, start_offset=0, topic="T",
    )  # fmt: skip
    before = rss_kib()
    assert peer.call(BatchAckMessage(), BatchAcks(acks=(batch,), broker_name="broker-a").to_bytes()).code == 0
    assert rss_kib() - before < 256 << 10, "16 million offsets take a GiB"
    cluster.advance(20 * SECOND)
    assert bodies(pop(peer)) == []
    assert committed(peer) == 5


def rss_kib() -> int:
    """Returns the most memory that this process has had, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def test_an_ordered_queue_gives_out_one_batch_at_a_time(cluster: EmbeddedCluster, peer: Peer) -> None:
    fill(peer, 4)
    pairs = popped(pop(peer, max_msg_nums=2, order=True, attempt_id="a"))
    assert bodies(pop(peer, order=True, attempt_id="b")) == []
    waiting = PopMessage(
        consumer_group="G", topic="T", queue_id=0, max_msg_nums=32, invisible_time=SECOND, poll_time=9 * SECOND,
        born_time=cluster.now_ms(), order=True, attempt_id="c",
    )  # fmt: skip
    opaque = peer.post(waiting)
    for _, receipt in pairs:
        assert ack(peer, receipt) == 0
    woken = next((one for one in peer.unasked if one.opaque == opaque), None) or peer.answer_to(opaque)
    assert bodies(woken) == ["2", "3"], "the last acknowledgement wakes who waits"
    cluster.advance(11 * SECOND)  # written with the consumer offsets
    table = json.loads((cluster.broker().store / "config/consumerOrderInfo.json").read_text().replace("{0:", '{"0":'))
    assert table["table"]["T@G"]["0"]["o"] == [2, 1]
    assert committed(peer) == 2


def test_4_9_8_knows_none_of_it() -> None:
    with EmbeddedCluster() as cluster, Peer(cluster.broker().address) as peer:
        for code, kind in REQUESTS.items():
            if kind.__module__.endswith("requests_pop"):
                required: dict[str, Any] = {
                    item.name: 0 if "Int" in item.kind else "x" for item in kind.fields() if item.required
                }
                answer = peer.call(kind(**required))
                assert answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED, code
        assert not list((cluster.broker().store / "config").glob("consumerOrder*"))
