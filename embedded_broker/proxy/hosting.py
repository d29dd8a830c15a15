"""The endpoint's place in a cluster: started and stopped there, on one port, without its libraries until then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqctl.errors import ConfigurationError, RefusedError

if TYPE_CHECKING:
    from embedded_broker.broker import Broker
    from embedded_broker.proxy import messages as pb
    from embedded_broker.proxy.endpoint import Endpoint
    from embedded_broker.proxy.ground import Members
    from embedded_broker.remoting.ports import HeldPorts
    from embedded_broker.remoting.server import Limits
    from embedded_broker.remoting.tls import ServerTls

_NAME = "grpc"


class HostedEndpoint:
    """The gRPC endpoint of a cluster, running or not.

    Args:
        port: where it listens; 0 for any free port.
        limits: of them it heeds the number of connections.
    """

    def __init__(
        self, members: Members, ports: HeldPorts, host: str, port: int, *, tls: ServerTls | None, limits: Limits
    ) -> None:
        self._members, self._ports, self._host, self._port, self._tls = members, ports, host, port, tls
        self._limits = limits
        self._running: Endpoint | None = None
        self._settings: dict[str, pb.Settings] = {}

    @property
    def is_running(self) -> bool:
        return self._running is not None

    @property
    def address(self) -> str:
        """`host:port`, once it has been started."""
        return f"{self._host}:{self._ports[_NAME]}"

    async def start(self) -> None:
        """Listens, on the port that it had before.

        Raises:
            ConfigurationError: grpcio is not installed, or certificates cannot be used.
            PortError: it cannot listen.
            RefusedError: it is running.
        """
        if self._running is not None:
            raise RefusedError("the gRPC endpoint is running")
        try:
            from embedded_broker.proxy.endpoint import Endpoint
        except ImportError as error:
            raise ConfigurationError(
                "could not start the gRPC endpoint", reason=str(error), remedy="pip install 'mqctl[grpc]'"
            ) from error
        endpoint = Endpoint(self._members)
        endpoint.parts.clients.remembered |= self._settings
        port = self._ports.to_listen(_NAME, self._port)
        await endpoint.start(self._host, port, self._tls, self._limits.connections)
        self._ports.note(_NAME, endpoint.port)
        self._running = endpoint

    async def stop(self) -> None:
        """Ends all connections and listens no more; harmless when it does not run."""
        endpoint, self._running = self._running, None
        if endpoint is not None:
            self._settings = endpoint.parts.clients.all_settings()
            await endpoint.stop()

    def forget(self) -> None:
        """Forgets the clients of before."""
        self._settings = {}

    def gone(self, broker: Broker) -> None:
        """Ends what waits for a broker that leaves."""
        if self._running is not None:
            self._running.parts.ground.gone(broker)
