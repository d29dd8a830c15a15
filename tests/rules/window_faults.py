"""Faults that only looks between the ends of a window show, put into the healthy cluster, and what is like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mqctl.model.config import SubscriptionGroupConfig
from mqctl.model.handed_out import HandedOut
from mqctl.model.pop_share import PopShare
from mqctl.model.queue_state import ConsumerOffsetState, QueueState
from mqctl.model.route import NameServerView
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_faults import Scene, after
from tests.rules.live_snapshots import BROKERS, LIVE, MINUTE, NOW

SECOND = 1_000
_SERVER = LIVE.name_servers[0]


def windowed(looks: Sequence[ClusterSnapshot], *, apart_ms: int = 20 * SECOND) -> ClusterSnapshot:
    """These looks one after the other; the last is at `NOW`."""
    dated = [
        replace(look, origin=replace(look.origin, observed_at_ms=NOW - (len(looks) - 1 - number) * apart_ms))
        for number, look in enumerate(looks)
    ]
    return replace(after(dated[-1], dated[0], (len(looks) - 1) * apart_ms), between=tuple(dated[1:-1]))


def without(name: str, number: int = 0, base: ClusterSnapshot = LIVE) -> ClusterSnapshot:
    """No name server lists this process."""

    def changed(view: NameServerView) -> NameServerView:
        return replace(
            view,
            endpoints=tuple(
                replace(item, addresses={key: value for key, value in item.addresses.items() if key != number})
                if item.name == name
                else item
                for item in view.endpoints
            ),
        )

    return replace(base, name_servers=tuple(map(changed, base.name_servers)))


def with_slave(base: ClusterSnapshot = LIVE) -> ClusterSnapshot:
    """Name servers list a slave of the first broker."""
    first, *others = _SERVER.endpoints
    endpoints = (replace(first, addresses={**first.addresses, 1: "192.0.2.8:10931"}), *others)
    return replace(base, name_servers=(replace(_SERVER, endpoints=endpoints),))


def booted(at_ms: int) -> ClusterSnapshot:
    first, *others = LIVE.brokers
    return replace(LIVE, brokers=(replace(first, runtime={"bootTimestamp": str(at_ms)}), *others))


def placed(committed: int, end: int, *, rt_ms: float = 1.0, group: str = "G", topic: str = "Pay") -> ClusterSnapshot:
    """Each queue of the topic ends at `end`, and the group is at `committed` in it; calls of listeners take so long."""
    numbers = (0, 1)
    brokers = tuple(
        replace(
            broker,
            queues=tuple(QueueState(topic=topic, queue_id=it, min_offset=0, max_offset=end) for it in numbers),
            consumer_offsets=tuple(
                ConsumerOffsetState(group=group, topic=topic, queue_id=it, offset=committed) for it in numbers
            ),
        )
        for broker in LIVE.brokers
    )
    running = tuple(
        replace(info, rates=tuple(replace(rate, consume_rt_ms=rt_ms) for rate in info.rates)) for info in LIVE.running
    )
    return replace(LIVE, brokers=brokers, running=running)


def handed(per_look: int, count: int, *, cached: int = 0) -> ClusterSnapshot:
    """Looks 20 s apart for two minutes: each queue passes so many between two; each broker handed out `count`."""
    looks = [placed(per_look * number, per_look * number + 5) for number in range(7)]
    last = looks[-1]
    brokers = tuple(
        replace(broker, handed_out=(HandedOut(group="G", topic="Pay", minute_count=count),)) for broker in last.brokers
    )
    first, *others = last.running
    queues = tuple(replace(item, cached_count=cached) for item in first.queues)
    return windowed([*looks[:-1], replace(last, brokers=brokers, running=(replace(first, queues=queues), *others))])


def popped_and_still(back_ms: int | None = None) -> ClusterSnapshot:
    """A group set to ordered pops whose members hold no queue: messages arrive and its offsets stand."""
    share = PopShare(
        group="G",
        topic="Pay",
        mode=None,
        ready_count=30,
        invisible_count=6,
        due_count=0,
        retry_count=0,
        given_up_count=0,
        blocked_queue_count=None,
        next_visible_ms=() if back_ms is None else (NOW + back_ms,),
    )
    looks = []
    for end in (100, 130):
        look = placed(100, 100)
        brokers = tuple(
            replace(
                broker,
                groups=(SubscriptionGroupConfig(name="G", consume_message_orderly=True),),
                pop=() if back_ms is None else (share,),
            )
            for broker in look.brokers
        )
        queue, place = brokers[0].queues[0], brokers[0].consumer_offsets[0]
        grown = replace(
            brokers[0],
            queues=(replace(queue, max_offset=end), *brokers[0].queues[1:]),
            consumer_offsets=(replace(place, next_store_time_ms=NOW - MINUTE), *brokers[0].consumer_offsets[1:]),
        )
        idle = tuple(replace(info, queues=()) for info in look.running)
        looks.append(replace(look, brokers=(grown, *brokers[1:]), running=idle))
    return windowed(looks, apart_ms=2 * MINUTE)


PAUSED = windowed([placed(100, 110), placed(200, 210), placed(200, 310), placed(400, 410)])
SCENES: list[Scene] = [
    (
        "MQ646",
        None,
        windowed([LIVE, without(BROKERS[0]), LIVE, without(BROKERS[0]), LIVE]),
        {"away_count": 2, "look_count": 5},
    ),
    (
        "MQ646",
        "slave",
        windowed([with_slave(), without(BROKERS[0], 1, with_slave()), with_slave()]),
        {"away_count": 1, "look_count": 3},
    ),
    (
        "MQ646",
        "restarted",
        windowed([booted(NOW - 9 * MINUTE), LIVE, booted(NOW - 5 * SECOND)]),
        {"away_count": 0, "boot_time_ms": NOW - 5 * SECOND},
    ),
    ("MQ410", "popped", popped_and_still(), {"consumer_offset": 100, "arrived_count": 30}),
    ("MQ410", "held", popped_and_still(40 * MINUTE), {"next_visible_time_ms": NOW + 40 * MINUTE}),
    ("MQ429", None, handed(50, 600), {"handed_count": 1_200, "moved_count": 800}),
    ("MQ428", None, PAUSED, {"pause_ms": 20 * SECOND, "waiting_count": 440, "moved_count": 1_200, "look_count": 4}),
]

STATES: dict[str, ClusterSnapshot] = {
    "MQ646": windowed([without(BROKERS[0]), without(BROKERS[0]), LIVE, LIVE]),
    "MQ429": handed(50, 600, cached=200),
    "MQ428": windowed([placed(100, 110), placed(210, 210), placed(210, 210), placed(400, 410)]),
}
