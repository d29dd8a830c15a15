"""Every declared request leaves signed, and the signature is what a Java broker computes of the bytes that arrive.

The other side is written here anew from `PlainAccessValidator` and `AclUtils` of 4.9.8, of bytes and the standard
library alone: our encoder, our decoder and our signature have no part in it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import Link, LinkSettings
from mqctl.protocol.acl import Credentials
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.declared import Field
from mqctl.protocol.frame import SerializeType
from mqctl.protocol.requests import REQUESTS, Request
from tests.client.raw_server import RawServer

SECRET = "密钥-of-the-operator"
KEYS = Credentials("ops-运维", SECRET, "a token")
TEXTS = ("订单 topic", "", "key=value,第二", "\U00010400 beyond\x01\x02", "%RETRY%组")
BODIES = (b"", b"{}", bytes(range(256)), "正文".encode())


def value_of(item: Field, turn: int) -> Any:
    samples: dict[str, tuple[object, ...]] = {
        "str": TEXTS,
        "bool": (True, False),
        "float": (0.5, -1e21),
        "Int32": (0, -1, 2**31 - 1),
        "Int64": (0, -1, 2**63 - 1),
    }
    values = samples[item.kind]
    return values[turn % len(values)]


def requests(kind: type[Request]) -> Iterator[Request]:
    """All fields with changing values; then only those that are required."""
    for turn in range(len(TEXTS)):
        yield kind(**{item.name: value_of(item, turn + place) for place, item in enumerate(kind.fields())})
    yield kind(**{item.name: value_of(item, 0) for item in kind.fields() if item.required})


# The reader of Java


def java_map(frame: bytes) -> tuple[dict[str, str | None], bytes]:
    """Returns ext fields and body of a frame as a Java broker has them; length 0 in a binary header is null."""
    (mark,) = struct.unpack_from(">I", frame, 4)
    end = 8 + (mark & 0xFFFFFF)
    header, body = frame[8:end], frame[end:]
    if mark >> 24 == 0:
        return json.loads(header).get("extFields") or {}, body
    at = 17 + struct.unpack_from(">i", header, 13)[0]
    at, stop = at + 4, at + 4 + struct.unpack_from(">i", header, at)[0]
    values: dict[str, str | None] = {}
    while at < stop:
        (size,) = struct.unpack_from(">h", header, at)
        name, at = header[at + 2 : at + 2 + size].decode(), at + 2 + size
        (size,) = struct.unpack_from(">i", header, at)
        values[name], at = header[at + 4 : at + 4 + size].decode() or None, at + 4 + size
    return values, body


def java_signature(ext: dict[str, str | None], body: bytes) -> str:
    """`StringBuilder.append` writes `null` for null; a `TreeMap` orders by UTF-16 code units."""
    names = sorted(set(ext) - {"Signature", "_UNIQUE_KEY_QUERY"}, key=lambda name: name.encode("utf-16-be"))
    text = "".join("null" if ext[name] is None else str(ext[name]) for name in names)
    return base64.b64encode(hmac.new(SECRET.encode(), text.encode() + body, hashlib.sha1).digest()).decode()


@pytest.mark.parametrize("form", list(SerializeType))
def test_every_declared_request_is_signed_as_java_reads_it(form: SerializeType) -> None:
    with RawServer() as server:
        settings = LinkSettings(credentials=KEYS, serialize_type=form)
        link = Link(server.address, settings)
        sent: list[RequestCode] = []
        for code in sorted(REQUESTS):
            if form is SerializeType.ROCKETMQ and code > 0x7FFF:
                continue  # it does not fit into a binary header
            for turn, request in enumerate(requests(REQUESTS[code])):
                body = BODIES[turn % len(BODIES)]
                if turn % 2:
                    link.oneway(request, body=body)
                else:
                    link.submit(request, body=body, deadline=Deadline(60_000), on_done=lambda _: None)
                sent.append(request.code)
        try:
            frames = server.frames(len(sent))
        finally:
            link.close()
    assert len(set(sent)) > 100
    for code, frame in zip(sent, frames, strict=True):
        ext, body = java_map(frame)
        assert ext["AccessKey"] == KEYS.access_key, code
        assert ext["SecurityToken"] == KEYS.security_token, code
        assert ext["Signature"] == java_signature(ext, body), (code, ext)
        assert SECRET not in frame.decode(errors="replace"), code
