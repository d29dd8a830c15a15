"""When configuration tables reach their files: small ones at once, as a real broker does, large ones gathered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from embedded_broker.clock import Clock, Handle
from embedded_broker.tables.config_file import write_config
from mqctl.errors import StorageError
from mqctl.model.config import DataVersion
from mqctl.model.numbers import decimal
from mqctl.store.config_files import LoadedConfig

log = logging.getLogger("embedded_broker")

_GATHER_MS = 1_000
_SMALL_ENTRIES = 300


def stored_version(file: LoadedConfig) -> DataVersion | None:
    """Returns the version of a configuration file, None where it has none."""
    version = file.value.get("dataVersion")
    if not isinstance(version, dict):
        return None
    counter, changed_ms, state = (
        decimal(str(version.get(name))) or 0 for name in ("counter", "timestamp", "stateVersion")
    )
    return DataVersion(counter, changed_ms, state)


class ConfigFile:
    """One file under `config/` with the table behind it.

    Args:
        document: renders the table as JSON value.
        size: number of entries of the table; a change of a large one is written within a second, together with others.
        private: only the owner may read the file.

    Attributes:
        durable: whether a power failure must leave the old file or the new one (SYNC_FLUSH).
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        clock: Clock,
        document: Callable[[], object],
        size: Callable[[], int],
        *,
        private: bool = False,
    ) -> None:
        self._directory = directory
        self._name = name
        self._clock = clock
        self._document = document
        self._size = size
        self._private = private
        self.durable = False
        self._dirty = False
        self._timer: Handle | None = None

    def create(self) -> None:
        """Writes the file if there is none yet: a store without it looks like one that lost it."""
        if not (self._directory / self._name).exists():
            self._dirty = True
            self.write()

    def changed(self) -> None:
        """Has the file written, now or soon; with SYNC_FLUSH it is on the disk when this returns.

        Raises:
            StorageError: with SYNC_FLUSH only, the change is not on the disk; whoever made it has to take it back.
        """
        self._dirty = True
        if self.durable:
            self.confirm()
        elif self._size() <= _SMALL_ENTRIES:
            self.write()
        elif self._timer is None:
            self._timer = self._clock.call_later(_GATHER_MS, self.write)

    def confirm(self) -> None:
        """With SYNC_FLUSH, brings all changes to the disk now.

        Raises:
            StorageError: they are not there.
        """
        if self.durable and self._dirty:
            self.forget()
            self._put(durable=True)
            self._dirty = False

    def mark(self) -> None:
        """Notes a change that the next periodic `write` will bring to disk."""
        self._dirty = True

    def write(self) -> None:
        """Writes the file if the table changed; a refusal is logged, and tried again at the next change."""
        self.forget()
        if not self._dirty:
            return
        try:
            self._put(durable=self.durable)
            self._dirty = False
        except StorageError as error:
            log.error("%s", error)

    def write_with_backup(self) -> None:
        """Writes the file and its backup durably: no power failure is to bring back what was there before.

        A refusal is logged, and tried again at the next change.
        """
        try:
            for _ in range(2):
                self._put(durable=True)
        except StorageError as error:
            log.error("%s", error)

    def _put(self, *, durable: bool) -> None:
        write_config(self._directory, self._name, self._document(), durable=durable, private=self._private)

    def forget(self) -> None:
        """Cancels a write that was put off."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
