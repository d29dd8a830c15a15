"""Incidents of offsets, retries, delayed messages and transactions."""

from __future__ import annotations

from tests.incidents.incident import Incident, named, shown
from tests.rules.live_faults import _newcomer

INCIDENTS: tuple[Incident, ...] = (
    named(8, "apache/rocketmq#4774", "negative lag after a topic was created anew: offsets were kept", "MQ404"),
    named(16, "apache/rocketmq#1869", "delayed messages never come: delayOffset.json is beyond the queue", "MQ701"),
    named(
        17,
        "apache/rocketmq#4226",
        "delay level 3 stands: a message that was sent back is too long",
        "MQ708",
        variant="bad-topic-length",
    ),
    named(19, "apache/rocketmq#10668", "the timer of 5.x is stuck for good: a stale timer log", "MQ716"),
    named(
        28,
        "apache/rocketmq#9307",
        "queues of a new broker are skipped by a stopped group: no offset, begins at the end",
        "MQ415",
        _newcomer(),
    ),
    shown(
        29,
        "apache/rocketmq-client-go#605",
        "a reset of offsets has no effect: the Go client does not handle request 220",
        "mqctl offset reset",
        "whether the client will ever load the offset again",
    ),
    named(30, "apache/rocketmq#3323", "a backlog of tags that nobody wants", "MQ401", variant="filtered"),
    named(
        31,
        "apache/rocketmq#2724",
        "a dead letter comes hours late: the last try keeps its delay",
        "MQ728",
    ),
    named(
        32,
        "apache/rocketmq#6163",
        "an orderly message is repeated for ever and never becomes a dead letter",
        "MQ423",
    ),
    named(
        34,
        "apache/rocketmq#1540",
        "the half topic floods, then transactions are discarded: a delay was set on transactional messages",
        "MQ727",
    ),
    shown(
        41,
        "apache/rocketmq-dashboard#94",
        "no trace of a message: the producer's switch is off",
        "mqctl message trace",
        "the switch in the producer; nothing of it is sent to brokers",
    ),
    shown(
        43,
        "apache/rocketmq#2282",
        "the error says 128k, but the message was over 4 MB",
        "mqctl broker config",
        "the message that was refused; nobody stores it",
    ),
    named(54, "apache/rocketmq#5408", "the POP revive offset cannot reach the end", "MQ416"),
    shown(
        57,
        "apache/rocketmq#7363",
        "with tiered storage offsets cycle and messages come twice",
        "mqctl doctor --window 60s",
        "the tiered store's own offsets, which no request tells",
    ),
)
