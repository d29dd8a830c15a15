"""Consuming a message once although RocketMQ may deliver it again.

RocketMQ delivers at least once: retries, rebalances and producers that send twice all repeat messages. The wrapper
keeps the state of each message under a key: `consuming` while the listener has it, `consumed` for a while afterwards. A
repetition of what was consumed is skipped; one of what is being consumed comes back later. A `consuming` entry whose
process died expires, so the message is not lost with it. Within the listener's own transaction nothing is promised: a
crash between its work and the entry `consumed` still repeats that one message.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Protocol

from mqctl.client.message.received import ConsumeContext, Consumed, Listener, ReceivedMessage
from mqctl.client.remoting.clock import ClientClock
from mqctl.errors import StorageError
from mqctl.model.spans import DAY_MS
from mqctl.text import sentence

CONSUMING_EXPIRY_MS = 10 * 60_000
CONSUMED_EXPIRY_MS = DAY_MS
_SUCCESSES = (Consumed.SUCCESS, Consumed.COMMIT)
_WAIT_S = 5.0
_PURGE_EVERY = 1_000


class Standing(StrEnum):
    """What is known about a key when its message arrives."""

    NEW = "new"
    CONSUMING = "consuming"
    CONSUMED = "consumed"


class States(Protocol):
    """Where the states are kept; shared by all members of a group that shall not repeat each other's work."""

    def begin(self, key: str, now_ms: int, expires_ms: int) -> Standing:
        """Enters `consuming` if the key is new or has expired, in one step; returns how it stood before."""

    def finish(self, key: str, expires_ms: int) -> None:
        """Enters `consumed`."""

    def forget(self, key: str) -> None:
        """Drops a key, so that its message is new again."""


class SqliteStates:
    """States in an SQLite file; processes of one machine may share it.

    Raises:
        StorageError: the file cannot be used.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = str(path)
        self._lock = Lock()
        self._begun = 0
        try:
            connection = sqlite3.connect(self._path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._failed(error) from error
        self._connection = connection
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS messages"
                " (key TEXT PRIMARY KEY, state TEXT NOT NULL, expires_ms INTEGER NOT NULL) WITHOUT ROWID"
            )
        except sqlite3.Error as error:
            connection.close()
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> StorageError:
        return StorageError(
            sentence("client-states-cannot-used", "The states in {url} cannot be used", url=self._path),
            reason=str(error),
        )

    def begin(self, key: str, now_ms: int, expires_ms: int) -> Standing:
        with self._lock:
            try:
                self._purge(now_ms)
                taken = self._connection.execute(
                    "INSERT INTO messages VALUES (?, 'consuming', ?) ON CONFLICT (key) DO UPDATE"
                    " SET state = 'consuming', expires_ms = excluded.expires_ms WHERE messages.expires_ms <= ?",
                    (key, expires_ms, now_ms),
                ).rowcount
                if taken:
                    return Standing.NEW
                row = self._connection.execute("SELECT state FROM messages WHERE key = ?", (key,)).fetchone()
            except sqlite3.Error as error:
                raise self._failed(error) from error
        return Standing(row[0]) if row else Standing.CONSUMING

    def _purge(self, now_ms: int) -> None:
        self._begun += 1
        if self._begun % _PURGE_EVERY == 0:
            self._connection.execute("DELETE FROM messages WHERE expires_ms <= ?", (now_ms,))

    def finish(self, key: str, expires_ms: int) -> None:
        self._write("INSERT OR REPLACE INTO messages VALUES (?, 'consumed', ?)", (key, expires_ms))

    def forget(self, key: str) -> None:
        self._write("DELETE FROM messages WHERE key = ?", (key,))

    def _write(self, statement: str, values: tuple[str | int, ...]) -> None:
        with self._lock:
            try:
                self._connection.execute(statement, values)
            except sqlite3.Error as error:
                raise self._failed(error) from error

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


class DedupCounts:
    """What the wrapper has seen."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.consumed = 0
        self.skipped = 0
        self.postponed = 0

    def add(self, *, consumed: int = 0, skipped: int = 0, postponed: int = 0) -> None:
        """Adds to the counts."""
        with self._lock:
            self.consumed += consumed
            self.skipped += skipped
            self.postponed += postponed


def by_message_id(message: ReceivedMessage) -> str:
    """Returns the unique id: the same for every delivery of one send."""
    return f"{message.topic}#{message.message_id}"


def by_business_key(message: ReceivedMessage) -> str:
    """Returns the keys of a message, which a producer that sends twice repeats; the unique id when it has none."""
    keys = " ".join(message.keys)
    return f"{message.topic}#{keys}" if keys else by_message_id(message)


def consume_once(
    listener: Listener,
    states: States,
    clock: ClientClock,
    *,
    key_of: Callable[[ReceivedMessage], str] = by_message_id,
    counts: DedupCounts | None = None,
    consuming_expiry_ms: int = CONSUMING_EXPIRY_MS,
    consumed_expiry_ms: int = CONSUMED_EXPIRY_MS,
) -> Listener:
    """Wraps a listener so that it sees each key once.

    A message whose key another delivery is consuming right now fails, and so comes back; the rest of its batch does as
    well, so batches of one serve best. A state that cannot be read or written is a failure, not a second delivery.

    Args:
        consuming_expiry_ms: longer than the listener ever takes; after it, an unfinished message is new again.
        consumed_expiry_ms: longer than repetitions may come late.
    """
    seen = counts or DedupCounts()

    def listen(messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed | None:
        now_ms = clock.now_ms()
        mine: dict[str, ReceivedMessage] = {}
        is_mine: list[bool] = []
        for message in messages:
            key = key_of(message)
            standing = Standing.CONSUMED if key in mine else states.begin(key, now_ms, now_ms + consuming_expiry_ms)
            if standing is Standing.CONSUMING:
                for begun in mine:
                    states.forget(begun)
                seen.add(postponed=len(messages))
                return Consumed.RECONSUME_LATER
            is_mine.append(standing is Standing.NEW)
            if standing is Standing.NEW:
                mine[key] = message
        result = None if mine else Consumed.SUCCESS
        try:
            if mine:
                result = listener(list(mine.values()), context)
        finally:
            acked = 0
            if result in _SUCCESSES:
                acked = len(mine) if context.ack_index is None else context.ack_index + 1
            for number, key in enumerate(mine):
                if number < acked:
                    states.finish(key, clock.now_ms() + consumed_expiry_ms)
                else:
                    states.forget(key)
        context.widen(is_mine)
        seen.add(consumed=acked, skipped=len(messages) - len(mine))
        return result

    return listen
