"""The newest messages of a queue, without their bodies: what tells of retries and of clocks."""

from __future__ import annotations

from mqctl.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestMessage:
    """One of the newest messages of a queue.

    Attributes:
        born_time_ms, store_time_ms: the producer's and the broker's clock, epoch milliseconds.
        born_host: `ip:port` of the producer.
        retry_count: how often it was sent back.
        most_retries: the sender's own maximum; None where the group's holds.
        direct: whether the broker stored it as it came: nothing delayed it, no transaction held it back.
    """

    topic: str
    queue_id: int
    queue_offset: int
    born_time_ms: int
    store_time_ms: int
    born_host: str
    unique_key: str | None = None
    retry_count: int = 0
    most_retries: int | None = None
    direct: bool = True
