"""What changes of a queue's owner did to the order of its messages, by the traces of consumers.

A consumer that loses a queue finishes what its listener has. An orderly one keeps the queue's lock until then, and the
new owner waits; concurrent ones, and those whose lock expired, do not, and the new owner begins at the offset that was
committed last. An orderly owner that lost its queue commits nothing any more: its last message comes again.
Source: `RebalanceImpl`, `RebalancePushImpl.removeUnnecessaryMessageQueue`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One message that a listener was given.

    Attributes:
        client: the consumer: where its traces came from.
        began_ms, ended_ms: by the consumer's clock; None for an end that was not traced.
    """

    queue: MessageQueue
    queue_offset: int
    client: str
    began_ms: int
    ended_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class Handover:
    """A queue whose messages another consumer began to get.

    Attributes:
        at_ms, at_offset: when the new owner began, and with which message.
        unfinished_count: messages that the listener of the old owner still had then.
        late_count: messages that the old owner began after the new one had.
        again_count: messages that both were given.
        last_ms: when the old owner was done with the last of these; None without any, or without a trace of its end.
    """

    queue: MessageQueue
    old: str
    new: str
    at_ms: int
    at_offset: int
    unfinished_count: int = 0
    late_count: int = 0
    again_count: int = 0
    last_ms: int | None = None

    @property
    def kept_order(self) -> bool:
        """Whether the new owner began after the old one had finished, be it with a message that both were given."""
        return not self.unfinished_count and not self.late_count


@dataclass(slots=True)
class _Queue:
    """One queue on the way through its deliveries."""

    owner: str
    highest: int
    had: dict[int, str] = field(default_factory=dict)
    handovers: list[Handover] = field(default_factory=list)


def handovers(deliveries: Iterable[Delivery]) -> list[Handover]:
    """Returns the changes of owners that first deliveries show, by queue in the order of their time.

    Who gets a message beyond all that were handed out is the owner; who gets an earlier one and had the queue before
    is a former owner that is late.
    """
    by_queue: dict[MessageQueue, list[Delivery]] = defaultdict(list)
    for delivery in deliveries:
        by_queue[delivery.queue].append(delivery)
    return [change for _, listed in sorted(by_queue.items()) for change in _of_queue(listed)]


def _of_queue(deliveries: list[Delivery]) -> list[Handover]:
    deliveries.sort(key=lambda item: (item.began_ms, item.queue_offset))
    first = deliveries[0]
    seen = _Queue(first.client, first.queue_offset)
    for delivery in deliveries:
        _advance(seen, delivery)
    for change in seen.handovers:
        ends = [item.ended_ms for item in deliveries if item.client == change.old and item.began_ms < change.at_ms]
        unfinished = [end for end in ends if end is not None and end > change.at_ms]
        change.unfinished_count = len(unfinished)
        change.last_ms = max([*unfinished, *([change.last_ms] if change.last_ms else [])], default=None)
    return seen.handovers


def _advance(seen: _Queue, delivery: Delivery) -> None:
    offset, client = delivery.queue_offset, delivery.client
    if client != seen.owner:
        former = next((change for change in reversed(seen.handovers) if change.old == client), None)
        if former is not None and offset < seen.highest:
            former.late_count += 1
            former.again_count += offset in seen.had
            former.last_ms = max(former.last_ms or 0, delivery.ended_ms or delivery.began_ms)
            seen.had.setdefault(offset, client)
            return
        change = Handover(queue=delivery.queue, old=seen.owner, new=client, at_ms=delivery.began_ms, at_offset=offset)
        seen.handovers.append(change)
        seen.owner = client
    if seen.handovers and seen.had.get(offset, client) != client:
        seen.handovers[-1].again_count += 1
    seen.had.setdefault(offset, client)
    seen.highest = max(seen.highest, offset)
