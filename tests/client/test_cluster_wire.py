"""Name servers, address services and fan-out against scripted peers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Lock, Thread

import pytest

from mqctl.client.admin.broker_queries import max_offset, runtime_info
from mqctl.client.admin.cluster import BrokerAddress, Cluster
from mqctl.client.admin.nameserver import NameServers, route
from mqctl.client.remoting.addresses import TopAddressing, name_server_source, parse_addresses
from mqctl.client.remoting.answers import NotFoundAnswerError
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import AddressedQuestion, fan_out
from mqctl.client.remoting.links import Links
from mqctl.errors import ConfigurationError, DeadlineError, NotFoundError, UnreachableError, UsageError
from mqctl.protocol.bodies_cluster import BrokerData, ClusterInfo, KVTable, QueueData, TopicRouteData
from mqctl.protocol.frame import RemotingCommand
from tests.client.wire_server import Peer, WireServer, answering, closed_address, silent

LONG = 20_000


def route_of(*broker_names: str, queues: int = 4) -> bytes:
    return TopicRouteData(
        broker_datas=tuple(BrokerData(broker_addrs={0: f"{n}:1"}, broker_name=n, cluster="C") for n in broker_names),
        queue_datas=tuple(
            QueueData(broker_name=n, read_queue_nums=queues, write_queue_nums=queues) for n in broker_names
        ),
    ).to_bytes(browser_compatible=True)


def test_the_next_name_server_answers_and_stays_the_current_one() -> None:
    dead = closed_address()
    with WireServer(answering(0, body=route_of("b"))) as server, Links() as links:
        servers = NameServers(links, (dead, server.address))
        assert servers.route("T").broker_datas[0].broker_name == "b"
        assert servers.route("T").broker_datas[0].broker_name == "b"
        assert len(server.requests) == 2


def test_a_name_server_that_hangs_leaves_time_for_the_next() -> None:
    with WireServer(silent) as hung, WireServer(answering(0, body=route_of("b"))) as server, Links() as links:
        servers = NameServers(links, (hung.address, server.address), call_timeout_ms=4_000)
        assert servers.route("T").broker_datas
        assert len(hung.requests) == 1


def test_when_no_name_server_answers_each_is_named() -> None:
    first, second = closed_address(), closed_address()
    with Links() as links, pytest.raises(UnreachableError) as caught:
        NameServers(links, (first, second)).route("T")
    assert first in str(caught.value)
    assert second in str(caught.value)
    with WireServer(silent) as hung, Links() as links, pytest.raises(DeadlineError):
        NameServers(links, (hung.address,), call_timeout_ms=30).route("T")


def test_a_refusal_is_an_answer_and_asks_nobody_else() -> None:
    with (
        WireServer(answering(17, remark="No topic")) as first,
        WireServer(answering(0, body=route_of("b"))) as second,
        Links() as links,
    ):
        with pytest.raises(NotFoundAnswerError):
            NameServers(links, (first.address, second.address)).route("T")
        assert not second.requests


def test_name_servers_that_disagree_are_told_apart_whatever_their_order() -> None:
    with (
        WireServer(answering(0, body=route_of("a", "b"))) as one,
        WireServer(answering(0, body=route_of("b", "a"))) as two,
        WireServer(answering(0, body=route_of("a"))) as odd,
        Links() as links,
    ):
        dead = closed_address()
        views = NameServers(links, (one.address, odd.address, two.address, dead)).ask_all(route("T"))
        assert views.differing == (odd.address,)
        assert [outcome.ask.address for outcome in views.silent] == [dead]


@contextmanager
def address_service(answers: list[tuple[int, str]]) -> Iterator[str]:
    """Serves `/rocketmq/nsaddr`; the first of `answers` is given until the test removes it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, text = answers[0]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/rocketmq/nsaddr"
        server.shutdown()
        thread.join()


def test_an_address_service_is_obeyed_when_it_switches_rooms() -> None:
    with (
        WireServer(answering(0, body=route_of("HT-broker"))) as east,
        WireServer(answering(0, body=route_of("CP-broker"))) as west,
        Links() as links,
    ):
        answers = [(200, f"{east.address};\n")]
        with address_service(answers) as url:
            source = name_server_source(url)
            assert isinstance(source, TopAddressing)
            servers = NameServers(links, source)
            assert servers.route("T").broker_datas[0].broker_name == "HT-broker"
            assert not servers.refresh()
            answers[:] = [(200, west.address)]
            assert servers.refresh()
            assert servers.route("T").broker_datas[0].broker_name == "CP-broker"
            assert [link.address for link in links.open_links()] == [west.address]
            answers[:] = [(503, "")]
            with pytest.raises(UnreachableError, match="503"):
                servers.refresh()
            assert servers.addresses() == (west.address,)
            answers[:] = [(200, "sorry, no idea")]
            with pytest.raises(ConfigurationError, match="lists no name server"):
                servers.refresh()


def test_an_address_service_that_is_gone_is_named() -> None:
    service = TopAddressing(f"http://{closed_address()}/rocketmq/nsaddr")
    with pytest.raises(UnreachableError, match="/rocketmq/nsaddr did not answer"):
        service.fetch(Deadline(LONG))


def test_settings_of_name_servers() -> None:
    assert parse_addresses("a:1;b:2; a:1") == ("a:1", "b:2")
    assert name_server_source("http://instance.example:8080") == ("instance.example:8080",)
    for wrong in ("", ";", "a", "ftp://x/y", "ftp://x:1"):
        with pytest.raises(UsageError):
            name_server_source(wrong)


def test_fan_out_bounds_what_is_in_flight_and_gets_every_answer() -> None:
    most: Counter[str] = Counter()
    held: dict[Peer, list[RemotingCommand]] = {}
    lock = Lock()

    def in_fours(peer: Peer, command: RemotingCommand) -> None:
        with lock:
            waiting = held.setdefault(peer, [])
            waiting.append(command)
            most["x"] = max(most["x"], len(waiting))
            if len(waiting) < 4:
                return
            for request in waiting:
                peer.send(request.answer(0, ext_fields={"offset": request.ext("queueId") or ""}))
            waiting.clear()

    with WireServer(in_fours) as one, WireServer(in_fours) as two, Links() as links:
        asks = [
            AddressedQuestion(server.address, max_offset("T", n), f"{n}") for server in (one, two) for n in range(40)
        ]
        outcomes = list(fan_out(links, asks, Deadline(LONG), in_flight=4))
        assert sorted(outcome.ask.about for outcome in outcomes) == sorted(ask.about for ask in asks)
        assert all(str(outcome.value()) == outcome.ask.about for outcome in outcomes)
        assert most["x"] == 4
        assert len(one.peers) == len(two.peers) == 1


def test_a_dead_and_a_silent_broker_cost_one_error_each_and_hide_nothing() -> None:
    dead = closed_address()
    with WireServer(silent) as mute, WireServer(answering(0, ext_fields={"offset": "7"})) as good, Links() as links:
        asks = [
            AddressedQuestion(address, max_offset("T", n), name)
            for address, name in ((dead, "dead"), (mute.address, "mute"), (good.address, "good"))
            for n in range(50)
        ]
        outcomes = list(fan_out(links, asks, Deadline(LONG), in_flight=3, call_timeout_ms=3_000))
        assert Counter((outcome.ask.about, type(outcome.error)) for outcome in outcomes) == {
            ("dead", UnreachableError): 50,
            ("mute", DeadlineError): 50,
            ("good", type(None)): 50,
        }
        assert len(mute.requests) == 3
        assert {"connection refused" in str(o.error) for o in outcomes if o.ask.about == "dead"} == {True}


def test_the_deadline_of_the_whole_command_holds() -> None:
    with WireServer(silent) as mute, Links() as links:
        asks = [AddressedQuestion(mute.address, runtime_info()) for _ in range(5)]
        outcomes = list(fan_out(links, asks, Deadline(50), in_flight=2))
        assert [type(outcome.error) for outcome in outcomes] == [DeadlineError] * 5


def test_leaving_early_leaves_nothing_in_flight() -> None:
    with WireServer(answering(0, ext_fields={"offset": "7"})) as good, WireServer(silent) as mute, Links() as links:
        asks = [
            AddressedQuestion(good.address, max_offset("T", 0)),
            AddressedQuestion(mute.address, max_offset("T", 0)),
        ]
        outcomes = fan_out(links, asks, Deadline(LONG))
        assert next(outcomes).value() == 7
        outcomes.close()  # type: ignore[attr-defined]
        assert links.get(mute.address).in_flight == 0


def test_a_cluster_finds_its_brokers() -> None:
    info = ClusterInfo(
        broker_addr_table={
            "b": BrokerData(broker_name="b", cluster="C", broker_addrs={1: "h:2", 0: "h:1"}),
            "a": BrokerData(broker_name="a", broker_addrs={0: "h:3"}),
        },
        cluster_addr_table={"C": ("b", "a")},
    )
    with WireServer(answering(0, body=info.to_bytes())) as server, Cluster(server.address) as cluster:
        brokers = cluster.brokers()
        assert brokers == (
            BrokerAddress("C", "a", 0, "h:3"),
            BrokerAddress("C", "b", 0, "h:1"),
            BrokerAddress("C", "b", 1, "h:2"),
        )
        assert [broker.broker_name for broker in cluster.masters()] == ["a", "b"]
        assert cluster.broker("b").address == "h:1"
        assert cluster.broker("h:2").broker_id == 1
        with pytest.raises(NotFoundError, match="no broker x"):
            cluster.broker("x")


def test_a_cluster_asks_its_brokers_at_once() -> None:
    body = KVTable(table={"k": "v"}).to_bytes()
    with WireServer(answering(0, body=body)) as server, Cluster(server.address) as cluster:
        brokers = [BrokerAddress("C", "a", 0, server.address), BrokerAddress("C", "b", 0, closed_address())]
        outcomes = list(cluster.ask_brokers(brokers, lambda _: runtime_info(), Deadline(LONG)))
        assert {o.ask.about: o.error is None for o in outcomes} == {"a": True, "b": False}
        assert cluster.ask(server.address, runtime_info()).table == {"k": "v"}
