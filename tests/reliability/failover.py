"""A master and its slave, each a process of its own, killed in turn under load, with a consumer that changes over.

`python -m tests.reliability.failover --rounds 100` kills with SIGKILL, restarts, and judges after each kill:

* SYNC: whatever was acknowledged while a slave was in sync is on the slave when its master is dead.
* ASYNC: what the slave lacks is exactly what was acknowledged behind the end of its log; it is counted, in messages and
  bytes, and is there again when the master is back.
* The log of the dead master and that of the slave are equal byte for byte over what both have.
* The consumer reads every message that somebody has, from the slave while the master is dead. What a new consumer reads
  again when the master is back with its older offsets is counted.

At the end of each store both logs are equal to the last byte, and both stores pass `store verify`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import monotonic

from mqctl.model.damage import DamageGrade
from mqctl.protocol.bodies_cluster import KVTable
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import GetBrokerRuntimeInfo
from mqctl.protocol.requests_client import (
    PullMessageReply,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from mqctl.store.compare_logs import LogComparison, compare_logs
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer
from tests.reliability.results import run_rounds

_SCALE = "20"
_SETTINGS = (
    "mappedFileSizeCommitLog=262144", "mappedFileSizeConsumeQueue=4000", "registerNameServerPeriod=10000",
    "flushConsumerOffsetInterval=1000", "slaveReadEnable=true",
)  # fmt: skip
_TOPIC, _QUEUES, _GROUP = "Paid", 4, "G"
_SENDERS = 3
_SECONDS = 60.0


@dataclass
class Figures:
    """What the rounds came to; bytes and messages of ASYNC are those that the slave lacked when its master died."""

    rounds: int = 0
    master_kills: int = 0
    slave_kills: int = 0
    acknowledged_sync: int = 0
    acknowledged_async: int = 0
    not_replicated: int = 0
    lost_sync: int = 0
    behind_async: int = 0
    most_behind_async_bytes: int = 0
    lost_for_good: int = 0
    read: int = 0
    read_from_slave: int = 0
    read_again_after_return: int = 0
    problems: list[str] = field(default_factory=list)


class Pair:
    """A name server, and a master and a slave that may be dead; addresses change with each start."""

    def __init__(self, root: Path, *, version: str, is_sync: bool) -> None:
        self.is_sync = is_sync
        self.stores = {0: root / "master" / "broker-a", 1: root / "slave" / "broker-a"}
        self.addresses: dict[int, str] = {}
        role = "SYNC_MASTER" if is_sync else "ASYNC_MASTER"
        replicas = ["inSyncReplicas=2"] if is_sync and version == "5.3.3" else []
        self._common = ["--as-version", version, "--time-scale", _SCALE]
        self._settings = {0: [*_SETTINGS, f"brokerRole={role}", *replicas], 1: [*_SETTINGS, *_SLAVE]}
        self._open = ExitStack()
        self._running: dict[int, tuple[subprocess.Popen[str], ExitStack]] = {}

    def __enter__(self) -> Pair:
        _, ready = self._open.enter_context(process(*self._common, "--brokers", "other"))
        self._common += ["--name-servers", "0", "--brokers", "broker-a", "--set", f"namesrvAddr={ready['namesrv']}"]
        self.start(0)
        self.start(1)
        return self

    def __exit__(self, *_: object) -> None:
        for broker_id in list(self._running):
            self.stop(broker_id)
        self._open.close()

    def start(self, broker_id: int) -> None:
        """Starts one of the two on its store."""
        words = [word for item in self._settings[broker_id] for word in ("--set", item)]
        life = ExitStack()
        directory = str(self.stores[broker_id].parent)
        running, ready = life.enter_context(process(*self._common, *words, "--data-dir", directory))
        self._running[broker_id] = running, life
        self.addresses[broker_id] = ready["brokers"][0]["address"]

    def kill(self, broker_id: int) -> None:
        """Ends one of the two by SIGKILL."""
        running, life = self._running.pop(broker_id)
        del self.addresses[broker_id]
        running.kill()
        running.wait(_SECONDS)
        life.close()

    def stop(self, broker_id: int) -> None:
        """Ends one of the two as on a signal."""
        _, life = self._running.pop(broker_id)
        self.addresses.pop(broker_id, None)
        life.close()

    def end(self, broker_id: int) -> int:
        """Returns where the log of one of the two ends."""
        with Peer(self.addresses[broker_id]) as peer:
            answer = peer.call(GetBrokerRuntimeInfo())
            return int(KVTable.from_bytes(answer.body).table.get("commitLogMaxOffset", -1)) if answer.code == 0 else -1

    def wait_until_equal(self) -> None:
        """Waits until both logs end at the same place, while nobody sends."""
        until("both logs end at the same place", lambda: self.end(1) == self.end(0))

    def logs(self) -> LogComparison:
        """Compares both logs on the disk."""
        master, slave = (StoreDirectory.open(self.stores[number]).commit_log for number in (0, 1))
        return compare_logs(master, slave)


_SLAVE = ("brokerRole=SLAVE", "brokerId=1")


def until(what: str, holds: Callable[[], bool]) -> None:
    """Waits for something that must come. Raises TimeoutError."""
    end = monotonic() + _SECONDS
    while not holds():
        if monotonic() > end:
            raise TimeoutError(f"not within {_SECONDS:g} s: {what}")


class Producers:
    """Senders to the master; what is acknowledged is noted with the end of its record, as far as the answer tells it.

    Attributes:
        acknowledged: physical offset by body, of sends that were answered with 0.
        not_replicated: bodies that were stored, and answered with 10, 11 or 12.
    """

    def __init__(self) -> None:
        self.acknowledged: dict[str, int] = {}
        self.not_replicated: set[str] = set()
        self._number = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()

    @contextmanager
    def sending(self, address: str) -> Iterator[None]:
        """Sends while the block runs, or until the master dies."""
        self._stop.clear()
        workers = [threading.Thread(target=self._work, args=(address,)) for _ in range(_SENDERS)]
        for worker in workers:
            worker.start()
        try:
            yield
        finally:
            self._stop.set()
            for worker in workers:
                worker.join(_SECONDS)

    def send_first(self, address: str) -> None:
        """Sends one message, with which the topic comes to be."""
        with Peer(address) as peer:
            self._send(peer)

    def _work(self, address: str) -> None:
        try:
            with Peer(address) as peer:
                while not self._stop.is_set():
                    self._send(peer)
        except OSError:
            return  # killed

    def _send(self, peer: Peer) -> None:
        with self._lock:
            self._number += 1
            number = self._number
        body = f"{number} " + "x" * (number * 37 % 700)
        answer = peer.call(send(_TOPIC, queue_id=number % _QUEUES, queues=_QUEUES), body.encode())
        if answer.code == 0:
            self.acknowledged[body] = OffsetId.parse(answer.ext("msgId") or "").physical_offset
        else:
            self.not_replicated.add(body)


class Consumer:
    """Reads all queues from the master, or from the slave while that is dead, and commits where it reads.

    Attributes:
        bodies: how often each message was read.
        from_slave: how many messages came from the slave.
    """

    def __init__(self, pair: Pair, *, start: dict[int, int] | None = None) -> None:
        self.bodies: Counter[str] = Counter()
        self.from_slave = 0
        self.offsets = start or dict.fromkeys(range(_QUEUES), 0)
        self._pair = pair
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def stop(self) -> None:
        """Ends it."""
        self._stop.set()
        self._thread.join(_SECONDS)

    def _work(self) -> None:
        while not self._stop.is_set():
            addresses = dict(self._pair.addresses)
            broker_id = min(addresses, default=None)
            if broker_id is None:
                continue
            try:
                with Peer(addresses[broker_id]) as peer:
                    while not self._stop.is_set() and self._pair.addresses.get(0, "") in (addresses.get(0), ""):
                        for queue_id in range(_QUEUES):
                            self._read(peer, queue_id, broker_id)
                        if broker_id != min(self._pair.addresses, default=broker_id):
                            break
            except OSError:
                continue  # killed; the other one is asked

    def _read(self, peer: Peer, queue_id: int, broker_id: int) -> None:
        answer = peer.call(pull(_TOPIC, self.offsets[queue_id], queue_id=queue_id, group=_GROUP))
        if answer.code != 0:
            self._stop.wait(0.002)
            return
        messages = decode_messages(answer.body)
        self.bodies.update(message.body.decode() for message in messages)
        self.from_slave += len(messages) if broker_id else 0
        self.offsets[queue_id] = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
        peer.call(
            UpdateConsumerOffset(
                consumer_group=_GROUP, topic=_TOPIC, queue_id=queue_id, commit_offset=self.offsets[queue_id]
            )
        )


class Rounds:
    """The rounds on one store."""

    def __init__(self, pair: Pair, figures: Figures) -> None:
        self._pair = pair
        self._figures = figures
        self._producers = Producers()
        self._consumer = Consumer(pair)

    def run(self, rounds: int, random: Random) -> None:
        """Kills both in turn, and judges what is left."""
        try:
            self._producers.send_first(self._pair.addresses[0])
            until("the slave knows the topic", self._slave_reads)
            for number in range(rounds):
                self._pair.wait_until_equal()
                (self._kill_slave if number % 2 else self._kill_master)(random.randrange(30, 300))
                self._figures.rounds += 1
            self._pair.wait_until_equal()
            self._wait_for_reader(set(self._producers.acknowledged))
        finally:
            self._consumer.stop()
        self._at_rest()

    def _slave_reads(self) -> bool:
        """Whether the slave has copied the table of topics; until then it would serve nobody (5.x: for a minute)."""
        with Peer(self._pair.addresses[1]) as peer:
            return any(peer.call(pull(_TOPIC, 0, queue_id=queue_id)).code == 0 for queue_id in range(_QUEUES))

    def _send(self, address: str, count: int) -> None:
        wanted = len(self._producers.acknowledged) + count
        until(f"{count} sends acknowledged", lambda: len(self._producers.acknowledged) >= wanted)

    def _kill_master(self, count: int) -> None:
        pair, producers = self._pair, self._producers
        with producers.sending(pair.addresses[0]):
            self._send(pair.addresses[0], count)
            pair.kill(0)
        self._figures.master_kills += 1
        logs = pair.logs()
        if logs.first_difference is not None:
            self._problem(f"the logs differ from {logs.first_difference} on")
        missing = {body for body, offset in producers.acknowledged.items() if offset >= logs.other_end}
        if pair.is_sync:
            self._figures.lost_sync += len(missing)
            if missing:
                self._problem(f"{len(missing)} messages were acknowledged and are not on the slave")
        else:
            self._figures.behind_async += len(missing)
            behind = max(0, logs.end - logs.other_end)
            self._figures.most_behind_async_bytes = max(self._figures.most_behind_async_bytes, behind)
        self._wait_for_reader(producers.acknowledged.keys() - missing)
        position = dict(self._consumer.offsets)
        pair.start(0)
        self._figures.read_again_after_return += _read_again(pair.addresses[0], position)

    def _kill_slave(self, count: int) -> None:
        pair = self._pair
        with self._producers.sending(pair.addresses[0]):
            self._send(pair.addresses[0], count)
            pair.kill(1)
            if pair.is_sync:
                known = len(self._producers.not_replicated)
                until(
                    "sends learn of the slave's death", lambda: len(self._producers.not_replicated) > known + _SENDERS
                )
            else:
                self._send(pair.addresses[0], count)
            pair.start(1)
            self._send(pair.addresses[0], count)
        self._figures.slave_kills += 1

    def _wait_for_reader(self, bodies: set[str]) -> None:
        try:
            until("the consumer has read everything", lambda: bodies <= self._consumer.bodies.keys())
        except TimeoutError:
            missing = bodies - self._consumer.bodies.keys()
            self._problem(f"the consumer did not get {len(missing)} messages, for instance {min(missing)[:12]!r}")

    def _at_rest(self) -> None:
        pair, figures = self._pair, self._figures
        producers, consumer = self._producers, self._consumer
        pair.stop(0)
        pair.stop(1)
        logs = pair.logs()
        if (logs.first_difference, logs.end) != (None, logs.other_end) or not logs.is_whole:
            self._problem(f"the logs are not equal at rest: {logs}")
        for store in pair.stores.values():
            report = verify(StoreDirectory.open(store))
            damages = [item for item in report.damages if item.grade is DamageGrade.DAMAGE]
            figures.problems += [f"round {figures.rounds}: {item.file}: {item.code}" for item in damages]
        figures.lost_for_good += len(producers.acknowledged.keys() - consumer.bodies.keys())
        again = sum(consumer.bodies.values()) - len(consumer.bodies)
        if again:
            self._problem(f"a consumer that ran all the time read {again} messages twice")
        if pair.is_sync:
            figures.acknowledged_sync += len(producers.acknowledged)
        else:
            figures.acknowledged_async += len(producers.acknowledged)
        figures.not_replicated += len(producers.not_replicated)
        figures.read += len(consumer.bodies)
        figures.read_from_slave += consumer.from_slave

    def _problem(self, text: str) -> None:
        self._figures.problems.append(f"round {self._figures.rounds}: {text}")


def _read_again(address: str, position: dict[int, int]) -> int:
    """Returns how many messages a consumer without memory would read again from the offsets of this broker."""
    again = 0
    with Peer(address) as peer:
        for queue_id, offset in position.items():
            answer = peer.call(QueryConsumerOffset(consumer_group=_GROUP, topic=_TOPIC, queue_id=queue_id))
            known = int(answer.ext("offset") or 0) if answer.code == 0 else 0
            again += max(0, offset - known)
    return again


def run(rounds: int, seed: int, *, per_store: int = 6) -> Figures:
    """Runs so many rounds, with a new store every `per_store`: SYNC and ASYNC in turn, each on both releases."""
    figures, random = Figures(), Random(seed)
    with TemporaryDirectory(prefix="mqctl-failover-") as name:
        for first in range(0, rounds, per_store):
            root, number = Path(name) / str(first), first // per_store
            version = ("4.9.8", "5.3.3", "5.3.3", "4.9.8")[number % 4]
            with Pair(root, version=version, is_sync=number % 2 == 0) as pair:
                Rounds(pair, figures).run(min(per_store, rounds - first), random)
            shutil.rmtree(root, ignore_errors=True)
    return figures


if __name__ == "__main__":
    sys.exit(run_rounds("failover", __doc__, run, sys.argv[1:], rounds=96))
