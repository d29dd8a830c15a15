"""A cluster inside a Python process, on a thread of its own: `EmbeddedCluster` and `EmbeddedBroker`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from embedded_broker.broker import Broker
from embedded_broker.clock import SystemClock
from embedded_broker.cluster import ClusterSpec, RunningCluster
from embedded_broker.proxy.hosting import HostedEndpoint
from embedded_broker.remoting.faults import Action, Fault, LoggedRequest
from embedded_broker.remoting.server import Limits
from embedded_broker.remoting.tls import ServerTls
from mqctl.errors import NotFoundError, RefusedError

T = TypeVar("T")
_CALL_SECONDS = 60


class EmbeddedCluster:
    """A RocketMQ cluster in this process; use it as a context manager, or call `start` and `stop`.

    Args:
        brokers: names of the brokers (see `ClusterSpec`), or how many.
        slaves: how many slaves each has, called `broker-a-s`, `broker-a-s2` and so on.
        rooms: machine rooms; each gets a name server and an address service.
        data_dir: where stores live; None for a throw-away directory in memory.
        version: `4.9.8` (the default) or `5.3.3`, for behaviour that differs.
        virtual_time: time stands still until `advance`.
        starts_at_ms: the instant at which virtual time begins, epoch milliseconds; None for now.
        as_real: brokers answer sends before the messages can be read, and requests of one connection out of order.
        settings: changes to every broker's settings, by RocketMQ's names.
        namesrv_port, broker_port: fixed ports (see `ClusterSpec`); 0 for any free ones.
        acl_file: access list of all brokers, as `plain_acl.yml` of 4.9; switches access control on.
        tls: how name servers and brokers secure connections; None takes plain ones only.
        grpc: serve gRPC clients, too; then the version is 5.3.3 unless said otherwise.
        grpc_port: port of the gRPC endpoint; 0 for any free one.

    Raises:
        MqctlError: something cannot be as it is asked for, or cannot be started.
    """

    def __init__(
        self,
        *,
        brokers: Sequence[str] | int = (),
        slaves: int = 0,
        rooms: Sequence[str] = (),
        name_servers: int = 1,
        isolated_rooms: bool = False,
        cluster: str = "DefaultCluster",
        data_dir: Path | str | None = None,
        version: str | None = None,
        time_scale: float = 1.0,
        virtual_time: bool = False,
        starts_at_ms: int | None = None,
        as_real: bool = False,
        settings: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        namesrv_port: int = 0,
        broker_port: int = 0,
        acl_file: Path | str | None = None,
        tls: ServerTls | None = None,
        grpc: bool = False,
        grpc_port: int = 0,
    ) -> None:
        self.spec = ClusterSpec(
            brokers=broker_names(brokers) if isinstance(brokers, int) else tuple(brokers),
            slaves=slaves,
            rooms=tuple(rooms),
            name_servers=name_servers,
            isolated_rooms=isolated_rooms,
            cluster=cluster,
            data_dir=Path(data_dir) if data_dir is not None else None,
            version=version or ("5.3.3" if grpc else "4.9.8"),
            time_scale=time_scale,
            virtual_time=virtual_time,
            starts_at_ms=starts_at_ms,
            settings={**(settings or {}), **({"asReal": "true"} if as_real else {})},
            limits=limits or Limits(),
            namesrv_port=namesrv_port,
            broker_port=broker_port,
            acl_file=Path(acl_file) if acl_file is not None else None,
            tls=tls,
            grpc_port=grpc_port if grpc else None,
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._cluster: RunningCluster | None = None

    # Life

    def start(self) -> Self:
        """Starts the thread and everything on it; returns when brokers are registered."""
        if self._loop is not None:
            raise RefusedError("the cluster is running already")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="embedded-broker", daemon=True)
        self._thread.start()
        try:
            self._await(self._start())
        except BaseException:
            self.stop()
            raise
        return self

    async def _start(self) -> None:
        self._cluster = RunningCluster(self.spec)
        await self._cluster.start()

    def stop(self) -> None:
        """Stops everything; harmless when nothing runs."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        try:
            if self._cluster is not None:
                self._await(self._cluster.stop())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CALL_SECONDS)
            loop.close()
            self._loop = self._thread = self._cluster = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise RefusedError("the cluster is not running", remedy="call start(), or use it as a context manager")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_CALL_SECONDS)

    def on_loop(self, function: Callable[[RunningCluster], T]) -> T:
        """Calls a function with the running cluster on the loop's thread and returns its result."""

        async def call() -> T:
            return function(self._running())

        return self._await(call())

    def _running(self) -> RunningCluster:
        if self._cluster is None:
            raise RefusedError("the cluster is not running", remedy="call start(), or use it as a context manager")
        return self._cluster

    # Who is where

    @property
    def namesrv(self) -> str:
        """Addresses of all name servers, `host:port;host:port`."""
        return self._running().namesrv

    @property
    def grpc(self) -> str:
        """Address of the gRPC endpoint, `host:port`. Raises NotFoundError."""
        return self._endpoint().address

    def _endpoint(self) -> HostedEndpoint:
        endpoint = self._running().grpc
        if endpoint is None:
            raise NotFoundError("the cluster has no gRPC endpoint", remedy="start it with grpc=True")
        return endpoint

    @property
    def data_dir(self) -> Path:
        """The directory of all stores; a broker's store root is the sub-directory of its name."""
        return self._running().data_dir

    @property
    def brokers(self) -> dict[str, EmbeddedBroker]:
        """All brokers by name, running or not; slaves after the masters."""
        return {name: EmbeddedBroker(name, self) for name in self.spec.members()}

    def broker(self, name: str | None = None) -> EmbeddedBroker:
        """Returns a broker by name; the first one without a name. Raises NotFoundError."""
        brokers = self.brokers
        wanted = name or next(iter(brokers))
        if wanted not in brokers:
            raise NotFoundError(f"no broker {wanted}", reason=f"there are {', '.join(brokers)}")
        return brokers[wanted]

    def nsaddr_url(self, room: str) -> str:
        """Returns the URL at which clients of a room ask for their name servers."""
        return self._running().address_service(room).url

    def switch_room(self, room: str, *, to: str | None) -> None:
        """Has the address service of `room` answer with another room's name server, or (None) its own again."""

        def switch(cluster: RunningCluster) -> None:
            service = cluster.address_service(room)
            service.switch_back() if to is None else service.switch_to(to)

        self.on_loop(switch)

    def switch_by_health(self, *, on: bool = True) -> None:
        """Has the address services leave a room while it has no broker or no name server."""

        def switch(cluster: RunningCluster) -> None:
            for service in cluster.address_services.values():
                service.by_health = on

        self.on_loop(switch)

    def stop_name_server(self, name: str = "namesrv", *, kill: bool = False) -> None:
        """Stops or kills a name server."""
        self._await(self._running().stop_name_server(name, kill=kill))

    def start_name_server(self, name: str = "namesrv") -> None:
        """Starts a name server that was stopped, on its port."""
        self._await(self._running().start_name_server(name))

    def stop_grpc(self) -> None:
        """Stops the gRPC endpoint."""
        self._await(self._endpoint().stop())

    def start_grpc(self) -> None:
        """Starts the gRPC endpoint that was stopped, on its port."""
        self._await(self._endpoint().start())

    # Control

    def fault(
        self,
        code: int | None,
        action: Action,
        *,
        times: int | None = None,
        server: str | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Fault:
        """Does something to requests: see `embedded_broker.remoting.faults`."""
        return self.on_loop(lambda cluster: cluster.control.add(Fault(code, action, times, server, dict(where or {}))))

    def clear_faults(self) -> None:
        """Removes all faults."""
        self.on_loop(lambda cluster: cluster.control.clear())

    def record_requests(self, *, on: bool = True) -> None:
        """Switches the request log on, empty, or off."""
        self.on_loop(lambda cluster: cluster.control.record(on=on))

    def requests(self, code: int | None = None, *, server: str | None = None) -> list[LoggedRequest]:
        """Returns the logged requests."""
        return self.on_loop(lambda cluster: cluster.control.requests(code, server=server))

    def advance(self, ms: int) -> None:
        """Lets virtual time pass."""
        self._await(self._running().advance(ms))

    @property
    def time_origin_ms(self) -> int | None:
        """When the cluster's clock and the machine's agreed, for clients at the same scale; None with virtual time."""
        clock = self._running().clock
        return clock.origin_ms if isinstance(clock, SystemClock) else None

    def now_ms(self) -> int:
        """Returns the cluster's time, epoch milliseconds."""
        return self.on_loop(lambda cluster: cluster.clock.now_ms())

    def reset(self) -> None:
        """Empties everything: messages, topics, groups, offsets, faults; addresses stay."""
        self._await(self._running().reset())


class EmbeddedBroker:
    """One broker of an embedded cluster; by itself (`with EmbeddedBroker() as broker:`) a cluster of one.

    Args:
        name: its name.
        cluster: the cluster it is of; None for one of its own, to which further arguments go.
    """

    def __init__(self, name: str = "broker-a", cluster: EmbeddedCluster | None = None, **options: Any) -> None:
        self.name = name
        self.cluster = cluster if cluster is not None else EmbeddedCluster(brokers=(name,), **options)
        self._own = cluster is None

    def __enter__(self) -> Self:
        if self._own:
            self.cluster.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own:
            self.cluster.stop()

    @property
    def namesrv(self) -> str:
        """Addresses of the name servers."""
        return self.cluster.namesrv

    @property
    def address(self) -> str:
        """`ip:port` of the broker."""
        return self.on_loop(lambda broker: broker.address)

    @property
    def running(self) -> bool:
        return self.cluster.on_loop(lambda cluster: self.name in cluster.brokers)

    @property
    def store(self) -> Path:
        """Its store root."""
        return self.cluster.data_dir / self.name

    def on_loop(self, function: Callable[[Broker], T]) -> T:
        """Calls a function with the running broker on the loop's thread and returns its result."""
        return self.cluster.on_loop(lambda cluster: function(cluster.broker(self.name)))

    def stop(self) -> None:
        """Stops the broker as on a signal."""
        self.cluster._await(self.cluster._running().stop_broker(self.name))

    def kill(self) -> None:
        """Ends the broker as on kill -9: nothing flushed, nothing said."""
        self.cluster._await(self.cluster._running().kill_broker(self.name))

    def start(self, *, settings: Mapping[str, str] | None = None) -> None:
        """Starts the broker again, on its port and its store; changed settings stay for later starts."""
        self.cluster._await(self.cluster._running().start_broker(self.name, settings=settings))

    def limit_disk(self, free_bytes: int | None) -> None:
        """Has writes fail as on a full disk once `free_bytes` more are written (0: at once); None ends that."""
        self.on_loop(lambda broker: broker.limit_disk(free_bytes))

    def restart(self) -> None:
        """Stops and starts the broker."""
        self.stop()
        self.start()


def broker_names(count: int) -> tuple[str, ...]:
    """Returns `broker-a`, `broker-b`, ... , and `broker-26` after `broker-z`."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return tuple(f"broker-{letters[number] if number < len(letters) else number}" for number in range(count))
