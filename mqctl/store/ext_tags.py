"""Tags codes that a real broker keeps beside a consume queue (`enableConsumeQueueExt`), one at a time, without numpy.

Source: `ConsumeQueueExt` of 4.9.8.
"""

from __future__ import annotations

from mqctl.store.disk import Disk
from mqctl.store.layouts import EXT_ADDRESS_BASE, EXT_UNIT_BYTES, EXT_UNIT_HEAD
from mqctl.store.log_writer import file_starts


class ExtTags:
    """Reads the extension files of a store."""

    def __init__(self, directory: str, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk

    def tags_code(self, topic: str, queue_id: int, address: int) -> int | None:
        """Returns the tags code at `address`, or None when the extension does not have it. Raises StorageError."""
        offset = address - EXT_ADDRESS_BASE
        directory = f"{self._directory}/{topic}/{queue_id}"
        start = max((start for start in file_starts(directory) if start <= offset), default=None)
        if start is None:
            return None
        head = self._disk.read(f"{directory}/{start:020d}", EXT_UNIT_BYTES, offset - start)
        if len(head) < EXT_UNIT_BYTES:
            return None
        size, code, _store_ms, _bitmap_size = EXT_UNIT_HEAD.unpack(head)
        return int(code) if size >= EXT_UNIT_BYTES else None
