"""One command at a time: locks between processes of this machine, and who holds one, for those who do not get it.

The operating system frees the lock of a process that was killed. Beside it lies a note of its holder; which command
that is running is asked of the process itself, so that no command line is kept in a file.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mqctl.errors import RefusedError
from mqctl.model.command_line import shell_words
from mqctl.store.own_files import make_directory, write_whole
from mqctl.store.plain_files import read_whole
from mqctl.text import composed, encoded, sentence

Told = Callable[[str], None]
_LONGEST_COMMAND = 160
_SILENT_S = 1.0
_ABANDONED_S = 3_600
_START_TOLERANCE_S = 1.0
_LONGEST_NAME_BYTES, _NAME_START = 180, 40


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a lock.

    Attributes:
        who: user and machine.
        since_s: epoch seconds.
    """

    who: str
    pid: int
    since_s: float

    def description(self) -> str:
        """Returns one line about it, the command included where it can be learned."""
        line = sentence(
            "alone-process-since-utc",
            "{who}, process {pid}, since {since_time_ms}",
            who=self.who,
            pid=self.pid,
            since_time_ms=round(self.since_s * 1000),
        )
        command = self._command()
        return composed("{line}: {command}", line=line, command=command) if command else line

    def runs(self) -> bool:
        """Tells whether it still runs on this machine; another process that got its number since is none of it."""
        import psutil

        try:
            return psutil.Process(self.pid).create_time() <= self.since_s + _START_TOLERANCE_S
        except psutil.Error:
            return False

    def _command(self) -> str | None:
        if self.who.rpartition("@")[2] != socket.gethostname():
            return None  # a directory that several machines share
        import psutil

        if not self.runs():
            return None
        try:
            words = psutil.Process(self.pid).cmdline()
        except psutil.Error:
            return None
        return command_text(words)


def command_text(words: list[str]) -> str:
    """Returns a command line as it was typed: without the interpreter, cut, and without what terminals obey."""
    for number, word in enumerate(words):
        if Path(word).name == "mqctl" and number > 0:
            words = ["mqctl", *words[number + 1 :]]
            break
    text = shell_words(words)
    return text if len(text) <= _LONGEST_COMMAND else f"{text[:_LONGEST_COMMAND]}..."


@contextmanager
def exclusive_lock(
    lock: Path,
    what: str,
    *,
    wait_s: float = 0.0,
    remedy: str = sentence("alone-wait", "wait for it"),
    say: Told = lambda _: None,
) -> Iterator[None]:
    """Holds a lock while the body runs.

    Args:
        lock: file of the lock; its directory is made.
        what: what cannot be done without it, for instance `change group G`.
        wait_s: how long to wait for another holder.
        say: receives a line for each of these: the command that is waited for; a last holder that was killed.

    Raises:
        RefusedError: another process holds it, and it is said who.
        OSError: the file cannot be made.
    """
    from filelock import FileLock, Timeout

    note = lock.with_name(f"{lock.name}.holder")
    make_directory(lock.parent)
    held = FileLock(lock)
    try:
        try:
            held.acquire(timeout=min(wait_s, _SILENT_S))
        except Timeout:
            if wait_s <= _SILENT_S:
                raise
            say(
                sentence(
                    "alone-waiting-another",
                    "waiting to {what}: another mqctl is at it: {holder}",
                    what=what,
                    holder=_told(note),
                )
            )
            held.acquire(timeout=wait_s - _SILENT_S)
    except Timeout as error:
        reason = sentence("alone-another", "another mqctl is at it: {holder}", holder=_told(note))
        raise RefusedError(
            sentence("alone-cannot", "cannot {what}", what=what), reason=reason, remedy=remedy
        ) from error
    try:
        if note.exists():
            say(
                sentence(
                    "alone-took-over-lock-who",
                    "took over the lock to {what}: who held it ended at its work: {holder}",
                    what=what,
                    holder=_told(note),
                )
            )
        mine = Holder(who=who(), pid=os.getpid(), since_s=datetime.now(UTC).timestamp())
        write_whole(note, msgspec.json.encode(mine, enc_hook=encoded), sweep="*.holder", durable=False)
        yield
    finally:
        with suppress(OSError):  # what was done under the lock is done; the next holder says that this note was left
            note.unlink(missing_ok=True)
        held.release()


def forget_dead(notes: Iterable[Path]) -> None:
    """Removes the notes of holders of this machine that run no more: of locks that nobody may ever take again.

    One that says nothing was cut short by a kill or a power failure; it goes when it is an hour old.
    """
    for note in notes:
        with suppress(OSError):
            try:
                holder = msgspec.json.decode(read_whole(note), type=Holder)
            except (UnicodeDecodeError, msgspec.DecodeError):
                gone = note.stat().st_mtime < datetime.now(UTC).timestamp() - _ABANDONED_S
            else:
                gone = holder.who == who() and not holder.runs()
            if gone:
                note.unlink(missing_ok=True)


def _told(note: Path) -> str:
    try:
        return msgspec.json.decode(read_whole(note), type=Holder).description()
    except (OSError, UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        return sentence("alone-not-said-who-yet", "it has not said who yet")


def lock_name(what: str) -> str:
    """Returns the name of the hidden file that is the lock on `what`; names of topics and groups may be long."""
    name = re.sub(r"[^\w.-]", "_", what)
    if len(name.encode()) > _LONGEST_NAME_BYTES:
        from hashlib import sha256

        name = f"{name[:_NAME_START]}-{sha256(what.encode()).hexdigest()[:16]}"
    return f".{name}.lock"


def who() -> str:
    """Returns user and machine."""
    return f"{_user()}@{socket.gethostname()}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
