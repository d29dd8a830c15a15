"""What the topic commands share: settings, queues and groups of one topic, gathered from the brokers that have it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from time import time

from mqctl.cli.sources.live_or_saved import LiveOrSaved
from mqctl.commands.topic.rows import GroupOfTopic, QueueRow, queue_rows
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.command_line import command_line
from mqctl.model.gap import Gap, Part
from mqctl.model.lag import QueueLag
from mqctl.model.names import retry_topic
from mqctl.model.names_alike import meant
from mqctl.protocol.codes import NO_TOPIC
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, ask_topics, masters_of
from mqctl.snapshot.live.topic_use import groups_of_topic
from mqctl.text import sentence


def topic_holders(source: LiveOrSaved, topic: str) -> list[LiveBroker]:
    """Returns the masters that have a topic, and those that could not be asked.

    Raises:
        NotFoundError: every broker answered, and none has it.
    """
    brokers = masters_of(source.brokers({Part.TOPICS, Part.QUEUES}))
    source.ask(ask_topics, brokers)
    holders = [broker for broker in brokers if topic in broker.topics or broker.gaps]
    if not holders:
        known = {name for broker in brokers for name in broker.topics}
        if retry_topic(topic) in known:
            group = command_line("mqctl group describe {}", topic)
            raise NotFoundError(
                sentence("no-topic", "there is no topic {topic}", topic=topic),
                reason=sentence("shared-consumer-group", "it is a consumer group"),
                remedy=group,
            )
        raise NotFoundError(
            sentence("no-topic", "there is no topic {topic}", topic=topic),
            remedy=meant(topic, known, "mqctl topic list --all"),
        )
    return holders


def topic_queues(source: LiveOrSaved, holders: list[LiveBroker], topic: str) -> list[QueueRow]:
    """Returns the queues of a topic, by broker name and queue id."""
    return queue_rows(source.queues(holders, topic))


def retained_queues(source: LiveOrSaved, holders: list[LiveBroker], topic: str) -> list[QueueRow]:
    """Returns the queues of a topic with the store times of their first messages."""
    return queue_rows(source.retained(holders, topic))


def chosen_queues(rows: list[QueueRow], topic: str, ids: Collection[int] | None) -> list[QueueRow]:
    """Returns the queues with certain ids, all without any.

    Raises:
        NotFoundError: the topic has no such queue.
    """
    if not ids:
        return rows
    known = {row.queue_id for row in rows}
    missing = sorted(set(ids) - known)
    if missing:
        there = (
            sentence("topics-queues-from-to", "its queues are {first} to {last}", first=min(known), last=max(known))
            if known
            else sentence("topics-no-queue-asked", "it has none that could be asked for")
        )
        raise NotFoundError(
            sentence("topic-no-queue", "topic {topic} has no queue {missing}", topic=topic, missing=missing[0]),
            reason=there,
        )
    return [row for row in rows if row.queue_id in ids]


def topic_consumers(source: LiveOrSaved, topic: str, ids: Collection[int]) -> tuple[list[QueueLag], list[Gap]]:
    """Returns every group in certain queues of a topic, with the owners as members tell; and what was not told."""
    from mqctl.lag.current import LagRequest, current_lag

    now_ms = round(time() * 1000)
    request = LagRequest(topics=(topic,), system=True, with_consumers=True)
    if source.asking is not None:
        from mqctl.snapshot.live.lag import live_lag

        lag = live_lag(source.asking.cluster, source.asking.deadline, request, now_ms=now_ms)
    else:
        from mqctl.snapshot.saved_lag import saved_lag

        lag = current_lag(saved_lag(source.saved) if source.saved else [], request, now_ms=now_ms)
    rows = [row for row in lag.report.queues if row.queue_id in ids]
    return sorted(rows, key=lambda row: (not row.owners, row.group, row.broker_name or "", row.queue_id)), [
        *lag.gaps,
        *lag.minor_gaps,
    ]


def topic_groups(source: LiveOrSaved, holders: list[LiveBroker], topic: str) -> list[GroupOfTopic]:
    """Returns the consumer groups of a topic."""
    rows = _told(source.asking, holders, topic) if source.asking else _saved(source, holders, topic)
    known: dict[str, list[str]] = {}
    for number, names in rows.items():
        for name in names:
            known.setdefault(name, []).append(holders[number].name)
    modes = source.declared_modes([broker for broker in holders if topic in broker.topics], topic) if known else {}
    return [
        GroupOfTopic(
            group=name, brokers=", ".join(sorted(brokers)), consume_mode=", ".join(sorted(modes.get(name, ()))) or None
        )
        for name, brokers in sorted(known.items())
    ]


def _told(asking: Asking, holders: list[LiveBroker], topic: str) -> Mapping[int, Collection[str]]:
    having = [number for number, broker in enumerate(holders) if topic in broker.topics]
    answers = groups_of_topic(asking, [holders[number] for number in having], topic)
    for place, error in answers.errors.items():
        _note(holders[having[place]], error)
    return {having[place]: names for place, names in answers.values.items()}


def _saved(source: LiveOrSaved, holders: list[LiveBroker], topic: str) -> Mapping[int, Collection[str]]:
    """What a broker answers to request 300: groups online that subscribe the topic, and groups with offsets on it."""
    online = source.memberships(holders)
    return {
        number: tuple(
            {
                *(item.group for item in online.get(number, ()) if any(s.topic == topic for s in item.subscriptions)),
                *(group for group, name, _ in broker.offsets if name == topic),
            }
        )
        for number, broker in enumerate(holders)
    }


def _note(broker: LiveBroker, error: MqctlError) -> None:
    if not refused_with(error, NO_TOPIC):
        broker.miss(Part.GROUPS, error)
