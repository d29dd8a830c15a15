"""A server that answers with the frames recorded while mqadmin asked a real cluster.

Each run of mqadmin is replayed on its own: a request gets the answer that was recorded for the same question, of that
run first, else the nearest in time of the same recording (a recording keeps settings and the cluster once, not for
every run). What moves is answered from the run's own minute only. mqctl asks some facts by other requests than mqadmin
does; those answers are put together from recorded ones: routes from topic settings, all offsets and queue bounds from
the consume stats of the groups. A question that nobody recorded is answered as a broker answers a code it does not
know, and remembered.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import socketserver
import tarfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import msgspec

from mqctl.protocol.frame import FLAG_RESPONSE, FrameDecoder, RemotingCommand, decode, encode
from tests.live.mqadmin.replay_composed import composed_answer

PACK = Path(__file__).parents[2] / "golden" / "mqadmin" / "mqadmin.tar.xz"

# How the one who asks fetches, not what is asked.
_MANNER = {
    "sysFlag", "subVersion", "suspendTimeoutMillis", "commitOffset", "maxMsgNums", "bname", "maxNum", "endTimestamp",
    "beginTimestamp", "acceptStandardJsonOnly", "Signature", "AccessKey", "SecurityToken", "ReqT", "maxMsgBytes",
    "requestSource", "subscription", "expressionType", "ns", "nsd", "jstackEnable", "_UNIQUE_KEY_QUERY", "lo", "oway",
    "consumerGroup@11", "isOrder", "committed", "boundaryType",
}  # fmt: skip
_NOT_SUPPORTED = 3
_CLUSTER_INFO = 106
_MOVING = {12, 14, 28, 29, 30, 31, 38, 43, 202, 203, 204, 208, 307, 315, 317, 321, 328}
_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Exchange:
    """One recorded question with its answer."""

    release: str
    part: str
    run: str
    to: str
    time_ms: int
    code: int
    fields: Mapping[str, str | int]
    has_body: bool
    answer: str

    @property
    def command(self) -> RemotingCommand:
        return decode(base64.b64decode(self.answer))


@dataclass(frozen=True, slots=True)
class MqadminRun:
    """One run of mqadmin: its words, what it printed and the files it wrote."""

    release: str
    name: str
    argv: tuple[str, ...]
    began_ms: int
    out: str
    err: str
    files: Mapping[str, str]

    @property
    def sub_command(self) -> str:
        return self.argv[0] if self.argv else ""

    def option(self, name: str) -> str | None:
        return self.argv[self.argv.index(name) + 1] if name in self.argv else None


@cache
def exchanges() -> tuple[Exchange, ...]:
    return tuple(msgspec.convert(line, Exchange) for line in _lines("exchanges.jsonl"))


@cache
def runs() -> Mapping[str, MqadminRun]:
    """Every recorded run by `RELEASE/NAME`."""
    read = (msgspec.convert(line, MqadminRun) for line in _lines("runs.jsonl"))
    return {f"{run.release}/{run.name}": run for run in read}


def _lines(name: str) -> Iterator[object]:
    with tarfile.open(PACK) as archive:
        file = archive.extractfile(name)
        assert file is not None
        yield from (json.loads(line) for line in file.read().decode().splitlines())


@dataclass(slots=True)
class Replay:
    """The servers of one replayed run.

    Attributes:
        addresses: where each recorded address listens now.
        missing: questions that were not recorded: code and fields.
    """

    run: MqadminRun
    addresses: dict[str, str] = field(default_factory=dict)
    missing: list[tuple[str, int, Mapping[str, str]]] = field(default_factory=list)

    @property
    def namesrv(self) -> str:
        return self.addresses[PLACES[self.run.release]["namesrv"]]

    @property
    def master(self) -> str:
        """The recorded address of the master."""
        return PLACES[self.run.release]["broker"]

    def now(self, text: str) -> str:
        """`text` with the recorded addresses, and the hosts inside message ids, replaced by today's."""
        for old, new in self.addresses.items():
            text = text.replace(old, new).replace(_in_ids(old), _in_ids(new))
        return text

    def then(self, text: str) -> str:
        """`text` with today's addresses, and the hosts inside message ids, replaced by the recorded ones."""
        for old, new in self.addresses.items():
            text = text.replace(new, old).replace(_in_ids(new), _in_ids(old))
        return text

    def answer(self, to: str, request: RemotingCommand) -> RemotingCommand | None:
        if request.is_oneway:
            return None
        fields = dict(request.ext_fields or {})
        best = next(iter(self.recorded(to, request.code, fields)), None)
        composed = composed_answer(self, to, request.code, fields) if best is None else None
        if composed is not None:
            answer = composed
        elif best is None:
            self.missing.append((to, request.code, fields))
            answer = RemotingCommand(
                code=_NOT_SUPPORTED, flag=FLAG_RESPONSE, remark=f"code {request.code} not recorded"
            )
        else:
            answer = best.command
        body = answer.body
        if body[:1] in (b"{", b"["):
            body = self.now(self._with_slave(request.code, body.decode())).encode()
        else:  # stored messages name the broker in binary
            for old, new in self.addresses.items():
                body = body.replace(bytes.fromhex(_in_ids(old)), bytes.fromhex(_in_ids(new)))
        return dataclasses.replace(answer, opaque=request.opaque, body=body)

    def _with_slave(self, code: int, body: str) -> str:
        """The one recorded cluster answer is older than the slave; runs that asked the slave get it added."""
        slave = PLACES[self.run.release].get("slave")
        asked_slave = any(e.to == "slave" and e.run == self.run.name for e in exchanges())
        if code == _CLUSTER_INFO and slave and asked_slave:
            return body.replace(f'0:"{self.master}"', f'0:"{self.master}",1:"{slave}"')
        return body

    def recorded(self, to: str, code: int, asked: Mapping[str, str]) -> list[Exchange]:
        """The exchanges that answer a question, the nearest first."""
        return sorted(self._candidates(to, code, asked), key=self._distance)

    def _candidates(self, to: str, code: int, asked: Mapping[str, str]) -> Iterable[Exchange]:
        part = _part_of(self.run)
        for exchange in exchanges():
            if (exchange.release, exchange.part, exchange.to, exchange.code) == (self.run.release, part, to, code):
                shared = (exchange.fields.keys() & asked.keys()) - _MANNER
                moved = abs(exchange.time_ms - self.run.began_ms) > _MINUTE_MS and exchange.run != self.run.name
                empty = b'"brokerAddrTable":{}' in exchange.command.body and exchange.run != self.run.name
                if empty or (moved and code in _MOVING):
                    continue
                if all(str(exchange.fields[name]) == asked[name] for name in shared):
                    yield exchange

    def _distance(self, exchange: Exchange) -> tuple[bool, bool, int]:
        late = exchange.time_ms - self.run.began_ms
        return (exchange.run != self.run.name, exchange.command.code != 0, abs(late))


# Addresses that the recorded answers name.
PLACES = {
    "4.9.8": {"namesrv": "127.0.0.1:9876", "broker": "127.0.0.1:10911", "slave": "127.0.0.1:10921"},
    "5.3.3": {"namesrv": "127.0.0.2:29876", "broker": "127.0.0.2:21911"},
}


def _part_of(run: MqadminRun) -> str:
    """The recording that a run belongs to: the one whose frames name it, else by time."""
    named = next((e.part for e in exchanges() if e.release == run.release and e.run == run.name), None)
    if named:
        return named
    mine = [e for e in exchanges() if e.release == run.release]
    return min(mine, key=lambda e: abs(e.time_ms - run.began_ms)).part


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, replay: Replay, to: str) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.replay, self.to = replay, to


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        decoder = FrameDecoder()
        while data := self.request.recv(65536):
            for request in decoder.feed(data):
                answer = server.replay.answer(server.to, request)
                if answer is not None:
                    self.request.sendall(encode(answer))


def _in_ids(address: str) -> str:
    """An address as offset message ids begin with it: `7F00000100002A9F`."""
    host, _, port = address.partition(":")
    return "".join(f"{int(part):02X}" for part in host.split(".")) + f"{int(port):08X}"


@contextmanager
def replaying(run: MqadminRun) -> Iterator[Replay]:
    """Serves the recording of `run` on loopback ports of the moment."""
    replay = Replay(run)
    servers = [(address, _Server(replay, to)) for to, address in PLACES[run.release].items()]
    replay.addresses = {address: f"127.0.0.1:{server.server_address[1]}" for address, server in servers}
    threads = [threading.Thread(target=server.serve_forever, args=(0.02,)) for _, server in servers]
    for thread in threads:
        thread.start()
    try:
        yield replay
    finally:
        for _, server in servers:
            server.shutdown()
            server.server_close()
        for thread in threads:
            thread.join()
