"""The side of replication that has the log: slaves connect, say where they stand, and get what follows.

Theory of operation. Each connection asks for one position by its first report and gets everything from there on, in
blocks of at most `haTransferBatchSize` bytes that never cross the end of a file. New bytes are looked for every 100 ms;
a send that waits for slaves has them sent at once. Silence of `haSendHeartbeatInterval` is filled by an empty block, a
slave silent for `haHousekeepingInterval` is dropped. Whoever connects counts as a slave: nobody has to say who he is.

What a send under SYNC_MASTER waits for differs. 4.9: one report that reaches its end, from any connection that ever
was, for the highest report is remembered. 5.x: as many connections as `inSyncReplicas` asks for, less the master
itself; with 1, the default, it waits for nobody. Source: `HAService`, `HAConnection`, `CommitLog.handleHA` of 4.9.8;
`DefaultHAService`, `GroupTransferService` of 5.3.3.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, cast

from embedded_broker.clock import Clock, Handle, Periodic
from embedded_broker.release import Release
from embedded_broker.remoting.listener import PortError, listen
from embedded_broker.settings import SYNC_MASTER, BrokerSettings
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.ha_stream import ReportReader, encode_block_head
from mqctl.store.log_writer import CommitLogWriter

log = logging.getLogger("embedded_broker")

_POLL_MS, _TICK_MS = 100, 1_000
_BLOCKS_IN_A_TURN = 16
_MOST_SLAVES = 100
OnReplicated = Callable[[ResponseCode | None], None]
"""Gets what a send is answered, or None when its message is where it has to be."""


class _Wait(NamedTuple):
    end: int
    timer: Handle
    done: OnReplicated


class HaMaster:
    """Gives a log to slaves.

    Attributes:
        connections: whoever is connected, in the order of coming.
        on_slave: called when somebody connects.
        pushed: highest position that anybody ever reported since the start (`push2SlaveMaxOffset`).
    """

    def __init__(self, log_writer: CommitLogWriter, settings: BrokerSettings, release: Release, clock: Clock) -> None:
        self.connections: dict[SlaveConnection, None] = {}
        self.pushed = 0
        self.on_slave: Callable[[], object] = lambda: None
        self.log = log_writer
        self.settings = settings
        self.release = release
        self.clock = clock
        self._server: asyncio.Server | None = None
        self._waits: deque[_Wait] = deque()

    async def open(self, host: str, port: int) -> None:
        """Starts to listen. Raises PortError."""
        try:
            self._server = await listen(lambda: SlaveConnection(self), host, port)
        except (OSError, OverflowError) as error:
            raise PortError(
                f"could not listen on {host}:{port} for slaves", reason=str(error), remedy="choose another port"
            ) from error

    async def close(self) -> None:
        """Stops to listen and closes all connections; sends that wait are not answered any more."""
        if self._server is not None:
            self._server.close()
        for wait in self._waits:
            wait.timer.cancel()
        self._waits.clear()
        for connection in list(self.connections):
            connection.abort()
        await asyncio.sleep(0)

    def admit(self, connection: SlaveConnection) -> bool:
        """Takes a connection in; False when there are too many."""
        if len(self.connections) >= _MOST_SLAVES:
            log.warning("%s: more than %d connections to the replication port", connection.peer, _MOST_SLAVES)
            return False
        self.connections[connection] = None
        self.on_slave()
        return True

    # What sends wait for

    @property
    def waits(self) -> bool:
        """Whether sends have to wait for slaves."""
        settings = self.settings
        return settings.broker_role == SYNC_MASTER and (not self.release.is_v5 or settings.in_sync_replicas > 1)

    def when_replicated(self, end: int, done: OnReplicated) -> None:
        """Calls `done` once slaves have the log up to `end`, or when they do not get there in time."""
        settings = self.settings
        if not self.release.is_v5:
            is_behind = end - self.pushed >= settings.ha_slave_fallbehind_max
            if not self.connections or is_behind:
                done(ResponseCode.SLAVE_NOT_AVAILABLE)
                return
        if self._reach() >= end:
            done(None)
            return
        timer = self.clock.call_later(settings.slave_timeout, self._give_up)
        self._waits.append(_Wait(end, timer, done))
        for connection in self.connections:
            connection.pump()

    def _give_up(self) -> None:
        """Answers the oldest send; all wait equally long."""
        if self._waits:
            wait = self._waits.popleft()
            wait.timer.cancel()
            wait.done(ResponseCode.FLUSH_SLAVE_TIMEOUT)

    def acknowledged(self, position: int) -> None:
        """Takes a report of a slave; answers the sends that waited for it."""
        self.pushed = max(self.pushed, position)
        while self._waits and self._reach() >= self._waits[0].end:
            wait = self._waits.popleft()
            wait.timer.cancel()
            wait.done(None)

    def _reach(self) -> int:
        """Returns up to where the log counts as replicated."""
        if not self.release.is_v5:
            return self.pushed
        wanted = self.settings.in_sync_replicas - 1
        acks = sorted((connection.acknowledged for connection in self.connections), reverse=True)
        return acks[wanted - 1] if len(acks) >= wanted else -1


class SlaveConnection(asyncio.Protocol):
    """One connection to the replication port, of a slave as far as anybody knows.

    Attributes:
        acknowledged: its last report, -1 before the first.
        next_offset: where its next block begins, -1 before its first report.
    """

    def __init__(self, master: HaMaster) -> None:
        self.peer = ""
        self.acknowledged = self.next_offset = -1
        self._master = master
        self._reports = ReportReader()
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._read_ms = self._written_ms = master.clock.now_ms()
        self._poll: Handle | None = None
        self._tick: Periodic | None = None
        self._turns: asyncio.Handle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        host, port = transport.get_extra_info("peername")[:2]
        self.peer = f"{host}:{port}"
        if not self._master.admit(self):
            self._transport.abort()
            return
        self._tick = Periodic(self._master.clock, _TICK_MS, self._close_silent, first_ms=_TICK_MS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._master.connections.pop(self, None)
        self._transport = None
        if self._tick is not None:
            self._tick.cancel()
        for timer in (self._poll, self._turns):
            if timer is not None:
                timer.cancel()

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _close_silent(self) -> None:
        if self._master.clock.now_ms() - self._read_ms > self._master.settings.ha_housekeeping_interval:
            log.warning("%s: the slave reported nothing for too long: closed", self.peer)
            self._close()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._read_ms = self._master.clock.now_ms()
        report = self._reports.receive(data)
        if report is None:
            return
        self.acknowledged = report
        end = self._master.log.position
        if self.next_offset < 0:
            self.next_offset = report if report > 0 else end - end % self._master.log.file_bytes
            log.info("%s: a slave asks for the log from %d on", self.peer, self.next_offset)
        elif report > end and not self._master.release.is_v5:
            log.warning("%s: the slave has %d, beyond the end of the log, %d: closed", self.peer, report, end)
            self._close()
            return
        self._master.acknowledged(report)
        if self._poll is None:
            self.pump()

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        self.pump()

    def pump(self) -> None:
        """Sends what the log has behind the last block, or a heartbeat when it is time for one."""
        if self._poll is not None:
            self._poll.cancel()
            self._poll = None
        if self._transport is None or self._transport.is_closing() or self.next_offset < 0 or self._paused:
            return
        now_ms = self._master.clock.now_ms()
        if now_ms - self._written_ms > self._master.settings.ha_send_heartbeat_interval:
            self._write(b"")
        for _ in range(_BLOCKS_IN_A_TURN):
            data = self._next_bytes()
            if not data:
                self._poll = self._master.clock.call_later(_POLL_MS, self.pump)
                return
            self._write(data)
            if self._paused:
                return
        self._turns = asyncio.get_running_loop().call_soon(self.pump)

    def _next_bytes(self) -> bytes:
        at, source = self.next_offset, self._master.log
        size = min(self._master.settings.ha_transfer_batch_size, source.position - at)
        return source.read(at, size) if size > 0 else b""

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(encode_block_head(self.next_offset, len(data)) + data)
            self._written_ms = self._master.clock.now_ms()
            self.next_offset += len(data)
