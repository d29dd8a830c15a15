"""Dead letters and retries of consumer groups on live brokers, without joining a group or committing an offset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.errors import MqctlError
from mqctl.model.dead_letter import DeadLetter, DeadLetterTopic, LetterChoice, Retry, RetryState
from mqctl.model.delay_level import DEFAULT_LEVELS, DelayLevelTable
from mqctl.model.gap import Gap, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import REAL_TOPIC, Message
from mqctl.model.names import DLQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, dlq_topic, retry_topic, retrying_group
from mqctl.model.queue import MessageQueue
from mqctl.model.retry_ladder import RetryLadder
from mqctl.model.retry_limit import MemberLimit
from mqctl.model.stored_message import StoredMessage
from mqctl.protocol.unpacking import Unpacker
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker
from mqctl.snapshot.live.messages import READER_GROUP
from mqctl.snapshot.live.queues import queue_bounds
from mqctl.snapshot.live.retry_limits import member_limits

Keep = Callable[[StoredMessage], bool]
_PAGE = 32
# Delay levels hold messages of all topics: so many of each level are looked through, and the rest is told as unread.
_MOST_DELAYED = 20_000
_NO_PERMISSION = frozenset({16})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Which messages of queues are to be read.

    Attributes:
        keep: whether one is wanted.
        limit: most messages kept of each queue; the rest is left unread.
        most_read: most offsets of each queue that are gone through.
    """

    keep: Keep
    limit: int | None = None
    most_read: int | None = None


@dataclass
class ReadMessages:
    """Messages that were read.

    Attributes:
        more: whether the limit left some unread.
        errors: queues that could not be read to their end, with the reason.
        limit_gaps: what members did not tell of their own limits.
    """

    messages: list[tuple[MessageQueue, StoredMessage]] = field(default_factory=list)
    more: bool = False
    errors: dict[MessageQueue, MqctlError] = field(default_factory=dict)
    limit_gaps: list[Gap] = field(default_factory=list)


def dead_letter_topics(asking: Asking, brokers: list[LiveBroker], groups: frozenset[str]) -> list[DeadLetterTopic]:
    """Returns the dead-letter topics of brokers whose topics are known; what is not told becomes a gap."""
    wanted = [
        (number, name)
        for number, broker in enumerate(brokers)
        for name in sorted(broker.topics)
        if name.startswith(DLQ_PREFIX) and (not groups or name.removeprefix(DLQ_PREFIX) in groups)
    ]
    bounds = queue_bounds(asking, brokers, wanted)
    filled = [(number, queue) for number, queues in bounds.items() for queue in queues if queue.message_count]
    times = asking.put(
        (
            (number, queue.topic, queue.queue_id),
            brokers[number].address.address,
            ask.earliest_store_time(queue.topic, queue.queue_id),
        )
        for number, queue in filled
    )
    topics = []
    for number, name in wanted:
        queues = [queue for queue in bounds.get(number, ()) if queue.topic == name]
        first = [times.values.get((number, name, queue.queue_id)) for queue in queues]
        last = [queue.last_store_time_ms for queue in queues]
        topics.append(
            DeadLetterTopic(
                group=name.removeprefix(DLQ_PREFIX),
                broker_name=brokers[number].name,
                perm=brokers[number].topics[name].perm,
                count=sum(queue.message_count for queue in queues),
                oldest_store_time_ms=min((item for item in first if item), default=None),
                newest_store_time_ms=max((item for item in last if item), default=None),
            )
        )
    return topics


def dead_letters(
    asking: Asking, brokers: list[LiveBroker], group: str, choice: LetterChoice, limit: int | None
) -> tuple[list[DeadLetter], ReadMessages]:
    """Reads a group's dead letters, oldest first; also where the topic's permission forbids consumers to read.

    Args:
        brokers: those whose letters are meant, with their topics and groups.
        limit: most letters of each queue; None for all.
    """
    topic = dlq_topic(group)
    holders = [broker for broker in brokers if topic in broker.topics]
    places = {
        MessageQueue(topic, broker.name, number): broker.address.address
        for broker in holders
        for number in range(max(broker.topics[topic].read_queue_count, broker.topics[topic].write_queue_count))
    }
    read = read_to_ends(asking, places, _starts(asking, places), ReadRequest(keep=choice.takes, limit=limit))
    ladders = {item.name: _ladder(item, group) for item in holders}
    letters = [
        DeadLetter(group=group, broker_name=queue.broker_name, stored=item, ladder=ladders[queue.broker_name])
        for queue, item in read.messages
    ]
    letters.sort(key=lambda letter: (letter.stored.message.store_time_ms, letter.stored.message_id))
    return letters, read


def _starts(asking: Asking, places: Mapping[MessageQueue, str]) -> dict[MessageQueue, int]:
    answers = asking.put(
        (queue, address, ask.min_offset(queue.topic, queue.queue_id)) for queue, address in places.items()
    )
    # A queue whose start is not told is tried all the same, so that its error is named.
    return {queue: answers.values.get(queue, 0) for queue in places}


def _ready(
    asking: Asking, brokers: list[LiveBroker], groups: frozenset[str], limit: int
) -> tuple[ReadMessages, dict[str, tuple[str, bool]]]:
    """Reads retry topics beyond the committed offsets; returns whose retries each topic holds, and whether popped."""
    ready_places: dict[MessageQueue, str] = {}
    ready_from: dict[MessageQueue, int] = {}
    owners: dict[str, tuple[str, bool]] = {}
    for broker in brokers:
        for name, config in broker.topics.items():
            whose = retrying_group(name, broker.groups)
            if whose is None or (groups and whose[0] not in groups):
                continue
            owners[name] = whose
            for number in range(config.read_queue_count):
                queue = MessageQueue(name, broker.name, number)
                ready_places[queue] = broker.address.address
                ready_from[queue] = broker.offsets.get((whose[0], name, number), 0)
    ready = read_to_ends(asking, ready_places, ready_from, ReadRequest(keep=lambda _: True, limit=limit))
    return ready, owners


def waiting_retries(
    asking: Asking,
    brokers: list[LiveBroker],
    groups: frozenset[str],
    limit: int,
    *,
    most_delayed: int = _MOST_DELAYED,
    members_ms: int | None = None,
) -> tuple[list[Retry], ReadMessages]:
    """Reads what waits to be retried: in the retry topics beyond the committed offsets, and behind delay levels.

    Members of the groups that have some are asked for their own limits.

    Args:
        brokers: with their settings, topics, groups and offsets.
        groups: all when empty.
        limit: most messages read of each queue.
        most_delayed: most messages of each delay level that are looked through.
        members_ms: how long members have for their answer; a third of the time that is left when not given.
    """
    ready, owners = _ready(asking, brokers, groups, limit)
    waiting = _delayed(asking, brokers, ReadRequest(keep=_of(groups), limit=limit, most_read=most_delayed))
    failing = {owners[queue.topic][0] for queue, _ in ready.messages if not owners[queue.topic][1]}
    failing |= {_delayed_group(item) for _, item in waiting.messages}
    limits, ready.limit_gaps = member_limits(asking, brokers, failing, limit_ms=members_ms)
    by_name = {item.name: item for item in brokers}
    result = []
    for queue, item in ready.messages:
        group, popped = owners[queue.topic]
        result.append(
            Retry(
                group=group,
                broker_name=queue.broker_name,
                stored=item,
                state=RetryState.READY,
                # brokers never give up pops
                ladder=None if popped else _ladder(by_name[queue.broker_name], group, limits.get(group)),
                popped=popped,
            )
        )
    for queue, item in waiting.messages:
        broker = by_name[queue.broker_name]
        group = _delayed_group(item)
        delay_ms = _levels(broker).delay_ms(queue.queue_id + 1)
        result.append(
            Retry(
                group=group,
                broker_name=queue.broker_name,
                stored=item,
                state=RetryState.WAITING,
                due_ms=None if delay_ms is None else item.message.store_time_ms + delay_ms,
                ladder=_ladder(broker, group, limits.get(group)),
            )
        )
    ready.more = ready.more or waiting.more
    ready.errors |= waiting.errors
    result.sort(key=lambda retry: (retry.group, retry.due_ms or 0, retry.stored.message.store_time_ms))
    return result, ready


def failing_groups(asking: Asking, brokers: list[LiveBroker]) -> tuple[frozenset[str], ReadMessages]:
    """Returns groups of which messages that failed wait in a delay level: what each level lets go next tells.

    Args:
        brokers: with their settings.
    """
    read = _delayed(asking, brokers, ReadRequest(keep=_of(frozenset()), most_read=_PAGE))
    return frozenset(_delayed_group(item) for _, item in read.messages), read


def _delayed_group(item: StoredMessage) -> str:
    return item.message.properties[REAL_TOPIC].removeprefix(RETRY_PREFIX)


def _delayed(asking: Asking, brokers: list[LiveBroker], request: ReadRequest) -> ReadMessages:
    """Reads the undelivered part of every delay level."""
    answers = asking.put((number, item.address.address, ask.delay_offsets()) for number, item in enumerate(brokers))
    places: dict[MessageQueue, str] = {}
    starts: dict[MessageQueue, int] = {}
    for number, broker in enumerate(brokers):
        if number in answers.errors:
            broker.miss(Part.DELAY, answers.errors[number])
            continue
        levels = _levels(broker).max_level
        delivered = answers.values[number].offset_table
        for level in range(1, levels + 1):
            queue = MessageQueue(SCHEDULE_TOPIC, broker.name, level - 1)
            places[queue] = broker.address.address
            starts[queue] = delivered.get(level, 0)
    return read_to_ends(asking, places, starts, request)


def _of(groups: frozenset[str]) -> Keep:
    """Returns what tells retries of groups among delayed messages."""
    wanted = {retry_topic(group) for group in groups}

    def keep(item: StoredMessage) -> bool:
        real = item.message.properties.get(REAL_TOPIC, "")
        return real in wanted if wanted else real.startswith(RETRY_PREFIX)

    return keep


def _levels(broker: LiveBroker) -> DelayLevelTable:
    return DelayLevelTable.parse(broker.config.get("messageDelayLevel", DEFAULT_LEVELS))


def _ladder(broker: LiveBroker, group: str, limit: MemberLimit | None = None) -> RetryLadder | None:
    config = broker.groups.get(group)
    if config is None and limit is None:
        return None
    ladder = RetryLadder(retry_max_times=config.retry_max_times if config else None, levels=_levels(broker))
    return ladder.of_members(limit) if limit is not None else ladder


def read_to_ends(
    asking: Asking, places: Mapping[MessageQueue, str], starts: Mapping[MessageQueue, int], request: ReadRequest
) -> ReadMessages:
    """Reads queues to their ends and keeps what is wanted.

    A queue that may not be pulled from is read entry by entry instead.
    """
    read = ReadMessages()
    kept = dict.fromkeys(starts, 0)
    going = dict(starts)
    unpacker = Unpacker()
    forbidden: set[MessageQueue] = set()
    while going:
        pages = _pages(asking, places, going, forbidden, read.errors)
        ahead: dict[MessageQueue, int] = {}
        for queue, (page, following) in pages.items():
            for message in page:
                item = unpacker.stored(message)
                if not request.keep(item):
                    unpacker.forget(item)
                    continue
                if request.limit is not None and kept[queue] >= request.limit:
                    read.more = True
                    break
                kept[queue] += 1
                read.messages.append((queue, item))
            else:
                if following is not None and following - starts[queue] >= (request.most_read or following + 1):
                    read.more = True
                elif following is not None:
                    ahead[queue] = following
        going = ahead
    return read


def _pages(
    asking: Asking,
    places: Mapping[MessageQueue, str],
    going: Mapping[MessageQueue, int],
    forbidden: set[MessageQueue],
    errors: dict[MessageQueue, MqctlError],
) -> dict[MessageQueue, tuple[Iterable[Message], int | None]]:
    """Reads one page of each queue; with it the offset of the next one, None at the end."""
    pages: dict[MessageQueue, tuple[Iterable[Message], int | None]] = {}
    pulls = asking.put(
        (queue, places[queue], messages.pull(READER_GROUP, queue.topic, queue.queue_id, offset, max_count=_PAGE))
        for queue, offset in going.items()
        if queue not in forbidden
    )
    for queue, pulled in pulls.values.items():
        # OFFSET_MOVED names the place to go on from; it may lie behind when a queue was emptied.
        onward = pulled.status is not messages.PullStatus.NO_NEW_MESSAGE and pulled.next_offset > going[queue]
        pages[queue] = (pulled.messages, pulled.next_offset if onward else None)
    for queue, error in pulls.errors.items():
        if refused_with(error, _NO_PERMISSION):
            forbidden.add(queue)
        else:
            errors[queue] = error
    entries = asking.put(
        (queue, places[queue], ask.queue_entries(queue.topic, queue.queue_id, offset, _PAGE))
        for queue, offset in going.items()
        if queue in forbidden
    )
    errors |= entries.errors
    wanted = [
        (queue, index, entry.physic_offset)
        for queue, data in entries.values.items()
        if data is not None
        for index, entry in enumerate(data.queue_data)
    ]
    records = asking.put(
        ((queue, index), places[queue], messages.message_at(physical)) for queue, index, physical in wanted
    )
    for queue, data in entries.values.items():
        count = len(data.queue_data) if data is not None else 0
        page = [records.values[queue, index] for index in range(count) if (queue, index) in records.values]
        pages[queue] = (page, going[queue] + count if count else None)
    for (queue, _), error in records.errors.items():
        errors[queue] = error
    return pages
