"""The journal of replays: one file each, written before messages are sent and after."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mqctl.execute.record_files import (
    Unreadable,
    is_record,
    names_in,
    read_all,
    read_record,
    refuse,
    unread,
    unwritable,
)
from mqctl.model.queue import MessageQueue
from mqctl.model.stretch import ReplayFilter, Stretch
from mqctl.store.whole_file import write_whole

GROUP, PUBLISH = "group", "publish"


class RangeRecord(msgspec.Struct, kw_only=True):
    """One stretch of a queue.

    Attributes:
        next: queue offset to go on with.
        published: messages of it that are stored in the target, each counted once.
        filtered: messages that the filter left out.
        gone: messages that were deleted before they could be read.
    """

    topic: str
    broker_name: str
    queue_id: int
    begin: int
    end: int
    next: int
    published: int = 0
    filtered: int = 0
    gone: int = 0

    @property
    def queue(self) -> MessageQueue:
        return MessageQueue(self.topic, self.broker_name, self.queue_id)


class Doubt(msgspec.Struct, kw_only=True):
    """A message that may be in the target twice.

    Attributes:
        key: its provenance key.
    """

    key: str
    reason: str


class ReplayRecord(msgspec.Struct, kw_only=True):
    """One replay.

    Attributes:
        kind: `group` points a consumer group at the beginning; `publish` publishes the messages again.
        brokers: master address by broker name: which cluster it is.
        source: in words.
        in_flight: provenance keys of the messages that are being sent.
        found: messages that a look-up by key found stored although their answer was lost.
    """

    id: str
    kind: str
    who: str
    made_at_ms: int
    cluster: str
    brokers: dict[str, str]
    source: str
    ranges: list[RangeRecord]
    group: str | None = None
    target: str | None = None
    filter: ReplayFilter = ReplayFilter()
    rate_per_s: float = 0
    in_flight: list[str] = []
    found: int = 0
    in_doubt: list[Doubt] = []
    ended: bool = False

    @property
    def published(self) -> int:
        return sum(item.published for item in self.ranges)

    @property
    def state(self) -> str:
        """`complete`, `in-doubt`, or `interrupted`; of a group, `started`."""
        if self.kind == GROUP:
            return "started"
        if not self.ended:
            return "interrupted"
        return "in-doubt" if self.in_doubt else "complete"


def range_records(ranges: tuple[Stretch, ...]) -> list[RangeRecord]:
    """Returns the stretches as they stand before the first message."""
    return [
        RangeRecord(
            topic=item.queue.topic,
            broker_name=item.queue.broker_name,
            queue_id=item.queue.queue_id,
            begin=item.begin,
            end=item.end,
            next=item.begin,
        )
        for item in ranges
    ]


class Replays:
    """The replays made from this machine.

    Args:
        directory: created with the first one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, record: ReplayRecord) -> None:
        """Writes a record, whole or not at all, and to the disk. Raises StorageError."""
        self.put(f"{record.id}.json", msgspec.json.encode(record))

    def put(self, name: str, data: bytes) -> Path:
        """Writes a file of the journal's. Raises StorageError."""
        file = self._directory / name
        try:
            write_whole(file, data, sweep="" if file.exists() else "*")
        except OSError as error:
            raise unwritable(self._directory, error) from error
        return file

    def has(self, replay_id: str) -> bool:
        """Tells whether there is a record of this id."""
        return is_record(self._directory / f"{replay_id}.json", replay_id)

    def read(self, replay_id: str) -> ReplayRecord:
        """Returns one replay. Raises NotFoundError, BadInputError."""
        file = self._directory / f"{replay_id}.json"
        try:
            return msgspec.json.decode(read_record(file, replay_id, "replay", "mqctl replay status"), type=ReplayRecord)
        except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
            raise unread(file, error) from error

    def all(self, unreadable: Unreadable = refuse) -> list[ReplayRecord]:
        """Returns every replay, the latest first; of one that cannot be read, `unreadable` is told. Raises as that."""
        return read_all(self._names, self.read, unreadable)

    def _names(self) -> list[str]:
        return [name for name in names_in(self._directory, ".json") if not name.endswith(".plan")]
