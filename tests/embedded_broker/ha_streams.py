"""Recorded replication streams, and the two ends that they are played against."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mqctl.protocol.ha_stream import Block, BlockReader

DIRECTORY = Path(__file__).parents[1] / "golden" / "ha"
FILE_BYTES = 131_072


@dataclass(frozen=True, slots=True)
class Recorded:
    """One connection; `decoded` is (kind, ms, place in the file, offset, size) in order of time."""

    name: str
    release: str
    decoded: tuple[tuple[str, float, int, int, int], ...]
    to_master: bytes
    to_slave: bytes

    @property
    def blocks(self) -> list[Block]:
        return [block for block in BlockReader().receive(self.to_slave) if block.data]


def recorded(name: str) -> Recorded:
    entry = next(one for one in json.loads((DIRECTORY / "index.json").read_text()) if one["name"] == name)
    files = {
        side: gzip.decompress((DIRECTORY / f"{name}.{side}.gz").read_bytes())
        for side in ("slave_to_master", "master_to_slave")
    }
    decoded = tuple((item[0], item[1], item[2], item[3], item[4] if len(item) > 4 else 0) for item in entry["decoded"])
    return Recorded(name, entry["release"], decoded, files["slave_to_master"], files["master_to_slave"])


class FakeMaster:
    """Listens as a master's replication port does; what to send is the test's business."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(30)
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"

    def accept(self) -> socket.socket:
        connection, _ = self._server.accept()
        connection.settimeout(30)
        return connection

    def close(self) -> None:
        self._server.close()


def exactly(connection: socket.socket, size: int) -> bytes:
    """Receives so many bytes."""
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError(f"closed after {len(data)} of {size} bytes")
        data += piece
    return data


def until_closed(connection: socket.socket) -> Iterator[bytes]:
    """Receives what comes until the other side closes."""
    while True:
        try:
            piece = connection.recv(65_536)
        except ConnectionResetError:
            return
        if not piece:
            return
        yield piece
