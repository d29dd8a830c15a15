"""Queues and committed offsets of live brokers, with the store times that lag needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from mqctl.client.admin import broker_queries as ask
from mqctl.model.gap import GapSubject, Part
from mqctl.model.names import is_system_topic
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.protocol.bodies_stats import ConsumeTimeSpan
from mqctl.protocol.codes import NO_TOPIC
from mqctl.snapshot.live.asking import Asking, Scope, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, split_offset_key

_FIRST_MS = 1_000_000_000_000  # in 2001; RocketMQ is younger


def gather_queues(asking: Asking, brokers: list[LiveBroker], scope: Scope) -> dict[int, tuple[QueueState, ...]]:
    """Asks for the bounds of every queue of every topic in question, by the number of the broker in `brokers`.

    A topic that was deleted meanwhile has no queues; it is no gap.
    """
    wanted = [(number, topic) for number, broker in enumerate(brokers) for topic in broker.user_topics(scope)]
    return queue_bounds(asking, brokers, wanted)


def queue_bounds(
    asking: Asking, brokers: list[LiveBroker], wanted: list[tuple[int, str]]
) -> dict[int, tuple[QueueState, ...]]:
    """Asks for the bounds of the queues of topics, given as (number of the broker, topic)."""
    answers = asking.put(
        ((number, topic), brokers[number].address.address, ask.topic_stats(topic)) for number, topic in wanted
    )
    queues: dict[int, list[QueueState]] = {}
    for number, topic in wanted:
        error = answers.errors.get((number, topic))
        if error is not None:
            if refused_with(error, NO_TOPIC):
                brokers[number].absent_topics.add(topic)
            else:
                brokers[number].miss(Part.QUEUES, error, GapSubject(topic=topic))
            continue
        for queue, bounds in answers.values[number, topic].offset_table.items():
            queues.setdefault(number, []).append(
                QueueState(
                    topic=queue.topic,
                    queue_id=queue.queue_id,
                    min_offset=bounds.min_offset,
                    max_offset=bounds.max_offset,
                    last_store_time_ms=bounds.last_update_timestamp or None,
                )
            )
    return {number: tuple(sorted(states, key=_place)) for number, states in queues.items()}


def with_hidden_queues(
    asking: Asking,
    brokers: list[LiveBroker],
    queues: dict[int, tuple[QueueState, ...]],
    scope: Scope,
    *,
    removed: bool = True,
) -> dict[int, tuple[QueueState, ...]]:
    """Adds queues in which groups have offsets and that brokers do not list, of brokers whose topics are known.

    Request 202 leaves out the queues that a topic had before it was made smaller, and with 4.9 those that are only read
    any more (`AdminBrokerProcessor.getTopicStatsInfo`: up to `writeQueueNums`); brokers tell their bounds when asked.

    RocketMQ's own topics are left out.

    Args:
        removed: those that the topic does not have any more as well.
    """
    untold = {(number, gap.topic) for number, broker in enumerate(brokers) for gap in broker.gaps}
    seen = {(number, state.topic, state.queue_id) for number, states in queues.items() for state in states}
    hidden = sorted(
        {
            (number, topic, queue_id)
            for number, broker in enumerate(brokers)
            for _, topic, queue_id in broker.offsets
            if (config := broker.topics.get(topic)) is not None
            and (removed or queue_id < max(config.read_queue_count, config.write_queue_count))
            and (number, topic) not in untold
            and not is_system_topic(topic)
            and scope.has_topic(topic)
        }
        - seen
    )
    places = [(key, brokers[key[0]].address.address) for key in hidden]
    ends = asking.put((key, address, ask.max_offset(*key[1:])) for key, address in places)
    begins = asking.put((key, address, ask.min_offset(*key[1:])) for key, address in places if ends.values.get(key))
    for (number, topic, queue_id), error in sorted((*ends.errors.items(), *begins.errors.items())):
        brokers[number].miss(Part.QUEUES, error, GapSubject(topic=topic, queue_id=queue_id))
    more: dict[int, list[QueueState]] = {number: [*states] for number, states in queues.items()}
    for key, first in begins.values.items():
        state = QueueState(topic=key[1], queue_id=key[2], min_offset=max(0, first), max_offset=ends.values[key])
        more.setdefault(key[0], []).append(state)
    return {number: tuple(sorted(states, key=_place)) for number, states in more.items()}


def ask_expired_again(asking: Asking, brokers: list[LiveBroker], queues: Mapping[int, tuple[QueueState, ...]]) -> None:
    """Asks for offsets once more that seem to lie before what retention left: they were asked for before the begins of
    queues, and a group that was near may have gone on, and what it had consumed been deleted, in between."""
    early = {number: places for number, states in queues.items() if (places := _before_begin(brokers[number], states))}
    answers = asking.put((number, brokers[number].address.address, ask.all_consumer_offsets()) for number in early)
    for number, table in answers.values.items():
        for key, committed in table.offset_table.items():
            topic, group = split_offset_key(key)
            for queue_id, offset in committed.items():
                end = early[number].get((group, topic, queue_id))
                if end is not None:
                    brokers[number].offsets[group, topic, queue_id] = min(offset, end)


def _before_begin(broker: LiveBroker, states: Iterable[QueueState]) -> dict[tuple[str, str, int], int]:
    """Returns the ends of queues in which a group's offset lies before the begin, by group, topic and queue id."""
    bounds = {(state.topic, state.queue_id): (state.min_offset, state.max_offset) for state in states}
    return {
        place: bounds[place[1:]][1]
        for place, offset in broker.offsets.items()
        if place[1:] in bounds and offset < bounds[place[1:]][0]
    }


def _place(queue: QueueState) -> tuple[str, int]:
    return queue.topic, queue.queue_id


def first_store_times(
    asking: Asking, brokers: list[LiveBroker], queues: list[tuple[str, QueueState]]
) -> list[tuple[str, QueueState]]:
    """Asks when the first message of each queue was stored, of queues given with the name of their broker."""
    numbers = {broker.name: number for number, broker in enumerate(brokers)}
    answers = asking.put(
        (
            (numbers[name], queue.topic, queue.queue_id),
            brokers[numbers[name]].address.address,
            ask.earliest_store_time(queue.topic, queue.queue_id),
        )
        for name, queue in queues
        if queue.message_count
    )
    for (number, topic, queue_id), error in sorted(answers.errors.items()):
        if not refused_with(error, NO_TOPIC):
            brokers[number].miss(Part.QUEUES, error, GapSubject(topic=topic, queue_id=queue_id))
    return [
        (name, replace(queue, first_store_time_ms=answers.values.get((numbers[name], queue.topic, queue.queue_id))))
        for name, queue in queues
    ]


def gather_offsets(
    asking: Asking, brokers: list[LiveBroker], queues: dict[int, tuple[QueueState, ...]], now_ms: int
) -> dict[int, tuple[ConsumerOffsetState, ...]]:
    """Joins committed offsets with the age of the next message where something waits.

    The age is the broker's own (request 303), so that clocks that differ between it and this machine do not matter.
    """
    ages = ask_ages(asking, brokers, lagging_places(brokers, queues), now_ms)
    return offset_states(brokers, ages, now_ms)


Place: TypeAlias = tuple[int, str, str]
Ages: TypeAlias = dict[tuple[int, str, str, int], int]
"""How old the next message of a group is, by (number of the broker, group, topic, queue id)."""


def lagging_places(brokers: list[LiveBroker], queues: dict[int, tuple[QueueState, ...]]) -> list[Place]:
    """Returns where something waits, by (number of the broker, group, topic)."""
    lagging: set[Place] = set()
    for number, broker in enumerate(brokers):
        ends = {(queue.topic, queue.queue_id): queue.max_offset for queue in queues.get(number, ())}
        for (group, topic, queue_id), offset in broker.offsets.items():
            if ends.get((topic, queue_id), 0) > offset:
                lagging.add((number, group, topic))
    return sorted(lagging)


def ask_ages(asking: Asking, brokers: list[LiveBroker], places: list[Place], now_ms: int) -> Ages:
    """Asks for the age of the next message to consume in each place."""
    answers = asking.put(
        (key, brokers[key[0]].address.address, ask.consume_time_spans(key[2], key[1])) for key in places
    )
    ages: Ages = {}
    for key, spans in answers.values.items():
        for span in spans:
            age_ms = _age_ms(span, now_ms)
            if age_ms is not None:
                ages[(*key, span.message_queue.queue_id)] = age_ms
    for key, error in sorted(answers.errors.items()):
        number, group, topic = key
        if not refused_with(error, NO_TOPIC):
            brokers[number].miss(Part.STORE_TIMES, error, GapSubject(group=group, topic=topic))
    return ages


def offset_states(brokers: list[LiveBroker], ages: Ages, now_ms: int) -> dict[int, tuple[ConsumerOffsetState, ...]]:
    """Joins committed offsets with the ages that were asked for."""
    return {
        number: tuple(
            ConsumerOffsetState(
                group=group,
                topic=topic,
                queue_id=queue_id,
                offset=offset,
                next_store_time_ms=_before(now_ms, ages.get((number, group, topic, queue_id))),
            )
            for (group, topic, queue_id), offset in sorted(broker.offsets.items())
        )
        for number, broker in enumerate(brokers)
    }


def _age_ms(span: ConsumeTimeSpan, now_ms: int) -> int | None:
    """Returns the age of the next message to consume, None when nothing tells it.

    It is 0 where the group has consumed what waited when the offsets were read. A broker subtracts the store time of
    the message at the group's offset, which is -1 once retention deleted it: the answer is an age of half a century
    then, and the oldest message that is left counts.
    """
    if span.delay_time < 0:
        return None  # the broker's clock went back
    if span.delay_time < now_ms - _FIRST_MS:
        return span.delay_time
    return now_ms - span.min_time_stamp if span.min_time_stamp > 0 else None


def _before(now_ms: int, age_ms: int | None) -> int | None:
    return None if age_ms is None else now_ms - age_ms
