"""The name server's namespaces of keys and values, order topics among them; persisted at once (`kvConfig.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from embedded_broker.tables.config_file import write_config
from mqctl.errors import RefusedError
from mqctl.store.config_files import read_config

ORDER_TOPICS = "ORDER_TOPIC_CONFIG"
_FILE = "kvConfig.json"
MOST_CHARACTERS = 2 * 1024 * 1024
"""Keys and values of all namespaces together; order configurations have a few hundred each."""


class KVConfig:
    """Namespace -> key -> value.

    Args:
        directory: where `kvConfig.json` lives; None keeps everything in memory.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._table: dict[str, dict[str, str]] = {}
        if directory is not None:
            table = read_config(directory, _FILE).value.get("configTable")
            for namespace, values in table.items() if isinstance(table, dict) else ():
                if isinstance(values, dict):
                    self._table[str(namespace)] = {str(key): str(value) for key, value in values.items()}

    def put(self, namespace: str, key: str, value: str) -> None:
        """Sets a value.

        Raises:
            RefusedError: the table would become larger than it may be: it is written whole at every change.
            StorageError: it cannot be persisted.
        """
        size = sum(len(name) + len(held) for table in self._table.values() for name, held in table.items())
        size += len(key) + len(value)
        if size > MOST_CHARACTERS:
            reason = f"keys and values would have {size} characters, at most {MOST_CHARACTERS} are taken"
            raise RefusedError(f"key {key[:200]} not set", reason=reason)
        self._table.setdefault(namespace, {})[key] = value
        self._persist()

    def get(self, namespace: str, key: str) -> str | None:
        return self._table.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> None:
        """Deletes a key, if there. Raises StorageError when that cannot be persisted."""
        if self._table.get(namespace, {}).pop(key, None) is not None:
            self._persist()

    def namespace(self, namespace: str) -> Mapping[str, str] | None:
        """Returns all of a namespace, or None when there never was one."""
        return self._table.get(namespace)

    def _persist(self) -> None:
        if self._directory is None:
            return
        write_config(self._directory, _FILE, {"configTable": self._table}, pretty=False)
