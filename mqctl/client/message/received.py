"""Messages as listeners see them (`MessageExt`, `ConsumeConcurrentlyContext`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import RETRY_TOPIC, UNIQ_KEY, Message
from mqctl.model.queue import MessageQueue
from mqctl.protocol.compression import decompress
from mqctl.protocol.message_id import OffsetId


class ReceivedMessage:
    """A stored message on its way to a listener.

    Attributes:
        stored: the record as the broker keeps it.
        queue: the queue it was pulled from (of the retry topic, for a retry).
        topic: the topic it was sent to, also for a retry.
        reconsume_times: failed deliveries so far; an orderly consumer counts them in memory.
        max_offset: end of the queue when the message was pulled.
        began_ms: when the listener got it, on the client's clock; 0 before.
    """

    __slots__ = ("_body", "began_ms", "max_offset", "queue", "reconsume_times", "stored", "topic")

    def __init__(self, stored: Message, queue: MessageQueue, *, max_offset: int = 0, restored: bool = False) -> None:
        self.stored = stored
        self.queue = queue
        self.topic = stored.properties.get(RETRY_TOPIC, stored.topic) if restored else stored.topic
        self.reconsume_times = stored.reconsume_times
        self.max_offset = max_offset
        self.began_ms = 0
        self._body: bytes | None = None

    @property
    def body(self) -> bytes:
        """The body as its producer wrote it. Raises CompressionError when it is compressed and broken."""
        if self._body is None:
            self._body = decompress(self.stored.body, self.stored.sys_flag)
        return self._body

    @property
    def properties(self) -> Mapping[str, str]:
        return self.stored.properties

    @property
    def tags(self) -> str | None:
        return self.stored.tags

    @property
    def keys(self) -> list[str]:
        return self.stored.keys

    @property
    def queue_offset(self) -> int:
        return self.stored.queue_offset

    @property
    def offset_id(self) -> str:
        """The id by which the storing broker finds it."""
        return str(OffsetId(self.stored.store_host, self.stored.physical_offset))

    @property
    def message_id(self) -> str:
        """The unique id of its producer, or else the offset id."""
        return self.stored.properties.get(UNIQ_KEY) or self.offset_id

    def __repr__(self) -> str:
        return f"ReceivedMessage({self.topic}, {self.queue}, offset {self.queue_offset}, {self.message_id})"


class Consumed(Enum):
    """What a listener says. Anything but SUCCESS is a failure for a concurrent consumer."""

    SUCCESS = "SUCCESS"
    RECONSUME_LATER = "RECONSUME_LATER"
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "SUSPEND_CURRENT_QUEUE_A_MOMENT"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"


@dataclass(slots=True)
class ConsumeContext:
    """What a listener may look at and decide besides its result.

    Attributes:
        queue: where the messages come from.
        delay_level: of failed messages (concurrent): 0 lets the broker decide, -1 means the dead-letter topic.
        ack_index: the last message of the batch that succeeded (concurrent); None means all.
        auto_commit: SUCCESS commits at once (orderly).
        suspend_ms: pause after a failure (orderly, key-ordered); None takes the setting.
    """

    queue: MessageQueue
    delay_level: int = 0
    ack_index: int | None = None
    auto_commit: bool = True
    suspend_ms: int | None = None

    def widen(self, kept: Sequence[bool]) -> None:
        """Makes an `ack_index` that a listener set for the messages it saw one for the whole batch.

        Args:
            kept: for each message of the batch, whether the listener saw it; those it did not see before the first
                failed one count as succeeded.
        """
        if self.ack_index is None:
            return
        failed = self.ack_index + 1
        for index, was_seen in enumerate(kept):
            failed -= was_seen
            if failed < 0:
                self.ack_index = index - 1
                return
        self.ack_index = len(kept) - 1


Listener = Callable[[Sequence[ReceivedMessage], ConsumeContext], Consumed | None]
"""Consumes messages. None, and anything raised, count as a failure."""
