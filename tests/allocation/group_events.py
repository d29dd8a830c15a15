"""A small event simulation of a consumer group: threads that finish one message after the other, on virtual time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mqctl.model.queue import MessageQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Clients with threads that take `consume_ms` for a message, ordered or not, and what arrives a second."""

    owned: Mapping[str, Sequence[MessageQueue]]
    arriving: Mapping[MessageQueue, float]
    thread_count: int
    consume_ms: float
    orderly: bool


def consumed(group: Group, waiting: Mapping[MessageQueue, int], span_ms: float) -> dict[MessageQueue, int]:
    """Lets the group run, and returns how many messages of each queue it has finished."""
    done: dict[MessageQueue, int] = dict.fromkeys(group.arriving, 0)
    for queues in group.owned.values():
        _run(group, list(queues), waiting, span_ms, done)
    return done


def _run(
    group: Group,
    queues: list[MessageQueue],
    waiting: Mapping[MessageQueue, int],
    span_ms: float,
    done: dict[MessageQueue, int],
) -> None:
    """Runs one client. A free thread takes a message of the next queue in turn that has one and is not busy.

    An orderly one stays with its queue while that has any, as the client does (for a minute at a time).
    """
    free = [(0.0, number) for number in range(group.thread_count)]
    busy_until = dict.fromkeys(queues, 0.0)
    taken = dict.fromkeys(queues, 0)
    turn = 0
    last: dict[int, MessageQueue] = {}
    while free and queues:
        now, thread = heapq.heappop(free)
        ready = {
            queue: max(_ready_ms(group, queue, taken[queue], waiting), busy_until[queue] if group.orderly else 0.0)
            for queue in queues
        }
        stays = [last[thread]] if group.orderly and thread in last else []
        order = [*stays, *queues[turn:], *queues[:turn]]
        queue = next((queue for queue in order if ready[queue] <= now), None) or min(
            order, key=lambda item: ready[item]
        )
        start = max(now, ready[queue])
        end = start + group.consume_ms
        if end > span_ms:
            continue
        turn = (queues.index(queue) + 1) % len(queues)
        last[thread] = queue
        taken[queue] += 1
        done[queue] += 1
        busy_until[queue] = end
        heapq.heappush(free, (end, thread))


def _ready_ms(group: Group, queue: MessageQueue, number: int, waiting: Mapping[MessageQueue, int]) -> float:
    """Returns when message `number` of a queue is there."""
    beyond = number - waiting.get(queue, 0)
    if beyond < 0:
        return 0.0
    return (beyond + 1) * 1000 / group.arriving[queue] if group.arriving[queue] else math.inf
