"""What `group lag --store` tells of stores of many shapes, beside what a consumer then gets from the broker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from embedded_broker import EmbeddedCluster
from mqctl.model.message import Message
from mqctl.protocol.bodies_pop import BatchAck, BatchAcks, bit_set
from mqctl.protocol.receipts import Receipt, real_topic
from mqctl.protocol.requests_pop import BatchAckMessage, ChangeInvisibleTime
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_pop import ack, number, pop, popped
from tests.embedded_broker.wire import Peer
from tests.live.conftest import Run

COUNTS = ("ready_count", "invisible_count", "due_count", "retry_count")
LONG_MS = 3_000_000
Held = list[tuple[Message, Receipt]]


def _ack_together(peer: Peer, receipt: Receipt, offsets: list[int], **changes: int) -> None:
    batch = BatchAck(
        consumer_group="G", topic="T", retry=receipt.retry, start_offset=receipt.start_offset,
        queue_id=receipt.queue_id or 0, revive_queue=receipt.revive_queue, pop_ms=receipt.pop_ms,
        invisible_ms=changes.get("invisible_ms", receipt.invisible_ms),
        bits=bit_set(offset - receipt.start_offset for offset in offsets),
    )  # fmt: skip
    assert peer.call(BatchAckMessage(), BatchAcks(broker_name="broker-a", acks=(batch,)).to_bytes()).code == 0


def _change(peer: Peer, receipt: Receipt, invisible_ms: int) -> Receipt:
    request = ChangeInvisibleTime(
        consumer_group="G", topic=real_topic("T", "G", receipt.retry), queue_id=receipt.queue_id or 0,
        extra_info=str(receipt), offset=receipt.offset or 0, invisible_time=invisible_ms,
    )  # fmt: skip
    answer = peer.call(request)
    return replace(
        receipt, start_offset=receipt.offset or 0, pop_ms=number(answer, "popTime"),
        invisible_ms=number(answer, "invisibleTime"), revive_queue=number(answer, "reviveQid"),
    )  # fmt: skip


def _live(cluster: EmbeddedCluster, peer: Peer, rnd: Random) -> None:
    """Sends, pops, acknowledges, changes and lets time pass, as chance has it."""
    held: Held = []
    for count in range(4):
        assert peer.call(send("T", queues=2, queue_id=count % 2), b"x").code == 0
    for step in range(rnd.randrange(20, 40)):
        chance = rnd.random() if step else 0.3
        if chance < 0.25:
            for _ in range(rnd.randrange(1, 8)):
                assert peer.call(send("T", queues=2, queue_id=rnd.randrange(2)), b"x").code == 0
        elif chance < 0.5:
            span_ms = rnd.choice([1_000, 3_000, 6_000, 15_000, 60_000])
            held += popped(pop(peer, "T", "G", max_msg_nums=rnd.choice([1, 3, 32]), invisible_time=span_ms))
        elif chance < 0.86 and held:
            index = rnd.randrange(len(held))
            message, receipt = held[index]
            if chance < 0.7:
                ack(peer, receipt, "T", "G")
            elif chance < 0.78:
                key = (receipt.pop_ms, receipt.queue_id, receipt.retry, receipt.start_offset)
                mates = [one for _, one in held if (one.pop_ms, one.queue_id, one.retry, one.start_offset) == key]
                _ack_together(
                    peer, receipt, [mate.offset or 0 for mate in rnd.sample(mates, rnd.randint(1, len(mates)))]
                )
            else:
                held[index] = (message, _change(peer, receipt, rnd.choice([0, 500, 2_000, 10_000, 30_000])))
        else:
            cluster.advance(rnd.choice([200, 1_000, 2_500, 5_000, 9_000, 20_000]))
        cluster.advance(rnd.choice([3, 11, 60]))


def _drained(cluster: EmbeddedCluster, peer: Peer, seconds: int) -> list[int]:
    """Pops and acknowledges all that comes; returns how much came in each second."""
    bodies = []
    for second in range(seconds):
        came = 0
        # Which retry topic a pop reads is a matter of chance (PopMessageProcessor): in the first second, of which a
        # test asks exactly what came, none may be missed.
        for _ in range(6 if second else 60):
            pairs = popped(pop(peer, "T", "G", invisible_time=LONG_MS))
            came += len(pairs)
            for _, receipt in pairs:
                ack(peer, receipt, "T", "G")
        bodies.append(came)
        cluster.advance(1_000)
    return bodies


@pytest.mark.parametrize("seed", [12, 14, 15, 18])
def test_the_figures_of_a_store_are_what_a_consumer_then_gets(mqctl: Run, tmp_path: Path, seed: int) -> None:
    rnd = Random(seed)
    switches = ("enablePopBufferMerge", "enableRetryTopicV2")
    settings = {name: rnd.choice(["true", "false"]) for name in switches}
    with EmbeddedCluster(version="5.3.3", virtual_time=True, data_dir=tmp_path, settings=settings) as cluster:
        broker = cluster.broker()
        with Peer(broker.address, version=479) as peer:
            _live(cluster, peer, rnd)
        store = broker.store
        broker.stop()
        outcome = mqctl("group", "lag", "--store", store, "--at", cluster.now_ms(), "-g", "G", "-o", "json")
        (row,) = (row for row in outcome.json["groups"] if row["topic"] == "T")
        broker.start()
        with Peer(broker.address, version=479) as peer:
            came = _drained(cluster, peer, 75)
    assert (row["ready_count"] + row["retry_count"], sum(row[name] for name in COUNTS)) == (came[0], sum(came))


def test_an_acknowledgement_before_its_checkpoint_counts_as_little_as_it_does_for_a_broker(
    mqctl: Run, tmp_path: Path
) -> None:
    with EmbeddedCluster(version="5.3.3", virtual_time=True, data_dir=tmp_path) as cluster:
        broker = cluster.broker()
        with Peer(broker.address, version=479) as peer:
            for _ in range(2):
                assert peer.call(send("T", queues=1), b"x").code == 0
            pairs = popped(pop(peer, "T", "G", invisible_time=20_000))
            cluster.advance(2_000)
            # Its moment has passed by what it says: it overtakes the checkpoint that still hangs in the timer wheel.
            _ack_together(peer, pairs[0][1], [0], invisible_ms=1)
            ack(peer, pairs[1][1], "T", "G")
            cluster.advance(3_000)
        store = broker.store
        broker.stop()
        outcome = mqctl("group", "lag", "--store", store, "--at", cluster.now_ms(), "-g", "G", "-o", "json")
        (row,) = (row for row in outcome.json["groups"] if row["topic"] == "T")
        broker.start()
        with Peer(broker.address, version=479) as peer:
            came = _drained(cluster, peer, 30)
    assert [row[name] for name in COUNTS] == [0, 1, 0, 0]
    assert sum(came) == 1
