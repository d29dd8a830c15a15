"""A stored message as a person looks at it: with its id and its body unpacked."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDelivery:
    """That a message was sent with a delay, and its broker still keeps it.

    Attributes:
        topic: where it will be delivered.
        level: its delay level; None for a timer of 5.x.
        due_time_ms: epoch milliseconds; None where the broker's table has no such level, or is not known.
    """

    topic: str
    level: int | None
    due_time_ms: int | None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message, its offset message id, and its body as the producer gave it.

    Attributes:
        body: the unpacked body; as stored when it does not unpack.
        problem: why the body does not unpack, None when it does.
        waiting: what it waits for, None for one that is where it belongs.
    """

    message: Message
    message_id: str
    body: bytes
    problem: str | None = None
    waiting: PendingDelivery | None = None
