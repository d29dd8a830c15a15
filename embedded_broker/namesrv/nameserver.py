"""The name server role: a listener over a route table, with its own settings and order topics."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from embedded_broker.clock import Clock, Periodic
from embedded_broker.namesrv.kv_config import KVConfig
from embedded_broker.namesrv.routes import LowestIdChange, RouteTable
from embedded_broker.release import Release
from embedded_broker.remoting.dispatcher import Dispatcher
from embedded_broker.remoting.faults import Control
from embedded_broker.remoting.handler_table import NAMESRV, handlers_of, sends
from embedded_broker.remoting.listener import Listener, Make
from embedded_broker.remoting.outbound import Outbound
from embedded_broker.remoting.server import Limits, ServerConnection
from embedded_broker.told_properties import namesrv_properties
from mqctl.protocol.requests_namesrv import NotifyMinBrokerIdChange

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("embedded_broker")

sends(NotifyMinBrokerIdChange)

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
        outbound: ssl.SSLContext | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.clock = clock
        self.release = release
        self.routes = RouteTable(clock)
        self.routes.on_lowest_id(self._tell_lowest_id)
        self.kv_config = KVConfig(directory)
        self.address = ""
        self.settings: dict[str, str] = namesrv_properties(is_v5=release.is_v5)
        self.settings["kvConfigPath"] = str(directory / "kvConfig.json") if directory else ""
        self._take_properties(properties or {})
        self._outbound = outbound
        self._brokers: dict[str, Outbound] = {}
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
        for broker in self._brokers.values():
            await broker.close(abort=True)
        await self._listener.close(abort=abort)

    def _take_properties(self, properties: Mapping[str, str]) -> None:
        """Takes what a cluster is set to; where its slaves stand in for masters, they are shown and told of."""
        if properties.get("enableSlaveActingMaster", "").lower() == "true" and self.release.is_v5:
            self.settings |= {"supportActingMaster": "true", "notifyMinBrokerIdChanged": "true"}
        own = ("supportActingMaster", "notifyMinBrokerIdChanged")
        self.settings |= {name: properties[name] for name in own if name in properties and name in self.settings}

    def _tell_lowest_id(self, change: LowestIdChange) -> None:
        """Has the brokers of a name know which of them has the lowest id now (905), where that is switched on."""
        if self.settings.get("notifyMinBrokerIdChanged") != "true":
            return
        request = NotifyMinBrokerIdChange(
            min_broker_id=change.broker_id,
            min_broker_addr=change.address,
            offline_broker_addr=change.gone,
            ha_broker_addr=change.ha_address,
        )
        for address in change.members:
            broker = self._brokers.get(address)
            if broker is None:
                broker = self._brokers[address] = Outbound(address, self.clock, self._outbound)
            broker.tell(request.command(opaque=0, oneway=True, version=self.release.ordinal))

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
