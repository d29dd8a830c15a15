"""Keys on their way into the index.

32 KiB of properties are up to 16,000 keys, which take tens of milliseconds to index. So they are written in portions,
with time for others between two of them, as a real broker's index follows its log; who looks for a key waits until
everything is written.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator

from embedded_broker.clock import Clock, Handle
from mqctl.errors import StorageError
from mqctl.store.dispatch_rules import index_keys
from mqctl.store.index_writer import IndexFiles, Keyed

log = logging.getLogger("embedded_broker")

PORTION = 512
"""Entries that are written in one go, in a millisecond or two."""
MOST_CHARACTERS = 8 * 1024 * 1024
"""Of properties that wait; who brings more has the index written on his own time."""
_PAUSE_MS = 1
_FEW_CHARACTERS = 1024
_QUIETLY_CHARACTERS = 64 * 1024


class IndexBacklog:
    """Records of one store whose keys are not in the index yet, in the order of the log.

    Attributes:
        characters: of their properties.
    """

    def __init__(self, index: IndexFiles, clock: Clock) -> None:
        self.characters = 0
        self._index = index
        self._clock = clock
        self._records: deque[tuple[str, str, int, int]] = deque()
        self._first: list[str] | None = None
        self._timer: Handle | None = None

    def add(self, topic: str, properties: str, physical_offset: int, store_ms: int) -> None:
        """Takes a record; writes nothing."""
        self._records.append((topic, properties, physical_offset, store_ms))
        self.characters += len(properties)
        if self.characters > _QUIETLY_CHARACTERS:
            self._go_on_later()

    def is_full(self, characters: int) -> bool:
        """Whether properties of so many characters, which are many, had better wait until others are written."""
        return characters > _FEW_CHARACTERS and self.characters + characters > MOST_CHARACTERS

    def making_room(self, characters: int) -> Iterator[None]:
        """Writes until that is no longer so, and pauses after each portion. Raises DiskFullError, StorageError."""
        while self._records and self.is_full(characters):
            self.write()
            yield

    def make_room(self, characters: int) -> None:
        """Writes until properties of so many characters may wait, too. Raises DiskFullError, StorageError."""
        while self._records and self.characters + characters > MOST_CHARACTERS:
            self.write()

    def write_all(self) -> None:
        """Writes every key; those that cannot be written still wait. Raises DiskFullError, StorageError."""
        for _ in self.writing():
            pass

    def writing(self) -> Iterator[None]:
        """Writes every key that waits by now, and pauses after each portion. Raises DiskFullError, StorageError."""
        end = self._records[-1][2] if self._records else 0
        while self._records and self._records[0][2] <= end:
            self.write()
            yield

    def write_some(self) -> None:
        """Writes one portion now, the others in a moment. Raises DiskFullError, StorageError."""
        if self._records:
            self.write()
        if self._records:
            self._go_on_later()

    def write(self) -> None:
        """Writes one portion; what cannot be written still waits. Raises DiskFullError, StorageError."""
        portion: list[Keyed] = []
        room, done, rest = PORTION, 0, self._first
        for topic, properties, physical_offset, store_ms in self._records:
            keys = rest if rest is not None else index_keys(properties)
            portion.append(Keyed(topic, keys[:room], physical_offset, store_ms))
            rest = keys[room:] or None
            room -= max(1, len(keys))
            if rest is not None:
                break
            done += 1
            if room <= 0:
                break
        self._index.put(portion, self._clock.now_ms())
        for _ in range(done):
            self.characters -= len(self._records.popleft()[1])
        self._first = rest

    def _go_on_later(self) -> None:
        if self._timer is None:
            self._timer = self._clock.call_later(_PAUSE_MS, self._go_on)

    def _go_on(self) -> None:
        """Writes a portion between two turns of others; a disk that refuses is tried again by the next flush."""
        self._timer = None
        try:
            self.write_some()
        except StorageError as error:
            log.debug("the index has to wait: %s", error)

    def stop(self) -> None:
        """Writes nothing more by itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
