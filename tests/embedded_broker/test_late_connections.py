"""Clients that come in while a server ends: whoever it has let in by then, and whoever it has not, is left."""

from __future__ import annotations

import asyncio
import socket

import pytest

from embedded_broker.clock import SystemClock
from embedded_broker.remoting.listener import Listener
from embedded_broker.remoting.server import Limits, ServerConnection
from mqctl.protocol.frame import RemotingCommand

_LONG_S = 30
_TURNS = 6
"""More turns of the loop than there are from a connection that waits to one that is served."""


class Nobody:
    """What stands behind a server that has ended: nothing may get there."""

    def dispatch(self, connection: ServerConnection, command: RemotingCommand) -> None:
        raise AssertionError("a request was served")


async def end_after(turns: int, *, abort: bool) -> tuple[bytes, int]:
    """Ends a listener so many turns of the loop after a client came; returns what the client got, and who is left."""
    loop = asyncio.get_running_loop()
    listener = Listener(Nobody(), SystemClock(loop), Limits())
    await listener.open("127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", listener.port)) as client:
        client.setblocking(False)
        for _ in range(turns):
            await asyncio.sleep(0)
        await listener.close(abort=abort)
        try:
            got = await asyncio.wait_for(loop.sock_recv(client, 1), _LONG_S)
        except ConnectionResetError:
            got = b""
    return got, len(listener.connections)


@pytest.mark.parametrize("abort", [False, True], ids=["stopped", "killed"])
@pytest.mark.parametrize("turns", range(_TURNS))
def test_nobody_is_served_by_a_server_that_has_ended(turns: int, abort: bool) -> None:
    assert asyncio.run(end_after(turns, abort=abort)) == (b"", 0)
