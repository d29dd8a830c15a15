"""Recorded replication streams, and the two ends that they are played against."""

from __future__ import annotations

import gzip
import json
import select
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from mqctl.protocol.ha_stream import Block, BlockReader

DIRECTORY = Path(__file__).parents[1] / "golden" / "ha"
FILE_BYTES = 131_072
_MOST_BYTES = 32_768
_AT_ONCE_MS, _TWO_HEARTBEATS_MS = 90, 10_200


class Part(NamedTuple):
    """A report, a heartbeat or a block: when, where in its direction's bytes, of which offset, with how much data."""

    kind: str
    ms: int
    place: int
    offset: int
    size: int = 0


class Burst(NamedTuple):
    """What the log gains at `due_ms`: pieces that follow each other, none across the end of a file."""

    due_ms: int
    pieces: list[Block]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One connection; `parts` in order of time, `closed` is the side that ended it first and when."""

    name: str
    release: str
    parts: tuple[Part, ...]
    closed: tuple[str, int]
    to_master: bytes
    to_slave: bytes

    @property
    def blocks(self) -> list[Block]:
        return [block for block in BlockReader().receive(self.to_slave) if block.data]

    @property
    def first_report(self) -> int:
        return next((part.offset for part in self.parts if part.kind == "report"), 0)

    @property
    def is_frozen(self) -> list[bool]:
        """For each part whether the master stood still just before it: it sent nothing for two heartbeats' time."""
        sent = [part.ms for part in self.parts if part.kind != "report"]
        silent = [(one, other) for one, other in pairwise(sent) if other - one > _TWO_HEARTBEATS_MS]
        return [any(begin < part.ms <= end for begin, end in silent) for part in self.parts]

    @property
    def bursts(self) -> list[Burst]:
        """What the log gained at once: blocks that follow each other at the same time and had to be cut."""
        bursts: list[Burst] = []
        last = Part("", -1_000, 0, 0)
        for part in self.parts:
            if part.kind != "block":
                continue
            is_cut = last.size == _MOST_BYTES or (last.offset + last.size) % FILE_BYTES == 0
            block = Block(part.offset, self.sent_by_master(part)[12:])
            if bursts and is_cut and part.ms - last.ms < _AT_ONCE_MS:
                bursts[-1].pieces.append(block)
            else:
                # What was there before the slave asked for it has to be there when it does.
                asked_ms = part.ms if bursts else next(one.ms for one in self.parts if one.kind == "report")
                bursts.append(Burst(asked_ms if part.ms - asked_ms < _AT_ONCE_MS else part.ms, [block]))
            last = part
        return bursts

    def sent_by_master(self, part: Part) -> bytes:
        return self.to_slave[part.place : part.place + 12 + part.size]

    def sent_by_slave(self, part: Part) -> bytes:
        return self.to_master[part.place : part.place + 8]


@cache
def recordings() -> dict[str, Recorded]:
    """Every connection in the form of releases 4.9 and 5.x without a controller, by its name."""
    entries = json.loads((DIRECTORY / "index.json").read_text())
    return {entry["name"]: _stream(entry) for entry in entries}


def _stream(entry: dict[str, Any]) -> Recorded:
    files = (DIRECTORY / f"{entry['name']}.{side}.gz" for side in ("slave_to_master", "master_to_slave"))
    to_master, to_slave = (gzip.decompress(file.read_bytes()) if file.exists() else b"" for file in files)
    parts = tuple(Part(*item) for item in entry["decoded"])
    return Recorded(entry["name"], entry["release"], parts, tuple(entry["closed"]), to_master, to_slave)


def recorded(name: str) -> Recorded:
    return recordings()[name]


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

    def is_asked(self) -> bool:
        """Tells whether a slave waits to be accepted, or comes within a moment."""
        return bool(select.select([self._server], [], [], 0.1)[0])

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
