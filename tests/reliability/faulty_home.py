"""`python -m tests.reliability.faulty_home FAULT WORDS...` runs mqctl on a disk that fails, or dies at one instant.

An instant is a change of a file below one directory, or bytes that go to a server. What is run does not know of it:
the functions of `os`, `open` and `socket` are stood in for, then `python -m mqctl` runs as ever. FAULT is a `Fault` as
JSON. A power failure takes back what was not synced: contents, and names of files whose directory was not.
"""

from __future__ import annotations

import builtins
import errno
import io
import json
import os
import runpy
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

KILL, POWER, ERROR, RENAME = "kill", "power", "error", "rename"
_FULL_DISK_REFUSES = ("open", "write", "mkdir")
_WRITING = frozenset("wax+")


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens, and when.

    Attributes:
        root: only files below it are concerned.
        how: `kill`, `power`, `error`, `rename` (only renames fail).
        at: number of the instant; for errors, of the first change that fails, and those after it fail, too.
        number: errno of an error.
        told: file that gets two counts when the process ends by itself: of all instants, and of those before the first
            change of a file.
        forgets: leaves out all syncs, as a program would that does not know of them.
    """

    root: str
    how: str
    at: int
    number: int = errno.ENOSPC
    seed: int = 0
    told: str = ""
    forgets: bool = False


class _Content:
    """A file without its name; `durable` is what the disk certainly has of it, None before its first sync."""

    def __init__(self, durable: bytes | None) -> None:
        self.durable = durable


class _Disk:
    """What the disk would have if the power failed now."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now: dict[Path, _Content] = {}
        self.names: dict[Path, _Content | None] = {}
        self.directories: set[Path] = set()

    def touch(self, path: Path) -> None:
        """Remembers a file before its first change."""
        if path in self.names:
            return
        content = _Content(path.read_bytes()) if path.is_file() else None
        self.names[path] = content
        if content is not None:
            self.now[path] = content

    def made(self, path: Path) -> None:
        self.now.setdefault(path, _Content(None))

    def synced(self, path: Path) -> None:
        if path.is_dir():
            for name in self.names:
                if name.parent == path:
                    self.names[name] = self.now.get(name)
            self.directories = {item for item in self.directories if item.parent != path}
        elif path in self.now:
            self.now[path].durable = path.read_bytes()

    def lose_power(self, random: Random) -> None:
        """Makes the files what a disk may have of them."""
        left: dict[Path, bytes | None] = {}
        for path, durable in self.names.items():
            known = self.now.get(path)
            content = known if known is durable or random.random() < 0.5 else durable
            left[path] = None if content is None else self._bytes(content, random)
        for path, data in left.items():
            if data is None:
                path.unlink(missing_ok=True)
            elif path.parent.is_dir():
                path.write_bytes(data)
        for directory in sorted(self.directories):
            if random.random() < 0.5:
                shutil.rmtree(directory, ignore_errors=True)

    def _bytes(self, content: _Content, random: Random) -> bytes:
        path = next((path for path, known in self.now.items() if known is content), None)
        durable = content.durable or b""
        now = path.read_bytes() if path is not None and path.is_file() else durable
        if now == content.durable:
            return now
        # What was appended since the last sync may be lost; what was synced is on the disk.
        kept = len(durable) if now.startswith(durable) else 0
        torn = random.randrange(kept, len(now) + 1)
        return random.choice((durable, now, now[:kept] + bytes(len(now) - kept), now[:torn]))


class Layer:
    """Stands between mqctl and the operating system."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.instants = 0
        self.before_files = -1
        self._root = Path(fault.root).resolve()
        self._random = Random(fault.seed)
        self._disk = _Disk(self._root)
        self._lock = threading.RLock()
        self._real: dict[str, Callable[..., Any]] = {
            name: getattr(os, name)
            for name in ("open", "write", "fsync", "replace", "rename", "unlink", "remove", "mkdir", "ftruncate")
        }
        self._real_open = io.open

    def install(self) -> None:
        """Puts itself in the place of what changes files and sends bytes."""
        for name in self._real:
            setattr(os, name, getattr(self, name))
        builtins.open = io.open = self.open_stream
        send = socket.socket.sendall

        def sendall(sock: socket.socket, data: bytes, *more: int) -> None:
            self._instant("send", "")
            send(sock, data, *more)

        socket.socket.sendall = sendall  # type: ignore[method-assign,assignment]

    def _instant(self, what: str, path: object) -> None:
        """Counts, and has come what is due. Raises OSError."""
        with self._lock:
            if self.before_files < 0 and what != "send":
                self.before_files = self.instants
            self.instants += 1
            how, due = self.fault.how, self.instants >= self.fault.at
            if not due:
                return
            if how == POWER:
                self._stop_patching()
                self._disk.lose_power(self._random)
            if how in (KILL, POWER):
                os.kill(os.getpid(), signal.SIGKILL)
            fails = {ERROR: what != "send", RENAME: what == "rename"}[how]
            if how == ERROR and self.fault.number == errno.ENOSPC:
                fails = what in _FULL_DISK_REFUSES
            if fails:
                raise OSError(self.fault.number, os.strerror(self.fault.number), str(path))

    def _stop_patching(self) -> None:
        for name, function in self._real.items():
            setattr(os, name, function)
        builtins.open = io.open = self._real_open

    def _ours(self, path: object, directory: int | None = None) -> Path | None:
        """Returns a path, or that of a descriptor, if it is below the root; a name may be one within a directory."""
        if isinstance(path, int):
            with suppress(OSError):
                path = os.readlink(f"/proc/self/fd/{path}")  # noqa: PTH115 - the layer is below pathlib
        elif directory is not None and isinstance(path, str):
            path = Path(os.readlink(f"/proc/self/fd/{directory}")) / path  # noqa: PTH115
        if not isinstance(path, str | os.PathLike):
            return None
        path_meant = Path(os.path.abspath(os.fspath(path)))  # noqa: PTH100 - names that do not exist yet, links as they are
        return path_meant if path_meant.is_relative_to(self._root) else None

    # What stands in for functions of os

    def open(self, path: Any, flags: int, *more: Any, **named: Any) -> int:
        ours = self._ours(path, named.get("dir_fd"))
        if ours is not None and flags & (os.O_WRONLY | os.O_RDWR):
            self._disk.touch(ours)
            if not ours.exists() or flags & os.O_TRUNC:
                self._instant("open", ours)
            self._disk.made(ours)
        return int(self._real["open"](path, flags, *more, **named))

    def write(self, descriptor: int, data: bytes) -> int:
        ours = self._ours(descriptor)
        if ours is not None:
            self.partly(ours, lambda piece: self._real["write"](descriptor, piece), data)
        return int(self._real["write"](descriptor, data))

    def partly(self, path: Path, write: Callable[[bytes], object], data: bytes) -> None:
        """An instant before and one in the middle of a write; a full disk takes what there is room for."""
        self._disk.touch(path)
        try:
            self._instant("write", path)
        except OSError as error:
            if error.errno == errno.ENOSPC and data:
                write(bytes(data[: self._random.randrange(len(data))]))
            raise

    def fsync(self, descriptor: int) -> None:
        ours = self._ours(descriptor)
        if self.fault.forgets:
            return
        if ours is not None:
            self._instant("sync", ours)
        self._real["fsync"](descriptor)
        if ours is not None:
            self._disk.synced(ours)

    def ftruncate(self, descriptor: int, size: int) -> None:
        ours = self._ours(descriptor)
        if ours is not None:
            self._disk.touch(ours)
            self._instant("write", ours)
        self._real["ftruncate"](descriptor, size)

    def replace(self, source: Any, target: Any, **named: Any) -> None:
        before = self._ours(source, named.get("src_dir_fd"))
        after = self._ours(target, named.get("dst_dir_fd"))
        if before is not None and after is not None:
            self._disk.touch(before)
            self._disk.touch(after)
            self._instant("rename", after)
        self._real["replace"](source, target, **named)
        if before is not None and after is not None and before in self._disk.now:
            self._disk.now[after] = self._disk.now.pop(before)

    rename = replace

    def unlink(self, path: Any, **named: Any) -> None:
        ours = self._ours(path, named.get("dir_fd"))
        if ours is not None:
            self._disk.touch(ours)
            self._instant("unlink", ours)
        self._real["unlink"](path, **named)
        if ours is not None:
            self._disk.now.pop(ours, None)

    remove = unlink

    def mkdir(self, path: Any, *more: Any, **named: Any) -> None:
        ours = self._ours(path)
        if ours is not None:
            self._instant("mkdir", ours)
        self._real["mkdir"](path, *more, **named)
        if ours is not None:
            self._disk.directories.add(ours)

    def open_stream(self, file: Any, mode: str = "r", *more: Any, **named: Any) -> Any:
        """`open` for writing gives a stream whose writes are instants; for reading, the usual one."""
        ours = None if isinstance(file, int) else self._ours(file)
        if ours is None or not _WRITING & set(mode):
            return self._real_open(file, mode, *more, **named)
        self._disk.touch(ours)
        self._instant("open", ours)
        raw = _Stream(self, ours, mode.replace("b", "").replace("t", ""))
        self._disk.made(ours)
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding="utf-8")


class _Stream(io.FileIO):
    def __init__(self, layer: Layer, path: Path, mode: str) -> None:
        super().__init__(str(path), mode)
        self._layer = layer
        self._path = path

    def write(self, data: Any) -> int:
        self._layer.partly(self._path, super().write, data)
        return super().write(data)


def main(words: list[str]) -> None:
    """Runs mqctl on such a disk."""
    fault = Fault(**json.loads(words[0]))
    layer = Layer(fault)
    layer.install()
    sys.argv = ["mqctl", *words[1:]]
    try:
        runpy.run_module("mqctl", run_name="__main__", alter_sys=True)
    finally:
        layer._stop_patching()
        if fault.told:
            Path(fault.told).write_text(f"{layer.instants} {max(layer.before_files, 0)}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
