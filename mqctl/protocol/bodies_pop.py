"""Bodies of POP consumption, and the records by which a 5.x broker remembers what was popped and acknowledged.

The records travel as message bodies in `rmq_sys_wheel_timer` and the revive topic; `consumerOrderInfo.json` holds the
same for ordered pops. Times are milliseconds. Source: `PopCheckPoint`, `AckMsg`, `BatchAckMsg`, `BatchAck`,
`ConsumerOrderInfoManager` of 5.3.3, and what it stored.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Self

from mqctl.model.queue import MessageQueue
from mqctl.protocol.body import EMPTY, Body, BodyError, QueueId
from mqctl.protocol.declared import field
from mqctl.protocol.fastjson import json_string
from mqctl.protocol.receipts import numbers_text
from mqctl.text import sentence

POP, PULL = "POP", "PULL"
CK_TAG, ACK_TAG, BATCH_ACK_TAG = "ck", "ack", "bAck"
"""Tags of the records."""

MOST_BITS = 32_768
"""Bits of an acknowledgement that count: a pop takes 32 messages and, for them, passes over 16,000 entries at most
(`maxFilterMessageSize` of `DefaultMessageStore.getMessage`)."""


class MessageRequestMode(Body):
    """How a group consumes a topic; `pop_share_queue_num` is how many more clients' queues a client may pop."""

    consumer_group: str
    mode: str = PULL
    pop_share_queue_num: int = 0
    topic: str


class MessageRequestModes(Body):
    """All choices by topic and group, as 402 answers them and `messageRequestMode.json` keeps them."""

    message_request_mode_map: Mapping[str, Mapping[str, MessageRequestMode]] = EMPTY

    def __iter__(self) -> Iterator[MessageRequestMode]:
        return (mode for groups in self.message_request_mode_map.values() for mode in groups.values())


class AssignmentQuery(Body):
    """Who asks for the queues of which topic."""

    client_id: str
    consumer_group: str
    message_model: str = "CLUSTERING"
    strategy_name: str = "AVG"
    topic: str


class Assignment(Body):
    """A queue that a client consumes; number -1 stands for all queues of that broker."""

    message_queue: MessageQueue
    mode: str = PULL


class Assignments(Body):
    """The queues of a client; None when the broker cannot say and the client keeps what it has."""

    message_queue_assignments: tuple[Assignment, ...] | None = None


class BatchAck(Body):
    """Acknowledgements of one pop: the offsets are `start_offset` plus the numbers of the bits in `bits`.

    Attributes:
        topic: the one that was popped, not a retry topic.
        retry: 0, or 1 and 2 for the retry topic of either form.
        bits: Base64 text, or a list of byte numbers; bit 0 of byte 0 comes first.
    """

    bits: object = field("b")
    consumer_group: str = field("c")
    invisible_ms: int = field("it")
    pop_ms: int = field("pt")
    queue_id: int = field("q")
    retry: str = field("r", default="0")
    revive_queue: int = field("rq")
    start_offset: int = field("so")
    topic: str = field("t")

    @classmethod
    def from_json(cls, value: object) -> Self:
        """Reads an acknowledgement under its short names or its long ones. Raises BodyError."""
        if isinstance(value, dict) and not _SHORT.keys().isdisjoint(value):
            value = {_SHORT.get(name, name): item for name, item in value.items()}
        return super().from_json(value)

    def offsets(self, low: int, high: int) -> list[int]:
        """Returns the acknowledged queue offsets from `low` to `high`, both included, of the first `MOST_BITS` bits.

        The work grows with the bits that can count, not with the size of the set.

        Raises:
            BodyError: `bits` is no bit set.
        """
        start = self.start_offset
        first, last = max(0, low - start), min(high - start, MOST_BITS - 1)
        if last < first:
            _bit_set(self.bits, 0)
            return []
        bits = int.from_bytes(_bit_set(self.bits, last // 8 + 1), "little") & ((2 << last) - 1)
        if not bits & (bits + 1):  # all from the first on
            return list(range(start + first, start + bits.bit_length()))
        data = bits.to_bytes(last // 8 + 1, "little")
        return [start + number for number in range(first, last + 1) if data[number >> 3] >> (number & 7) & 1]


_quoted = lru_cache(maxsize=1_024)(json_string)
"""Names repeat."""


_SHORT = {
    "bitSet": "b",
    "consumerGroup": "c",
    "invisibleTime": "it",
    "popTime": "pt",
    "queueId": "q",
    "retry": "r",
    "reviveQueueId": "rq",
    "startOffset": "so",
    "topic": "t",
}


def _bit_set(value: object, size: int) -> bytes:
    """Returns the first `size` bytes of a bit set. Raises BodyError."""
    try:
        if isinstance(value, str):
            letters = (size + 2) // 3 * 4
            return b64decode(value if len(value) <= letters else value[:letters], validate=True)[:size]
        if isinstance(value, list):
            return bytes([number & 0xFF for number in value[:size]])
    except (Base64Error, TypeError, ValueError):
        pass
    raise BodyError(
        sentence("wire-batch-acknowledgements-read", "A batch of acknowledgements cannot be read"),
        reason=sentence("wire-no-bit-set", "{value!r} is not a bit set", value=str(value)[:60]),
    )


def bit_set(numbers: Iterable[int]) -> str:
    """Returns the Base64 text of the bit set with these bits."""
    total = sum(1 << number for number in set(numbers))
    return b64encode(total.to_bytes((total.bit_length() + 7) // 8, "little")).decode()


class BatchAcks(Body):
    """Many acknowledgements for one broker."""

    acks: tuple[BatchAck, ...] = ()
    broker_name: str | None = None


class PopCheckPoint(Body):
    """What one pop took from one queue (tag `ck`).

    Attributes:
        bits: bits of the messages acknowledged so far; 0 as stored.
        offset_differences: queue offsets of the messages, less `start_offset`; old records have none and mean all
            from there on.
        revive_ms: when the messages become visible; written, not read.
        put_again: how often reviving failed; None at first.
        topic: the one popped from, a retry topic perhaps.
    """

    bits: int = field("bm", default=0)
    broker_name: str | None = field("bn", default=None)
    consumer_group: str = field("c")
    offset_differences: tuple[int, ...] | None = field("d", default=None)
    invisible_ms: int = field("it")
    count: int = field("n")
    pop_ms: int = field("pt")
    queue_id: int = field("q")
    revive_ms: int = field("reviveTime", default=0)
    revive_offset: int = field("ro", default=0)
    put_again: str | None = field("rp", default=None)
    start_offset: int = field("so")
    topic: str = field("t")

    def to_bytes(self, *, is_v5: bool = False, browser_compatible: bool = False) -> bytes:
        """Writes a checkpoint as it is first stored; every pop of a queue writes one."""
        if self.put_again is not None or self.offset_differences is None or not self.broker_name:
            return super().to_bytes(is_v5=is_v5, browser_compatible=browser_compatible)
        return (
            f'{{"bm":{self.bits},"bn":{_quoted(self.broker_name)},"c":{_quoted(self.consumer_group)},'
            f'"d":[{numbers_text(self.offset_differences)}],"it":{self.invisible_ms},"n":{self.count},"pt":{self.pop_ms},'
            f'"q":{self.queue_id},"reviveTime":{self.revive_ms},"ro":{self.revive_offset},"so":{self.start_offset},'
            f'"t":{_quoted(self.topic)}}}'
        ).encode("utf-8", "replace")

    @property
    def due_ms(self) -> int:
        """When the messages become visible again."""
        return self.pop_ms + self.invisible_ms

    @property
    def merge_key(self) -> str:
        """What acknowledgements of these messages bear too."""
        place = f"{self.topic}{self.consumer_group}{self.queue_id}{self.start_offset}"
        return f"{place}{self.pop_ms}{self.broker_name}"

    @property
    def offsets(self) -> tuple[int, ...]:
        """Queue offsets of the messages, by index."""
        differences = self.offset_differences
        return tuple([self.start_offset + number for number in (differences or range(self.count))])

    @property
    def unique_key(self) -> str:
        """UNIQ_KEY of the record."""
        head = f"{self.topic}@{self.queue_id}@{self.start_offset}@{self.consumer_group}"
        return f"{head}@{self.pop_ms}@{self.broker_name}@{CK_TAG}"


class AckRecord(Body):
    """Acknowledgement of one message (tag `ack`), or of the several in `ack_offsets` (tag `bAck`)."""

    ack_offset: int = field("ao", default=-1)
    ack_offsets: tuple[int, ...] | None = field("aol", default=None)
    broker_name: str | None = field("bn", default=None)
    consumer_group: str = field("c")
    pop_ms: int = field("pt")
    queue_id: int = field("q")
    start_offset: int = field("so")
    topic: str = field("t")

    def to_bytes(self, *, is_v5: bool = False, browser_compatible: bool = False) -> bytes:
        """Writes an acknowledgement; every one that is not spared writes one."""
        if not self.broker_name:
            return super().to_bytes(is_v5=is_v5, browser_compatible=browser_compatible)
        offsets = "" if self.ack_offsets is None else f'"aol":[{numbers_text(self.ack_offsets)}],'
        return (
            f'{{"ao":{self.ack_offset},{offsets}"bn":{_quoted(self.broker_name)},"c":{_quoted(self.consumer_group)},'
            f'"pt":{self.pop_ms},"q":{self.queue_id},"so":{self.start_offset},"t":{_quoted(self.topic)}}}'
        ).encode("utf-8", "replace")

    @property
    def offsets(self) -> tuple[int, ...]:
        """The acknowledged queue offsets."""
        return (self.ack_offset,) if self.ack_offsets is None else self.ack_offsets

    def merge_key(self, broker_name: str) -> str:
        """What the checkpoint of these messages bears too; an old record without a broker is of `broker_name`."""
        place = f"{self.topic}{self.consumer_group}{self.queue_id}{self.start_offset}"
        return f"{place}{self.pop_ms}{broker_name if self.broker_name is None else self.broker_name}"

    @property
    def tag(self) -> str:
        """TAGS of the record."""
        return ACK_TAG if self.ack_offsets is None else BATCH_ACK_TAG

    @property
    def unique_key(self) -> str:
        """UNIQ_KEY of the record."""
        head = f"{self.topic}@{self.queue_id}@{self.ack_offset}@{self.consumer_group}"
        return f"{head}@{self.pop_ms}@{self.broker_name}@{ACK_TAG}"


class OrderInfo(Body):
    """The batch of an ordered queue that is being consumed.

    Attributes:
        delivered: how often messages were delivered before, by queue offset.
        next_visible: moments that 200053 set, by queue offset.
        acked_bits: bits of the acknowledged messages, by their index in the batch.
        differences: queue offset of the first message, then the distances of the others from it.
        used_ms: when the batch was popped; idle entries are forgotten after a day.
    """

    attempt_id: str | None = field("a", default=None)
    acked_bits: int = field("cm", default=0)
    invisible_ms: int | None = field("i", default=None)
    used_ms: int = field("l", default=0)
    differences: tuple[int, ...] = field("o", default=())
    delivered: Mapping[int, int] | None = field("oc", default=None)
    next_visible: Mapping[int, int] | None = field("ot", default=None)
    pop_ms: int = field("popTime", default=0)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Queue offsets of the batch."""
        if not self.differences:
            return ()
        first = self.differences[0]
        return (first, *[first + number for number in self.differences[1:]])

    def unacked(self) -> list[tuple[int, int]]:
        """Returns queue offset and next visible moment of each message that is not acknowledged."""
        visible = self.next_visible or {}
        usual_ms = self.pop_ms + (self.invisible_ms or 0)
        return [
            (offset, visible.get(offset, usual_ms))
            for index, offset in enumerate(self.offsets)
            if not self.acked_bits >> index & 1
        ]


class OrderInfos(Body):
    """`consumerOrderInfo.json`: `topic@group` -> queue id -> batch."""

    table: Mapping[str, Mapping[QueueId, OrderInfo]] = EMPTY
