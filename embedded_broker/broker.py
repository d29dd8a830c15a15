"""One broker: the concerns that its handlers work on, and its life from start to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from embedded_broker.acl.control import AccessControl
from embedded_broker.clock import Clock, Periodic
from embedded_broker.consumers.clients import Clients, ConsumerGroup
from embedded_broker.consumers.locks import LOCK_LIVE_MS, QueueLocks
from embedded_broker.consumers.offsets import ConsumerOffsets
from embedded_broker.consumers.pull_holds import PullHolds
from embedded_broker.consumers.sql_filters import SqlFilters
from embedded_broker.delay.levels import DelaySchedule
from embedded_broker.delay.timers import Timers
from embedded_broker.ha.acting import Membership
from embedded_broker.ha.copying import Tables
from embedded_broker.ha.replication import Replication
from embedded_broker.log.intake import Intake
from embedded_broker.log.settings import SYNC_FLUSH
from embedded_broker.log.store import Storage
from embedded_broker.log.store_lock import StoreLock
from embedded_broker.log.unique_ids import UniqueIds
from embedded_broker.namesrv.registration import Registration
from embedded_broker.pop.ground import Ground
from embedded_broker.pop.service import Pop
from embedded_broker.release import FURTHER_READING, Release
from embedded_broker.remoting.dispatcher import Dispatcher
from embedded_broker.remoting.faults import Control
from embedded_broker.remoting.handler_table import BROKER, Handler, handlers_of, sends
from embedded_broker.remoting.listener import Listener, Make, PortError
from embedded_broker.remoting.outbound import OnAnswer
from embedded_broker.remoting.server import Limits
from embedded_broker.remoting.slices import Slices
from embedded_broker.services import Services
from embedded_broker.settings import BrokerSettings
from embedded_broker.stats import Stats
from embedded_broker.tables.config_file import write_config
from embedded_broker.tables.groups import GroupTable
from embedded_broker.tables.persistence import ConfigFile
from embedded_broker.tables.topics import TopicTable
from embedded_broker.transactions.half_messages import Transactions
from mqctl.errors import StorageError
from mqctl.model.delay_level import DelayLevelTable
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import FLAG_RESPONSE, RemotingCommand
from mqctl.protocol.frame_template import AnswerTemplate
from mqctl.protocol.header import Request
from mqctl.protocol.requests_client import NotifyConsumerIdsChanged, SendMessageReply
from mqctl.store.config_files import CONSUMER_FILTERS

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("embedded_broker")

PORT_DISTANCES = _FAST, _REPLICATION = -2, 1
_PORT_ATTEMPTS = 20
_FIRST_OFFSET_FLUSH_MS = 10_000
ACL_FILE = "plain_acl.yml"

sends(NotifyConsumerIdsChanged)


class Broker:
    """A broker with all it holds.

    Attributes:
        address: `ip:port` under which clients and name servers know it.
        directory: its store root; `config/` and the message store live below.
        access: who may ask what.
        locks: who holds the queues of orderly groups.
        service: deals with requests, those of its main port and those that come from within the process.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        directory: Path,
        *,
        clock: Clock,
        release: Release,
        control: Control,
        limits: Limits | None = None,
        acl_file: Path | None = None,
        make: Make | None = None,
        outbound: ssl.SSLContext | None = None,
        lock_live_ms: int = LOCK_LIVE_MS,
    ) -> None:
        self._make, self._outbound = make, outbound
        self.settings, self.directory = settings, directory
        self.clock, self.release = clock, release
        self.control = control
        self.address = ""
        self._lock = StoreLock(directory)
        self.settings_version = 0
        config = directory / "config"
        self.topics = TopicTable(settings, release, clock, config)
        self.groups = GroupTable(settings, release, clock, config)
        self.offsets = ConsumerOffsets(clock, config, release, lmq=settings.enable_lmq)
        self.filters = SqlFilters(settings, release, clock, config)
        self.clients = Clients(clock, self.notify_members, self.filters.unregister, keeps_producers=not release.is_v5)
        self.locks = QueueLocks(clock, live_ms=lock_live_ms)
        self.stats = Stats(clock, settings.broker_cluster_name)
        levels = DelayLevelTable.parse(settings.message_delay_level)
        self.storage = Storage(
            directory,
            settings.store_settings(is_v5=release.is_v5),
            clock,
            levels=levels,
            defer=asyncio.get_running_loop().call_soon,
        )
        if settings.enable_calc_filter_bit_map:
            self.storage.dispatcher.bit_map = self.filters.bit_map
        self.schedule = DelaySchedule(self.storage, self.stats, clock, release, config)
        self.intake = Intake(self.storage, clock, settings, release, self.stats)
        self.transactions = Transactions(self.intake, self.topics, self.offsets, self.clients)
        self.timers = Timers(self.intake) if settings.turns_a_wheel(release) else None
        self.pull_holds = PullHolds(clock, self.storage.max_offset, (limits or Limits()).held_pulls)
        self.storage.on_dispatch(self.pull_holds.arrived)
        self.pop = Pop(self._pop_ground()) if release.is_v5 else None
        self._services = Services(self.schedule, self.transactions, self.timers, self.pop)
        self.access = AccessControl(settings, release, clock, acl_file or directory / "conf" / ACL_FILE, config)
        self.replication = self._replication(config)
        self.membership = Membership(self.replication, self._services, self.topics, self._outbound)
        for file in (*self._files(), self.schedule.file):
            file.durable = settings.flush_disk_type == SYNC_FLUSH
        self.send_ext: Mapping[str, str] = {}
        self.stored_own: Mapping[str, str] = {}
        self.send_answers = self._render_send_answers()
        self.unique_ids = UniqueIds(clock, settings.broker_ip1)
        self.registration: Registration | None = None
        self.slices = Slices()
        self._main, self._fast = self._listeners(limits or Limits())
        self._offset_flush: Periodic | None = None

    def _pop_ground(self) -> Ground:
        return Ground(
            intake=self.intake,
            config=self.directory / "config",
            topics=self.topics,
            groups=self.groups,
            offsets=self.offsets,
            clients=self.clients,
            is_behind=lambda: self.timers is None or self.timers.is_behind,
            ask=self._ask_name_servers,
        )

    def _replication(self, config: Path) -> Replication:
        modes = self.pop.modes if self.pop is not None else None
        tables = Tables(topics=self.topics, groups=self.groups, offsets=self.offsets, modes=modes, config=config)
        return Replication(self.storage, tables, self.settings, self.release, self.clock, context=self._outbound)

    def _ask_name_servers(self, request: Request, on_answer: OnAnswer) -> None:
        if self.registration is None:
            on_answer(None)
        else:
            self.registration.ask(request, on_answer)

    def _listeners(self, limits: Limits) -> tuple[Listener, Listener]:
        """Makes the listener of all requests, and the one of the fast port, which takes no pulls."""
        handlers = handlers_of(BROKER, self.release)
        fast = {code: handler for code, handler in handlers.items() if code != RequestCode.PULL_MESSAGE}
        self.service = self._dispatcher(handlers)
        services = (self.service, self._dispatcher(fast))
        main, second = [Listener(service, self.clock, limits, self._make) for service in services]
        return main, second

    def _dispatcher(self, handlers: Mapping[int, Handler]) -> Dispatcher:
        return Dispatcher(
            self,
            self.settings.member,
            handlers,
            clock=self.clock,
            release=self.release,
            control=self.control,
            access=self.access,
            scatters=self.settings.as_real,
            closed=self.replication.refusal,
        )

    @property
    def name(self) -> str:
        return self.settings.broker_name

    @property
    def cluster(self) -> str:
        return self.settings.broker_cluster_name

    @property
    def broker_id(self) -> int:
        return self.settings.broker_id

    @property
    def is_active(self) -> bool:
        """Whether it runs the services of a master: it is one, or stands in for one."""
        return not self.settings.is_slave or self.membership.is_acting

    @property
    def further_reading(self) -> str:
        """What remarks of this release end with."""
        return FURTHER_READING[self.release.is_v5]

    @property
    def readable(self) -> bool:
        return bool(self.settings.broker_permission & 4)

    @property
    def writable(self) -> bool:
        return bool(self.settings.broker_permission & 2)

    # Life

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Recovers the store, listens, registers with the name servers.

        Raises:
            PortError, StorageError: it cannot listen, or its store cannot be opened.
            RefusedError: another broker is using the store.
        """
        try:
            self._lock.acquire()
            await self._start(host, port)
        except BaseException:
            await self.kill()
            raise

    async def _start(self, host: str, port: int) -> None:
        self.storage.open()
        self.schedule.load()
        await self._listen(host, port)
        self.settings.listen_port = self._main.port
        self.address = f"{self.settings.broker_ip1}:{self._main.port}"
        self.intake.store_as(self.address)
        self._offset_flush = Periodic(
            self.clock,
            self.settings.flush_consumer_offset_interval,
            self._write_files,
            first_ms=min(_FIRST_OFFSET_FLUSH_MS, 2 * self.settings.flush_consumer_offset_interval),
        )
        self.registration = Registration(
            self.settings,
            self.release,
            self.clock,
            self.topics,
            ha_address=f"{self.settings.broker_ip2}:{self.settings.ha_listen_port}",
            context=self._outbound,
        )
        if self.settings.is_slave:
            self.registration.on_master(self.replication.take_master)
        for file in (*self._files(), self.schedule.file):
            file.create()
        self.access.start()
        self.replication.start()
        await self.membership.go_online(self.registration, self.schedule.load)
        if not self.settings.is_slave:
            self._services.start()
        await self.registration.register_and_wait()
        self.membership.start(self.registration)

    async def _listen(self, host: str, port: int) -> None:
        """Listens on the main port, on the one two below it, for clients with a VIP channel, and on that for slaves."""
        own = self.settings.ha_listen_port
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            await self._main.open(host, port)
            self.settings.ha_listen_port = own or self._main.port + _REPLICATION
            try:
                await self._fast.open(host, self._main.port + _FAST)
                await self.replication.listen(host, self.settings.ha_listen_port)
            except PortError:
                await self._fast.close()
                await self._main.close()
                if port or attempt == _PORT_ATTEMPTS:
                    raise
            else:
                return

    async def stop(self) -> None:
        """Stops as on a signal: unregisters, closes connections, persists everything."""
        self._stop_timers()
        if self.registration is not None:
            await self.registration.stop()
        await self.replication.stop()
        await self._fast.close()
        await self._main.close()
        self._services.stop()
        for file in self._files():
            file.mark()
        self._write_files()
        self._write_filters()
        self.storage.close()
        self._lock.release()

    def _write_files(self) -> None:
        """Writes consumer offsets, and tables that could not be written when they changed."""
        for file in self._files():
            if file is not self.offsets.file:
                file.write()
        self._write_offsets()

    def _write_offsets(self) -> None:
        """Writes consumer offsets; with SYNC_FLUSH behind the messages before them.

        Offsets on a disk that lost those messages would be beyond the queues' ends, and the progress of transactions
        among them would pass by copies of half messages that are gone. With ASYNC_FLUSH that may be, as in brokers.
        """
        if self.settings.flush_disk_type == SYNC_FLUSH:
            try:
                self.storage.sync_log()
            except StorageError as error:
                log.error("consumer offsets not written: %s", error)
                return
        self.offsets.file.write()

    def _write_filters(self) -> None:
        """Leaves `consumerFilter.json` behind as every broker does; filters that it does not know stay as they are."""
        if not (self.directory / "config" / CONSUMER_FILTERS).exists():
            try:
                write_config(self.directory / "config", CONSUMER_FILTERS, {"filterDataByTopic": {}})
            except StorageError as error:
                log.error("%s", error)

    async def kill(self) -> None:
        """Ends as on kill -9: nothing is said, flushed or persisted."""
        self._stop_timers()
        for file in self._files():
            file.forget()
        if self.registration is not None:
            await self.registration.stop(abort=True)
        await self.replication.stop()
        await self._fast.close(abort=True)
        await self._main.close(abort=True)
        self._services.abandon()
        self.storage.abandon()
        self._lock.release()

    def _files(self) -> tuple[ConfigFile, ...]:
        tables = (self.topics.file, self.groups.file, self.offsets.file, self.filters.file, *self.access.files)
        return tables if self.pop is None else (*tables, *self.pop.files)

    def _stop_timers(self) -> None:
        self.membership.stop()
        self.clients.stop()
        self.filters.stop()
        self.stats.stop()
        self.pull_holds.stop()
        self.slices.stop()
        self.access.stop()
        if self._offset_flush is not None:
            self._offset_flush.cancel()

    def change_settings(self, changes: Mapping[str, str]) -> None:
        """Takes changes of properties by wire name; name servers hear of a permission, changed or not."""
        self.settings.update(changes)
        self.send_answers = self._render_send_answers()
        self.settings_version += 1
        if "brokerPermission" in changes:
            self.topics.touch()
            self.register_again()

    def _render_send_answers(self) -> AnswerTemplate:
        """Prepares what every answer to a send says about region and tracing, and the answer that most of them get."""
        settings = self.settings
        self.send_ext = {"MSG_REGION": settings.region_id, "TRACE_ON": "true" if settings.trace_on else "false"}
        self.stored_own = {**self.send_ext, "CLUSTER": self.cluster}
        reply = SendMessageReply(
            msg_id="", queue_id=0, queue_offset=0, region=settings.region_id, trace_on=settings.trace_on
        )
        answer = RemotingCommand(
            code=ResponseCode.SUCCESS, flag=FLAG_RESPONSE, version=self.release.ordinal, ext_fields=reply.to_ext()
        )
        return AnswerTemplate(answer, ("msgId", "queueId", "queueOffset"))

    def limit_disk(self, free_bytes: int | None) -> None:
        """Has writes fail as on a full disk once `free_bytes` more are written; None, or a restart, ends that."""
        self.storage.disk.free_bytes = free_bytes

    # Talking to clients

    def notify_members(self, group: ConsumerGroup) -> None:
        """Has the members of a consumer group rebalance (code 40)."""
        config = self.groups.find(group.name)
        wanted = config is None or config.notify_consumer_ids_changed_enable
        if not wanted or not self.settings.notify_consumer_ids_changed_enable:
            return
        request = NotifyConsumerIdsChanged(consumer_group=group.name)
        command = request.command(opaque=0, oneway=True, version=self.release.ordinal)
        for connection in group.members:
            connection.tell(command)

    def register_again(self) -> None:
        """Registers everything with the name servers now (a changed permission, a restarted name server)."""
        if self.registration is not None:
            self.registration.register()
