"""Compressed bodies: every codec back and forth, cut at every byte, and larger than they claim to be."""

from __future__ import annotations

import pytest

from mqctl.protocol.compression import Compression, CompressionError, compress, decompress
from tests.each import each

BODY = b"order paid " * 400


@each("kind", list(Compression))
def test_every_codec_gives_back_what_it_took(kind: Compression) -> None:
    packed, flag = compress(BODY, kind)
    assert len(packed) < len(BODY)
    assert decompress(packed, flag) == BODY


@each("kind", list(Compression))
def test_a_body_cut_anywhere_is_refused(kind: Compression) -> None:
    packed, flag = compress(BODY, kind)
    for length in range(len(packed)):
        with pytest.raises(CompressionError):
            decompress(packed[:length], flag)


@each("kind", list(Compression))
def test_a_body_larger_than_allowed_is_refused(kind: Compression) -> None:
    packed, flag = compress(bytes(1 << 20), kind)
    with pytest.raises(CompressionError, match="larger"):
        decompress(packed, flag, max_bytes=1000)
