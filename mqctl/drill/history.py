"""The history of a drill: a file of lines, appended as things happen; docs/drill.md describes it.

The first line is `mqctl-drill-history 1`. A line that begins with `!` declares (`mqctl.drill.declarations`); every
other one is an event of a message: a letter and eight integers, -1 for what does not apply.

    KIND AT_US ACTOR PRODUCER NUMBER KEY QUEUE OFFSET EXTRA

A last line without its end was torn by a crash and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from mqctl.drill.declarations import Declaration, read_declaration
from mqctl.errors import BadInputError, NotFoundError, StorageError
from mqctl.model import forms
from mqctl.model.numbers import decimal
from mqctl.text import sentence

_NAME = b"mqctl-drill-history "
HEAD = _NAME + str(forms.DRILL).encode()
_LONGEST_HEAD = 40
_CHUNK_BYTES = 8 << 20
_MOST_NUMBER = 1 << 40
_MOST_SMALL = 1 << 20
_MOST_AT_US = 1 << 46
_WIDTH = 10
Rows = npt.NDArray[np.int64]


class Kind(IntEnum):
    """The events of a message, by the digit that their letter becomes."""

    SENT = 1
    ACKNOWLEDGED = 2
    FAILED = 3
    UNKNOWN = 4
    COMMITTED = 5
    ROLLED_BACK = 6
    DELIVERED = 7
    OFFSET = 8


class At(IntEnum):
    """The columns of a row; the line's number in the file comes first."""

    LINE = 0
    KIND = 1
    TIME = 2
    ACTOR = 3
    PRODUCER = 4
    NUMBER = 5
    KEY = 6
    QUEUE = 7
    OFFSET = 8
    EXTRA = 9


LETTERS = {
    Kind.SENT: "s",
    Kind.ACKNOWLEDGED: "a",
    Kind.FAILED: "f",
    Kind.UNKNOWN: "u",
    Kind.COMMITTED: "t",
    Kind.ROLLED_BACK: "r",
    Kind.DELIVERED: "d",
    Kind.OFFSET: "o",
}
_DIGITS = bytes.maketrans("".join(LETTERS.values()).encode(), "".join(str(int(kind)) for kind in LETTERS).encode())
_LINE = re.compile(rb"[safutrdo](?: -?[0-9]{1,18}){8}")


def event_line(kind: Kind, *numbers: int) -> bytes:
    """Returns the line of an event, without its end; the numbers in the order of the columns from TIME on."""
    return f"{LETTERS[kind]} {' '.join(map(str, numbers))}".encode()


def row_text(row: Rows) -> str:
    """Returns a row as it stands in the file."""
    kind, *numbers = row[At.KIND :].tolist()
    return event_line(Kind(kind), *numbers).decode()


@dataclass(frozen=True, slots=True)
class Piece:
    """What a chunk of the file holds: declarations with their lines, and rows of events."""

    declarations: list[tuple[int, bytes, Declaration]]
    rows: Rows
    size_bytes: int


class HistoryFile:
    """Reads a history in pieces, in bounded memory.

    Attributes:
        cut_bytes: after reading: length of the torn last line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut_bytes = 0

    def pieces(self) -> Iterator[Piece]:
        """Yields the file's pieces in order.

        Raises:
            NotFoundError, StorageError: there is no such file, or it cannot be read.
            BadInputError: it is no history, of another version, or has a line that is none.
        """
        try:
            with self.path.open("rb") as stream:
                yield from self._read(stream)
        except FileNotFoundError as error:
            raise NotFoundError(sentence("drill-no-history", "no history at {path}", path=self.path)) from error
        except OSError as error:
            raise StorageError(
                sentence("could-not-read", "could not read {file}", file=self.path), reason=error.strerror or str(error)
            ) from error

    def splits(self, size_bytes: int) -> Iterator[tuple[int, int, int]]:
        """Yields number, begin and end of stretches of whole lines. Raises what `pieces` raises for the first line."""
        try:
            with self.path.open("rb") as stream:
                self._check_head(stream)
                begin = stream.tell()
                end = whole = stream.seek(0, 2)
                number = 0
                while begin < whole:
                    stream.seek(min(begin + size_bytes, whole) - 1)
                    rest = stream.readline(_CHUNK_BYTES)
                    end = stream.tell()
                    if not rest.endswith(b"\n"):
                        end = self._last_end(stream, begin, end)
                    if end > begin:
                        yield number, begin, end
                    number, begin = number + 1, whole if end == begin else end
                    if not rest.endswith(b"\n"):
                        break
                self.cut_bytes = whole - end
        except FileNotFoundError as error:
            raise NotFoundError(sentence("drill-no-history", "no history at {path}", path=self.path)) from error
        except OSError as error:
            raise StorageError(
                sentence("could-not-read", "could not read {file}", file=self.path), reason=error.strerror or str(error)
            ) from error

    def _last_end(self, stream: BinaryIO, begin: int, end: int) -> int:
        """Returns where the last whole line before `end` ends, `begin` without any."""
        while end > begin:
            low = max(begin, end - _CHUNK_BYTES)
            stream.seek(low)
            place = stream.read(end - low).rfind(b"\n")
            if place >= 0:
                return low + place + 1
            end = low
        return begin

    def text(self, begin: int, end: int) -> bytes:
        """Returns a stretch of the file. Raises StorageError."""
        try:
            with self.path.open("rb") as stream:
                stream.seek(begin)
                return stream.read(end - begin)
        except OSError as error:
            raise StorageError(
                sentence("could-not-read", "could not read {file}", file=self.path), reason=error.strerror or str(error)
            ) from error

    def _read(self, stream: BinaryIO) -> Iterator[Piece]:
        self._check_head(stream)
        line, rest = 2, b""
        while read := stream.read(_CHUNK_BYTES):
            whole, end, rest = (rest + read).rpartition(b"\n")
            if not end:
                if len(rest) > _CHUNK_BYTES:
                    raise BadInputError(
                        sentence(
                            "drill-line-too-long-history",
                            "line {line} of {path} is too long for a history",
                            line=line,
                            path=self.path,
                        )
                    )
                continue
            yield piece_of(whole + end, line)
            line += whole.count(b"\n") + 1
        self.cut_bytes = len(rest)

    def _check_head(self, stream: BinaryIO) -> None:
        head = stream.readline(_LONGEST_HEAD)
        if head != HEAD + b"\n":
            written = decimal(head.removeprefix(_NAME).rstrip(b"\n").decode("ascii", "replace"))
            newer = None if written is None or _NAME not in head else forms.newer_than_known(written, forms.DRILL)
            raise BadInputError(
                sentence("drill-not-history-reads", "{path} is not a history that this mqctl reads", path=self.path),
                reason=newer or sentence("drill-file-begins-otherwise", "it does not begin as one"),
                remedy=forms.UPGRADE if newer else sentence("drill-line", "line 1: {head}", head=HEAD.decode()),
            )


def piece_of(text: bytes, first_line: int) -> Piece:
    """Reads whole lines. Raises BadInputError naming the line that is none."""
    declarations, parts = [], []
    line, at = first_line, 0
    while at < len(text):
        if text[at] == 0x21:
            end = text.index(b"\n", at)
            raw = text[at + 1 : end]
            declarations.append((line, b"!" + raw, read_declaration(raw, line)))
            line, at = line + 1, end + 1
            continue
        end = text.find(b"\n!", at) + 1 or len(text)
        rows = _rows(text[at:end], line)
        parts.append(rows)
        line, at = line + len(rows), end
    return Piece(declarations, np.concatenate(parts) if parts else np.empty((0, _WIDTH), np.int64), len(text))


def _rows(text: bytes, first_line: int) -> Rows:
    """Reads lines of events at numpy's speed, once they are known to have the form."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    spaces = np.flatnonzero(data == 32)
    count = len(ends)
    well_formed = (
        len(spaces) == 8 * count
        and bool((np.searchsorted(spaces, ends) == 8 * np.arange(1, count + 1)).all())
        and int((data > 57).sum()) == count
        and bool(np.isin(data[starts], np.frombuffer("".join(LETTERS.values()).encode(), np.uint8)).all())
    )
    values = _integers(text) if well_formed else None
    if values is None or len(values) != count * (_WIDTH - 1):
        raise _bad_line(text, first_line)
    rows = np.empty((count, _WIDTH), np.int64)
    rows[:, 0] = np.arange(first_line, first_line + count)
    rows[:, 1:] = values.reshape(count, _WIDTH - 1)
    _within(rows)
    return rows


def _integers(text: bytes) -> npt.NDArray[np.int64] | None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(text.translate(_DIGITS), dtype=np.int64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None


def _bad_line(text: bytes, first_line: int) -> BadInputError:
    for number, line in enumerate(text.split(b"\n"), first_line):
        if not _LINE.fullmatch(line):
            return BadInputError(
                sentence("drill-could-not-read-line", "could not read line {number} of the history", number=number),
                reason=sentence("drill-no-event-form", "no event has the form {line!r}", line=line[:80]),
            )
    return BadInputError(
        sentence("drill-could-not-read-history", "could not read the history from line {line} on", line=first_line),
        reason=sentence("drill-number-out-range", "a number is out of range"),
    )


def _within(rows: Rows) -> None:
    """Holds the numbers to what the checker's sums can bear. Raises BadInputError."""
    limits = (
        (At.TIME, _MOST_AT_US), (At.ACTOR, _MOST_SMALL), (At.PRODUCER, _MOST_SMALL), (At.NUMBER, _MOST_NUMBER),
        (At.KEY, _MOST_SMALL), (At.QUEUE, _MOST_SMALL), (At.OFFSET, _MOST_AT_US), (At.EXTRA, _MOST_AT_US),
    )  # fmt: skip
    for column, most in limits:
        wrong = (rows[:, column] < -1) | (rows[:, column] >= most)
        if wrong.any():
            row = rows[int(np.argmax(wrong))]
            raise BadInputError(
                sentence(
                    "drill-could-not-read-line", "could not read line {number} of the history", number=row[At.LINE]
                ),
                reason=sentence(
                    "drill-not",
                    "{column} {row} is not in -1 to {most}",
                    column=column.name.lower(),
                    row=row[column],
                    most=most - 1,
                ),
            )
