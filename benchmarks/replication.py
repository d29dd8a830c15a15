"""What a slave costs and how fast it follows: `python -m benchmarks.replication [--mib 1024] [--rounds 3]`.

A broker without a slave, and a master with one, each a process of its own, with stores on the disk, as 4.9.8 and as
5.3.3. The load of `benchmarks/broker/load.c` goes to them in turn: alone, ASYNC_MASTER and SYNC_MASTER (the same pair,
switched by request 25; 5.x with `inSyncReplicas=2`). Then a slave that was away while so many MiB were stored catches
up, and consumers with the default settings of clients lose their master by `kill -9`. All periods are RocketMQ's own.
Processes share the machine's cores: the ratios within one run are what counts, and CPU beside seconds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.broker.run import QUEUES, TOPIC, Server, build, load
from mqctl.client.admin.broker_changes import put_broker_settings, put_topic
from mqctl.client.admin.broker_queries import runtime_info, topic_configs
from mqctl.client.admin.cluster import Cluster
from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.producer import Producer
from mqctl.model.config import TopicConfig
from mqctl.model.queue import MessageQueue

_BODY_BYTES = 1024
_ASYNC = {"brokerRole": "ASYNC_MASTER"}
_SYNC = {"4.9.8": {"brokerRole": "SYNC_MASTER"}, "5.3.3": {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}}
_LIMIT_S = 600.0
_CONSUMERS, _EVERY_S, _SLOW_S, _CACHED = 10, 3.0, 0.02, 8
_READ_TOPIC, _BACKLOG = "Paid", 12_000
_SILENCE_S = 1.5


@contextmanager
def broker(*words: str) -> Iterator[tuple[Server, str]]:
    """Runs brokers; gives the first one, and its name servers."""
    command = [sys.executable, "-m", "embedded_broker", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield Server(ready["brokers"][0]["address"], process), ready["namesrv"]
    finally:
        process.terminate()
        process.wait()


def until(what: str, holds: Callable[[], bool], *, every_s: float = 0.02) -> None:
    """Waits for what must come. Raises TimeoutError."""
    end = time.monotonic() + _LIMIT_S
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {_LIMIT_S:g} s: {what}")
        time.sleep(every_s)


class Pair:
    """A name server with a broker that has no slave, and a master with a slave on stores below `root`."""

    def __init__(self, version: str, root: Path) -> None:
        self.version, self._root = version, root
        self._open, self._slave_life = ExitStack(), ExitStack()

    def __enter__(self) -> Pair:
        enter, data = self._open.enter_context, str(self._root / "alone")
        self.alone, self.namesrv = enter(broker("--as-version", self.version, "--brokers", "alone", "--data-dir", data))
        self.cluster = enter(Cluster(self.namesrv))
        self.master = enter(self._member("master", "brokerRole=ASYNC_MASTER"))
        self.start_slave()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_slave()
        self._open.close()

    @contextmanager
    def _member(self, directory: str, *settings: str) -> Iterator[Server]:
        words = ["--as-version", self.version, "--name-servers", "0", "--brokers", "broker-a"]
        words += ["--data-dir", str(self._root / directory)]
        for setting in (f"namesrvAddr={self.namesrv}", "slaveReadEnable=true", *settings):
            words += ["--set", setting]
        with broker(*words) as (server, _):
            yield server

    def start_slave(self) -> None:
        """Starts the slave on its store."""
        self.slave = self._slave_life.enter_context(self._member("slave", "brokerRole=SLAVE", "brokerId=1"))

    def stop_slave(self) -> None:
        """Ends the slave."""
        self._slave_life.close()

    def end(self, server: Server) -> int:
        """Returns where a log ends; -1 in the first moments of 4.9, when nothing is told."""
        return int(self.cluster.ask(server.address, runtime_info()).table.get("commitLogMaxOffset", -1))

    def is_equal(self) -> bool:
        """Whether both logs end at the same place."""
        return self.end(self.slave) == self.end(self.master)

    def switch(self, settings: dict[str, str]) -> None:
        """Changes settings of the master, at once."""
        self.cluster.ask(self.master.address, put_broker_settings(settings))


@dataclass
class Rounds:
    """What the rounds of one way to send came to."""

    results: list[dict[str, Any]] = field(default_factory=list)
    slave_cpu_us: list[float] = field(default_factory=list)
    equal_after_ms: list[float] = field(default_factory=list)

    def median(self, key: str) -> float:
        """Returns the median of one figure of the load generator."""
        return float(statistics.median(one[key] for one in self.results))


def measure_sends(pair: Pair, binary: Path, messages: int, rounds: int) -> None:
    """Sends alone, ASYNC and SYNC in turn, and prints medians and the ratio to the broker without a slave."""
    kinds = {"1 producer": (1, messages, _BODY_BYTES, 1, 1), "16 producers": (16, messages, _BODY_BYTES, 1, 1)}
    roles = {"no slave": None, "ASYNC": _ASYNC, "SYNC": _SYNC[pair.version]}
    for server in (pair.alone, pair.master):
        load(binary, server, "send", 4, 2_000, _BODY_BYTES, 1, 1)
    until("the slave has everything", pair.is_equal)
    measured_rounds = {(kind, role): Rounds() for kind in kinds for role in roles}
    for _ in range(rounds):
        for (kind, role), taken in measured_rounds.items():
            settings = roles[role]
            if settings is not None:
                pair.switch(settings)
            before = pair.slave.cpu_seconds()
            result = load(binary, pair.alone if settings is None else pair.master, "send", *kinds[kind])
            ended = time.monotonic()
            taken.results.append(result)
            if settings is not None:
                until("the slave has everything", pair.is_equal, every_s=0.002)
                taken.equal_after_ms.append((time.monotonic() - ended) * 1000)
                taken.slave_cpu_us.append((pair.slave.cpu_seconds() - before) * 1e6 / result["messages"])
    pair.switch(_ASYNC)
    print("way to send            sends/s  of no slave   p50 us   p99 us  CPU us  of no slave  slave's  equal after")
    for (kind, role), taken in measured_rounds.items():
        alone, (rate, cpu) = measured_rounds[kind, "no slave"], (taken.median("per_second"), taken.median("cpu_us"))
        line = f"{kind + ', ' + role:22} {rate:8,.0f} {rate / alone.median('per_second'):12.2f}"
        line += f" {taken.median('p50_us'):8,.0f} {taken.median('p99_us'):8,.0f} {cpu:7.0f}"
        line += f" {cpu / alone.median('cpu_us'):12.2f}"
        if taken.slave_cpu_us:
            line += f" {statistics.median(taken.slave_cpu_us):8.0f} {statistics.median(taken.equal_after_ms):9.0f} ms"
        print(line, flush=True)


def measure_catch_up(pair: Pair, binary: Path, mib: int) -> None:
    """Stores so many MiB while the slave is away, and prints how long it takes to get them."""
    until("the slave has everything", pair.is_equal)
    pair.stop_slave()
    start = pair.end(pair.master)
    while (written := pair.end(pair.master) - start) < mib << 20:
        batches = min(20_000, 1 + ((mib << 20) - written) // (32 * _BODY_BYTES))
        load(binary, pair.master, "send", 1, batches, _BODY_BYTES, 4, 32)
    end = pair.end(pair.master)
    cpu_s = pair.master.cpu_seconds()
    began = time.monotonic()
    pair.start_slave()
    until("the first bytes come", lambda: pair.end(pair.slave) > start)
    first = time.monotonic()
    until("the slave has everything", lambda: pair.end(pair.slave) == end)
    took_s, moved = time.monotonic() - first, (end - start) / (1 << 20)
    print(f"catch-up of {moved:,.0f} MiB: {took_s:.1f} s ({moved / took_s:,.0f} MiB/s), the first bytes", end=" ")
    print(f"{first - began:.1f} s after the slave was started; CPU: {pair.slave.cpu_seconds():.1f} s of the", end=" ")
    print(f"slave, queues and index included, {pair.master.cpu_seconds() - cpu_s:.1f} s of the master", flush=True)


class Reader:
    """A consumer of its own group; notes when it got something."""

    def __init__(self, pair: Pair, number: int) -> None:
        self.times: list[float] = []
        settings = ConsumerSettings(
            consume_from=ConsumeFrom.FIRST_OFFSET, threads=1, pull_batch_size=_CACHED, pull_threshold_for_queue=_CACHED
        )
        client = ClientSettings(name_servers=pair.namesrv, instance_name=f"reader-{number}")
        self._consumer = PushConsumer(f"Readers{number}", client, self._listen, settings)
        self._consumer.subscribe(_READ_TOPIC, "*")
        self._consumer.start()

    def _listen(self, messages: Sequence[ReceivedMessage], context: ConsumeContext) -> Consumed:
        self.times.append(time.monotonic())
        time.sleep(_SLOW_S)
        return Consumed.SUCCESS

    def reads_again_at(self, killed: float) -> float | None:
        """Returns when the first message came after the pause that followed; None while there is none."""
        times = [killed, *(at for at in self.times if at > killed)]
        return next((later for one, later in itertools.pairwise(times) if later - one > _SILENCE_S), None)

    def stop(self) -> None:
        """Ends it."""
        self._consumer.shutdown()


def measure_failover(pair: Pair) -> None:
    """Kills the master under consumers with a backlog, and prints when they go on at the slave."""
    queues = TopicConfig(name=_READ_TOPIC, read_queue_count=2, write_queue_count=2)
    pair.cluster.ask(pair.master.address, put_topic(queues))
    with Producer("Planter", ClientSettings(name_servers=pair.namesrv)) as producer:
        for queue_id in range(2):
            queue = MessageQueue(_READ_TOPIC, "broker-a", queue_id)
            for _ in range(_BACKLOG // 64):
                producer.send_batch([OutgoingMessage(topic=_READ_TOPIC, body=b"x") for _ in range(32)], queue=queue)
    until("the slave has everything", pair.is_equal)
    until("the slave knows the topic", lambda: _READ_TOPIC in pair.cluster.ask(pair.slave.address, topic_configs()))
    readers = []
    for number in range(_CONSUMERS):
        readers.append(Reader(pair, number))
        time.sleep(_EVERY_S)  # their periods of 30 s begin at different moments
    until("everybody reads", lambda: all(reader.times for reader in readers))
    process = pair.master.process
    assert process is not None
    process.kill()
    killed = time.monotonic()
    until("everybody reads again", lambda: all(reader.reads_again_at(killed) for reader in readers))
    waits = sorted((reader.reads_again_at(killed) or killed) - killed for reader in readers)
    for reader in readers:
        reader.stop()
    print(
        f"{_CONSUMERS} consumers read from the slave {waits[0]:.1f} to {waits[-1]:.1f} s after kill -9 of the", end=" "
    )
    print(f"master, median {statistics.median(waits):.1f} s", flush=True)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--versions", default="4.9.8,5.3.3")
    wanted = parser.parse_args()
    for version in wanted.versions.split(","):
        print(f"-- {version}; {_BODY_BYTES} bytes a message, {QUEUES} queues of {TOPIC}", flush=True)
        with tempfile.TemporaryDirectory(prefix="mqctl-replication-") as name:
            binary = build(Path(name))
            with Pair(version, Path(name)) as pair:
                measure_sends(pair, binary, wanted.messages, wanted.rounds)
                measure_catch_up(pair, binary, wanted.mib)
                measure_failover(pair)


if __name__ == "__main__":
    main()
