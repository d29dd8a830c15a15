"""The journal of changes: one file each, written before the first request and after every answer.

Each kind of change has a directory of its own. A record is one JSON document, written whole or not at all and to the
disk. One of very many parts, dead letters, is followed by lines instead: one each time that a part changed. These are
not forced to the disk one by one, which would set the pace: whatever a crash of the machine loses or tears off, a
letter that is not written down as sent is looked up at the brokers before it is sent again.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from mqctl.changes.engine.old_records import LETTER_WORDS, read_old
from mqctl.changes.engine.records import (
    AnyRecord,
    LetterPart,
    OffsetRecord,
    ReplayRecord,
    ResendRecord,
    SettingRecord,
    StepRecord,
)
from mqctl.errors import BadInputError, NotFoundError, StorageError
from mqctl.model.forms import JOURNAL, UPGRADE, newer_than_known
from mqctl.model.lazy_dataclass import dataclass
from mqctl.store.exclusive_lock import Told, exclusive_lock, lock_name
from mqctl.store.own_files import appending_stream, write_whole
from mqctl.store.plain_files import read_whole
from mqctl.text import encoded, key_of, restored, sentence, values_of

R = TypeVar("R", bound=AnyRecord)
Unreadable = Callable[[BadInputError], None]


def refuse(error: BadInputError) -> None:
    """Does without no record. Raises the error."""
    raise error


def names_in(directory: Path, suffix: str) -> list[str]:
    """Returns the names of the records in a directory, in their order; none where it is not made yet.

    Raises:
        BadInputError: it cannot be read.
    """
    try:
        return sorted(file.name.removesuffix(suffix) for file in directory.iterdir() if file.name.endswith(suffix))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unread(directory, error) from error


def read_all(names: Callable[[], Iterable[str]], read: Callable[[str], R], unreadable: Unreadable) -> list[R]:
    """Returns the records of these names, the latest first; of what cannot be read, `unreadable` is told.

    One that was removed since its name was seen is left out.
    """
    records: list[R] = []
    try:
        known = names()
    except BadInputError as error:
        unreadable(error)
        return records
    for name in known:
        try:
            records.append(read(name))
        except NotFoundError:
            continue
        except BadInputError as error:
            unreadable(error)
    return sorted(records, key=lambda record: record.made_at_ms, reverse=True)


def is_record(file: Path, identity: str) -> bool:
    """Tells whether there is a record's file, be it one that cannot be read; an id leads into no other directory."""
    return "/" not in identity and os.path.lexists(file)


def read_record(file: Path, identity: str, what: str, remedy: str) -> bytes:
    """Returns what the file of a record holds.

    Args:
        what: of which kind it is, and `remedy` where those are listed that there are.

    Raises:
        NotFoundError: there is none, or none any more.
        BadInputError: it cannot be read; it may be a link that leads nowhere.
    """
    absent = NotFoundError(
        sentence("record-files-no", "there is no {what} {identity}", what=what, identity=identity), remedy=remedy
    )
    if "/" in identity:
        raise absent
    try:
        return read_whole(file)
    except FileNotFoundError as error:
        raise (unread(file, error) if os.path.lexists(file) else absent) from error
    except OSError as error:
        raise unread(file, error) from error


def unread(file: Path, error: Exception) -> BadInputError:
    """Returns the error for a record that is damaged, or that may not be read."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return BadInputError(
        sentence("could-not-read", "could not read {file}", file=file),
        reason=reason,
        remedy=sentence("record-files-restore-move-away", "restore it, or move it away"),
    )


def journal_not_written(directory: Path, error: OSError) -> StorageError:
    """Returns the error for a journal that cannot be written."""
    problem, reason = (
        sentence(
            "record-files-could-not-write-journal", "could not write the journal in {directory}", directory=directory
        ),
        error.strerror or str(error),
    )
    return StorageError(
        problem,
        reason=reason,
        remedy=sentence("free-disk-set-state", "free its disk, or set MQCTL_STATE_DIR to another one"),
    )


def new_id() -> str:
    """Returns the id of a new change, in the order of time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def made_at_ms(identity: str) -> int | None:
    """Returns when an id was made, epoch milliseconds; None for a name that is none."""
    try:
        moment = datetime.strptime(f"{identity.rpartition('-')[0]}+0000", "%Y%m%d-%H%M%S%z")
    except ValueError:
        return None
    return round(moment.timestamp() * 1000)


_CLOCKS_APART_MS = 3_600_000
"""How far the clock of a broker may be ahead of this machine's, where their times are compared."""
_HEAD = re.compile(
    rb'\{(?:"performer":"resend",)?"id":"([^"\\]+)",(?:"kind":"[^"\\]+","subject"|"group"):("(?:[^"\\]|\\.)*"),'
)
_PLACES: dict[type, tuple[str, str]] = {
    OffsetRecord: ("journal", ".json"),
    SettingRecord: ("journal/settings", ".json"),
    ResendRecord: ("journal/resends", ".ndjson"),
    ReplayRecord: ("replays", ".json"),
}
_CALLED: dict[type, tuple[str, str]] = {
    ResendRecord: ("resend", "mqctl history"),
    ReplayRecord: ("replay", "mqctl replay status"),
}
_OWN = frozenset({"settings", "resends"})


class _Head(msgspec.Struct):
    performer: str | None = None
    form: int = 1


class _Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A change of one part's state, or the end of the change."""

    part: int = -1
    state: str = ""
    found: str | None = None
    reason: str | None = None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None
    ended: bool = False
    letter: int | None = None
    copy_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedResend:
    """A resend of which nobody can say any more which letters it sent.

    Attributes:
        group: whose letters; None where the damage took that, too.
        made_at_ms: when it was begun; None where its name does not tell.
        error: which file, why, and what to do.
    """

    id: str
    group: str | None
    made_at_ms: int | None
    error: BadInputError

    def may_have_sent(self, group: str, stored_ms: int) -> bool:
        """Tells whether a group's letter of that store time (epoch milliseconds) can be among its letters."""
        if self.group not in (None, group):
            return False
        return self.made_at_ms is None or stored_ms <= self.made_at_ms + _CLOCKS_APART_MS


class Drawer(Generic[R]):
    """The records of one kind.

    Args:
        state: directory of what mqctl keeps for this user; created with the first record.
        kind: type of the records.
        step_kind: of changes in steps, which: each has a directory of its own.
    """

    def __init__(self, state: Path, kind: type[R], step_kind: str | None = None) -> None:
        place, self._suffix = _PLACES.get(kind, (f"journal/{step_kind}", ".json"))
        self.directory = state / place
        self._kind = kind

    def write(self, record: R) -> None:
        """Writes a record, whole or not at all, and to the disk. Raises StorageError."""
        file = self._file(record.id)
        try:
            write_whole(file, self._encoded(record), sweep="" if file.exists() else "*")
        except OSError as error:
            raise journal_not_written(self.directory, error) from error

    @contextmanager
    def appending(self, record: ResendRecord) -> Iterator[Callable[[int], None]]:
        """Yields a function that writes down the state of the part at an index; -1 writes down the end.

        Raises:
            StorageError: the disk is full; nothing more may be sent then.
        """
        try:
            with appending_stream(self._file(record.id)) as stream:

                def save(index: int) -> None:
                    part = record.parts[index] if index >= 0 else None
                    line = (
                        _Line(ended=True)
                        if part is None
                        else _Line(
                            part=index,
                            state=part.state,
                            found=part.found,
                            reason=part.reason,
                            reason_key=key_of(part.reason),
                            reason_values=values_of(part.reason),
                        )
                    )
                    # The blank line ends whatever a crash tore off before.
                    stream.write(b"\n" + msgspec.json.encode(line, enc_hook=encoded) + b"\n")
                    stream.flush()

                yield save
                os.fsync(stream.fileno())
        except OSError as error:
            raise journal_not_written(self.directory, error) from error

    def has(self, identity: str) -> bool:
        """Tells whether there is a record of this id."""
        return is_record(self._file(identity), identity)

    def read(self, identity: str) -> R:
        """Returns one record. Raises NotFoundError, BadInputError."""
        file = self._file(identity)
        what, remedy = _CALLED.get(self._kind, ("change", "mqctl history"))
        try:
            data = read_record(file, identity, what, remedy)
            if self._kind is not ResendRecord:
                return self._decoded(data, file)
            head, *lines = data.splitlines()
            record = self._decoded(head, file)
        except (ValueError, msgspec.DecodeError, RecursionError) as error:
            raise unread(file, error) from error
        if isinstance(record, ResendRecord):
            for line in lines:
                _apply(record, line)
        return record

    def all(self, unreadable: Unreadable = refuse) -> list[R]:
        """Returns every record, the latest first; of one that cannot be read, `unreadable` is told. Raises as that."""
        return read_all(self._names, self.read, unreadable)

    def _names(self) -> list[str]:
        # Beside the replays lie the plans of what was skipped.
        return [name for name in names_in(self.directory, self._suffix) if not name.endswith(".plan")]

    def _decoded(self, data: bytes, file: Path) -> R:
        head = msgspec.json.decode(data, type=_Head)
        reason = newer_than_known(head.form, JOURNAL)
        if reason is not None:
            raise BadInputError(
                sentence("could-not-read", "could not read {file}", file=file), reason=reason, remedy=UPGRADE
            )
        if head.performer is None:
            return read_old(data, self._kind)
        return msgspec.json.decode(data, type=self._kind)

    def _encoded(self, record: R) -> bytes:
        for part in record.parts:
            part.keep_texts()
        data = msgspec.json.encode(record, enc_hook=encoded)
        return data + b"\n" if self._kind is ResendRecord else msgspec.json.format(data)

    def _file(self, identity: str) -> Path:
        return self.directory / f"{identity}{self._suffix}"


class Journal:
    """The changes made from this machine.

    Args:
        state: directory of what mqctl keeps for this user.
    """

    def __init__(self, state: Path) -> None:
        self._state = state
        self.directory = state / "journal"
        self.offsets = Drawer(state, OffsetRecord)
        self.settings = Drawer(state, SettingRecord)
        self.resends = Drawer(state, ResendRecord)
        self.replays = Drawer(state, ReplayRecord)

    def steps(self, kind: str) -> Drawer[StepRecord]:
        """Returns the changes in steps of one kind, for instance `delay-repair`."""
        return Drawer(self._state, StepRecord, kind)

    def step_kinds(self) -> list[str]:
        """Returns of which kinds there are changes in steps."""
        inside = (item for item in self.directory.glob("*") if item.name not in _OWN)
        return sorted(item.name for item in inside if os.path.isdir(item))  # noqa: PTH112 - the method raises

    @contextmanager
    def alone(self, what: str, say: Told, places: Collection[str] = ()) -> Iterator[None]:
        """Keeps other commands of this machine from changing the same thing.

        Args:
            what: the thing, for instance `group G of DefaultCluster`.
            say: receives one line when the command that last changed it was killed while it did.
            places: addresses of the brokers that have it: clusters of one name are told apart by them, and one broker
                in common makes it the same thing.

        Raises:
            RefusedError: another one does, and it is said who.
            StorageError: the journal cannot be written.
        """
        remedy = sentence("journal-wait-look-history", "wait for it, then look at mqctl history")
        known_lines: set[str] = set()

        def say_once(line: str) -> None:
            if line not in known_lines:
                known_lines.add(line)
                say(line)

        with ExitStack() as stack:
            for thing in [f"{what} at {place}" for place in sorted(places)] or [what]:
                try:
                    lock = exclusive_lock(
                        self.directory / lock_name(thing),
                        sentence("common-change", "change {record}", record=what),
                        remedy=remedy,
                        say=say_once,
                    )
                    stack.enter_context(lock)
                except OSError as error:
                    raise journal_not_written(self.directory, error) from error
            yield

    def damaged_resends(self) -> list[DamagedResend]:
        """Returns the resends that cannot be read, with what is still known of them. Raises BadInputError."""
        damaged = []
        for name in names_in(self.resends.directory, ".ndjson"):
            try:
                self.resends.read(name)
            except NotFoundError:
                continue
            except BadInputError as error:
                group = _group_of(self.resends.directory / f"{name}.ndjson")
                damaged.append(DamagedResend(id=name, group=group, made_at_ms=made_at_ms(name), error=error))
        return damaged


def _group_of(file: Path) -> str | None:
    """Reads the group at the start of a damaged record; None unless it stands there behind the record's own id."""
    try:
        head = _HEAD.match(read_whole(file))
        if head is None or head[1].decode() != file.stem:
            return None
        return msgspec.json.decode(head[2], type=str)
    except (OSError, ValueError, msgspec.DecodeError):
        return None


def _apply(record: ResendRecord, text: bytes) -> None:
    try:
        line = msgspec.json.decode(text, type=_Line)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return
    if line.ended:
        record.ended = True
    index = line.part if line.letter is None else line.letter
    if 0 <= index < len(record.parts):
        part: LetterPart = record.parts[index]
        part.state = line.state if line.letter is None else LETTER_WORDS.get(line.state, line.state)
        part.found = line.found or line.copy_id
        part.reason = line.reason and restored(line.reason, line.reason_key, line.reason_values)
        record.ended = False
