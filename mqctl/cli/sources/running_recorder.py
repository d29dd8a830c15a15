"""The recorder of a cluster that runs for this user: its lock, and where it writes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mqctl.cli.places import state_dir
from mqctl.store.own_files import write_whole

_LONGEST_BYTES = 4_096


def lock_of(location: str) -> Path:
    """Returns the lock of the recorder of a cluster, which is named by its name servers."""
    return state_dir() / "recorders" / f"{hashlib.sha256(location.encode()).hexdigest()[:16]}.lock"


def _note_of(location: str) -> Path:
    return lock_of(location).with_suffix(".place")


@contextmanager
def noted(location: str, place: str) -> Iterator[None]:
    """Keeps a note of where a recorder writes while the body runs."""
    note = _note_of(location)
    write_whole(note, (place if "://" in place else str(Path(place).absolute())).encode(), durable=False)
    try:
        yield
    finally:
        with suppress(OSError):
            note.unlink(missing_ok=True)


def running_place(location: str) -> str | None:
    """Returns where the recorder of a cluster writes, as its note says; None without one.

    A recorder that was killed leaves its note: what it recorded is old then.
    """
    try:
        with _note_of(location).open("rb") as stream:
            return stream.read(_LONGEST_BYTES).decode("utf-8") or None
    except (OSError, UnicodeDecodeError):
        return None
