"""The newest messages of the busiest queues of live brokers: of retry topics and of those of applications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from mqctl.client.admin import broker_queries as ask
from mqctl.client.admin.broker_messages import message_at
from mqctl.errors import MqctlError
from mqctl.model.gap import Part
from mqctl.model.message import (
    DELAY,
    REAL_TOPIC,
    RETRY_TOPIC,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    Message,
)
from mqctl.model.names import group_of, is_retry_topic
from mqctl.model.newest import NewestMessage
from mqctl.model.numbers import decimal
from mqctl.model.queue_state import QueueState
from mqctl.model.spans import DAY_MS
from mqctl.snapshot.live.asking import Asking
from mqctl.snapshot.live.brokers import LiveBroker

# So many queues of each kind, so many messages of each, and none that is longer: bodies come along.
_QUEUES, _RETRIES, _SENT, _LONGEST_BYTES = 32, 8, 4, 16_384
_HELD_BACK = frozenset(
    {DELAY, REAL_TOPIC, RETRY_TOPIC, TRANSACTION_CHECK_TIMES, TRAN_PREPARED_QUEUE_OFFSET, "TRAN_MSG"}
)
_Place: TypeAlias = tuple[int, str, int]


def ask_newest(
    asking: Asking, brokers: list[LiveBroker], queues: Mapping[int, tuple[QueueState, ...]], now_ms: int
) -> None:
    """Reads the newest messages of the queues that got one last; `queues` by the number of the broker in `brokers`.

    What is older than a day tells nothing of today. A broker that does not tell gets one gap.
    """
    wanted = _wanted(queues, now_ms)
    entries = asking.put(
        (place, brokers[place[0]].address.address, ask.queue_entries(place[1], place[2], first, count))
        for place, (first, count) in wanted.items()
    )
    places = {
        (*place, number): entry.physic_offset
        for place, entries_of_queue in entries.values.items()
        if entries_of_queue is not None
        for number, entry in enumerate(entries_of_queue.queue_data[: wanted[place][1]])
        if entry.physic_size <= _LONGEST_BYTES
    }
    answers = asking.put(
        (place, brokers[place[0]].address.address, message_at(physical)) for place, physical in places.items()
    )
    first: dict[int, MqctlError] = {}
    for failed in (entries.errors, answers.errors):
        for at, error in failed.items():
            first.setdefault(at[0], error)
    for number, error in sorted(first.items()):
        brokers[number].miss(Part.NEWEST, error)
    for place, message in sorted(answers.values.items()):
        if (message.topic, message.queue_id, message.physical_offset) == (place[1], place[2], places[place]):
            brokers[place[0]].newest += (_newest(message),)


def _wanted(queues: Mapping[int, tuple[QueueState, ...]], now_ms: int) -> dict[_Place, tuple[int, int]]:
    """Returns where to begin and how many to read: of each topic the queue of a broker that got a message last."""
    newest: dict[tuple[int, str], QueueState] = {}
    for number, states in queues.items():
        for state in states:
            known = newest.get((number, state.topic))
            if state.max_offset > state.min_offset and (known is None or _stored_ms(state) > _stored_ms(known)):
                newest[number, state.topic] = state
    recent = {place: state for place, state in newest.items() if now_ms - _stored_ms(state) <= DAY_MS}
    ranked = sorted(recent.items(), key=lambda item: (-_stored_ms(item[1]), item[0]))
    retries = [item for item in ranked if is_retry_topic(item[0][1])][:_QUEUES]
    sent = [item for item in ranked if group_of(item[0][1]) is None][:_QUEUES]
    return {
        (number, topic, state.queue_id): (max(state.min_offset, state.max_offset - count), count)
        for some, count in ((retries, _RETRIES), (sent, _SENT))
        for (number, topic), state in some
    }


def _stored_ms(state: QueueState) -> int:
    return state.last_store_time_ms or 0


def _newest(message: Message) -> NewestMessage:
    attempts = decimal(message.properties.get("RECONSUME_TIME"))
    return NewestMessage(
        topic=message.topic,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        born_time_ms=message.born_time_ms,
        store_time_ms=message.store_time_ms,
        born_host=message.born_host,
        unique_key=message.unique_key,
        retry_count=max(message.reconsume_times, attempts or 0),
        most_retries=decimal(message.properties.get("MAX_RECONSUME_TIMES")),
        direct=_HELD_BACK.isdisjoint(message.properties),
    )
