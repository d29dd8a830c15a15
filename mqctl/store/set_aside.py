"""What recoveries took out of a commit log: kept beside it, with a note, until somebody has seen to it.

Every time has a directory of its own in `commitlog.set-aside`, named by the physical offset at which it begins. It is
a store without queues: a `commitlog` whose files begin where their names say, so readers of stores read it. Needs no
numpy: brokers write here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from mqctl.errors import StorageError
from mqctl.model.numbers import decimal
from mqctl.model.storage_state import SetAside
from mqctl.store.disk import Disk
from mqctl.store.layouts import FILE_NAME_DIGITS
from mqctl.store.plain_files import read_whole, reading_error
from mqctl.text import sentence

DIRECTORY = "commitlog.set-aside"
NOTE = "note.json"
ACKNOWLEDGED = "acknowledged.json"
"""Lies in a directory that somebody has acknowledged."""


def new_place(log_directory: str, physical_offset: int) -> str:
    """Names a directory for what begins at `physical_offset`: a new one, or one that a crash left unfinished."""
    name = place = f"{log_directory}.set-aside/{physical_offset:020d}"
    number = 1
    while os.path.exists(f"{place}/{NOTE}"):  # noqa: PTH110 - the writers of a store name files by text
        place, number = f"{name}.{number}", number + 1
    return place


def write_note(disk: Disk, note: SetAside) -> None:
    """Completes a directory; until then the next recovery begins it anew. Raises DiskFullError, StorageError."""
    path = f"{note.place}/{NOTE}"
    text = json.dumps(
        {
            "schema": "store.set-aside/1",
            "reason": note.reason,
            "at_ms": note.at_ms,
            "physical_offset": note.physical_offset,
            "size_bytes": note.size_bytes,
            "sound_record_count": note.sound_record_count,
        }
    )
    disk.create(path, len(text))
    disk.write(path, text.encode(), 0)
    for changed in (path, f"{note.place}/commitlog", *map(str, list(Path(path).parents)[:3])):
        disk.sync_file(changed)


def set_aside_parts(root: Path) -> Iterator[SetAside]:
    """Reads what lies beside the log of a store, the oldest part of the log first.

    Raises:
        PermissionDeniedError, StorageError: it cannot be listed or read.
    """
    aside = root / DIRECTORY
    try:
        entries = sorted(aside.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise reading_error(aside, error) from error
    loose = [entry for entry in entries if _is_log_file(entry)]
    if loose:  # of a release that put files here without a note
        yield _described(root, aside, loose)
    for entry in entries:
        if entry.is_dir():
            files = [file for file in sorted((entry / "commitlog").glob("*")) if _is_log_file(file)]
            yield _described(root, entry, files)


def _is_log_file(path: Path) -> bool:
    return len(path.name) == FILE_NAME_DIGITS and decimal(path.name) is not None and path.is_file()


def _described(root: Path, place: Path, files: list[Path]) -> SetAside:
    note = _note(place)
    return SetAside(
        place=place.relative_to(root).as_posix(),
        reason="cut" if note.get("reason") == "cut" else "gap",
        at_ms=_number(note, "at_ms"),
        physical_offset=_number(note, "physical_offset") or (decimal(files[0].name) or 0 if files else 0),
        size_bytes=_number(note, "size_bytes") or sum(file.stat().st_size for file in files),
        file_count=len(files),
        sound_record_count=_number(note, "sound_record_count"),
        acknowledged=(place / ACKNOWLEDGED).exists(),
    )


def _note(place: Path) -> dict[str, object]:
    """Returns a note; one that is missing or no JSON says nothing, and what lies there is told all the same."""
    path = place / NOTE
    try:
        document = json.loads(read_whole(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise reading_error(path, error) from error
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _number(note: dict[str, object], name: str) -> int | None:
    value = note.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def acknowledgement(root: Path, place: str) -> str | None:
    """Returns the text of a place's acknowledgement, None without one. Raises StorageError, PermissionDeniedError."""
    path = root / place / ACKNOWLEDGED
    try:
        return read_whole(path).decode("utf-8", "backslashreplace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise reading_error(path, error) from error


def write_acknowledgement(root: Path, place: str, text: str | None) -> None:
    """Writes the acknowledgement of a place, or removes it.

    Raises:
        StorageError: the operating system refuses.
    """
    from mqctl.store.own_files import open_within, replace_within

    path = root / place / ACKNOWLEDGED
    try:
        directory = open_within(root, place)
        try:
            replace_within(directory, ACKNOWLEDGED, None if text is None else text.encode())
        finally:
            os.close(directory)
    except OSError as error:
        raise StorageError(
            sentence("could-not-write", "could not write {path}", path=path),
            reason=error.strerror or str(error),
            remedy=sentence("run-broker-user", "run as the broker's user"),
        ) from error
