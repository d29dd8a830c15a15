"""Incidents of replication, on a master and a slave that run."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic, time

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.snapshot import ClusterSnapshot
from mqctl.snapshot.live.gatherer import gather_live
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.incidents.incident import Incident, Stage, named

_PROBES = 12
_LIMIT_MS = 30_000


@contextmanager
def _pair(settings: dict[str, str] | None = None) -> Iterator[EmbeddedCluster]:
    """A master and a slave as 5.3.3, with a message of topic Pay on both."""
    with EmbeddedCluster(version="5.3.3", slaves=1, time_scale=60.0, settings=settings) as cluster:
        with Peer(cluster.broker("broker-a").address) as peer:
            assert peer.call(send("Pay"), b"paid").code == 0
        end = monotonic() + _LIMIT_MS / 1_000
        while len({cluster.broker(name).on_loop(_log_end) for name in ("broker-a", "broker-a-s")}) > 1:
            assert monotonic() < end
        yield cluster


def _log_end(broker: object) -> int:
    return int(broker.storage.log.position)  # type: ignore[attr-defined]


def _seen(cluster: EmbeddedCluster) -> ClusterSnapshot:
    with Cluster(cluster.namesrv) as client:
        return gather_live(client, Deadline(_LIMIT_MS), now_ms=round(time() * 1_000))


def _killed_in_its_slaves_first_minute(_stage: Stage) -> ClusterSnapshot:
    with _pair() as cluster:
        cluster.broker("broker-a").kill()
        return _seen(cluster)


def _probed(_stage: Stage) -> ClusterSnapshot:
    with _pair() as cluster, ExitStack() as probes:
        port = cluster.broker("broker-a").on_loop(lambda broker: broker.settings.ha_listen_port)
        for _ in range(_PROBES):
            probes.enter_context(socket.create_connection(("127.0.0.1", port)))
        connections = cluster.broker("broker-a")
        end = monotonic() + _LIMIT_MS / 1_000
        while connections.on_loop(lambda broker: len(broker.replication.master.connections)) <= _PROBES:
            assert monotonic() < end
        return _seen(cluster)


def _well(_stage: Stage) -> ClusterSnapshot:
    with _pair() as cluster:
        slave = cluster.broker("broker-a-s")
        end = monotonic() + _LIMIT_MS / 1_000
        while slave.on_loop(lambda broker: broker.topics.find("Pay")) is None:
            assert monotonic() < end
        return _seen(cluster)


INCIDENTS: tuple[Incident, ...] = (
    named(37, "alibaba/RocketMQ#246", "SLAVE_NOT_AVAILABLE: the HA port is closed", "MQ140"),
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
    named(56, "apache/rocketmq#10812", "failover of the controller: heartbeats of slaves miss the leader", "MQ141"),
)
