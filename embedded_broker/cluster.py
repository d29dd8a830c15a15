"""Several brokers and name servers on one event loop, to be stopped, killed and restarted one by one."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from embedded_broker.broker import PORT_DISTANCES, Broker
from embedded_broker.clock import Clock, SystemClock, VirtualClock
from embedded_broker.consumers.locks import LOCK_LIVE_MS
from embedded_broker.log.power import zero_unsynced
from embedded_broker.log.scratch import make_throw_away_directory
from embedded_broker.namesrv.nameserver import NameServer
from embedded_broker.namesrv.nsaddr import AddressService
from embedded_broker.proxy.hosting import HostedEndpoint
from embedded_broker.release import as_version
from embedded_broker.remoting.faults import Control
from embedded_broker.remoting.listener import Accepted, Make
from embedded_broker.remoting.ports import HeldPorts
from embedded_broker.remoting.server import Limits, Service
from embedded_broker.remoting.tls import SecuredConnection, ServerTls
from embedded_broker.settings import ASYNC_MASTER, SLAVE, V5_DEFAULTS, BrokerSettings, slave_member
from mqctl.errors import NotFoundError, RefusedError, StorageError, UsageError

log = logging.getLogger("embedded_broker")

_STEP_MS = 5_000
_SETTLE_ROUNDS = 6
_ROOM_SEPARATORS = ("-", "@")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """What a cluster is to be.

    Attributes:
        brokers: names of the masters; with rooms, a name begins with its room and `-` or `@`. Empty: one for each room.
        slaves: how many slaves each broker has; they run as members `NAME-s`, `NAME-s2` and so on, with ids from 1.
        rooms: machine rooms; each has a name server and an HTTP address service of its own.
        name_servers: how many name servers, for a cluster without rooms.
        isolated_rooms: brokers register with the name server of their own room only, instead of with all.
        data_dir: where stores live, one directory per broker; None for a throw-away directory in memory.
        version: release to behave like.
        time_scale: how much faster than the wall the cluster's clock runs.
        lock_live_ms: how long a queue lock lives that is not renewed (`rocketmq.broker.rebalance.lockMaxLiveTime`).
        virtual_time: the clock stands still and is advanced by hand.
        starts_at_ms: the instant at which virtual time begins, epoch milliseconds; None for now. A recorded store is
            continued at the time of its recording: a week later its timers are lost.
        settings: changes to every broker's settings, by RocketMQ's names.
        namesrv_port, broker_port: fixed ports of the first name server and the first broker; further ones count up by
            1 and by 10. 0 for any free port.
        acl_file: access list of all brokers, `plain_acl.yml`; switches access control on. With `aclEnable` in the
            settings instead, each broker has its own in `conf/` below its store root.
        tls: how all name servers and brokers secure connections; None takes plain ones only.
        grpc_port: port of the gRPC endpoint, 0 for any free one; None for no endpoint. 5.x only.
    """

    brokers: tuple[str, ...] = ()
    slaves: int = 0
    rooms: tuple[str, ...] = ()
    name_servers: int = 1
    isolated_rooms: bool = False
    cluster: str = "DefaultCluster"
    data_dir: Path | None = None
    version: str = "4.9.8"
    time_scale: float = 1.0
    lock_live_ms: int = LOCK_LIVE_MS
    virtual_time: bool = False
    starts_at_ms: int | None = None
    host: str = "127.0.0.1"
    namesrv_port: int = 0
    broker_port: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    acl_file: Path | None = None
    tls: ServerTls | None = None
    grpc_port: int | None = None

    def broker_names(self) -> tuple[str, ...]:
        """Returns the names of all brokers."""
        return self.brokers or tuple(f"{room}-broker-a" for room in self.rooms) or ("broker-a",)

    def members(self) -> dict[str, tuple[str, int]]:
        """Returns broker name and id of each broker to run, by what it is called here: masters first."""
        names = self.broker_names()
        slaves = {slave_member(name, number): (name, number) for name in names for number in range(1, self.slaves + 1)}
        return {name: (name, 0) for name in names} | slaves

    def room_of(self, broker: str) -> str | None:
        """Returns the room that a broker's name begins with, or None without rooms.

        Raises:
            UsageError: there are rooms, and the name begins with none of them.
        """
        for room in self.rooms:
            if any(broker.startswith(room + separator) for separator in _ROOM_SEPARATORS):
                return room
        if self.rooms:
            raise UsageError(
                f"broker {broker} is in none of the rooms {', '.join(self.rooms)}",
                remedy=f"begin its name with a room: {self.rooms[0]}-{broker}",
            )
        return None


def _securing(tls: ServerTls) -> Make:
    """Returns what makes connections that may be secured. Raises ConfigurationError."""
    context = tls.server_context()

    def make(service: Service, clock: Clock, limits: Limits) -> Accepted:
        return SecuredConnection(service, clock, limits, tls.mode, context)

    return make


class RunningCluster:
    """A running cluster; all methods are to be called on its loop.

    Attributes:
        brokers: the running brokers by name; slaves by what they are called here.
        name_servers: the running name servers by name (`namesrv`, `namesrv-1`, or `namesrv-<room>`).
        address_services: the HTTP address services by room.
        ignored: properties asked for that have no effect: unknown here, or with values of another kind.
        grpc: the gRPC endpoint; None where the cluster is to have none.
    """

    def __init__(self, spec: ClusterSpec) -> None:
        if not spec.brokers and not spec.rooms and spec.name_servers < 1:
            raise UsageError("a cluster needs a name server")
        self._members = spec.members()
        names = spec.broker_names()
        if len(set(names)) != len(names) or len(self._members) != len(names) * (1 + spec.slaves):
            raise UsageError("two brokers have the same name", remedy="give each its own")
        self.spec = spec
        self.release = as_version(spec.version)
        if spec.grpc_port is not None and not self.release.is_v5:
            raise UsageError(f"{self.release.name} has no gRPC endpoint", remedy="behave like 5.3.3")
        loop = asyncio.get_running_loop()
        self.clock: Clock = (
            VirtualClock(spec.starts_at_ms) if spec.virtual_time else SystemClock(loop, scale=spec.time_scale)
        )
        self.control = Control(self.clock)
        self.brokers: dict[str, Broker] = {}
        self.name_servers: dict[str, NameServer] = {}
        self.address_services: dict[str, AddressService] = {}
        self._ports = HeldPorts(spec.host)
        self.ignored: set[str] = set()
        self.grpc: HostedEndpoint | None = None
        if spec.grpc_port is not None:
            self.grpc = HostedEndpoint(self, self._ports, spec.host, spec.grpc_port, tls=spec.tls, limits=spec.limits)
        self._throw_away: Path | None = None
        self._rooms = {member: spec.room_of(member) for member in self._members}
        self._overrides: dict[str, dict[str, str]] = {}
        self._make = _securing(spec.tls) if spec.tls is not None else None
        self._outbound = spec.tls.outbound_context() if spec.tls is not None else None

    @property
    def data_dir(self) -> Path:
        """The directory of all stores."""
        if self.spec.data_dir is not None:
            return self.spec.data_dir
        if self._throw_away is None:
            self._throw_away = make_throw_away_directory()
        return self._throw_away

    @property
    def namesrv(self) -> str:
        """Addresses of all name servers, `host:port;host:port`."""
        return ";".join(
            f"{self.spec.host}:{self._ports[name]}" for name in self.name_server_names() if name in self._ports
        )

    def name_server_names(self) -> tuple[str, ...]:
        """Returns the names of all name servers, running or not."""
        if self.spec.rooms:
            return tuple(f"namesrv-{room}" for room in self.spec.rooms)
        return ("namesrv", *[f"namesrv-{number}" for number in range(1, self.spec.name_servers)])

    def address_service(self, room: str) -> AddressService:
        """Returns the address service of a room. Raises NotFoundError."""
        service = self.address_services.get(room)
        if service is None:
            raise NotFoundError(f"no room {room}", reason=f"there are {', '.join(self.address_services) or 'none'}")
        return service

    def namesrv_of_room(self, room: str) -> str:
        """Returns the address of a room's name server."""
        return f"{self.spec.host}:{self._ports[f'namesrv-{room}']}"

    def is_room_healthy(self, room: str) -> bool:
        """Tells whether the room's name server runs, and a broker of the room."""
        running = f"namesrv-{room}" in self.name_servers
        return running and any(self.spec.room_of(name) == room for name in self.brokers)

    # Life

    async def start(self) -> None:
        """Starts everything: name servers, address services, brokers. Raises PortError, StorageError."""
        try:
            self.data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"could not make {self.data_dir}",
                reason=error.strerror or str(error),
                remedy="choose another data directory",
            ) from error
        for number, name in enumerate(self.name_server_names()):
            await self.start_name_server(name, self.spec.namesrv_port and self.spec.namesrv_port + number)
        for room in self.spec.rooms:
            service = AddressService(
                room, self.spec.rooms, namesrv_of=self.namesrv_of_room, is_healthy=self.is_room_healthy
            )
            await service.start(self.spec.host)
            self.address_services[room] = service
        for number, name in enumerate(self._members):
            await self.start_broker(name, self.spec.broker_port and self.spec.broker_port + 10 * number)
        if self.grpc is not None:
            await self.grpc.start()

    async def stop(self) -> None:
        """Stops everything; a throw-away directory is removed."""
        if self.grpc is not None:
            await self.grpc.stop()
        for name in list(self.brokers):
            await self.stop_broker(name)
        for service in self.address_services.values():
            await service.stop()
        for name in list(self.name_servers):
            await self.stop_name_server(name)
        self._ports.release()
        if self._throw_away is not None:
            shutil.rmtree(self._throw_away, ignore_errors=True)

    async def start_name_server(self, name: str, port: int = 0) -> None:
        """Starts a name server, on the port that it had before; brokers register with it at once."""
        if name not in self.name_server_names():
            raise NotFoundError(f"no name server {name}", reason=f"there are {', '.join(self.name_server_names())}")
        if name in self.name_servers:
            raise RefusedError(f"name server {name} is running")
        server = NameServer(
            clock=self.clock,
            release=self.release,
            control=self.control,
            limits=self.spec.limits,
            directory=self.data_dir / name,
            name=name,
            make=self._make,
            outbound=self._outbound,
            properties=self.spec.settings,
        )
        await server.start(self.spec.host, self._ports.to_listen(name, port))
        self._ports.note(name, int(server.settings["listenPort"]))
        self.name_servers[name] = server
        for broker in self.brokers.values():
            if broker.registration is not None:
                await broker.registration.register_and_wait()

    async def stop_name_server(self, name: str, *, kill: bool = False) -> None:
        """Stops a name server."""
        server = self.name_servers.pop(name, None)
        if server is None:
            raise NotFoundError(f"name server {name} is not running")
        await server.stop(abort=kill)

    async def start_broker(self, name: str, port: int = 0, *, settings: Mapping[str, str] | None = None) -> Broker:
        """Starts a broker, on the port and with the settings that it had before.

        Args:
            settings: changes by RocketMQ's names, on top of those of the cluster.

        Raises:
            NotFoundError: the cluster has no such broker.
            RefusedError: it is running.
            PortError, StorageError: it cannot listen, or its store cannot be opened.
        """
        if name not in self._rooms:
            raise NotFoundError(f"no broker {name}", reason=f"there are {', '.join(self._rooms)}")
        if name in self.brokers:
            raise RefusedError(f"broker {name} is running")
        changes = self._overrides.setdefault(name, {})
        changes.update(settings or {})
        broker = Broker(
            self._settings(name, changes),
            self.data_dir / name,
            clock=self.clock,
            release=self.release,
            control=self.control,
            limits=self.spec.limits,
            lock_live_ms=self.spec.lock_live_ms,
            acl_file=self.spec.acl_file,
            make=self._make,
            outbound=self._outbound,
        )
        await broker.start(self.spec.host, self._ports.to_listen(name, port, also=PORT_DISTANCES))
        self._ports.note(name, broker.settings.listen_port)
        self.brokers[name] = broker
        return broker

    def _settings(self, name: str, changes: Mapping[str, str]) -> BrokerSettings:
        room = self._rooms[name]
        namesrv = self.namesrv_of_room(room) if room and self.spec.isolated_rooms else self.namesrv
        settings = BrokerSettings(
            broker_cluster_name=self.spec.cluster,
            broker_name=self._members[name][0],
            broker_id=self._members[name][1],
            broker_role=SLAVE if self._members[name][1] else ASYNC_MASTER,
            slave_read_enable=self.spec.slaves > 0,
            broker_ip1=self.spec.host,
            broker_ip2=self.spec.host,
            namesrv_addr=namesrv,
            use_server_side_reset_offset=self.release.is_v5,
        )
        if self.release.is_v5:
            settings.update(V5_DEFAULTS)
        settings.acl_enable = self.spec.acl_file is not None
        wanted = {**self.spec.settings, **changes}
        ignored = sorted(wanted.keys() - settings.update(wanted))
        self.ignored.update(ignored)
        if ignored:  # configuration files of real brokers name hundreds
            log.warning(
                "broker %s ignores properties that it does not know, or whose values are of another kind: %s",
                name,
                ", ".join(ignored),
            )
        return settings

    def broker(self, name: str) -> Broker:
        """Returns a running broker. Raises NotFoundError."""
        broker = self.brokers.get(name)
        if broker is None:
            raise NotFoundError(f"broker {name} is not running", reason=f"running: {', '.join(self.brokers) or 'none'}")
        return broker

    async def stop_broker(self, name: str) -> None:
        """Stops a broker as on a signal."""
        await self._take_out(name).stop()

    async def kill_broker(self, name: str) -> None:
        """Ends a broker as on kill -9."""
        await self._take_out(name).kill()

    async def lose_power(self, name: str) -> None:
        """Ends a broker as a power cut does: what its commit log had not synced reads as zeros afterwards."""
        broker = self._take_out(name)
        log = broker.storage.log
        await broker.kill()  # what it syncs and acknowledges on its way is durable, too
        zero_unsynced(log, log.durable, log.position)

    def _take_out(self, name: str) -> Broker:
        broker = self.broker(name)
        del self.brokers[name]
        if self.grpc is not None:
            self.grpc.gone(broker)
        return broker

    async def reset(self) -> None:
        """Brings the cluster back to its first state: everything empty and running, faults gone, same ports."""
        if self.grpc is not None:
            await self.grpc.stop()
            self.grpc.forget()
        for name in list(self.brokers):
            await self.kill_broker(name)
        for name in list(self.name_servers):
            await self.stop_name_server(name, kill=True)
        for name in (*self._rooms, *self.name_server_names()):
            shutil.rmtree(self.data_dir / name, ignore_errors=True)
        self._overrides.clear()
        self.control.clear()
        self.control.record(on=False)
        for service in self.address_services.values():
            service.switch_back()
        for name in self.name_server_names():
            await self.start_name_server(name)
        for name in self._members:
            await self.start_broker(name)
        if self.grpc is not None:
            await self.grpc.start()

    # Time

    async def advance(self, ms: int) -> None:
        """Lets `ms` milliseconds pass on a virtual clock; brokers and name servers get to talk on the way.

        Raises:
            RefusedError: the cluster's clock is the machine's.
        """
        if not isinstance(self.clock, VirtualClock):
            raise RefusedError("time cannot be advanced", remedy="start the cluster with virtual time")
        while ms > 0:
            step = min(ms, _STEP_MS)
            self.clock.advance(step)
            ms -= step
            for _ in range(_SETTLE_ROUNDS):
                await asyncio.sleep(0)
