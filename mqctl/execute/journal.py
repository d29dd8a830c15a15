"""The journal of changes: one file each, written before the first request and after every answer."""

from __future__ import annotations

import getpass
import os
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mqctl.errors import BadInputError, NotFoundError, RefusedError, StorageError
from mqctl.model.plan import Callback, OffsetChange, OffsetPlan

PLANNED, SENT, CONFIRMED, NOT_MOVED, UNKNOWN = "planned", "sent", "confirmed", "not-moved", "unknown"


class QueueRecord(msgspec.Struct, kw_only=True):
    """One queue of a change.

    Attributes:
        old: committed offset before; None when there was none.
        state: `planned`; `sent` from right before its request on; then `confirmed`, `not-moved` or `unknown`.
        found: committed offset read back.
        reason: why it is not confirmed.
    """

    topic: str
    broker_name: str
    queue_id: int
    old: int | None
    new: int
    state: str = PLANNED
    found: int | None = None
    reason: str | None = None


class ChangeRecord(msgspec.Struct, kw_only=True):
    """One change of a group's offsets.

    Attributes:
        who: user and machine.
        made_at_ms: epoch milliseconds.
        brokers: master address by broker name: which cluster it was.
        ended: False while it runs, and for ever when it was killed.
        undoes: id of the change that this one takes back.
        callbacks: the requests of a change that the members carry out.
    """

    id: str
    kind: str
    group: str
    target: str
    method: str
    who: str
    made_at_ms: int
    cluster: str
    brokers: dict[str, str]
    queues: list[QueueRecord]
    ended: bool = False
    undoes: str | None = None
    callbacks: list[Callback] = []

    @property
    def state(self) -> str:
        """`confirmed`, or what keeps it from being so."""
        if not self.ended:
            return "interrupted"
        states = {queue.state for queue in self.queues}
        return next((state for state in (UNKNOWN, NOT_MOVED) if state in states), CONFIRMED)


class Journal:
    """The changes made from this machine.

    Args:
        directory: created with the first change.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @contextmanager
    def alone(self, what: str, remedy: str = "wait for it") -> Iterator[None]:
        """Keeps other commands of this machine from changing the same thing.

        Args:
            what: the thing, for instance `group G of DefaultCluster`.

        Raises:
            RefusedError: another one does, and it is said who.
            StorageError: the journal cannot be written.
        """
        from filelock import FileLock, Timeout

        name = re.sub(r"[^\w.-]", "_", what)
        lock, holder = FileLock(self._directory / f".{name}.lock", timeout=0), self._directory / f".{name}.holder"
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout as error:
            reason = f"another mqctl is changing it: {_held_by(holder)}"
            raise RefusedError(f"cannot change {what}", reason=reason, remedy=remedy) from error
        except OSError as error:
            raise self._full(error) from error
        try:
            _say_who(holder, self._full)
            yield
        finally:
            lock.release()

    def open(self, plan: OffsetPlan, undoes: str | None = None) -> ChangeRecord:
        """Writes down what is about to happen. Raises StorageError, and then nothing may happen."""
        record = ChangeRecord(
            id=change_id(),
            kind=plan.kind.value,
            group=plan.group,
            target=plan.target,
            method=plan.method.value,
            who=who(),
            made_at_ms=plan.made_at_ms,
            cluster=plan.identity.cluster,
            brokers=dict(plan.identity.brokers),
            # A broker that tells members tells them all queues, those that stand where they should among them.
            queues=[_planned(change) for change in (plan.changes if plan.callbacks else plan.moving)],
            undoes=undoes,
            callbacks=list(plan.callbacks),
        )
        self.write(record)
        return record

    def write(self, record: ChangeRecord) -> None:
        """Writes a record, whole or not at all, and to the disk. Raises StorageError."""
        file = self._directory / f"{record.id}.json"
        temporary = file.with_suffix(".tmp")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as stream:
                stream.write(msgspec.json.format(msgspec.json.encode(record)))
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(file)
        except OSError as error:
            raise self._full(error) from error

    def read(self, change_id: str) -> ChangeRecord:
        """Returns one change. Raises NotFoundError, BadInputError."""
        file = self._directory / f"{change_id}.json"
        if "/" in change_id or not file.is_file():
            raise NotFoundError(f"there is no change {change_id}", remedy="mqctl offset history")
        try:
            return msgspec.json.decode(file.read_bytes(), type=ChangeRecord)
        except (OSError, msgspec.DecodeError) as error:
            raise BadInputError(f"could not read {file}", reason=str(error), remedy="restore it") from error

    def all(self) -> list[ChangeRecord]:
        """Returns every change, the latest first."""
        records = [self.read(file.stem) for file in self._directory.glob("*.json")]
        return sorted(records, key=lambda record: record.made_at_ms, reverse=True)

    def _full(self, error: OSError) -> StorageError:
        problem, reason = f"could not write the journal in {self._directory}", error.strerror or str(error)
        return StorageError(problem, reason=reason, remedy="free its disk, or set MQCTL_STATE_DIR to another one")


def _planned(change: OffsetChange) -> QueueRecord:
    queue = change.queue
    return QueueRecord(
        topic=queue.topic, broker_name=queue.broker_name, queue_id=queue.queue_id, old=change.old, new=change.new
    )


def change_id() -> str:
    """Returns a new id, in the order of time."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def who() -> str:
    """Returns user and machine."""
    return f"{_user()}@{socket.gethostname()}"


def _say_who(holder: Path, full: Callable[[OSError], StorageError]) -> None:
    try:
        holder.write_text(f"{who()}, process {os.getpid()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC")
    except OSError as error:
        raise full(error) from error


def _held_by(holder: Path) -> str:
    try:
        return holder.read_text() or "it does not say who"
    except OSError:
        return "it does not say who"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
