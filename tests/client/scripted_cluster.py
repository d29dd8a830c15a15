"""A name server and brokers in one scripted listener each, for what the embedded cluster does not do on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from mqctl.protocol.bodies_cluster import BrokerData, QueueData, TopicRouteData
from mqctl.protocol.codes import RequestCode
from mqctl.protocol.frame import RemotingCommand
from tests.client.wire_server import Answer, Peer, WireServer


class ScriptedCluster:
    """Brokers that answer as told, and a name server that knows the topics given.

    Args:
        brokers: answers by broker name; heartbeats and farewells are answered with success.
        topics: queues per broker by topic.
    """

    def __init__(self, brokers: Mapping[str, Answer], topics: Mapping[str, int]) -> None:
        self._stack = ExitStack()
        self.topics = dict(topics)
        self.brokers = {
            name: self._stack.enter_context(WireServer(_polite(answer))) for name, answer in brokers.items()
        }
        self.name_server = self._stack.enter_context(WireServer(self._route))
        self.address = self.name_server.address

    def _route(self, peer: Peer, command: RemotingCommand) -> None:
        topic = command.ext("topic") or ""
        if topic not in self.topics:
            peer.send(command.answer(17, remark=f"No topic route info in name server for the topic: {topic}"))
            return
        count = self.topics[topic]
        route = TopicRouteData(
            broker_datas=tuple(
                BrokerData(broker_addrs={0: server.address}, broker_name=name, cluster="C")
                for name, server in self.brokers.items()
            ),
            queue_datas=tuple(
                QueueData(broker_name=name, read_queue_nums=count, write_queue_nums=count) for name in self.brokers
            ),
        )
        peer.send(command.answer(0, body=route.to_bytes(browser_compatible=True)))

    def requests(self, broker: str, code: RequestCode) -> list[RemotingCommand]:
        """Returns what a broker was asked with `code`."""
        return [command for command in self.brokers[broker].requests if command.code == code]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _polite(answer: Answer) -> Answer:
    def answer_all(peer: Peer, command: RemotingCommand) -> None:
        if command.code in (RequestCode.HEART_BEAT, RequestCode.UNREGISTER_CLIENT):
            peer.send(command.answer(0))
        else:
            answer(peer, command)

    return answer_all


def storing(code: int = 0, remark: str | None = None) -> Callable[[Peer, RemotingCommand], None]:
    """Answers sends as a broker that stored the message, or that did not."""

    def answer(peer: Peer, command: RemotingCommand) -> None:
        if command.is_oneway:
            return
        ext = {"msgId": "7F00000100002A9F0000000000000000", "queueId": command.ext("e") or "0", "queueOffset": "3"}
        ext |= {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
        peer.send(command.answer(code, remark=remark, ext_fields=ext))

    return answer
