"""Messages of internal queues of a live broker, by pulling or by raw entries; nothing is committed.

A 4.9 broker keeps no settings for RMQ_SYS_TRANS_OP_HALF_TOPIC and so refuses to have it pulled; its entries (request
321) and their records (request 33) can be read all the same.
"""

from __future__ import annotations

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking, out_of_reach
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.messages import READER_GROUP, sure_bounds

_PULLED, _ENTRIES = 32, 512


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Part of queue 0 of a topic: queue offsets [first, end)."""

    topic: str
    first: int
    end: int

    @property
    def count(self) -> int:
        return max(0, self.end - self.first)


def queue_ranges(asking: Asking, broker: LiveBroker, *topics: str) -> tuple[OffsetRange, ...]:
    """Asks for the bounds of queue 0 of each topic. Raises UnreachableError, DeadlineError, AnswerError."""
    queues = [MessageQueue(topic, broker.name, 0) for topic in topics]
    bounds = sure_bounds(asking, dict.fromkeys(queues, broker.address.address))
    return tuple(OffsetRange(queue.topic, *bounds[queue]) for queue in queues)


def read_records(asking: Asking, broker: LiveBroker, offsets: OffsetRange) -> list[Message]:
    """Reads the messages of a range, in order; what is gone from the commit log is left out.

    Raises:
        UnreachableError, DeadlineError, AnswerError: the broker does not tell.
    """
    if offsets.topic not in broker.topics:
        return _by_entries(asking, broker, offsets)
    records: list[Message] = []
    start = offsets.first
    while start < offsets.end:
        question = messages.pull(READER_GROUP, offsets.topic, 0, start, max_count=min(_PULLED, offsets.end - start))
        pulled = asking.cluster.ask(broker.address.address, question, asking.deadline)
        records += [item for item in pulled.messages if item.queue_offset < offsets.end]
        if pulled.next_offset <= start:
            break
        start = pulled.next_offset
    return records


def _by_entries(asking: Asking, broker: LiveBroker, offsets: OffsetRange) -> list[Message]:
    address = broker.address.address
    records: list[Message] = []
    start = offsets.first
    while start < offsets.end:
        question = ask.queue_entries(offsets.topic, 0, start, min(_ENTRIES, offsets.end - start))
        data = asking.cluster.ask(address, question, asking.deadline)
        places = [item.physic_offset for item in data.queue_data][: offsets.end - start] if data is not None else []
        if not places:
            break
        answers = asking.put((place, address, messages.message_at(place)) for place in places)
        for error in answers.errors.values():
            if out_of_reach(error):
                raise error
        records += [answers.values[place] for place in places if place in answers.values]
        start += len(places)
    return records
