"""The journal of changes: one file each, written before the first request and after every answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from mqctl.execute.alone import Told, held_alone, lock_name
from mqctl.execute.record_files import RecordFiles, new_id, unwritable, who
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


class Journal(RecordFiles[ChangeRecord]):
    """The changes made from this machine.

    Args:
        directory: created with the first change.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, ChangeRecord)

    @contextmanager
    def alone(self, what: str, told: Told) -> Iterator[None]:
        """Keeps other commands of this machine from changing the same thing.

        Args:
            what: the thing, for instance `group G of DefaultCluster`.
            told: is told when who changed it last was killed at it.

        Raises:
            RefusedError: another one does, and it is said who.
            StorageError: the journal cannot be written.
        """
        remedy = "wait for it, then look at mqctl history"
        with ExitStack() as stack:
            try:
                lock = held_alone(self.directory / lock_name(what), f"change {what}", remedy=remedy, told=told)
                stack.enter_context(lock)
            except OSError as error:
                raise unwritable(self.directory, error) from error
            yield

    def open(self, plan: OffsetPlan, undoes: str | None = None) -> ChangeRecord:
        """Writes down what is about to happen. Raises StorageError, and then nothing may happen."""
        record = ChangeRecord(
            id=new_id(),
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


def _planned(change: OffsetChange) -> QueueRecord:
    queue = change.queue
    return QueueRecord(
        topic=queue.topic, broker_name=queue.broker_name, queue_id=queue.queue_id, old=change.old, new=change.new
    )
