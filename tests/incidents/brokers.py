"""Incidents of brokers: stores, disks, settings, replication."""

from __future__ import annotations

from tests.incidents.incident import Incident, named, shown

INCIDENTS: tuple[Incident, ...] = (
    named(
        20,
        "apache/rocketmq#4831",
        "CODE 14 although disks are free: the store's own disk is at 91 %",
        "MQ110",
        variant="refused",
    ),
    named(21, "apache/rocketmq#1613", "sends succeed and consumers see nothing: dispatch is stuck", "MQ113"),
    named(22, "apache/rocketmq#6904", "no start after kill -9: 0 length not matched", "MQ104"),
    named(33, "apache/rocketmq#5646", "timer messages come at once: timerWheelEnable", "MQ640", variant="timers"),
    named(35, "apache/rocketmq#5088", "sporadic TIMEOUT_CLEAN_QUEUE", "MQ117"),
    named(
        36,
        "alibaba/RocketMQ#331",
        "the disk is free again and sends are refused until a restart",
        "MQ120",
        variant="disk",
    ),
    named(
        40,
        "apache/rocketmq#681",
        "a query by key is empty: the clocks of producer and broker differ",
        "MQ650",
    ),
    named(44, "apache/rocketmq#2606", "access control is on and any key works", "MQ642"),
    named(45, "apache/rocketmq#8765", "with RocksDB queues delayed messages are late", "MQ640", variant="rocksdb"),
    named(50, "alibaba/RocketMQ#98", "create mapped file failed: vm.max_map_count is too small", "MQ109"),
    named(51, "apache/rocketmq#1560", "an upgrade fails: the size of consume queue files was changed", "MQ104"),
    shown(
        58,
        "apache/rocketmq#5493",
        "a static topic: an offset below the first item of its mapping",
        "mqctl topic describe",
        "the mapping of queues, of which no topic table tells",
    ),
    named(
        59,
        "apache/rocketmq#11095",
        "control of cold data kills the pulls of a Proxy's clients",
        "MQ640",
        variant="cold",
    ),
    shown(
        60,
        "apache/rocketmq#3326",
        "traces are lost where TLS is enforced: the trace producer speaks plain",
        "mqctl message trace",
        "tlsMode, which is a property of the process and no broker tells",
    ),
)
