"""Writes the history of a running drill: what clients say, numbered and timed, and what is still owed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

import numpy as np

from mqctl.drill.declarations import HistoryDeclaration, QueueNamed, declared_line
from mqctl.drill.history import HEAD, Kind, event_line
from mqctl.errors import BadInputError, MqctlError, StorageError
from mqctl.model.command_line import command_line
from mqctl.model.numbers import decimal
from mqctl.store.own_files import new_stream
from mqctl.text import sentence

_FATES = {"f": Kind.FAILED, "u": Kind.UNKNOWN, "t": Kind.COMMITTED, "r": Kind.ROLLED_BACK}
_LENGTHS = {"s": 6, "a": 9, "f": 4, "u": 4, "t": 3, "r": 3, "d": 10}


class Owed:
    """Which messages are owed, and who has consumed which: enough to know when a drill has come to rest.

    Attributes:
        last_due_us: when the last of them was due.
        sent, answered: by producer.
        body_bytes: of each message, by producer; what `sent_bytes` adds up.
    """

    def __init__(self) -> None:
        self.last_due_us = 0
        self.sent: defaultdict[int, int] = defaultdict(int)
        self.answered: defaultdict[int, int] = defaultdict(int)
        self.sent_bytes = 0
        self.body_bytes: dict[int, int] = {}
        self._delays: dict[tuple[int, int], int] = {}
        self._undecided: set[tuple[int, int]] = set()
        self._owed: defaultdict[int, bytearray] = defaultdict(bytearray)
        self._taken: defaultdict[tuple[int, int], bytearray] = defaultdict(bytearray)

    def begins(self, producer: int, number: int, delay_us: int, *, transactional: bool) -> None:
        """Notes a send."""
        self.sent[producer] += 1
        self.sent_bytes += self.body_bytes.get(producer, 0)
        if delay_us:
            self._delays[producer, number] = delay_us
        if transactional:
            self._undecided.add((producer, number))

    def ends(self, kind: Kind, producer: int, number: int, at_us: int) -> None:
        """Notes what became of it."""
        message = (producer, number)
        if kind in (Kind.ACKNOWLEDGED, Kind.FAILED, Kind.UNKNOWN):
            self.answered[producer] += 1
        if kind in (Kind.FAILED, Kind.UNKNOWN, Kind.ROLLED_BACK, Kind.COMMITTED):
            self._undecided.discard(message)
        if kind is Kind.COMMITTED or (kind is Kind.ACKNOWLEDGED and message not in self._undecided):
            self.last_due_us = max(self.last_due_us, at_us + self._delays.pop(message, 0))
            _mark(self._owed[producer], number)

    def takes(self, reader: int, producer: int, number: int) -> None:
        """Notes that a reader consumed a message."""
        _mark(self._taken[reader, producer], number)

    def missing(self, reader: int) -> int:
        """Returns how many messages a reader is still owed, those that nobody has decided about included."""
        missing_count = len(self._undecided)
        for producer, bits in list(self._owed.items()):
            owed = np.frombuffer(bytes(bits), np.uint8)
            taken = np.zeros(len(owed), np.uint8)
            has = np.frombuffer(bytes(self._taken[reader, producer][: len(owed)]), np.uint8)
            taken[: len(has)] = has
            missing_count += int(np.count_nonzero(owed & ~taken))
        return missing_count


def _mark(bits: bytearray, number: int) -> None:
    if number >= len(bits):
        bits.extend(bytes(number + 1 - len(bits) + 1024))
    bits[number] = 1


def refuse_existing(path: Path) -> None:
    """Raises StorageError when there is a file already: it may be the history of another drill."""
    if path.exists():
        raise StorageError(
            sentence("could-not-write", "could not write {path}", path=path),
            reason=sentence("common-exists", "it exists"),
            remedy=sentence("drill-name-another-file", "name another file"),
        )


class HistoryWriter:
    """Appends to a history. Use as a context manager.

    Args:
        began_us: epoch microseconds of the moment 0.

    Attributes:
        began_ms: epoch milliseconds of the moment 0.
        owed: what is still to come.
        trouble: what a client said that cannot be, or what could not be written; the drill ends with it.
    """

    def __init__(self, path: Path, began_us: int, now_us: Callable[[], int]) -> None:
        self.path = path
        self.owed = Owed()
        self.trouble: MqctlError | None = None
        self._cut = False
        self._began_us = began_us
        self._now_us = now_us
        self._lock = Lock()
        self._queues: dict[tuple[str, str, int], int] = {}
        self._actors: dict[str, int] = {}
        refuse_existing(path)
        try:
            self._stream = new_stream(path)
        except OSError as error:
            raise StorageError(
                sentence("could-not-write", "could not write {path}", path=path), reason=error.strerror or str(error)
            ) from error
        self._stream.write(HEAD + b"\n")
        self.began_ms = began_us // 1000

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock, self._noting():
            self._stream.close()
        if kind is None and self.trouble is not None:
            raise self.trouble

    def epoch_ms(self) -> int:
        """Returns the time."""
        return self._now_us() // 1000

    def at_us(self) -> int:
        """Returns how long the drill runs."""
        return self._now_us() - self._began_us

    def actor(self, name: str) -> int:
        """Returns the number of a producer or consumer."""
        with self._lock:
            return self._actors.setdefault(name, len(self._actors))

    def declare(self, declaration: HistoryDeclaration) -> None:
        """Appends a declaration."""
        with self._lock:
            self._write(declared_line(declaration))

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        with self._lock, self._noting():
            if not self._cut:
                self._stream.flush()

    def offset(self, group: int, topic: str, broker: str, queue_id: int, offset: int) -> None:
        """Appends a look at a committed offset."""
        with self._lock:
            queue = self._queue(topic, broker, queue_id)
            at_us = self.at_us()
            self._write(event_line(Kind.OFFSET, at_us, group, -1, -1, -1, queue, offset, 0))

    def said(self, name: str, reader: int, line: bytes) -> None:
        """Takes a line of a client; what cannot be becomes `trouble`.

        Args:
            name: of the client.
            reader: who consumes with it.
        """
        try:
            words = line.decode("ascii").split(" ")
            if _LENGTHS.get(words[0]) != len(words):
                raise ValueError
            with self._lock:
                if words[0] == "d":
                    self._delivered(self._actors[name], reader, words)
                else:
                    self._sending(self._actors[name], words, _number(words[1]), _number(words[2]))
        except (ValueError, KeyError, UnicodeDecodeError):
            if self.trouble is None:
                self.trouble = BadInputError(
                    sentence(
                        "client-not-speak-drill",
                        "the client {name} does not speak the drill's protocol",
                        name=name,
                    ),
                    reason=sentence("drill-said", "it said {line!r}", line=line[:80]),
                )

    def _delivered(self, actor: int, reader: int, words: list[str]) -> None:
        _, at, producer, number, key, topic, broker, queue_id, offset, again = words
        sender = self._actors[producer]
        queue = self._queue(topic, broker, _number(queue_id))
        row = (_number(at) - self._began_us, actor, sender, _number(number), _number(key), queue, _number(offset))
        self._write(event_line(Kind.DELIVERED, *row, _number(again)))
        if again == "0":
            self.owed.takes(reader, sender, _number(number))

    def _sending(self, actor: int, words: list[str], epoch_us: int, number: int) -> None:
        at_us = epoch_us - self._began_us
        if words[0] == "s":
            key, delay_us, transactional = map(_number, words[3:])
            self.owed.begins(actor, number, delay_us, transactional=transactional == 1)
            self._write(event_line(Kind.SENT, at_us, actor, actor, number, key, -1, delay_us, transactional))
            return
        if words[0] == "a":
            key, queue_id, offset, took_us = map(_number, (words[3], *words[6:]))
            queue = -1 if words[4] == "-" else self._queue(words[4], words[5], queue_id)
            self._write(event_line(Kind.ACKNOWLEDGED, at_us, actor, actor, number, key, queue, offset, took_us))
            self.owed.ends(Kind.ACKNOWLEDGED, actor, number, at_us)
            return
        kind = _FATES[words[0]]
        code = _number(words[3]) if len(words) > 3 else -1
        self._write(event_line(kind, at_us, actor, actor, number, -1, -1, -1, code))
        self.owed.ends(kind, actor, number, at_us)

    def _queue(self, topic: str, broker: str, queue_id: int) -> int:
        place = (topic, broker, queue_id)
        if place not in self._queues:
            self._queues[place] = len(self._queues)
            named = QueueNamed(queue=self._queues[place], topic=topic, broker=broker, queue_id=queue_id)
            self._write(declared_line(named))
        return self._queues[place]

    def _write(self, line: bytes) -> None:
        if self._stream.closed or self._cut:
            return
        with self._noting():
            self._stream.write(line + b"\n")

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """What cannot be written becomes `trouble`; nothing follows it, so that the history has no gap but its end."""
        try:
            yield
        except OSError as error:
            self._cut = True
            self.trouble = self.trouble or StorageError(
                sentence("could-not-write", "could not write {path}", path=self.path),
                reason=error.strerror or str(error),
                remedy=command_line("mqctl drill check {}", self.path),
            )


def _number(word: str) -> int:
    number = decimal(word, low=-1)
    if number is None:
        raise ValueError
    return number
