"""Carries out a plan for offsets and proves each queue by reading it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqctl.changes.engine.records import (
    CONFIRMED,
    CONSUMED_ON,
    NOT_MOVED,
    PLANNED,
    SENT,
    UNKNOWN,
    WENT_BACK,
    OffsetRecord,
    QueuePart,
)
from mqctl.changes.offsets.holders import holders
from mqctl.changes.offsets.settling import Patience, settle
from mqctl.client.admin.broker_changes import commit_offset, reset_offset_here, reset_offsets
from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import DeadlineError, MqctlError, NotAskedError, UnreachableError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.plan import Callback, Method
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetWork:
    """A change of offsets under way.

    Attributes:
        addresses: master address by broker name.
        save: writes the record, before and after each request.
        patience: how long to wait for members that are to take the change over.
    """

    cluster: Cluster
    deadline: Deadline
    record: OffsetRecord
    addresses: Mapping[str, str]
    save: Callable[[], None]
    patience: Patience


def carry_out(work: OffsetWork) -> None:
    """Makes each change that is still to be made and reads it back; a broker that falls silent is not asked again.

    Raises:
        StorageError: the journal cannot be written any more; the change stops there.
    """
    if work.record.method == Method.COMMIT:
        _queue_by_queue(work)
        return
    _have_members_move(work)
    if _planned_again(work.record):
        work.save()
        _have_members_move(work)


def _have_members_move(work: OffsetWork) -> None:
    """Sends what is planned, and watches until members have taken it over and keep it."""
    record = work.record
    before = holders(work.cluster, set(work.addresses.values()), record.subject, work.deadline)
    if record.method == Method.CALLBACK:
        for callback in record.callbacks:
            _call_back(work, callback)
    else:
        _queue_by_queue(work)
    settle(work.cluster, record, work.addresses, work.patience, before)


def _planned_again(record: OffsetRecord) -> bool:
    """Plans what went back once more, and tells whether there is any.

    Brokers that tell members tell them all queues of a topic: where some were consumed on already, their messages would
    be consumed a third time, and the others are left as they are.
    """
    went_back = [part for part in record.parts if part.state == WENT_BACK]
    if record.method == Method.CALLBACK:
        gone_on = {(part.topic, part.broker_name) for part in record.parts if part.state == CONSUMED_ON}
        places = {(part.topic, part.broker_name) for part in went_back} - gone_on
        again = [part for part in record.parts if (part.topic, part.broker_name) in places]
        for part in went_back:
            if (part.topic, part.broker_name) in gone_on:
                part.reason = sentence(
                    "offset-not-set-again-members",
                    "{reason}; not set again: members have moved on in other queues of the topic",
                    reason=part.reason,
                )
    else:
        again = went_back
    for part in again:
        part.reason = (
            sentence("offset-went-back-set-again", "it went back to {found}, and was set again", found=part.found)
            if part.state == WENT_BACK
            else None
        )
        part.state, part.cause, part.remedy = PLANNED, None, None
    return bool(again)


def _queue_by_queue(work: OffsetWork) -> None:
    silent: dict[str, MqctlError] = {}
    for queue in work.record.parts:
        if queue.state not in (PLANNED, SENT):
            continue
        address = work.addresses[queue.broker_name]
        if address in silent:
            error = silent[address]
            why = error.reason if isinstance(error, NotAskedError) else error
            queue.fail(NOT_MOVED, error, sentence("not-tried", "not tried: {reason}", reason=why))
        else:
            queue.state = SENT
            work.save()
            try:
                _move(work, queue, address)
            except NotAskedError as error:
                silent[address] = error
                queue.fail(NOT_MOVED, error, sentence("not-tried", "not tried: {reason}", reason=error.reason))
            except (UnreachableError, DeadlineError) as error:
                silent[address] = error
                queue.fail(UNKNOWN, error)
            except MqctlError as error:
                queue.fail(NOT_MOVED, error)
        work.save()


def _move(work: OffsetWork, queue: QueuePart, address: str) -> None:
    """Sends one change and judges it. Raises MqctlError when the change itself was not accepted."""
    cluster, record = work.cluster, work.record
    if record.method == Method.SERVER:
        question = reset_offset_here(record.subject, queue.topic, queue.queue_id, queue.new)
        cluster.ask(address, question, work.deadline)
        return  # members may commit the old offset once more: `settle` reads back
    cluster.ask(address, commit_offset(record.subject, queue.topic, queue.queue_id, queue.new), work.deadline)
    try:
        queue.found = cluster.ask(address, consumer_offset(record.subject, queue.topic, queue.queue_id), work.deadline)
    except NotAskedError as error:
        queue.fail(
            UNKNOWN,
            error,
            sentence("offset-accepted-but-not-read", "accepted, but not read back: {reason}", reason=error.reason),
        )
        return
    except (UnreachableError, DeadlineError):
        raise
    except MqctlError as error:
        # The broker took the change: whatever keeps it from being read back, undo must not leave this queue out.
        queue.fail(
            UNKNOWN,
            error,
            sentence("offset-accepted-but-could-not", "accepted, but could not be read back: {error}", error=error),
        )
        return
    if queue.found == queue.new:
        queue.state, queue.reason = CONFIRMED, None
    elif queue.found == queue.old:
        queue.state, queue.reason = (
            NOT_MOVED,
            sentence(
                "offset-broker-accepted-change-still",
                "the broker accepted the change and still has {found}",
                found=queue.found,
            ),
        )
    else:
        queue.state, queue.reason = (
            NOT_MOVED,
            sentence(
                "offset-broker-now",
                "the broker now has {found}: {by_whom}",
                found=queue.found,
                by_whom=_by_whom(work, queue, address),
            ),
        )


def _by_whom(work: OffsetWork, queue: QueuePart, address: str) -> str:
    held = holders(work.cluster, (address,), work.record.subject, work.deadline)
    holder = held.queues.get(queue.queue)
    if holder is not None:
        return sentence(
            "offset-come-online-committed", "{client_id} has come online and committed", client_id=holder.client_id
        )
    return sentence(
        "offset-another-client-committed-member",
        "another client committed: a member that has left since, or another tool",
    )


def _call_back(work: OffsetWork, callback: Callback) -> None:
    """Has one broker tell the members; each queue is then `sent`, or was refused."""
    record = work.record
    mine = {
        queue.queue: queue
        for queue in record.parts
        if (queue.topic, queue.broker_name) == (callback.topic, callback.broker_name) and queue.state in (PLANNED, SENT)
    }
    if not mine:
        return
    for queue in mine.values():
        queue.state = SENT
    work.save()
    question = reset_offsets(callback.topic, record.subject, callback.time_ms, force=True)
    try:
        offsets = work.cluster.ask(work.addresses[callback.broker_name], question, work.deadline).offset_table
    except NotAskedError as error:
        for queue in mine.values():
            queue.fail(NOT_MOVED, error, sentence("not-tried", "not tried: {reason}", reason=error.reason))
    except (UnreachableError, DeadlineError) as error:
        for queue in mine.values():  # it may have told the members all the same: they are looked at
            queue.fail(queue.state, error)
    except MqctlError as error:
        for queue in mine.values():
            queue.fail(NOT_MOVED, error)
    else:
        for place, queue in mine.items():
            _note_told(queue, offsets.get(place))
    work.save()


def _note_told(queue: QueuePart, offset: int | None) -> None:
    if offset is None:
        queue.state, queue.reason = (
            NOT_MOVED,
            sentence("offset-broker-did-not-send", "the broker did not send it to the members: not a write queue"),
        )
    elif offset != queue.new:
        queue.new, queue.reason = (
            offset,
            sentence(
                "offset-planned-queue-changed-members",
                "planned {new}; the queue has changed, and members were sent {offset}",
                new=queue.new,
                offset=offset,
            ),
        )
