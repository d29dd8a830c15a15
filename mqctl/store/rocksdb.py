"""Stores of 5.x with consume queues or settings in RocksDB (`storeType=defaultRocksDB`): read without a byte written.

A database is opened in a folder of our own that holds copies of its small files (CURRENT, MANIFEST, OPTIONS, logs) and
links to its tables, which RocksDB never changes once they are there: opening writes into its folder even for reading
only, and a broker that runs keeps the lock. What is in it is put beside as the files that a broker with
`storeType=default` would have, once for all readers of a store as it stands. What a running broker has not flushed to a
table or a log is not seen; of a broker that was killed readers get it from the commit log.

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
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import Any

from mqctl.errors import MqctlError, StorageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.known_parts import Kept
from mqctl.store.layouts import FILLER_SIZE, QUEUE_ENTRY_BYTES, QUEUE_ENTRY_STRUCT
from mqctl.store.log_tail import entries_behind
from mqctl.store.own_files import new_stream, write_whole
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
_MOST_QUEUES, _MOST_LEFT_OUT = 1 << 20, 1_000
_SHOWN_BYTES = 80
_LONGEST_TOPIC_BYTES = 255
"""Of a retry topic, 5.x; names of directories end there as well."""
_OFFSETS = range((1 << 63) // QUEUE_ENTRY_BYTES - _FILE_ENTRIES)
"""Queue offsets whose entry has a place in a file."""
_SEPARATOR = b"\1"
_TOPIC_SIZE = Struct(">i")
_CHECKPOINT = b"\0\0\0\x10\1CHECKPOINT_TOPIC\1"
"""Of the row that is no queue's, but says how much of the log has entries: 16 bytes in 5.3.3, 8 in 5.5.0."""
_QUEUE_AND_OFFSET = Struct(">icq")
_QUEUE = Struct(">i")
_ENTRY = Struct(">qiqq")
_PHYSICAL = Struct(">qi")
_BOUND = Struct(">qq")
_BOUNDS = (b"max", b"min")
_CONFIG_FAMILIES = frozenset({"default", "kvDataVersion", "forbidden"})
MESSAGES = "rocksdbstore"
"""Folder of the database that every broker from 5.4.0 on makes (`MessageRocksDBStorage` of 5.4.0 and 5.5.0)."""
TIMERS, TRANSACTIONS = "timer", "trans"
"""Its families in which a broker with `timerRocksDBEnable` keeps timers, and one with `transRocksDBEnable` half
messages. The default one is an index of messages, as those in `index` are."""
_NOT_READ = {
    TIMERS: sentence("store-timers-in-rocksdb", "timers are kept in a RocksDB database, which is not read offline"),
    TRANSACTIONS: sentence(
        "store-transactions-in-rocksdb", "transactions are kept in a RocksDB database, which is not read offline"
    ),
}
_UNSEEN = sentence(
    "store-install-rocksdb-to-see",
    "kept in a RocksDB database; install mqctl[rocksdb] to see whether timers or transactions are in it",
)
# Rows that say how far a broker has come, and none that waits.
_PROGRESS = frozenset({b"sys_topic_scan_offset_checkpoint", b"timeline_checkpoint", b"lastOffsetPy"})
ACCESS = ("config/users", "config/acls")
"""Folders of the databases in which a broker keeps users and ACLs (5.3)."""
KNOWN_FAMILIES = {
    QUEUES: frozenset({"default", "offset"}),
    **dict.fromkeys((*CONFIGS, *ACCESS), _CONFIG_FAMILIES),
    MESSAGES: frozenset({"default", TIMERS, TRANSACTIONS}),
}
"""Column families that are known, by the folder of their database; what is in another one nobody here can say."""


@dataclass(frozen=True, slots=True)
class Converted:
    """What databases hold, as files.

    Attributes:
        root: folder in which the files stand below `consumequeue` and `config`.
        problems: why databases, by their folders below the store, could not be read.
        left_out: queues, by their directories below the store, whose entries are not all among the files, and why.
        unknown: column families that are not known here, by the folder of their database.
    """

    root: Path
    problems: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


def kept_messages(store: Path) -> Kept:
    """Returns what of timers and transactions a store keeps in RocksDB; by default brokers keep none there, and a look
    at the folder tells."""
    folder = store / MESSAGES
    try:
        sizes = [(each.name, each.stat().st_size) for each in os.scandir(folder)]
    except OSError as error:
        return Kept({MESSAGES: str(reading_error(folder, error))})
    if not any(name.endswith((".sst", ".blob")) or (name.endswith(".log") and size) for name, size in sizes):
        return Kept()
    if not can_read():
        return Kept({MESSAGES: _UNSEEN})
    problems = {}
    try:
        with tempfile.TemporaryDirectory(prefix="mqctl-rocksdb-") as root, open_copy(folder, Path(root)) as families:
            unknown = _unknown(families, MESSAGES)
            for name, reason in _NOT_READ.items():
                if any(key not in _PROGRESS for key, _ in families.rows(name)):
                    problems[f"{MESSAGES}/{name}"] = reason
    except DatabaseError as error:
        return Kept({MESSAGES: str(error)})
    return Kept(problems, unknown)


def unknown_families(store: Path, part: str) -> tuple[str, ...]:
    """Returns the column families of a database that are not known here, by its folder; none where it cannot be opened,
    or not be read at all: whoever reads it says so."""
    if not can_read():
        return ()
    with (
        suppress(DatabaseError),
        tempfile.TemporaryDirectory(prefix="mqctl-rocksdb-") as root,
        open_copy(store / part, Path(root)) as families,
    ):
        return _unknown(families, part)
    return ()


def _unknown(families: Families, part: str) -> tuple[str, ...]:
    return tuple(f"{part}/{name}" for name in sorted(set(families.names) - KNOWN_FAMILIES[part]))


def can_read() -> bool:
    """Whether the library that reads RocksDB is installed (the `rocksdb` extra)."""
    try:
        import_module("rocksdict")
    except ImportError:
        return False
    return True


def converted(store: Path, databases: Iterable[str], log: Sequence[Path] = ()) -> Converted | None:
    """Returns what some databases of a store hold, as files; None without the library.

    Args:
        databases: their folders below the store; what another one than those of `CONFIGS` and the queues' holds is not
            known here.
        log: directories of the commit log, where queues are to have the entries that a broker makes of it; none for
            those that are in the database.

    Raises:
        StorageError, PermissionDeniedError: a folder cannot be listed, or there is no room for the files.
    """
    parts = tuple(part for part in databases if part == QUEUES or part in CONFIGS)
    if not parts or not can_read():
        return None
    folders = tuple(path.resolve() for path in log)
    return _made(store.resolve(), parts, folders, _state_of(store, parts, folders))


def _state_of(store: Path, parts: tuple[str, ...], log: tuple[Path, ...]) -> str:
    """Digests names, sizes and times of the databases' files, and of the log's: another state is converted anew."""
    digest = hashlib.sha256(f"{_FORM} {store.resolve()}".encode())
    for folder in (*(store / part for part in parts), *log):
        try:
            files = sorted((each.name, each.stat()) for each in os.scandir(folder))
        except OSError as error:
            raise reading_error(folder, error) from error
        for name, status in files:
            digest.update(f"{folder}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:24]


@cache
def _made(store: Path, parts: tuple[str, ...], log: tuple[Path, ...], state: str) -> Converted:
    """Converts once for all processes of a user that read this state; the last of them removes the files at its end."""
    home = Path(tempfile.gettempdir())
    try:
        home = _home(home)
        root = home / state
        _sweep(home)
        while not _hold(root):
            _make(store, parts, log, root)
        note = json.loads((root / _NOTE).read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(
            sentence("store-could-not-convert-keeps", "could not convert what {store} keeps in RocksDB", store=store),
            reason=sentence(
                "store-problem-at",
                "{problem} at {file}",
                problem=error.strerror or str(error),
                file=error.filename or home,
            ),
            remedy=sentence("store-see-tmpdir-room-bytes", "see that TMPDIR has room for 20 bytes a message"),
        ) from error
    return Converted(root, note["problems"], note["left_out"], tuple(note["unknown"]))


_FORM = 3
"""Of the folder and its note: another version of mqctl makes its own."""
_NOTE, _LOCK = "mqctl.json", "mqctl.lock"


def _home(temporary: Path) -> Path:
    """Returns the folder that a user's processes share, or one of this process where somebody else took that name."""
    home = temporary / f"mqctl-rocksdb-{os.getuid()}"
    with suppress(FileExistsError):
        home.mkdir(mode=0o700)
    status = home.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
        return home
    own, holder = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=temporary)), os.getpid()
    atexit.register(lambda: shutil.rmtree(own, ignore_errors=True) if os.getpid() == holder else None)
    return own


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


def _make(store: Path, parts: tuple[str, ...], log: tuple[Path, ...], root: Path) -> None:
    scratch = Path(tempfile.mkdtemp(dir=root.parent))
    try:
        with new_stream(scratch / _LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            note = _convert(store, parts, log, scratch)
            write_whole(scratch / _NOTE, json.dumps(note).encode(), durable=False)
            with suppress(FileExistsError):
                scratch.rename(root)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:  # another process was quicker
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _convert(store: Path, parts: tuple[str, ...], log: tuple[Path, ...], root: Path) -> dict[str, Any]:
    """Writes the files, and returns what `Converted` has of them."""
    problems: dict[str, str] = {}
    left_out: dict[str, str] = {}
    unknown: list[str] = []
    for part in parts:
        try:
            with open_copy(store / part, root) as families:
                unknown += _unknown(families, part)
                if part == QUEUES:
                    left_out = _Queues(root / QUEUES).write(families, log)
                else:
                    _write_config(part, families, root / "config")
                    newest = max(each.stat().st_mtime for each in (store / part).iterdir())
                    os.utime(root / "config" / CONFIGS[part], (newest, newest))
        except DatabaseError as error:
            problems[part] = str(error)
            shutil.rmtree(root / part, ignore_errors=True)
    return {"problems": problems, "left_out": left_out, "unknown": unknown}


class _UnfitRowError(Exception):
    """A row that no broker writes, with the queue that it names and what is wrong with it."""


class _Queues:
    """Writes consume queue files: no more than a broker's files of as many entries would take, whatever a row says."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._rows = self._fillers = 0
        self._written: set[tuple[str, int]] = set()
        self._logged: dict[tuple[str, int], list[tuple[int, bytes]]] = {}
        self._left_out: dict[str, str] = {}

    def write(self, families: Families, log: Sequence[Path]) -> dict[str, str]:
        """Writes the files of all queues and returns what is not among them.

        Args:
            log: see `converted`.

        Raises:
            DatabaseError: the rows are damaged, or more than a database of a broker has.
        """
        if log:
            self._logged = _entries_behind(families, log)
        self._write_entries(families)
        for place, entries in self._logged.items():
            if place not in self._written:
                self._end(place, self._files_of(place, entries[0][0]))
        ends: dict[tuple[str, int], int] = {}
        for key, value in families.rows("offset"):
            if key.startswith(_CHECKPOINT):
                continue
            try:
                place, end = _end_of(key, value)
            except _UnfitRowError as error:
                self._leave_out(*error.args)
                continue
            # The highest is that of the last message, the lowest that of the first.
            ends[place] = max(ends.get(place, 0), end)
            self._check_count(len(ends))
        for place, end in sorted(ends.items()):
            if place not in self._written:
                self._files_of(place, end).close()
        return self._left_out

    def _write_entries(self, families: Families) -> None:
        """Writes entries, queue by queue as their keys are sorted; a queue's files begin at its lowest offset."""
        last, files = None, None
        for key, value in families.rows("default"):
            self._rows += 1
            try:
                place, offset = _entry_of(key, value)
            except _UnfitRowError as error:
                self._leave_out(*error.args)
                continue
            if files is None or place != last:
                if files is not None and last is not None:
                    self._end(last, files)
                last, files = place, self._files_of(place, offset)
            if self._is_wide(offset - files.end):
                self._leave_out(
                    _directory_of(place),
                    sentence(
                        "store-queue-offsets-left-out",
                        "queue offsets {low} to {high} hold no entries, and those before them are left out",
                        low=files.end,
                        high=offset - 1,
                    ),
                )
                files.begin_anew(offset)
            files.put(offset, value)
        if files is not None and last is not None:
            self._end(last, files)

    def _end(self, place: tuple[str, int], files: _QueueFiles) -> None:
        """Adds the entries that the log has of a queue, and the database has not, and closes its files."""
        for offset, entry in self._logged.get(place, ()):
            self._rows += 1
            if offset < files.end:
                continue
            if self._is_wide(offset - files.end):
                break  # no broker leaves so many out
            files.put(offset, entry)
        files.close()

    def _files_of(self, place: tuple[str, int], first: int) -> _QueueFiles:
        self._written.add(place)
        self._check_count(len(self._written))
        return _QueueFiles(self._root / place[0] / str(place[1]), first)

    def _check_count(self, queues: int) -> None:
        if queues > _MOST_QUEUES:
            raise DatabaseError(
                sentence(
                    "store-rocksdb-too-many-queues",
                    "the RocksDB database has more than {most:queue}",
                    most=_MOST_QUEUES,
                )
            )

    def _is_wide(self, gap: int) -> bool:
        """Tells whether offsets that were left out are too many to be filled: all together no more than there are rows.

        A compaction takes expired entries out of some tables and leaves older ones in others, so some gaps are sound.
        """
        if self._fillers + gap > self._rows + _FILE_ENTRIES:
            return True
        self._fillers += gap
        return False

    def _leave_out(self, part: str, reason: str) -> None:
        self._left_out.setdefault(part, reason)
        if len(self._left_out) > _MOST_LEFT_OUT:
            raise DatabaseError(
                sentence(
                    "store-rocksdb-queues-no-broker",
                    "the RocksDB database has more than {most:queue} of no broker: {reason}",
                    most=_MOST_LEFT_OUT,
                    reason=reason,
                )
            )


def _entries_behind(families: Families, log: Sequence[Path]) -> dict[tuple[str, int], list[tuple[int, bytes]]]:
    """Returns the entries of records behind the last one that has one in the database; none where the log cannot be
    read, as whoever reads it says."""
    dispatched = 0
    for _, value in families.rows("default"):
        if len(value) == _ENTRY.size:
            physical, size = _PHYSICAL.unpack_from(value)
            dispatched = max(dispatched, physical + size)
    try:
        return entries_behind(log, dispatched)
    except MqctlError:
        return {}


def _directory_of(place: tuple[str, int]) -> str:
    return f"{QUEUES}/{place[0]}/{place[1]}"


def _entry_of(key: bytes, value: bytes) -> tuple[tuple[str, int], int]:
    """Returns a queue and the queue offset of one of its entries. Raises _UnfitRowError."""
    topic, rest = _topic_of(key)
    if len(rest) != _QUEUE_AND_OFFSET.size or len(value) != _ENTRY.size:
        raise _UnfitRowError(
            f"{QUEUES}/{topic}",
            sentence(
                "store-rocksdb-entry-no-queue",
                "an entry of {key_bytes:,} and {value_bytes:byte} is of no queue",
                key_bytes=len(rest),
                value_bytes=len(value),
            ),
        )
    queue_id, separator, offset = _QUEUE_AND_OFFSET.unpack(rest)
    if separator != _SEPARATOR:
        raise _UnfitRowError(
            f"{QUEUES}/{topic}",
            sentence("store-rocksdb-other-separators", "the key of an entry has other separators than a broker's"),
        )
    return _checked(topic, queue_id, offset)


def _end_of(key: bytes, value: bytes) -> tuple[tuple[str, int], int]:
    """Returns a queue and the offset of its next message, as a row of the table of bounds has it.

    Raises _UnfitRowError.
    """
    topic, rest = _topic_of(key)
    kind, number = rest[:3], rest[4:]
    if kind not in _BOUNDS or len(number) != _QUEUE.size or len(value) != _BOUND.size:
        raise _UnfitRowError(
            f"{QUEUES}/{topic}",
            sentence(
                "store-rocksdb-bound-no-queue",
                "a bound of {key_bytes:,} and {value_bytes:byte} is of no queue",
                key_bytes=len(rest),
                value_bytes=len(value),
            ),
        )
    offset = _BOUND.unpack_from(value)[1]
    return _checked(topic, _QUEUE.unpack(number)[0], offset + 1 if kind == b"max" else offset)


def _checked(topic: str, queue_id: int, offset: int) -> tuple[tuple[str, int], int]:
    if queue_id < 0:
        raise _UnfitRowError(
            f"{QUEUES}/{topic}/{queue_id}", sentence("store-rocksdb-no-such-queue", "no queue has such a number")
        )
    if offset not in _OFFSETS:
        raise _UnfitRowError(
            f"{QUEUES}/{topic}/{queue_id}",
            sentence("store-rocksdb-offset-no-entry", "{offset} is the offset of no entry", offset=offset),
        )
    return (topic, queue_id), offset


def _topic_of(key: bytes) -> tuple[str, bytes]:
    """Returns the topic that begins a key, and what follows it. Raises _UnfitRowError."""
    begin = _TOPIC_SIZE.size + len(_SEPARATOR)
    size = _TOPIC_SIZE.unpack_from(key)[0] if len(key) >= begin else -1
    name, end = key[begin : begin + size], begin + size
    if size < 0 or (key[begin - 1 : begin], key[end : end + 1]) != (_SEPARATOR, _SEPARATOR):
        raise _UnfitRowError(
            f"{QUEUES}/{_shown(key)}", sentence("store-rocksdb-key-no-topic", "a key that begins with no topic")
        )
    if size > _LONGEST_TOPIC_BYTES:
        raise _UnfitRowError(
            f"{QUEUES}/{_shown(name)}",
            sentence(
                "store-rocksdb-topic-too-long",
                "a topic's name of {size:byte}, at most {most:byte is/are} possible",
                size=size,
                most=_LONGEST_TOPIC_BYTES,
            ),
        )
    if b"/" in name or b"\0" in name or name in (b".", b"..", b""):
        raise _UnfitRowError(
            f"{QUEUES}/{_shown(name)}", sentence("store-rocksdb-name-no-directory", "a name that no directory can have")
        )
    try:
        return name.decode(), key[end + len(_SEPARATOR) :]
    except UnicodeDecodeError:
        raise _UnfitRowError(
            f"{QUEUES}/{_shown(name)}", sentence("store-rocksdb-topic-not-utf", "a topic's name that is not UTF-8")
        ) from None


def _shown(name: bytes) -> str:
    return name[:_SHOWN_BYTES].decode("utf-8", "backslashreplace")


class _QueueFiles:
    """The files of one queue while they are written, entry by entry in ascending order.

    Attributes:
        end: offset behind the last entry.
    """

    def __init__(self, directory: Path, first: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._file: Any = None
        self._first = self.end = first
        self._begin()

    def begin_anew(self, first: int) -> None:
        """Forgets the entries so far: the queue begins at `first`."""
        for file in self._directory.iterdir():
            file.unlink()
        self._first = self.end = first
        self._begin()

    def _begin(self) -> None:
        self.close()
        self._file = new_stream(self._directory / f"{self.end * QUEUE_ENTRY_BYTES:020d}")
        self._file.truncate(_FILE_ENTRIES * QUEUE_ENTRY_BYTES)

    def put(self, offset: int, value: bytes) -> None:
        """Appends an entry; offsets that were left out are filled as brokers fill the start of a first file."""
        while self.end < offset:
            self._append(_FILLER)
        self._append(value[:QUEUE_ENTRY_BYTES])

    def _append(self, entry: bytes) -> None:
        if self.end > self._first and (self.end - self._first) % _FILE_ENTRIES == 0:
            self._begin()
        self._file.write(entry)
        self.end += 1

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


_FILLER = QUEUE_ENTRY_STRUCT.pack(0, FILLER_SIZE, 0)


def _write_config(part: str, families: Families, root: Path) -> None:
    """Writes the file that holds the same as a database of settings."""
    root.mkdir(exist_ok=True)
    rows = families.texts("default")
    if part == "config/topics":
        document = {"topicConfigTable": rows}
    elif part == "config/subscriptionGroups":
        document = {"subscriptionGroupTable": rows, "forbiddenTable": families.texts("forbidden")}
    else:
        document = _offset_tables(rows)
    version = families.texts("kvDataVersion").get("kvDataVersionKey")
    parts = [] if version is None else [f'"dataVersion":{version or "null"}']
    for name, table in document.items():
        items = ",".join(f"{json.dumps(key)}:{text or 'null'}" for key, text in table.items())
        parts.append(f"{json.dumps(name)}:{{{items}}}")
    write_whole(root / CONFIGS[part], ("{" + ",".join(parts) + "}").encode(), durable=False)


def _offset_tables(rows: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Takes offsets out of their wrappers; numbers of queues are keys without quotes there. What else a wrapper has
    becomes a table of its own, which is named as one that no broker writes.

    Raises:
        DatabaseError: a row is no such wrapper.
    """
    from mqctl.protocol.fastjson import FastjsonError, loads

    tables: dict[str, dict[str, str]] = {"offsetTable": {}}
    for key, text in rows.items():
        try:
            document = loads(text.encode())
        except FastjsonError:
            document = None
        offsets = document.get("offsetTable", {}) if isinstance(document, dict) else None
        if not isinstance(document, dict) or not isinstance(offsets, dict):
            raise DatabaseError(
                sentence(
                    "store-rocksdb-no-offsets", "the entry {key} of the RocksDB database does not hold offsets", key=key
                )
            )
        for name, value in ({**document, "offsetTable": {str(each): at for each, at in offsets.items()}}).items():
            tables.setdefault(name, {})[key] = json.dumps(value)
    return tables
