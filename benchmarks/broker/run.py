"""The embedded broker under load: `python -m benchmarks.broker.run [--address HOST:PORT] [--profile FILE]`.

Start-up (process start to first accepted send), idle memory, sends of one thread, of sixteen and pipelined, and a
drain; messages per second and, for our own process, CPU per message. The load comes from `load.c`, which costs next to
nothing, so that only the broker's work counts; with `--address` the same load goes to another broker (a real one) with
the topic `BenchmarkTest`. `--scale` measures memory with 100,000 queues and 2,000 idle connections.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.broker.scale import measure_scale
from mqctl.protocol.frame import FrameDecoder, encode
from mqctl.protocol.requests_client import SendMessageV2

HERE = Path(__file__).parent
TOPIC, QUEUES = "BenchmarkTest", 8
_CPU_CLOCK = 2  # of a process, threads that have ended included, as `clock_getcpuclockid` of Linux makes its number


@dataclass
class Server:
    """A broker that is measured; `process` is None for one that runs elsewhere."""

    address: str
    process: subprocess.Popen[str] | None = None

    def cpu_seconds(self) -> float:
        """Returns the CPU time that the process has used."""
        if self.process is None:
            return 0.0
        return time.clock_gettime((~self.process.pid << 3) | _CPU_CLOCK)

    def memory_mib(self) -> float:
        """Returns the resident memory."""
        if self.process is None:
            return 0.0
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def start(*words: str) -> tuple[Server, float]:
    """Starts a broker; returns it with the seconds until its first send was accepted."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "embedded_broker", *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    server = Server(ready["brokers"][0]["address"], process)
    send_one(server.address)
    return server, time.perf_counter() - began


def send_one(address: str) -> None:
    """Sends one message and waits for its answer."""
    import socket

    request = SendMessageV2(
        producer_group="bench", topic="First", default_topic="TBW102", default_topic_queue_nums=4, queue_id=0,
        sys_flag=0, born_timestamp=0, flag=0, properties="WAIT\x01true",
    )  # fmt: skip
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(encode(request.command(opaque=1, body=b"x")))
        decoder = FrameDecoder()
        while not decoder.feed(connection.recv(65536)):
            pass


def stop(server: Server) -> None:
    """Ends a broker that was started here."""
    if server.process is not None:
        server.process.terminate()
        server.process.wait()


def build(directory: Path) -> Path:
    """Compiles the load generator."""
    binary = directory / "load"
    subprocess.run(["cc", "-O2", "-pthread", "-o", str(binary), str(HERE / "load.c")], check=True)
    return binary


def load(binary: Path, server: Server, kind: str, *words: object) -> dict[str, Any]:
    """Runs the load generator once and adds the broker's CPU per message."""
    host, _, port = server.address.rpartition(":")
    before = server.cpu_seconds()
    command = [str(binary), kind, host, port, TOPIC, str(QUEUES), *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    if server.process is not None:
        result["cpu_us"] = (server.cpu_seconds() - before) * 1e6 / result["messages"]
    return result


def report(name: str, rounds: list[dict[str, Any]]) -> None:
    """Prints the medians of several rounds."""
    shown = [f"{name:28}"]
    for key in ("per_second", "p50_us", "p99_us", "cpu_us"):
        if key in rounds[0]:
            shown.append(f"{key} {statistics.median(one[key] for one in rounds):10.1f}")
    print("  ".join(shown))


def measure(binary: Path, server: Server, arguments: argparse.Namespace) -> None:
    """Sends and drains, `rounds` times each in turn."""
    size, count = 1024, arguments.messages
    kinds: dict[str, tuple[object, ...]] = {
        "1 thread, synchronous": (1, count, size, 1, 1),
        "16 threads, synchronous": (16, count * 2, size, 1, 1),
        "1 thread, 64 in flight": (1, count * 2, size, 64, 1),
        "1 thread, batches of 32": (1, count // 8, size, 1, 32),
    }
    load(binary, server, "send", 4, 2_000, size, 1, 1)
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in kinds}
    for _ in range(arguments.rounds):
        for name, words in kinds.items():
            results[name].append(load(binary, server, "send", *words))
    for name, rounds in results.items():
        report(name, rounds)
    report("drain, 32 a pull", [load(binary, server, "drain", 32) for _ in range(arguments.rounds)])


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="measure the broker at this address instead of starting one")
    parser.add_argument("--messages", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", action="store_true", help="memory with 100,000 queues and 2,000 connections instead")
    parser.add_argument("--profile", metavar="FILE", help="record where the broker's time goes (py-spy, flame graph)")
    arguments = parser.parse_args()
    if arguments.scale:
        measure_scale()
        return
    with tempfile.TemporaryDirectory() as directory:
        binary = build(Path(directory))
        if arguments.address:
            measure(binary, Server(arguments.address), arguments)
            return
        starts = []
        for _ in range(arguments.rounds):
            server, seconds = start()
            starts.append(seconds)
            idle = server.memory_mib()
            stop(server)
        print(f"first accepted send after {statistics.median(starts) * 1000:.0f} ms; idle memory {idle:.0f} MiB")
        server, _ = start()
        profiler = None
        if arguments.profile:
            assert server.process is not None
            command = ["py-spy", "record", "--output", arguments.profile, "--pid", str(server.process.pid)]
            profiler = subprocess.Popen(command)
        measure(binary, server, arguments)
        print(f"memory afterwards {server.memory_mib():.0f} MiB")
        stop(server)
        if profiler is not None:
            profiler.wait()


if __name__ == "__main__":
    main()
