"""Snapshots of a cluster that lacks a broker: one that was there, whose size is known, and one that belongs there."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.route import AddressAnswer, SeenBroker, SeenProcess
from mqctl.model.snapshot import ClusterSnapshot
from tests.rules.live_faults import SEEN, Scene
from tests.rules.live_snapshots import LIVE, MINUTE, NOW

_NEVER_SEEN = SeenBroker(cluster="C", name="broker-z", address=None, expected_by="profile p")
ANSWERING = replace(SEEN, answer=AddressAnswer(name="broker-z", broker_id=0, namesrv="192.0.2.7:9876"))
_SIZE = {"queue_count": 8, "group_count": 1}
SLAVE = SeenProcess(broker_id=1, address="192.0.2.9:10911", last_seen_time_ms=NOW - MINUTE)


def with_slave_seen(*registered: tuple[int, str], age_ms: int = MINUTE) -> ClusterSnapshot:
    """A slave of the first broker was registered so long ago; now its name has these processes beside its master."""
    first = LIVE.brokers[0].name or ""
    seen = SeenBroker(
        cluster="C",
        name=first,
        address=None,
        last_seen_time_ms=NOW,
        processes=(
            SeenProcess(broker_id=0, address="192.0.2.8:10911", last_seen_time_ms=NOW),
            replace(SLAVE, last_seen_time_ms=NOW - age_ms),
        ),
    )
    (view,) = LIVE.name_servers
    endpoints = tuple(
        replace(item, addresses={**item.addresses, **dict(registered)}) if item.name == first else item
        for item in view.endpoints
    )
    return replace(LIVE, seen_brokers=(seen,), name_servers=(replace(view, endpoints=endpoints),))


SCENES: list[Scene] = [
    ("MQ145", None, with_slave_seen(), {"last_seen_time_ms": NOW - MINUTE, "registered_count": 1}),
    ("MQ617", "seen-counted", replace(LIVE, seen_brokers=(replace(SEEN, queue_count=8, group_count=1),)), {**_SIZE}),
    ("MQ617", "seen-queues", replace(LIVE, seen_brokers=(replace(SEEN, queue_count=8),)), {"queue_count": 8}),
    (
        "MQ617",
        "expected-queues",
        replace(LIVE, seen_brokers=(replace(SEEN, expected_by="profile p", queue_count=8, group_count=0),)),
        {"queue_count": 8, "group_count": 0},
    ),
    ("MQ617", "expected", replace(LIVE, seen_brokers=(_NEVER_SEEN,)), {"held_count": 0, "last_seen_time_ms": None}),
    (
        "MQ617",
        "expected-counted",
        replace(LIVE, seen_brokers=(replace(SEEN, expected_by="profile p", queue_count=8, group_count=1),)),
        {**_SIZE},
    ),
    ("MQ617", "answers", replace(LIVE, seen_brokers=(ANSWERING,)), {"answered_namesrv": "192.0.2.7:9876"}),
    (
        "MQ617",
        "answers-counted",
        replace(LIVE, seen_brokers=(replace(ANSWERING, queue_count=8, group_count=1),)),
        {**_SIZE, "answered_id": 0},
    ),
    (
        "MQ617",
        "answers-queues",
        replace(LIVE, seen_brokers=(replace(ANSWERING, queue_count=8),)),
        {"answered_name": "broker-z"},
    ),
    (
        "MQ617",
        "replaced",
        replace(LIVE, seen_brokers=(replace(SEEN, answer=AddressAnswer(name="broker-y", broker_id=0)),)),
        {"answered_name": "broker-y", "answered_namesrv": None},
    ),
]
