"""Small bodies that unpack to huge ones: what it costs to find that out, measured over the whole process."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from dataclasses import replace
from itertools import product

import lz4.frame
import pytest
import zstandard

from mqctl.model.message import SYSFLAG_COMPRESSED
from mqctl.protocol.bodies_client import ConsumerIds
from mqctl.protocol.body import BodyError
from mqctl.protocol.compression import Compression, CompressionError, compress, decompress
from mqctl.protocol.unpacking import Unpacker
from tests.conftest import REPOSITORY
from tests.each import each
from tests.store.builder import message

_LIMIT = 8 << 20
_SLACK = 4 << 20
# A block of 128 KiB that repeats one byte takes 4 bytes of a frame; this one does not tell its size.
_ZSTD_HEAD, _ZSTD_BLOCK = b"\x28\xb5\x2f\xfd\x00\x58", ((128 << 10) << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
_MEASURE = """
import json, sys
from pathlib import Path
import lz4.frame, zlib, zstandard
from mqctl.protocol.bodies_client import ConsumerIds
from mqctl.protocol.body import BodyError
from mqctl.protocol.compression import CompressionError, decompress
from tests.each import each

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))

body, flag, limit = sys.stdin.buffer.read(), int(sys.argv[1]), int(sys.argv[2])
before = peak()
try:
    decompress(body, flag, max_bytes=limit)
    said = "nothing"
except CompressionError as error:
    said = str(error)
print(json.dumps({"said": said, "grew": peak() - before}))
"""


def endless_zstd(blocks: int = 1024, window: int = 0x58) -> bytes:
    return _ZSTD_HEAD[:5] + bytes((window,)) + _ZSTD_BLOCK * blocks


def _packed(kind: str) -> tuple[bytes, int]:
    huge = bytes(128 << 20)
    if kind == "zlib":
        return zlib.compress(huge, 9)[:100_000], SYSFLAG_COMPRESSED | Compression.ZLIB
    if kind == "lz4":
        return lz4.frame.compress(huge[: 32 << 20])[:100_000], SYSFLAG_COMPRESSED | Compression.LZ4
    if kind == "lz4 that tells its size":
        return lz4.frame.compress(huge[: 24 << 20], store_size=True)[:60_000], SYSFLAG_COMPRESSED | Compression.LZ4
    flag = SYSFLAG_COMPRESSED | Compression.ZSTD
    if kind == "zstd that tells its size":
        return zstandard.ZstdCompressor().compress(huge), flag
    return endless_zstd(window=0x88 if kind == "zstd with a window of 128 MiB" else 0x58), flag


@pytest.mark.parametrize(
    "kind",
    ["zlib", "lz4", "lz4 that tells its size", "zstd", "zstd that tells its size", "zstd with a window of 128 MiB"],
)
def test_a_bomb_costs_no_more_than_its_limit(kind: str) -> None:
    body, flag = _packed(kind)
    assert len(body) <= 100_000
    command = [sys.executable, "-c", _MEASURE, str(flag), str(_LIMIT)]
    done = subprocess.run(command, cwd=REPOSITORY, input=body, capture_output=True, check=True)
    measured = json.loads(done.stdout)
    assert f"larger than {_LIMIT:,} bytes" in measured["said"]
    assert measured["grew"] <= _LIMIT + _SLACK, f"{measured['grew'] >> 20} MiB"


@each("kind, size", product(Compression, [0, 1, 65_535, 65_536, 65_537, 131_072, 1_000_000]))
def test_the_limit_is_exact(kind: Compression, size: int) -> None:
    body = bytes(size)
    packed, flag = compress(body, kind)
    assert decompress(packed, flag, max_bytes=size) == body
    if size:
        with pytest.raises(CompressionError, match=f"larger than {size - 1:,} bytes"):
            decompress(packed, flag, max_bytes=size - 1)


@pytest.mark.parametrize("size", [0, 1, 65_536, 1_000_000])
def test_zstd_streams_of_java_do_not_tell_their_size(size: int) -> None:
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    packed = stream.compress(bytes(size)) + stream.flush()
    flag = SYSFLAG_COMPRESSED | Compression.ZSTD
    assert decompress(packed, flag, max_bytes=size) == bytes(size)
    for length in {0, 4, 5, len(packed) // 2, len(packed) - 1}:
        with pytest.raises(CompressionError):
            decompress(packed[:length], flag, max_bytes=size)


def test_many_small_bombs_share_one_limit() -> None:
    packed, flag = compress(bytes(1_000_000), Compression.ZSTD)
    bomb = message(body=packed)
    bomb = replace(bomb, sys_flag=flag)
    unpacker = Unpacker(3_500_000)
    unpacked = [unpacker.stored(bomb) for _ in range(50)]
    assert [len(item.body) for item in unpacked] == [1_000_000] * 3 + [len(packed)] * 47
    assert [item.problem for item in unpacked[:3]] == [None] * 3
    assert all("unpack to more than 3,500,000 bytes" in (item.problem or "") for item in unpacked[3:])
    unpacker.forget(unpacked[0])
    assert unpacker.stored(bomb).body == bytes(1_000_000)


def test_bodies_that_are_not_compressed_are_not_counted() -> None:
    unpacker = Unpacker(10)
    plain = message(body=bytes(100))
    assert [unpacker.stored(plain).problem for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("inner", ['{"$ref":".."}', '{"$ref":"$"}', "pairs"])
def test_references_where_a_text_stands_are_no_gigabyte(inner: str) -> None:
    def pair(number: int) -> str:
        reference = f'{{"$ref":"$.consumerIdList[{number}]"}}'
        return f'{{"a":[{reference},{reference}]}}'

    items = ["{}", *map(pair, range(60))] if inner == "pairs" else [f'{{"a":[{inner}]}}']
    body = f'{{"consumerIdList":[{",".join(items)}]}}'.encode()
    with pytest.raises(BodyError, match=r"a text is expected, not|references|depth|deep|circle"):
        ConsumerIds.from_bytes(body)
