"""Incidents of replication, on a master and a slave that run."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from time import time

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.message import DELAY
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.rules import Settings
from mqctl.snapshot.live.gatherer import gather_live
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.store.config_files import delay_offsets, read_config
from tests.client.consuming import wait_until
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.incidents.incident import Incident, Stage, named
from tests.rules.live_snapshots import MINUTE

_PROBES = 12
_SCALE = 60.0
_DELAY_SCALE = 20.0
_QUICK = {"haSendHeartbeatInterval": "80", "registerNameServerPeriod": "500"}
_SMALL = {
    "haSendHeartbeatInterval": "500",
    "mappedFileSizeCommitLog": "131072",
    "mappedFileSizeConsumeQueue": "20000",
    "maxHashSlotNum": "1000",
    "maxIndexNum": "4000",
}
_CONTROLLED = {**_QUICK, "enableControllerMode": "true"}
_MINUTE_MS = 60_000 / _SCALE
_LARGEST_BYTES = 4_000_000
_LIMIT_MS = 90_000


@contextmanager
def _pair(
    copies_after_s: int = 1, *, settings: Mapping[str, str] = _QUICK, time_scale: float = 1.0
) -> Iterator[EmbeddedCluster]:
    """A master and a slave as 5.3.3, with a message of topic Pay on both; instants are those of the machine."""
    scaled = {**settings, "haTimeScale": str(60 // copies_after_s)}
    with EmbeddedCluster(version="5.3.3", slaves=1, settings=scaled, time_scale=time_scale) as cluster:
        with Peer(cluster.broker("broker-a").address) as peer:
            assert peer.call(send("Pay"), b"paid").code == 0
        wait_until(lambda: _is_copied(cluster))
        yield cluster


def _is_copied(cluster: EmbeddedCluster) -> bool:
    return len({cluster.broker(name).on_loop(_log_end) for name in ("broker-a", "broker-a-s")}) == 1


def _pause(broker: Broker) -> None:
    assert broker.replication.slave is not None
    broker.replication.slave.pause()


def _log_end(broker: Broker) -> int:
    return int(broker.storage.log.position)


def _seen(cluster: EmbeddedCluster) -> ClusterSnapshot:
    with Cluster(cluster.namesrv) as client:
        return gather_live(client, Deadline(_LIMIT_MS), now_ms=round(time() * 1_000))


def _killed_in_its_slaves_first_minute(_stage: Stage) -> ClusterSnapshot:
    with _pair(copies_after_s=10) as cluster:
        cluster.broker("broker-a").kill()
        return _seen(cluster)


def _probed(_stage: Stage) -> ClusterSnapshot:
    with _pair() as cluster, ExitStack() as probes:
        port = cluster.broker("broker-a").on_loop(lambda broker: broker.settings.ha_listen_port)
        for _ in range(_PROBES):
            probes.enter_context(socket.create_connection(("127.0.0.1", port)))
        connections = cluster.broker("broker-a")
        wait_until(lambda: connections.on_loop(lambda broker: len(broker.replication.master.connections)) > _PROBES)
        return _seen(cluster)


def _known(cluster: EmbeddedCluster) -> None:
    """Waits until the slave knows the topic."""
    slave = cluster.broker("broker-a-s")
    wait_until(lambda: slave.on_loop(lambda broker: broker.topics.find("Pay")) is not None)


def _well(_stage: Stage) -> ClusterSnapshot:
    return _seen_well()


@cache
def _seen_well() -> ClusterSnapshot:
    """Several incidents have the same healthy twin."""
    with _pair() as cluster:
        _known(cluster)
        return _seen(cluster)


def _killed(_stage: Stage) -> ClusterSnapshot:
    with _pair() as cluster:
        _known(cluster)
        cluster.broker("broker-a").kill()
        return _seen(cluster)


def _far_behind(_stage: Stage) -> ClusterSnapshot:
    """The slave hangs while more than 256 MiB are stored."""
    with _pair() as cluster:
        _known(cluster)
        cluster.broker("broker-a-s").on_loop(_pause)
        body = bytes(_LARGEST_BYTES)
        with Peer(cluster.broker("broker-a").address) as peer:
            for _ in range((256 << 20) // _LARGEST_BYTES + 1):
                assert peer.call(send("Pay"), body).code == 0
        return _seen(cluster)


def _restarted(settings: dict[str, str]) -> ClusterSnapshot:
    """The slave starts again with other settings, and is looked at a minute of the rules' time later."""
    with _pair() as cluster:
        _known(cluster)
        slave = cluster.broker("broker-a-s")
        slave.stop()
        slave.start(settings=settings)
        began_ms = time() * 1_000  # its own start is not judged before that
        wait_until(lambda: time() * 1_000 - began_ms >= _MINUTE_MS)
        return _seen(cluster)


def _left_alone(_stage: Stage) -> ClusterSnapshot:
    """The brokers say that they are under a controller; the slave hangs, and its connection is gone."""
    with _pair(settings=_CONTROLLED) as cluster:
        _known(cluster)
        cluster.broker("broker-a-s").on_loop(_pause)
        master = cluster.broker("broker-a")
        wait_until(lambda: not master.on_loop(lambda broker: broker.replication.master.connections))
        return _seen(cluster)


def _beside_its_master(_stage: Stage) -> ClusterSnapshot:
    with _pair(settings=_CONTROLLED) as cluster:
        _known(cluster)
        return _seen(cluster)


def _new_masters_store(*, is_current: bool) -> ClusterSnapshot:
    """The store of a slave that is to be the new master: delayed messages, and the delay offsets that it copied.

    Args:
        is_current: whether it could copy the offsets after the last delivery.
    """
    with _pair(copies_after_s=6, settings=_SMALL, time_scale=_DELAY_SCALE) as cluster:
        _known(cluster)
        slave = cluster.broker("broker-a-s")
        config = slave.on_loop(lambda broker: broker.directory) / "config" / "delayOffset.json"
        _deliver_delayed(cluster, 1)
        wait_until(lambda: config.exists() and _delivered(config) == 1)
        if not is_current:
            slave.on_loop(_stop_copying)
        _deliver_delayed(cluster, 2)
        wait_until(lambda: _is_copied(cluster))
        if is_current:
            wait_until(lambda: _delivered(config) == 2)
        slave_ms = slave.on_loop(lambda broker: broker.clock.now_ms())
        for name in ("broker-a", "broker-a-s"):
            cluster.broker(name).stop()
        # The operator looks a minute after the last delivery.
        return gather_store(config.parents[1], at_ms=slave_ms + MINUTE)


def _deliver_delayed(cluster: EmbeddedCluster, number: int) -> None:
    """Has the master store a delayed message, and waits until it is delivered."""
    master = cluster.broker("broker-a")
    with Peer(master.address) as peer:
        assert peer.call(send("Pay", properties={DELAY: "1"}), b"later").code == 0
    wait_until(lambda: master.on_loop(lambda broker: broker.schedule.offsets.get(1)) == number)


def _stop_copying(broker: Broker) -> None:
    assert broker.replication.copier is not None
    for timer in broker.replication.copier.timers:
        timer.cancel()


def _delivered(config: Path) -> int | None:
    return delay_offsets(read_config(config.parent, config.name)).offsets.get(1)


INCIDENTS: tuple[Incident, ...] = (
    named(
        10,
        "apache/rocketmq#1094",
        "messages again when a master is back: its old offsets overwrite the slave's",
        "MQ609",
        _killed,
        _well,
    ),
    named(11, "alibaba/RocketMQ#395", "a master was killed and its slave was far behind", "MQ116", _far_behind, _well),
    named(
        18,
        "apache/rocketmq#2357",
        "a failover repeats delayed and retry messages: old delay offsets",
        "MQ706",
        lambda _: _new_masters_store(is_current=False),
        lambda _: _new_masters_store(is_current=True),
    ),
    named(
        23,
        "apache/rocketmq#362",
        "a slave replicates nothing: its brokerName differs",
        "MQ609",
        lambda _: _restarted({"brokerName": "broker-x"}),
        _well,
    ),
    replace(
        named(
            37,
            "alibaba/RocketMQ#246",
            "SLAVE_NOT_AVAILABLE: the HA port is closed",
            "MQ140",
            lambda _: _restarted({"haMasterAddress": "127.0.0.1:1"}),
            _well,
        ),
        settings=Settings(time_scale=_SCALE),
    ),
    named(
        38,
        "apache/rocketmq#9879",
        "the master is down and its slave serves nothing: no topics there",
        "MQ139",
        _killed_in_its_slaves_first_minute,
        _well,
    ),
    named(
        52, "apache/rocketmq#8875", "heap exhausted: probes of the HA port leak connections", "MQ134", _probed, _well
    ),
    named(
        56,
        "apache/rocketmq#10812",
        "failover of the controller: heartbeats of slaves miss the leader",
        "MQ141",
        _left_alone,
        _beside_its_master,
    ),
)
