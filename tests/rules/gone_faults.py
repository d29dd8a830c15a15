"""Snapshots of a cluster that lacks a broker: one that was there, whose size is known, and one that belongs there."""

from __future__ import annotations

from dataclasses import replace

from mqctl.model.route import AddressAnswer, SeenBroker
from tests.rules.live_faults import SEEN, Scene
from tests.rules.live_snapshots import LIVE

_NEVER_SEEN = SeenBroker(cluster="C", name="broker-z", address=None, expected_by="profile p")
ANSWERING = replace(SEEN, answer=AddressAnswer(name="broker-z", broker_id=0, namesrv="192.0.2.7:9876"))
_SIZE = {"queue_count": 8, "group_count": 1}
SCENES: list[Scene] = [
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
