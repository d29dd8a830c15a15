"""Consumer offsets: in memory, and where they last.

Source: `RemoteBrokerOffsetStore` and `LocalFileOffsetStore` of 4.9.8.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from threading import Lock
from typing import Protocol

from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.instance import ClientInstance
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import StorageError, UnreachableError
from mqctl.model.queue import MessageQueue
from mqctl.model.route import MASTER_ID
from mqctl.protocol.bodies_cluster import QueueOffsets
from mqctl.protocol.body import BodyError
from mqctl.protocol.requests_client import UpdateConsumerOffset
from mqctl.store.own_files import write_whole
from mqctl.store.plain_files import read_whole
from mqctl.text import sentence

LOCAL_DIRECTORY = ".rocketmq_offsets"


class OffsetStore(Protocol):
    """Where the offsets of a group are."""

    def in_memory(self, queue: MessageQueue) -> int | None:
        """Returns the offset known here."""

    def stored(self, queue: MessageQueue) -> int | None:
        """Returns the offset that lasts; None when there is none. Raises MqctlError when that cannot be learnt."""

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        """Notes an offset."""

    def persist(self, queues: Collection[MessageQueue]) -> None:
        """Makes the offsets of `queues` last and forgets the others."""

    def persist_one(self, queue: MessageQueue) -> None:
        """Makes one offset last."""

    def forget(self, queue: MessageQueue) -> None:
        """Forgets one offset here."""

    def all_in_memory(self, topic: str) -> dict[MessageQueue, int]:
        """Returns the offsets of a topic that are known here."""


class _Memory:
    """Offsets in memory."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._offsets: dict[MessageQueue, int] = {}

    def in_memory(self, queue: MessageQueue) -> int | None:
        return self._offsets.get(queue)

    def update(self, queue: MessageQueue, offset: int, *, increase_only: bool) -> None:
        with self._lock:
            known = self._offsets.get(queue)
            if known is None or not increase_only or offset > known:
                self._offsets[queue] = offset

    def forget(self, queue: MessageQueue) -> None:
        with self._lock:
            self._offsets.pop(queue, None)

    def all_in_memory(self, topic: str) -> dict[MessageQueue, int]:
        with self._lock:
            return {queue: offset for queue, offset in self._offsets.items() if queue.topic == topic}

    def _snapshot(self, queues: Collection[MessageQueue]) -> dict[MessageQueue, int]:
        with self._lock:
            for queue in [queue for queue in self._offsets if queue not in queues]:
                del self._offsets[queue]
            return dict(self._offsets)


class RemoteOffsets(_Memory):
    """Offsets of a sharing group: they last on masters, or on slaves while these are gone; told oneway as Java's do."""

    def __init__(self, instance: ClientInstance, group: str) -> None:
        super().__init__()
        self._instance = instance
        self._group = group

    def stored(self, queue: MessageQueue) -> int | None:
        instance = self._instance
        address = self._address(queue)
        deadline = Deadline(instance.settings.api_timeout_ms)
        return instance.links.ask(address, consumer_offset(self._group, queue.topic, queue.queue_id), deadline)

    def persist(self, queues: Collection[MessageQueue]) -> None:
        for queue, offset in self._snapshot(queues).items():
            self._tell(queue, offset)

    def persist_one(self, queue: MessageQueue) -> None:
        offset = self.in_memory(queue)
        if offset is not None:
            self._tell(queue, offset)

    def _address(self, queue: MessageQueue) -> str:
        """Returns the master's address, or a slave's where there is no master, as Java's clients choose it."""
        readable = self._instance.routes.readable(queue.broker_name, MASTER_ID)
        if readable is None:
            raise UnreachableError(
                sentence(
                    "client-could-not-get-offset",
                    "could not get the offset of {topic} queue {queue_id} from {broker_name}",
                    topic=queue.topic,
                    queue_id=queue.queue_id,
                    broker_name=queue.broker_name,
                ),
                reason=sentence("client-no-address-known", "no address of it is known"),
                remedy=sentence("client-check-broker-runs-registered", "check that the broker runs and has registered"),
            )
        return readable[0]

    def _tell(self, queue: MessageQueue, offset: int) -> None:
        try:
            address = self._address(queue)
        except UnreachableError as error:
            self._instance.troubles.add("commit an offset", error)
            return
        request = UpdateConsumerOffset(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=offset,
            bname=queue.broker_name,
        )
        self._instance.links.get(address).oneway(request)


class LocalOffsets(_Memory):
    """Offsets of a broadcasting consumer: they last in a JSON file that Java's clients read as well."""

    def __init__(self, directory: Path, client_id: str, group: str) -> None:
        super().__init__()
        self.path = directory / client_id / group / "offsets.json"

    def load(self) -> None:
        """Reads the file, or its backup when it is broken.

        Raises:
            StorageError: neither can be read although there is one.
        """
        broken: list[Path] = []
        for path in (self.path, self.path.with_suffix(".json.bak")):
            try:
                data = read_whole(path)
                if data:  # an empty one is what a power failure left (`readLocalOffset` asks the backup then, too)
                    self._offsets = dict(QueueOffsets.from_bytes(data).offset_table)
                    return
            except FileNotFoundError:
                continue
            except BodyError:
                broken.append(path)
            except OSError as error:
                raise StorageError(
                    sentence("client-offsets-cannot-read", "The offsets in {path} cannot be read", path=path),
                    reason=str(error),
                ) from error
        if broken:
            raise StorageError(
                sentence("client-offsets-cannot-read", "The offsets in {path} cannot be read", path=broken[0]),
                reason=sentence("client-no-offset-file", "it is not an offset file"),
                remedy=sentence("client-move-away", "move it away"),
            )

    def stored(self, queue: MessageQueue) -> int | None:
        return self.in_memory(queue)

    def persist(self, queues: Collection[MessageQueue]) -> None:
        body = QueueOffsets(offset_table=self._snapshot(queues)).to_bytes()
        try:
            if self.path.exists():
                write_whole(self.path.with_suffix(".json.bak"), read_whole(self.path))
            write_whole(self.path, body, sweep="*")
        except OSError as error:
            raise StorageError(
                sentence("client-offsets-cannot-written", "The offsets cannot be written to {path}", path=self.path),
                reason=str(error),
            ) from error

    def persist_one(self, queue: MessageQueue) -> None:
        """Does nothing: the file is written as a whole."""

    def forget(self, queue: MessageQueue) -> None:
        """Does nothing: a broadcasting consumer keeps the offsets of queues that vanish for a while."""
