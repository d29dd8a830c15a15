"""Taking messages: what one pop or peek gets, queue by queue (`PopMessageProcessor` of 5.3.3 and its kin)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from embedded_broker.log.store import Read, ReadStatus
from embedded_broker.remoting.refusals import Refusal
from mqctl.errors import MqctlError
from mqctl.model.names import RETRY_PREFIX, pop_retry_topic
from mqctl.protocol.bodies_pop import OrderInfo, PopCheckPoint
from mqctl.protocol.message_record import decode_message, encode_message
from mqctl.protocol.receipts import NORMAL, Place, Receipt, retry_flag

if TYPE_CHECKING:
    import logging

    from embedded_broker.pop.ground import Ground
    from embedded_broker.pop.service import Pop

POP_CK = "POP_CK"
ALL_QUEUES = -1
NEWEST = 1
"""Init mode that begins at a queue's end."""
Queue = tuple[str, int]
"""Topic and queue id."""
_T = TypeVar("_T")
Looking = Generator[None, None, _T]
"""A look at queue after queue, of which a topic may have 65,536."""
_PLACE = Struct(">i16xq")
_ELSEWHERE = (ReadStatus.OFFSET_TOO_SMALL, ReadStatus.OFFSET_OVERFLOW_BADLY, ReadStatus.OFFSET_FOUND_NULL)
_NOTHING_WANTED = (ReadStatus.NO_MATCHED_MESSAGE, ReadStatus.OFFSET_FOUND_NULL, ReadStatus.MESSAGE_WAS_REMOVING)


class PopOptions(NamedTuple):
    """What a pop asks for.

    Attributes:
        draw: 0 to 99, by which the retry topic's turn and the first queue are chosen.
        wants, wants_record: tell by tags code and by record whether a message is wanted; None for all.
    """

    group: str
    topic: str
    queue_id: int
    most: int
    invisible_ms: int = 0
    init_mode: int = 0
    ordered: bool = False
    attempt_id: str | None = None
    pop_ms: int = 0
    revive_queue: int = 0
    draw: int = 0
    wants: Callable[[int], bool] | None = None
    wants_record: Callable[[memoryview], bool] | None = None


@dataclass(slots=True)
class Taken:
    """What a pop got.

    Attributes:
        rest: messages left in the queues it looked at.
        order_counts: entries of `orderCountInfo`.
    """

    data: list[bytes | memoryview] = field(default_factory=list)
    count: int = 0
    rest: int = 0
    starts: dict[Place, int] = field(default_factory=dict)
    offsets: dict[Place, tuple[int, ...]] = field(default_factory=dict)
    order_counts: list[str] = field(default_factory=list)


class _Part(NamedTuple):
    """What one queue gave."""

    place: Place
    start: int
    offsets: tuple[int, ...]
    order_counts: list[str]
    data: Sequence[bytes | memoryview]


def retry_topic_of(ground: Ground, options: PopOptions) -> str:
    """Returns the retry topic that a pop reads: with the second name in use, the first one every other time."""
    settings = ground.settings
    old = settings.retrieve_message_from_pop_retry_topic_v1 and options.draw % 2 == 0
    return pop_retry_topic(options.group, options.topic, v2=settings.enable_retry_topic_v2 and not old)


def queue_count(ground: Ground, options: PopOptions) -> int:
    """Returns how many queues a pop looks at, at most."""
    topics = (options.topic,) if options.ordered else (options.topic, retry_topic_of(ground, options))
    known = [config.read_queue_count for topic in topics if (config := ground.topics.find(topic)) is not None]
    return sum(known) if options.queue_id < 0 else 1 + sum(known[1:])


def places(ground: Ground, options: PopOptions, *, retry_first: bool) -> Iterator[Queue]:
    """Yields topic and queue id in the order in which a pop looks at them; not beyond what fills it."""
    own = _queues(ground, options.topic, options.queue_id, options.draw)
    retry = _queues(ground, retry_topic_of(ground, options), ALL_QUEUES, options.draw)
    if options.ordered:
        return own
    return chain(retry, own) if retry_first else chain(own, retry)


def _queues(ground: Ground, topic: str, queue_id: int, draw: int) -> Iterator[Queue]:
    config = ground.topics.find(topic)
    if config is None:
        return
    if queue_id >= 0:
        yield topic, queue_id
        return
    queues = config.read_queue_count
    for number in range(queues):
        yield topic, (draw + number) % queues


def next_offset(pop: Pop, options: PopOptions, topic: str, queue_id: int, *, begins: bool) -> int:
    """Returns where the next pop of a queue begins.

    Args:
        begins: a pop does begin there: a first offset is committed, a reset is taken.
    """
    line, offsets = (options.group, topic, queue_id), pop.ground.offsets
    offset = offsets.query(*line)
    if offset < 0:
        offset = _first_offset(pop.ground, options, topic, queue_id)
        if begins and offsets.has_room(*line):
            offsets.commit(*line, offset)
    if begins:
        reset = offsets.take_reset(*line)
        if reset is not None:
            pop.orders.clear((topic, options.group, queue_id))
            pop.buffer.clear(line)
            return reset
    latest = pop.buffer.latest(line)
    return offset if latest is None else max(offset, latest)


def _first_offset(ground: Ground, options: PopOptions, topic: str, queue_id: int) -> int:
    storage = ground.storage
    low = storage.min_offset(topic, queue_id)
    if options.init_mode != NEWEST or topic.startswith(RETRY_PREFIX):
        return low
    if ground.settings.init_pop_offset_by_check_msg_in_mem and low <= 0:
        entries = storage.entries(topic, queue_id, 0, 1)
        if entries and storage.log.position - entries[0][0] <= storage.settings.in_memory_bytes:
            return 0
    return max(0, storage.max_offset(topic, queue_id) - 1)


def take(pop: Pop, options: PopOptions, log: logging.Logger) -> Looking[Taken]:
    """Takes up to `options.most` messages and notes that they are taken; pauses after each queue."""
    taken = Taken()
    retry_first = options.draw < pop.ground.settings.pop_from_retry_probability and not options.ordered
    for topic, queue_id in places(pop.ground, options, retry_first=retry_first):
        yield
        if taken.count >= options.most and topic != options.topic and not retry_first:
            break  # the retry topic comes last, and there is no room for it
        try:
            _take_from(pop, options, topic, queue_id, taken)
        except (MqctlError, Refusal) as error:
            log.error("group %s pops nothing from queue %d of %s: %s", options.group, queue_id, topic, error)
    return taken


def _take_from(pop: Pop, options: PopOptions, topic: str, queue_id: int, taken: Taken) -> None:
    start = next_offset(pop, options, topic, queue_id, begins=True)
    if options.ordered and pop.orders.is_blocked((topic, options.group, queue_id), options.attempt_id):
        return
    if taken.count >= options.most:
        taken.rest += max(0, pop.ground.storage.max_offset(topic, queue_id) - start)
        return
    read = _read(pop.ground, options, (topic, queue_id), start, options.most - taken.count)
    if read.status in _ELSEWHERE:
        start = read.next_offset
        pop.ground.offsets.commit(options.group, topic, queue_id, start)
        read = _read(pop.ground, options, (topic, queue_id), start, options.most - taken.count)
    if read.count:
        _add(pop.ground, options, taken, _note(pop, options, (topic, queue_id), start, read))
    elif read.status in _NOTHING_WANTED:
        if options.ordered:
            pop.ground.offsets.commit(options.group, topic, queue_id, read.next_offset)
        else:
            pop.buffer.skip((options.group, topic, queue_id), read.next_offset)
    taken.rest += max(0, read.max_offset - read.next_offset)


def _read(ground: Ground, options: PopOptions, queue: Queue, start: int, most: int) -> Read:
    return ground.storage.read(*queue, start, max_count=most, wants=options.wants, wants_record=options.wants_record)


def _note(pop: Pop, options: PopOptions, queue: Queue, start: int, read: Read) -> _Part:
    """Notes what was read as taken. Raises MqctlError, Refusal: it is not."""
    topic, queue_id = queue
    ground = pop.ground
    whole = read.count == read.next_offset - start  # nothing is missing between them
    offsets = tuple(range(start, read.next_offset)) if whole else _offsets(read.data)
    flag = retry_flag(topic, options.group)
    counts: list[str] = []
    if options.ordered:
        now_ms = ground.clock.now_ms()
        batch = OrderInfo(
            attempt_id=options.attempt_id, pop_ms=options.pop_ms, invisible_ms=options.invisible_ms, used_ms=now_ms
        )
        delivered = pop.orders.begin((topic, options.group, queue_id), offsets, batch)
        ground.offsets.commit(options.group, topic, queue_id, start)
        counts = [f"{flag} qo{queue_id}%{offset} {times}" for offset, times in delivered.items()]
        fewest = min(delivered.values()) if len(delivered) == len(offsets) else 0
        counts.append(f"{flag} {queue_id} {fewest}")
    else:
        checkpoint = PopCheckPoint(
            broker_name=ground.name,
            consumer_group=options.group,
            offset_differences=_first(len(offsets)) if whole else tuple([offset - start for offset in offsets]),
            invisible_ms=options.invisible_ms,
            count=len(offsets),
            pop_ms=options.pop_ms,
            queue_id=queue_id,
            revive_ms=options.pop_ms + options.invisible_ms,
            start_offset=start,
            topic=topic,
        )
        pop.buffer.add(checkpoint, options.revive_queue, read.next_offset)
    size_bytes = sum(map(len, read.data))
    ground.intake.stats.count_get(topic, options.group, len(offsets), size_bytes)
    return _Part((flag, queue_id), start, offsets, counts, read.data)


def _add(ground: Ground, options: PopOptions, taken: Taken, part: _Part) -> None:
    flag = part.place[0]
    taken.starts[part.place] = part.start
    taken.offsets[part.place] = part.offsets
    taken.order_counts += part.order_counts
    taken.count += len(part.offsets)
    if flag == NORMAL or ground.settings.pop_response_return_actual_retry_topic:
        taken.data += part.data
    else:
        taken.data += _renamed(ground, options, part)


@lru_cache(maxsize=64)
def _first(count: int) -> tuple[int, ...]:
    return tuple(range(count))


def _offsets(data: Sequence[bytes | memoryview]) -> tuple[int, ...]:
    """Returns the queue offsets of records one behind the other."""
    offsets = []
    for part in data:
        at = 0
        while at < len(part):
            size, offset = _PLACE.unpack_from(part, at)
            offsets.append(offset)
            at += size
    return tuple(offsets)


def _renamed(ground: Ground, options: PopOptions, part: _Part) -> Iterator[bytes]:
    """Yields retried messages as they are delivered: under the topic they came from, each with its receipt handle."""
    for data in part.data:
        at = 0
        while at < len(data):
            message = decode_message(data, at)
            at += message.size_bytes
            receipt = Receipt(
                start_offset=part.start,
                pop_ms=options.pop_ms,
                invisible_ms=options.invisible_ms,
                revive_queue=options.revive_queue,
                retry=part.place[0],
                broker_name=ground.name,
                queue_id=message.queue_id,
                offset=message.queue_offset,
            )
            properties = {POP_CK: str(receipt), **message.properties}
            yield encode_message(replace(message, topic=options.topic, properties=properties), trailing_separator=True)


def look(pop: Pop, options: PopOptions) -> Looking[Taken]:
    """Returns what a pop would take; nothing is noted; pauses after each queue."""
    taken = Taken()
    for topic, queue_id in places(pop.ground, options, retry_first=options.draw % 5 == 0):
        yield
        if topic != options.topic and taken.count >= options.most:
            continue
        start = next_offset(pop, options, topic, queue_id, begins=False)
        taken.rest += max(0, pop.ground.storage.max_offset(topic, queue_id) - start)
        if taken.count < options.most:
            read = _read(pop.ground, options, (topic, queue_id), start, options.most - taken.count)
            taken.data += read.data
            taken.count += read.count
    return taken


def has_something(pop: Pop, options: PopOptions) -> Looking[bool]:
    """Tells whether a pop would find a message, wanted or not; pauses after each queue."""
    for topic, queue_id in places(pop.ground, options, retry_first=options.draw % 5 == 0):
        yield
        if options.ordered and pop.orders.is_blocked((topic, options.group, queue_id), options.attempt_id):
            continue
        start = next_offset(pop, options, topic, queue_id, begins=False)
        if pop.ground.storage.max_offset(topic, queue_id) > start:
            return True
    return False
