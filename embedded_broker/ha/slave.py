"""The side of replication that follows: it connects to its master, says where its log ends, and appends what comes.

Theory of operation. The master's address comes with each registration, or from `haMasterAddress`; without one, or when
a connection is refused, the slave tries again after 5 s. It reports its end once nothing was written for
`haSendHeartbeatInterval`, which is also the request for data, and after each block that made its log longer. 4.9 counts
from the connection on, so that every connect costs 5 s; 5.x counts from the last report of any connection. A block that
does not begin at the end of the log ends the connection, unless the log is empty. Source: `HAService.HAClient` of
4.9.8, `DefaultHAClient` of 5.3.3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import cast

from embedded_broker.clock import Clock, Handle
from embedded_broker.log.following import FollowingLog
from embedded_broker.release import Release
from embedded_broker.settings import BrokerSettings
from mqctl.errors import MqctlError
from mqctl.model.numbers import decimal
from mqctl.protocol.ha_stream import Block, BlockReader, HaStreamError, encode_report

log = logging.getLogger("embedded_broker")

_RETRY_MS = 5_000
_SHORTEST_ADDRESS = 6


class HaSlave:
    """Keeps a log a copy of its master's.

    Attributes:
        address: `ip:port` of the master's replication port, "" while nobody told.
        log: what follows.
        reported: the last position told to the master.
        on_link: called when a connection to the master stands.
        read_ms, written_ms: when something came, and when a report went, epoch milliseconds; 0 for never.
    """

    def __init__(self, following: FollowingLog, settings: BrokerSettings, release: Release, clock: Clock) -> None:
        own = settings.ha_master_address
        self._is_fixed = len(own) >= _SHORTEST_ADDRESS
        self.address = own if self._is_fixed else ""
        self.log = following
        self.release = release
        self.clock = clock
        self.settings = settings
        self.reported = 0
        self.read_ms = self.written_ms = 0
        self._link: _MasterLink | None = None
        self._opening: asyncio.Task[None] | None = None
        self._retry: Handle | None = None
        self._stopped = self._paused = False
        self._unreached = ""
        self._refusals = 0
        self.on_link: Callable[[], object] = lambda: None

    @property
    def local(self) -> tuple[str, int] | None:
        """This side's address of the connection to the master; None while there is none."""
        return self._link.local if self._link is not None else None

    def use(self, address: str) -> None:
        """Takes the address that a name server told; a connection that stands is kept."""
        if not self._is_fixed and address:
            self.address = address

    def leave(self) -> None:
        """Leaves a master that is gone; another one has to be told of by `use`."""
        if not self._is_fixed:
            self.address = ""
        if self._link is not None:
            self._link.abort()

    def start(self) -> None:
        """Begins to follow."""
        self._connect()

    def pause(self) -> None:
        """Takes nothing more from the master until `resume`, as a slave does that hangs."""
        self._paused = True
        if self._link is not None:
            self._link.abort()

    def resume(self) -> None:
        """Follows again."""
        self._paused = False
        if self._link is None and self._opening is None and self._retry is None:
            self._connect()

    async def stop(self) -> None:
        """Ends it."""
        self._stopped = True
        if self._retry is not None:
            self._retry.cancel()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        if self._link is not None:
            self._link.abort()
            await asyncio.sleep(0)

    def _connect(self) -> None:
        self._retry = None
        if self._stopped or self._paused:
            return
        if self.address:
            self._opening = asyncio.get_running_loop().create_task(self._open(self.address))
        else:
            self._connect_later()

    def _connect_later(self) -> None:
        self._retry = self.clock.call_later(_RETRY_MS / self.settings.ha_time_scale, self._connect)

    async def _open(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        try:
            await asyncio.get_running_loop().create_connection(lambda: _MasterLink(self), host, decimal(port) or 0)
        except (OSError, OverflowError) as error:
            if address != self._unreached:  # every 5 s would be too often to tell it
                log.warning("master %s cannot be reached: %s", address, error)
            self._unreached = address
            self._connect_later()
        finally:
            self._opening = None

    def linked(self, link: _MasterLink) -> None:
        """Takes a new connection to the master."""
        self._link, self._unreached = link, ""
        self.on_link()
        self.reported = self.log.end
        if not self.release.is_v5:
            self.written_ms = self.clock.now_ms()
        self.read_ms = self.clock.now_ms()

    def refused(self) -> None:
        """Notes that the master sent what no master sends."""
        self._refusals += 1

    def took(self) -> None:
        """Notes that what the master sent was taken."""
        self._refusals = 0

    def lost(self) -> None:
        """Looks for another connection: 4.9 at once, 5.x after 5 s.

        A master that was refused twice, with nothing to be taken between, sends something else no sooner than that.
        """
        self._link = None
        if self._stopped or self._paused:
            return
        if self.release.is_v5 or self._refusals > 1:
            self._connect_later()
        else:
            self._connect()


class _MasterLink(asyncio.Protocol):
    """One connection to a master."""

    def __init__(self, slave: HaSlave) -> None:
        self._slave = slave
        self.local: tuple[str, int] | None = None
        self._blocks = BlockReader()
        self._transport: asyncio.Transport | None = None
        self._timer: Handle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.local = transport.get_extra_info("sockname")[:2]
        self._slave.linked(self)
        self._report_in_time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        self._slave.lost()

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def _report_in_time(self) -> None:
        """Reports when nothing was reported for a heartbeat's time; 5.x leaves a master that is silent for too long."""
        slave = self._slave
        now_ms, settings = slave.clock.now_ms(), slave.settings
        if slave.release.is_v5 and now_ms - slave.read_ms > settings.ha_housekeeping_interval:
            log.warning("master %s: nothing came for too long: closed", slave.address)
            self.abort()
            return
        if now_ms - slave.written_ms > settings.ha_send_heartbeat_interval:
            self._report()
        due_ms = slave.written_ms + settings.ha_send_heartbeat_interval + 1
        self._timer = slave.clock.call_later(max(1, due_ms - now_ms), self._report_in_time)

    def _report(self) -> None:
        if self._transport is not None:
            self._transport.write(encode_report(self._slave.reported))
            self._slave.written_ms = self._slave.clock.now_ms()

    def data_received(self, data: bytes) -> None:
        self._slave.read_ms = self._slave.clock.now_ms()
        try:
            for block in self._blocks.receive(data):
                if not self._take(block):
                    self._refuse()
                    return
        except (HaStreamError, MqctlError, ValueError) as error:  # names that no directory can have, no UTF-8
            log.error("master %s: %s", self._slave.address, error)
            self._refuse()

    def _refuse(self) -> None:
        self._slave.refused()
        self.abort()

    def _take(self, block: Block) -> bool:
        """Appends a block; False when it does not follow the log. Raises StorageError."""
        slave = self._slave
        end = slave.log.end
        if end and block.offset != end:
            log.error("master %s sends from %d, but the log ends at %d", slave.address, block.offset, end)
            return False
        is_new = bool(block.data) or not end  # a heartbeat, too, says where an empty log begins
        if is_new and not slave.log.append(block.offset, block.data):
            log.error("a block of %d bytes at %d fits no file of this log", len(block.data), block.offset)
        if slave.log.end > slave.reported:
            slave.took()
            slave.reported = slave.log.end
            self._report()
        return True
