"""The end of a topic as it grows: pulls without a group of one's own; nothing is committed."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.subscription import TAG
from mqctl.client.remoting.deadline import Deadline
from mqctl.errors import MqctlError
from mqctl.filter.tags import ALL, parse_tags
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.stored_message import StoredMessage
from mqctl.protocol.unpacking import Unpacker
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import READER_GROUP, bounds, queue_addresses

_BATCH = 32


@dataclass(frozen=True, slots=True)
class TailedMessage:
    """A message with the queue it was read from."""

    queue: MessageQueue
    found: StoredMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class TailRequest:
    """Which messages of a topic.

    Attributes:
        expression, kind: the filter, `TAG` or `SQL92`; brokers evaluate it.
    """

    topic: str
    expression: str = ALL
    kind: str = TAG


class TopicTail:
    """Reads a topic's queues from given places on.

    Args:
        places: next offset by queue.
        addresses: broker by queue.
    """

    def __init__(
        self,
        cluster: Cluster,
        request: TailRequest,
        addresses: dict[MessageQueue, str],
        places: Mapping[MessageQueue, int],
    ) -> None:
        self._cluster = cluster
        self._wanted = request
        self._tags = parse_tags(request.expression) if request.kind == TAG else None
        self._addresses = addresses
        self.places = dict(places)

    def step(self, deadline: Deadline) -> tuple[list[TailedMessage], dict[MessageQueue, MqctlError]]:
        """Reads what is there, up to 32 messages of each queue, oldest first; and why a queue could not be read."""
        wanted = self._wanted
        answers = Asking(self._cluster, deadline).put(
            (
                queue,
                self._addresses[queue],
                messages.pull(
                    READER_GROUP,
                    queue.topic,
                    queue.queue_id,
                    offset,
                    max_count=_BATCH,
                    expression=wanted.expression,
                    expression_type=wanted.kind,
                ),
            )
            for queue, offset in self.places.items()
        )
        arrived: list[TailedMessage] = []
        unpacker = Unpacker()
        for queue, pulled in answers.values.items():
            if pulled.status is not messages.PullStatus.NO_NEW_MESSAGE:
                self.places[queue] = pulled.next_offset
            arrived += [
                TailedMessage(queue, unpacker.stored(message))
                for message in pulled.messages
                if self._tags is None or self._tags.wants(message.tags)
            ]
        arrived.sort(key=lambda item: (item.found.message.store_time_ms, item.found.message.physical_offset))
        return arrived, dict(answers.errors)

    def take_new_queues(self, deadline: Deadline) -> None:
        """Adds queues that appeared since, from their first message on. Raises MqctlError when nobody tells them."""
        asking = Asking(self._cluster, deadline)
        now = queue_addresses(asking, self._wanted.topic, slaves=True)
        new = {queue: address for queue, address in now.items() if queue not in self.places}
        self._addresses.update(now)
        self.places.update({queue: low for queue, (low, _) in bounds(asking, new).items()})
