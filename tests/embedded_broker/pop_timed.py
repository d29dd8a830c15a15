"""A broker of 5.3.3 in virtual time for pops whose moments are counted by hand, and how it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.model.message import Message
from mqctl.model.names import TIMER_TOPIC, pop_retry_topic
from mqctl.protocol.bodies_pop import BatchAck, BatchAcks, bit_set
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_record import decode_message
from mqctl.protocol.receipts import Receipt, read_msg_offsets, real_topic
from mqctl.protocol.requests_client import QueryConsumerOffset
from mqctl.protocol.requests_pop import AckMessage, BatchAckMessage, ChangeInvisibleTime, PopMessage
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer

START_MS = 1_700_000_000_000
LONG_MS = 60_000
MERGE = {"enablePopBufferMerge": "true"}


@dataclass
class Side:
    """A broker at rest in virtual time, and a connection to it."""

    cluster: EmbeddedCluster
    peer: Peer

    @property
    def now(self) -> int:
        return self.cluster.now_ms() - START_MS

    def reach(self, moment: int) -> None:
        self.cluster.advance(moment - self.now)

    def fill(self, count: int, topic: str = "T", **properties: str) -> None:
        for number in range(count):
            assert self.peer.call(send(topic, properties=properties), f"{number}".encode()).code == 0

    def pop(self, most: int = 32, *, topic: str = "T", group: str = "G", **changes: Any) -> list[Receipt]:
        answer = self.ask(most, topic=topic, group=group, **changes)
        if answer.code == ResponseCode.POLLING_TIMEOUT:
            return []
        assert answer.code == 0, answer.remark
        pop_ms, invisible_ms, revive = (
            int(answer.ext(name) or -1) for name in ("popTime", "invisibleTime", "reviveQid")
        )
        starts = {
            flag: int(start) for flag, _, start in map(str.split, (answer.ext("startOffsetInfo") or "").split(";"))
        }
        return [
            Receipt(
                start_offset=starts[flag], pop_ms=pop_ms, invisible_ms=invisible_ms, revive_queue=revive, retry=flag,
                broker_name="broker-a", queue_id=0, offset=offset,
            )
            for (flag, _), offsets in read_msg_offsets(answer.ext("msgOffsetInfo")).items()
            for offset in offsets
        ]  # fmt: skip

    def ask(self, most: int = 32, *, topic: str = "T", group: str = "G", **changes: Any) -> RemotingCommand:
        wanted: dict[str, Any] = {"queue_id": 0, "invisible_time": LONG_MS, "max_msg_nums": most, **changes}
        return self.peer.call(PopMessage(consumer_group=group, topic=topic, **wanted))

    def ack(self, *receipts: Receipt, topic: str = "T", group: str = "G") -> None:
        for one in receipts:
            at = real_topic(topic, group, one.retry)
            request = AckMessage(
                consumer_group=group, topic=at, queue_id=0, extra_info=str(one), offset=one.offset or 0
            )
            assert self.peer.call(request).code == 0

    def ack_together(self, receipt: Receipt, *offsets: int) -> None:
        batch = BatchAck(
            bits=bit_set(offset - receipt.start_offset for offset in offsets), consumer_group="G",
            invisible_ms=receipt.invisible_ms, pop_ms=receipt.pop_ms, queue_id=0, retry=receipt.retry,
            revive_queue=receipt.revive_queue, start_offset=receipt.start_offset, topic="T",
        )  # fmt: skip
        assert self.peer.call(BatchAckMessage(), BatchAcks(acks=(batch,), broker_name="broker-a").to_bytes()).code == 0

    def change(self, receipt: Receipt, invisible_ms: int) -> Receipt:
        request = ChangeInvisibleTime(
            consumer_group="G", topic="T", queue_id=0, extra_info=str(receipt), offset=receipt.offset or 0,
            invisible_time=invisible_ms,
        )  # fmt: skip
        answer = self.peer.call(request)
        assert answer.code == 0
        return Receipt(
            start_offset=receipt.offset or 0, pop_ms=int(answer.ext("popTime") or -1),
            invisible_ms=int(answer.ext("invisibleTime") or -1), revive_queue=int(answer.ext("reviveQid") or -1),
            retry=receipt.retry, broker_name="broker-a", queue_id=0, offset=receipt.offset,
        )  # fmt: skip

    def committed(self, topic: str = "T", group: str = "G") -> int:
        answer = self.peer.call(QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0))
        return int(answer.ext("offset") or -1)

    def end(self, topic: str) -> int:
        return self.cluster.broker().on_loop(lambda broker: broker.storage.max_offset(topic, 0))

    def revived(self) -> int:
        return self.end(pop_retry_topic("G", "T", v2=False))

    def messages(self, topic: str) -> list[Message]:
        def read(broker: Broker) -> list[Message]:
            entries = broker.storage.entries(topic, 0, 0, 100)
            return [decode_message(broker.storage.message_at(offset) or b"") for offset, _, _ in entries]

        return self.cluster.broker().on_loop(read)

    def records(self) -> list[tuple[str, int]]:
        """Returns tag and moment of what waits, or waited, for its revive queue."""
        return [
            (one.tags or "", int(one.properties["TIMER_DELIVER_MS"]) - START_MS) for one in self.messages(TIMER_TOPIC)
        ]


def opened(**settings: str) -> Iterator[Side]:
    with EmbeddedCluster(version="5.3.3", virtual_time=True, starts_at_ms=START_MS, settings=settings) as cluster:
        cluster.broker().on_loop(lambda broker: setattr(broker.pop, "draw", lambda: 99))
        with Peer(cluster.broker().address, version=479) as peer:
            yield Side(cluster, peer)
