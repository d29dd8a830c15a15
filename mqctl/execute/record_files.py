"""Records of changes on disk: a directory with a JSON file each, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

from mqctl.errors import BadInputError, NotFoundError, StorageError
from mqctl.store.plain_files import read_whole
from mqctl.text import sentence


class Record(Protocol):
    """What every record of a change has.

    Attributes:
        id: from `new_id`.
        made_at_ms: epoch milliseconds.
    """

    id: str
    made_at_ms: int


R = TypeVar("R", bound=Record)


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
