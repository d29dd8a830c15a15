"""The two ends of a connection: servers that get damaged requests, a client that gets damaged answers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from socket import create_connection
from typing import Any

from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.server import Limits
from mqctl.client.admin import broker_messages, nameserver
from mqctl.client.admin import broker_queries as broker
from mqctl.client.remoting.question import Question
from mqctl.errors import MqctlError
from mqctl.protocol.frame import decode, encode
from mqctl.protocol.requests_client import GetMaxOffset
from mqctl.protocol.requests_namesrv import GetBrokerClusterInfo
from tests.embedded_broker.wire import Peer
from tests.reliability.fuzz import corpus
from tests.reliability.fuzz.engine import Target

_QUESTIONS: tuple[Callable[[], Question[Any]], ...] = (
    lambda: nameserver.route("T"), nameserver.cluster_info, nameserver.topic_names, nameserver.system_topics,
    nameserver.name_server_settings, lambda: nameserver.kv_table("N"), broker.runtime_info, broker.broker_settings,
    broker.topic_configs, lambda: broker.topic_stats("T"), lambda: broker.topic_groups("T"), broker.group_configs,
    lambda: broker.consume_stats("G"), broker.consume_stats_of_all, lambda: broker.consume_time_spans("T", "G"),
    lambda: broker.consumer_connections("G"), broker.all_producers, lambda: broker.consumer_ids("G"),
    lambda: broker.running_info("G", "c"), lambda: broker.consumer_status("T", "G"), broker.all_consumer_offsets,
    broker.delay_offsets, lambda: broker.max_offset("T", 0), lambda: broker.earliest_store_time("T", 0),
    lambda: broker.queue_entries("T", 0, 0, 8), lambda: broker_messages.message_at(0),
    lambda: broker_messages.messages_by_key("T", "k", begin_ms=0, end_ms=1),
)  # fmt: skip


def framed(data: bytes) -> bytes:
    """Sets the lengths of most inputs right, so that edits inside reach what is behind the frame decoder."""
    if len(data) < 8 or sum(data) % 8 == 0:
        return data
    header_bytes = min(int.from_bytes(data[5:8], "big"), len(data) - 8)
    return (len(data) - 4).to_bytes(4, "big") + data[4:5] + header_bytes.to_bytes(3, "big") + data[8:]


def read_answers(data: bytes) -> None:
    """One answer as that to every question, as a confused broker may give any; it is read or refused by name."""
    command = decode(framed(data))
    for make in _QUESTIONS:
        question = make()
        for code in (command.code, 0):
            object.__setattr__(command, "code", code)
            try:
                question.value(command, "127.0.0.1:1")
            except MqctlError as error:
                assert error.problem
    try:
        broker_messages.read_pull(command)
    except MqctlError as error:
        assert error.problem


class _Surprises(logging.Handler):
    """Keeps what a server logs with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.seen.append(f"{record.getMessage()}: {record.exc_info[1]!r}")


class _Servers:
    """A cluster that lasts as long as the process, with one connection to each server that must go on working."""

    def __init__(self) -> None:
        import atexit

        self.surprises = _Surprises()
        for name in ("embedded_broker", "asyncio"):
            logging.getLogger(name).addHandler(self.surprises)
        self.cluster = EmbeddedCluster(version="5.3.3", limits=Limits(idle_ms=1 << 40))
        self.cluster.start()
        self.addresses = ("", "")
        self.probes: list[Peer] = []
        self.connect()
        self.given = 0
        atexit.register(self.stop)

    def connect(self) -> None:
        for probe in self.probes:
            probe.socket.close()
        self.addresses = (self.cluster.broker().address, self.cluster.namesrv)
        self.probes = [Peer(address) for address in self.addresses]

    def renew(self) -> None:
        """Forgets what odd requests created: it must not pile up for hours."""
        self.cluster.reset()
        self.connect()

    def stop(self) -> None:
        for probe in self.probes:
            probe.socket.close()
        self.cluster.stop()


@cache
def _servers() -> _Servers:
    return _Servers()


def serve(data: bytes) -> None:
    """Sends the bytes to both servers on new connections; those that were there are served all the same."""
    servers = _servers()
    servers.given += 1
    if servers.given % 2_000 == 0:
        servers.renew()
    for address, probe, request in zip(
        servers.addresses, servers.probes, (GetMaxOffset(topic="T", queue_id=0), GetBrokerClusterInfo()), strict=True
    ):
        host, _, port = address.rpartition(":")
        with create_connection((host, int(port)), timeout=5) as sock:
            sock.sendall(framed(data))
            probe.call(request)
            probe.unasked.clear()
    assert servers.surprises.seen == [], servers.surprises.seen.pop()


def _requests() -> list[bytes]:
    return [encode(command) for command in corpus.commands() if not command.is_response]


def _answers() -> list[bytes]:
    return [encode(command) for command in corpus.commands() if command.is_response]


_WORDS = (b'"', b"{", b"}", b"null", b"-1", b"9" * 25, b"%RETRY%", b"SCHEDULE_TOPIC_XXXX", b"../..", b"\0", b"[[")
TARGETS = (
    Target("answers", _answers, read_answers, _WORDS, 0.3),
    Target("servers", _requests, serve, _WORDS, 0.5, guided=False),
)
