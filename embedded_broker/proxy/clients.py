"""GrpcClients that have told their settings: kept here, and made known to the brokers as members of their groups.

A client is there while it sends heartbeats. Its channel is what brokers see of it, so that it is a producer that can
be asked about half messages, and a member in every list of a group's members.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from embedded_broker.clock import Periodic
from embedded_broker.consumers.subscriptions import subscription_of
from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.channels import Channel
from embedded_broker.proxy.statuses import Refused
from mqctl.filter.tags import TagExpressionError
from mqctl.protocol.bodies_client import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from mqctl.protocol.declared import replaced
from mqctl.protocol.requests_client import Heartbeat, UnregisterClient

if TYPE_CHECKING:
    from embedded_broker.proxy.callers import Caller
    from embedded_broker.proxy.ground import ProxyGround
    from mqctl.protocol.codes import Language
    from mqctl.protocol.frame import RemotingCommand

log = logging.getLogger("embedded_broker")

EXPIRY_MS = 120_000
_SCAN_MS = 10_000
_SETTINGS_SECONDS = 1.0
MOST_CLIENTS = 20_000


class GrpcClient:
    """One client.

    Attributes:
        settings: as answered to it.
        channel: what brokers see of it.
        send: puts a command on its telemetry stream, where it has one; tells whether it could.
        seen_ms: its last heartbeat, or its settings.
        since_ms: its first settings.
    """

    def __init__(self, client_id: str, settings: pb.Settings, channel: Channel, language: Language) -> None:
        self.client_id = client_id
        self.settings = settings
        self.channel = channel
        self.language = language
        self.send: Callable[[pb.TelemetryCommand], bool] | None = None
        self.seen_ms = self.since_ms = channel.active_ms

    @property
    def group(self) -> str:
        """Its consumer group; empty for a producer."""
        return self.settings.subscription.group.name if self.settings.HasField("subscription") else ""

    @property
    def is_ordered(self) -> bool:
        return self.settings.subscription.fifo


class GrpcClients:
    """All clients of the endpoint.

    Args:
        on_request: gets what a broker asks a client.
        on_gone: called when a client has left, or is silent for too long.

    Attributes:
        remembered: settings of clients of an endpoint that ran here before; they are taken when such a client calls.
            The Python client tells its settings anew after five minutes only.
    """

    def __init__(
        self,
        ground: ProxyGround,
        on_request: Callable[[GrpcClient, RemotingCommand], None],
        on_gone: Callable[[GrpcClient], None],
    ) -> None:
        self._ground = ground
        self._on_request, self._on_gone = on_request, on_gone
        self.remembered: dict[str, pb.Settings] = {}
        self._clients: dict[str, GrpcClient] = {}
        self._awaited: dict[str, list[asyncio.Future[None]]] = {}
        self._scan = Periodic(ground.clock, _SCAN_MS, self._drop_silent, first_ms=_SCAN_MS)

    def __len__(self) -> int:
        return len(self._clients)

    def _recalled(self, caller: Caller) -> GrpcClient | None:
        """Returns a client whose settings are known, from before perhaps."""
        client_id = caller.client_id
        if client_id not in self._clients and client_id in self.remembered:
            return self.take(caller, self.remembered.pop(client_id))
        return self._clients.get(client_id)

    def all_settings(self) -> dict[str, pb.Settings]:
        """Returns the settings of all clients by id."""
        return self.remembered | {client_id: client.settings for client_id, client in self._clients.items()}

    def known(self, caller: Caller) -> GrpcClient:
        """Returns a client whose settings are known. Raises Refused."""
        client = self._recalled(caller)
        if client is None:
            raise Refused(pb.Code.UNRECOGNIZED_CLIENT_TYPE, "cannot find client settings for this client")
        return client

    async def awaited(self, caller: Caller) -> GrpcClient | None:
        """Returns a client, waiting a moment for one whose settings are on their way: some ask before."""
        client_id = caller.client_id
        if self._recalled(caller) is None:
            arrival: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._awaited.setdefault(client_id, []).append(arrival)
            try:
                await asyncio.wait_for(arrival, _SETTINGS_SECONDS)
            except TimeoutError:
                pass
            finally:
                waiting = self._awaited.get(client_id, [])
                if arrival in waiting:
                    waiting.remove(arrival)
                if not waiting:
                    self._awaited.pop(client_id, None)
        return self._clients.get(client_id)

    def take(self, caller: Caller, settings: pb.Settings) -> GrpcClient:
        """Takes a client's settings. Raises Refused: there are too many clients."""
        client_id = caller.client_id
        client = self._clients.get(client_id)
        if client is None:
            if len(self._clients) >= MOST_CLIENTS:
                raise Refused(pb.Code.TOO_MANY_REQUESTS, f"more than {MOST_CLIENTS} clients")
            channel = Channel(self._ground.clock, caller.peer, lambda command: self._on_request(made, command))
            made = client = GrpcClient(client_id, settings, channel, caller.language)
            self._clients[client_id] = client
        client.settings = settings
        client.seen_ms = self._ground.clock.now_ms()
        for arrival in self._awaited.pop(client_id, ()):
            if not arrival.done():
                arrival.set_result(None)
        return client

    async def register(self, client: GrpcClient) -> None:
        """Has all brokers know a client as a member of its groups; one that does not answer does so next time."""
        client.seen_ms = self._ground.clock.now_ms()
        body = _heartbeat(client).to_bytes()
        for broker in list(self._ground.masters()):
            try:
                await self._ground.ask(client.channel, broker, Heartbeat(), body=body, language=client.language)
            except Refused as refused:
                log.warning("client %s is not known to broker %s: %s", client.client_id, broker.name, refused.text)

    async def drop(self, client: GrpcClient) -> None:
        """Has a client leave its groups."""
        self._clients.pop(client.client_id, None)
        topics = [topic.name for topic in client.settings.publishing.topics]
        for broker in list(self._ground.masters()):
            for group, producers in ((client.group or None, None), *[(None, topic) for topic in topics]):
                request = UnregisterClient(client_id=client.client_id, consumer_group=group, producer_group=producers)
                try:
                    await self._ground.ask(client.channel, broker, request)
                except Refused as refused:
                    log.warning("client %s not unregistered: %s", client.client_id, refused.text)
        self._end(client)

    def _end(self, client: GrpcClient) -> None:
        self._clients.pop(client.client_id, None)
        self._on_gone(client)
        client.channel.close()

    def _drop_silent(self) -> None:
        before_ms = self._ground.clock.now_ms() - EXPIRY_MS
        for client in [one for one in self._clients.values() if one.seen_ms < before_ms]:
            log.warning("client %s: no heartbeat for %d ms", client.client_id, EXPIRY_MS)
            self._end(client)

    def stop(self) -> None:
        """Forgets all."""
        self._scan.cancel()
        for client in list(self._clients.values()):
            self._clients.pop(client.client_id, None)
            client.channel.close()


def _heartbeat(client: GrpcClient) -> HeartbeatData:
    """Returns what a client of the remoting protocol would say of itself.

    As in a proxy, the producer group of a gRPC client is the topic. A proxy tells brokers of topics of transactions
    only, and of itself as their producer; here all producers are known by their own names.
    """
    settings = client.settings
    topics = [topic.name for topic in settings.publishing.topics]
    producers = tuple(ProducerData(group_name=name) for name in topics)
    if not client.group:
        return HeartbeatData(client_id=client.client_id, producer_data_set=producers)
    is_push = settings.client_type == pb.ClientType.PUSH_CONSUMER
    group = ConsumerData(
        group_name=client.group,
        consume_type="CONSUME_PASSIVELY" if is_push else "CONSUME_ACTIVELY",
        subscription_data_set=subscriptions_of(client),
    )
    return HeartbeatData(client_id=client.client_id, consumer_data_set=(group,))


def subscriptions_of(client: GrpcClient) -> tuple[SubscriptionData, ...]:
    """Returns what a client subscribes to, as brokers know it."""
    entries = client.settings.subscription.subscriptions
    return tuple(replaced(_subscription(entry), sub_version=client.since_ms) for entry in entries)


def _subscription(entry: pb.SubscriptionEntry) -> SubscriptionData:
    topic, expression = entry.topic.name, entry.expression.expression
    if entry.expression.type == pb.FilterType.SQL:
        return SubscriptionData(topic=topic, sub_string=expression, expression_type="SQL92")
    try:
        return subscription_of(topic, expression)
    except TagExpressionError:
        return SubscriptionData(topic=topic, sub_string=expression)
