"""What the topic commands share: settings, queues and groups of one topic, gathered from the brokers that have it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mqctl.cli.live_brokers import open_brokers
from mqctl.client import broker as ask
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.config import TopicConfig
from mqctl.model.unavailable import Part, Unavailable
from mqctl.render.topics import GroupOfTopic, QueueRow, queue_rows
from mqctl.snapshot.live_asking import Asking, refused_with
from mqctl.snapshot.live_brokers import LiveBroker, ask_topics, masters_of
from mqctl.snapshot.live_queues import queue_bounds

_NO_TOPIC = frozenset({17})


@dataclass
class LiveTopic:
    """One topic on the brokers that have it."""

    configs: dict[str, TopicConfig] = field(default_factory=dict)
    queues: list[QueueRow] = field(default_factory=list)
    groups: list[GroupOfTopic] = field(default_factory=list)
    gaps: list[Unavailable] = field(default_factory=list)


def topic_holders(asking: Asking, topic: str) -> list[LiveBroker]:
    """Returns the masters that have a topic, and those that could not be asked.

    Raises:
        NotFoundError: every broker answered, and none has it.
    """
    brokers = masters_of(open_brokers(asking))
    ask_topics(asking, brokers)
    holders = [broker for broker in brokers if topic in broker.topics or broker.gaps]
    if not holders:
        raise NotFoundError(f"there is no topic {topic}", remedy="mqctl topic list --all")
    return holders


def topic_queues(asking: Asking, holders: list[LiveBroker], topic: str) -> list[QueueRow]:
    """Returns the queues of a topic, by broker name and queue id."""
    wanted = [(number, topic) for number, broker in enumerate(holders) if topic in broker.topics]
    bounds = queue_bounds(asking, holders, wanted)
    return queue_rows((holders[number].name, queue) for number in sorted(bounds) for queue in bounds[number])


def topic_groups(asking: Asking, holders: list[LiveBroker], topic: str) -> list[GroupOfTopic]:
    """Returns the consumer groups of a topic; 5.x names the topic itself among them, which is none."""
    answers = asking.put(
        (number, broker.address.address, ask.topic_groups(topic))
        for number, broker in enumerate(holders)
        if topic in broker.topics
    )
    known: dict[str, list[str]] = {}
    for number, names in answers.values.items():
        for name in names:
            if name != topic:
                known.setdefault(name, []).append(holders[number].name)
    for number, error in answers.errors.items():
        _note(holders[number], error)
    return [GroupOfTopic(group=name, brokers=", ".join(sorted(brokers))) for name, brokers in sorted(known.items())]


def _note(broker: LiveBroker, error: MqctlError) -> None:
    if not refused_with(error, _NO_TOPIC):
        broker.gaps.append(Unavailable(part=Part.GROUPS, reason=str(error)))
