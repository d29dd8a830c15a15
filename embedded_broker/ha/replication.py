"""Replication of one broker in whichever role it has: all give their log, a slave follows a master as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from embedded_broker.clock import Clock
from embedded_broker.ha.copying import TableCopier, Tables
from embedded_broker.ha.master import HaMaster
from embedded_broker.ha.role import slave_refusal
from embedded_broker.ha.slave import HaSlave
from embedded_broker.log.following import FollowingLog
from embedded_broker.log.store import Storage
from embedded_broker.release import Release
from embedded_broker.remoting.refusals import Refusal
from embedded_broker.settings import BrokerSettings
from mqctl.protocol.requests_namesrv import RegisterBrokerReply

if TYPE_CHECKING:
    import ssl


class Replication:
    """Who gives the log to slaves, and, on a slave, who follows its master.

    Attributes:
        master: gives this broker's log to whoever connects; slaves listen, too.
        tables: what is copied besides the log.
        slave, copier: follow the master's log, and its tables; None where this is no slave.
    """

    def __init__(
        self,
        storage: Storage,
        tables: Tables,
        settings: BrokerSettings,
        release: Release,
        clock: Clock,
        *,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._storage, self.tables = storage, tables
        self.settings, self.release, self.clock = settings, release, clock
        self._context = context
        self.master = HaMaster(storage.log, settings, release, clock)
        self.slave: HaSlave | None = None
        self.copier: TableCopier | None = None
        storage.is_copy = settings.is_slave

    async def listen(self, host: str, port: int) -> None:
        """Opens the replication port. Raises PortError."""
        await self.master.open(host, port)

    def start(self) -> None:
        """Has a slave begin to follow; the store must be open."""
        if not self.settings.is_slave:
            return
        following = FollowingLog(self._storage)
        self.slave = HaSlave(following, self.settings, self.release, self.clock)
        self.copier = TableCopier(self.tables, self.settings, self.release, self.clock, self._context)
        self.slave.start()
        self.copier.start()

    async def stop(self) -> None:
        """Ends it, whatever is under way."""
        if self.slave is not None:
            await self.slave.stop()
        if self.copier is not None:
            await self.copier.stop()
        await self.master.close()

    def take_master(self, reply: RegisterBrokerReply) -> None:
        """Takes what a name server tells of the master: without one, tables are no longer copied."""
        if self.slave is not None:
            self.slave.use(reply.ha_server_addr or "")
        if self.copier is not None:
            self.copier.master = reply.master_addr

    def leave_master(self) -> None:
        """Follows nobody any more: the master is gone, and this slave, or another one, stands in for it."""
        if self.slave is not None:
            self.slave.leave()
        if self.copier is not None:
            self.copier.master = None

    def use_master(self, address: str | None, ha_address: str | None) -> None:
        """Follows a master that is there (again)."""
        if self.copier is not None and address:
            self.copier.master = address
        if self.slave is not None and ha_address:
            self.slave.use(ha_address)

    def on_slave(self, listener: Callable[[], object]) -> None:
        """Has `listener` called when a slave is connected, at once where one is."""
        self.master.on_slave = listener
        if self.master.connections:
            listener()

    def on_master(self, listener: Callable[[], object]) -> None:
        """Has `listener` called when this slave is connected to its master, at once if it is."""
        if self.slave is not None:
            self.slave.on_link = listener
            if self.slave.local is not None:
                listener()

    def copied(self, name: str) -> bytes | None:
        """Returns what a slave copied of its master for a configuration file; None where it has none."""
        return self.copier.copied.get(name) if self.copier is not None else None

    @property
    def flushed(self) -> int:
        """How far the log is on the disk."""
        return self._storage.log.durable

    def refusal(self, code: int) -> Refusal | None:
        """Returns what a slave answers to a request that it does not serve."""
        return slave_refusal(code, self.settings, self.release) if self.settings.is_slave else None

    @property
    def behind_bytes(self) -> int:
        """Bytes of the log that are in no queue yet."""
        return self._storage.log.position - self.slave.log.dispatched if self.slave is not None else 0
