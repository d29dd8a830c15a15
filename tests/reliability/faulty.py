"""A file layer that fails on demand and forgets what was not synced, below everything that a process does to its files.

It stands between the program and the operating system: the functions of `os` that change files, for files below one
directory. What is tested does not know of it.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from embedded_broker.log import flushing as flushing_module
from mqctl.store import disk as disk_module


@dataclass(frozen=True)
class _Deleted:
    """A file as the disk may still have it, with what was written to it since its last sync."""

    data: bytes
    writes: list[tuple[int, bytes, bytes]]
    dropped: dict[int, int]


@dataclass(frozen=True)
class _Renamed:
    """One rename: from which name, what it brought, and what it took the place of."""

    source: str
    data: bytes
    before: bytes | None


@dataclass
class FaultyFiles:
    """The state of the layer.

    Attributes:
        root: only files below it are concerned.
        writes: changes counted so far.
        failures: errors that were raised.
        taken_back: writes that a power failure took.
        torn: small files that a power failure left as nobody wrote them, by name.
        touched: paths that were changed through the layer; to be cleared by who compares it with what did change.
        lost_entries: new files and directories that a power failure took as a whole, as their directory was not synced.
        reappeared: deleted ones that it brought back, for the same reason.
        renames_undone: names that it gave back to what they had named before.
    """

    root: Path
    random: Random
    writes: int = 0
    failures: int = 0
    taken_back: int = 0
    torn: Counter[str] = field(default_factory=Counter)
    touched: set[str] = field(default_factory=set)
    lost_entries: int = 0
    reappeared: int = 0
    renames_undone: int = 0
    _left: int | None = None
    _kind: int = 0
    _what: str = "write"
    _undo: dict[str, list[tuple[int, bytes, bytes]]] = field(default_factory=dict)
    _dropped: dict[str, dict[int, int]] = field(default_factory=dict)
    _old: dict[str, list[bytes | None]] = field(default_factory=dict)
    _new: dict[str, None] = field(default_factory=dict)
    _deleted: dict[str, _Deleted | None] = field(default_factory=dict)
    _renamed: dict[str, list[_Renamed]] = field(default_factory=dict)
    _real: dict[str, Callable[..., Any]] = field(default_factory=dict)

    def fail_after(self, changes: int, kind: int, *, what: str = "write") -> None:
        """Has every change (or, with `what="sync"`, every sync) after so many more fail with an errno, until `heal`."""
        self._left, self._kind, self._what = changes, kind, what

    def heal(self) -> None:
        """Ends failing."""
        self._left = None

    # What stands in for functions of os

    def _path(self, descriptor: int) -> str | None:
        try:
            path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        except OSError:
            return None
        return path if path.startswith(str(self.root)) else None

    def _is_time(self, what: str) -> bool:
        """Counts a change; True when it has to fail."""
        if what == "write":
            self.writes += 1
        if self._left is None or what != self._what:
            return False
        self._left -= 1
        if self._left >= 0:
            return False
        self.failures += 1
        return True

    def _error(self, path: str) -> OSError:
        return OSError(self._kind, os.strerror(self._kind), path)

    def _is_below(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and str(path).startswith(str(self.root))

    def open(self, path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        """A file that is made is there after a power failure when its directory was synced."""
        is_new = bool(flags & os.O_CREAT) and self._is_below(path) and not Path(path).exists()
        if is_new and self._is_time("write"):
            raise self._error(str(path))
        opened = int(self._real["open"](path, flags, mode, **options))
        if is_new:
            self._note_new(str(path))
        return opened

    def mkdir(self, path: Any, *words: Any, **options: Any) -> None:
        if self._is_below(path) and self._is_time("write"):
            raise self._error(str(path))
        self._real["mkdir"](path, *words, **options)
        if self._is_below(path):
            self._note_new(str(path))

    def _note_new(self, path: str) -> None:
        self.touched.add(path)
        self._new[path] = None

    def _remover(self, name: str) -> Callable[..., None]:
        def remove(path: Any, **options: Any) -> None:
            if self._is_below(path) and self._is_time("write"):
                raise self._error(str(path))
            kept = self._kept(str(path)) if self._is_below(path) else None
            self._real[name](path, **options)
            if self._is_below(path):
                self.touched.add(str(path))
                if str(path) not in self._new:
                    self._deleted[str(path)] = kept
                for state in (self._undo, self._dropped, self._old, self._new, self._renamed):
                    state.pop(str(path), None)

        return remove

    def _kept(self, path: str) -> _Deleted | None:
        """What comes back when the deletion of a file is lost; nothing of a directory, and of what is not there."""
        if not Path(path).is_file():
            return None
        return _Deleted(Path(path).read_bytes(), self._undo.get(path, []), self._dropped.get(path, {}))

    def pwrite(self, descriptor: int, data: bytes, position: int) -> int:
        path = self._path(descriptor)
        if path is None:
            return int(self._real["pwrite"](descriptor, data, position))
        if self._is_time("write"):
            part = data[: self.random.randrange(len(data))] if data and self._kind == errno.ENOSPC else b""
            if not part:
                raise self._error(path)
            data = part  # a full disk takes what there is room for; the next try fails
        self.touched.add(path)
        before = os.pread(descriptor, len(data), position)
        self._undo.setdefault(path, []).append((position, before.ljust(len(data), b"\0"), bytes(data)))
        return int(self._real["pwrite"](descriptor, data, position))

    def write(self, descriptor: int, data: bytes) -> int:
        """Whole small files, which are written under a new name before they take the place of another."""
        path = self._path(descriptor)
        if path is None:
            return int(self._real["write"](descriptor, data))
        if self._is_time("write"):
            part = data[: self.random.randrange(len(data))] if data and self._kind == errno.ENOSPC else b""
            if not part:
                raise self._error(path)
            data = part
        self.touched.add(path)
        self._old.setdefault(path, [None])
        return int(self._real["write"](descriptor, data))

    def _synced(self, name: str) -> Callable[[int], None]:
        def sync(descriptor: int) -> None:
            path = self._path(descriptor)
            if path is not None and self._is_time("sync"):
                self._drop(path)
                raise self._error(path)
            self._real[name](descriptor)
            if path is not None:
                self._settle(path)
                if path in self._old or path in self._new:  # an empty one was not written
                    self._old[path] = []
                self._settle_names(path)

        return sync

    def _settle_names(self, directory: str) -> None:
        """A directory was synced: what is in it is durable, and what is not is gone, with all that was below it."""
        for name in [name for name, kept in list(self._deleted.items()) if kept is None]:
            if str(Path(name).parent) == directory:
                for below in [below for below in list(self._deleted) if below.startswith(f"{name}/")]:
                    self._deleted.pop(below, None)
        for names in (self._new, self._deleted, self._renamed):
            for name in list(names):  # other threads change files meanwhile
                if str(Path(name).parent) == directory:
                    names.pop(name, None)

    def _drop(self, path: str) -> None:
        """A sync that failed: the system counts what it did not write as written, and no later sync tries again."""
        dropped = self._dropped.setdefault(path, {})
        for position, before, _ in self._undo.pop(path, []):
            for at, byte in enumerate(before, position):
                dropped.setdefault(at, byte)

    def _settle(self, path: str) -> None:
        """A sync that worked: what was written since the last one is durable, over what had been dropped, too."""
        dropped = self._dropped.get(path)
        for position, _, after in self._undo.pop(path, []):
            if dropped:
                for at in range(position, position + len(after)):
                    dropped.pop(at, None)

    def ftruncate(self, descriptor: int, size: int) -> None:
        path = self._path(descriptor)
        if path is not None and self._is_time("write"):
            raise self._error(path)
        if path is not None:
            self.touched.add(path)
        self._real["ftruncate"](descriptor, size)

    def replace(self, source: Any, target: Any) -> None:
        """A rename is whole or not; the content that it brings is only as durable as it was."""
        path = str(target)
        if not path.startswith(str(self.root)):
            self._real["replace"](source, target)
            return
        if self._is_time("write"):
            raise self._error(path)
        before = Path(path).read_bytes() if Path(path).exists() else None
        self._renamed.setdefault(path, []).append(_Renamed(str(source), Path(source).read_bytes(), before))
        self.touched |= {path, str(source)}
        self._new.pop(str(source), None)
        if before is None:
            self._new[path] = None
        unsynced = self._old.pop(str(source), None)
        self._real["replace"](source, target)
        if unsynced is not None and not unsynced:
            self._old[path] = []
            return
        self._old.setdefault(path, []).append(before)

    def write_bytes(self, path: Path, data: bytes) -> int:
        """Whole small files, as configurations are written."""
        name = str(path)
        if not name.startswith(str(self.root)):
            return int(self._real["write_bytes"](path, data))
        if self._is_time("write"):
            if self._kind == errno.ENOSPC:
                self._real["write_bytes"](path, data[: self.random.randrange(len(data) + 1)])
            raise self._error(name)
        before = path.read_bytes() if path.exists() else None
        self.touched.add(name)
        if before is None:
            self._new[name] = None
        self._old.setdefault(name, []).append(before)
        return int(self._real["write_bytes"](path, data))

    # A power failure

    def lose_power(self, survive: float, *, small: float | None = None) -> None:
        """Takes back what was not synced: single writes in any order, and small files whole, torn, or as they were.

        Args:
            survive: how likely a write is on the disk all the same; `small`, when given, for files written as a whole.
        """
        for name in {*self._undo, *self._dropped}:
            if Path(name).is_file():
                self._take_back(Path(name), self._undo.get(name, []), self._dropped.get(name, {}), survive)
        for name, olds in self._old.items():
            path = Path(name)
            if olds and path.exists() and self.random.random() >= (survive if small is None else small):
                self.taken_back += 1
                self._tear(path, self.random.choice(olds))
        names_survive = survive if small is None else small
        for name, renames in self._renamed.items():
            if Path(name).exists() and self.random.random() >= names_survive:
                self._undo_rename(Path(name), self.random.choice(renames))
        for name in reversed(list(self._new)):
            if self.random.random() >= names_survive:
                self._lose_entry(Path(name))
        gone: list[str] = []  # directories that stay deleted; what has their names now are others
        for name, kept in sorted(self._deleted.items(), key=lambda item: len(item[0])):
            is_back = (
                self.random.random() >= names_survive
                and not any(name.startswith(f"{one}/") for one in gone)
                and self._bring_back(Path(name), kept, survive)
            )
            if kept is None and not is_back:
                gone.append(name)
        self._new.clear()
        self._deleted.clear()
        self._renamed.clear()
        self._undo.clear()
        self._dropped.clear()
        self._old.clear()

    def _take_back(
        self, path: Path, writes: list[tuple[int, bytes, bytes]], dropped: dict[int, int], survive: float
    ) -> None:
        """Undoes all writes since the last sync, then does those again that survive, in their order."""
        with path.open("r+b") as stream:
            for position, before, _ in reversed(writes):
                stream.seek(position)
                stream.write(before)
            for at, byte in dropped.items():
                stream.seek(at)
                stream.write(bytes((byte,)))
            for position, _, after in writes:
                if self.random.random() < survive:
                    stream.seek(position)
                    stream.write(after)
                else:
                    self.taken_back += 1

    def _lose_entry(self, path: Path) -> None:
        if path.is_dir():
            self.lost_entries += 1
            shutil.rmtree(path)
        elif path.exists():
            self.lost_entries += 1
            self._real["unlink"](path)

    def _undo_rename(self, path: Path, rename: _Renamed) -> None:
        """The new name was not on the disk: both files are what they were."""
        self.renames_undone += 1
        self._real["write_bytes"](Path(rename.source), rename.data)
        if rename.before is not None:
            self._real["write_bytes"](path, rename.before)
        else:
            self._real["unlink"](path)

    def _bring_back(self, path: Path, kept: _Deleted | None, survive: float) -> bool:
        """A deletion was not on the disk; False where something that was made in its place proves that it was."""
        if path.exists() or not path.parent.is_dir():
            return False
        self.reappeared += 1
        if kept is None:
            self._real["mkdir"](path)
            return True
        self._real["write_bytes"](path, kept.data)
        self._take_back(path, kept.writes, kept.dropped, survive)
        return True

    def _tear(self, path: Path, before: bytes | None) -> None:
        now = path.read_bytes()
        how = self.random.randrange(4)
        if how == 0 and before is None:
            self._real["unlink"](path)
        elif how == 1:
            self.torn[path.name] += 1
            self._real["write_bytes"](path, bytes(len(now)))
        elif how == 2:
            self.torn[path.name] += 1
            self._real["write_bytes"](path, now[: self.random.randrange(len(now) + 1)])
        elif before is not None:
            self._real["write_bytes"](path, before)


@contextmanager
def faulty_files(root: Path, random: Random) -> Iterator[FaultyFiles]:
    """Puts the layer under this process for files below `root`."""
    layer = FaultyFiles(root.resolve(), random)
    layer._real = {
        "pwrite": os.pwrite, "write": os.write, "fsync": os.fsync, "fdatasync": os.fdatasync, "ftruncate": os.ftruncate,
        "replace": os.replace, "write_bytes": Path.write_bytes, "open": os.open, "mkdir": os.mkdir,
        "unlink": os.unlink, "rmdir": os.rmdir,
    }  # fmt: skip
    datasync = layer._synced("fdatasync")
    with (
        patch.object(os, "pwrite", layer.pwrite),
        patch.object(os, "write", layer.write),
        patch.object(os, "fsync", layer._synced("fsync")),
        patch.object(os, "fdatasync", datasync),
        patch.object(disk_module, "datasync", datasync),
        patch.object(flushing_module, "datasync", datasync),
        patch.object(os, "ftruncate", layer.ftruncate),
        patch.object(os, "open", layer.open),
        patch.object(os, "mkdir", layer.mkdir),
        patch.object(os, "unlink", layer._remover("unlink")),
        patch.object(os, "rmdir", layer._remover("rmdir")),
        patch.object(os, "replace", layer.replace),
        patch.object(Path, "write_bytes", lambda path, data: layer.write_bytes(path, data)),  # noqa: PLW0108 - it must bind
    ):
        yield layer
