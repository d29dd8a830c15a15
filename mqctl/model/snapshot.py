"""A cluster as it was at one moment: gathered from a store directory, a live cluster or an archive, judged anywhere.

None means not known; it never means zero. Times are epoch milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from mqctl.model.config import SubscriptionGroupConfig, TopicConfig
from mqctl.model.delay_state import DelayState
from mqctl.model.offset_jump import OffsetJump
from mqctl.model.origin import Origin
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.storage_state import StorageState
from mqctl.model.transaction_state import TransactionState
from mqctl.model.unavailable import Part, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSnapshot:
    """Everything known about one broker.

    A section that is None or empty for want of evidence has an entry in `unavailable`.

    Attributes:
        name: broker name, None when the source does not tell it.
        file_reserved_ms: retention of commit log files, None when the broker's configuration is not known.
    """

    name: str | None = None
    topics: tuple[TopicConfig, ...] = ()
    groups: tuple[SubscriptionGroupConfig, ...] = ()
    queues: tuple[QueueState, ...] = ()
    consumer_offsets: tuple[ConsumerOffsetState, ...] = ()
    offset_jumps: tuple[OffsetJump, ...] = ()
    delay: DelayState | None = None
    transactions: TransactionState | None = None
    storage: StorageState | None = None
    file_reserved_ms: int | None = None
    unavailable: tuple[Unavailable, ...] = ()

    def lacks(self, part: Part) -> Unavailable | None:
        """Returns why the whole of `part` is missing, or None when it is there."""
        return next((gap for gap in self.unavailable if gap.part is part and gap.scope is None), None)

    def queue_index(self) -> dict[tuple[str, int], QueueState]:
        """Returns the queues by (topic, queue id)."""
        return {(queue.topic, queue.queue_id): queue for queue in self.queues}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """A cluster, or the part of it that one store directory shows."""

    origin: Origin
    brokers: tuple[BrokerSnapshot, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
