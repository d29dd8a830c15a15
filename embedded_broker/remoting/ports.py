"""Ports that stay a cluster's while who listens on them is stopped, killed or not there yet."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack

# Each takes three ports at fixed distances; where hundreds are in use, one or the other is somebody's.
_ATTEMPTS = 50


_Place = tuple[
    socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
]


class HeldPorts:
    """Ports by name, each held by a socket that is bound and does not listen.

    Connections are refused as on a free port, and the system gives the port to nobody else. On Linux two sockets with
    SO_REUSEADDR may be bound to a port of which one at most listens; elsewhere nothing is held.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._ports: dict[str, int] = {}
        self._holders = ExitStack()

    def __contains__(self, name: str) -> bool:
        return name in self._ports

    def __getitem__(self, name: str) -> int:
        return self._ports[name]

    def to_listen(self, name: str, port: int, *, also: tuple[int, ...] = ()) -> int:
        """Returns the port to listen on: the one of before, else `port`, 0 for any.

        Where it cannot be held, whoever listens finds out why, or finds another.

        Args:
            also: ports that are listened on as well, as distances from it.
        """
        if name in self._ports:
            return self._ports[name]
        for _ in range(_ATTEMPTS if sys.platform == "linux" else 0):
            with ExitStack() as held:
                try:
                    mine = self._hold(held, port)
                    for distance in also:
                        self._check(mine + distance)
                        self._hold(held, mine + distance)
                except OSError:
                    continue
                self._holders.push(held.pop_all())
                return mine
        return port

    def note(self, name: str, port: int) -> None:
        """Notes the port that is listened on."""
        self._ports[name] = port

    def release(self) -> None:
        """Gives all ports up."""
        self._holders.close()

    def _check(self, port: int) -> None:
        """Raises OSError where anybody has the port: two may hold it, as long as neither listens."""
        family, kind, protocol, _, address = self._place(port)
        with socket.socket(family, kind, protocol) as strict:
            strict.bind(address)

    def _hold(self, held: ExitStack, port: int) -> int:
        family, kind, protocol, _, address = self._place(port)
        holder = held.enter_context(socket.socket(family, kind, protocol))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(address)
        got: int = holder.getsockname()[1]
        return got

    def _place(self, port: int) -> _Place:
        return socket.getaddrinfo(self._host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
