"""Acting masters of 5.x: a slave with the lowest id of its broker name stands in for a lost master, for readers only.

Theory of operation. Brokers with `enableSlaveActingMaster` say every second that they live (904, or 322 where name
servers may be old) and ask who else does (901, or the route of a topic that only they have). The one with the lowest id
runs the services of a master; a name server that is set to do so tells of a new one at once (905). Where there is more
than one replica, a broker goes online in two steps: a slave asks its master for the addresses (906) and connects to its
log first, a master gives its own to the members (906), waits until one has connected, and takes back the offsets that
were committed while it was away: here those of the slave win. Source: `BrokerController`, `BrokerPreOnlineService` of
5.3.3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from embedded_broker.clock import Periodic
from embedded_broker.ha.copying import TableCopier
from embedded_broker.ha.escape import Escape
from embedded_broker.ha.replication import Replication
from embedded_broker.namesrv.registration import Registration
from embedded_broker.remoting.handler_table import sends
from embedded_broker.remoting.outbound import OnAnswer, Outbound
from embedded_broker.services import Services
from embedded_broker.tables.topics import TopicTable
from mqctl.errors import MqctlError
from mqctl.model.names import MEMBER_TOPIC_PREFIX
from mqctl.protocol.bodies_cluster import BrokerMemberGroupBody, TopicRouteData
from mqctl.protocol.body import write_data_version
from mqctl.protocol.fastjson import dump_bytes
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.header import Request
from mqctl.protocol.requests_namesrv import BrokerHeartbeat, GetBrokerMemberGroup, GetRouteInfo, QueryDataVersion
from mqctl.protocol.requests_v5 import ExchangeBrokerHaInfo, ExchangeBrokerHaInfoReply

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("embedded_broker")

_TIMEOUT_MS = 3_000
_LONGEST_WAIT_S = 10.0

sends(ExchangeBrokerHaInfo)


class Membership:
    """One broker's place among those of its name.

    Attributes:
        is_on: whether acting masters are switched on here; otherwise nothing of this happens.
        is_acting: whether this slave stands in for its master.
        lowest_id: the lowest broker id of the name as last heard; a master's until somebody says otherwise.
    """

    def __init__(
        self, replication: Replication, services: Services, topics: TopicTable, context: ssl.SSLContext | None
    ) -> None:
        settings, release, clock = replication.settings, replication.release, replication.clock
        self.is_on = release.is_v5 and settings.enable_slave_acting_master
        self.is_acting = False
        self.lowest_id = 0
        self._lowest_address: str | None = None
        self._settings, self._release, self._clock = settings, release, clock
        self._replication, self._services, self._topics = replication, services, topics
        self._escape: Escape | None = None
        self._context = context
        self._registration: Registration | None = None
        self._timers: list[Periodic] = []
        self._is_stopped = False

    # Life

    def start(self, registration: Registration) -> None:
        """Begins to say that this broker lives, and to ask who else does."""
        if self.is_on:
            self._registration = registration
            if self._settings.enable_remote_escape:
                self._escape = Escape(self._settings, self._release, self._clock, registration, self._context)
            beat_ms, ask_ms = self._settings.broker_heartbeat_interval, self._settings.sync_broker_member_group_period
            self._timers = [
                Periodic(self._clock, beat_ms, self._beat, first_ms=beat_ms),
                Periodic(self._clock, ask_ms, self._ask_members, first_ms=ask_ms),
            ]

    def stop(self) -> None:
        """Ends it."""
        self._is_stopped = True
        for timer in self._timers:
            timer.cancel()
        if self._escape is not None:
            self._escape.drop()

    def _beat(self) -> None:
        settings = self._settings
        address = f"{settings.broker_ip1}:{settings.listen_port}"
        cluster, name = settings.broker_cluster_name, settings.broker_name
        if settings.compatible_with_old_name_srv:
            request: Request = QueryDataVersion(
                cluster_name=cluster, broker_addr=address, broker_name=name, broker_id=settings.broker_id
            )
            body = dump_bytes(write_data_version(self._topics.version, self._release.is_v5))
        else:
            request, body = BrokerHeartbeat(cluster_name=cluster, broker_addr=address, broker_name=name), b""
        if self._registration is not None:
            self._registration.tell(request, body)

    def _ask_members(self) -> None:
        if self._registration is not None:
            self._registration.ask(self._members_request(), self._heard_members)

    def _members_request(self) -> Request:
        settings = self._settings
        if settings.compatible_with_old_name_srv:
            return GetRouteInfo(topic=MEMBER_TOPIC_PREFIX + settings.broker_name)
        return GetBrokerMemberGroup(cluster_name=settings.broker_cluster_name, broker_name=settings.broker_name)

    def _members(self, answer: RemotingCommand | None) -> dict[int, str]:
        """Returns addresses by id, those that a name server tells; none where it tells nobody."""
        if answer is None or answer.code != 0:
            return {}
        try:
            if not self._settings.compatible_with_old_name_srv:
                group = BrokerMemberGroupBody.from_bytes(answer.body).broker_member_group
                return dict(group.broker_addrs) if group is not None else {}
            datas = TopicRouteData.from_bytes(answer.body).broker_datas
        except MqctlError as error:
            log.warning("the members of %s cannot be read: %s", self._settings.broker_name, error)
            return {}
        own = [data for data in datas if data.broker_name == self._settings.broker_name]
        return dict(own[0].broker_addrs) if own else {}

    def _heard_members(self, answer: RemotingCommand | None) -> None:
        members = self._members(answer)
        if members:
            lowest = min(members)
            gone = self._lowest_address if lowest > self.lowest_id else None
            self.take_lowest(lowest, members[lowest], gone=gone)

    # Who acts

    def take_lowest(
        self, broker_id: int, address: str, *, gone: str | None = None, ha_address: str | None = None
    ) -> None:
        """Takes who has the lowest id; a slave begins or ends to stand in for its master.

        Args:
            gone: address of the one that had it before and left.
            ha_address: where the new one gives its log, if it is known.
        """
        if self._is_stopped or not self.is_on:
            return
        is_same = broker_id == self.lowest_id and address == self._lowest_address
        was_acting, settings = self.is_acting, self._settings
        self.lowest_id, self._lowest_address = broker_id, address
        self.is_acting = settings.is_slave and broker_id == settings.broker_id
        if is_same and self.is_acting == was_acting:
            return
        if settings.is_slave and broker_id != 0 and (self.is_acting or gone is not None):
            self._replication.leave_master()
        if settings.is_slave and broker_id == 0:
            self._replication.use_master(address, ha_address)
        if self.is_acting != was_acting:
            log.info("broker %s, id %d: acting master: %s", settings.broker_name, settings.broker_id, self.is_acting)
            if self.is_acting:
                self._services.stand_in(self._escape.send if self._escape is not None else None)
            else:
                self._services.step_back()

    # Going online

    async def go_online(self, registration: Registration, took_back: Callable[[], object]) -> None:
        """Does what comes before the first registration where there is more than one replica.

        Args:
            took_back: called when a master has the offsets of the slave that stood in for it.
        """
        if not self.is_on or self._settings.total_replicas <= 1:
            return
        members = self._members(await _answer(partial(registration.ask, self._members_request())))
        if self._settings.is_slave:
            if 0 in members:
                await self._join(members[0])
            return
        slaves = [address for number, address in sorted(members.items()) if number]
        for address in slaves:
            await self._call(address, self._own())
        if slaves:
            await self._awaited("slave", self._replication.on_slave)
            await self._take_back(slaves[0])
            took_back()

    async def _take_back(self, slave: str) -> None:
        """Copies the offsets of a slave over those of this master."""
        copier = TableCopier(self._replication.tables, self._settings, self._release, self._clock, self._context)
        copier.master = slave
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        copier.copy_back(partial(_settle, done))
        await done
        await copier.stop()

    def _own(self) -> ExchangeBrokerHaInfo:
        settings = self._settings
        return ExchangeBrokerHaInfo(
            master_ha_address=f"{settings.broker_ip2}:{settings.ha_listen_port}",
            master_flush_offset=self._replication.flushed,
            master_address=f"{settings.broker_ip1}:{settings.listen_port}",
        )

    async def _join(self, master: str) -> None:
        answer = await self._call(master, ExchangeBrokerHaInfo())
        if answer is not None and answer.code == 0:
            own = ExchangeBrokerHaInfoReply.from_ext(answer.ext_fields)
            self._replication.use_master(own.master_address or master, own.master_ha_address)
            await self._awaited("master", self._replication.on_master)

    async def _call(self, address: str, request: Request) -> RemotingCommand | None:
        connection = Outbound(address, self._clock, self._context)
        command = request.command(opaque=0, version=self._release.ordinal)
        answer = await _answer(partial(connection.call, command, _TIMEOUT_MS))
        await connection.close(abort=True)
        return answer

    async def _awaited(self, whom: str, has_connected: Callable[[Callable[[], object]], object]) -> None:
        """Waits until the other side of replication is there, but not for ever."""
        connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        has_connected(partial(_settle, connected))
        await asyncio.wait([connected], timeout=_LONGEST_WAIT_S)
        if not connected.done():
            log.warning("broker %s goes online: no %s has connected", self._settings.broker_name, whom)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def _answer(ask: Callable[[OnAnswer], object]) -> RemotingCommand | None:
    """Returns the answer of a question that calls back, None when there is none."""
    future: asyncio.Future[RemotingCommand | None] = asyncio.get_running_loop().create_future()

    def answered(answer: RemotingCommand | None) -> None:
        if not future.done():
            future.set_result(answer)

    ask(answered)
    return await future
