"""Our Python client against a broker: `python -m benchmarks.client [--messages N] [--namesrv HOST:PORT] [--profile]`.

Sends (synchronous, sixteen threads, asynchronous, batches of 32) and drains (concurrent, batches of 32, orderly,
key-ordered, lite pull) of 1 KB messages: messages per second, and CPU of this process per message. The broker is the
embedded one in a process of its own, unless `--namesrv` names another; both share the machine's cores. `--profile`
runs the same under py-spy instead and shows which functions hold the interpreter lock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.lite_pull import LitePullConsumer, LitePullSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.packing import ProducerSettings
from mqctl.client.producer.producer import Producer

BODY = b"x" * 1024
KEYS = 64
LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement."""

    name: str
    per_second: float
    cpu_us: float


@contextmanager
def broker(namesrv: str | None) -> Iterator[str]:
    """Gives the address of a name server; starts an embedded cluster unless one is named."""
    if namesrv is not None:
        yield namesrv
        return
    words = [sys.executable, "-m", "embedded_broker", "--memory"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["namesrv"]
    finally:
        process.terminate()
        process.wait()


def measured(name: str, messages: int, work: Callable[[], None]) -> Figure:
    """Runs `work`, which handles so many messages."""
    began, cpu = time.perf_counter(), time.process_time()
    work()
    took, used = time.perf_counter() - began, time.process_time() - cpu
    figure = Figure(name, messages / took, used * 1e6 / messages)
    print(
        f"{figure.name:34} {figure.per_second:10.0f} messages/s   {figure.cpu_us:7.1f} us CPU per message", flush=True
    )
    return figure


def message(number: int) -> OutgoingMessage:
    """Returns one message of 1 KB with a key."""
    return OutgoingMessage(topic="Bench", body=BODY, keys=f"k{number % KEYS}")


def sends(namesrv: str, messages: int) -> None:
    """Measures sending."""
    with Producer("bench", ClientSettings(name_servers=namesrv), ProducerSettings(default_topic_queues=8)) as producer:
        producer.send(message(0))

        def some(number: int) -> None:
            for n in range(number):
                producer.send(message(n))

        measured("send, 1 thread, synchronous", messages, lambda: some(messages))

        def threads() -> None:
            group = [threading.Thread(target=some, args=(messages // 16,)) for _ in range(16)]
            for thread in group:
                thread.start()
            for thread in group:
                thread.join()

        measured("send, 16 threads, synchronous", messages // 16 * 16, threads)
        window = threading.Semaphore(256)

        def asynchronous() -> None:
            for n in range(messages):
                window.acquire()
                producer.send_async(message(n), lambda _, __: window.release())
            for _ in range(256):
                window.acquire()

        measured("send, asynchronous, 256 in flight", messages, asynchronous)

        def batches() -> None:
            for start in range(0, messages, 32):
                producer.send_batch([message(n) for n in range(start, start + 32)])

        measured("send, batches of 32", (messages + 31) // 32 * 32, batches)


class Counting:
    """A listener that counts, and knows when it has heard enough."""

    def __init__(self, wanted: int) -> None:
        self._left = count(wanted, -1)
        self.done = threading.Event()

    def __call__(self, messages: Sequence[ReceivedMessage], _: ConsumeContext) -> Consumed:
        for _message in messages:
            if next(self._left) == 1:
                self.done.set()
        return Consumed.SUCCESS


def drains(namesrv: str, total: int) -> None:
    """Measures consuming everything that was sent."""
    client = ClientSettings(name_servers=namesrv)
    kinds = (
        ("drain, concurrent", ConsumeMode.CONCURRENT, 1),
        ("drain, concurrent, batches of 32", ConsumeMode.CONCURRENT, 32),
        ("drain, orderly", ConsumeMode.ORDERLY, 1),
        ("drain, key-ordered", ConsumeMode.KEY_ORDERED, 1),
    )
    for number, (name, mode, batch) in enumerate(kinds):
        listener = Counting(total)
        settings = ConsumerSettings(consume_from=ConsumeFrom.FIRST_OFFSET, batch_size=batch)
        consumer = PushConsumer(f"bench-{number}", client, listener, settings, mode=mode)
        consumer.subscribe("Bench")

        def drain(consumer: PushConsumer = consumer, listener: Counting = listener) -> None:
            consumer.start()
            assert listener.done.wait(LIMIT_S), "not drained"

        measured(name, total, drain)
        consumer.shutdown()
    lite = LitePullConsumer(
        "bench-lite", client, LitePullSettings(consume_from=ConsumeFrom.FIRST_OFFSET, pull_batch_size=32)
    )
    lite.subscribe("Bench")

    def poll() -> None:
        lite.start()
        left = total
        while left > 0:
            left -= len(lite.poll())

    measured("drain, lite pull", total, poll)
    lite.shutdown()


def profile(arguments: argparse.Namespace) -> None:
    """Runs the measurements again under py-spy and prints which functions hold the interpreter."""
    with tempfile.TemporaryDirectory() as directory:
        raw = Path(directory) / "stacks"
        recorder = [str(Path(sys.executable).with_name("py-spy")), "record", "--gil", "--rate", "250"]
        words = ["--messages", str(arguments.messages)]
        words += ["--namesrv", arguments.namesrv] if arguments.namesrv else []
        command = [*recorder, "--format", "raw", "--output", str(raw), "--", sys.executable, "-m", "benchmarks.client"]
        subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lines = raw.read_text().splitlines()
    for part, mark in (("sending", "sends ("), ("consuming", "")):
        leaves: Counter[str] = Counter()
        within: Counter[str] = Counter()
        for line in lines:
            stack, _, number = line.rpartition(" ")
            frames = [frame.rpartition(":")[0] for frame in stack.split(";")]
            is_sending = any(frame.startswith(("sends", "Producer.")) for frame in frames)
            if is_sending != bool(mark):
                continue
            leaves[frames[-1]] += int(number)
            for frame in {frame for frame in frames if "mqctl/" in frame}:
                within[frame] += int(number)
        total = sum(leaves.values()) or 1
        for title, counter in (("in the function itself", leaves), ("in it and below", within)):
            print(f"\n{part}, {title} (share of {total} samples that held the interpreter lock):")
            for where, number in counter.most_common(14):
                print(f"  {number / total:6.1%}  {where}")


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--namesrv", help="an existing cluster instead of an embedded one")
    parser.add_argument(
        "--profile",
        action="store_true",
        help="where the time goes (py-spy)",
    )
    arguments = parser.parse_args()
    if arguments.profile:
        profile(arguments)
        return
    with broker(arguments.namesrv) as namesrv:
        total = 1 + arguments.messages * 2 + arguments.messages // 16 * 16 + (arguments.messages + 31) // 32 * 32
        sends(namesrv, arguments.messages)
        drains(namesrv, total)


if __name__ == "__main__":
    main()
