"""A listener on loopback that answers as a test says: scripted, silent, broken or replaying recordings."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock, Thread
from types import TracebackType
from typing import Self

from mqctl.protocol.frame import FrameDecoder, RemotingCommand, decode, encode

Answer = Callable[["Peer", RemotingCommand], None]


class Peer:
    """One connection, seen from the server."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock

    def send(self, command: RemotingCommand) -> None:
        self.socket.sendall(encode(command))

    def close(self) -> None:
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class WireServer:
    """Listens on a free port and hands every request to `answer`."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[RemotingCommand] = []
        self.peers: list[Peer] = []
        self._lock = Lock()
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            peer = Peer(sock)
            self.peers.append(peer)
            thread = Thread(target=self._serve, args=(peer,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: Peer) -> None:
        decoder = FrameDecoder()
        try:
            while data := peer.socket.recv(65536):
                for command in decoder.feed(data):
                    with self._lock:
                        self.requests.append(command)
                    self._answer(peer, command)
        except OSError:
            return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        for peer in self.peers:
            peer.close()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def silent(peer: Peer, command: RemotingCommand) -> None:
    """Accepts and never answers."""


def answering(code: int = 0, **parts: object) -> Answer:
    """Answers every request alike."""

    def answer(peer: Peer, command: RemotingCommand) -> None:
        if not command.is_oneway:
            peer.send(command.answer(code, **parts))  # type: ignore[arg-type]

    return answer


def replaying(recorded: Mapping[int, bytes]) -> Answer:
    """Answers each request code with a recorded response frame, its opaque aside."""

    def answer(peer: Peer, command: RemotingCommand) -> None:
        frame = recorded.get(command.code)
        if frame is not None and not command.is_oneway:
            peer.send(replace(decode(frame), opaque=command.opaque))

    return answer


def closed_address() -> str:
    """Returns an address on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"
