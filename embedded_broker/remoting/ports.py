"""Ports that stay a cluster's while who listens on them is stopped, killed or not there yet."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress


class HeldPorts:
    """Ports by name, each held by a socket that is bound and does not listen.

    Connections are refused as on a free port, and the system gives the port to nobody else. On Linux two sockets with
    SO_REUSEADDR may be bound to a port of which one at most listens; elsewhere nothing is held.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._ports: dict[str, int] = {}
        self._holders: dict[str, socket.socket] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._ports

    def __getitem__(self, name: str) -> int:
        return self._ports[name]

    def to_listen(self, name: str, port: int) -> int:
        """Returns the port to listen on: the one of before, else `port`, 0 for any. Where it cannot be held, whoever
        listens finds out why."""
        if name in self._ports:
            return self._ports[name]
        if sys.platform != "linux":
            return port
        with suppress(OSError):
            if name not in self._holders:
                self._hold(name, port)
            return int(self._holders[name].getsockname()[1])
        return port

    def note(self, name: str, port: int) -> None:
        """Notes the port that is listened on."""
        self._ports[name] = port

    def release(self) -> None:
        """Gives all ports up."""
        for holder in self._holders.values():
            holder.close()
        self._holders.clear()

    def _hold(self, name: str, port: int) -> None:
        family, kind, protocol, _, address = socket.getaddrinfo(
            self._host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        holder = socket.socket(family, kind, protocol)
        try:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(address)
        except OSError:
            holder.close()
            raise
        self._holders[name] = holder
