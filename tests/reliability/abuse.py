"""What a stranger can do to others of a broker: `python -m tests.reliability.abuse [--attack NAME] [--save]`.

Each attack is a few small requests, or a few connections, that once held the broker's loop for seconds or took all its
memory. A healthy client sends a message every few milliseconds meanwhile. For each attack the 99th percentile and the
longest of its answers are printed, and the most memory that the broker's process held; beside it the percentile of the
same broker and client just before the attack, which is that of the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psutil

from mqctl.protocol.bodies_client import HeartbeatData, ProducerData
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.frame import encode
from mqctl.protocol.requests_admin import CreateTopic, GetConsumeStats
from mqctl.protocol.requests_client import Heartbeat, UpdateConsumerOffset
from mqctl.protocol.requests_namesrv import PutKVConfig
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer
from tests.reliability.results import add_save, write

_PAUSE_SECONDS = 0.005
_MIB = 1024 * 1024


@dataclass
class Target:
    """A broker process under attack.

    Attributes:
        scale: 1 for the whole attack, less for a part of it.
    """

    namesrv: str
    broker: str
    process: psutil.Process
    scale: float = 1.0

    def many(self, count: int) -> int:
        """Returns a part of `count`."""
        return max(1, int(count * self.scale))


@dataclass
class Outcome:
    """What the healthy client and the process showed; times in milliseconds."""

    answers: list[float]
    failed: int
    memory_bytes: int

    def at(self, share: float) -> float:
        """Returns the answer time below which `share` of all lie."""
        ordered = sorted(self.answers)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@contextlib.contextmanager
def running(scale: float = 1.0) -> Iterator[Target]:
    """A broker in a process of its own."""
    words = [sys.executable, "-m", "embedded_broker", "--log-level", "ERROR"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        try:
            yield Target(ready["namesrv"], ready["brokers"][0]["address"], psutil.Process(process.pid), scale)
        finally:
            process.kill()


def create_topic(peer: Peer, name: str, queues: int) -> None:
    """Creates a topic."""
    request = CreateTopic(
        topic=name, default_topic="TBW102", read_queue_nums=queues, write_queue_nums=queues, perm=6,
        topic_filter_type="SINGLE_TAG",
    )  # fmt: skip
    assert peer.call(request).code == 0


def quiet(_target: Target) -> None:
    """Nothing: the figures of the machine."""
    time.sleep(1)


def queues_without_end(target: Target) -> None:
    """Progress of a group on 20 topics of 65,536 queues, then on one of them, three times each."""
    with Peer(target.broker) as peer:
        for number in range(20):
            create_topic(peer, f"Wide{number}", target.many(65_536))
            peer.call(UpdateConsumerOffset(consumer_group="G", topic=f"Wide{number}", queue_id=0, commit_offset=1))
        for _ in range(3):
            peer.call(GetConsumeStats(consumer_group="G", topic=""))
            peer.call(GetConsumeStats(consumer_group="G", topic="Wide0"))


def large_values(target: Target) -> None:
    """Thirty values of 8 MB for the name server, each key another, and thirty of what it takes in one frame."""
    for size in (8_000_000, 1_000_000):
        for number in range(30):
            request = PutKVConfig(namespace="N", key=f"K{number}", value="x" * target.many(size))
            with Peer(target.namesrv) as peer, contextlib.suppress(OSError):
                peer.call(request)


def held_pulls(target: Target) -> None:
    """80,000 pulls that wait on one queue, and one message."""
    with Peer(target.broker) as peer, Peer(target.broker) as sender:
        create_topic(peer, "Crowded", 1)
        request = pull("Crowded", 0, wait_ms=60_000)
        threading.Thread(target=_swallow, args=(peer.socket,), daemon=True).start()
        for _ in range(80):
            frames = [encode(request.command(opaque=peer.next_opaque())) for _ in range(target.many(1_000))]
            peer.socket.sendall(b"".join(frames))
        for _ in range(3):
            sender.call(send("Crowded"), b"x")
            time.sleep(0.5)


def _swallow(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while connection.recv(1 << 20):
            pass


def many_keys(target: Target) -> None:
    """A hundred messages of 5,000 keys, sent at once."""
    keys = " ".join(f"{number:05d}" for number in range(target.many(5_000)))
    request = send("Keyed", properties={"KEYS": keys})
    with Peer(target.broker) as peer:
        opaques = [peer.next_opaque() for _ in range(100)]
        peer.socket.sendall(b"".join(encode(request.command(opaque=opaque, body=b"x")) for opaque in opaques))
        for opaque in opaques:
            assert peer.answer_to(opaque).code == ResponseCode.SUCCESS


def many_groups(target: Target) -> None:
    """100,000 producer groups from one client, then as many as are taken; 300 connections that come and go."""
    with Peer(target.broker) as peer:
        for count in (target.many(100_000), 900):
            groups = tuple(ProducerData(group_name=f"P{number}") for number in range(count))
            peer.call(Heartbeat(), HeartbeatData(client_id="c@1", producer_data_set=groups).to_bytes())
        others = [Peer(target.broker) for _ in range(target.many(300))]
        body = HeartbeatData(client_id="c@2", producer_data_set=(ProducerData(group_name="P1"),)).to_bytes()
        for other in others:
            other.call(Heartbeat(), body)
        for other in others:
            other.socket.close()


def unfinished_frames(target: Target) -> None:
    """500 connections, each with a tenth of a frame of 16 MB."""
    start = (16 * _MIB - 4).to_bytes(4, "big")
    host, _, port = target.broker.rpartition(":")
    held: list[socket.socket] = []
    for _ in range(target.many(500)):
        connection = socket.create_connection((host, int(port)))
        held.append(connection)
        with contextlib.suppress(OSError):
            connection.sendall(start + bytes(1_600_000))
    time.sleep(0.5)
    for connection in held:
        connection.close()


ATTACKS: dict[str, Callable[[Target], None]] = {
    attack.__name__: attack
    for attack in (quiet, queues_without_end, large_values, held_pulls, many_keys, many_groups, unfinished_frames)
}


def under(attack: Callable[[Target], None], target: Target, seconds: float) -> Outcome:
    """Runs an attack, again and again for some seconds, beside a healthy client in a process of its own."""
    words = [sys.executable, "-m", "tests.reliability.abuse", "--healthy", target.broker]
    over, most = threading.Event(), [0]
    watching = threading.Thread(target=_watch, args=(target, most, over))
    watching.start()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as healthy:
        assert healthy.stdin is not None
        assert healthy.stdout is not None
        try:
            healthy.stdout.readline()
            end = time.monotonic() + seconds
            attack(target)
            while time.monotonic() < end:
                attack(target)
        finally:
            healthy.stdin.close()
            over.set()
            watching.join()
        figures = json.loads(healthy.stdout.readline())
    return Outcome(figures["answers"], figures["failed"], most[0])


def _watch(target: Target, most: list[int], over: threading.Event) -> None:
    while not over.wait(_PAUSE_SECONDS * 4):
        most[0] = max(most[0], target.process.memory_info().rss)


def healthy(address: str) -> None:
    """Sends until standard input ends, then tells how long each answer took."""
    over = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    request = send("Healthy", properties=dict.fromkeys(("KEYS", "TAGS"), "a"))
    answers, failed = [], 0
    with Peer(address) as peer:
        peer.call(request, b"x")
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        while not over.wait(_PAUSE_SECONDS):
            began = time.monotonic()
            failed += peer.call(request, b"x" * 100).code != ResponseCode.SUCCESS
            answers.append((time.monotonic() - began) * 1_000)
    sys.stdout.write(json.dumps({"answers": answers, "failed": failed}) + "\n")


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attack", choices=list(ATTACKS), help="only this one")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each goes on (default %(default)s)")
    parser.add_argument("--healthy", metavar="ADDRESS", help="be the healthy client of the broker there")
    add_save(parser)
    options = parser.parse_args()
    if options.healthy:
        healthy(options.healthy)
        return
    attacks = {name: attack for name, attack in ATTACKS.items() if options.attack in (None, name)}
    rows = {name: _figures(attack, options.seconds) for name, attack in attacks.items()}
    write("abuse", {"seconds_each": options.seconds, **rows}, save=options.save)


def _figures(attack: Callable[[Target], None], seconds: float) -> dict[str, object]:
    with running() as target:
        before = under(quiet, target, seconds)
        outcome = under(attack, target, seconds)
    return {
        "sends": len(outcome.answers),
        "failed": outcome.failed,
        "p99 just before, ms": round(before.at(0.99), 1),
        "p99, ms": round(outcome.at(0.99), 1),
        "longest, ms": round(outcome.at(1), 1),
        "memory, MiB": outcome.memory_bytes // _MIB,
    }


if __name__ == "__main__":
    main()
