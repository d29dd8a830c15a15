"""The slow server behind listeners of `waits-downstream`: it takes every request and answers late."""

from __future__ import annotations

import socket
from threading import Event, Thread

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_BACKLOG = 256


class Downstream:
    """Listens on loopback.

    Args:
        answers_after_ms: real milliseconds between a connection and its answer.
    """

    def __init__(self, answers_after_ms: int) -> None:
        self._after_s = answers_after_ms / 1000
        self._ended = Event()
        self._socket: socket.socket | None = None
        self.address = ""

    def start(self) -> None:
        """Begins to listen."""
        listening = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self._socket = listening
        self.address = f"127.0.0.1:{listening.getsockname()[1]}"
        Thread(target=self._serve, args=(listening,), name="downstream", daemon=True).start()

    def _serve(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return  # closed by `stop`
            Thread(target=self._answer, args=(connection,), name="downstream-answer", daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            if not self._ended.wait(self._after_s):
                try:
                    connection.sendall(_ANSWER)
                except OSError:
                    return  # who asked is gone

    def stop(self) -> None:
        """Closes everything; harmless when nothing listens."""
        self._ended.set()
        if self._socket is not None:
            self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            self._socket = None
