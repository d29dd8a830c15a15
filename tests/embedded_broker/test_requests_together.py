"""Requests that come in one piece: each is answered, whatever follows it."""

from __future__ import annotations

import pytest

from mqctl.protocol.frame import FrameDecoder, encode
from mqctl.protocol.requests_client import GetMaxOffset
from tests.embedded_broker.wire import Peer


@pytest.mark.parametrize("end", [b"", b"\x7f\xff\xff\xff no frame"], ids=["whole", "broken"])
def test_requests_that_come_together_are_all_answered_in_order(broker: Peer, end: bytes) -> None:
    pending = [
        encode(GetMaxOffset(topic="none", queue_id=number).command(opaque=number, body=b"x" * 1_000))
        for number in range(200)
    ]
    broker.socket.sendall(b"".join(pending) + end)
    decoder = FrameDecoder()
    got: list[int] = []
    while len(got) < len(pending):
        data = broker.socket.recv(1 << 20)
        assert data, f"closed behind {len(got)} answers"
        got += [command.opaque for command in decoder.feed(data)]
    assert got == list(range(200))
    if end:
        assert broker.socket.recv(1) == b""
