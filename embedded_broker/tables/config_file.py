"""Writing the files under `config/` as brokers do: beside the old one, which stays as `.bak`, then renamed.

The name beside is none that anybody can guess, where a broker's is the file's with `.tmp`.
"""

from __future__ import annotations

from pathlib import Path

from mqctl.errors import StorageError
from mqctl.protocol.fastjson import dump_bytes
from mqctl.store.own_files import sync_directory, write_whole
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
    path, mode = directory / name, 0o600 if private else 0o644
    try:
        if not directory.exists():  # as readable as the rest of a store
            directory.mkdir(parents=True)
            if durable:
                sync_directory(directory.parent)
        if path.exists():
            write_whole(directory / f"{name}.bak", read_whole(path), mode=mode, durable=durable)
        write_whole(path, data, mode=mode, durable=durable)
    except OSError as error:
        raise StorageError(f"could not write {path}", reason=error.strerror or str(error)) from error
