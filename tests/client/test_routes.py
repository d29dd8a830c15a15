"""What a client knows of routes when several of its threads look at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from mqctl.client.admin.nameserver import NameServers
from mqctl.client.remoting.links import Links
from mqctl.client.routes import RouteCache
from mqctl.protocol.bodies_cluster import BrokerData, QueueData, TopicRouteData
from mqctl.protocol.frame import RemotingCommand
from tests.client.consuming import LONG_S
from tests.client.wire_server import Peer, WireServer


def answer_of(command: RemotingCommand, *brokers: str) -> RemotingCommand:
    """What a name server says that knows these brokers; each has one queue."""
    route = TopicRouteData(
        broker_datas=tuple(
            BrokerData(broker_addrs={0: f"{name}:10911"}, broker_name=name, cluster="C") for name in brokers
        ),
        queue_datas=tuple(QueueData(broker_name=name, read_queue_nums=1, write_queue_nums=1) for name in brokers),
    )
    return command.answer(0, body=route.to_bytes(browser_compatible=True))


def test_an_answer_that_comes_late_does_not_replace_what_a_newer_look_found() -> None:
    """A name server answered the first look while broker-a was away, and the answer took long."""
    late: list[tuple[Peer, RemotingCommand]] = []
    reached_broker = Event()

    def name_server(peer: Peer, command: RemotingCommand) -> None:
        if late:
            peer.send(answer_of(command, "broker-a", "broker-b"))
        else:
            late.append((peer, command))
            reached_broker.set()

    with WireServer(name_server) as server, Links() as links, ThreadPoolExecutor(1) as pool:
        routes = RouteCache(NameServers(links, (server.address,), call_timeout_ms=int(LONG_S * 1_000)))
        first = pool.submit(routes.refresh, "T")
        assert reached_broker.wait(LONG_S)
        assert routes.refresh("T")
        ((peer, command),) = late
        peer.send(answer_of(command, "broker-b"))
        assert not first.result(LONG_S)
        assert [queue.broker_name for queue in routes.to_publish("T")] == ["broker-a", "broker-b"]
        assert routes.master("broker-a") == "broker-a:10911"
