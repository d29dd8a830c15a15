"""Scripted members of groups: real connections, real heartbeats, and running information as a test wants it."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Event, Thread
from types import TracebackType
from typing import Self

from embedded_broker import EmbeddedCluster
from mqctl.filter.tags import parse_tags
from mqctl.model.queue import MessageQueue
from mqctl.protocol.bodies_client import (
    ConsumerData,
    ConsumerRunningInfo,
    ConsumeStatus,
    HeartbeatData,
    PopProcessQueueInfo,
    ProcessQueueInfo,
    SubscriptionData,
)
from mqctl.protocol.codes import Language
from mqctl.protocol.frame import FrameDecoder, RemotingCommand, encode
from mqctl.protocol.requests_client import Heartbeat, UnregisterClient
from tests.embedded_broker.wire import Peer

RUNNING_INFO = 307
_FAR_AWAY = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """What a member says of itself.

    Attributes:
        topics: expressions by topic; the retry topic is added for clustering members.
        queues: what it says that it holds.
        silent: whether it leaves questions about itself unanswered.
        pops: whether it says that it takes messages by POP.
        stacks: what its threads do.
    """

    client_id: str
    group: str = "G"
    topics: Mapping[str, str | SubscriptionData] = field(default_factory=lambda: {"Pay": "*"})
    queues: Mapping[MessageQueue, ProcessQueueInfo] = field(default_factory=dict)
    rates: Mapping[str, ConsumeStatus] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    message_model: str = "CLUSTERING"
    consume_type: str = "CONSUME_PASSIVELY"
    version_ms: int = 1
    silent: bool = False
    pops: bool = False
    stacks: str | None = None

    def subscriptions(self) -> tuple[SubscriptionData, ...]:
        wanted = [
            item if isinstance(item, SubscriptionData) else subscription(topic, item, self.version_ms)
            for topic, item in self.topics.items()
        ]
        if self.message_model == "CLUSTERING":
            wanted.append(subscription(f"%RETRY%{self.group}", "*", self.version_ms))
        return tuple(wanted)

    def heartbeat(self) -> HeartbeatData:
        consumer = ConsumerData(
            group_name=self.group,
            consume_type=self.consume_type,
            message_model=self.message_model,
            subscription_data_set=self.subscriptions(),
        )
        return HeartbeatData(client_id=self.client_id, consumer_data_set=(consumer,))

    def info(self) -> ConsumerRunningInfo:
        return ConsumerRunningInfo(
            properties={"messageModel": self.message_model, **self.properties},
            subscription_set=self.subscriptions(),
            mq_table=dict(self.queues),
            status_table=dict(self.rates),
            mq_pop_table={MessageQueue("Pay", "broker-a", 0): PopProcessQueueInfo()} if self.pops else None,
            jstack=self.stacks,
        )


def subscription(topic: str, expression: str, version_ms: int = 1) -> SubscriptionData:
    """A tag subscription as clients send it."""
    parsed = parse_tags(expression)
    return SubscriptionData(
        topic=topic,
        sub_string=expression,
        tags_set=parsed.tags,
        code_set=tuple(sorted(parsed.codes)),
        sub_version=version_ms,
    )


class Cast:
    """Members on their connections, with one thread that answers what brokers ask them."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster
        self._selector = selectors.DefaultSelector()
        self._wake, waiting = socket.socketpair()
        self._selector.register(waiting, selectors.EVENT_READ, None)
        self._waiting = waiting
        self._said: dict[tuple[str, str], Scripted] = {}
        self._peers: list[Peer] = []
        self._homes: dict[tuple[str, str], list[Peer]] = {}
        self._awaited: dict[int, Event] = {}
        self._opaques = count(_FAR_AWAY + 1)
        self._thread = Thread(target=self._run, name="members", daemon=True)
        self._thread.start()

    def join(
        self, *members: Scripted, brokers: Iterable[str] | None = None, language: Language = Language.JAVA
    ) -> None:
        """Has members send their heartbeats, each over a connection of its own to each broker."""
        names = list(brokers) if brokers is not None else list(self._cluster.brokers)
        for member in members:
            self._said[member.group, member.client_id] = member
            for name in names:
                peer = Peer(self._cluster.broker(name).address)
                body = member.heartbeat().to_bytes()
                heartbeat = Heartbeat().command(opaque=_FAR_AWAY, body=body, version=peer.version, language=language)
                peer.socket.sendall(encode(heartbeat))
                assert peer.answer_to(_FAR_AWAY).code == 0
                self._peers.append(peer)
                self._homes.setdefault((member.group, member.client_id), []).append(peer)
                self._selector.register(peer.socket, selectors.EVENT_READ, FrameDecoder())
                self._wake.send(b"+")

    def say(self, member: Scripted) -> None:
        """Changes what a member tells of itself from now on; brokers hear nothing of it."""
        self._said[member.group, member.client_id] = member

    def told(self, client_id: str, group: str = "G") -> Scripted:
        """Returns what a member tells of itself."""
        return self._said[group, client_id]

    def change(self, client_id: str, group: str = "G", **parts: object) -> None:
        """Changes some of what a member tells."""
        self.say(replace(self._said[group, client_id], **parts))  # type: ignore[arg-type]

    def leave(self, client_id: str, group: str = "G") -> None:
        """Has a member say goodbye to every broker, over its own connections, and waits until they have heard it."""
        goodbye = UnregisterClient(client_id=client_id, consumer_group=group)
        for peer in self._homes.pop((group, client_id)):
            opaque = next(self._opaques)
            heard = self._awaited[opaque] = Event()
            peer.socket.sendall(encode(goodbye.command(opaque=opaque, version=peer.version)))
            assert heard.wait(60)

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                if key.data is None:
                    if b"." in connection.recv(64):
                        return
                    continue
                try:
                    data = connection.recv(1 << 20)
                    for command in key.data.feed(data):
                        self._answer(connection, command)
                except OSError:
                    data = b""
                if not data:
                    self._selector.unregister(connection)

    def _answer(self, connection: socket.socket, command: RemotingCommand) -> None:
        if command.is_response and command.opaque in self._awaited:
            self._awaited.pop(command.opaque).set()
        if command.is_response or command.code != RUNNING_INFO:
            return
        member = self._said.get((command.ext("consumerGroup") or "", command.ext("clientId") or ""))
        if member is not None and not member.silent:
            connection.sendall(encode(command.answer(0, body=member.info().to_bytes())))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._wake.send(b".")
        self._thread.join()
        self._selector.close()
        for peer in self._peers:
            peer.socket.close()
        self._wake.close()
        self._waiting.close()
