"""What every producer and consumer stands on: connections, routes, heartbeats, timers and the brokers' callbacks.

Source: `MQClientInstance` and `ClientRemotingProcessor` of 4.9.8. Since 4.9.0 each producer and consumer has one of its
own, and so has each of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from queue import SimpleQueue
from random import randrange
from threading import Event, Thread, current_thread
from typing import Protocol

from mqctl.client.admin.nameserver import NameServers
from mqctl.client.heartbeats import Fingerprints
from mqctl.client.identity import DEFAULT_INSTANCE, MessageClientIds, client_id
from mqctl.client.remoting.addresses import TopAddressing, name_server_source
from mqctl.client.remoting.answers import AnswerError
from mqctl.client.remoting.clock import ClientClock
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.link import Link, LinkSettings
from mqctl.client.remoting.links import Links
from mqctl.client.remoting.question import Question, header_of
from mqctl.client.remoting.timers import TimerThread, Trouble, Troubles, listener_error
from mqctl.client.routes import RouteCache
from mqctl.errors import DeadlineError, MqctlError, UnreachableError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.protocol.bodies_client import ConsumerData, HeartbeatData, ProducerData
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.requests_client import Heartbeat, HeartbeatReply, UnregisterClient

INNER_PRODUCER_GROUP = "CLIENT_INNER_PRODUCER"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings common to producers and consumers; the periods are Java's, in milliseconds of the client's clock.

    Attributes:
        name_servers: `host:port;host:port`, the URL of an HTTP address service, or what `name_server_source` returns.
        room: machine room, the prefix of the client id.
        instance_name: `DEFAULT` becomes `pid#nanoseconds`.
        api_timeout_ms: limit of one administrative call; real milliseconds, like all time-outs of the network.
        leave_timeout_ms: how long `shutdown` waits for what is being asked, and then for brokers to take note of it;
            one that hangs learns it from the connection that is closed.
        time_scale: how much faster than real time the client's clock runs.
        time_origin_ms: when the scaled clock and the machine's agreed; an embedded broker's ready line says its own.
        heartbeat_v2: send subscriptions to brokers of 5.x only when they changed.
        on_trouble: told what failed in the background (a heartbeat, a pull, a commit) and will be tried again.
    """

    name_servers: str | tuple[str, ...] | TopAddressing
    room: str | None = None
    instance_name: str = DEFAULT_INSTANCE
    unit_name: str | None = None
    client_ip: str | None = None
    links: LinkSettings = field(default_factory=LinkSettings)
    api_timeout_ms: int = 3_000
    leave_timeout_ms: int = 3_000
    route_period_ms: int = 30_000
    heartbeat_period_ms: int = 30_000
    address_service_period_ms: int = 120_000
    persist_period_ms: int = 5_000
    sweep_period_ms: int = 1_000
    time_scale: float = 1.0
    time_origin_ms: int | None = None
    heartbeat_v2: bool = False
    on_trouble: Callable[[Trouble], None] | None = None


class ConsumerInner(Protocol):
    """What an instance needs of the consumer that stands on it."""

    @property
    def group(self) -> str: ...

    def consumer_data(self) -> ConsumerData:
        """Its part of a heartbeat."""

    def topics(self) -> tuple[str, ...]:
        """The topics it subscribes to, the retry topic included."""

    def persist(self) -> None:
        """Commits its offsets."""

    def answer(self, link: Link, request: RemotingCommand) -> RemotingCommand | None:
        """Answers a callback of a broker; None when there is nothing to say."""


class ClientInstance:
    """One client of a cluster. `start` begins to talk, `shutdown` leaves without a trace.

    Args:
        producer_groups: groups of the producers that stand on it.
        stable_id: keep the instance name `DEFAULT` (a broadcasting consumer finds its offsets by its id).

    Attributes:
        client_id: as the brokers know it.
        broker_versions: version ordinals by address, from the answers to heartbeats.
        timers: for what asks brokers and may take its time.
        delays: for what takes no time; nothing on it may block.
    """

    def __init__(
        self, settings: ClientSettings, *, producer_groups: tuple[str, ...] = (), stable_id: bool = False
    ) -> None:
        self.settings = settings
        self.clock = ClientClock(settings.time_scale, origin_ms=settings.time_origin_ms)
        self.client_id = client_id(
            ip=settings.client_ip,
            instance=settings.instance_name,
            unit=settings.unit_name,
            room=settings.room,
            stable=stable_id,
        )
        self.unique_ids = MessageClientIds(self.clock, ip=settings.client_ip)
        self.troubles = Troubles(self.clock, settings.on_trouble)
        self.links = Links(settings.links, on_request=self._on_request)
        source = settings.name_servers
        self.name_servers = NameServers(
            self.links,
            name_server_source(source) if isinstance(source, str) else source,
            first=randrange(1 << 16),
            call_timeout_ms=settings.api_timeout_ms,
        )
        self.routes = RouteCache(self.name_servers)
        self.producer_groups = (*producer_groups, INNER_PRODUCER_GROUP)
        self.publish_topics: set[str] = set()
        self.member: ConsumerInner | None = None
        self.broker_versions: dict[str, int] = {}
        self.timers: TimerThread
        self.delays: TimerThread
        self._callbacks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._worker = Thread(target=self._work, name="NettyClientPublicExecutor_1", daemon=True)
        self._greeted: set[str] = set()
        self._fingerprints = Fingerprints() if settings.heartbeat_v2 else None
        self._heartbeat_due = Event()
        self._leaving = Event()
        self.on_route_change: Callable[[str], None] | None = None
        self.on_transaction_check: Callable[[Link, RemotingCommand], None] | None = None

    # Life

    def start(self) -> None:
        """Starts the threads and timers."""
        settings = self.settings
        self.timers = TimerThread(self.clock, self.troubles, thread_name="MQClientFactoryScheduledThread")
        name = "ClientHouseKeepingService" if self.member is None else "PullMessageServiceScheduledThread"
        self.delays = TimerThread(self.clock, self.troubles, thread_name=name)
        self._worker.start()
        every = self.timers.every
        every(10, settings.route_period_ms, "refresh routes", self.refresh_routes)
        every(1_000, settings.heartbeat_period_ms, "send heartbeats", self.heartbeat)
        self.delays.every(settings.sweep_period_ms, settings.sweep_period_ms, "sweep calls", self.links.sweep)
        if isinstance(self.name_servers.source, TopAddressing):
            period_ms = settings.address_service_period_ms
            every(10_000, period_ms, "ask the address service", self._refresh_addresses)
        if self.member is not None:
            every(2 * settings.persist_period_ms, settings.persist_period_ms, "commit offsets", self.member.persist)

    def shutdown(self) -> None:
        """Unregisters from all brokers, closes the connections and ends the threads."""
        self._leaving.set()
        self.timers.close(self.settings.leave_timeout_ms)
        self.delays.close()
        self._unregister()
        self.links.close()
        self.timers.close()  # what a silent broker held up has ended with its connection
        self._callbacks.put(None)
        if self._worker is not current_thread():
            self._worker.join()

    def in_background(self, task: Callable[[], None]) -> None:
        """Runs `task` on the thread for callbacks."""
        self._callbacks.put(task)

    def _work(self) -> None:
        while (task := self._callbacks.get()) is not None:
            try:
                task()
            except MqctlError as error:
                self.troubles.add("answer a broker", error)
            except Exception as error:  # noqa: BLE001 - callbacks may raise anything, and the thread has to outlive them
                self.troubles.add("call back", listener_error(error))

    # Routes and heartbeats

    def refresh_routes(self) -> None:
        """Asks for the routes of all topics in use."""
        topics = set(self.publish_topics)
        if self.member is not None:
            topics.update(self.member.topics())
        for topic in sorted(topics):
            try:
                self.refresh_route(topic)
            except MqctlError as error:
                self.troubles.add(f"refresh the route of {topic}", error)

    def refresh_route(self, topic: str) -> bool:
        """Asks for one route and tells whether it changed; brokers that are new get a heartbeat at once."""
        changed = self.routes.refresh(topic)
        if changed:
            self.after_route_change(topic)
        return changed

    def refresh_route_soon(self, topic: str) -> None:
        """Has the timers' thread ask for a route."""
        self.timers.after(0, f"refresh the route of {topic}", lambda: self.refresh_route(topic))

    def after_route_change(self, topic: str) -> None:
        """Greets new brokers and lets the consumer know."""
        known = set(self.routes.addresses())
        if known - self._greeted and not self._heartbeat_due.is_set():
            self._heartbeat_due.set()
            self.timers.after(0, "send heartbeats", self.heartbeat)
        for address in self._greeted - known:
            self._greeted.discard(address)
            self.links.drop(address)
        if self.on_route_change is not None:
            self.on_route_change(topic)

    def heartbeat(self) -> None:
        """Tells every known broker who we are; only the masters when there is no consumer."""
        self._heartbeat_due.clear()
        data = self.heartbeat_data()
        for address in self.routes.addresses(masters_only=self.member is None):
            if self._leaving.is_set():
                return
            self._greeted.add(address)
            try:
                self._greet(address, data)
            except (UnreachableError, DeadlineError, AnswerError) as error:
                self.troubles.add(f"send a heartbeat to {address}", error)

    def _greet(self, address: str, data: HeartbeatData) -> None:
        known, link = self._fingerprints, self.links.get(address)
        said = data if known is None else known.heartbeat(link, data)
        deadline = Deadline(self.settings.api_timeout_ms)
        answer = link.call(Heartbeat(), body=said.to_bytes(), deadline=deadline)
        reply = Question(Heartbeat(), header_of(HeartbeatReply)).value(answer, address)
        self.broker_versions[address] = answer.version
        if known is not None:
            known.answered(link, said, reply)

    def heartbeat_soon(self) -> None:
        """Has a heartbeat sent from the timers' thread, unless one is due anyway."""
        if not self._heartbeat_due.is_set():
            self._heartbeat_due.set()
            self.timers.after(0, "send heartbeats", self.heartbeat)

    def heartbeat_data(self) -> HeartbeatData:
        """Returns what a heartbeat says."""
        return HeartbeatData(
            client_id=self.client_id,
            consumer_data_set=() if self.member is None else (self.member.consumer_data(),),
            producer_data_set=tuple(ProducerData(group_name=group) for group in self.producer_groups),
        )

    def _refresh_addresses(self) -> None:
        if self.name_servers.refresh():
            self.refresh_routes()

    def _unregister(self) -> None:
        consumers = () if self.member is None else (self.member.group,)
        requests = [UnregisterClient(client_id=self.client_id, consumer_group=group) for group in consumers]
        requests += [UnregisterClient(client_id=self.client_id, producer_group=group) for group in self.producer_groups]
        limit = Deadline(self.settings.leave_timeout_ms)
        for address in {link.address for link in self.links.open_links()} & set(self.routes.addresses()):
            try:
                for request in requests:
                    self.links.get(address).call(request, deadline=limit)
            except (UnreachableError, DeadlineError) as error:
                self.troubles.add(f"unregister from {address}", error)

    # Callbacks

    def _on_request(self, link: Link, request: RemotingCommand) -> None:
        member, check = self.member, self.on_transaction_check
        if check is not None and request.code == RequestCode.CHECK_TRANSACTION_STATE:
            self._callbacks.put(lambda: check(link, request))
        elif member is not None:
            self._callbacks.put(lambda: self._answer(member, link, request))

    def _answer(self, member: ConsumerInner, link: Link, request: RemotingCommand) -> None:
        try:
            answer = member.answer(link, request)
        except MqctlError as error:
            self.troubles.add(f"answer request {request.code} of {link.address}", error)
            answer = request.answer(ResponseCode.SYSTEM_ERROR, remark=str(error))
        if answer is not None and not request.is_oneway:
            link.reply(answer)
