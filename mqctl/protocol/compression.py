"""Compressed message bodies: zlib, LZ4 frames, zstd (`CompressionType` of 4.9.4 and later)."""

from __future__ import annotations

import zlib
from enum import IntEnum
from typing import BinaryIO

from mqctl.errors import BadInputError
from mqctl.model.message import SYSFLAG_COMPRESSED, SYSFLAG_COMPRESSION_MASK
from mqctl.text import sentence

DEFAULT_LEVEL = 5
MAX_BODY_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 64 * 1024


class CompressionError(BadInputError):
    """A body that does not decompress.

    Attributes:
        is_too_large: it may be sound, but it is larger than the limit that applies.
    """

    is_too_large = False


class Compression(IntEnum):
    """Bits of the system flag that name the algorithm; 0 is the zlib of clients before 4.9.4."""

    ZLIB_OLD = 0x000
    LZ4 = 0x100
    ZSTD = 0x200
    ZLIB = 0x300


def compress(body: bytes, kind: Compression = Compression.ZLIB, *, level: int = DEFAULT_LEVEL) -> tuple[bytes, int]:
    """Compresses a body; returns it with the bits to add to the system flag."""
    if kind is Compression.LZ4:
        import lz4.frame

        return lz4.frame.compress(body, compression_level=level), SYSFLAG_COMPRESSED | kind
    if kind is Compression.ZSTD:
        import zstandard

        return zstandard.ZstdCompressor(level=level).compress(body), SYSFLAG_COMPRESSED | kind
    return zlib.compress(body, level), SYSFLAG_COMPRESSED | kind


def decompress(body: bytes, sys_flag: int, *, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """Returns the body as its producer wrote it; unchanged when the flag does not say it is compressed.

    Raises:
        CompressionError: it is broken, of an unknown kind, or larger than `max_bytes`.
    """
    if not sys_flag & SYSFLAG_COMPRESSED:
        return body
    kind = sys_flag & SYSFLAG_COMPRESSION_MASK
    if kind in (Compression.ZLIB, Compression.ZLIB_OLD):
        return _inflate(body, max_bytes)
    if kind == Compression.LZ4:
        return _unlz4(body, max_bytes)
    if kind == Compression.ZSTD:
        return _unzstd(body, max_bytes)
    raise CompressionError(
        sentence("wire-body-decompressed", "A body cannot be decompressed"),
        reason=sentence("wire-compression-type-unknown", "compression type {kind} is unknown", kind=hex(kind)),
    )


def _too_large(max_bytes: int) -> CompressionError:
    error = CompressionError(
        sentence("wire-body-decompressed", "A body cannot be decompressed"),
        reason=sentence("wire-larger-bytes", "it is larger than {max_bytes:byte}", max_bytes=max_bytes),
    )
    error.is_too_large = True
    return error


def _broken(reason: str) -> CompressionError:
    return CompressionError(sentence("wire-body-decompressed", "A body cannot be decompressed"), reason=reason)


class _Pieces:
    """What came out so far; says at once when it is too much, so that a bomb costs its limit and one piece."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._max_bytes:
            raise _too_large(self._max_bytes)
        self._pieces.append(piece)

    def joined(self) -> bytes:
        return b"".join(self._pieces)


def _inflate(body: bytes, max_bytes: int) -> bytes:
    inflater = zlib.decompressobj()
    pieces = _Pieces(max_bytes)
    try:
        for start in range(0, len(body), _PIECE_BYTES):
            piece = inflater.decompress(body[start : start + _PIECE_BYTES], _PIECE_BYTES)
            pieces.add(piece)
            while len(piece) == _PIECE_BYTES:
                piece = inflater.decompress(inflater.unconsumed_tail, _PIECE_BYTES)
                pieces.add(piece)
            if inflater.eof:
                return pieces.joined()
    except zlib.error as error:
        raise _broken(str(error)) from None
    raise _broken(sentence("wire-cut-off", "it is cut off"))


def _unlz4(body: bytes, max_bytes: int) -> bytes:
    import lz4.frame

    reader = lz4.frame.LZ4FrameDecompressor()
    pieces = _Pieces(max_bytes)
    try:
        for start in range(0, len(body), _PIECE_BYTES):
            pieces.add(reader.decompress(body[start : start + _PIECE_BYTES], _PIECE_BYTES))
            while not reader.eof and not reader.needs_input:
                pieces.add(reader.decompress(b"", _PIECE_BYTES))
            if reader.eof:
                return pieces.joined()
    except RuntimeError as error:
        raise _broken(str(error)) from None
    raise _broken(sentence("wire-cut-off", "it is cut off"))


def _unzstd(body: bytes, max_bytes: int) -> bytes:
    """Java's streams do not say how much they hold: it is counted in one scratch buffer before it is unpacked."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor()
    try:
        content_size = zstandard.get_frame_parameters(body).content_size if body else 0
        if content_size == zstandard.CONTENTSIZE_UNKNOWN or not content_size:
            _count_zstd(unpacker.stream_reader(body), max_bytes)
            reader = unpacker.decompressobj()
            data = reader.decompress(body)
            if not reader.eof:
                raise _broken(sentence("wire-cut-off", "it is cut off"))
            return data
        if content_size > max_bytes:
            raise _too_large(max_bytes)
        return unpacker.decompress(body)  # writes no further than it was told
    except zstandard.ZstdError as error:
        raise _broken(str(error)) from None


def _count_zstd(reader: BinaryIO, max_bytes: int) -> None:
    scratch = bytearray(_PIECE_BYTES)
    left = max_bytes
    while size := reader.readinto(scratch):  # type: ignore[attr-defined]
        left -= size
        if left < 0:
            raise _too_large(max_bytes)
