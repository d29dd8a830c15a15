"""What one thread for each key, instead of one for each queue, would do for messages that wait.

Messages of a key stay one behind the other, so that an instance needs at least as long as its busiest key takes one
thread, and at least as long as all its threads take for everything. Ordered queues are the same with queues for keys.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from mqctl.allocation.key_order import KeyedMessage
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyForecast:
    """What is predicted from the keys of messages that wait.

    Attributes:
        waiting_count: what waits; `read_count` of it tell their keys.
        busiest_key: the key with most of what waits at one instance, and its share of what waits there; None and 0
            where no message has a key.
        thread_count: threads that the instance which ends last keeps busy by keys; more of them have nothing to do.
        queue_tps, key_tps: what all instances pass with one thread for each queue, and for each key; None when it is
            not known how long a message takes.
        gain: how many times as fast everything is consumed.
    """

    waiting_count: int
    read_count: int
    key_count: int
    busiest_key: str | None
    busiest_share: float
    thread_count: int
    queue_tps: float | None
    key_tps: float | None
    gain: float

    @property
    def is_exact(self) -> bool:
        """Whether the key of every message that waits was read."""
        return self.read_count >= self.waiting_count


@dataclass(frozen=True, slots=True)
class _Work:
    """What waits at one instance, in messages: in its queues, of its busiest key."""

    total: float
    busiest_queue: float
    queue_count: int
    busiest_key: str | None
    of_busiest_key: float


def key_forecast(
    waiting: Mapping[MessageQueue, int],
    owners: Mapping[MessageQueue, str | None],
    messages: Iterable[KeyedMessage],
    *,
    thread_count: int,
    lane_tps: float | None,
) -> KeyForecast | None:
    """Predicts; None when nothing waits, or no message that waits was read.

    Args:
        waiting: messages that wait, by queue.
        messages: as many of them as were read; each queue's stand for all that waits in it.
        thread_count: consume threads of each instance.
        lane_tps: messages a second that one thread passes.
    """
    keys: dict[MessageQueue, Counter[str | None]] = {}
    for message in messages:
        if waiting.get(message.queue):
            keys.setdefault(message.queue, Counter())[message.key] += 1
    read = {queue: count for queue, count in waiting.items() if queue in keys}
    if not read:
        return None
    clients: dict[str | None, list[MessageQueue]] = {}
    for queue in read:
        clients.setdefault(owners.get(queue), []).append(queue)
    works = [_work({queue: read[queue] for queue in own}, keys) for own in clients.values()]
    total = sum(work.total for work in works)
    by_queue = max(max(work.total / min(thread_count, work.queue_count), work.busiest_queue) for work in works)
    by_key = max(max(work.total / thread_count, work.of_busiest_key) for work in works)
    busiest = max(works, key=lambda work: work.of_busiest_key)
    last = max(works, key=lambda work: max(work.total / thread_count, work.of_busiest_key))
    return KeyForecast(
        waiting_count=sum(waiting.values()),
        read_count=sum(sum(counts.values()) for counts in keys.values()),
        key_count=len({key for counts in keys.values() for key in counts if key is not None}),
        busiest_key=busiest.busiest_key,
        busiest_share=busiest.of_busiest_key / busiest.total,
        thread_count=math.ceil(round(last.total / max(last.of_busiest_key, 1.0), 9)),
        queue_tps=None if lane_tps is None else total / by_queue * lane_tps,
        key_tps=None if lane_tps is None else total / by_key * lane_tps,
        gain=by_queue / by_key,
    )


def _work(waiting: Mapping[MessageQueue, int], keys: Mapping[MessageQueue, Counter[str | None]]) -> _Work:
    shares: dict[str, float] = {}
    for queue, count in waiting.items():
        each = count / sum(keys[queue].values())
        for key, number in keys[queue].items():
            if key is not None:
                shares[key] = shares.get(key, 0.0) + number * each
    busiest = min(shares, key=lambda key: (-shares[key], key), default=None)
    return _Work(
        total=sum(waiting.values()),
        busiest_queue=max(waiting.values()),
        queue_count=len(waiting),
        busiest_key=busiest,
        of_busiest_key=0.0 if busiest is None else shares[busiest],
    )
