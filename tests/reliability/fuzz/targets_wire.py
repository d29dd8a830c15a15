"""Readers of what comes over the wire: frames, headers, bodies, records, batches, compressed bodies, traces."""

from __future__ import annotations

from functools import cache

from mqctl.protocol import bodies_client, bodies_cluster, bodies_stats, requests  # noqa: F401 - they declare themselves
from mqctl.protocol.body import Body
from mqctl.protocol.compression import Compression, compress, decompress
from mqctl.protocol.fastjson import dump_bytes, loads
from mqctl.protocol.frame import FrameDecoder, FrameError, RemotingCommand, SerializeType, decode, encode
from mqctl.protocol.header import _REQUESTS, Request
from mqctl.protocol.message_batch import BatchElement, decode_batch, encode_batch
from mqctl.protocol.message_id import OffsetId, UniqueId
from mqctl.protocol.message_record import decode_messages, encode_message
from mqctl.protocol.properties import format_properties, parse_properties, parse_settings
from mqctl.protocol.trace_records import decode_traces
from tests.reliability.fuzz import corpus
from tests.reliability.fuzz.engine import Target
from tests.store.builder import message, record_bytes

_BOMB = b"\0" * (80 << 20)


def read_stream(data: bytes) -> None:
    """A stream in two pieces; what is decoded must be writable again and mean the same."""
    middle = len(data) // 2
    decoder = FrameDecoder(max_frame_bytes=1 << 20)
    commands = decoder.feed(data[:middle]) + decoder.feed(data[middle:])
    for command in commands:
        _same_again(command)
    assert decoder.pending_bytes <= 1 << 20


def _same_again(command: RemotingCommand) -> None:
    if command.serialize_type is SerializeType.ROCKETMQ and command.ext_fields and "" in command.ext_fields.values():
        return  # an empty value is null to Java
    again = decode(encode(command))
    assert (again.code, again.opaque, again.flag, again.body) == (
        command.code, command.opaque, command.flag, command.body,
    )  # fmt: skip


def read_header(data: bytes) -> None:
    """Bytes as the header of a frame, in both forms."""
    for kind in SerializeType:
        size = len(data)
        frame = (4 + size).to_bytes(4, "big") + bytes((kind,)) + size.to_bytes(3, "big") + data
        try:
            command = decode(frame)
        except FrameError:
            continue
        request = _REQUESTS.get(command.code)
        if request is not None:
            _typed(request, command)


def _typed(request: type[Request], command: RemotingCommand) -> None:
    from mqctl.protocol.header import HeaderFieldError

    for header in (request, request.reply):
        try:
            typed = header.from_ext(command.ext_fields)
        except HeaderFieldError as error:
            assert error.remark
            continue
        assert header.from_ext(typed.to_ext()) == typed


@cache
def _bodies() -> tuple[type[Body], ...]:
    bodies: list[type[Body]] = []
    waiting = list(Body.__subclasses__())
    while waiting:
        kind = waiting.pop()
        bodies.append(kind)
        waiting += kind.__subclasses__()
    return tuple(sorted(bodies, key=lambda kind: kind.__name__))


def read_json(data: bytes) -> None:
    """Text of the dialect; what was read is written and read again."""
    value = loads(data)
    if b"$ref" not in data:  # references may make a value cyclic, which cannot be written
        # Infinity is written as null, as fastjson does, and null members are left out the next time.
        settled = loads(dump_bytes(loads(dump_bytes(value))))
        assert loads(dump_bytes(settled)) == settled


def read_bodies(data: bytes) -> None:
    """A body as each of the declared types, as a peer may send any for any."""
    from mqctl.protocol.body import BodyError

    for kind in _bodies():
        try:
            kind.from_bytes(data)
        except BodyError:
            continue


def read_records(data: bytes) -> None:
    for item in decode_messages(data):
        _ = item.tags, item.keys, item.unique_key
        decompress(item.body, item.sys_flag, max_bytes=1 << 20)


def read_batch(data: bytes) -> None:
    elements = decode_batch(data)
    for element in elements:
        parse_properties(element.properties_text)


def read_compressed(data: bytes) -> None:
    for kind in (*Compression, 0x400):
        try:
            assert len(decompress(data, 1 | kind, max_bytes=1 << 20)) <= 1 << 20
        except Exception as error:
            if type(error).__name__ != "CompressionError":
                raise


def read_texts(data: bytes) -> None:
    """Property texts, settings, message ids, trace records."""
    text = data.decode("utf-8", "replace")
    properties = parse_properties(text)
    assert parse_properties(format_properties(properties)) == properties
    parse_settings(data)
    decode_traces(data)
    for kind in (OffsetId, UniqueId):
        kind.parse(text.strip())


def _record_seeds() -> list[bytes]:
    properties = {"TAGS": "a", "KEYS": "k1 k2", "UNIQ_KEY": "0" * 32}
    made = [
        record_bytes(message(body=b"x" * 20, properties=properties)),
        record_bytes(message(born_host="[2001:db8::1]:1", store_host="[::1]:2", properties=properties), version=2),
        encode_message(message(body=compress(b"hello " * 50)[0])),
    ]
    recorded = [body for body in corpus.bodies() if body[4:8] == b"\xda\xa3\x20\xa7"]
    return [*made, *recorded, made[0] + made[1]]


def _compressed_seeds() -> list[bytes]:
    made = [compress(body, kind)[0] for body in (b"hello", b"ab" * 3_000) for kind in Compression]
    return [*made, *(compress(_BOMB, kind)[0][:200_000] for kind in (Compression.ZSTD, Compression.LZ4))]


def _batch_seeds() -> list[bytes]:
    return [encode_batch([BatchElement(b"x" * size, "TAGS\x01a\x02KEYS\x01k") for size in (0, 5, 100)])]


def _text_seeds() -> list[bytes]:
    return [
        b"TAGS\x01a\x02KEYS\x01k1 k2\x02", b"brokerName=b\\\n a\n#x\nk\\u0041=v\n", b"7F00000100002A9F" + b"0" * 16,
        b"Pub\x011700000000000\x01R\x01GP\x01T\x01ID\x01a\x01k\x01127.0.0.1:1\x0110\x013\x010\x01ID2\x01true\x02",
        b"SubAfter\x01R\x01ID\x013\x01true\x01k\x010\x01170\x01G\x02EndTransaction\x011\x01R\x01G\x02", b"0" * 56,
    ]  # fmt: skip


JSON_WORDS = tuple(
    b'{ } [ ] : , " \' \\ $ref @ .. $. null NaN true 0 -1 1e309 9223372036854775808 \\u0000 \\ud800 /* */ // {{ }: 12L'
    .split(b" ")
)  # fmt: skip
TARGETS = (
    Target("frames", corpus.frames, read_stream, (b"\0\0\0\x08", b"\x01", b'"extFields":', *JSON_WORDS), 12),
    Target("headers", lambda: [_header(frame) for frame in corpus.frames()], read_header, JSON_WORDS, 10),
    Target("fastjson", corpus.json_texts, read_json, JSON_WORDS, 12),
    Target("bodies", corpus.json_texts, read_bodies, JSON_WORDS, 0.5),
    Target("records", _record_seeds, read_records, (b"\xda\xa3\x20\xa7", b"\xda\xa3\x20\xab", b"\x02", b"\x01"), 16),
    Target("batches", _batch_seeds, read_batch, weight=24),
    Target(
        "compressed", _compressed_seeds, read_compressed, (b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"\x78\x9c"), 8
    ),
    Target("texts", _text_seeds, read_texts, (b"\x01", b"\x02", b"\\u", b"\\\n", b"="), 24),
)


def _header(frame: bytes) -> bytes:
    return frame[8 : 8 + int.from_bytes(frame[5:8], "big")]
