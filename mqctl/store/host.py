"""What this machine says about a store: the file system it lies on, and what the process that holds it has open."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from mqctl.model.numbers import decimal
from mqctl.model.storage_state import DeletedFile, LockHolder

MAPPED = ("commitlog", "consumequeue", "consumequeue_ext", "index", "timerlog")
"""Directories of a store whose files a broker keeps open and maps."""
_PROC = Path("/proc")
_MAP_LIMIT = _PROC / "sys/vm/max_map_count"
_MOUNTS = _PROC / "self/mountinfo"
_MOUNT_POINT = 4
_OPEN_FILES = "Max open files"
_GONE = " (deleted)"
_BLOCK_BYTES = 512


def map_limit() -> int | None:
    """Returns how many mappings this machine lets one process have; None where it does not say."""
    try:
        return decimal(_MAP_LIMIT.read_text("ascii").strip())
    except (OSError, UnicodeDecodeError):
        return None


def file_system_of(store: Path) -> str | None:
    """Returns the type of the file system that a store lies on; None where it cannot be told."""
    try:
        path = os.path.realpath(store)
        lines = _MOUNTS.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    best, kind = -1, None
    for line in lines:
        before, _, after = line.partition(" - ")
        fields, types = before.split(" "), after.split(" ")
        if len(fields) <= _MOUNT_POINT or not types[0]:
            continue
        point = fields[_MOUNT_POINT].replace("\\040", " ").rstrip("/")
        # Of several mounts at one place the last lies on top.
        if (path == point or path.startswith(point + "/")) and len(point) >= best:
            best, kind = len(point), types[0]
    return kind


def with_open_files(holder: LockHolder, store: Path) -> LockHolder:
    """Returns a holder with what it has open; another user's process tells its limit only."""
    links = _links(holder.pid)
    return replace(
        holder,
        open_file_limit=_open_file_limit(holder.pid),
        open_file_count=None if links is None else len(links),
        deleted=None if links is None else _deleted(links, os.path.realpath(store)),
    )


def _open_file_limit(pid: int) -> int | None:
    try:
        lines = (_PROC / str(pid) / "limits").read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    line = next((line for line in lines if line.startswith(_OPEN_FILES)), "")
    soft = line.removeprefix(_OPEN_FILES).split()
    return decimal(soft[0]) if soft else None  # `unlimited` is no number, and no limit


def _links(pid: int) -> dict[Path, str] | None:
    """Returns where each open file of a process leads; None where its user does not let us see."""
    directory = _PROC / str(pid) / "fd"
    links: dict[Path, str] = {}
    try:
        opened = list(directory.iterdir())
    except OSError:
        return None
    for link in opened:
        try:
            links[link] = str(link.readlink())
        except FileNotFoundError:  # closed meanwhile
            continue
        except OSError:
            return None
    return links


def _deleted(links: dict[Path, str], root: str) -> tuple[DeletedFile, ...]:
    sizes: dict[str, int] = {}
    for link, target in links.items():
        if not target.endswith(_GONE) or not target.startswith(root + "/"):
            continue
        file = target.removesuffix(_GONE)[len(root) + 1 :]
        if file.split("/", 1)[0] not in MAPPED:
            continue
        try:
            sizes[file] = link.stat().st_blocks * _BLOCK_BYTES
        except OSError:  # closed meanwhile
            continue
    return tuple(DeletedFile(file=file, size_bytes=size) for file, size in sorted(sizes.items()))
