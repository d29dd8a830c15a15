"""Writing the files under `config/` as brokers do: beside the old one, which stays as `.bak`, then renamed."""

from __future__ import annotations

from pathlib import Path

from mqctl.errors import StorageError
from mqctl.protocol.fastjson import dump_bytes


def write_config(directory: Path, name: str, value: object, *, pretty: bool = True) -> None:
    """Writes one configuration document (`ConfigManager.persist`, `MixAll.string2File` of 4.9.8).

    Raises:
        StorageError: the operating system refused.
    """
    path = directory / name
    fresh, backup = directory / f"{name}.tmp", directory / f"{name}.bak"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(dump_bytes(value, pretty=pretty))
        if path.exists():
            backup.write_bytes(path.read_bytes())
        fresh.replace(path)
    except OSError as error:
        raise StorageError(f"could not write {path}", reason=error.strerror or str(error)) from error
