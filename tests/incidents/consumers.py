"""Incidents of consumers: subscriptions, identity, threads, order."""

from __future__ import annotations

from tests.incidents.incident import Incident, named

INCIDENTS: tuple[Incident, ...] = (
    named(1, "alibaba/RocketMQ#212", "one group, two topics, messages missed: subscriptions differ", "MQ202"),
    named(2, "apache/rocketmq#2836", "tags a and * in one group, messages missed", "MQ203", variant="dropped"),
    named(3, "apache/rocketmq#1547", "in Docker, queues without a consumer: a client id is taken twice", "MQ205"),
    named(4, "apache/rocketmq#9830", "after a restart of the broker its queues have no owner", "MQ309"),
    named(
        9,
        "apache/rocketmq-spring#458",
        "broadcasting forgets its offsets at restart: the instance name has a timestamp",
        "MQ207",
    ),
    named(12, "alibaba/RocketMQ#281", "an offset stands while later messages are consumed: one call hangs", "MQ307"),
    named(13, "apache/rocketmq#5441", "one orderly queue stands, the others go on", "MQ502"),
    named(14, "alibaba/RocketMQ#459", "an orderly group stays stuck after an outage downstream", "MQ501"),
    named(15, "apache/rocketmq#5290", "consumeThreadMax is without effect: the pool's queue has no bound", "MQ304"),
    named(27, "apache/rocketmq#310", "SQL92 is refused: enablePropertyFilter=false", "MQ214"),
    named(48, "apache/rocketmq-connect#400", "CODE 26: autoCreateSubscriptionGroup=false", "MQ213"),
    named(55, "apache/rocketmq#8154", "a FIFO topic out of order: consumeMessageOrderly=false", "MQ215"),
)
