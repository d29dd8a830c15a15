"""Popping beside pulling on one embedded broker: `python -m benchmarks.broker.pops [--messages N] [--rounds N]`.

Batches as clients take them: pulls of 32, each of which commits what came before; pops of 32, acknowledged at once
(200151, as proxies may) or one by one (200051, as Java's client does). Messages per second of the broker's own CPU
time, by rounds in turn, and the ratio to pulling. `--held N` pops N messages instead and keeps them: what an invisible
message costs in memory, and what a pop costs before and after.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import count

from benchmarks.broker.run import Server, start, stop
from mqctl.client.message.popped import PoppedMessage, read_popped
from mqctl.protocol.bodies_pop import BatchAck, BatchAcks, bit_set
from mqctl.protocol.frame import FrameDecoder, RemotingCommand, encode
from mqctl.protocol.header import Request
from mqctl.protocol.requests_client import PullMessage, SendMessageV2
from mqctl.protocol.requests_pop import AckMessage, BatchAckMessage, PopMessage

QUEUES, MOST, BODY = 4, 32, b"x" * 1024


class Talk:
    """One connection; requests of a batch are sent together."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._decoder = FrameDecoder()
        self._opaques = count(1)

    def ask(self, *questions: tuple[Request, bytes]) -> list[RemotingCommand]:
        """Asks all at once and returns the answers in order."""
        frames = [encode(request.command(opaque=next(self._opaques), body=body)) for request, body in questions]
        self._socket.sendall(b"".join(frames))
        found: list[RemotingCommand] = []
        while len(found) < len(questions):
            found += self._decoder.feed(self._socket.recv(1 << 20))
        return sorted(found, key=lambda answer: answer.opaque)


def fill(talk: Talk, topic: str, messages: int) -> None:
    """Sends messages of 1 KB to all queues in turn."""
    for first in range(0, messages, 128):
        sends = [
            SendMessageV2(
                producer_group="bench", topic=topic, default_topic="TBW102", default_topic_queue_nums=QUEUES,
                queue_id=number % QUEUES, sys_flag=0, born_timestamp=0, flag=0, properties="WAIT\x01true",
            )
            for number in range(first, min(first + 128, messages))
        ]  # fmt: skip
        talk.ask(*[(send, BODY) for send in sends])


def pull(talk: Talk, topic: str) -> int:
    """Pulls every queue to its end, and returns how many messages came."""
    total = 0
    for queue_id in range(QUEUES):
        offset = 0
        while True:
            request = PullMessage(
                consumer_group="pull", topic=topic, queue_id=queue_id, queue_offset=offset, max_msg_nums=MOST,
                sys_flag=1 | 4, commit_offset=offset, suspend_timeout_millis=0, subscription="*", sub_version=0,
                expression_type="TAG",
            )  # fmt: skip
            (answer,) = talk.ask((request, b""))
            if answer.code:
                break
            following = int(answer.ext("nextBeginOffset") or 0)
            total, offset = total + following - offset, following
    return total


def popped(talk: Talk, topic: str) -> Sequence[PoppedMessage]:
    """Pops once."""
    request = PopMessage(
        consumer_group="pop", topic=topic, queue_id=-1, max_msg_nums=MOST, invisible_time=600_000, exp_type="TAG",
        exp="*",
    )  # fmt: skip
    (answer,) = talk.ask((request, b""))
    return () if answer.code else read_popped(answer, "pop", topic, "broker-a").messages


def pop(talk: Talk, topic: str, acknowledge: Callable[[Talk, str, Sequence[PoppedMessage]], None]) -> int:
    """Pops and acknowledges until nothing is left."""
    total = 0
    while messages := popped(talk, topic):
        acknowledge(talk, topic, messages)
        total += len(messages)
    return total


def together(talk: Talk, topic: str, messages: Sequence[PoppedMessage]) -> None:
    """Acknowledges the messages of a pop with one request."""
    by_queue: dict[int, list[PoppedMessage]] = {}
    for message in messages:
        by_queue.setdefault(message.queue.queue_id, []).append(message)
    acks = []
    for queue_id, own in by_queue.items():
        first = own[0].receipt
        acks.append(
            BatchAck(
                consumer_group="pop", topic=topic, retry="0", start_offset=first.start_offset, queue_id=queue_id,
                revive_queue=first.revive_queue, pop_ms=first.pop_ms, invisible_ms=first.invisible_ms,
                bits=bit_set(message.queue_offset - first.start_offset for message in own),
            )
        )  # fmt: skip
    talk.ask((BatchAckMessage(), BatchAcks(broker_name="broker-a", acks=tuple(acks)).to_bytes()))


def one_by_one(talk: Talk, topic: str, messages: Sequence[PoppedMessage]) -> None:
    """Acknowledges each message."""
    requests = [
        AckMessage(
            consumer_group="pop", topic=topic, queue_id=message.queue.queue_id, extra_info=str(message.receipt),
            offset=message.queue_offset,
        )
        for message in messages
    ]  # fmt: skip
    talk.ask(*[(request, b"") for request in requests])


WAYS: dict[str, Callable[[Talk, str], int]] = {
    "pull": pull,
    "pop, acknowledged together": lambda talk, topic: pop(talk, topic, together),
    "pop, acknowledged one by one": lambda talk, topic: pop(talk, topic, one_by_one),
}


def compare(server: Server, messages: int, rounds: int) -> None:
    """Prints the rates of every way and their ratio to pulling."""
    talk = Talk(server.address)
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(rounds):
        for index, (name, way) in enumerate(WAYS.items()):
            topic = f"Bench{number}x{index}"
            fill(talk, topic, messages)
            cpu, began = server.cpu_seconds(), time.perf_counter()
            total = way(talk, topic)
            assert total == messages, f"{name}: {total}"
            used, took = server.cpu_seconds() - cpu, time.perf_counter() - began
            rates[name].append(messages / used)
            print(f"  {name:32} {messages / took:9,.0f} messages/s of the clock", flush=True)
    pulled = statistics.median(rates["pull"])
    for name, found in rates.items():
        rate = statistics.median(found)
        print(f"{name:34} {rate:9,.0f} messages per second of the broker's CPU   {rate / pulled:.2f} of pulling")


def hold(server: Server, messages: int) -> None:
    """Prints what invisible messages cost."""
    talk = Talk(server.address)
    fill(talk, "Held", messages + 2 * MOST)
    popped(talk, "Held")
    empty_mib = server.memory_mib()
    cpu, total = server.cpu_seconds(), 0
    halves = []
    while total < messages:
        total += len(popped(talk, "Held"))
        if total >= messages // 2 and not halves:
            halves.append(server.cpu_seconds() - cpu)
    halves.append(server.cpu_seconds() - cpu - halves[0])
    used = server.memory_mib() - empty_mib
    print(f"{total:,} invisible messages: {used:.1f} MiB more; popping the first half of them took {halves[0]:.2f} s")
    print(f"of CPU, the second half {halves[1]:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--held", type=int, metavar="N", default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server, _ = start("--as-version", "5.3.3", "--data-dir", directory)
        try:
            if arguments.held:
                hold(server, arguments.held)
            else:
                compare(server, arguments.messages, arguments.rounds)
        finally:
            stop(server)


if __name__ == "__main__":
    main()
