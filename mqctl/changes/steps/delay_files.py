"""Writing a stopped broker's delayOffset.json and its backup, while nobody else can use the store."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mqctl.errors import PermissionDeniedError, RefusedError, StorageError
from mqctl.protocol.fastjson import dump_bytes
from mqctl.store.own_files import open_own, open_within, replace_within
from mqctl.store.plain_files import open_regular, read_whole
from mqctl.text import sentence

FILES = ("config/delayOffset.json", "config/delayOffset.json.bak")


def in_use(store: Path) -> bool:
    """Tells whether a broker holds the store's lock (`FileLock` on `lock`: one byte at 0, by POSIX rules)."""
    path = store / "lock"
    try:
        descriptor = open_regular(path)
    except OSError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 0)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Holds the store's lock, so that no broker starts meanwhile.

    Raises:
        RefusedError: a broker holds it.
        PermissionDeniedError, StorageError: the lock's file cannot be opened.
    """
    path = store / "lock"
    try:
        descriptor = open_own(path, 0o644)
    except PermissionError as error:
        raise PermissionDeniedError(
            sentence("could-not-open", "could not open {path}", path=path),
            reason=sentence("permission-denied", "permission denied"),
            remedy=sentence("run-broker-user", "run as the broker's user"),
        ) from error
    except OSError as error:
        raise StorageError(
            sentence("could-not-open", "could not open {path}", path=path), reason=error.strerror or str(error)
        ) from error
    try:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except OSError as error:
            raise RefusedError(
                sentence(
                    "delay-files-cannot-change-files-store", "cannot change files of the store {store}", store=store
                ),
                reason=sentence(
                    "delay-files-broker-using-write-own",
                    "a broker is using it, and would write its own offsets over them",
                ),
                remedy=sentence("delay-files-stop-broker", "stop that broker"),
            ) from error
        yield
    finally:
        os.close(descriptor)


def contents(store: Path) -> dict[str, str | None]:
    """Returns both files as they are, None for one that is not there; bytes that are no UTF-8 survive as surrogates."""
    texts: dict[str, str | None] = {}
    for name in FILES:
        try:
            texts[name] = read_whole(store / name).decode("utf-8", "backslashreplace")
        except FileNotFoundError:
            texts[name] = None
        except OSError as error:
            raise StorageError(
                sentence("could-not-read", "could not read {file}", file=store / name),
                reason=error.strerror or str(error),
            ) from error
    return texts


def document(old: Mapping[str, object], table: Mapping[int, int]) -> str:
    """Returns the text of delayOffset.json with new offsets; what else it held (5.x: a version) stays."""
    return dump_bytes({**old, "offsetTable": dict(sorted(table.items()))}, pretty=True).decode()


def write(store: Path, texts: Mapping[str, str | None]) -> None:
    """Writes both files, each whole or not at all, the backup first; None removes one.

    Raises:
        StorageError: the operating system refused; the files that were written stay.
    """
    for name in reversed(FILES):
        path, text = store / name, texts.get(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            directory = open_within(store, "config")
            try:
                replace_within(directory, path.name, None if text is None else text.encode())
            finally:
                os.close(directory)
        except OSError as error:
            raise StorageError(
                sentence("could-not-write", "could not write {path}", path=path),
                reason=error.strerror or str(error),
                remedy=sentence(
                    "delay-files-free-disk-put-regular",
                    "free its disk, or put a regular file in a link's place; then repair again, or undo the change",
                ),
            ) from error
