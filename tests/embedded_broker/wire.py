"""A bare client for tests: one socket, frames through `mqctl.protocol`, every wait with a deadline."""

from __future__ import annotations

import socket
from collections.abc import Callable
from itertools import count
from time import monotonic
from types import TracebackType
from typing import Self

from mqctl.protocol.frame import FrameDecoder, RemotingCommand, SerializeType, encode
from mqctl.protocol.header import Request

_SECONDS = 60.0


class Peer:
    """One connection to an embedded broker or name server."""

    def __init__(self, address: str, *, serialize_type: SerializeType = SerializeType.JSON, version: int = 409) -> None:
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.local = "{}:{}".format(*self.socket.getsockname())
        self.serialize_type = serialize_type
        self.version = version
        self.unasked: list[RemotingCommand] = []
        self._decoder = FrameDecoder()
        self._opaques = count(1)
        self._arrived: list[RemotingCommand] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def post(self, request: Request, body: bytes = b"", *, oneway: bool = False) -> int:
        """Sends a request and returns its opaque."""
        opaque = self.next_opaque()
        command = request.command(
            opaque=opaque, body=body, oneway=oneway, version=self.version, serialize_type=self.serialize_type
        )
        self.socket.sendall(encode(command))
        return opaque

    def next_opaque(self) -> int:
        """Returns the opaque of the next request."""
        return next(self._opaques)

    def call(self, request: Request, body: bytes = b"") -> RemotingCommand:
        """Sends a request and returns its answer; requests of the server go to `unasked`."""
        return self.answer_to(self.post(request, body))

    def answer_to(self, opaque: int) -> RemotingCommand:
        """Waits for one answer, which may have come before others that were asked for first."""
        for command in self.unasked:
            if command.is_response and command.opaque == opaque:
                self.unasked.remove(command)
                return command
        return self.receive(lambda command: command.is_response and command.opaque == opaque)

    def asked(self, code: int) -> RemotingCommand:
        """Waits for a request of the server."""
        for command in self.unasked:
            if command.code == code:
                self.unasked.remove(command)
                return command
        return self.receive(lambda command: not command.is_response and command.code == code)

    def receive(self, wanted: Callable[[RemotingCommand], bool], *, seconds: float = _SECONDS) -> RemotingCommand:
        """Waits for a frame."""
        deadline = monotonic() + seconds
        while True:
            while self._arrived:
                command = self._arrived.pop(0)
                if wanted(command):
                    return command
                self.unasked.append(command)
            self.socket.settimeout(max(0.001, deadline - monotonic()))
            data = self.socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._arrived += self._decoder.feed(data)

    def closed(self) -> bool:
        """Waits until the server closes the connection."""
        self.socket.settimeout(_SECONDS)
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionError:
            pass
        return True
