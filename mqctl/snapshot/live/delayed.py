"""Messages by key or id wherever they are: in their topic, or with their broker, which keeps them until they are due.

Brokers index a delayed message by the topic they keep it in, and its copy by its own when they deliver it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mqctl.client.admin import broker_messages as messages
from mqctl.client.admin import broker_queries as ask
from mqctl.client.remoting.question import Question
from mqctl.errors import MqctlError, PermissionDeniedError
from mqctl.model.delay_level import DEFAULT_LEVELS, DelayLevelTable
from mqctl.model.message import REAL_TOPIC, Message
from mqctl.model.names import SCHEDULE_TOPIC, TIMER_TOPIC
from mqctl.model.numbers import decimal
from mqctl.model.spans import FAR
from mqctl.model.stored_message import PendingDelivery, StoredMessage
from mqctl.protocol.unpacking import Unpacker
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.messages import KeyQuery, by_key, by_unique_key, indexed

_OUT_MS = "TIMER_OUT_MS"
_KEEPING = (SCHEDULE_TOPIC, TIMER_TOPIC)


def look_up(asking: Asking, query: KeyQuery, *, unique: bool) -> tuple[list[StoredMessage], list[MqctlError]]:
    """Returns the messages of a topic with a key or a unique id, those that wait to be delivered to it last, and why a
    broker could not be asked. Accounts of applications may not read where brokers keep messages: that is a failure only
    where nothing was found.

    Raises:
        NotFoundError: there is no such topic.
    """
    messages, errors = by_unique_key(asking, query) if unique else by_key(asking, query)
    if query.topic in _KEEPING:
        shown, failed = with_due(asking, messages)
        return shown, _once([*errors, *failed])
    if unique and messages:  # it was delivered
        return messages, errors
    kept: list[Message] = []
    for topic in _KEEPING:
        records, failed = indexed(asking, query, unique=unique, kept_in=topic)
        kept += [item for item in records if item.properties.get(REAL_TOPIC) == query.topic]
        errors += [error for error in failed if not (messages and isinstance(error, PermissionDeniedError))]
    there = {item.message.unique_key for item in messages}
    left = {item.unique_key or item.physical_offset: item for item in kept if item.unique_key not in there}
    waiting, failed = with_due(asking, map(Unpacker().stored, left.values()))
    return [*messages, *(item for item in waiting if item.waiting is not None)][: query.count], _once(
        [*errors, *failed]
    )


def _once(errors: Iterable[MqctlError]) -> list[MqctlError]:
    return list({str(error): error for error in errors}.values())


def with_due(asking: Asking, messages: Iterable[StoredMessage]) -> tuple[list[StoredMessage], list[MqctlError]]:
    """Returns the same messages, those that their broker keeps and has not delivered with what they wait for; and why
    that could not be asked."""
    listed = list(messages)
    kept = {
        _place(item.message): item.message
        for item in listed
        if item.message.topic in _KEEPING and REAL_TOPIC in item.message.properties
    }
    configs = asking.put((host, host, ask.broker_settings()) for host in sorted({host for host, _ in kept}))
    copies = asking.put((place, place[0], _copies(item)) for place, item in kept.items() if item.unique_key is not None)
    waiting = {
        place: _waiting(item, configs.values.get(place[0]))
        for place, item in kept.items()
        if place not in copies.errors and not any(_delivers(item, copy) for copy in copies.values.get(place, ()))
    }
    shown = [replace(one, waiting=waiting.get(_place(one.message))) for one in listed]
    return shown, _once([*configs.errors.values(), *copies.errors.values()])


def _place(message: Message) -> tuple[str, int]:
    return message.store_host, message.physical_offset


def _copies(item: Message) -> Question[tuple[Message, ...]]:
    topic, key = item.properties[REAL_TOPIC], item.unique_key or ""
    return messages.messages_by_key(topic, key, begin_ms=item.store_time_ms, end_ms=FAR, unique=True)


def _delivers(item: Message, copy: Message) -> bool:
    return copy.unique_key == item.unique_key and copy.physical_offset > item.physical_offset


def _waiting(item: Message, settings: Mapping[str, str] | None) -> PendingDelivery:
    topic = item.properties[REAL_TOPIC]
    if item.topic == TIMER_TOPIC:
        return PendingDelivery(topic=topic, level=None, due_time_ms=decimal(item.properties.get(_OUT_MS)))
    level = item.queue_id + 1
    levels = None if settings is None else settings.get("messageDelayLevel", DEFAULT_LEVELS)
    delay_ms = None if levels is None else DelayLevelTable.parse(levels).delay_ms(level)
    due_ms = None if delay_ms is None else item.store_time_ms + delay_ms
    return PendingDelivery(topic=topic, level=level, due_time_ms=due_ms)
