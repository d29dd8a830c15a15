"""A listener that keeps the frames it is sent as the bytes they are, and answers none."""

from __future__ import annotations

import socket
from threading import Condition, Thread
from types import TracebackType
from typing import Self

_LIMIT_S = 60


class RawServer:
    """Takes one connection, to its end."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(_LIMIT_S)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._frames: list[bytes] = []
        self._changed = Condition()
        self._thread = Thread(target=self._serve)

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as stream:
            while size := stream.read(4):
                frame = size + stream.read(int.from_bytes(size, "big"))
                with self._changed:
                    self._frames.append(frame)
                    self._changed.notify()

    def frames(self, count: int) -> list[bytes]:
        """Waits for so many frames and returns all there are, each with its length field."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._frames) >= count, _LIMIT_S), (
                f"{len(self._frames)} of {count}"
            )
            return list(self._frames)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._thread.join()
