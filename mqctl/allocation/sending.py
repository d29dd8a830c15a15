"""What share of a topic's messages each queue gets, by how producers choose queues.

Source: `TopicPublishInfo` goes round the queues where nothing else is said; `SelectMessageQueueByHash` puts a key into
one queue; `SelectMessageQueueByRandom` draws. `SelectMessageQueueByMachineRoom` of RocketMQ is a stub that returns
null: producers that stay in their room bring their own selector, which goes round the room's queues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from mqctl.allocation.key_order import hash_place
from mqctl.allocation.rooms import selectable_queues
from mqctl.allocation.simulation import Layout
from mqctl.allocation.views import sorted_queues
from mqctl.errors import UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.model.room_rule import RoomRule
from mqctl.text import sentence

MOST_SHARES = 1_000_000
"""Of keys in queues, where each key has messages in every queue: 200 bytes and 3 microseconds each."""


class Choosing(StrEnum):
    """How producers choose: in turn, by the key's hash, by chance, or in turn among the queues of their room."""

    TURN = "turn"
    HASH = "hash"
    RANDOM = "random"
    ROOM = "room"


@dataclass(frozen=True, slots=True)
class ProducerChoice:
    """A way to choose; with `room` all producers are in that one, else as many in each room that has clients."""

    choosing: Choosing
    room: str | None = None

    def __str__(self) -> str:
        return f"{self.choosing}:{self.room}" if self.room else str(self.choosing)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueShare:
    """What one queue gets.

    Attributes:
        share: of the topic's messages; by chance, on average.
        by_key: of the topic's messages, by key; what has none is in `share` alone.
    """

    queue: MessageQueue
    share: float
    by_key: Mapping[str, float]

    @property
    def busiest_key(self) -> str | None:
        return min(self.by_key, key=lambda key: (-self.by_key[key], key), default=None)


def selector_named(text: str) -> ProducerChoice:
    """Reads `turn`, `hash`, `random`, `room` or `room:ROOM`. Raises UsageError."""
    kind, _, room = text.lower().partition(":")
    if kind not in {str(item) for item in Choosing} or (":" in text and (kind != Choosing.ROOM or not room)):
        raise UsageError(
            sentence("no-selector", "there is no selector {text}", text=text),
            remedy=sentence("allocation-use-turn-hash-random", "use turn, hash, random, room or room:ROOM"),
        )
    return ProducerChoice(Choosing(kind), text.partition(":")[2] or None)


def numbered_keys(count: int, hot_share: float) -> dict[str, float]:
    """Returns shares of `key-1` to `key-COUNT`: the first has `hot_share`, or all have the same where that is 0."""
    others = count - 1
    first = 1.0 if not others else hot_share or 1 / count
    return {f"key-{number}": first if number == 1 else (1 - first) / others for number in range(1, count + 1)}


def counted_keys(counts: Mapping[str | None, float]) -> dict[str, float]:
    """Returns the share of each key among counted messages; None counts those without a key."""
    total = sum(counts.values())
    return {key: count / total for key, count in counts.items() if key is not None} if total else {}


def queue_shares(
    selector: ProducerChoice, layout: Layout, keys: Mapping[str, float], rule: RoomRule | None = None
) -> list[QueueShare]:
    """Computes what each queue of a layout gets.

    Args:
        layout: its queues are those that producers send to, its clients tell in which rooms producers are.
        keys: the share of each key among all messages; the rest has none, and goes round.

    Raises:
        UsageError: a selector by room without a rule, no client tells its room, more keys and queues than are counted.
    """
    queues = sorted_queues(layout.queues)
    if selector.choosing is Choosing.HASH:
        return _by_hash(queues, keys)
    if len(keys) * len(queues) > MOST_SHARES:
        raise UsageError(
            sentence(
                "allocation-keys-each-queues-too",
                "too many to count: {keys:key} in each of {queues:queue}",
                keys=len(keys),
                queues=len(queues),
            ),
            reason=sentence(
                "allocation-most-shares-computed",
                "at most {most_shares:share} can be computed",
                most_shares=MOST_SHARES,
            ),
            remedy=sentence(
                "allocation-use-fewer-keys-selector",
                "use fewer --keys, or --selector hash, which puts each key into one queue",
            ),
        )
    weights = {queue: 1 / len(queues) for queue in queues}
    if selector.choosing is Choosing.ROOM:
        weights = _by_room(selector, queues, layout, rule)
    return [
        QueueShare(queue=queue, share=weight, by_key={key: share * weight for key, share in keys.items()})
        for queue, weight in weights.items()
    ]


def _by_hash(queues: Sequence[MessageQueue], keys: Mapping[str, float]) -> list[QueueShare]:
    keyless = max(0.0, 1 - sum(keys.values())) / len(queues)
    placed: dict[MessageQueue, dict[str, float]] = {queue: {} for queue in queues}
    for key, share in keys.items():
        placed[queues[hash_place(key, len(queues))]][key] = share
    return [QueueShare(queue=queue, share=keyless + sum(own.values()), by_key=own) for queue, own in placed.items()]


def _by_room(
    selector: ProducerChoice, queues: Sequence[MessageQueue], layout: Layout, rule: RoomRule | None
) -> dict[MessageQueue, float]:
    if rule is None:
        raise UsageError(
            sentence("allocation-selector-room-needs-know", "the selector room needs to know rooms"),
            remedy=sentence("allocation-add-room-rule-prefix", "add --room-rule prefix:- or regex:PATTERN"),
        )
    named = {room for room in map(rule.client_room, layout.clients) if room}
    rooms = [selector.room] if selector.room else sorted(named)
    if not rooms:
        raise UsageError(
            sentence("allocation-no-client-tells-room", "no client tells its room"),
            remedy=sentence("allocation-use-selector-room", "use --selector room:ROOM, or another --room-rule"),
        )
    weights = dict.fromkeys(queues, 0.0)
    for room in rooms:
        own = selectable_queues(queues, room, rule)
        for queue in own:
            weights[queue] += 1 / len(rooms) / len(own)
    return weights
