"""What the endpoint stands on: routes, topics, groups and brokers of the cluster around it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from embedded_broker.proxy import messages as pb
from embedded_broker.proxy.channels import Channel, ChannelClosed
from embedded_broker.proxy.statuses import PROXY_ERROR, Refused, broker_refusal
from embedded_broker.settings import BrokerSettings
from embedded_broker.tables.attributes import MESSAGE_TYPE
from mqctl.model.config import PERM_READ, PERM_WRITE, SubscriptionGroupConfig
from mqctl.model.names import is_system_topic
from mqctl.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from embedded_broker.broker import Broker
    from embedded_broker.clock import Clock
    from embedded_broker.namesrv.nameserver import NameServer
    from mqctl.protocol.bodies_cluster import QueueData
    from mqctl.protocol.codes import Language
    from mqctl.protocol.frame import RemotingCommand
    from mqctl.protocol.header import Request

_FAQ = "\nFor more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ"
_ASK_SECONDS = 3.0
MIXED = "MIXED"


class Members(Protocol):
    """The cluster: who runs in it now, by name."""

    @property
    def brokers(self) -> Mapping[str, Broker]: ...

    @property
    def name_servers(self) -> Mapping[str, NameServer]: ...

    @property
    def clock(self) -> Clock: ...


class QueuePlace(NamedTuple):
    """One queue of a broker."""

    broker: str
    queue_id: int


class ProxyGround:
    """Answers what all parts of the endpoint ask about the cluster.

    Attributes:
        clock: that of the cluster.
    """

    def __init__(self, members: Members) -> None:
        self._members = members
        self._waiting: dict[Broker, set[Channel]] = {}
        self.clock = members.clock

    # Brokers

    def masters(self) -> Iterator[Broker]:
        """Yields the brokers that take messages, those that run."""
        for broker in self._members.brokers.values():
            if not broker.settings.is_slave:
                yield broker

    @property
    def settings(self) -> BrokerSettings:
        """The properties that hold for the endpoint: those of the first broker, or the usual ones while none runs."""
        first = next(self.masters(), None)
        return BrokerSettings() if first is None else first.settings

    def master(self, name: str) -> Broker:
        """Returns a broker by name. Raises Refused."""
        for broker in self.masters():
            if broker.name == name:
                return broker
        raise Refused(pb.Code.INTERNAL_SERVER_ERROR, f"{PROXY_ERROR}connect to broker {name} failed")

    async def ask(
        self,
        channel: Channel,
        broker: Broker,
        request: Request,
        *,
        body: bytes = b"",
        language: Language | None = None,
        seconds: float = _ASK_SECONDS,
    ) -> RemotingCommand:
        """Has a broker deal with a request and returns its answer, whatever it says.

        Raises:
            Refused: there is none.
        """
        command = request.command(opaque=0, body=body, version=broker.release.ordinal)
        if language is not None:
            from dataclasses import replace

            command = replace(command, language=language)
        waiting = channel.ask(broker.service, command)
        try:
            return waiting.result() if waiting.done() else await self._answer_of(broker, channel, waiting, seconds)
        except TimeoutError:
            raise Refused(pb.Code.PROXY_TIMEOUT, f"{PROXY_ERROR}broker {broker.name} has not answered") from None
        except ChannelClosed:
            text = f"{PROXY_ERROR}broker {broker.name} has closed the connection"
            raise Refused(pb.Code.INTERNAL_SERVER_ERROR, text) from None

    async def _answer_of(
        self, broker: Broker, channel: Channel, waiting: asyncio.Future[RemotingCommand], seconds: float
    ) -> RemotingCommand:
        channels = self._waiting.setdefault(broker, set())
        channels.add(channel)
        try:
            return await asyncio.wait_for(waiting, seconds)
        finally:
            channels.discard(channel)

    def gone(self, broker: Broker) -> None:
        """Ends what waits for a broker that was stopped or killed, as its connections end."""
        for channel in self._waiting.pop(broker, ()):
            channel.close()

    async def ask_well(
        self, channel: Channel, broker: Broker, request: Request, *, body: bytes = b""
    ) -> RemotingCommand:
        """Has a broker deal with a request. Raises Refused, also when it does not do so."""
        answer = await self.ask(channel, broker, request, body=body)
        if answer.code != ResponseCode.SUCCESS:
            raise broker_refusal(answer)
        return answer

    # Routes

    def route(self, topic: str) -> tuple[QueueData, ...]:
        """Returns the queues of a topic on brokers that name servers know of a master of. Raises Refused."""
        for server in self._members.name_servers.values():
            queues = server.routes.route(topic)
            if queues is not None:
                alive = {data.broker_name for data in queues.broker_datas if 0 in data.broker_addrs}
                return tuple(data for data in queues.queue_datas if data.broker_name in alive)
        raise Refused(
            pb.Code.TOPIC_NOT_FOUND, f"CODE: 17  DESC: No topic route info in name server for the topic: {topic}{_FAQ}"
        )

    def writable(self, topic: str) -> list[QueueData]:
        """Returns what can be written of a topic, broker by broker. Raises Refused."""
        return [data for data in self.route(topic) if data.perm & PERM_WRITE and data.write_queue_nums]

    def readable(self, topic: str) -> list[QueueData]:
        """Returns what can be read of a topic, broker by broker. Raises Refused."""
        return [data for data in self.route(topic) if data.perm & PERM_READ and data.read_queue_nums]

    def topic_type(self, topic: str) -> str:
        """Returns the message type of a topic; UNSPECIFIED for one that nobody has."""
        for broker in self.masters():
            settings = broker.topics.find(topic)
            if settings is not None:
                return settings.attributes.get(MESSAGE_TYPE, "NORMAL")
        return "UNSPECIFIED"

    def group(self, name: str) -> SubscriptionGroupConfig | None:
        """Returns the settings of a consumer group, where it is known."""
        for broker in self.masters():
            settings = broker.groups.find(name)
            if settings is not None:
                return settings
        return None


# Names


def checked_topic(resource: pb.Resource) -> str:
    """Returns the name of a topic that clients may use. Raises Refused."""
    from embedded_broker.handlers.send_checks import topic_problem

    name = resource.name
    problem = topic_problem(name, is_v5=True)
    if problem is None and is_system_topic(name):
        problem = "cannot access system topic"
    if problem is not None:
        words = problem.rstrip(".").replace("The specified topic contains", f"The specified topic[{name}] contains")
        raise Refused(pb.Code.ILLEGAL_TOPIC, words)
    return name


def checked_group(resource: pb.Resource) -> str:
    """Returns the name of a consumer group. Raises Refused."""
    from embedded_broker.handlers.send_checks import topic_problem

    name = resource.name
    if not name.strip():
        raise Refused(pb.Code.ILLEGAL_CONSUMER_GROUP, "the specified group is blank")
    if topic_problem(name, is_v5=True) is not None:
        raise Refused(
            pb.Code.ILLEGAL_CONSUMER_GROUP,
            f"the specified group[{name}] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        )
    return name
