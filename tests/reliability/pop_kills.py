"""Rounds of `kill -9` of a broker process under pops, acknowledgements and changes of invisible times.

`python -m tests.reliability.pop_kills --rounds 200 --seed 7`. Each round starts the process on the store of the last
one and kills it under way; every second store buffers its checkpoints. A message that no acknowledgement in time freed
comes again in the end. One comes again only as it may: out of its queue when the consumer offset that was on the disk
lay before it (what was popped since the last write of the offsets is popped again, acknowledged or not), out of the
retry topic when a delivery of it was not surely acknowledged, and once more for each of its checkpoints that the store
has behind the revive offset on the disk although its messages are in the retry topic already (`revived_again`: that
offset, too, is written now and then). What a pop took whose answer the kill cut off is not known: up to so many
messages of each such pop may come out of the retry topic, too (`unseen`).
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import time_ns

from embedded_broker import EmbeddedCluster
from mqctl.client.message.popped import PoppedMessage, read_popped
from mqctl.model.names import REVIVE_GROUP, pop_retry_topic, revive_topic
from mqctl.protocol.bodies_pop import CK_TAG, PopCheckPoint
from mqctl.protocol.message_record import decode_message
from mqctl.protocol.requests_pop import AckMessage, ChangeInvisibleTime, PopMessage
from mqctl.store.config_files import CONSUMER_OFFSETS, consumer_offsets, read_config
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer
from tests.reliability.results import run_rounds

_TOPIC, _GROUP, _QUEUES, _MOST = "Popped", "GPop", 4, 8
_RETRY, _REVIVE = pop_retry_topic(_GROUP, _TOPIC), revive_topic("DefaultCluster")
_ROUNDS_PER_STORE = 6
_SURE_MS = 200
_INVISIBLE_MS = {False: 1_500, True: 6_000}
"""By whether checkpoints are buffered: only long ones are."""
_LAST_SECONDS = 90
_SETTINGS = {"flushConsumerOffsetInterval": "200", "mappedFileSizeCommitLog": "16777216"}


@dataclass
class Figures:
    """What the rounds came to."""

    rounds: int = 0
    sent: int = 0
    deliveries: int = 0
    acknowledged: int = 0
    again_from_queue: int = 0
    again_from_retry: int = 0
    revived_again: int = 0
    unseen: int = 0
    lost: int = 0
    problems: list[str] = field(default_factory=list)


class Ledger:
    """What became of each message, by its body.

    Attributes:
        open: deliveries that nothing surely acknowledged; each may bring one out of the retry topic.
        flushed: by queue, the consumer offset that was on the disk at the last kill.
        under_way: pops that are not answered.
    """

    def __init__(self, figures: Figures, *, buffered: bool) -> None:
        self.figures = figures
        self.buffered = buffered
        self.sent: set[str] = set()
        self.perhaps_freed: set[str] = set()
        self.open: Counter[str] = Counter()
        self.flushed: dict[int, int] = {}
        self.life = 0
        self.under_way = 0
        self.may_be_unseen = 0
        self._heard: dict[str, int] = {}
        self.lock = threading.Lock()

    def delivered(self, message: PoppedMessage) -> None:
        """Notes a delivery, and a problem when it may not be."""
        body, figures = message.body.decode(), self.figures
        figures.deliveries += 1
        if message.reconsume_times:
            figures.again_from_retry += 1
            if self.open[body] > 0:
                self.open[body] -= 1
            else:
                self.may_be_unseen -= 1
                figures.unseen += 1
                if self.may_be_unseen < 0:
                    figures.problems.append(f"round {figures.rounds}: {body} came again, and was acknowledged")
        else:
            before = self._heard.get(body)
            self._heard[body] = self.life
            if before is not None:
                figures.again_from_queue += 1
                behind = message.queue_offset < self.flushed.get(message.queue.queue_id, 0)
                if before == self.life or behind:
                    figures.problems.append(f"round {figures.rounds}: {body} was popped twice")
        self.open[body] += 1

    def freed(self, body: str) -> None:
        """Notes an acknowledgement that came in time; one in a buffer may be lost, and its checkpoint not."""
        self.figures.acknowledged += 1
        if not self.buffered:
            self.open[body] -= 1

    def died(self, store: Path) -> None:
        """Reads what a dead broker had written."""
        stored = consumer_offsets(read_config(store / "config", CONSUMER_OFFSETS)).offsets
        self.flushed = dict(stored.get((_TOPIC, _GROUP), {}))
        again = revived_already(store, stored.get((_REVIVE, REVIVE_GROUP), {}))
        self.open.update(again)
        self.figures.revived_again += again.total()
        self.may_be_unseen += _MOST * self.under_way
        self.under_way = 0
        self.life += 1


class Traffic:
    """One connection that sends and two that pop, until the broker is killed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._number = 0
        self._left = 0
        self._enough = threading.Event()

    def run(self, address: str, wanted: int, kill: Callable[[], object]) -> None:
        """Works until so much was sent and popped, then kills, under way as it is."""
        self._left = wanted
        self._enough.clear()
        works = (self._send, self._pop, self._pop)
        workers = [threading.Thread(target=self._work, args=(work, address)) for work in works]
        for worker in workers:
            worker.start()
        self._enough.wait(60)
        kill()
        for worker in workers:
            worker.join(60)

    def _work(self, work: Callable[[Peer], None], address: str) -> None:
        try:
            with Peer(address, version=479) as peer:
                while True:
                    work(peer)
                    self._left -= 1
                    if self._left <= 0:
                        self._enough.set()
        except OSError:
            return  # killed

    def _send(self, peer: Peer) -> None:
        self._number += 1
        body = f"message {self._number}"
        if peer.call(send(_TOPIC, queue_id=self._number % _QUEUES), body.encode()).code == 0:
            self._ledger.sent.add(body)

    def _pop(self, peer: Peer) -> None:
        ledger = self._ledger
        with ledger.lock:
            ledger.under_way += 1
        messages = popped(peer, _INVISIBLE_MS[ledger.buffered])
        with ledger.lock:
            ledger.under_way -= 1
            for message in messages:
                ledger.delivered(message)
        for message in messages:
            number = int(message.body.split()[1]) + ledger.life
            if number % 7 == 0:
                with ledger.lock:
                    ledger.open[message.body.decode()] += 1  # until the old handle is acknowledged, there are two
                change(peer, message)
            elif number % 3:
                with ledger.lock:
                    ledger.perhaps_freed.add(message.body.decode())
                code = acknowledge(peer, message)
                receipt = message.receipt
                if code == 0 and time_ns() // 1_000_000 < receipt.pop_ms + receipt.invisible_ms - _SURE_MS:
                    with ledger.lock:
                        ledger.freed(message.body.decode())


def revived_already(store: Path, revived: Mapping[int, int]) -> Counter[str]:
    """Returns bodies of messages that are in the retry topic, and whose checkpoint will be dealt with again."""
    bodies: dict[tuple[str, int, int], tuple[str, int]] = {}
    copies: Counter[tuple[str, int]] = Counter()
    again: list[PopCheckPoint] = []
    log = (store / "commitlog" / f"{0:020d}").read_bytes()
    position = 0
    while size := int.from_bytes(log[position : position + 4], "big"):
        message = decode_message(log[position : position + size])
        position += size
        if message.topic in (_TOPIC, _RETRY):
            bodies[message.topic, message.queue_id, message.queue_offset] = (
                message.body.decode(), message.reconsume_times,
            )  # fmt: skip
            copies[message.body.decode(), message.reconsume_times] += 1
        elif (message.topic, message.tags) == (_REVIVE, CK_TAG):
            is_done = message.queue_offset <= revived.get(message.queue_id, -1)
            again += [] if is_done else [PopCheckPoint.from_bytes(message.body)]
    revived_counts: Counter[str] = Counter()
    for checkpoint in again:
        for offset in checkpoint.offsets:
            body, times = bodies[checkpoint.topic, checkpoint.queue_id, offset]
            if copies[body, times + 1]:
                revived_counts[body] += 1
    return revived_counts


def popped(peer: Peer, invisible_ms: int) -> list[PoppedMessage]:
    """Pops once."""
    request = PopMessage(
        consumer_group=_GROUP, topic=_TOPIC, queue_id=-1, max_msg_nums=_MOST, invisible_time=invisible_ms
    )
    answer = peer.call(request)
    return [] if answer.code else list(read_popped(answer, _GROUP, _TOPIC, "broker-a").messages)


def acknowledge(peer: Peer, message: PoppedMessage) -> int:
    """Acknowledges a message and returns the answer's code."""
    request = AckMessage(
        consumer_group=_GROUP, topic=message.queue.topic, queue_id=message.queue.queue_id,
        extra_info=str(message.receipt), offset=message.queue_offset,
    )  # fmt: skip
    return peer.call(request).code


def change(peer: Peer, message: PoppedMessage) -> None:
    """Has a message come again sooner or later than it would."""
    request = ChangeInvisibleTime(
        consumer_group=_GROUP, topic=message.queue.topic, queue_id=message.queue.queue_id,
        extra_info=str(message.receipt), offset=message.queue_offset, invisible_time=1_000,
    )  # fmt: skip
    peer.call(request)


def drain(root: Path, ledger: Ledger) -> None:
    """Continues a dead store on a clock that runs, until nothing comes any more, and looks for what is missing."""
    heard: set[str] = set()
    with (
        EmbeddedCluster(version="5.3.3", virtual_time=True, data_dir=root, settings=_SETTINGS) as cluster,
        Peer(cluster.broker().address, version=479) as peer,
    ):
        for _ in range(_LAST_SECONDS // 3):
            cluster.advance(3_000)
            while messages := popped(peer, 20_000):
                for message in messages:
                    ledger.delivered(message)
                    heard.add(message.body.decode())
                    acknowledge(peer, message)
                    ledger.freed(message.body.decode())
    lost = sorted(ledger.sent - ledger.perhaps_freed - heard)
    ledger.figures.lost += len(lost)
    if lost:
        ledger.figures.problems.append(f"round {ledger.figures.rounds}: lost: {lost[:5]}")


def run(rounds: int, seed: int) -> Figures:
    """Runs so many rounds, with a new store every six, of which every second buffers."""
    figures, random = Figures(), Random(seed)
    with TemporaryDirectory(prefix="mqctl-pop-kills-") as name:
        for first in range(0, rounds, _ROUNDS_PER_STORE):
            root, buffered = Path(name) / str(first), first // _ROUNDS_PER_STORE % 2 == 1
            run_store(root, min(_ROUNDS_PER_STORE, rounds - first), random, figures, buffered=buffered)
            shutil.rmtree(root, ignore_errors=True)
    return figures


def run_store(root: Path, rounds: int, random: Random, figures: Figures, *, buffered: bool) -> None:
    """Runs rounds on one store, and continues it to the end."""
    ledger = Ledger(figures, buffered=buffered)
    traffic = Traffic(ledger)
    settings = {**_SETTINGS, "enablePopBufferMerge": str(buffered).lower()}
    words = ["--data-dir", str(root), "--as-version", "5.3.3"]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    for _ in range(rounds):
        with process(*words) as (running, ready):
            traffic.run(ready["brokers"][0]["address"], random.randrange(40, 400), running.kill)
            running.wait(60)
        ledger.died(root / "broker-a")
        figures.rounds += 1
    drain(root, ledger)
    figures.sent += len(ledger.sent)


if __name__ == "__main__":
    sys.exit(run_rounds("pop_kills", __doc__, run, sys.argv[1:], rounds=200))
