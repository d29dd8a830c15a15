"""Stores of 5.x with consume queues or settings in RocksDB (`storeType=defaultRocksDB`): read without a byte written.

A database is opened in a folder of our own that holds copies of its small files (CURRENT, MANIFEST, OPTIONS, logs) and
links to its tables, which RocksDB never changes once they are there: opening writes into its folder even for reading
only, and a broker that runs keeps the lock. What is in it is put beside as the files that a broker with
`storeType=default` would have, once for all readers of a store as it stands. What a running broker has not flushed to a
table or a log is not seen.

Layouts: `RocksDBConsumeQueueTable`, `RocksDBConsumeQueueOffsetTable`, `RocksDBTopicConfigManager`,
`RocksDBSubscriptionGroupManager` and `RocksDBConsumerOffsetManager` of 5.3.3.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from functools import cache
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import Any

from mqctl.errors import StorageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.layouts import QUEUE_ENTRY_BYTES, QUEUE_ENTRY_STRUCT
from mqctl.store.plain_files import reading_error
from mqctl.store.rocksdb_database import DatabaseError, Families, open_copy
from mqctl.text import sentence

QUEUES = "consumequeue"
CONFIGS = {
    "config/topics": "topics.json",
    "config/subscriptionGroups": "subscriptionGroup.json",
    "config/consumerOffsets": "consumerOffset.json",
}
"""Folders of databases, and the files that hold the same where none is used."""
_FILE_ENTRIES = 300_000
_SEPARATOR_BYTES = 1
_TOPIC_SIZE = Struct(">i")
_QUEUE_AND_OFFSET = Struct(">ixq")
_QUEUE = Struct(">i")
_ENTRY = Struct(">qiqq")
_BOUND = Struct(">qq")
_CHECKPOINT_TOPIC = "CHECKPOINT_TOPIC"
_QUEUE_FAMILIES, _CONFIG_FAMILIES = (
    frozenset({"default", "offset"}),
    frozenset({"default", "kvDataVersion", "forbidden"}),
)


@dataclass(frozen=True, slots=True)
class Converted:
    """What databases hold, as files.

    Attributes:
        root: folder in which the files stand below `consumequeue` and `config`.
        problems: why databases, by their folders below the store, or column families in them, could not be read.
    """

    root: Path
    problems: dict[str, str] = field(default_factory=dict)


def can_read() -> bool:
    """Whether the library that reads RocksDB is installed (the `rocksdb` extra)."""
    try:
        import_module("rocksdict")
    except ImportError:
        return False
    return True


def converted(store: Path, databases: Iterable[str]) -> Converted | None:
    """Returns what some databases of a store hold, as files; None without the library.

    Args:
        databases: their folders below the store; what another one than those of `CONFIGS` and the queues' holds is not
            known here.

    Raises:
        StorageError, PermissionDeniedError: a folder cannot be listed, or there is no room for the files.
    """
    parts = tuple(part for part in databases if part == QUEUES or part in CONFIGS)
    if not parts or not can_read():
        return None
    return _made(store.resolve(), parts, _state_of(store, parts))


def _state_of(store: Path, parts: tuple[str, ...]) -> str:
    """Digests names, sizes and times of the databases' files: another state is converted anew."""
    digest = hashlib.sha256(str(store.resolve()).encode())
    for part in parts:
        try:
            files = sorted((each.name, each.stat()) for each in os.scandir(store / part))
        except OSError as error:
            raise reading_error(store / part, error) from error
        for name, status in files:
            digest.update(f"{part}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:24]


@cache
def _made(store: Path, parts: tuple[str, ...], state: str) -> Converted:
    """Converts once for all processes of a user that read this state; the last of them removes the files at its end."""
    home = Path(tempfile.gettempdir()) / f"mqctl-rocksdb-{os.getuid()}"
    root = home / state
    try:
        home.mkdir(mode=0o700, exist_ok=True)
        if home.stat().st_uid != os.getuid():
            raise StorageError(
                sentence("could-not-use", "could not use {path}", path=home),
                reason=sentence("somebody-elses", "it is somebody else's"),
                remedy=sentence("set-tmpdir", "set TMPDIR"),
            )
        _sweep(home)
        while not _hold(root):
            _make(store, parts, root)
        note = json.loads((root / _NOTE).read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(
            sentence(
                "could-not-convert-what-keeps-rocksdb", "could not convert what {store} keeps in RocksDB", store=store
            ),
            reason=f"{error.strerror or error} at {error.filename or home}",
            remedy=sentence("see-tmpdir-room-20-bytes-message", "see that TMPDIR has room for 20 bytes a message"),
        ) from error
    return Converted(root, note["problems"])


_NOTE, _LOCK = "mqctl.json", "mqctl.lock"


def _hold(root: Path) -> bool:
    """Keeps a finished folder from being removed until this process ends; False where there is none."""
    try:
        descriptor = os.open(root / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if os.fstat(descriptor).st_nlink == 0 or not (root / _NOTE).is_file():
        os.close(descriptor)
        return False
    holder = os.getpid()
    atexit.register(lambda: _remove(root, descriptor) if os.getpid() == holder else None)
    return True


def _remove(root: Path, descriptor: int) -> None:
    """Removes a folder unless another process holds it."""
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(root, ignore_errors=True)


def _sweep(home: Path) -> None:
    """Removes what processes left that were killed."""
    for lock in home.glob(f"*/{_LOCK}"):
        with suppress(FileNotFoundError):
            descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
            _remove(lock.parent, descriptor)
            os.close(descriptor)


def _make(store: Path, parts: tuple[str, ...], root: Path) -> None:
    scratch = Path(tempfile.mkdtemp(dir=root.parent))
    try:
        with (scratch / _LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            problems = _convert(store, parts, scratch)
            (scratch / _NOTE).write_text(json.dumps({"problems": problems}), encoding="utf-8")
            with suppress(FileExistsError):
                scratch.rename(root)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:  # another process was quicker
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _convert(store: Path, parts: tuple[str, ...], root: Path) -> dict[str, str]:
    problems = {}
    for part in parts:
        try:
            with open_copy(store / part, root) as families:
                known = _QUEUE_FAMILIES if part == QUEUES else _CONFIG_FAMILIES
                for name in sorted(set(families.names) - known):
                    problems[f"{part}/{name}"] = "a column family that is not known here"
                if part == QUEUES:
                    _write_queues(families, root / QUEUES)
                else:
                    _write_config(part, families, root / "config")
                    newest = max(each.stat().st_mtime for each in (store / part).iterdir())
                    os.utime(root / "config" / CONFIGS[part], (newest, newest))
        except DatabaseError as error:
            problems[part] = str(error)
            shutil.rmtree(root / part, ignore_errors=True)
    return problems


def _write_queues(families: Families, root: Path) -> None:
    """Writes consume queue files; each queue's begin at its lowest offset."""
    written: dict[tuple[str, int], _QueueFiles] = {}
    for key, value in families.rows("default"):
        topic, rest = _topic_of(key)
        if topic is None or len(rest) != _QUEUE_AND_OFFSET.size or len(value) < _ENTRY.size:
            continue
        queue_id, offset = _QUEUE_AND_OFFSET.unpack(rest)
        place = (topic, queue_id)
        files = written.get(place)
        if files is None:
            for other in written.values():
                other.close()
            files = written[place] = _QueueFiles(root / topic / str(queue_id), offset)
        files.put(offset, value)
    for files in written.values():
        files.close()
    for topic, queue_id, end in _ends(families):
        if (topic, queue_id) not in written:
            _QueueFiles(root / topic / str(queue_id), end).close()


def _topic_of(key: bytes) -> tuple[str | None, bytes]:
    if len(key) < _TOPIC_SIZE.size + 2 * _SEPARATOR_BYTES:
        return None, b""
    (size,) = _TOPIC_SIZE.unpack_from(key)
    begin = _TOPIC_SIZE.size + _SEPARATOR_BYTES
    name = key[begin : begin + size]
    fits = len(name) == size and b"/" not in name and name not in (b".", b"..", b"") and b"\0" not in name
    return (name.decode("utf-8", "replace") if fits else None), key[begin + size + _SEPARATOR_BYTES :]


def _ends(families: Families) -> Iterator[tuple[str, int, int]]:
    """Yields (topic, queue id, offset of the next message) of every queue that the table of bounds names."""
    ends: dict[tuple[str, int], int] = {}
    for key, value in families.rows("offset"):
        topic, rest = _topic_of(key)
        kind, number = rest[:3], rest[4:]
        if topic in (None, _CHECKPOINT_TOPIC) or len(number) != _QUEUE.size or len(value) < _BOUND.size:
            continue
        offset = _BOUND.unpack_from(value)[1]
        place = (str(topic), int(_QUEUE.unpack(number)[0]))
        # The highest is that of the last message, the lowest that of the first.
        ends[place] = max(ends.get(place, 0), offset + 1 if kind == b"max" else offset)
    for (topic, queue_id), end in sorted(ends.items()):
        yield topic, queue_id, end


class _QueueFiles:
    """The files of one queue while they are written, entry by entry in ascending order."""

    def __init__(self, directory: Path, first: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._first = first
        self._next = first
        self._file: Any = None
        self._begin()

    def _begin(self) -> None:
        self.close()
        path = self._directory / f"{self._next * QUEUE_ENTRY_BYTES:020d}"
        self._file = path.open("wb")
        self._file.truncate(_FILE_ENTRIES * QUEUE_ENTRY_BYTES)

    def put(self, offset: int, value: bytes) -> None:
        """Appends an entry; offsets that were left out are filled as brokers fill the start of a first file."""
        while self._next < offset:
            self._append(_FILLER)
        self._append(value[:QUEUE_ENTRY_BYTES])

    def _append(self, entry: bytes) -> None:
        if self._next > self._first and (self._next - self._first) % _FILE_ENTRIES == 0:
            self._begin()
        self._file.write(entry)
        self._next += 1

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


_FILLER = QUEUE_ENTRY_STRUCT.pack(0, 0x7FFFFFFF, 0)


def _write_config(part: str, families: Families, root: Path) -> None:
    """Writes the file that holds the same as a database of settings."""
    root.mkdir(exist_ok=True)
    rows = {key.decode("utf-8", "replace"): _text(value) for key, value in families.rows("default")}
    if part == "config/topics":
        document = {"topicConfigTable": rows}
    elif part == "config/subscriptionGroups":
        forbidden = {key.decode("utf-8", "replace"): _text(value) for key, value in families.rows("forbidden")}
        document = {"subscriptionGroupTable": rows, "forbiddenTable": forbidden}
    else:
        document = {"offsetTable": {key: _offsets(text) for key, text in rows.items()}}
    versions = [_text(value) for key, value in families.rows("kvDataVersion") if key == b"kvDataVersionKey"]
    parts = [f'"dataVersion":{text}' for text in versions]
    for name, table in document.items():
        items = ",".join(f"{json.dumps(key)}:{text}" for key, text in table.items())
        parts.append(f"{json.dumps(name)}:{{{items}}}")
    (root / CONFIGS[part]).write_text("{" + ",".join(parts) + "}", encoding="utf-8")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace") or "null"


def _offsets(text: str) -> str:
    """Takes the offsets out of their wrapper; numbers of queues are keys without quotes there."""
    from mqctl.protocol.fastjson import FastjsonError, loads

    try:
        document = loads(text.encode())
    except FastjsonError:
        return "null"
    table = document.get("offsetTable") if isinstance(document, dict) else None
    return json.dumps({str(key): offset for key, offset in table.items()}) if isinstance(table, dict) else "null"
