"""The cluster of a group of cases: brokers of the tree whose time stands still, and what a scene needs.

Lines of cases that begin with `!` are directions:

    ! send BROKER TOPIC QUEUE COUNT [NAME=VALUE]...   messages with these properties; keys and unique keys are made
    ! half BROKER TOPIC KEY                           a half message, whose producer never says how it ends
    ! commit BROKER GROUP TOPIC QUEUE OFFSET          an offset of a group
    ! join CLIENT GROUP [TOPIC=EXPRESSION]...         a member that answers what brokers ask it
    ! leave CLIENT GROUP
    ! produce CLIENT GROUP                            a producer that stays connected
    ! advance MS                                      lets time pass, for brokers and for commands
    ! control VERB NAME=VALUE...                      a word of the control socket
    ! set NAME=VALUE                                  a variable of the environment of the lines that follow
    ! write FILE TEXT                                 a file in the home of the group
"""

from __future__ import annotations

import json
import re
import shlex
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mqctl.client.admin.broker_changes import commit_offset
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.links import Links
from mqctl.protocol.bodies_client import HeartbeatData, ProducerData
from mqctl.protocol.requests_client import Heartbeat
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.cast import Cast, Scripted

_FIRST_PORT, _PORTS, _PLACES = 15_000, 200, 80
"""Below those that systems give to clients."""
_BROKERS_FROM = 20
_SECONDS = 60
_CHANGE = re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b")


@dataclass(frozen=True)
class _Address:
    address: str


@dataclass
class Stage:
    """What lines of a group run against. Without a cluster only files can be written.

    Attributes:
        values: what `{...}` stands for in lines that follow.
    """

    home: Path
    now_ms: int
    values: dict[str, str] = field(default_factory=dict)
    brokers: dict[str, _Address] = field(default_factory=dict)
    _variables: dict[str, str] = field(default_factory=dict)
    _cast: Cast | None = None
    _control: socket.socket | None = None
    _token: str = ""
    _peers: list[Peer] = field(default_factory=list)
    _sent: int = 0

    @classmethod
    @contextmanager
    def of(cls, cluster: str | None, port: int, home: Path, environment: Mapping[str, str]) -> Iterator[Stage]:
        """Starts a cluster by words of `python -m embedded_broker`, None for none, and ends it."""
        stage = cls(home, int(environment["SAMENESS_NOW_MS"]))
        if cluster is None:
            yield stage
            return
        ports = ["--namesrv-port", str(port), "--broker-port", str(port + _BROKERS_FROM)]
        words = ["--virtual-time", "--control", "--until-eof", "--data-dir", str(home / "cluster"), *ports]
        command = [sys.executable, "-P", "-m", "embedded_broker", *words, *shlex.split(cluster)]
        with ExitStack() as stack:
            log = stack.enter_context((home / "cluster.log").open("w+"))
            running = subprocess.Popen(
                command,
                env=dict(environment),
                cwd=home,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            stack.callback(_end, running)
            assert running.stdout is not None
            ready = json.loads(running.stdout.readline() or "null")
            if ready is None:
                log.seek(0)
                raise RuntimeError(f"no cluster: {shlex.join(command)} ended with {running.wait()}: {log.read()}")
            stage._meet(ready, stack)
            yield stage

    def _meet(self, ready: Mapping[str, Any], stack: ExitStack) -> None:
        self.brokers = {broker["name"]: _Address(broker["address"]) for broker in ready["brokers"]}
        self.values = {"namesrv": ready["namesrv"], **{name: it.address for name, it in self.brokers.items()}}
        host, _, port = ready["control"]["address"].rpartition(":")
        self._control = stack.enter_context(socket.create_connection((host, int(port)), timeout=_SECONDS))
        self._token = ready["control"]["token"]
        self._cast = stack.enter_context(Cast(self))  # type: ignore[arg-type]  # it asks for addresses only
        stack.callback(self._part)

    def _part(self) -> None:
        for peer in self._peers:
            peer.socket.close()

    def broker(self, name: str) -> _Address:
        """Returns a broker by its name."""
        return self.brokers[name]

    def environment(self) -> dict[str, str]:
        """Returns what a command line needs to find the cluster and its time."""
        cluster = {"MQCTL_NAMESRV": self.values["namesrv"]} if self.brokers else {}
        return {"SAMENESS_NOW_MS": str(self.now_ms), **cluster, **self._variables}

    def note(self, text: str) -> None:
        """Keeps the last change that an answer names, for `{change}`."""
        if changes := _CHANGE.findall(text):
            self.values["change"] = changes[-1]

    def advance(self, ms: int) -> None:
        """Lets time pass, for brokers and for commands."""
        self.now_ms += ms
        if self._control is not None:
            self._ask({"do": "advance", "ms": ms})

    def do(self, line: str) -> None:
        """Follows a direction."""
        word, _, rest = line.partition(" ")
        if word == "write":
            name, _, text = rest.partition(" ")
            (self.home / name).write_text(text.replace("\\n", "\n"), encoding="utf-8")
            (self.home / name).chmod(0o600)
            return
        directions: dict[str, Callable[..., object]] = {
            "send": self._send,
            "half": self._half,
            "commit": self._commit,
            "join": self._join,
            "leave": self._leave,
            "produce": self._produce,
            "advance": lambda ms: self.advance(int(ms)),
            "set": lambda given: self._variables.update([given.split("=", 1)]),
            "control": self._tell,
        }
        directions[word](*shlex.split(rest))

    @property
    def _members(self) -> Cast:
        assert self._cast is not None, "the group has no cluster"
        return self._cast

    def _call(self, broker: str, request: Any, body: bytes) -> Any:
        with Peer(self.brokers[broker].address) as peer:
            answer = peer.call(request, body)
        if answer.code:
            raise RuntimeError(f"{broker} refused {type(request).__name__}: {answer.code} {answer.remark}")
        return answer

    def _send(self, broker: str, topic: str, queue: str, count: str, *properties: str) -> None:
        for _ in range(int(count)):
            self._sent += 1
            made = {"KEYS": f"k{self._sent}", "UNIQ_KEY": f"{self._sent:032X}"}
            given = dict(item.split("=", 1) for item in properties)
            request = send(topic, queue_id=int(queue), properties={**made, **given}, born_ms=self.now_ms - 5)
            answer = self._call(broker, request, f"body {self._sent}".encode())
            self.values |= {"unique": f"{self._sent:032X}", "offset_id": answer.ext("msgId"), "key": f"k{self._sent}"}

    def _half(self, broker: str, topic: str, key: str) -> None:
        properties = {"UNIQ_KEY": key, "TRAN_MSG": "true", "PGROUP": "PG"}
        self._call(broker, send(topic, properties=properties, sys_flag=4, born_ms=self.now_ms), key.encode())

    def _commit(self, broker: str, group: str, topic: str, queue: str, offset: str) -> None:
        with Links() as links:
            question = commit_offset(group, topic, int(queue), int(offset))
            links.ask(self.brokers[broker].address, question, Deadline(_SECONDS * 1000))

    def _join(self, client: str, group: str, *topics: str) -> None:
        wanted = dict(item.split("=", 1) for item in topics)
        self._members.join(Scripted(client_id=client, group=group, topics=wanted, version_ms=self.now_ms - 60_000))

    def _leave(self, client: str, group: str) -> None:
        self._members.leave(client, group)

    def _produce(self, client: str, group: str) -> None:
        data = HeartbeatData(client_id=client, producer_data_set=(ProducerData(group_name=group),))
        for broker in self.brokers.values():
            peer = Peer(broker.address)
            peer.call(Heartbeat(), data.to_bytes())
            self._peers.append(peer)

    def _tell(self, verb: str, *words: str) -> None:
        given = dict(item.split("=", 1) for item in words)
        self._ask({"do": verb, **{name: int(text) if text.isdigit() else text for name, text in given.items()}})

    def _ask(self, words: dict[str, object]) -> None:
        assert self._control is not None, "the group has no cluster"
        self._control.sendall(json.dumps({"token": self._token, **words}).encode() + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            answer += self._control.recv(1 << 16)
        if not json.loads(answer)["ok"]:
            raise RuntimeError(f"{words['do']}: {json.loads(answer)['error']}")


def _end(running: subprocess.Popen[str]) -> None:
    assert running.stdin is not None and running.stdout is not None
    running.stdin.close()
    running.wait(_SECONDS)
    running.stdout.close()


def find_ports(count: int, place: Path) -> list[int]:
    """Returns the first ports of so many clusters, all of whose ports are free.

    A checkout begins its search at a place of its own, so that two of them seldom meet.
    """
    ports: list[int] = []
    first = zlib.crc32(str(place).encode())
    for number in range(_PLACES):
        port = _FIRST_PORT + (first + number) % _PLACES * _PORTS
        if len(ports) < count and all(_is_free(port + distance) for distance in range(_BROKERS_FROM * 3)):
            ports.append(port)
    if len(ports) < count:
        raise RuntimeError(f"no ports for {count} clusters from {_FIRST_PORT} on: {len(ports)} places are free")
    return ports


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
