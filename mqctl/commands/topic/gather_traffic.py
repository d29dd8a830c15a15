"""What goes into topics and out to groups, from the brokers' own counters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import field

from mqctl.cli.sources.brokers import open_brokers
from mqctl.client.admin import broker_queries as ask
from mqctl.commands.topic.traffic_view import GroupTraffic, TopicTraffic
from mqctl.errors import MqctlError, NotFoundError
from mqctl.model.gap import Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.names import is_system_topic
from mqctl.model.names_alike import meant
from mqctl.model.spans import DAY_MS
from mqctl.protocol.bodies_stats import BrokerStatsData
from mqctl.protocol.codes import NO_TOPIC
from mqctl.snapshot.live.asking import Asking, refused_with
from mqctl.snapshot.live.brokers import LiveBroker, ask_topics, masters_of
from mqctl.text import sentence

# `AdminBrokerProcessor.viewBrokerStatsData`: a counter exists from the first message on; before that the answer is 1.
_NO_COUNTER = frozenset({1})
Place = tuple[int, str]
Places = dict[Place, tuple[str, ...]]


@dataclass(slots=True)
class _Sum:
    """Counters of several brokers, added up; None as soon as one of them could not be asked.

    Attributes:
        unsampled: brokers, by number, that count and tell none of it: a counter begins with a message, and its spans
            are sampled every ten seconds, ten minutes and hour (`StatsItemSet.init`), twice before they say anything.
    """

    tps: float | None = 0.0
    day_count: int | None = 0
    unsampled: set[int] = field(default_factory=set)

    def add(self, number: int, data: BrokerStatsData) -> None:
        if self.tps is not None and self.day_count is not None:
            self.tps = round(self.tps + data.stats_minute.tps, 2)
            # The wider spans are sampled late (`StatsAllSubCommand.compute24HourSum` of 4.9.8 reads them so).
            counted = data.stats_day.sum or data.stats_hour.sum or data.stats_minute.sum
            self.day_count += counted
            if not counted:
                self.unsampled.add(number)

    def miss(self) -> None:
        self.tps = self.day_count = None


def gather_traffic(
    asking: Asking, wanted: Collection[str], *, now_ms: int, system: bool
) -> tuple[list[LiveBroker], list[TopicTraffic]]:
    """Asks every master for the counters of topics and of their groups.

    Args:
        wanted: names of topics; all unless given.
        now_ms: epoch milliseconds of this moment.
        system: include RocketMQ's own topics.

    Raises:
        NotFoundError: every broker answered, and none has a topic that was asked for.
    """
    brokers = masters_of(open_brokers(asking))
    ask_topics(asking, brokers)
    missing = sorted(set(wanted) - {name for broker in brokers for name in broker.topics})
    if missing and not any(broker.gaps for broker in brokers):
        known = {name for broker in brokers for name in broker.topics}
        remedy = meant(missing[0], known, "mqctl topic list --all")
        raise NotFoundError(sentence("no-topic", "there is no topic {topic}", topic=missing[0]), remedy=remedy)
    places = _groups(asking, brokers, list(_places(brokers, wanted, system=system)))
    ins = _sums(asking, brokers, ((number, "TOPIC_PUT_NUMS", topic) for number, topic in places))
    outs = _sums(
        asking,
        brokers,
        (
            (number, "GROUP_GET_NUMS", f"{topic}@{group}")
            for (number, topic), groups in places.items()
            for group in groups
        ),
    )
    _forget_what_is_not_sampled(asking, brokers, (ins, outs), now_ms)
    return brokers, [
        _row(topic, {group for (_, name), groups in places.items() if name == topic for group in groups}, ins, outs)
        for topic in sorted({name for _, name in places})
    ]


def _places(brokers: list[LiveBroker], wanted: Collection[str], *, system: bool) -> Iterable[Place]:
    for number, broker in enumerate(brokers):
        for name in broker.topics:
            own = is_system_topic(name) or name in broker.reserved
            if name in wanted or (not wanted and (system or not own)):
                yield number, name


def _groups(asking: Asking, brokers: list[LiveBroker], places: list[Place]) -> Places:
    answers = asking.put(
        ((number, topic), brokers[number].address.address, ask.topic_groups(topic)) for number, topic in places
    )
    for (number, _), error in answers.errors.items():
        _note(brokers[number], error, NO_TOPIC)
    # 5.x names the topic itself among the groups.
    return {place: tuple(name for name in answers.values.get(place, ()) if name != place[1]) for place in places}


def _sums(asking: Asking, brokers: list[LiveBroker], counters: Iterable[tuple[int, str, str]]) -> dict[str, _Sum]:
    """Returns the sum over the brokers of each counter, by key."""
    answers = asking.put(
        ((number, key), brokers[number].address.address, ask.statistics_item(name, key))
        for number, name, key in counters
    )
    sums: dict[str, _Sum] = defaultdict(_Sum)
    for (number, key), data in answers.values.items():
        sums[key].add(number, data)
    for (number, key), error in answers.errors.items():
        if _note(brokers[number], error, _NO_COUNTER):
            sums[key].miss()
    return sums


def _forget_what_is_not_sampled(
    asking: Asking, brokers: list[LiveBroker], sums: tuple[dict[str, _Sum], dict[str, _Sum]], now_ms: int
) -> None:
    """Takes sums of the day for unknown where a counter that tells nothing may have counted within the day: where
    messages of the topic were stored within it."""
    ins, outs = sums
    open_sums = {
        (key.partition("@")[0], number) for part in sums for key, item in part.items() for number in item.unsampled
    }
    places = sorted((number, topic) for topic, number in open_sums)
    answers = asking.put((place, brokers[place[0]].address.address, ask.topic_stats(place[1])) for place in places)
    idle = {
        place
        for place, stats in answers.values.items()
        if all(item.last_update_timestamp < now_ms - DAY_MS for item in stats.offset_table.values())
    }
    for (number, _), error in answers.errors.items():
        _note(brokers[number], error, NO_TOPIC)
    for part in (ins, outs):
        for key, item in part.items():
            if any((number, key.partition("@")[0]) not in idle for number in item.unsampled):
                item.day_count = None


def _row(topic: str, groups: Collection[str], ins: dict[str, _Sum], outs: dict[str, _Sum]) -> TopicTraffic:
    rows = [
        GroupTraffic(group=group, out_tps=out.tps, out_day_count=out.day_count)
        for group in sorted(groups)
        for out in [outs[f"{topic}@{group}"]]
    ]
    return TopicTraffic(topic=topic, in_tps=ins[topic].tps, in_day_count=ins[topic].day_count, groups=rows)


def _note(broker: LiveBroker, error: MqctlError, expected: frozenset[int]) -> bool:
    """Notes an answer that says nothing, and tells whether it is one."""
    if refused_with(error, expected):
        return False
    broker.miss(Part.CONSUMPTION, error)
    return True
