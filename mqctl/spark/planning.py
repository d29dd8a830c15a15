"""What a backlog report has to read: the state of every group in every queue, and queue entries in fair shares.

Only consume queue ends and configuration are looked at here (a few pages a queue); the entries are read by workers.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mqctl.errors import BadInputError
from mqctl.model.lag import LagEvidence, QueueLag, queue_lags
from mqctl.model.origin import ObservedFrom, Origin, OriginKind
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.spark.remote import is_remote, local_path, remote_store
from mqctl.spark.wanted import Wanted
from mqctl.store.config_files import CONSUMER_OFFSETS, LMQ_OFFSETS, consumer_offsets, lmq_offsets, read_config
from mqctl.store.directory import StoreDirectory

RANGE_ENTRIES = 1_000_000
"""Entries of one range at most (20 MB of consume queue), so that one long queue is no single task."""
_ENTRIES_ONLY = 8
QUEUE_COST_ENTRIES = 2_000
"""What opening a queue costs, in entries: a share of many short queues is no lighter than one of a long queue."""
SHARE_ENTRIES = 200_000
"""Work below which a second task does not pay, in entries."""


@dataclass(frozen=True, slots=True)
class QueueRange:
    """Entries of one queue with queue offsets in [low, high).

    Attributes:
        readers: (group, queue offset at which its backlog starts), ascending by offset.
    """

    store: str
    topic: str
    queue_id: int
    low: int
    high: int
    readers: tuple[tuple[str, int], ...]


def open_store(path: str) -> StoreDirectory:
    """Opens a store whose consume queues are files: a directory, or a URL.

    Raises:
        NotFoundError: there is no such directory on this host.
        BadInputError: it is no store, or its consume queues are not files.
    """
    store = remote_store(path) if is_remote(path) else StoreDirectory.open(local_path(path))
    if store.consume_queue_kind != "file":
        raise BadInputError(
            f"read the consume queues of {path}",
            reason="they are in a RocksDB database (storeType=defaultRocksDB)",
            remedy="ask the running broker instead: `mqctl group lag --namesrv`",
        )
    return store


def committed_offsets(store: StoreDirectory) -> list[ConsumerOffsetState]:
    """Returns every committed offset of a store, light queues included, as the broker would load them."""
    config = store.path / "config"
    light_file = read_config(config, LMQ_OFFSETS)
    table = dict(consumer_offsets(read_config(config, CONSUMER_OFFSETS)).offsets)
    table.update(consumer_offsets(light_file).offsets)
    found = [
        ConsumerOffsetState(group=group, topic=topic, queue_id=queue_id, offset=offset)
        for (topic, group), queues in table.items()
        for queue_id, offset in queues.items()
    ]
    found += [
        ConsumerOffsetState(group=group, topic=topic, queue_id=0, offset=offset)
        for (topic, group), offset in lmq_offsets(light_file).items()
    ]
    return found


def queue_bounds(store: StoreDirectory, topics: Iterable[str] | None = None) -> list[QueueState]:
    """Returns the readable range of every queue; `topics` None means all."""
    chosen = None if topics is None else set(topics)
    lowest = store.commit_log.min_offset
    found = []
    for topic, queue_id in store.queue_ids():
        if chosen is not None and topic not in chosen:
            continue
        queue = store.consume_queue(topic, queue_id)
        found.append(
            QueueState(topic=topic, queue_id=queue_id, min_offset=queue.min_offset(lowest), max_offset=queue.max_offset)
        )
    return found


def cells(store: StoreDirectory, wanted: Wanted) -> list[QueueLag]:
    """Returns where each wanted group stands in each queue of the topics it has offsets for.

    The rules are those of `mqctl group lag`, by the same function.
    """
    offsets = [
        each
        for each in committed_offsets(store)
        if (not wanted.groups or each.group in wanted.groups) and (not wanted.topics or each.topic in wanted.topics)
    ]
    # Ages are the report's business: it knows store times of all messages behind a group.
    origin = Origin(
        kind=OriginKind.STORE, location=str(store.path), observed_at_ms=0, observed_from=ObservedFrom.STORE_TIME
    )
    evidence = LagEvidence(
        origin=origin,
        queues=tuple(queue_bounds(store, {each.topic for each in offsets})),
        consumer_offsets=tuple(offsets),
    )
    return queue_lags(evidence, origin.observed_at_ms, system=wanted.system)


def ranges(store_path: str, states: Sequence[QueueLag], *, whole: bool = False) -> list[QueueRange]:
    """Returns what must be read to describe the messages behind the groups of `states`, each entry once.

    Ranges are longer with `whole`: for readers that look at entries only.
    """
    longest = RANGE_ENTRIES * _ENTRIES_ONLY if whole else RANGE_ENTRIES
    readers: dict[tuple[str, int], list[tuple[int, str]]] = {}
    ends: dict[tuple[str, int], int] = {}
    for state in states:
        if state.consumer_offset is None or state.broker_offset is None or state.min_offset is None:
            continue
        start = max(state.consumer_offset, state.min_offset)
        if start < state.broker_offset:
            readers.setdefault((state.topic, state.queue_id), []).append((start, state.group))
            ends[(state.topic, state.queue_id)] = state.broker_offset
    found = []
    for (topic, queue_id), behind in readers.items():
        end = ends[(topic, queue_id)]
        behind.sort()
        for low in range(behind[0][0], end, longest):
            high = min(low + longest, end)
            present = tuple((group, start) for start, group in behind if start < high)
            found.append(QueueRange(store_path, topic, queue_id, low, high, present))
    return found


def shares(work: Sequence[QueueRange], count: int) -> list[list[QueueRange]]:
    """Deals ranges into at most `count` shares of like weight, heaviest first into the lightest share.

    Little work makes few shares: starting a Python worker costs more than reading `SHARE_ENTRIES`.
    """
    weight = sum(each.high - each.low + QUEUE_COST_ENTRIES for each in work)
    heap = [(0, number) for number in range(min(count, len(work), -(-weight // SHARE_ENTRIES)))]
    dealt: list[list[QueueRange]] = [[] for _ in heap]
    for each in sorted(work, key=lambda item: item.low - item.high):
        filled, number = heapq.heappop(heap)
        dealt[number].append(each)
        heapq.heappush(heap, (filled + each.high - each.low + QUEUE_COST_ENTRIES, number))
    return dealt
