"""Connections that speak the remoting protocol.

A connection carries requests and responses in both directions. Bytes that are no frame close it, as `NettyDecoder`
does; everything else is the business of the service behind it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Protocol, cast

from embedded_broker.clock import Clock, Handle
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import (
    FLAG_ONEWAY,
    FLAG_RESPONSE,
    MAX_FRAME_BYTES,
    FrameDecoder,
    FrameError,
    RemotingCommand,
    encode,
)

log = logging.getLogger("embedded_broker")

OnAnswer = Callable[[RemotingCommand | None], None]
_WRITE_BUFFER_BYTES = 4 * 1024 * 1024
_LAST_WORDS_SECONDS = 1.0
_TURN_SECONDS, _FEW_REQUESTS = 0.005, 4
_GATHERED_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What a listener puts up with.

    Attributes:
        frame_bytes: longest frame, its length field included.
        header_bytes: longest header; that of a send has at most some 33 KiB.
        idle_ms: silence after which a connection is closed (RocketMQ: 120 s without reading and writing).
        half_frame_ms: time that a frame may take from its first byte to its last.
        connections: connections at one time; further ones are closed at once.
        held_pulls: pulls of one broker that wait for messages; further ones are answered at once.
        unfinished_bytes: of frames of all connections of a listener that have not ended; beyond it, the connections
            with the most of them are closed.
        asked: requests to one client that wait for its answer; further ones count as unanswered at once.
    """

    frame_bytes: int = MAX_FRAME_BYTES
    header_bytes: int = 1024 * 1024
    idle_ms: int = 120_000
    half_frame_ms: int = 30_000
    connections: int = 20_000
    held_pulls: int = 20_000
    unfinished_bytes: int = 128 * 1024 * 1024
    asked: int = 1_000


class Service(Protocol):
    """What stands behind a connection."""

    def dispatch(self, connection: ServerConnection, command: RemotingCommand) -> None:
        """Takes one request; answers through the connection, now or later."""


class ServerConnection(asyncio.Protocol):
    """One TCP connection, ours or a peer's.

    Attributes:
        id: number of the connection, unique in the process.
        peer: `ip:port` of the other side.
        local: `ip:port` of this side.
        active_ms: instant of the last byte read or written.
        trusted: whether its requests were checked before they came here.
    """

    trusted = False
    _ids = count(1)

    def __init__(self, service: Service, clock: Clock, limits: Limits) -> None:
        self.id = next(self._ids)
        self.peer = self.local = ""
        self.closed = False
        self.active_ms = clock.now_ms()
        self._clock = clock
        self._service = service
        self._limits = limits
        self._transport: asyncio.Transport | None = None
        self._frames = FrameDecoder(max_frame_bytes=limits.frame_bytes, max_header_bytes=limits.header_bytes)
        self._paused = False
        self._later = False
        self._gathered: bytearray | None = None
        self._frame_began_ms = 0
        self._calls: dict[int, tuple[OnAnswer, Handle]] = {}
        self._opaques = count(1)
        self._close_listeners: list[Callable[[ServerConnection], None]] = []

    def on_close(self, listener: Callable[[ServerConnection], None]) -> None:
        """Has `listener` called once when the connection is gone."""
        self._close_listeners.append(listener)

    def send(self, command: RemotingCommand) -> None:
        """Writes one frame; a closed connection swallows it."""
        try:
            self.write(encode(command))
        except FrameError as error:
            log.warning("%s: answer to the request %d not sent: %s", self.peer, command.opaque, error)
            if command.is_response:
                remark = f"the answer is too large: {error.reason}"
                self.write(encode(command.answer(ResponseCode.SYSTEM_ERROR, remark=remark)))

    def write(self, data: bytes) -> None:
        """Writes bytes that are whole frames; those of requests that came together leave together."""
        if self.closed or self._transport is None:
            return
        self.active_ms = self._clock.now_ms()
        if self._gathered is None:
            self._transport.write(data)
            return
        self._gathered += data
        if len(self._gathered) > _GATHERED_BYTES:
            self._send_gathered()

    def _send_gathered(self) -> None:
        if self._gathered and self._transport is not None and not self._transport.is_closing():
            data, self._gathered = self._gathered, bytearray()
            self._transport.write(data)

    def call(self, command: RemotingCommand, timeout_ms: int, on_answer: OnAnswer) -> None:
        """Sends a request; `on_answer` gets the response, or None when it did not come in time, or too many wait."""
        from dataclasses import replace

        if len(self._calls) >= self._limits.asked:
            log.warning(
                "%s: %d requests wait for its answers: request %d is not sent",
                self.peer,
                len(self._calls),
                command.code,
            )
            on_answer(None)
            return
        opaque = next(self._opaques) & 0x7FFFFFFF
        timer = self._clock.call_later(timeout_ms, lambda: self._answered(opaque, None))
        self._calls[opaque] = (on_answer, timer)
        if self.closed:
            self._answered(opaque, None)
        else:
            self.send(replace(command, opaque=opaque))

    def tell(self, command: RemotingCommand) -> None:
        """Sends a request that wants no response."""
        from dataclasses import replace

        self.send(replace(command, opaque=next(self._opaques) & 0x7FFFFFFF, flag=command.flag | FLAG_ONEWAY))

    def close(self) -> None:
        """Closes the connection once what was written has left."""
        self._send_gathered()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def drop(self) -> None:
        """Closes the connection at once and forgets what came of a frame."""
        self._frames.clear()
        self.abort()

    def _answered(self, opaque: int, answer: RemotingCommand | None) -> None:
        waiting = self._calls.pop(opaque, None)
        if waiting is not None:
            waiting[1].cancel()
            waiting[0](answer)

    def refuse(self, reason: str) -> None:
        """Closes the connection because of what the peer did, with one line in the log."""
        if not self.closed:
            log.warning("%s: connection closed: %s", self.peer, reason)
            self.close()

    @property
    def unfinished_bytes(self) -> int:
        """Bytes of a frame that has not ended yet, and of those whose turn has not come."""
        return self._frames.pending_bytes

    def overdue(self, now_ms: int) -> str | None:
        """Returns why the connection has to be closed for its silence, or None."""
        pending = self._frames.pending_bytes
        if pending and not self._paused and now_ms - self._frame_began_ms > self._limits.half_frame_ms:
            return f"a frame of which {pending} bytes came has not ended after {self._limits.half_frame_ms} ms"
        if now_ms - self.active_ms > self._limits.idle_ms:
            return f"nothing was said for {self._limits.idle_ms} ms"
        return None

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_WRITE_BUFFER_BYTES)
        self.peer = _address(transport.get_extra_info("peername"))
        self.local = _address(transport.get_extra_info("sockname"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._frames.clear()
        for opaque in list(self._calls):
            self._answered(opaque, None)
        listeners, self._close_listeners = self._close_listeners, []
        for listener in listeners:
            listener(self)

    def pause_writing(self) -> None:
        """A peer that does not read its answers gets no further ones made, also not for what it has sent already."""
        self._paused = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        self.active_ms = self._clock.now_ms()
        if self._later:
            return
        self._take()
        if not self._later and not self._paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self.active_ms = self._clock.now_ms()
        frames = self._frames
        if not self._later and not self._paused:
            try:
                command = frames.whole(data)
            except FrameError as error:
                self.refuse(str(error))
                return
            if command is not None:
                self._deal_with(command)
                return
        if not frames.pending_bytes:
            self._frame_began_ms = self.active_ms
        frames.receive(data)
        if not self._later:
            self._take()
        self._count_unfinished()

    def _count_unfinished(self) -> None:
        """Takes note of bytes of a frame that has not ended; for connections of a listener, which limits them."""

    def _deal_with(self, command: RemotingCommand) -> None:
        if command.flag & FLAG_RESPONSE:
            self._answered(command.opaque, command)
        else:
            self._service.dispatch(self, command)

    def _take(self) -> None:
        """Deals with the frames that are complete, until the peer has to read answers first.

        After a moment others have their turn: one connection may bring a hundred requests at once that cost something.
        A few are dealt with in any case, for the moment may pass while the process waits for the processor; answers
        that could have left together would leave one by one.
        """
        self._later = False
        self._gathered = bytearray()
        end, left = monotonic() + _TURN_SECONDS, _FEW_REQUESTS
        try:
            while not self._paused and (command := self._frames.next_command()) is not None:
                self._frame_began_ms = self.active_ms
                self._deal_with(command)
                if self._transport is None or self._transport.is_closing() or not self._frames.pending_bytes:
                    return
                left -= 1
                if left <= 0 and monotonic() > end:
                    self._go_on_later(self._transport)
                    return
        except FrameError as error:
            self.refuse(str(error))
        finally:
            self._send_gathered()
            self._gathered = None

    def _go_on_later(self, transport: asyncio.Transport) -> None:
        self._later = True
        transport.pause_reading()
        asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._take()
        if not self._later and not self._paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


def _address(name: object) -> str:
    if isinstance(name, tuple) and len(name) >= 2:
        return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"
    return ""


async def gone(connections: Iterable[ServerConnection]) -> None:
    """Waits until closed connections are gone; one whose peer does not read what is left to write is cut off."""
    waiting = list(connections)
    deadline = monotonic() + _LAST_WORDS_SECONDS
    while waiting:
        await asyncio.sleep(0)
        waiting = [connection for connection in waiting if not connection.closed]
        if monotonic() > deadline:
            for connection in waiting:
                connection.abort()
