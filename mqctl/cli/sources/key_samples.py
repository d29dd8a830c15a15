"""Samples of a topic's messages with their keys, from live brokers or from a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mqctl.allocation.key_order import KeyedMessage
from mqctl.cli.sources.brokers import queue_gaps
from mqctl.client.admin.nameserver import route
from mqctl.errors import NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, GapSubject, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.message import KEYS, SHARDING_KEY, Message
from mqctl.model.own_messages import MARKS
from mqctl.model.queue import MessageQueue
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import ask_bounds, peek, queue_addresses
from mqctl.text import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySample:
    """Some messages of every queue.

    Attributes:
        queues: writable queues, as producers see them.
        gaps: queues that could not be sampled.
        key: property that holds the keys.
    """

    messages: tuple[KeyedMessage, ...]
    queues: tuple[MessageQueue, ...]
    gaps: tuple[Gap, ...]
    key: str


def live_sample(
    asking: Asking, topic: str, *, key: str | None, count: int, begins: Mapping[MessageQueue, int] | None = None
) -> KeySample:
    """Reads the newest messages of every queue; nothing is committed.

    Args:
        begins: of these queues alone, the messages from these offsets on.

    Raises:
        NotFoundError: there is no such topic.
    """
    readable = queue_addresses(asking, topic)
    ends, errors = ask_bounds(asking, readable)
    gaps = queue_gaps(errors)
    starts = {
        queue: max(low, high - count if begins is None else begins[queue])
        for queue, (low, high) in ends.items()
        if begins is None or queue in begins
    }
    pairs: list[tuple[str, Message]] = []
    for broker in sorted({queue.broker_name for queue in starts}):
        own = {queue: place for queue, place in starts.items() if queue.broker_name == broker}
        messages, errors = peek(asking, {queue: readable[queue] for queue in own}, own, count)
        pairs += [(broker, item.message) for item in messages]
        gaps += queue_gaps(errors)
    where = asking.cluster.name_servers.ask(route(topic), asking.deadline)
    writable = tuple(
        MessageQueue(topic, data.broker_name, number)
        for data in sorted(where.queue_datas, key=lambda item: item.broker_name)
        for number in range(data.write_queue_nums)
    )
    return _sample(pairs, writable, tuple(gaps), key)


def store_sample(path: Path, topic: str, *, key: str | None, count: int, broker_name: str) -> KeySample:
    """Reads the newest messages of every queue of a store directory.

    Raises:
        NotFoundError: there is no such store, or it has no such topic.
        BadInputError: it is no store.
    """
    from mqctl.errors import MqctlError
    from mqctl.snapshot.store.reading import Reading
    from mqctl.store import config_files as configs
    from mqctl.store.directory import StoreDirectory

    reading = Reading(StoreDirectory.open(path))
    pairs: list[tuple[str, Message]] = []
    gaps = []
    queue_ids = []
    bounds = reading.bounds
    for (name, queue_id), queue_bounds in bounds.items():
        if name != topic:
            continue
        queue_ids.append(queue_id)
        _, entries = reading.entries(queue_bounds, queue_bounds.max_offset - count)
        for place in entries["physical_offset"].tolist():
            try:
                pairs.append((broker_name, reading.store.commit_log.record_at(place)))
            except MqctlError as error:
                gaps.append(Gap.of(Part.MESSAGES, error, GapSubject(topic=topic, queue_id=queue_id)))
    gaps += [gap for gap in reading.gaps if gap.part is Part.QUEUES and gap.subject and gap.subject.topic == topic]
    known = {item.name: item for item in configs.topic_configs(reading.config(configs.TOPICS))}
    if not queue_ids and topic not in known:
        raise NotFoundError(
            sentence("message-store-no-topic", "the store has no topic {topic}", topic=topic),
            remedy=command_line("mqctl store describe"),
        )
    width = known[topic].write_queue_count if topic in known else max(queue_ids) + 1
    writable = tuple(MessageQueue(topic, broker_name, number) for number in range(width))
    return _sample(pairs, writable, tuple(dict.fromkeys(gaps)), key)


def wider(queues: tuple[MessageQueue, ...], per_broker: int) -> tuple[MessageQueue, ...]:
    """Returns the queues of the same topic and brokers with another number on each."""
    topic = queues[0].topic if queues else ""
    brokers = sorted({queue.broker_name for queue in queues})
    return tuple(MessageQueue(topic, broker, number) for broker in brokers for number in range(per_broker))


def _name(queue: MessageQueue) -> str:
    return f"{queue.broker_name}/{queue.queue_id}"


def _sample(
    pairs: list[tuple[str, Message]], writable: tuple[MessageQueue, ...], gaps: tuple[Gap, ...], key: str | None
) -> KeySample:
    """Takes the sharding key for the key where messages have one, KEYS otherwise, or what was asked for."""
    chosen = key
    if chosen is None:
        chosen = SHARDING_KEY if any(SHARDING_KEY in message.properties for _, message in pairs) else KEYS
    messages = tuple(
        KeyedMessage(
            queue=MessageQueue(message.topic, broker, message.queue_id),
            store_time_ms=message.store_time_ms,
            queue_offset=message.queue_offset,
            key=message.properties.get(chosen) or None,
            unique_id=message.unique_key,
            own=any(mark in message.properties for mark in MARKS),
        )
        for broker, message in pairs
    )
    return KeySample(messages=messages, queues=writable, gaps=gaps, key=chosen)
