"""Writing the files under `config/` as brokers do: beside the old one, which stays as `.bak`, then renamed."""

from __future__ import annotations

from pathlib import Path

from mqctl.errors import StorageError
from mqctl.protocol.fastjson import dump_bytes
from mqctl.store.disk import sync_path
from mqctl.store.plain_files import read_whole


def write_config(
    directory: Path, name: str, value: object, *, pretty: bool = True, durable: bool = False, private: bool = False
) -> None:
    """Writes one configuration document (`ConfigManager.persist`, `MixAll.string2File` of 4.9.8).

    Args:
        durable: have the file whole on disk before it takes the place of the old one, so that a power failure leaves
            one of the two; a real broker leaves that to chance and may find both it and the backup torn.
        private: only the owner may read it, and the backup.

    Raises:
        StorageError: the operating system refused.
    """
    write_raw(directory, name, dump_bytes(value, pretty=pretty), durable=durable, private=private)


def write_raw(directory: Path, name: str, data: bytes, *, durable: bool = False, private: bool = False) -> None:
    """Writes one configuration file whose bytes are given. Raises StorageError."""
    path = directory / name
    fresh, backup = directory / f"{name}.tmp", directory / f"{name}.bak"
    try:
        is_new = not directory.exists()
        directory.mkdir(parents=True, exist_ok=True)
        if durable and is_new:
            sync_path(str(directory.parent))
        _write(fresh, data, private=private)
        if durable:
            sync_path(str(fresh))
        if path.exists():
            _write(backup, read_whole(path), private=private)
            if durable:
                sync_path(str(backup))
        fresh.replace(path)
        if durable:
            sync_path(str(directory))
    except OSError as error:
        raise StorageError(f"could not write {path}", reason=error.strerror or str(error)) from error


def _write(path: Path, data: bytes, *, private: bool) -> None:
    if private:
        path.unlink(missing_ok=True)
        path.touch(mode=0o600)
    path.write_bytes(data)
