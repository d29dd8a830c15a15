"""The read commands as they are run here, and a cluster that has something to say to each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from embedded_broker import EmbeddedCluster
from mqctl.cli.catalog import ENTRIES, options_of
from tests.embedded_broker.messages import send
from tests.embedded_broker.wire import Peer
from tests.live.doctor.stage import BROKERS, ONE, TWO, staged

_THREAD = f"{'ConsumeMessageThread_1':<40}"
_STACKS = f"{_THREAD}TID: 27 STATE: WAITING\n{_THREAD}java.lang.Object.wait(Native Method)\n\n"
_KEYED = "C0000202000018B4AAC27C6D0A4A0001"
_TOPIC, _GROUP = "-t Pay", "-g G"
WORDS = {
    "acl explain": "admin --resource Topic:Pay --action Pub",
    "allocation show": _GROUP,
    "allocation simulate": f"{_GROUP} {_TOPIC} --add-clients 2",
    "broker describe": "broker-b",
    "check": "--group G --max-lag 10 --max-lag-time 5m --brokers 2 --require-members",
    "delay plan": "--at +100min",
    "dlq list": _GROUP,
    "export prometheus": "--once",
    "group describe": _GROUP,
    "group members": _GROUP,
    "lock show": _GROUP,
    "message get": f"{_TOPIC} --key k",
    "message peek": _TOPIC,
    "message tail": f"{_TOPIC} --lines 1",
    "message trace": f"{_KEYED} {_TOPIC}",
    "order check": _TOPIC,
    "retry list": _GROUP,
    "stacks dump": f"{_GROUP} --dumps 1",
    "subscription check": _GROUP,
    "subscription simulate": f"{_GROUP} {_TOPIC} --to B --instances 1",
    "top": "--count 1 --every 100ms",
    "topic describe": _TOPIC,
    "topic entries": f"{_TOPIC} -q 0",
    "topic route": _TOPIC,
    "topic traffic": _TOPIC,
    "transaction show": _KEYED,
}
"""Words of those that need some."""
ELSEWHERE = {
    "broker reach": "connects to what answers name, as its task is",
    "replay status": "reads records of this machine",
    "stacks find": "shows processes of this machine",
}
"""Live read commands that are not run, and why."""
_NEED_STORES = {"report run", "report tags"}
"""Commands that read a snapshot beside a store."""
_FORMATS = ("table", "wide", "json", "ndjson", "yaml", "csv")
_FEWER_FORMATS = {"top": ("table", "json", "ndjson"), "message tail": _FORMATS[:4]}


@dataclass(frozen=True)
class Command:
    """A read command, live or on a snapshot.

    Attributes:
        takes_output: whether it has `--output`.
    """

    name: str
    of_snapshot: bool
    takes_output: bool

    def line(self, pick: int, *, timeout_ms: int, place: str) -> list[str]:
        """Returns the words of a run.

        Args:
            pick: chooses the output format.
            place: the snapshot, or where one is written.
        """
        words = [*self.name.split(), *WORDS.get(self.name, "").split()]
        if self.name == "snapshot save":
            return [*words, place, "--force", "--timeout", f"{timeout_ms}ms"]
        if self.name == "record":
            return [*words, f"{place}.recording", "--count", "1", "--timeout", f"{timeout_ms}ms"]
        formats = _FEWER_FORMATS.get(self.name, _FORMATS)
        output = ["-o", formats[pick % len(formats)]] if self.takes_output else []
        if self.name == "snapshot show":
            return [*words, place, *output]
        source = ["--snapshot", place] if self.of_snapshot else []
        return [*words, *source, "--timeout", f"{timeout_ms}ms", *output]


def commands() -> tuple[Command, ...]:
    """Returns every read command that asks a cluster, and every one that reads a snapshot."""
    command_lines = []
    for entry in ENTRIES:
        name, options = " ".join(entry.path), options_of(tuple(entry.path))
        if entry.impact != "reads" or name in ELSEWHERE or name in _NEED_STORES:
            continue
        has_output = "--output" in options or "-o" in options
        if "--namesrv" in options:
            command_lines.append(Command(name, False, has_output))
        if "--snapshot" in options or name == "snapshot show":
            command_lines.append(Command(name, True, has_output))
    return tuple(command_lines)


@contextmanager
def talkative() -> Iterator[EmbeddedCluster]:
    """Two brokers as 5.3.3 with a group of two, backlog, keys, delays, timers, half messages and dead letters."""
    with EmbeddedCluster(brokers=2, name_servers=1, version="5.3.3") as cluster, staged(cluster) as stage:
        for client in (ONE, TWO):
            stage.cast.change(client, stacks=_STACKS)
        for name in BROKERS:
            stage.topic(name, "%DLQ%G", 1)
            with Peer(cluster.broker(name).address) as peer:
                for number in range(3):
                    keyed = {"KEYS": "k", "TAGS": "A", "UNIQ_KEY": _KEYED}
                    delay = str(cluster.now_ms() + 600_000)
                    peer.call(send("Pay", properties=keyed), b"x" * number)
                    peer.call(send("Pay", properties={"DELAY": "5"}), b"x")
                    peer.call(send("Pay", properties={"TIMER_DELIVER_MS": delay}), b"x")
                    half = {"TRAN_MSG": "true", "PGROUP": "P", "UNIQ_KEY": _KEYED}
                    peer.call(send("Pay", properties=half, sys_flag=4), b"x")
                    peer.call(send("%DLQ%G", properties={"ORIGIN_MESSAGE_ID": _KEYED}), b"x")
        yield cluster
