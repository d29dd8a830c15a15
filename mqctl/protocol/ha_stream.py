"""The replication stream between a master and its slaves, as values; no socket is touched here.

The slave sends the end of its commit log, eight bytes each time; the master sends blocks of its own log, or empty ones
as heartbeats. There is no handshake. Source: `HAConnection`, `HAService.HAClient` of 4.9.8, `DefaultHAConnection` and
`DefaultHAClient` of 5.3.3; checked against recorded streams of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from mqctl.errors import BadInputError
from mqctl.text import sentence

_REPORT = Struct(">q")
_HEAD = Struct(">qi")
MOST_BLOCK_BYTES = 4 * 1024 * 1024
"""What a slave's buffer holds: no longer block ever ends for it."""


class HaStreamError(BadInputError):
    """Bytes that no master sends."""


class Block(NamedTuple):
    """A piece of a master's commit log.

    Attributes:
        offset: physical offset of its first byte.
        data: the bytes; none of them is a heartbeat, and `offset` is where the next block will begin.
    """

    offset: int
    data: bytes


def encode_report(end_offset: int) -> bytes:
    """Returns what a slave says: the physical offset behind its last byte."""
    return _REPORT.pack(end_offset)


def encode_block_head(offset: int, size_bytes: int) -> bytes:
    """Returns what goes before the bytes of a block."""
    return _HEAD.pack(offset, size_bytes)


class ReportReader:
    """Reads what a slave reports.

    Whatever came is taken in pieces of eight bytes, so that an HTTP request is a report, too, as it is for a master.
    """

    def __init__(self) -> None:
        self._rest = b""

    def receive(self, data: bytes) -> int | None:
        """Returns the last report that is complete, the others are of no use any more; None when there is none."""
        data = self._rest + data
        end = len(data) - len(data) % _REPORT.size
        self._rest = data[end:]
        return int(_REPORT.unpack_from(data, end - _REPORT.size)[0]) if end else None


class BlockReader:
    """Reads what a master sends."""

    def __init__(self) -> None:
        self._data = bytearray()

    def receive(self, data: bytes) -> Iterator[Block]:
        """Yields the blocks that are complete now.

        Raises:
            HaStreamError: a length is none.
        """
        self._data += data
        while len(self._data) >= _HEAD.size:
            offset, size = _HEAD.unpack_from(self._data)
            if offset < 0 or not 0 <= size <= MOST_BLOCK_BYTES:
                raise HaStreamError(
                    sentence("wire-block-replication-stream-read", "a block of the replication stream cannot be read"),
                    reason=sentence(
                        "wire-replication-block-size",
                        "it says {size:byte} at offset {offset}, at most {most_block_bytes:byte is/are} taken",
                        size=size,
                        offset=offset,
                        most_block_bytes=MOST_BLOCK_BYTES,
                    ),
                )
            end = _HEAD.size + size
            if len(self._data) < end:
                return
            block = Block(offset, bytes(self._data[_HEAD.size : end]))
            del self._data[:end]
            yield block
