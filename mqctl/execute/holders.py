"""Who holds a queue, in the words of the members themselves (request 307 through a broker)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mqctl.client.admin.broker_queries import consumer_ids, running_info
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import AddressedQuestion
from mqctl.model.queue import MessageQueue

_ASK_MS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHolder:
    """A member with a queue.

    Attributes:
        dropped: it has given up what it had of the queue, and will begin anew.
    """

    client_id: str
    dropped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHolders:
    """What the members of a group said.

    Attributes:
        queues: by queue; a member that has dropped it counts where nobody else has it.
        complete: whether every member answered.
        member_count: how many were asked.
    """

    queues: dict[MessageQueue, QueueHolder]
    complete: bool
    member_count: int


def holders(cluster: Cluster, addresses: Iterable[str], group: str, deadline: Deadline) -> QueueHolders:
    """Asks every member once; whoever does not answer in time is left out."""
    limit = deadline.within(_ASK_MS)
    ways: dict[str, str] = {}
    complete = True
    for outcome in cluster.ask_many([AddressedQuestion(address, consumer_ids(group)) for address in addresses], limit):
        if outcome.error is not None:
            complete = False
            continue
        for client_id in outcome.value():
            ways.setdefault(client_id, outcome.ask.address)
    found: dict[MessageQueue, QueueHolder] = {}
    asks = [
        AddressedQuestion(address, running_info(group, client_id), client_id)
        for client_id, address in sorted(ways.items())
    ]
    for answer in cluster.ask_many(asks, limit):
        if answer.error is not None:
            complete = False
            continue
        for queue, state in answer.value().mq_table.items():
            if queue not in found or found[queue].dropped:
                found[queue] = QueueHolder(client_id=str(answer.ask.about), dropped=state.dropped)
    return QueueHolders(queues=found, complete=complete, member_count=len(ways))
