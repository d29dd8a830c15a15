"""Stores that are not mounted: S3, HDFS and whatever else fsspec or pyarrow opens, read range by range.

A store is listed once a process and shown as a directory of files without bytes (`mqctl.store.attached`), so that all
readers work on it as on a local one; what they look at is fetched. fsspec's implementation of a protocol is taken where
it is installed, else pyarrow's (S3, GCS, HDFS, ABFS); a URL with settings behind a `?` is pyarrow's.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from mqctl.errors import ConfigurationError, MqctlError, NotFoundError, StorageError
from mqctl.model.command_line import command_line
from mqctl.store.attached import attach, detach
from mqctl.store.directory import StoreDirectory
from mqctl.store.own_files import new_stream
from mqctl.text import sentence, with_replaced

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)")
_PREFIX = "mqctl-store-"
AT_ONCE = 16
"""Requests to one store that are under way at the same time, where its library allows for several."""
_MIRRORS: dict[str, _Mirror] = {}
_LOOK: list[str] = []


@dataclass(frozen=True, slots=True)
class _Mirror:
    """A store's listing as a directory; made by the process `pid`, as a forked child must not share its connections."""

    directory: Path
    pid: int


def is_remote(location: str) -> bool:
    """Tells whether a store is to be opened by a file system library; `file://` is not."""
    return _URL.match(location) is not None and not location.startswith("file://")


def local_path(location: str) -> Path:
    """Returns the path of a local store, written as such or as a `file://` URL."""
    return Path(unquote(urlsplit(location).path)) if location.startswith("file://") else Path(location)


def shown(location: str) -> str:
    """Returns a location without the password that a URL may carry."""
    if not is_remote(location) or "@" not in location:
        return location
    parts = urlsplit(location)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def begin_look(look: str) -> None:
    """Begins a look at stores, or goes on with one: what an earlier look has listed is forgotten."""
    if _LOOK and _LOOK[0] == look:
        return
    _LOOK[:] = [look]
    for location in list(_MIRRORS):
        _forget(location)


def leave() -> None:
    """Clears away what was listed, at the end of a command."""
    begin_look("")


def _forget(location: str) -> None:
    known = _MIRRORS.pop(location, None)
    if known is not None and known.pid == os.getpid():
        detach(known.directory)
        shutil.rmtree(known.directory, ignore_errors=True)


def remote_store(location: str) -> StoreDirectory:
    """Opens a store by URL; the listing is kept until another look at it begins.

    Raises:
        NotFoundError: there is nothing under the URL.
        BadInputError: what is there is no store.
        ConfigurationError: no library opens such a URL, or the one that does lacks credentials or settings.
        StorageError: the file system does not answer.
    """
    known = _MIRRORS.get(location)
    if known is None or known.pid != os.getpid():
        known = _Mirror(_listed(location), os.getpid())
        _MIRRORS[location] = known
    try:
        return StoreDirectory.open(known.directory)
    except MqctlError as error:
        raise _renamed(error, known.directory, location) from None


def _renamed(error: MqctlError, directory: Path, location: str) -> MqctlError:
    problem, reason, remedy = (
        with_replaced(text, str(directory), shown(location)) for text in (error.problem, error.reason, error.remedy)
    )
    return type(error)(problem, reason=reason, remedy=remedy)


def _listed(location: str) -> Path:
    """Lists the store and makes a directory of empty files of it, which reads through the same file system."""
    files = _opened(location)
    with _asking(sentence("spark-list-store", "list the store {path}", path=shown(location))):
        paths = list(files.listed())
    if not paths:
        raise NotFoundError(
            sentence("could-not-open-store", "could not open the store {path}", path=shown(location)),
            reason=sentence("spark-no-files-under-address", "there are no files under this address"),
            remedy=sentence(
                "spark-give-address-broker-storepathrootdir", "give the address of the broker's storePathRootDir"
            ),
        )
    directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    _clear_abandoned(directory.parent)
    made: set[Path] = set()
    for name, size, moment in paths:
        path = directory / name
        if not name or ".." in path.parts:
            continue
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        with new_stream(path, instead=True) as file:
            file.truncate(size)
        seconds = moment.timestamp() if isinstance(moment, datetime) else moment
        if isinstance(seconds, int | float):  # reports without --at query when configuration was written
            os.utime(path, (seconds, seconds))

    def read(name: str, low: int, high: int) -> bytes:
        where = f"{shown(location).rstrip('/')}/{name}"
        with _asking(
            sentence("spark-read-bytes", "read bytes {low:,} to {high:,} of {path}", low=low, high=high, path=where)
        ):
            data = files.read(name, low, high) if low < high else b""
        if len(data) != high - low:
            raise StorageError(
                sentence("could-not-read", "could not read {file}", file=where),
                reason=sentence(
                    "spark-bytes-came",
                    "{data:byte} came for {low:,} to {high:,}",
                    data=len(data),
                    low=low,
                    high=high,
                ),
                remedy=sentence(
                    "spark-file-changed-since-listed",
                    "the file has changed since it was listed: run the report again",
                ),
            )
        return data

    attach(directory, read, at_once=files.at_once)
    return directory


def _clear_abandoned(parent: Path) -> None:
    """Removes the directories of processes that have gone: workers end without a chance to clear away."""
    for each in parent.glob(f"{_PREFIX}*-*"):
        pid = each.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists() and Path("/proc/self").exists():
            shutil.rmtree(each, ignore_errors=True)


class _Files(Protocol):
    """A file system, rooted at a store: what there is, and ranges of it.

    Attributes:
        at_once: how many threads may read at the same time.
    """

    @property
    def at_once(self) -> int: ...

    def listed(self) -> Iterator[tuple[str, int, object]]:
        """Yields path below the root, size in bytes, and time of the last change (a datetime, seconds or None)."""
        ...

    def read(self, name: str, low: int, high: int) -> bytes:
        """Reads a range of the file at `name` below the root."""
        ...


@dataclass(frozen=True, slots=True)
class _Fsspec:
    system: Any
    root: str

    @property
    def at_once(self) -> int:
        # Those that are no asyncio inside may have one connection for all (FTP), which takes a request at a time.
        return AT_ONCE if getattr(self.system, "async_impl", False) else 1

    def listed(self) -> Iterator[tuple[str, int, object]]:
        for name, info in self.system.find(self.root, detail=True).items():
            moment = info.get("mtime", info.get("LastModified", info.get("last_modified")))
            yield name.removeprefix(self.root).lstrip("/"), int(info.get("size") or 0), moment

    def read(self, name: str, low: int, high: int) -> bytes:
        data: bytes = self.system.cat_file(f"{self.root}/{name}", start=low, end=high)
        return data


@dataclass(frozen=True, slots=True)
class _Arrow:
    system: Any
    root: str

    @property
    def at_once(self) -> int:
        return AT_ONCE

    def listed(self) -> Iterator[tuple[str, int, object]]:
        from pyarrow.fs import FileSelector

        for info in self.system.get_file_info(FileSelector(self.root, recursive=True)):
            if info.is_file:
                yield info.path.removeprefix(self.root).lstrip("/"), int(info.size or 0), info.mtime

    def read(self, name: str, low: int, high: int) -> bytes:
        with self.system.open_input_file(f"{self.root}/{name}") as file:
            data: bytes = file.read_at(high - low, low)
        return data


def _opened(location: str) -> _Files:
    """Returns what opens a URL.

    Raises:
        ConfigurationError: neither fsspec nor pyarrow can.
    """
    problem, hint = (
        sentence("spark-open-the-store", "open the store {store}", store=shown(location)),
        "",
    )
    if "?" not in location or "::" in location:
        files, hint = _by_fsspec(location)
        if files is not None:
            return files
    try:
        from pyarrow.fs import FileSystem
    except ImportError as error:
        remedy = hint or command_line("pip install 'mqctl[spark]'")
        raise ConfigurationError(
            sentence("could-not", "could not {what}", what=problem),
            reason=sentence("spark-pyarrow-not-installed", "pyarrow is not installed"),
            remedy=remedy,
        ) from error
    with _asking(problem, hint):
        system, root = FileSystem.from_uri(location)
        return _Arrow(system, root.rstrip("/"))


def _by_fsspec(location: str) -> tuple[_Fsspec | None, str]:
    """Returns what opens a URL, or None and what to install: pyarrow may have what fsspec lacks."""
    try:
        import fsspec
        from fsspec.registry import known_implementations
    except ImportError:
        return None, "pip install 'mqctl[spark]'"
    try:
        with _asking(sentence("spark-open-store", "open the store {path}", path=shown(location))):
            system, root = fsspec.core.url_to_fs(location)
    except ConfigurationError:
        return None, known_implementations.get(location.partition("://")[0], {}).get("err", "")
    system.invalidate_cache()
    return _Fsspec(system, str(root).rstrip("/")), ""


@contextmanager
def _asking(what: str, hint: str = "") -> Iterator[None]:
    """Names what was asked for in whatever error a file system library raises; each has a family of its own."""
    try:
        yield
    except MqctlError:
        raise
    except FileNotFoundError as error:
        raise NotFoundError(
            sentence("could-not", "could not {what}", what=what),
            reason=sentence("spark-no-such-files", "there are no such files"),
            remedy=sentence("spark-check-bucket-host-path", "check bucket, host and path"),
        ) from error
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        kind = ConfigurationError if isinstance(error, ImportError | ValueError | TypeError) else StorageError
        remedy = hint or sentence(
            "spark-check-address-network-credentials",
            "check the address, the network and the credentials (environment of driver and executors)",
        )
        raise kind(
            sentence("could-not", "could not {what}", what=what),
            reason=f"{type(error).__name__}: {text[:400]}",
            remedy=remedy,
        ) from error
