"""Who reads a topic of a live cluster, and the keys of its newest messages."""

from __future__ import annotations

from collections.abc import Mapping

from mqctl.client.admin import broker_queries as ask
from mqctl.model.gap import Gap, Part
from mqctl.model.member import GroupMembership, MessageModel
from mqctl.model.message import SHARDING_KEY
from mqctl.model.queue import MessageQueue
from mqctl.model.topic_use import Reader, TopicUse
from mqctl.snapshot.live.asking import Answers, Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups, ask_offsets
from mqctl.snapshot.live.members import gather_memberships
from mqctl.snapshot.live.messages import all_bounds, peek
from mqctl.text import sentence

_SAMPLED = 128


def all_told(brokers: list[LiveBroker]) -> None:
    """Raises UnreachableError when a broker left a question unanswered: a change must not rest on half a picture;
    PermissionDeniedError when it refused to tell."""
    for broker in brokers:
        if broker.gaps:
            problem = sentence(
                "snapshot-part-not-reported",
                "broker {name} did not report its {part}",
                name=broker.name,
                part=broker.gaps[0].part,
            )
            raise broker.gaps[0].as_error(
                problem, sentence("snapshot-wait-or-name-others", "wait for it, or name the others with --broker")
            )


def topic_use(asking: Asking, holders: list[LiveBroker], topic: str) -> TopicUse:
    """Asks the brokers that have a topic who reads it, and how far.

    Raises:
        UnreachableError, PermissionDeniedError: one of them does not tell.
    """
    places = queue_places(holders, topic)
    ends = all_bounds(asking, places, sentence("nothing-changed", "nothing was changed"))
    answers = groups_of_topic(asking, holders, topic)
    for number, error in answers.errors.items():
        problem = sentence(
            "broker-did-not-list",
            "broker {brokers} did not list the readers of {topic}",
            brokers=holders[number].name,
            topic=topic,
        )
        raise Gap.of(Part.GROUPS, error).as_error(problem, sentence("snapshot-wait-for-broker", "wait for the broker"))
    all_told(holders)
    groups = frozenset().union(*answers.values.values())
    if not groups:
        return TopicUse(topic=topic, bounds=ends, readers=())
    ask_offsets(asking, holders, Scope(groups=groups))
    members = gather_memberships(asking, holders, Scope(groups=groups))
    all_told(holders)
    return TopicUse(
        topic=topic, bounds=ends, readers=tuple(_reader(group, topic, holders, members) for group in sorted(groups))
    )


def _reader(
    group: str, topic: str, holders: list[LiveBroker], members: Mapping[int, tuple[GroupMembership, ...]]
) -> Reader:
    mine = [item for items in members.values() for item in items if item.group == group]
    subscribing = [item for item in mine if any(one.topic == topic for one in item.subscriptions)]
    return Reader(
        group=group,
        member_count=len({client for item in subscribing for client in item.client_ids}),
        broadcasting=any(item.message_model is MessageModel.BROADCASTING for item in subscribing),
        offsets={
            MessageQueue(topic, broker.name, queue_id): offset
            for broker in holders
            for (name, of_topic, queue_id), offset in broker.offsets.items()
            if (name, of_topic) == (group, topic)
        },
    )


def queue_places(holders: list[LiveBroker], topic: str) -> dict[MessageQueue, str]:
    """Returns every queue that a topic's settings allow to be read or written, with its master's address."""
    return {
        MessageQueue(topic, broker.name, number): broker.address.address
        for broker in holders
        if (config := broker.topics.get(topic)) is not None
        for number in range(max(config.read_queue_count, config.write_queue_count))
    }


def sampled_keys(
    asking: Asking, use: TopicUse, holders: list[LiveBroker]
) -> tuple[list[tuple[str, MessageQueue]], str]:
    """Reads the newest messages of each queue; returns their keys with the queue, and what kind of key that is.

    Sharding keys count where any message has one, else the first of a message's keys. Queues that cannot be read are
    left out: a sample stays one.
    """
    places = queue_places(holders, use.topic)
    starts = {queue: max(low, high - _SAMPLED) for queue, (low, high) in use.bounds.items() if high > low}
    messages, _ = peek(asking, places, starts, _SAMPLED)
    owner = {broker.address.address: broker.name for broker in holders}
    located = [
        (item.message, MessageQueue(use.topic, name, item.message.queue_id))
        for item in messages
        if (name := owner.get(item.message.store_host)) is not None
    ]
    sharded = [(key, queue) for message, queue in located if (key := message.properties.get(SHARDING_KEY)) is not None]
    if sharded:
        return sharded, "sharding keys"
    return [(message.keys[0], queue) for message, queue in located if message.keys], "keys"


def groups_of_topic(asking: Asking, brokers: list[LiveBroker], topic: str) -> Answers[int, frozenset[str]]:
    """Returns the groups that subscribe a topic or have offsets on it, by the broker's place in `brokers`.

    5.3.3 names those with offsets, and instead of those online without any the topic itself
    (`ConsumerManager.topicGroupTable`): they are found among the members of all groups then. What these do not tell
    becomes a gap of the broker.
    """
    answers = asking.put((number, item.address.address, ask.topic_groups(topic)) for number, item in enumerate(brokers))
    groups = {number: frozenset(names) - {topic} for number, names in answers.values.items()}
    blurred = [number for number, names in answers.values.items() if topic in names]
    if blurred:
        looked = [LiveBroker(address=brokers[number].address) for number in blurred]
        ask_groups(asking, looked, Scope())
        members = gather_memberships(asking, looked, Scope())
        for place, number in enumerate(blurred):
            online = (item for item in members.get(place, ()) if any(s.topic == topic for s in item.subscriptions))
            groups[number] |= {item.group for item in online}
            brokers[number].gaps += looked[place].gaps
    return Answers(groups, answers.errors)
