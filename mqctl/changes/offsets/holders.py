"""Who holds a queue, and how much was consumed, in the words of the members themselves (request 307 via a broker)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from mqctl.client.admin.broker_queries import consumer_ids, running_info
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import AddressedQuestion
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue

_ASK_MS = 3_000
_WINDOW_S = 60
"""Members report their rates over the last minute (`ConsumerStatsManager` of 4.9.8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHolder:
    """A member with a queue.

    Attributes:
        dropped: it has given up what it had of the queue, and will begin anew.
        position: the offset that it would commit next; None where it remembers none, and commits none.
        cached_from: the first message that it has and has not finished; None where it has none.
    """

    client_id: str
    dropped: bool
    position: int | None = None
    cached_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueHolders:
    """What the members of a group said.

    Attributes:
        queues: by queue; a member that has dropped it counts where nobody else has it.
        complete: whether every member answered.
        member_count: how many were asked.
        consumed: messages of the last minute by topic, all members together, those that failed too.
        subscribed: topics that some member subscribes to.
    """

    queues: dict[MessageQueue, QueueHolder]
    complete: bool
    member_count: int
    consumed: Mapping[str, float] = field(default_factory=dict)
    subscribed: frozenset[str] = frozenset()


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
    held: dict[MessageQueue, QueueHolder] = {}
    consumed: dict[str, float] = {}
    subscribed: set[str] = set()
    asks = [
        AddressedQuestion(address, running_info(group, client_id), client_id)
        for client_id, address in sorted(ways.items())
    ]
    for answer in cluster.ask_many(asks, limit):
        if answer.error is not None:
            complete = False
            continue
        info = answer.value()
        subscribed.update(subscription.topic for subscription in info.subscription_set)
        for topic, status in info.status_table.items():
            rate = status.consume_ok_tps + status.consume_failed_tps
            consumed[topic] = consumed.get(topic, 0.0) + rate * _WINDOW_S
        for queue, state in info.mq_table.items():
            if queue not in held or held[queue].dropped:
                # 0 stands for none, too.
                position = state.commit_offset or None
                if position is None and state.cached_msg_count and not state.dropped:
                    position = state.cached_msg_min_offset
                client_id = str(answer.ask.about)
                cached_from = state.cached_msg_min_offset if state.cached_msg_count and not state.dropped else None
                held[queue] = QueueHolder(
                    client_id=client_id, dropped=state.dropped, position=position, cached_from=cached_from
                )
    return QueueHolders(
        queues=held,
        complete=complete,
        member_count=len(ways),
        consumed=consumed,
        subscribed=frozenset(subscribed),
    )
