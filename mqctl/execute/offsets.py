"""Carries out a plan for offsets, one request a queue, and proves each by reading it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqctl.client.broker import consumer_offset
from mqctl.client.broker_changes import commit_offset, reset_offset_here
from mqctl.client.cluster import Cluster
from mqctl.client.deadline import Deadline
from mqctl.errors import DeadlineError, MqctlError, UnreachableError
from mqctl.execute.journal import CONFIRMED, NOT_MOVED, UNKNOWN, ChangeRecord, QueueRecord
from mqctl.model.plan import Method


def carry_out(
    cluster: Cluster,
    deadline: Deadline,
    record: ChangeRecord,
    addresses: Mapping[str, str],
    save: Callable[[ChangeRecord], None],
) -> None:
    """Makes each change and reads it back; a broker that stops answering is not asked again.

    Args:
        addresses: master address by broker name.
        save: is called with the record after each queue.
    """
    silent: dict[str, MqctlError] = {}
    for queue in record.queues:
        address = addresses[queue.broker_name]
        if address in silent:
            queue.reason = f"not tried: {silent[address]}"
            queue.state = NOT_MOVED
        else:
            try:
                _move(cluster, deadline, record, queue, address)
            except (UnreachableError, DeadlineError) as error:
                silent[address] = error
                queue.state, queue.reason = UNKNOWN, str(error)
            except MqctlError as error:
                queue.state, queue.reason = NOT_MOVED, str(error)
        save(record)
    record.ended = True
    save(record)


def _move(cluster: Cluster, deadline: Deadline, record: ChangeRecord, queue: QueueRecord, address: str) -> None:
    """Sends one change and judges it. Raises MqctlError when the change itself was not accepted."""
    _send(cluster, deadline, record, queue, address)
    try:
        queue.found = cluster.ask(address, consumer_offset(record.group, queue.topic, queue.queue_id), deadline)
    except (UnreachableError, DeadlineError):
        raise
    except MqctlError as error:
        # The broker took the change: whatever keeps it from being read back, undo must not leave this queue out.
        queue.state, queue.reason = UNKNOWN, f"accepted, but could not be read back: {error}"
        return
    queue.state, queue.reason = _judge(queue, moves_on=record.method == Method.SERVER)


def _judge(queue: QueueRecord, *, moves_on: bool) -> tuple[str, str | None]:
    """Returns state and reason of a queue that was read back.

    Args:
        moves_on: members of the group consume, so that the offset may have left `new` again.
    """
    old, new, found = queue.old, queue.new, queue.found
    if found == new:
        return CONFIRMED, None
    if moves_on and found is not None and found > new:
        if old is not None and (old < new or found < old):
            return CONFIRMED, None
        # At or beyond the old offset: members caught up again, or nothing was ever moved back. Nobody can tell.
        return UNKNOWN, f"the broker has {found}: consumed again already, or never moved"
    if found == old:
        return NOT_MOVED, f"the broker accepted the change and still has {found}"
    return NOT_MOVED, f"the broker now has {found}: somebody else committed"


def _send(cluster: Cluster, deadline: Deadline, record: ChangeRecord, queue: QueueRecord, address: str) -> None:
    if record.method == Method.SERVER:
        cluster.ask(address, reset_offset_here(record.group, queue.topic, queue.queue_id, queue.new), deadline)
    else:
        cluster.ask(address, commit_offset(record.group, queue.topic, queue.queue_id, queue.new), deadline)
