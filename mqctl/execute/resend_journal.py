"""The journal of resent dead letters: one file a change, to which a line is added before and after every send.

Lines are not forced to the disk one by one, which would set the pace: whatever a crash of the machine loses or tears
off, a letter that is not written down as sent is looked up at the brokers before it is sent again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mqctl.errors import BadInputError, NotFoundError
from mqctl.execute.record_files import (
    Unreadable,
    made_at_ms,
    names_in,
    new_id,
    read_all,
    read_record,
    refuse,
    unread,
    unwritable,
    who,
)
from mqctl.model.resend import LetterKey, ResendPlan
from mqctl.store.plain_files import read_whole
from mqctl.store.whole_file import write_whole

WAITING, SENDING, SENT, FAILED, UNKNOWN = "waiting", "sending", "sent", "failed", "unknown"
_CLOCKS_APART_MS = 3_600_000
"""How far the clock of a broker may be ahead of this machine's, where their times are compared."""
_HEAD = re.compile(rb'\{"id":"([^"\\]+)","group":("(?:[^"\\]|\\.)*"),')


class LetterRecord(msgspec.Struct, kw_only=True):
    """One letter of a change.

    Attributes:
        letter_id, unique_key: which letter.
        state: `waiting`; `sending` from right before its request on; then `sent`, `failed` or `unknown`.
        copy_id: offset id of its copy.
        reason: why it is not sent.
    """

    letter_id: str
    unique_key: str
    topic: str
    state: str = WAITING
    copy_id: str | None = None
    reason: str | None = None

    @property
    def key(self) -> LetterKey:
        return LetterKey(letter_id=self.letter_id, unique_key=self.unique_key)


class ResendRecord(msgspec.Struct, kw_only=True):
    """One resend of a group's dead letters.

    Attributes:
        to_topic: the topic asked for; None for each letter's own.
        who: user and machine.
        made_at_ms: epoch milliseconds.
        brokers: master address by broker name: which cluster it was.
        ended: False while it runs, and for ever when it was killed or stopped.
    """

    id: str
    group: str
    to_topic: str | None
    rate: float
    who: str
    made_at_ms: int
    cluster: str
    brokers: dict[str, str]
    letters: list[LetterRecord]
    ended: bool = False

    @property
    def state(self) -> str:
        """`sent`, or what keeps it from being so."""
        if not self.ended:
            return "interrupted"
        states = {letter.state for letter in self.letters}
        return next((state for state in (UNKNOWN, SENDING, FAILED, WAITING) if state in states), SENT)


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


class _Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A change of one letter's state, or the end of the change."""

    letter: int = -1
    state: str = ""
    copy_id: str | None = None
    reason: str | None = None
    ended: bool = False


class ResendJournal:
    """The resends made from this machine.

    Args:
        directory: created with the first one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def begin(self, plan: ResendPlan) -> ResendRecord:
        """Writes down what is about to be sent. Raises StorageError, and then nothing may be."""
        record = ResendRecord(
            id=new_id(),
            group=plan.group,
            to_topic=plan.to_topic,
            rate=plan.rate,
            who=who(),
            made_at_ms=plan.made_at_ms,
            cluster=plan.identity.cluster,
            brokers=dict(plan.identity.brokers),
            letters=[
                LetterRecord(letter_id=item.key.letter_id, unique_key=item.key.unique_key, topic=item.topic or "")
                for item in plan.sending
            ],
        )
        try:
            write_whole(self._file(record.id), msgspec.json.encode(record) + b"\n", sweep="*")
        except OSError as error:
            raise unwritable(self._directory, error) from error
        return record

    @contextmanager
    def appending(self, record: ResendRecord) -> Iterator[Callable[[int], None]]:
        """Yields a function that writes down the state of the letter at an index; -1 writes down the end.

        Raises:
            StorageError: the disk is full; nothing more may be sent then.
        """
        try:
            with self._file(record.id).open("ab") as stream:

                def save(index: int) -> None:
                    letter = record.letters[index] if index >= 0 else None
                    line = (
                        _Line(ended=True)
                        if letter is None
                        else _Line(letter=index, state=letter.state, copy_id=letter.copy_id, reason=letter.reason)
                    )
                    # The blank line ends whatever a crash tore off before.
                    stream.write(b"\n" + msgspec.json.encode(line) + b"\n")
                    stream.flush()

                yield save
                os.fsync(stream.fileno())
        except OSError as error:
            raise unwritable(self._directory, error) from error

    def read(self, identity: str) -> ResendRecord:
        """Returns one resend. Raises NotFoundError, BadInputError."""
        file = self._file(identity)
        try:
            head, *lines = read_record(file, identity, "resend", "mqctl history").splitlines()
            record = msgspec.json.decode(head, type=ResendRecord)
        except (ValueError, msgspec.DecodeError, RecursionError) as error:
            raise unread(file, error) from error
        for text in lines:
            _apply(record, text)
        return record

    def all(self, unreadable: Unreadable = refuse) -> list[ResendRecord]:
        """Returns every resend, the latest first; of one that cannot be read, `unreadable` is told. Raises as that."""
        return read_all(lambda: names_in(self._directory, ".ndjson"), self.read, unreadable)

    def damaged(self) -> list[DamagedResend]:
        """Returns the resends that cannot be read, with what is still known of them. Raises BadInputError."""
        found = []
        for name in names_in(self._directory, ".ndjson"):
            file = self._file(name)
            try:
                self.read(name)
            except NotFoundError:
                continue
            except BadInputError as error:
                found.append(DamagedResend(id=name, group=_group_of(file), made_at_ms=made_at_ms(name), error=error))
        return found

    def _file(self, identity: str) -> Path:
        return self._directory / f"{identity}.ndjson"


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
    if 0 <= line.letter < len(record.letters):
        letter = record.letters[line.letter]
        letter.state, letter.copy_id, letter.reason = line.state, line.copy_id, line.reason
        record.ended = False
