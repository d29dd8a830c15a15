"""What `group lag --advise` predicts of one thread per key, beside what members then do, and the price.

`python -m benchmarks.key_order [--each-ms 10] [--threads 10] [--messages 2000]`

For each spread of keys two orderly members, processes of their own, consume a backlog while the advice is asked for,
and two key-ordered ones consume the same backlog once more. Rates are those of the whole backlog, which its slowest
queue or key ends: each process writes a line for every message that its listener finished. The price is measured with
one key that is stuck: what passes it, what the process grows by, and what is delivered again after a kill -9.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import psutil

from mqctl.client.consumer.consumer_settings import ConsumeFrom, ConsumeMode, ConsumerSettings
from mqctl.client.consumer.push_consumer import PushConsumer
from mqctl.client.instance import ClientSettings
from mqctl.client.message.outgoing import OutgoingMessage
from mqctl.client.message.received import ConsumeContext, Consumed, ReceivedMessage
from mqctl.client.producer.packing import ProducerSettings
from mqctl.client.producer.producer import Producer
from mqctl.client.producer.selectors import by_key

QUEUES = 4
STUCK = "stuck"
LIMIT_S = 120
NEVER_S = 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What members do: so many processes, with so many threads each, and so long for each message."""

    members: int = 2
    threads: int = 10
    each_ms: int = 10
    persist_ms: int = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Messages a second, as the advice says and as the members did; `gain` is key-ordered over orderly."""

    queue_predicted: float
    queue_measured: float
    key_predicted: float
    key_measured: float

    @property
    def gain_predicted(self) -> float:
        return self.key_predicted / self.queue_predicted

    @property
    def gain_measured(self) -> float:
        return self.key_measured / self.queue_measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What one stuck key costs: what passed it, and was delivered again after a kill -9; growth of the process."""

    passed: int
    repeated: int
    grown_mib: float


@contextmanager
def broker() -> Iterator[str]:
    """Gives the address of a name server of an embedded cluster in a process of its own."""
    process = subprocess.Popen([sys.executable, "-m", "embedded_broker", "--memory"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["namesrv"]
    finally:
        process.terminate()
        process.communicate()


class Members:
    """Processes that consume, each with a file of what its listener finished: moment, queue, offset."""

    def __init__(self, namesrv: str, topic: str, directory: Path, work: Work) -> None:
        self._namesrv = namesrv
        self._topic = topic
        self._directory = directory
        self._work = work
        self._started = 0
        self.running: list[subprocess.Popen[str]] = []

    def start(self, mode: ConsumeMode, *, stuck: str | None = None) -> None:
        """Starts them, and returns when each has joined."""
        work = self._work
        for _ in range(work.members):
            self._started += 1
            task: dict[str, str | int] = {"namesrv": self._namesrv, "topic": self._topic, "mode": mode.name}
            task |= {"name": f"m{self._started}", "stuck": stuck or ""}
            task |= {"file": str(self._directory / f"{self._topic}-{self._started}")}
            task |= {"threads": work.threads, "each_ms": work.each_ms, "persist_ms": work.persist_ms}
            words = [sys.executable, "-m", "benchmarks.key_order", "--member", json.dumps(task)]
            self.running.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for process in self.running:
            assert process.stdout is not None
            assert process.stdout.readline() == "joined\n"

    def stop(self) -> None:
        """Ends them as a release does: what they consumed is committed."""
        for process in self.running:
            assert process.stdin is not None
            process.stdin.close()
        self._reap()

    def kill(self) -> None:
        """Ends them as a crash does."""
        for process in self.running:
            os.kill(process.pid, signal.SIGKILL)
        self._reap()

    def _reap(self) -> None:
        for process in self.running:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None and not stream.closed:
                    stream.close()
        self.running.clear()

    def finished(self) -> list[tuple[float, str]]:
        """Returns what was finished so far by all that were ever started: moment, and message (`queue/offset`)."""
        files = sorted(self._directory.glob(f"{self._topic}-*"))
        lines = [line.split() for file in files for line in file.read_text().splitlines()]
        return sorted((float(moment), message) for moment, message in lines)

    def owners(self) -> set[str]:
        """Returns the queues of which messages were finished, when all that run have finished some; else nothing."""
        files = [self._directory / f"{self._topic}-{self._started - number}" for number in range(len(self.running))]
        texts = [file.read_text() if file.exists() else "" for file in files]
        queues = {line.split()[1].partition("/")[0] for text in texts for line in text.splitlines()}
        return queues if all(texts) else set()

    def resident_mib(self) -> float:
        return sum(psutil.Process(process.pid).memory_info().rss for process in self.running) / 2**20


def until(reached: Callable[[], bool], what: str) -> None:
    """Waits. Raises AssertionError when it takes too long."""
    end = time.monotonic() + LIMIT_S
    while not reached():
        assert time.monotonic() < end, f"waited {LIMIT_S} s for {what}"
        time.sleep(0.05)


def member(task: dict[str, Any]) -> None:
    """Runs one member of the group that is called as its topic, until its input ends."""
    file = os.open(task["file"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def listen(messages: Sequence[ReceivedMessage], _: ConsumeContext) -> Consumed:
        for message in messages:
            key = message.properties.get("KEYS")
            time.sleep(NEVER_S if key == task["stuck"] else task["each_ms"] / 1000)
            line = f"{time.monotonic():.4f} {message.queue.queue_id}/{message.queue_offset}\n"
            os.write(file, line.encode())
        return Consumed.SUCCESS

    client = ClientSettings(
        name_servers=task["namesrv"],
        client_ip="127.0.0.1",
        instance_name=task["name"],
        persist_period_ms=task["persist_ms"],
        heartbeat_period_ms=1_000,
    )
    settings = ConsumerSettings(
        consume_from=ConsumeFrom.FIRST_OFFSET,
        threads=task["threads"],
        rebalance_period_ms=200,
        lock_period_ms=1_000,
        unlock_delay_ms=100,
    )
    consumer = PushConsumer(task["topic"], client, listen, settings, mode=ConsumeMode[task["mode"]])
    consumer.subscribe(task["topic"])
    with consumer:
        print("joined", flush=True)
        sys.stdin.read()


def send(namesrv: str, topic: str, keys: Sequence[str], queue_count: int = QUEUES) -> None:
    """Sends one message of 1 KB for each key, into the queue that its hash chooses."""
    settings = ProducerSettings(default_topic_queues=queue_count)
    with Producer("keyed-producer", ClientSettings(name_servers=namesrv), settings) as producer:
        for key in keys:
            producer.send(OutgoingMessage(topic=topic, body=b"x" * 1024, keys=(key,)), select=by_key(key))


def spread(count: int, of_keys: int, hot_share: float, chance: Random) -> list[str]:
    """Returns the keys of so many messages: `key-1` has the hot share, the others the rest alike."""
    if not hot_share:
        return [f"key-{number % of_keys + 1}" for number in range(count)]
    return ["key-1" if chance.random() < hot_share else f"key-{chance.randrange(2, of_keys + 1)}" for _ in range(count)]


def advice(namesrv: str, group: str) -> tuple[float, float]:
    """Returns what the command predicts for the group: messages a second with a thread per queue, and per key."""
    words = [sys.executable, "-m", "mqctl", "group", "lag", "-g", group, "--advise", "--window", "1s"]
    answer = subprocess.run(
        [*words, "--namesrv", namesrv, "-o", "json"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    (advised,) = json.loads(answer)["groups"]
    assert "keys" in {item["what"] for item in advised["remedies"]}, advised
    (forecast,) = [item["forecast"] for item in advised["remedies"] if item["what"] == "keys"]
    return forecast["queue_tps"], forecast["key_tps"]


def predicted_and_measured(namesrv: str, topic: str, keys: Sequence[str], directory: Path, work: Work) -> Outcome:
    """Consumes the same backlog twice, in order by queue and by key; the advice is asked for during the first."""
    by_queue, predicted = _drained(namesrv, f"{topic}-by-queue", keys, directory, work, ConsumeMode.ORDERLY)
    by_key_measured, _ = _drained(namesrv, f"{topic}-by-key", keys, directory, work, ConsumeMode.KEY_ORDERED)
    assert predicted is not None
    return Outcome(
        queue_predicted=predicted[0],
        queue_measured=by_queue,
        key_predicted=predicted[1],
        key_measured=by_key_measured,
    )


def _drained(
    namesrv: str, topic: str, keys: Sequence[str], directory: Path, work: Work, mode: ConsumeMode
) -> tuple[float, tuple[float, float] | None]:
    """Returns messages a second from when each member has its queues to the end, and what is predicted meanwhile."""
    send(namesrv, topic, keys)
    members = Members(namesrv, topic, directory, work)
    members.start(mode)
    try:
        until(lambda: len(members.owners()) == QUEUES, "all queues to move")
        steady = time.monotonic()
        predicted = None
        if mode is ConsumeMode.ORDERLY:
            time.sleep(2 * work.persist_ms / 1000)  # the advice goes by what is committed
            predicted = advice(namesrv, topic)
        until(lambda: len({message for _, message in members.finished()}) == len(keys), "the backlog's end")
    finally:
        members.stop()
    moments = [moment for moment, _ in members.finished() if moment > steady]
    return len(moments) / (moments[-1] - steady), predicted


def price(namesrv: str, topic: str, messages: int, mode: ConsumeMode, directory: Path, work: Work) -> Price:
    """Lets one key of a single queue hang, waits until nothing passes any more, and kills the member."""
    keys = [f"key-{number}" for number in range(messages)]
    keys[messages // 20] = STUCK
    send(namesrv, topic, keys, queue_count=1)
    members = Members(namesrv, topic, directory, work)
    members.start(mode, stuck=STUCK)
    small = members.resident_mib()
    seen = [-1, 0]

    def at_rest() -> bool:
        seen.append(len(members.finished()))
        return seen[-1] > 0 and len(set(seen[-20:])) == 1

    until(at_rest, "nothing more to pass")
    passed, grown = seen[-1], members.resident_mib() - small
    members.kill()
    members.start(mode)
    try:
        until(lambda: len({message for _, message in members.finished()}) == messages, "all to be consumed")
    finally:
        members.stop()
    repeated = sum(number - 1 for number in Counter(message for _, message in members.finished()).values())
    return Price(passed=passed, repeated=repeated, grown_mib=grown)


def main() -> None:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each-ms", type=int, default=10)
    parser.add_argument("--threads", type=int, default=10)
    parser.add_argument("--messages", type=int, default=2_000)
    parser.add_argument("--member", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.member:
        member(json.loads(arguments.member))
        return
    work = Work(threads=arguments.threads, each_ms=arguments.each_ms, persist_ms=200)
    with tempfile.TemporaryDirectory() as name, broker() as namesrv:
        for number, (of_keys, hot) in enumerate(((100, 0.0), (100, 0.1), (100, 0.3), (100, 0.6), (8, 0.0))):
            keys = spread(arguments.messages, of_keys, hot, Random(7))
            row = predicted_and_measured(namesrv, f"Keys{number}", keys, Path(name), work)
            print(
                f"{of_keys:4} keys, one with {hot:4.0%}: per queue {row.queue_predicted:6.0f} predicted "
                f"{row.queue_measured:6.0f} measured; per key {row.key_predicted:6.0f} predicted "
                f"{row.key_measured:6.0f} measured; gain {row.gain_predicted:5.2f} / {row.gain_measured:5.2f}",
                flush=True,
            )
        alone = Work(members=1, threads=20, each_ms=arguments.each_ms)
        for mode in (ConsumeMode.ORDERLY, ConsumeMode.KEY_ORDERED):
            cost = price(namesrv, f"Stuck{mode.name}", 4_000, mode, Path(name), alone)
            print(
                f"{mode.name.lower():12} one key stuck: {cost.passed} passed, {cost.repeated} again after kill -9, "
                f"{cost.grown_mib:.1f} MiB more",
                flush=True,
            )


if __name__ == "__main__":
    main()
