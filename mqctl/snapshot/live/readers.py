"""Who reads a topic, as brokers of both releases tell it."""

from __future__ import annotations

from mqctl.client.admin import broker_queries as ask
from mqctl.snapshot.live.asking import Answers, Asking, Scope
from mqctl.snapshot.live.brokers import LiveBroker, ask_groups
from mqctl.snapshot.live.members import gather_memberships


def groups_of_topic(asking: Asking, brokers: list[LiveBroker], topic: str) -> Answers[int, frozenset[str]]:
    """Returns the groups that subscribe a topic or have offsets on it, by the broker's place in `brokers`.

    5.3.3 names those with offsets, and instead of those online without any the topic itself
    (`ConsumerManager.topicGroupTable`): they are found among the members of all groups then. What these do not tell
    becomes a gap of the broker.
    """
    answers = asking.put((number, item.address.address, ask.topic_groups(topic)) for number, item in enumerate(brokers))
    found = {number: frozenset(names) - {topic} for number, names in answers.values.items()}
    blurred = [number for number, names in answers.values.items() if topic in names]
    if blurred:
        looked = [LiveBroker(address=brokers[number].address) for number in blurred]
        ask_groups(asking, looked, Scope())
        members = gather_memberships(asking, looked, Scope())
        for place, number in enumerate(blurred):
            online = (item for item in members.get(place, ()) if any(s.topic == topic for s in item.subscriptions))
            found[number] |= {item.group for item in online}
            brokers[number].gaps += looked[place].gaps
    return Answers(found, answers.errors)
