"""The name server role: a listener over a route table, with its own settings and order topics."""

from __future__ import annotations

import logging
from pathlib import Path

from embedded_broker.clock import Clock, Periodic
from embedded_broker.namesrv.kv_config import KVConfig
from embedded_broker.namesrv.routes import RouteTable
from embedded_broker.release import Release
from embedded_broker.remoting.dispatcher import Dispatcher
from embedded_broker.remoting.faults import Control
from embedded_broker.remoting.handler_table import NAMESRV, handlers_of
from embedded_broker.remoting.listener import Listener, Make
from embedded_broker.remoting.server import Limits, ServerConnection
from embedded_broker.told_properties import namesrv_properties

log = logging.getLogger("embedded_broker")

BROKER_TIMEOUT_MS = 120_000
_SCAN_MS = {False: 10_000, True: 5_000}
_FIRST_SCAN_MS = 5_000


class NameServer:
    """One name server.

    Attributes:
        settings: its properties by RocketMQ's name, as code 319 shows them.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        release: Release,
        control: Control,
        limits: Limits | None = None,
        directory: Path | None = None,
        name: str = "namesrv",
        make: Make | None = None,
    ) -> None:
        self.name = name
        self.clock = clock
        self.release = release
        self.routes = RouteTable(clock)
        self.kv_config = KVConfig(directory)
        self.address = ""
        self.settings: dict[str, str] = namesrv_properties(is_v5=release.is_v5)
        self.settings["kvConfigPath"] = str(directory / "kvConfig.json") if directory else ""
        self._watched: set[ServerConnection] = set()
        self._scan: Periodic | None = None
        service = Dispatcher(
            self,
            name,
            handlers_of(NAMESRV, release),
            clock=clock,
            release=release,
            control=control,
            silent_on_unknown=not release.is_v5,
        )
        self._listener = Listener(service, clock, limits or Limits(), make)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Starts to listen. Raises PortError."""
        await self._listener.open(host, port)
        self.address = f"{host}:{self._listener.port}"
        self.settings["listenPort"] = str(self._listener.port)
        self._scan = Periodic(
            self.clock, _SCAN_MS[self.release.is_v5], self._drop_silent_brokers, first_ms=_FIRST_SCAN_MS
        )

    async def stop(self, *, abort: bool = False) -> None:
        """Closes the listener and all connections."""
        if self._scan is not None:
            self._scan.cancel()
        await self._listener.close(abort=abort)

    def watch(self, connection: ServerConnection) -> None:
        """Has the brokers of a connection forgotten when it closes."""
        if connection not in self._watched:
            self._watched.add(connection)
            connection.on_close(self._forget)

    def _forget(self, connection: ServerConnection) -> None:
        self._watched.discard(connection)
        self.routes.forget_connection(connection)

    def _drop_silent_brokers(self) -> None:
        for address, live in self.routes.expired():
            log.warning("%s: broker %s has not registered for %d ms", self.name, address, live.timeout_ms)
            live.connection.close()
            self.routes.forget_address(address)
