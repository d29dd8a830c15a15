"""Cost of gRPC clients beside remoting ones on the embedded broker: `python -m benchmarks.broker.grpc_clients`.

Prints CPU of the broker's process a message (ratios hold on a loaded machine, messages a second do not), the 99th
percentile of sends while 500 receives wait and while 10,000 streams are open that nobody uses, and memory and idle CPU
with 1,000 telemetry streams.
"""

from __future__ import annotations

import os
import queue
from time import perf_counter, sleep
from typing import NamedTuple

import grpc
import psutil

from embedded_broker.proxy import messages as pb
from mqctl.protocol.requests_admin import CreateTopic
from tests.embedded_broker.grpc_wire import SERVICE, GrpcWire, HalfOpen, headers, messages_of, settings
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_grpc import message, wanted
from tests.embedded_broker.test_pop import ack, pop, popped
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer

_MESSAGES, _BATCH, _POLLS, _STREAMS, _HALF_OPEN, _SENDS = 2_000, 8, 500, 1_000, 10_000, 500
_BODY = b"x" * 1024


class Meter:
    """CPU and memory of the broker's process."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)

    @property
    def cpu_s(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system

    @property
    def mib(self) -> int:
        return self._process.memory_info().rss >> 20


class Cost(NamedTuple):
    """What a message costs the broker's process, and how many came a second."""

    cpu_us: float
    rate: float


class Span:
    """What happens from now on."""

    def __init__(self, meter: Meter) -> None:
        self._meter, self._cpu_s, self._began = meter, meter.cpu_s, perf_counter()

    def of(self, count: int) -> Cost:
        """Returns what each of so many messages cost."""
        return Cost((self._meter.cpu_s - self._cpu_s) / count * 1e6, count / (perf_counter() - self._began))


def make(peer: Peer, topic: str) -> None:
    kind = "+message.type=NORMAL"
    request = CreateTopic(
        topic=topic,
        default_topic="TBW102",
        read_queue_nums=2,
        write_queue_nums=2,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        attributes=kind,
    )
    assert peer.call(request).code == 0


def sends(meter: Meter, peer: Peer, wire: GrpcWire) -> None:
    theirs = Span(meter)
    for number in range(_MESSAGES):
        assert peer.call(send("Bench", properties={"UNIQ_KEY": f"k{number}"}), _BODY).code == 0
    remoting = theirs.of(_MESSAGES)
    own = Span(meter)
    for number in range(_MESSAGES):
        wire.call("SendMessage", pb.SendMessageRequest(messages=[message("Bench", _BODY, number + 1)]), "c")
    compare("send", remoting, own.of(_MESSAGES))


def receives(meter: Meter, peer: Peer, wire: GrpcWire) -> None:
    theirs, count = Span(meter), 0
    while count < _MESSAGES:
        for _, receipt in popped(pop(peer, "Bench", "GPopped", max_msg_nums=_BATCH, invisible_time=60_000)):
            assert ack(peer, receipt, "Bench", "GPopped") == 0
            count += 1
    remoting = theirs.of(count)
    wire.telemetry("c").send(settings("SIMPLE_CONSUMER", "Bench", group="GBench"))
    own, count = Span(meter), 0
    while count < _MESSAGES:
        done = pb.AckMessageRequest()
        done.group.name, done.topic.name = "GBench", "Bench"
        request = wanted("Bench", "GBench")
        request.batch_size = _BATCH
        for message_received in messages_of(wire.receive(request, "c")):
            system = message_received.system_properties
            done.entries.add(message_id=system.message_id, receipt_handle=system.receipt_handle)
        wire.call("AckMessage", done, "c")
        count += len(done.entries)
    compare(f"pop {_BATCH} and acknowledge", remoting, own.of(count))


def compare(what: str, remoting: Cost, ours: Cost) -> None:
    """Prints what a message costs on both ways."""
    print(
        f"{what}: remoting {remoting.cpu_us:.0f} us of CPU ({remoting.rate:,.0f} /s), "
        f"gRPC {ours.cpu_us:.0f} us ({ours.rate:,.0f} /s), ratio {ours.cpu_us / remoting.cpu_us:.1f}"
    )


def under_polls(peer: Peer, wire: GrpcWire) -> None:
    make(peer, "Empty")
    call = wire.channel.unary_stream(
        f"{SERVICE}ReceiveMessage", pb.ReceiveMessageRequest.SerializeToString, pb.ReceiveMessageResponse.FromString
    )
    sleep(1)
    polls = []
    for number in range(_POLLS):
        request = wanted("Empty", f"G{number % 50}")
        request.long_polling_timeout.seconds = 20
        polls.append(call(request, metadata=headers("c"), timeout=60))
    sleep(1)
    print(f"send while {_POLLS} receives wait: {percentiles(wire)}")
    for poll in polls:
        poll.cancel()


def percentiles(wire: GrpcWire) -> str:
    """Sends as a healthy client does, and returns how long that took."""
    taken = []
    for number in range(_SENDS):
        began = perf_counter()
        wire.call("SendMessage", pb.SendMessageRequest(messages=[message("Bench", _BODY, number + 1)]), "c")
        taken.append(perf_counter() - began)
    taken.sort()
    p50, p99 = taken[_SENDS // 2] * 1e3, taken[_SENDS * 99 // 100] * 1e3
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, longest {taken[-1] * 1e3:.0f} ms (load {os.getloadavg()[0]:.0f})"


def half_open(meter: Meter, wire: GrpcWire, address: str) -> None:
    before = meter.mib
    for method, said in (("Telemetry", b""), ("SendMessage", b"\0\0\0\xff\xff\x0a")):
        with HalfOpen(address, method, _HALF_OPEN, said=said):
            while_opening = percentiles(wire)
            print(f"send while {_HALF_OPEN} streams of {method} are opened: {while_opening}")
            print(f"send while they are open: {percentiles(wire)}; {meter.mib} MiB (before {before})")
        sleep(2)


def streams(meter: Meter, address: str) -> None:
    before, calls = meter.mib, []
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.insecure_channel(address, options=options) for _ in range(10)]
    for number in range(_STREAMS):
        outgoing: queue.Queue[pb.TelemetryCommand | None] = queue.Queue()
        outgoing.put(settings("PUSH_CONSUMER", "Bench", group=f"GT{number % 20}"))
        stream = channels[number % 10].stream_stream(
            f"{SERVICE}Telemetry", pb.TelemetryCommand.SerializeToString, pb.TelemetryCommand.FromString
        )
        calls.append(stream(iter(outgoing.get, None), metadata=headers(f"t{number}")))
    assert all(next(iter(call)).HasField("settings") for call in calls)
    began = meter.cpu_s
    sleep(5)
    idle = (meter.cpu_s - began) / 5
    print(f"{_STREAMS} telemetry streams: {meter.mib} MiB (before {before}), idle {idle:.1%} of a CPU")
    for channel in channels:
        channel.close()


def main() -> None:
    with process("--grpc", "--memory") as (running, ready):
        meter = Meter(running.pid)
        with Peer(ready["brokers"][0]["address"]) as peer, GrpcWire(ready["grpc"]) as wire:
            make(peer, "Bench")
            sends(meter, peer, wire)
            receives(meter, peer, wire)
            streams(meter, ready["grpc"])
            under_polls(peer, wire)
            half_open(meter, wire, ready["grpc"])
        running.terminate()
        os._exit(0)  # a thousand streams of this process need not be closed one by one


if __name__ == "__main__":
    main()
