"""Compressed message bodies: zlib, LZ4 frames, zstd (`CompressionType` of 4.9.4 and later)."""

from __future__ import annotations

import zlib
from enum import IntEnum

from mqctl.errors import BadInputError
from mqctl.model.message import SYSFLAG_COMPRESSED, SYSFLAG_COMPRESSION_MASK

DEFAULT_LEVEL = 5
_MAX_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 4096


class CompressionError(BadInputError):
    """A body that does not decompress."""


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


def decompress(body: bytes, sys_flag: int, *, max_bytes: int = _MAX_BYTES) -> bytes:
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
    raise CompressionError("A body cannot be decompressed", reason=f"compression type 0x{kind:x} is unknown")


def _too_large(max_bytes: int) -> CompressionError:
    return CompressionError("A body cannot be decompressed", reason=f"it is larger than {max_bytes} bytes")


def _inflate(body: bytes, max_bytes: int) -> bytes:
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(body, max_bytes)
    except zlib.error as error:
        raise CompressionError("A body cannot be decompressed", reason=str(error)) from None
    if not inflater.eof:
        if inflater.unconsumed_tail:
            raise _too_large(max_bytes)
        raise CompressionError("A body cannot be decompressed", reason="it is cut off")
    return data


def _unlz4(body: bytes, max_bytes: int) -> bytes:
    import lz4.frame

    reader = lz4.frame.LZ4FrameDecompressor()
    try:
        data: bytes = reader.decompress(body, max_bytes)
    except RuntimeError as error:
        raise CompressionError("A body cannot be decompressed", reason=str(error)) from None
    if not reader.eof:
        if len(data) >= max_bytes:
            raise _too_large(max_bytes)
        raise CompressionError("A body cannot be decompressed", reason="it is cut off")
    return data


def _unzstd(body: bytes, max_bytes: int) -> bytes:
    import zstandard

    reader = zstandard.ZstdDecompressor().decompressobj()
    data = bytearray()
    try:
        # Piece by piece: a small body can claim to be a huge one.
        for start in range(0, len(body), _PIECE_BYTES):
            data += reader.decompress(body[start : start + _PIECE_BYTES])
            if len(data) > max_bytes:
                raise _too_large(max_bytes)
            if reader.eof:
                return bytes(data)
    except zstandard.ZstdError as error:
        raise CompressionError("A body cannot be decompressed", reason=str(error)) from None
    raise CompressionError("A body cannot be decompressed", reason="it is cut off")
