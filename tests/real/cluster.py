"""A real cluster on loopback: name server, brokers, and on demand slaves, a proxy or a controller.

Files and heaps are small. What is started is written down at once (`cluster.json`), so that `down` finds it whatever
happened since.
"""

from __future__ import annotations

import random
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from mqctl.protocol.acl import Credentials
from mqctl.protocol.bodies_cluster import ClusterInfo
from mqctl.protocol.requests_admin import GetBrokerRuntimeInfo
from mqctl.protocol.requests_namesrv import GetBrokerClusterInfo
from tests.embedded_broker.access import SigningPeer
from tests.embedded_broker.wire import Peer
from tests.real.artifacts import is_v5, jars
from tests.real.members import Member, NotUpError, end, start, wait

STATE = "cluster.json"
_UP_S = 180.0
_PORTS = range(20_000, 32_000)  # below those that systems give to clients
_MIB = 1 << 20
# 4.9 ends at once without these files; what they let through goes to the process's output.
_LOGBACK = """\
<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %p %logger{0} %m%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""
SMALL: Mapping[str, object] = {
    "mappedFileSizeCommitLog": 16 * _MIB,
    "mappedFileSizeConsumeQueue": 20 * 10_000,
    "mappedFileSizeConsumeQueueExt": _MIB,
    "mappedFileSizeTimerLog": _MIB,
    "maxIndexNum": 20_000,
    "maxHashSlotNum": 5_000,
}
# The wheel's flush takes half a core; a busy machine must not have its sends refused; a full disk is not our subject.
_PATIENT: Mapping[str, object] = {
    "timerFlushIntervalMs": 10_000,
    "waitTimeMillsInSendQueue": 5_000,
    "waitTimeMillsInPullQueue": 10_000,
    "osPageCacheBusyTimeOutMills": 10_000,
    "diskMaxUsedSpaceRatio": 95,
}
_USEFUL: Mapping[str, object] = {"enablePropertyFilter": "true", "traceTopicEnable": "true"}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a cluster is made of.

    Attributes:
        brokers: how many masters; with `slave` each has a slave, with `controller` two replicas that elect one.
        settings: of all brokers, beyond those that make them small.
        proxy_settings: of the proxy, beyond its addresses.
        admin: whose signature brokers want that ask for one.
    """

    release: str
    brokers: int = 1
    slave: bool = False
    proxy: bool = False
    controller: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    proxy_settings: Mapping[str, object] = field(default_factory=dict)
    admin: Credentials | None = None

    def __post_init__(self) -> None:
        if not is_v5(self.release) and (self.proxy or self.controller):
            raise ValueError(f"RocketMQ {self.release} has neither proxy nor controller")
        if self.slave and self.controller:
            raise ValueError("a controller elects its slaves: choose one of both")

    def __str__(self) -> str:
        parts = [name for name in ("slave", "proxy", "controller") if getattr(self, name)]
        return "-".join([self.release, *parts])


@dataclass(kw_only=True)
class RealCluster:
    """A cluster that was brought up.

    Attributes:
        namesrv, proxy_grpc, proxy_remoting: addresses; those of a proxy are None without one.
        members: its processes in the order of their start.
    """

    release: str
    directory: Path
    namesrv: str = ""
    proxy_grpc: str | None = None
    proxy_remoting: str | None = None
    members: list[Member] = field(default_factory=list)

    def member(self, name: str) -> Member:
        """Returns the process of that name: `namesrv`, `broker-a`, `broker-a-s`, `proxy`."""
        return next(member for member in self.members if member.name == name)

    def store(self, broker: str) -> Path:
        """Returns the store directory of a broker."""
        return self.directory / f"store-{broker}"

    def down(self, *, tidy: bool = True) -> None:
        """Ends what was started and still runs; without `tidy` by force, for stores that nobody opens again."""
        end(self.members, tidy=tidy)

    def save(self) -> None:
        """Writes down what runs."""
        text = msgspec.json.encode(self, enc_hook=str)
        (self.directory / STATE).write_bytes(msgspec.json.format(text, indent=1))


def load(directory: Path) -> RealCluster:
    """Returns a cluster that was brought up in a directory.

    Raises:
        FileNotFoundError: none was.
    """
    text = (directory / STATE).read_bytes()
    return msgspec.json.decode(text, type=RealCluster, dec_hook=lambda kind, value: kind(value))


@contextmanager
def running(plan: Plan, directory: Path) -> Iterator[RealCluster]:
    """Brings a cluster up for a while; its logs stay in the directory, its stores do not.

    Raises:
        UnavailableError, NotUpError: as `up`.
    """
    cluster = up(plan, directory)
    try:
        yield cluster
    finally:
        cluster.down(tidy=False)
        for store in directory.glob("store-*"):
            shutil.rmtree(store, ignore_errors=True)


def up(plan: Plan, directory: Path, *, seconds: float = _UP_S) -> RealCluster:
    """Brings a cluster up in a directory and returns it when all of it is registered.

    Args:
        seconds: for each kind of process.

    Raises:
        UnavailableError: Java, or the release and Maven to fetch it, are missing.
        NotUpError: a process ended or did not come up; what was started has been ended.
    """
    lib = jars(plan.release)
    (directory / "conf").mkdir(parents=True, exist_ok=True)
    directory = directory.resolve()
    for who in ("namesrv", "broker", "tools"):
        (directory / "conf" / f"logback_{who}.xml").write_text(_LOGBACK)
    cluster = RealCluster(release=plan.release, directory=directory)
    try:
        _Starting(plan, cluster, lib, seconds).run()
    except BaseException:
        cluster.down()
        raise
    return cluster


class _Starting:
    def __init__(self, plan: Plan, cluster: RealCluster, lib: Path, seconds: float) -> None:
        self.plan, self.cluster, self.lib, self.seconds = plan, cluster, lib, seconds
        self.directory = cluster.directory
        self.controller = ""

    def run(self) -> None:
        self._name_server()
        names = [f"broker-{chr(ord('a') + number)}" for number in range(self.plan.brokers)]
        pairs = [(name, number) for name in names for number in range(2 if self._replicated else 1)]
        for name, number in pairs:
            self._broker(name, number)
        for member in self.cluster.members[1:]:
            self._wait_for_port(member)
        wait(
            lambda: self._registered() >= {*pairs},
            self.cluster.members,
            "all brokers are registered",
            self.seconds,
        )
        for member in self.cluster.members[1:]:
            wait(
                partial(_tells, member.address, self.plan.admin),
                [member],
                f"{member.name} tells of itself",
                self.seconds,
            )
        if self.plan.proxy:  # one that is started before a broker is registered ends itself
            self._proxy()

    @property
    def _replicated(self) -> bool:
        return self.plan.slave or self.plan.controller

    def _name_server(self) -> None:
        port = free_ports(4)
        settings: dict[str, object] = {
            "listenPort": port,
            "bindAddress": "127.0.0.1",
            "kvConfigPath": self.directory / "namesrv" / "kvConfig.json",
            "configStorePath": self.directory / "namesrv" / "namesrv.properties",
        }
        if self.plan.controller:
            self.controller = f"127.0.0.1:{port + 2}"
            settings |= {
                "enableControllerInNamesrv": "true",
                "controllerDLegerGroup": "controllers",
                "controllerDLegerPeers": f"n0-{self.controller}",
                "controllerDLegerSelfId": "n0",
                "controllerStorePath": self.directory / "controller",
            }
        self.cluster.namesrv = f"127.0.0.1:{port}"
        words = ("org.apache.rocketmq.namesrv.NamesrvStartup", "-c", self._written("namesrv", settings))
        self._wait_for_port(self._start("namesrv", words, self.cluster.namesrv, 96))

    def _broker(self, name: str, number: int) -> None:
        port = free_ports(4) + 2  # two below it is the port of clients with VIP channels
        own = f"{name}-s" if number else name
        store = self.cluster.store(own)
        slave = bool(number) and not self.plan.controller
        settings = {
            "brokerClusterName": "DefaultCluster",
            "brokerName": name,
            "brokerId": int(slave),
            "brokerRole": "SLAVE" if slave else "ASYNC_MASTER",
            "namesrvAddr": self.cluster.namesrv,
            "bindAddress": "127.0.0.1",
            "brokerIP1": "127.0.0.1",
            "brokerIP2": "127.0.0.1",
            "listenPort": port,
            "haListenPort": port + 1,
            "storePathRootDir": store,
            "storePathCommitLog": store / "commitlog",
            **SMALL,
            **_PATIENT,
            **_USEFUL,
            **({"enableControllerMode": "true", "controllerAddr": self.controller} if self.controller else {}),
            **self.plan.settings,
        }
        words = ("org.apache.rocketmq.broker.BrokerStartup", "-c", self._written(own, settings))
        self._start(own, words, f"127.0.0.1:{port}", 320, direct_mb=384)

    def _proxy(self) -> None:
        port = free_ports(2)
        settings: dict[str, object] = {
            "rocketMQClusterName": "DefaultCluster",
            "heartbeatSyncerTopicClusterName": "DefaultCluster",
            "namesrvAddr": self.cluster.namesrv,
            "proxyMode": "CLUSTER",
            "localServeAddr": "127.0.0.1",
            "grpcServerPort": port,
            "remotingListenPort": port + 1,
            **self.plan.proxy_settings,
        }
        if self.plan.admin is not None:  # a proxy signs its own requests with what this file says
            settings["enableAclRpcHookForClusterMode"] = True
            keys = f"accessKey: {self.plan.admin.access_key}\nsecretKey: {self.plan.admin.secret_key}\n"
            (self.directory / "conf" / "tools.yml").write_text(keys)
        file = self.directory / "conf" / "rmq-proxy.json"
        file.write_bytes(msgspec.json.encode(settings))
        words = ("org.apache.rocketmq.proxy.ProxyStartup", "-pc", str(file))
        self.cluster.proxy_grpc, self.cluster.proxy_remoting = f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}"
        self._wait_for_port(self._start("proxy", words, self.cluster.proxy_grpc, 256, direct_mb=256))

    def _written(self, name: str, settings: Mapping[str, object]) -> str:
        file = self.directory / f"{name}.conf"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return str(file)

    def _start(self, name: str, words: tuple[str, ...], address: str, heap_mb: int, *, direct_mb: int = 64) -> Member:
        member = start(
            name,
            words,
            jars=self.lib,
            directory=self.directory,
            address=address,
            heap_mb=heap_mb,
            direct_mb=direct_mb,
        )
        self.cluster.members.append(member)
        self.cluster.save()
        return member

    def _wait_for_port(self, member: Member) -> None:
        wait(lambda: _answers(member.address), [member], f"{member.name} listens on {member.address}", self.seconds)

    def _registered(self) -> set[tuple[str, int]]:
        """A port that answers is not yet a broker that is registered: that may take 12 s more."""
        with Peer(self.cluster.namesrv) as peer:
            answer = peer.call(GetBrokerClusterInfo())
        known = ClusterInfo.from_bytes(answer.body).broker_addr_table if answer.body else {}
        return {
            (name, number)
            for name, data in known.items()
            for number, _ in enumerate(sorted(data.broker_addrs))
            if 0 in data.broker_addrs
        }


def _tells(broker: str, admin: Credentials | None) -> bool:
    """Whether a broker answers with its runtime information: the first time takes seconds, and 4.9 fails before it."""
    with SigningPeer(broker, admin) if admin else Peer(broker) as peer:
        return peer.call(GetBrokerRuntimeInfo()).code == 0


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=0.5):
            return True
    except OSError:
        return False


def free_ports(count: int) -> int:
    """Returns the first of `count` neighbouring ports that are free on loopback.

    Raises:
        NotUpError: a thousand places had none.
    """
    for _ in range(1_000):
        first = random.choice(_PORTS)
        if all(map(_is_free, range(first, first + count))):
            return first
    raise NotUpError(f"there are no {count} neighbouring free ports between {_PORTS.start} and {_PORTS.stop}")


def _is_free(port: int) -> bool:
    with socket.socket() as bound:
        try:
            bound.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
