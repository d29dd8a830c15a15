"""A store directory: which parts it has, and a reader for each.

Missing parts are values, not errors: stores are often copied in part.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mqctl.errors import BadInputError, MqctlError, NotFoundError, UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import ROCKSDB_HALF_TOPIC, TIMER_TOPIC
from mqctl.model.numbers import decimal
from mqctl.store.attached import look_at_each
from mqctl.store.batchqueue import BatchConsumeQueue
from mqctl.store.checkpoint import Checkpoint, parse_checkpoint
from mqctl.store.commitlog import CommitLog
from mqctl.store.config_files import CONSUMER_OFFSETS, LoadedConfig, offsets_name, read_config
from mqctl.store.consumequeue import ConsumeQueue
from mqctl.store.consumequeue_ext import ConsumeQueueExt
from mqctl.store.index_file import IndexFile
from mqctl.store.known_parts import FIELDS, Kept, unknown_fields, unknown_parts
from mqctl.store.lock_holder import lock_holder
from mqctl.store.mapped_files import listed_files
from mqctl.store.plain_files import read_file, reading_error
from mqctl.text import sentence

if TYPE_CHECKING:
    from mqctl.model.storage_state import LockHolder
    from mqctl.store.rocksdb import Converted

_T = TypeVar("_T")
_LOOKS = 5
_IN_MEMORY = sentence(
    "newest-entries-in-memory", "the running broker has the newest queue entries in memory: those on the disk are older"
)
_NOT_KNOWN = sentence("store-part-not-known", "no broker that mqctl knows writes it")
_FAMILY_NOT_KNOWN = sentence("store-family-not-known", "a column family that is not known here")
_LOST_HALVES = sentence(
    "snapshot-half-messages-of-database",
    "half messages were written for a RocksDB database, which after a kill may lack what the log has",
)
_LOST_TIMERS = sentence(
    "store-timers-in-lost-database",
    "the timer wheel takes no messages from the timer topic: they are kept in a RocksDB database, which after a kill "
    "may lack some",
)
_WHEEL_TAKES_WITHIN_MS = 10_000
"""The wheel takes a message within a tenth of a second, and notes once a second how far it is."""
_PARTS = ("commitlog", "consumequeue", "config", "checkpoint", "index", "batchconsumequeue")


_URL_AS_PATH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(?!/)(.*)", re.DOTALL)
"""Two slashes of a URL are one in a path."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A part of the store that is there but cannot be read offline, and why."""

    part: str
    reason: str


@dataclass(frozen=True)
class StoreDirectory:
    """A broker's store, opened read-only."""

    path: Path
    commit_log_paths: tuple[Path, ...] = field(default=())
    _uncut: bool = field(default=False, repr=False)
    _logged: bool = field(default=False, repr=False)

    @classmethod
    def open(cls, path: Path, *, commit_log_paths: Sequence[Path] = ()) -> StoreDirectory:
        """Recognises a store at `path`.

        Args:
            commit_log_paths: the directories of `storePathCommitLog` and `readOnlyCommitLogStorePaths`, when the
                commit log is not (only) in `commitlog`.

        Raises:
            NotFoundError: `path`, or one of `commit_log_paths`, does not exist.
            PermissionDeniedError: one may not look into it.
            BadInputError: it is no store, or one that keeps its commit log in DLedger's format.
        """
        for wanted in (path, *commit_log_paths):
            if not _exists(wanted):
                _refuse_url(wanted)
                raise NotFoundError(
                    sentence("could-not-open-store", "could not open the store {path}", path=wanted),
                    reason=sentence("store-no-such-directory", "no such directory"),
                    remedy=sentence("store-give-broker-storepathrootdir", "give the broker's storePathRootDir"),
                )
        present = [part for part in _PARTS if _exists(path / part)]
        raft = _raft_directory(path)
        if raft is not None and not any(listed_files(path / "commitlog")):
            raise BadInputError(
                sentence("could-not-open-store", "could not open the store {path}", path=path),
                reason=sentence(
                    "store-commit-log-dledger-raft",
                    "its commit log is in DLedger's (Raft) format, in {raft}",
                    raft=raft.name,
                ),
                remedy=sentence(
                    "store-ask-running-broker-instead",
                    "ask the running broker instead (`--namesrv`); DLedger logs are not read offline",
                ),
            )
        if not path.is_dir() or not present:
            raise BadInputError(
                sentence("could-not-open-store", "could not open the store {path}", path=path),
                reason=sentence("store-none", "it has none of {parts}", parts=_PARTS),
                remedy=sentence(
                    "store-give-broker-storepathrootdir-default",
                    "give the broker's storePathRootDir (by default ~/store)",
                ),
            )
        return cls(path, tuple(commit_log_paths))

    @cached_property
    def commit_log(self) -> CommitLog:
        own = self.path / "commitlog"
        extra = [path for path in self.commit_log_paths if path.resolve() != own.resolve()]
        log = CommitLog((own, *extra))
        return log if not self.is_written or not log.files else replace(log, until=self._end_of(log))

    @cached_property
    def holder(self) -> LockHolder | None:
        """The broker on this machine that has the store open, as it was when this was first asked."""
        return lock_holder(self.path)

    @property
    def is_written(self) -> bool:
        """Whether a broker on this machine has the store open. It is looked at up to where its log ended at first."""
        return self.holder is not None

    def _end_of(self, log: CommitLog) -> int:
        return log.find_end(self._last_entry_of(replace(self, _uncut=True))).offset

    def with_logged_entries(self) -> StoreDirectory:
        """Returns the store with the entries of queues in RocksDB that a killed broker did not write, and makes of its
        log when it starts."""
        return self if self._logged else replace(self, _logged=True)

    def as_written(self) -> StoreDirectory:
        """Returns the store with the entries that were written, and no others."""
        return replace(self, _logged=False) if self._logged else self

    def up_to_now(self) -> StoreDirectory:
        """Returns the store as far as it is written when its parts are looked at, beyond the cut."""
        return replace(self, _uncut=True)

    def first_time_behind_cut(self) -> int | None:
        """Returns the store time of the first record behind the cut; None where there is no cut, or nothing behind."""
        if self.cut is None:
            return None
        try:
            return replace(self.commit_log, until=None).record_at(self.cut).store_time_ms
        except MqctlError:
            return None

    @property
    def cut(self) -> int | None:
        """Physical offset up to which a store that is being written is looked at; None for one at rest."""
        return None if self._uncut else self.commit_log.until

    @cached_property
    def _databases(self) -> list[str]:
        """Parts that are kept in RocksDB databases."""
        parts = ("consumequeue", *(f"config/{name}" for name in _ROCKSDB_CONFIGS))
        return [part for part in parts if is_rocksdb(self.path / part)]

    @cached_property
    def _converted(self) -> Converted | None:
        """What is kept in databases, as files."""
        if not self._databases:
            return None
        from mqctl.store.rocksdb import converted

        log = self.commit_log.directories if self._logged and not self.is_written else ()
        return converted(self.path, self._databases, [path for path in log if path.is_dir()])

    def place_of(self, part: str) -> Path:
        """Returns where the files of `consumequeue` or of `config/<name>` are to be read."""
        converted = self._converted
        return self.path / part if converted is None or not (converted.root / part).exists() else converted.root / part

    def relative(self, path: Path) -> str:
        """Names a file by its path below the root, in full when it lies elsewhere; databases as if they were files."""
        roots = (self.path, *((self._converted.root,) if self._converted is not None else ()))
        root = next((root for root in roots if path.is_relative_to(root)), None)
        return path.as_posix() if root is None else path.relative_to(root).as_posix()

    @cached_property
    def consume_queue_kind(self) -> str:
        """`file`, or `rocksdb` when they live in a RocksDB (5.x `storeType=defaultRocksDB`) that cannot be read."""
        unread = "consumequeue" in self._databases and self._why_unread("consumequeue")
        return "rocksdb" if unread else "file"

    @cached_property
    def in_memory(self) -> list[Unreadable]:
        """Parts of which a running broker has the newest in its memory alone.

        Consume queues in RocksDB are written without RocksDB's log (5.3 `ConsumeQueueRocksDBStorage`): entries come to
        the disk when a table in memory is full, or the broker ends.
        """
        if not self.is_written or "consumequeue" not in self._databases or self.consume_queue_kind != "file":
            return []
        return [Unreadable("consumequeue", _IN_MEMORY)]

    def _why_unread(self, part: str) -> str:
        """Says why a database cannot be read; empty where it can."""
        converted = self._converted
        if part == "config/rdb":
            return sentence(
                "store-rocksdb-second-layout",
                "kept in a RocksDB database of the second layout, which is not read offline",
            )
        if converted is not None:
            return converted.problems.get(part, "")
        if part == "consumequeue":
            return sentence(
                "store-queues-in-rocksdb",
                "the consume queues are in a RocksDB database; install mqctl[rocksdb] to read it",
            )
        return sentence("store-part-in-rocksdb", "kept in a RocksDB database; install mqctl[rocksdb] to read it")

    @property
    def has_queues(self) -> bool:
        """Whether there are consume queues of any kind; a part of a log that was set aside has none."""
        return _exists(self.path / "consumequeue")

    @property
    def unreadable(self) -> list[Unreadable]:
        """Parts that exist in a format which is not read offline."""
        reasons = {part: self._why_unread(part) for part in self._databases}
        problems = self._converted.problems if self._converted is not None else {}
        return [
            Unreadable(part, reason) for part, reason in (reasons | problems | self._kept.problems).items() if reason
        ]

    @cached_property
    def _kept(self) -> Kept:
        """What of timers and transactions is kept in a database, or was: killed brokers leave it empty, as its log is
        written in batches (5.5.0)."""
        kept = Kept()
        lost: dict[str, str] = {}
        if self.consume_queue_kind == "file" and self._has_database_halves():
            lost["rocksdbstore/trans"] = _LOST_HALVES
        if is_rocksdb(self.path / "rocksdbstore"):
            from mqctl.store.rocksdb import kept_messages

            kept = kept_messages(self.path)
            if self.consume_queue_kind == "file" and self._wheel_stands_still():
                lost["rocksdbstore/timer"] = _LOST_TIMERS
        return kept if "rocksdbstore" in kept.problems else Kept({**lost, **kept.problems}, kept.unknown)

    def _has_database_halves(self) -> bool:
        """Whether half messages were written for a database."""
        try:
            return self.consume_queue(ROCKSDB_HALF_TOPIC, 0).max_offset > 0
        except MqctlError:  # whoever reads the queue says so
            return False

    def _wheel_stands_still(self) -> bool:
        """Whether the timer wheel has turned on without taking the messages of its topic."""
        from mqctl.store.timer import read_timer_check

        try:
            check = read_timer_check(self.path / "config" / "timercheck")
            queue = self.consume_queue(TIMER_TOPIC, 0)
            first = max(queue.min_offset(self.commit_log.min_offset), check.last_timer_queue_offset if check else 0)
            if check is None or first >= queue.max_offset:
                return False
            (entry,) = queue.entries(first, first + 1)
            stored_ms = self.commit_log.record_at(int(entry["physical_offset"])).store_time_ms
        except (MqctlError, ValueError):  # whoever reads the timers says so
            return False
        return stored_ms + _WHEEL_TAKES_WITHIN_MS < check.last_read_time_ms

    @cached_property
    def unknown(self) -> list[Unreadable]:
        """What lies in the store and is not known to be a broker's: nobody here can say what it means."""
        families = [*(self._converted.unknown if self._converted is not None else ()), *self._kept.unknown]
        if any(is_rocksdb(self.path / part) for part in _ACCESS):
            from mqctl.store.rocksdb import unknown_families

            families += (each for part in _ACCESS for each in unknown_families(self.path, part))
        return [
            *(Unreadable(part, _NOT_KNOWN) for part in unknown_parts(self.path)),
            *(Unreadable(part, _FAMILY_NOT_KNOWN) for part in families),
        ]

    def unknown_fields(self) -> list[Unreadable]:
        """Returns tables and fields of the files in `config` that no known broker writes."""
        unknown = []
        for name in FIELDS:
            with suppress(MqctlError):  # whoever needs the file says so
                unknown += unknown_fields(name, self.config(name).value)
        return [Unreadable(part, _NOT_KNOWN) for part in unknown]

    @property
    def left_out(self) -> list[Unreadable]:
        """Queues in a RocksDB whose entries are not all read: rows that no broker writes say something else."""
        left_out = self._converted.left_out if self._converted is not None else {}
        return [Unreadable(part, reason) for part, reason in left_out.items()]

    def queue_ids(self) -> list[tuple[str, int]]:
        """Lists (topic, queue id) of every consume queue directory, sorted; empty for a RocksDB consume queue."""
        return [] if self.consume_queue_kind == "rocksdb" else _queues(self.place_of("consumequeue"))

    def consume_queue(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Returns the reader of one consume queue; a queue without a directory is empty."""
        return ConsumeQueue(self.place_of("consumequeue") / topic / str(queue_id), topic, queue_id, self.cut)

    def look_at_queue(self, topic: str, queue_id: int, look: Callable[[ConsumeQueue], _T]) -> _T:
        """Returns what `look` makes of a consume queue; it looks again where a running broker has deleted a file of the
        queue since its files were listed. Raises what `look` does."""
        for _ in range(_LOOKS - 1 if self.cut is not None else 0):
            with suppress(NotFoundError):
                return look(self.consume_queue(topic, queue_id))
        return look(self.consume_queue(topic, queue_id))

    def consume_queue_ext(self, topic: str, queue_id: int) -> ConsumeQueueExt:
        """Returns the reader of a queue's extension; without `enableConsumeQueueExt` there are no files."""
        return ConsumeQueueExt(self.path / "consumequeue_ext" / topic / str(queue_id))

    def batch_consume_queue(self, topic: str, queue_id: int) -> BatchConsumeQueue:
        """Returns the reader of one 5.x batch consume queue."""
        return BatchConsumeQueue(self.path / "batchconsumequeue" / topic / str(queue_id), topic, queue_id)

    def batch_queue_ids(self) -> list[tuple[str, int]]:
        """Lists (topic, queue id) of 5.x batch consume queues, sorted."""
        return _queues(self.path / "batchconsumequeue")

    def checkpoint(self) -> Checkpoint | None:
        """Reads the checkpoint; None when there is no such file.

        Raises:
            BadInputError: it is too short to hold the times.
        """
        path = self.path / "checkpoint"
        return parse_checkpoint(read_file(path)) if os.path.lexists(path) else None

    def abort(self) -> bool:
        """Whether the broker runs, or died. `abort.bak`, which 5.x leaves behind, means nothing."""
        return (self.path / "abort").exists()

    def config(self, name: str) -> LoadedConfig:
        """Reads `config/<name>` as the broker would, backup included; a missing one is a value, too."""
        folder = self.place_of(f"config/{name}").parent
        return read_config(folder, offsets_name(folder) if name == CONSUMER_OFFSETS else name)

    def index_files(self) -> list[IndexFile]:
        """Index files, oldest first (their names are creation times)."""
        paths = sorted(path for path in _children(self.path / "index") if path.name.isdigit())
        return [IndexFile(path) for path in paths]

    def log_end_hint(self) -> int | None:
        """The highest physical offset that any consume queue points to; None when there is no entry."""
        return self._last_entry_of(self)

    @staticmethod
    def _last_entry_of(store: StoreDirectory) -> int | None:
        def last(place: tuple[str, int]) -> int | None:
            queue = store.consume_queue(*place)
            try:
                entries = queue.entries(queue.max_offset - 1)
            except MqctlError:
                return None  # whoever reads the queue itself says so
            return int(entries["physical_offset"][-1]) if len(entries) else None

        ends = look_at_each(store.path, last, store.queue_ids())
        return max((physical for physical in ends if physical is not None), default=None)


_ACCESS = ("config/users", "config/acls")
_ROCKSDB_CONFIGS = ("consumerOffsets", "rdb", "subscriptionGroups", "topics")


POP_DATABASE = "kvStore"
"""Where a broker with `popConsumerKVServiceInit` keeps what is popped."""


def is_rocksdb(directory: Path) -> bool:
    """Whether there is a RocksDB database, or what is left of one, as far as one may look."""
    try:
        with os.scandir(directory) as files:
            return any(_OF_A_DATABASE.fullmatch(each.name) and each.is_file() for each in files)
    except OSError:
        return False


_OF_A_DATABASE = re.compile(r"CURRENT|(MANIFEST|OPTIONS)-[0-9]+|[0-9]+\.sst")


def _refuse_url(path: Path) -> None:
    match = _URL_AS_PATH.fullmatch(str(path))
    if match is None:
        return
    scheme, rest = match.groups()
    url = f"{scheme}:///{rest}" if scheme == "file" else f"{scheme}://{rest}"
    if scheme == "file":
        raise UsageError(
            sentence("could-not-open-store", "could not open the store {path}", path=url),
            reason=sentence("store-command-reads-directories-no", "this command reads directories, no URLs"),
            remedy=sentence("write-store", "write --store /{rest}", rest=rest),
        )
    raise UsageError(
        sentence("could-not-open-store", "could not open the store {path}", path=url),
        reason=sentence("store-command-reads-directories-no", "this command reads directories, no URLs"),
        remedy=sentence(
            "mount-store-copy-disk",
            "mount the store or copy it to a disk; `mqctl store verify` and `mqctl report` read it as it is",
        ),
    )


def _exists(path: Path) -> bool:
    """Tells whether there is such a file; a directory that is closed to us is an error of its own."""
    try:
        return path.exists()
    except OSError as error:
        raise reading_error(path.parent, error) from error


def _children(directory: Path) -> Iterator[Path]:
    try:
        yield from directory.iterdir()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise reading_error(directory, error) from error


def _queues(root: Path) -> list[tuple[str, int]]:
    return sorted(
        (topic.name, number)
        for topic in _children(root)
        if topic.is_dir()
        for queue in _children(topic)
        if (number := decimal(queue.name)) is not None
    )


def _raft_directory(path: Path) -> Path | None:
    """Finds DLedger's directory: `data` and `index` side by side in `dledger-<id>` or `<group>-<id>`."""
    for child in sorted(_children(path)):
        parts = (child / "data", child / "index")
        if all(os.path.isdir(part) for part in parts):  # noqa: PTH112 - the method raises where one may not look
            return child
    return None
