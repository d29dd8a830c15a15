"""Popping beside pulling on one embedded broker: `python -m benchmarks.broker.pops [--messages N] [--rounds N]`.

Batches as clients take them: pulls of 32, each of which commits what came before and goes by the subscription of a
heartbeat, as those of Java's push consumer do; pops of 32, each of which is sent with the acknowledgements of the one
before: all at once (200151, as proxies of 5.3.3 may, which do not unless `enableBatchAck` is set) or one by one
(200051, as proxies and Java's client do); and pops and acknowledgements (200151) each by itself. What one request for
each message costs at least, whatever it asks, show pulls of one message each, and pulls with as many questions for an
offset: no way of acknowledging one by one can be faster than these.

Messages per second of the broker's own CPU time, by rounds in turn, the ratio to pulling, and the requests that a
message took; of a broker as it comes, and of one that spares checkpoints which are acknowledged within seconds
(`enablePopBufferMerge`). What a way leaves to be done later (records that are hung into the timer wheel once a second,
keys on their way into the index, flushes) is waited for and counts to it, less what an idle broker takes meanwhile;
without that it would count to the way that comes next.

`--held N` pops N messages instead and keeps them: what an invisible message costs in memory, and what a pop costs
before and after. `--handling` leaves sockets out: the broker is in this process, and frames are read, handled and
answered in turn; what is put off is not in it.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import TYPE_CHECKING, cast

from benchmarks.broker.run import Server, start, stop
from embedded_broker import EmbeddedCluster
from embedded_broker.remoting.handler_table import BROKER, Call, handlers_of
from mqctl.client.message.popped import PoppedMessage, read_popped
from mqctl.protocol.bodies_client import ConsumerData, HeartbeatData, SubscriptionData
from mqctl.protocol.bodies_pop import BatchAck, BatchAcks, bit_set
from mqctl.protocol.frame import FrameDecoder, RemotingCommand, decode, encode
from mqctl.protocol.header import Request
from mqctl.protocol.requests_client import GetMaxOffset, Heartbeat, PullMessage, SendMessageV2
from mqctl.protocol.requests_pop import AckMessage, BatchAckMessage, PopMessage

QUEUES, MOST, BODY, TOPIC = 4, 32, b"x" * 1024, "Bench"
COMMITS = 1
"""Flag of a pull that brings an offset along."""
HEARTBEAT_SECONDS = 30
HANDLED = 600
SETTLING_SECONDS = 2.5
"""In which all is done that was put off: the wheel turns once a second, keys and flushes wait for half of one."""
if TYPE_CHECKING:
    from embedded_broker.broker import Broker
    from embedded_broker.remoting.server import ServerConnection

BUFFERED = ("--set", "enablePopBufferMerge=true")


class Talk:
    """One connection; requests of a batch are sent together, and a heartbeat every half minute, as clients do."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._decoder = FrameDecoder()
        self._opaques = count(1)
        self.request_count = 0
        self._heartbeat = b""
        self._heartbeat_due = 0.0

    def subscribe(self, *groups: str) -> None:
        """Registers a consumer of each group, which stays as long as the connection does."""
        subscriptions = (SubscriptionData(topic=TOPIC),)
        data = [ConsumerData(group_name=group, subscription_data_set=subscriptions) for group in groups]
        self._heartbeat = HeartbeatData(client_id="bench", consumer_data_set=tuple(data)).to_bytes()
        self._heartbeat_due = time.monotonic() + HEARTBEAT_SECONDS
        self.ask((Heartbeat(), self._heartbeat))

    def ask(self, *questions: tuple[Request, bytes]) -> list[RemotingCommand]:
        """Asks all at once and returns the answers in order."""
        if self._heartbeat and time.monotonic() > self._heartbeat_due:
            self._heartbeat_due = time.monotonic() + HEARTBEAT_SECONDS
            self.ask((Heartbeat(), self._heartbeat))
        frames = [encode(request.command(opaque=next(self._opaques), body=body)) for request, body in questions]
        self._socket.sendall(b"".join(frames))
        self.request_count += len(frames)
        replies: list[RemotingCommand] = []
        while len(replies) < len(questions):
            data = self._socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the broker closed the connection")
            replies += self._decoder.feed(data)
        return sorted(replies, key=lambda answer: answer.opaque)


def fill(talk: Talk, messages: int) -> None:
    """Sends messages of 1 KB to all queues in turn."""
    for first in range(0, messages, 128):
        sends = [
            SendMessageV2(
                producer_group="bench", topic=TOPIC, default_topic="TBW102", default_topic_queue_nums=QUEUES,
                queue_id=number % QUEUES, sys_flag=0, born_timestamp=0, flag=0, properties="WAIT\x01true",
            )
            for number in range(first, min(first + 128, messages))
        ]  # fmt: skip
        talk.ask(*[(send, BODY) for send in sends])


def pull_request(group: str, queue_id: int, offset: int, most: int) -> PullMessage:
    return PullMessage(
        consumer_group=group, topic=TOPIC, queue_id=queue_id, queue_offset=offset, max_msg_nums=most,
        sys_flag=COMMITS, commit_offset=offset, suspend_timeout_millis=0, subscription="*", sub_version=0,
        expression_type="TAG",
    )  # fmt: skip


def pop_request(group: str) -> PopMessage:
    return PopMessage(
        consumer_group=group, topic=TOPIC, queue_id=-1, max_msg_nums=MOST, invisible_time=600_000, exp_type="TAG",
        exp="*",
    )  # fmt: skip


def pull(talk: Talk, group: str, *, most: int = MOST, asks_each: bool = False) -> int:
    """Pulls every queue to its end, and returns how many messages came.

    Args:
        most: how many messages a pull brings.
        asks_each: with each pull goes one small question for each message of the one before.
    """
    total = 0
    for queue_id in range(QUEUES):
        offset = 0
        more: list[tuple[Request, bytes]] = []
        while True:
            answer = talk.ask(*more, (pull_request(group, queue_id, offset, most), b""))[-1]
            if answer.code:
                break
            following = int(answer.ext("nextBeginOffset") or 0)
            more = [(GetMaxOffset(topic=TOPIC, queue_id=queue_id), b"")] * (following - offset if asks_each else 0)
            total, offset = total + following - offset, following
    return total


def popped(talk: Talk, group: str, *before: tuple[Request, bytes]) -> Sequence[PoppedMessage]:
    """Pops once; `before` goes out with it."""
    answer = talk.ask(*before, (pop_request(group), b""))[-1]
    return () if answer.code else read_popped(answer, group, TOPIC, "broker-a").messages


Acks = Callable[[str, Sequence[PoppedMessage]], list[tuple[Request, bytes]]]


def pop(talk: Talk, group: str, acks_of: Acks) -> int:
    """Pops and acknowledges until nothing is left."""
    total = 0
    acks: list[tuple[Request, bytes]] = []
    while messages := popped(talk, group, *acks):
        acks = acks_of(group, messages)
        total += len(messages)
    return total


def together(group: str, messages: Sequence[PoppedMessage]) -> list[tuple[Request, bytes]]:
    """Acknowledges the messages of a pop with one request."""
    by_queue: dict[int, list[PoppedMessage]] = {}
    for message in messages:
        by_queue.setdefault(message.queue.queue_id, []).append(message)
    acks = []
    for queue_id, own in by_queue.items():
        first = own[0].receipt
        acks.append(
            BatchAck(
                consumer_group=group, topic=TOPIC, retry="0", start_offset=first.start_offset, queue_id=queue_id,
                revive_queue=first.revive_queue, pop_ms=first.pop_ms, invisible_ms=first.invisible_ms,
                bits=bit_set(message.queue_offset - first.start_offset for message in own),
            )
        )  # fmt: skip
    return [(BatchAckMessage(), BatchAcks(broker_name="broker-a", acks=tuple(acks)).to_bytes())]


def one_by_one(group: str, messages: Sequence[PoppedMessage]) -> list[tuple[Request, bytes]]:
    """Acknowledges each message."""
    requests = [
        AckMessage(
            consumer_group=group, topic=TOPIC, queue_id=message.queue.queue_id, extra_info=str(message.receipt),
            offset=message.queue_offset,
        )
        for message in messages
    ]  # fmt: skip
    return [(request, b"") for request in requests]


TAKEN: dict[str, list[Sequence[PoppedMessage]]] = {}
ACKNOWLEDGING = "acknowledge together what was popped"


def take(talk: Talk, group: str) -> None:
    """Pops everything, for an acknowledgement that is measured by itself."""
    taken: list[Sequence[PoppedMessage]] = []
    while messages := popped(talk, group):
        taken.append(messages)
    TAKEN[group] = taken


def acknowledge(talk: Talk, group: str) -> int:
    """Acknowledges what each pop gave with one request, waiting for its answer."""
    taken = TAKEN.pop(group)
    for messages in taken:
        talk.ask(*together(group, messages))
    return sum(map(len, taken))


WAYS: dict[str, Callable[[Talk, str], int]] = {
    "pull": pull,
    "pull, one message a request": lambda talk, group: pull(talk, group, most=1),
    "pull, one question a message": lambda talk, group: pull(talk, group, asks_each=True),
    "pop": lambda talk, group: pop(talk, group, lambda *_: []),
    ACKNOWLEDGING: acknowledge,
    "pop, acknowledged together": lambda talk, group: pop(talk, group, together),
    "pop, acknowledged one by one": lambda talk, group: pop(talk, group, one_by_one),
}


def settled(server: Server) -> float:
    """Waits until the broker has done what it put off, and returns the CPU seconds it has used by then."""
    time.sleep(SETTLING_SECONDS)
    return server.cpu_seconds()


def compare(server: Server, messages: int, rounds: int) -> None:
    """Prints the rates of every way and their ratio to pulling, by pairs of one round."""
    talk = Talk(server.address)
    fill(talk, messages)
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    requests: dict[str, float] = {}
    for number in range(rounds + 1):
        groups = [f"group-{number}-{index}" for index in range(len(WAYS))]
        talk.subscribe(*groups)
        cpu = settled(server)
        idle = settled(server) - cpu
        for group, (name, way) in zip(groups, WAYS.items(), strict=True):
            cpu = server.cpu_seconds()
            if name == ACKNOWLEDGING:
                take(talk, group)
                cpu = settled(server)
            requests_before = talk.request_count
            total = way(talk, group)
            assert total == messages, f"{name}: {total}"
            requests[name] = (talk.request_count - requests_before) / messages
            used = settled(server) - cpu - idle
            if number:  # the first round warms up
                rates[name].append(messages / used)
    for name, measured in rates.items():
        ratio = statistics.median(own / pulled for own, pulled in zip(measured, rates["pull"], strict=True))
        rate = statistics.median(measured)
        print(
            f"{name:37} {rate:9,.0f} messages per second of the broker's CPU   {ratio:.2f} of pulling"
            f"   {requests[name]:.2f} requests a message"
        )


class Sink:
    """The connection of requests that are handed over: it encodes the answers and keeps them."""

    peer, closed, active_ms = "127.0.0.1:1", False, 0

    def __init__(self) -> None:
        self.answers: list[RemotingCommand] = []

    def send(self, answer: RemotingCommand) -> None:
        encode(answer)
        self.answers.append(answer)


all_handlers = lru_cache(partial(handlers_of, BROKER))


def handled(broker: Broker, request: Request, body: bytes = b"") -> tuple[RemotingCommand, float]:
    """Has a broker handle a request; returns the answer, and the microseconds of CPU from frame to frame."""
    sink, frame, handlers = Sink(), encode(request.command(opaque=1, body=body)), all_handlers()
    began_ns = time.thread_time_ns()
    command = decode(frame)
    handler = handlers[command.code]
    call = Call(command, cast("ServerConnection", sink), 0, command.version, lambda _call, _go_on: None)
    answer = handler.function(broker, handler.request.from_ext(command.ext_fields), call)
    if answer is not None:
        sink.send(answer)
    taken_us = (time.thread_time_ns() - began_ns) / 1000
    return sink.answers[0], taken_us


def handle(broker: Broker) -> None:
    """Prints what handling a pull, a pop and its acknowledgement, of 32 messages each, costs: first quartiles."""
    taken: dict[str, list[float]] = {"pull": [], "pop": [], "acknowledge": []}
    for number in range(HANDLED):
        _, taken_us = handled(broker, pull_request("pulls", number % QUEUES, number // QUEUES * MOST, MOST))
        taken["pull"].append(taken_us)
        answer, taken_us = handled(broker, pop_request("pops"))
        taken["pop"].append(taken_us)
        ((request, body),) = together("pops", read_popped(answer, "pops", TOPIC, "broker-a").messages)
        taken["acknowledge"].append(handled(broker, request, body)[1])
    pull_us, pop_us, ack_us = [statistics.quantiles(own)[0] for own in taken.values()]
    print(f"us of CPU for 32 messages: pull {pull_us:.0f}, pop {pop_us:.0f}, acknowledge {ack_us:.0f};")
    print(f"pop and acknowledge: {pull_us / (pop_us + ack_us):.2f} of pulling")


def hold(server: Server, messages: int) -> None:
    """Prints what invisible messages cost."""
    talk = Talk(server.address)
    fill(talk, messages + 2 * MOST)
    popped(talk, "held")
    empty_mib = server.memory_mib()
    cpu, total = server.cpu_seconds(), 0
    halves = []
    while total < messages:
        total += len(popped(talk, "held"))
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
    parser.add_argument("--handling", action="store_true")
    arguments = parser.parse_args()
    if arguments.handling:
        for merge in ("false", "true"):
            own = {"enablePopBufferMerge": merge}
            with (
                tempfile.TemporaryDirectory() as directory,
                EmbeddedCluster(version="5.3.3", data_dir=directory, settings=own) as cluster,
            ):
                print(f"enablePopBufferMerge={merge}")
                talk = Talk(cluster.broker().address)
                fill(talk, HANDLED * MOST)
                talk.subscribe("pulls", "pops")
                cluster.broker().on_loop(handle)
        return
    for words in ((), BUFFERED):
        with tempfile.TemporaryDirectory() as directory:
            server, _ = start("--as-version", "5.3.3", "--data-dir", directory, *words)
            print(" ".join(words) or "as it comes")
            try:
                if arguments.held:
                    hold(server, arguments.held)
                else:
                    compare(server, arguments.messages, arguments.rounds)
            finally:
                stop(server)


if __name__ == "__main__":
    main()
