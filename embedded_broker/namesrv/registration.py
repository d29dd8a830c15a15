"""A broker tells its name servers what it has: at the start, every 30 s, and after every change of a topic.

Source: `BrokerOuterAPI.registerBrokerAll` of 4.9.8. Real brokers register everything after an auto-creation; the
embedded one sends just the changed topics, which leaves the name server in the same state at a cost that does not grow
with the table.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from embedded_broker.clock import Clock, Periodic
from embedded_broker.release import Release
from embedded_broker.remoting.outbound import OnAnswer, Outbound
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.topics import TopicTable
from mqctl.errors import BadInputError
from mqctl.model.config import DataVersion, TopicConfig
from mqctl.protocol.bodies_cluster import KVTable, RegisterBrokerBody
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.header import Request
from mqctl.protocol.requests_namesrv import RegisterBroker, RegisterBrokerReply, UnRegisterBroker

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("embedded_broker")

_FIRST_MS = 10_000
_SHORTEST_MS, _LONGEST_MS = 10_000, 60_000
_GOODBYE_MS = 1_000
_READ_WRITE = 6


@dataclass(frozen=True, slots=True)
class _Body:
    version: DataVersion
    permission: int
    data: bytes


OnMaster = Callable[[RegisterBrokerReply], object]
"""Gets what a name server tells a slave of its master."""


def _settle(future: asyncio.Future[None], _answer: RemotingCommand | None = None) -> None:
    if not future.done():
        future.set_result(None)


class Registration:
    """Keeps a broker registered with its name servers.

    Args:
        context: secures the connections to them; None leaves them plain.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        release: Release,
        clock: Clock,
        topics: TopicTable,
        *,
        ha_address: str,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._context = context
        self._settings = settings
        self._release = release
        self._clock = clock
        self._topics = topics
        self._ha_address = ha_address
        self._on_master: OnMaster | None = None
        self._is_answered = False
        self._servers: list[Outbound] = []
        self._body: _Body | None = None
        period = min(max(settings.register_name_server_period, _SHORTEST_MS), _LONGEST_MS)
        self._periodic = Periodic(clock, period, self.register, first_ms=_FIRST_MS)
        self.use(settings.namesrv_addr)
        topics.on_change(self.register_topics)

    def use(self, addresses: str) -> None:
        """Takes the list of name servers (`a:1;b:2`); connections to those that stay are kept."""
        wanted = [address.strip() for address in addresses.split(";") if address.strip()]
        known = {server.address: server for server in self._servers}
        self._servers = [known.get(address) or Outbound(address, self._clock, self._context) for address in wanted]
        for address in known.keys() - set(wanted):
            known[address].drop()

    def on_master(self, listener: OnMaster) -> None:
        """Has `listener` called with what the first name server that answers a registration tells of the master."""
        self._on_master = listener

    async def register_and_wait(self) -> None:
        """Registers the whole topic table with all name servers and waits for their answers, or their silence."""
        loop = asyncio.get_running_loop()
        answered: list[asyncio.Future[None]] = []
        command = self._command(self._whole_body())
        self._is_answered = False
        for server in self._servers:
            future: asyncio.Future[None] = loop.create_future()
            answered.append(future)
            self._send(server, command, partial(_settle, future))
        if answered:
            await asyncio.wait(answered, timeout=self._settings.register_broker_timeout_mills / 1000)

    def register(self) -> None:
        """Registers the whole topic table with all name servers."""
        command = self._command(self._whole_body())
        self._is_answered = False
        for server in self._servers:
            self._send(server, command, lambda: None)

    def register_topics(self, configs: Iterable[TopicConfig]) -> None:
        """Registers topics that changed; the name servers keep the others.

        A name server that has to be connected to first may have lost everything. It gets the whole table: with the
        changed topics alone it would know the table's version, and take no further registration of it seriously.
        """
        command = self._command(self._encoded(configs))
        for server in self._servers:
            if server.connected:
                server.tell(command)
            else:
                self._send(server, self._command(self._whole_body()), lambda: None)

    def ask(self, request: Request, on_answer: OnAnswer) -> None:
        """Asks the name servers one after the other until one answers; `on_answer` gets None when none does."""
        left = list(self._servers)

        def ask_next(answer: RemotingCommand | None = None) -> None:
            if answer is not None or not left:
                on_answer(answer)
            else:
                left.pop(0).call(self._frame(request), self._settings.register_broker_timeout_mills, ask_next)

        ask_next()

    def tell(self, request: Request, body: bytes = b"") -> None:
        """Sends a request to all name servers and wants no answer."""
        for server in self._servers:
            server.tell(request.command(opaque=0, body=body, oneway=True, version=self._release.ordinal))

    def _whole_body(self) -> bytes:
        version, permission = self._topics.version, self._settings.broker_permission
        body = self._body
        if body is None or body.version != version or body.permission != permission:
            body = self._body = _Body(version, permission, self._encoded(self._topics.configs.values()))
        return body.data

    def _encoded(self, configs: Iterable[TopicConfig]) -> bytes:
        permission = self._settings.broker_permission
        if permission & _READ_WRITE != _READ_WRITE:
            configs = [replace(config, perm=permission) for config in configs]
        return RegisterBrokerBody(topic_config_serialize_wrapper=self._topics.sent(configs)).to_bytes(
            is_v5=self._release.is_v5
        )

    def _command(self, body: bytes) -> RemotingCommand:
        settings = self._settings
        is_v5 = self._release.is_v5
        acts = is_v5 and settings.enable_slave_acting_master
        request = RegisterBroker(
            broker_name=settings.broker_name,
            broker_addr=f"{settings.broker_ip1}:{settings.listen_port}",
            cluster_name=settings.broker_cluster_name,
            ha_server_addr=self._ha_address,
            broker_id=settings.broker_id,
            compressed=False,
            body_crc32=zlib.crc32(body) & 0x7FFFFFFF,
            heartbeat_timeout_millis=settings.broker_not_active_timeout_millis if acts else None,
            enable_acting_master=acts if is_v5 else None,
        )
        return self._frame(request, body)

    def _frame(self, request: Request, body: bytes = b"") -> RemotingCommand:
        return request.command(opaque=0, body=body, version=self._release.ordinal)

    def _send(self, server: Outbound, command: RemotingCommand, done: Callable[[], object]) -> None:
        def answered(answer: RemotingCommand | None) -> None:
            if answer is None:
                log.warning("name server %s did not answer the registration", server.address)
            elif answer.code != 0:
                log.warning("name server %s refused the registration: %s", server.address, answer.remark)
            else:
                self._take_master(answer)
                self._take_orders(answer)
            done()

        server.call(command, self._settings.register_broker_timeout_mills, answered)

    def _take_master(self, answer: RemotingCommand) -> None:
        if self._on_master is not None and not self._is_answered:
            self._is_answered = True
            self._on_master(RegisterBrokerReply.from_ext(answer.ext_fields))

    def _take_orders(self, answer: RemotingCommand) -> None:
        if not answer.body:
            return
        try:
            self._topics.update_orders(KVTable.from_bytes(answer.body).table)
        except BadInputError as error:
            log.warning("order topics of a name server cannot be read: %s", error)

    async def stop(self, *, abort: bool = False) -> None:
        """Unregisters (not with `abort`) and closes the connections."""
        self._periodic.cancel()
        if not abort:
            await self._say_goodbye()
        for server in self._servers:
            await server.close(abort=abort)

    async def _say_goodbye(self) -> None:
        settings = self._settings
        command = self._frame(
            UnRegisterBroker(
                broker_name=settings.broker_name,
                broker_addr=f"{settings.broker_ip1}:{settings.listen_port}",
                cluster_name=settings.broker_cluster_name,
                broker_id=settings.broker_id,
            )
        )
        loop = asyncio.get_running_loop()
        answered = [loop.create_future() for _ in self._servers]
        for server, future in zip(self._servers, answered, strict=True):
            server.call(
                command,
                _GOODBYE_MS,
                partial(_settle, future),
            )
        if answered:
            await asyncio.wait(answered, timeout=_GOODBYE_MS / 1000)
