"""Finding stored messages by queue, physical offset, key or id, without a broker."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from pathlib import Path

from mqctl.errors import BadInputError, MqctlError, NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.stored_message import StoredMessage
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.unpacking import Unpacker
from mqctl.store.consumequeue import is_message
from mqctl.store.directory import StoreDirectory
from mqctl.store.logged import logged_queues
from mqctl.text import sentence

_OFFSET_ID_LENGTHS = (32, 56)


@dataclass
class FoundMessages:
    """Messages in the order asked for, their bodies within one limit, and what could not be read, in words."""

    messages: list[StoredMessage] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    unpacker: Unpacker = field(default_factory=Unpacker)


@dataclass(frozen=True)
class MessageFinder:
    """Reads single messages of one store."""

    store: StoreDirectory

    @classmethod
    def open(cls, path: Path) -> MessageFinder:
        """Opens a store; raises as `StoreDirectory.open` does."""
        return cls(StoreDirectory.open(path).with_logged_entries())

    def by_queue(self, topic: str, queue_id: int, offset: int | None, count: int) -> FoundMessages:
        """Returns up to `count` messages of a queue from queue offset `offset` (default: the queue's minimum).

        Raises:
            NotFoundError: there is no such topic or queue, or the offset lies outside it.
        """
        if not self.store.has_queues:
            return self._by_logged_queue(topic, queue_id, offset, count)
        self._check_queue(topic, queue_id)
        queue = self.store.consume_queue(topic, queue_id)
        low, high = queue.min_offset(self.store.commit_log.min_offset), queue.max_offset
        start = low if offset is None else offset
        if offset is not None and not low <= offset < high:
            raise NotFoundError(
                sentence(
                    "snapshot-no-message-offset-queue",
                    "no message at offset {offset} of {topic} queue {queue_id}",
                    offset=offset,
                    topic=topic,
                    queue_id=queue_id,
                ),
                reason=sentence("holds-offsets", "it holds offsets {low} to {high}", low=low, high=high - 1)
                if high > low
                else sentence("snapshot-empty", "it is empty"),
            )
        messages = FoundMessages()
        for _, entries in queue.runs(start, min(high, start + count)):
            self._read(messages, entries["physical_offset"][is_message(entries)].tolist())
        return messages

    def _by_logged_queue(self, topic: str, queue_id: int, offset: int | None, count: int) -> FoundMessages:
        """Does what `by_queue` does where there is a log only, such as what a recovery set aside."""
        known = logged_queues(self.store.commit_log, topic).get(queue_id)
        if not known:
            raise NotFoundError(
                sentence(
                    "snapshot-no-message-queue",
                    "no message of {topic} queue {queue_id} is in {path}",
                    topic=topic,
                    queue_id=queue_id,
                    path=self.store.path,
                )
            )
        chosen = sorted(number for number in known if number >= (offset or 0))[:count]
        if not chosen:
            raise NotFoundError(
                sentence(
                    "snapshot-no-message-offset-queue",
                    "no message at offset {offset} of {topic} queue {queue_id}",
                    offset=offset,
                    topic=topic,
                    queue_id=queue_id,
                ),
                reason=sentence(
                    "snapshot-holds-offsets",
                    "{path} holds offsets {known} to {known_2}",
                    path=self.store.path,
                    known=min(known),
                    known_2=max(known),
                ),
            )
        messages = FoundMessages()
        self._read(messages, [known[number] for number in chosen])
        return messages

    def by_physical_offset(self, physical_offset: int) -> FoundMessages:
        """Returns the message whose record starts at `physical_offset`.

        Raises:
            NotFoundError: no record starts there.
            BadInputError: what starts there is torn.
        """
        messages = FoundMessages()
        messages.messages.append(messages.unpacker.stored(self.store.commit_log.record_at(physical_offset)))
        return messages

    def by_key(self, topic: str, key: str, count: int) -> FoundMessages:
        """Returns messages of `topic` with the key or unique key `key`, the newest first, through the index files.

        Raises:
            NotFoundError: the index names none.
        """
        messages = FoundMessages()
        for index in reversed(self.store.index_files()):
            self._read(messages, index.lookup(topic, key).tolist(), lambda message: _has_key(message, topic, key))
            if len(messages.messages) >= count:
                break
        del messages.messages[count:]
        if not messages.messages and not messages.unreadable:
            raise NotFoundError(
                sentence("snapshot-no-message-key", "no message of {topic} with key {key}", topic=topic, key=key),
                reason=sentence("snapshot-index-files-name-none", "the index files name none"),
                remedy=sentence(
                    "snapshot-check-topic-key-index",
                    "check topic and key; the index may be younger than the message",
                ),
            )
        return messages

    def by_id(self, message_id: str, topic: str | None, count: int) -> FoundMessages:
        """Returns the message of an offset message id, or the messages with a unique id.

        A text of 32 or 56 hex digits can be either; an offset id counts when a record stands where it points.

        Raises:
            NotFoundError: nothing bears this id; a unique id needs its topic to be looked up.
        """
        if len(message_id) in _OFFSET_ID_LENGTHS:
            try:
                return self._by_offset_id(message_id)
            except (NotFoundError, BadInputError):
                if topic is None:
                    raise
        if topic is None:
            raise NotFoundError(
                sentence(
                    "snapshot-no-message-offset-id", "no message with offset id {message_id}", message_id=message_id
                ),
                reason=sentence("snapshot-offset-message-id-hex", "an offset message id has 32 or 56 hex digits"),
                remedy=sentence(
                    "snapshot-unique-id-name-topic", "for a unique id name its topic too: -t TOPIC --id ID"
                ),
            )
        return self.by_key(topic, message_id, count)

    def _by_offset_id(self, message_id: str) -> FoundMessages:
        wanted = OffsetId.parse(message_id)
        result = self.by_physical_offset(wanted.physical_offset)
        stored = result.messages[0].message.store_host
        if stored != wanted.host:
            raise NotFoundError(
                sentence(
                    "snapshot-no-message-offset-id", "no message with offset id {message_id}", message_id=message_id
                ),
                reason=sentence(
                    "snapshot-id-names-broker-stands",
                    "the id names broker {host}, what stands there was stored by {stored}",
                    host=wanted.host,
                    stored=stored,
                ),
                remedy=sentence(
                    "snapshot-look-store-broker-unique",
                    "look in the store of that broker; a unique id needs its topic: -t TOPIC",
                ),
            )
        return result

    def _check_queue(self, topic: str, queue_id: int) -> None:
        known = self.store.queue_ids()
        if (topic, queue_id) in known:
            return
        queues = [number for name, number in known if name == topic]
        if queues:
            listed = ", ".join(map(str, queues))
            raise NotFoundError(
                sentence("topic-no-queue", "topic {topic} has no queue {missing}", topic=topic, missing=queue_id),
                reason=sentence("snapshot-queues", "its queues are {listed}", listed=listed),
            )
        raise NotFoundError(
            sentence("snapshot-no-topic", "there is no topic {topic} in {path}", topic=topic, path=self.store.path),
            remedy=command_line("mqctl store describe --store {}", self.store.path),
        )

    def _read(
        self, result: FoundMessages, physical_offsets: Iterable[int], wanted: Callable[[Message], bool] = lambda _: True
    ) -> None:
        for physical_offset in physical_offsets:
            try:
                message = self.store.commit_log.record_at(physical_offset)
            except MqctlError as error:
                result.unreadable.append(str(error))
                continue
            if wanted(message):
                result.messages.append(result.unpacker.stored(message))


def _has_key(message: Message, topic: str, key: str) -> bool:
    """Different keys can have one hash, so the record itself decides."""
    return message.topic == topic and (key in message.keys or key == message.unique_key)
