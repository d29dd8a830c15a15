"""Op messages: what says that a half message was ended.

4.9 writes one per transaction; 5.x gathers the offsets of several for up to 3 s and writes them with a comma behind
each, so a crash loses some, and their transactions are checked again. Source: `TransactionalMessageServiceImpl` and
`TransactionalOpBatchService` of 4.9.8 and 5.3.3.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from embedded_broker.clock import Handle
from embedded_broker.log.intake import Incoming, Intake
from embedded_broker.log.store import Storage
from embedded_broker.tables.topics import TopicTable
from mqctl.errors import MqctlError
from mqctl.model.names import OP_TOPIC
from mqctl.model.numbers import decimal
from mqctl.protocol.message_record import RecordError, decode_message
from mqctl.protocol.properties import with_properties

log = logging.getLogger("embedded_broker")

OP_TAG = "d"
_READ = 32


class OpWriter:
    """Writes op messages as the release does."""

    def __init__(self, intake: Intake, topics: TopicTable) -> None:
        self._intake = intake
        self._topics = topics
        self._gathered = ""
        self._timer: Handle | None = None

    def note(self, half_offset: int) -> None:
        """Notes that the half message at a queue offset was ended."""
        if not self._intake.release.is_v5:
            self._put(str(half_offset))
            return
        self._gathered += f"{half_offset},"
        settings = self._intake.settings
        if len(self._gathered) > settings.transaction_op_msg_max_size:
            self.write()
        elif self._timer is None:
            self._timer = self._intake.clock.call_later(settings.transaction_op_batch_interval, self.write)

    def write(self) -> None:
        """Writes what was gathered; what the store refuses stays gathered for the next time."""
        self.stop()
        if self._gathered and self._put(self._gathered):
            self._gathered = ""

    def stop(self) -> None:
        """Cancels a write that was put off."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _put(self, text: str) -> bool:
        intake = self._intake
        if intake.release.is_v5:
            self._topics.find_or_create(OP_TOPIC, 1)
        message = Incoming(
            topic=OP_TOPIC,
            queue_id=0,
            body=text.encode(),
            properties=with_properties("", {"WAIT": "true", "TAGS": OP_TAG}),
            born_ms=intake.clock.now_ms(),
            born_host=intake.store_host,
        )
        try:
            intake.put(message)
        except MqctlError as error:  # the end of the transaction stands; a check will ask again
            log.error("op message for half offset %s not stored: %s", text, error)
            return False
        return True


class OpReader:
    """Reads op messages in the order of their queue, as far as somebody asks.

    Args:
        position: the first op message that may matter.
        half_low: ops of half messages below are done.

    Attributes:
        done_until: the first op message that names a half message which the reader's user has not passed yet.
    """

    def __init__(self, storage: Storage, position: int, half_low: int) -> None:
        self._storage = storage
        self._position = position
        self._half_low = half_low
        self._ended: dict[int, list[int]] = {}
        self._open: dict[int, int] = {}

    @property
    def done_until(self) -> int:
        return min(self._open, default=self._position)

    def look_for(self, half_offset: int) -> Iterator[None]:
        """Reads on until the end of a half message is known, or nothing is left; pauses after each portion.

        Raises:
            StorageError: the operating system refuses.
        """
        while half_offset not in self._ended:
            entries = self._storage.entries(OP_TOPIC, 0, self._position, _READ)
            if not entries:
                return
            for physical_offset, _size, _code in entries:
                self._take(self._storage.message_at(physical_offset))
                self._position += 1
            yield

    def is_ended(self, half_offset: int) -> bool:
        """Tells whether an op message that was read names a half message."""
        return half_offset in self._ended

    def passed(self, half_offset: int) -> None:
        """Notes that nobody will ask for a half message again."""
        for op_offset in self._ended.pop(half_offset, ()):
            self._open[op_offset] -= 1
            if not self._open[op_offset]:
                del self._open[op_offset]

    def _take(self, record: bytes | None) -> None:
        if record is None:
            return
        try:
            message = decode_message(record)
        except RecordError as error:
            log.warning("op message at queue offset %d cannot be read: %s", self._position, error)
            return
        if message.tags != OP_TAG:
            log.warning("op message at queue offset %d has the tag %s", self._position, message.tags)
            return
        for offset in ended_offsets(message.body):
            if offset >= self._half_low:
                self._ended.setdefault(offset, []).append(self._position)
                self._open[self._position] = self._open.get(self._position, 0) + 1


def ended_offsets(body: bytes) -> list[int]:
    """Returns the half queue offsets that an op message names, in either format; what is no number is left out."""
    parts = (part.strip() for part in body.split(b","))
    return [offset for part in parts if (offset := decimal(part)) is not None]
