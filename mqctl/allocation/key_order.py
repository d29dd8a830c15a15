"""Whether messages of one key lie in one queue, and what another number of queues would do to that.

Order holds within a queue only. Which queue a key goes to is the producer's choice; most choose by hash
(`SelectMessageQueueByHash`), and then any change of the number of queues re-routes keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from mqctl.model.java_hash import java_string_hash
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedMessage:
    """One sampled message; `key` is None when it has none, `unique_id` when its producer wrote none.

    Attributes:
        own: sent by mqctl itself (again, or as a probe): where it lies says nothing of where a producer puts its key.
    """

    queue: MessageQueue
    store_time_ms: int
    queue_offset: int
    key: str | None
    unique_id: str | None = None
    own: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadKey:
    """A key in more than one queue.

    Attributes:
        counts: its messages by queue.
        move_count: how often the next message of it lay in another queue; one move is a re-routing, more mean that its
            order does not hold.
        last_move_time_ms: store time of the message that lay elsewhere last.
    """

    key: str
    counts: Mapping[MessageQueue, int]
    move_count: int
    last_move_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySpread:
    """What a sample shows.

    Attributes:
        spread: keys in several queues, those that move most often first.
        by_hash_count: messages that lie where a producer that chooses by hash puts their key; None without queues.
    """

    message_count: int
    keyless_count: int
    key_count: int
    spread: tuple[SpreadKey, ...]
    by_hash_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLanes:
    """What one thread for each key, instead of one for the queue, would do for a queue.

    Attributes:
        busiest_key: the key with most of its messages; None when no message has one.
        busiest_count: its messages; 1 without a key, as nothing keeps those in order.
    """

    queue: MessageQueue
    message_count: int
    key_count: int
    busiest_key: str | None
    busiest_count: int

    @property
    def gain(self) -> float:
        """How many times as fast the queue could be consumed with enough threads: its busiest key is one thread's."""
        return self.message_count / self.busiest_count


@dataclass(frozen=True, slots=True, kw_only=True)
class ReRouting:
    """What another number of queues would do, for producers that choose by hash.

    Attributes:
        queue_count: of the whole topic.
        moved_key_count, moved_message_count: of those sampled, how many would go elsewhere.
    """

    queue_count: int
    key_count: int
    moved_key_count: int
    moved_message_count: int


def hash_place(key: str, count: int) -> int:
    """Returns the place among `count` queues that `SelectMessageQueueByHash` of 4.9.8 chooses.

    Java takes the absolute value of a remainder that has the hash's sign, which is the remainder of the absolute hash.
    """
    return abs(java_string_hash(key)) % count


def key_spread(messages: Iterable[KeyedMessage], queues: Sequence[MessageQueue]) -> KeySpread:
    """Tells what a sample shows.

    Args:
        queues: the writable queues in the order of a producer's route: by broker name and queue id.
    """
    listed = sorted(messages, key=lambda item: (item.store_time_ms, item.queue, item.queue_offset))
    by_key: dict[str, list[KeyedMessage]] = {}
    for item in listed:
        if item.key is not None:
            by_key.setdefault(item.key, []).append(item)
    spread = [_spread(key, items) for key, items in by_key.items() if len({item.queue for item in items}) > 1]
    spread.sort(key=lambda item: (-item.move_count, item.key))
    fitting = None
    if queues:
        fitting = sum(
            item.queue == queues[hash_place(item.key, len(queues))] for item in listed if item.key is not None
        )
    return KeySpread(
        message_count=len(listed),
        keyless_count=sum(item.key is None for item in listed),
        key_count=len(by_key),
        spread=tuple(spread),
        by_hash_count=fitting,
    )


def key_lanes(messages: Iterable[KeyedMessage]) -> list[KeyLanes]:
    """Returns for each sampled queue what order by key instead of order by queue allows, those with least first."""
    by_queue: dict[MessageQueue, list[str | None]] = {}
    for item in messages:
        by_queue.setdefault(item.queue, []).append(item.key)
    lanes = []
    for queue, keys in by_queue.items():
        counts = Counter(key for key in keys if key is not None)
        busiest, count = min(counts.items(), key=lambda pair: (-pair[1], pair[0])) if counts else (None, 1)
        lanes.append(
            KeyLanes(
                queue=queue,
                message_count=len(keys),
                key_count=len(counts),
                busiest_key=busiest,
                busiest_count=count,
            )
        )
    return sorted(lanes, key=lambda item: (item.gain, item.queue))


def _spread(key: str, items: list[KeyedMessage]) -> SpreadKey:
    moves = [after for before, after in pairwise(items) if before.queue != after.queue]
    return SpreadKey(
        key=key,
        counts=dict(sorted(Counter(item.queue for item in items).items())),
        move_count=len(moves),
        last_move_time_ms=moves[-1].store_time_ms,
    )


def re_routing(
    messages: Iterable[KeyedMessage], before: Sequence[MessageQueue], after: Sequence[MessageQueue]
) -> ReRouting:
    """Counts what would move when the writable queues were `after` instead of `before`."""
    counts = Counter(item.key for item in messages if item.key is not None)
    moved = [key for key in counts if before[hash_place(key, len(before))] != after[hash_place(key, len(after))]]
    return ReRouting(
        queue_count=len(after),
        key_count=len(counts),
        moved_key_count=len(moved),
        moved_message_count=sum(counts[key] for key in moved),
    )
