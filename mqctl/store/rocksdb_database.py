"""A RocksDB database opened as a copy of its small files, with links to its tables: not a byte is written there."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.own_files import new_stream
from mqctl.store.plain_files import LARGEST_BYTES, open_regular
from mqctl.text import sentence

_TRIES = 5
_FEW_ROWS = 1 << 20
_LARGEST_COPIED_BYTES = 4 << 30
"""Of a manifest or a log: many times what RocksDB lets them grow to."""


class DatabaseError(Exception):
    """A database that cannot be read, in the library's words."""


@dataclass
class Families:
    """The column families of an open database; a context that closes it.

    Attributes:
        size_bytes: of the database's files.
    """

    names: list[str]
    database: Any
    folder: Path
    source: Path
    size_bytes: int

    def rows(self, name: str) -> Iterator[tuple[bytes, bytes]]:
        """Yields keys and values in the keys' order.

        Raises:
            DatabaseError: at a damaged block, where `items()` ends; or there are more rows than a broker's files of
                this size can have: a row takes several bytes in them, however well it is compressed.
        """
        if name not in self.names:
            return
        rows = self.database.get_column_family(name).iter()
        rows.seek_to_first()
        count, most = 0, self.size_bytes + _FEW_ROWS
        while rows.valid():
            count += 1
            if count > most:
                raise DatabaseError(
                    sentence(
                        "store-rocksdb-unpacks-rows",
                        "the RocksDB database unpacks to more than {most:,} rows",
                        most=most,
                    )
                )
            yield rows.key(), rows.value()
            rows.next()
        try:
            rows.status()
        except Exception as error:
            raise DatabaseError(
                sentence(
                    "store-rocksdb-damaged",
                    "the RocksDB database is damaged: {problem}",
                    problem=_told(error, self.folder, self.source),
                )
            ) from error

    def texts(self, name: str) -> dict[str, str]:
        """Returns a family of settings whole, by its keys.

        Raises:
            DatabaseError: it is damaged, or larger than a file of settings may be.
        """
        texts, size = {}, 0
        for key, value in self.rows(name):
            size += len(key) + len(value)
            if size > LARGEST_BYTES:
                raise DatabaseError(
                    sentence(
                        "store-rocksdb-unpacks-to",
                        "the RocksDB database unpacks to more than {limit_bytes}",
                        limit_bytes=LARGEST_BYTES,
                    )
                )
            texts[key.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        return texts

    def __enter__(self) -> Families:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def open_copy(database: Path, root: Path) -> Families:
    """Opens a copy of a database's small files, with links to its tables.

    A broker that runs may replace a manifest, and remove tables, between two looks: then the next state is taken.
    """
    from rocksdict import AccessType, Options, Rdict

    problem = ""
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(dir=root))
        try:
            _copy(database.resolve(), folder)
            options = Options(raw_mode=True)
            names = Rdict.list_cf(str(folder), options)
            families = {name: Options(raw_mode=True) for name in names}
            opened = Rdict(str(folder), options=options, column_families=families, access_type=AccessType.read_only())
            return Families(names, opened, folder, database, sum(each.stat().st_size for each in folder.iterdir()))
        except (OSError, Exception) as error:  # noqa: BLE001 - the library raises nothing narrower
            problem = _told(error, folder, database)
            shutil.rmtree(folder, ignore_errors=True)
    raise DatabaseError(
        sentence("store-rocksdb-could-not-open", "the RocksDB database could not be opened: {problem}", problem=problem)
    )


def _told(error: Exception, copy: Path, database: Path) -> str:
    """Returns the library's words in one line, about the database instead of its copy."""
    return " ".join(str(error).replace("\\n", " ").replace(str(copy), str(database)).split())


def rows_of(database: Path) -> dict[str, str]:
    """Returns what the default family of a small database holds, by key. Raises DatabaseError."""
    with tempfile.TemporaryDirectory(prefix="mqctl-rocksdb-") as root, open_copy(database, Path(root)) as families:
        return families.texts("default")


def _copy(database: Path, folder: Path) -> None:
    names = {each.name for each in database.iterdir()}
    small = [name for name in names if name == "CURRENT" or name.startswith(("MANIFEST-", "OPTIONS-", "IDENTITY"))]
    for name in [*small, *(name for name in names if name.endswith(".log"))]:
        _copy_file(database / name, folder / name)
    for each in database.iterdir():  # once more: the manifest's newest tables came before it
        if each.name.endswith((".sst", ".blob")) and each.is_file():  # a pipe would be waited for
            (folder / each.name).symlink_to(each)


def _copy_file(source: Path, target: Path) -> None:
    descriptor = open_regular(source)
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(descriptor).st_size > _LARGEST_COPIED_BYTES:
            raise OSError(
                errno.EFBIG,
                sentence("file-larger-than", "it is larger than {limit_bytes}", limit_bytes=_LARGEST_COPIED_BYTES),
                str(source),
            )
        with new_stream(target) as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
