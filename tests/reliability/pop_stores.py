"""Random stores of pops, judged: `python -m tests.reliability.pop_stores --rounds 200 --seed 1`.

A broker on virtual time takes sends, pops of one topic by two groups and ordered pops by a third, acknowledgements
(single, batches, twice, late), changes of invisible times and pauses, in an order drawn by lot. Then it is looked at
live, stops, and its store is judged. The truth is no second computation from its records, but what clients saw and
what the broker does with the same store afterwards: what was never handed out is ready, what lies behind the offset of
a retry topic waits there, and what was popped and comes into the retry topics later is invisible or due.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TypeAlias

from embedded_broker import EmbeddedCluster
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.model.lag import LagEvidence
from mqctl.model.names import pop_retry_topic
from mqctl.protocol.bodies_pop import BatchAck, BatchAcks, bit_set
from mqctl.protocol.receipts import Receipt, real_topic
from mqctl.protocol.requests_client import GetMaxOffset, QueryConsumerOffset
from mqctl.protocol.requests_pop import BatchAckMessage, ChangeInvisibleTime
from mqctl.snapshot.live.lag import gather_live_lag
from mqctl.snapshot.store.lag import gather_lag
from tests.embedded_broker.messages import send
from tests.embedded_broker.test_pop import ack, number, pop, popped
from tests.embedded_broker.wire import Peer
from tests.reliability.results import run_rounds

_TOPIC, _QUEUES, _GROUPS, _ORDERED = "T", 3, ("G", "H"), "O"
_LONGEST_MS = 60_000
_QUEUES_ARE_WRITTEN_MS = 1_000  # entries that are not are dispatched by the next start, out of the log


@dataclass
class Ledger:
    """What one group's clients saw.

    Attributes:
        handles: those that were given out, also such as are past, and a few that were acknowledged.
        acknowledged: those that were.
        handed: messages that were ever delivered out of the topic itself.
    """

    handles: list[Receipt] = field(default_factory=list)
    handed: set[tuple[int, int]] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)

    def invisible(self, now_ms: int) -> int:
        """Counts the messages that nobody else gets at a moment."""
        return sum(item.due_ms > now_ms and str(item) not in self.acknowledged for item in self.handles)


class World:
    """A broker and its clients.

    Attributes:
        batches: what the ordered group popped last, by queue: what is not acknowledged of it, by queue offset.
        ended: where the last batch of each queue ended.
        log: what was done, a line each.
    """

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = Random(seed)
        self.directory = directory
        draw = self.random.random
        self.settings = {
            "enablePopBufferMerge": str(draw() < 0.3).lower(),
            "enableRetryTopicV2": str(draw() < 0.3).lower(),
            "popFromRetryProbability": "50",
        }
        self.groups = {group: Ledger() for group in _GROUPS}
        self.batches: dict[int, dict[int, Receipt]] = {}
        self.ended: dict[int, int] = {}
        self.ends = [0] * _QUEUES
        self.advanced_ms = 0
        self.log: list[str] = []

    def cluster(self) -> EmbeddedCluster:
        return EmbeddedCluster(version="5.3.3", virtual_time=True, data_dir=self.directory, settings=self.settings)

    def step(self, cluster: EmbeddedCluster, peer: Peer) -> None:
        """Does one thing."""
        group = self.random.choice(_GROUPS)
        ledger = self.groups[group]
        chance = self.random.random()
        if chance < 0.2:
            for _ in range(self.random.randint(1, 6)):
                queue_id = self.random.randrange(_QUEUES)
                assert peer.call(send(_TOPIC, queue_id=queue_id, queues=_QUEUES), b"x").code == 0
                self.ends[queue_id] += 1
        elif chance < 0.3:
            self._ordered(cluster, peer)
        elif chance < 0.55:
            self._pop(cluster, peer, group)
        elif chance < 0.8 and ledger.handles:
            self._acknowledge(cluster, peer, group)
        elif chance < 0.9 and ledger.handles:
            self._change(cluster, peer, group)
        else:
            self._pass(cluster, self.random.choice((1, 300, 1_000, 1_000, 4_000, 10_000)))

    def _pass(self, cluster: EmbeddedCluster, ms: int) -> None:
        self.log.append(f"{ms} ms pass")
        self.advanced_ms += ms
        cluster.advance(ms)

    def _ordered(self, cluster: EmbeddedCluster, peer: Peer) -> None:
        for receipt in [item for batch in self.batches.values() for item in batch.values()]:
            if self.random.random() < 0.4:
                self.log.append(f"{_ORDERED} ack {receipt}")
                assert ack(peer, receipt, _TOPIC, _ORDERED) == 0
                del self.batches[receipt.queue_id or 0][receipt.offset or 0]
        answer = pop(
            peer, _TOPIC, _ORDERED,
            max_msg_nums=self.random.randint(1, 6), invisible_time=self.random.choice((3_000, 10_000, 40_000)),
            order=True, attempt_id=f"{len(self.log)}", init_mode=0,
        )  # fmt: skip
        batches: dict[int, dict[int, Receipt]] = {}
        for _, receipt in popped(answer):
            self.log.append(f"{_ORDERED} pop {receipt}")
            batches.setdefault(receipt.queue_id or 0, {})[receipt.offset or 0] = receipt
            self.ended[receipt.queue_id or 0] = (receipt.offset or 0) + 1
        self.batches.update(batches)
        self._pass(cluster, 1)

    def ordered_truth(self, now_ms: int) -> list[int]:
        """Returns what the ordered group has ready, invisible and due; it has no retry topics."""
        moments = [item.due_ms for batch in self.batches.values() for item in batch.values()]
        ready = sum(self.ends) - sum(self.ended.values())
        return [ready, sum(at > now_ms for at in moments), sum(at <= now_ms for at in moments), 0]

    def _pop(self, cluster: EmbeddedCluster, peer: Peer, group: str) -> None:
        ledger = self.groups[group]
        span_ms = self.random.choice((1_000, 3_000, 5_000, 10_000, 30_000, _LONGEST_MS))
        queue_id = self.random.choice((-1, -1, *range(_QUEUES)))
        answer = pop(
            peer, _TOPIC, group,
            max_msg_nums=self.random.randint(1, 8), invisible_time=span_ms, queue_id=queue_id, init_mode=0,
        )  # fmt: skip
        taken = popped(answer)
        self._pass(cluster, 1)  # two pops of a millisecond and a queue cannot both be: the second gets nothing
        for _, receipt in taken:
            self.log.append(f"{group} pop {receipt}")
            if receipt.retry == "0":
                assert (receipt.queue_id or 0, receipt.offset or 0) not in ledger.handed
                ledger.handed.add((receipt.queue_id or 0, receipt.offset or 0))
            ledger.handles.append(receipt)

    def _acknowledge(self, cluster: EmbeddedCluster, peer: Peer, group: str) -> None:
        ledger = self.groups[group]
        receipt = self.random.choice(ledger.handles)
        if self.random.random() < 0.9:
            ledger.handles.remove(receipt)
        ledger.acknowledged.add(str(receipt))
        self.log.append(f"{group} ack {receipt}")
        if self.random.random() < 0.3:
            start = receipt.start_offset
            item = BatchAck(
                consumer_group=group, topic=_TOPIC, retry=receipt.retry, start_offset=start,
                queue_id=receipt.queue_id or 0, revive_queue=receipt.revive_queue, pop_ms=receipt.pop_ms,
                invisible_ms=receipt.invisible_ms, bits=bit_set([(receipt.offset or 0) - start]),
            )  # fmt: skip
            assert peer.call(BatchAckMessage(), BatchAcks(broker_name="broker-a", acks=(item,)).to_bytes()).code == 0
        else:
            assert ack(peer, receipt, _TOPIC, group) == 0

    def _change(self, cluster: EmbeddedCluster, peer: Peer, group: str) -> None:
        ledger = self.groups[group]
        receipt = self.random.choice(ledger.handles)
        span_ms = self.random.choice((1_000, 5_000, 20_000))
        request = ChangeInvisibleTime(
            consumer_group=group, topic=real_topic(_TOPIC, group, receipt.retry), queue_id=receipt.queue_id or 0,
            extra_info=str(receipt), offset=receipt.offset or 0, invisible_time=span_ms,
        )  # fmt: skip
        answer = peer.call(request)
        self.log.append(f"{group} change {receipt} to {span_ms}: {answer.code}")
        if answer.code:
            return
        ledger.handles.remove(receipt)
        later = Receipt(
            start_offset=receipt.offset or 0, pop_ms=number(answer, "popTime"),
            invisible_ms=number(answer, "invisibleTime"), revive_queue=number(answer, "reviveQid"),
            retry=receipt.retry, broker_name="broker-a", queue_id=receipt.queue_id, offset=receipt.offset,
        )  # fmt: skip
        ledger.handles.append(later)
        self._pass(cluster, 1)


def _retry_counts(peer: Peer, group: str) -> tuple[int, int]:
    """Returns how many messages came into the retry topics of a group, and how many of them it did not take."""
    ended = waiting = 0
    for v2 in (False, True):
        topic = pop_retry_topic(group, _TOPIC, v2=v2)
        end = max(0, number(peer.call(GetMaxOffset(topic=topic, queue_id=0)), "offset"))
        offset = peer.call(QueryConsumerOffset(consumer_group=group, topic=topic, queue_id=0)).ext("offset")
        ended += end
        waiting += end - int(offset or 0)
    return ended, waiting


Counts: TypeAlias = dict[str, list[int]]
"""Ready, invisible, due, and waiting in the retry topics; by group."""


def counts_of(evidence: LagEvidence) -> Counts:
    counts = {
        share.group: [share.ready_count, share.invisible_count or 0, share.due_count or 0, share.retry_count]
        for share in evidence.pop
    }
    return {group: counts.get(group, [0, 0, 0, 0]) for group in (*_GROUPS, _ORDERED)}


def look_at(cluster: EmbeddedCluster) -> Counts:
    """Asks a broker, as `group lag` does."""
    with Cluster(cluster.namesrv) as client:
        (evidence,) = gather_live_lag(client, Deadline(90_000), now_ms=cluster.now_ms(), with_consumers=True)
    return counts_of(evidence)


@dataclass(frozen=True)
class Judged:
    """One store, judged. `live` is None where brokers keep to themselves what they popped: in the buffer."""

    world: World
    live: Counts | None
    stored: Counts
    true: Counts

    @property
    def is_right(self) -> bool:
        """Whether all is as it is; no request tells what an ordered group popped: it is ready, for one that asks."""
        popping = [group for group in _GROUPS if self.world.groups[group].handed]  # others are nothing to a broker
        wholes = [self.stored, *([] if self.live is None else [self.live])]
        sure = all(counts[group] == self.true[group] for counts in wholes for group in popping)
        return sure and (not self.world.ended or self.stored[_ORDERED] == self.true[_ORDERED])


def judge(seed: int, directory: Path, *, steps: int = 80) -> Judged:
    """Makes a store by chance and judges it."""
    world = World(seed, directory)
    buffered = world.settings["enablePopBufferMerge"] == "true"
    with world.cluster() as cluster, Peer(cluster.broker().address) as peer:
        for _ in range(steps):
            world.step(cluster, peer)
        cluster.advance(100)  # a consumer offset trails what is in the buffer
        now_ms = cluster.now_ms()
        live = None
        if not buffered:
            live = look_at(cluster)
    stored = counts_of(gather_lag(directory / "broker-a", at_ms=now_ms))
    true = {_ORDERED: world.ordered_truth(now_ms)}
    with world.cluster() as cluster:
        with Peer(cluster.broker().address) as peer:
            before = {group: _retry_counts(peer, group) for group in _GROUPS}
        cluster.advance(world.advanced_ms + 2 * _LONGEST_MS)  # its clock starts anew; idle connections are closed
        with Peer(cluster.broker().address) as peer:
            for group, ledger in world.groups.items():
                ended, waiting = before[group]
                later, _ = _retry_counts(peer, group)
                invisible = ledger.invisible(now_ms)
                true[group] = [sum(world.ends) - len(ledger.handed), invisible, later - ended - invisible, waiting]
    return Judged(world, live, stored, true)


def judge_killed(seed: int, directory: Path, *, steps: int = 80) -> tuple[Counts, Counts, World]:
    """Makes a store by chance, takes it as a kill leaves it, and judges that.

    Returns:
        What it is judged to hold (ready, invisible and due together, waiting in retry topics), and what the broker that
        starts on it has: its offsets, which are some seconds old, say what is handed out again.
    """
    world = World(seed, directory / "running")
    killed = directory / "killed"
    with world.cluster() as cluster, Peer(cluster.broker().address) as peer:
        for _ in range(steps):
            world.step(cluster, peer)
        world._pass(cluster, _QUEUES_ARE_WRITTEN_MS)
        now_ms = cluster.now_ms()
        # Between two turns of its loop: a kill leaves the files of one moment.
        cluster.on_loop(lambda _: shutil.copytree(world.directory, killed))
    counts = counts_of(gather_lag(killed / "broker-a", at_ms=now_ms))
    stored = {group: [ready, hidden + due, retry] for group, (ready, hidden, due, retry) in counts.items()}
    true: Counts = {}
    world.directory = killed
    with world.cluster() as cluster:
        with Peer(cluster.broker().address) as peer:
            before = {group: _retry_counts(peer, group) for group in _GROUPS}
            ready = {group: sum(world.ends) - _taken(peer, group) for group in _GROUPS}
        cluster.advance(world.advanced_ms + 2 * _LONGEST_MS)
        with Peer(cluster.broker().address) as peer:
            for group in _GROUPS:
                ended, waiting = before[group]
                true[group] = [ready[group], _retry_counts(peer, group)[0] - ended, waiting]
    popping = [group for group in _GROUPS if world.groups[group].handed]
    return {group: stored[group] for group in popping}, {group: true[group] for group in popping}, world


def _taken(peer: Peer, group: str) -> int:
    """Returns how many messages of the topic a group's offsets are past."""
    requests = [QueryConsumerOffset(consumer_group=group, topic=_TOPIC, queue_id=number) for number in range(_QUEUES)]
    return sum(int(peer.call(request).ext("offset") or 0) for request in requests)


@dataclass
class Figures:
    """What the rounds came to."""

    rounds: int = 0
    looked_at_live: int = 0
    popped: int = 0
    problems: list[str] = field(default_factory=list)


def run(rounds: int, first_seed: int) -> Figures:
    """Judges stores made by chance."""
    figures = Figures()
    for seed in range(first_seed, first_seed + rounds):
        with tempfile.TemporaryDirectory() as directory:
            judged = judge(seed, Path(directory))
        figures.rounds += 1
        figures.looked_at_live += judged.live is not None
        figures.popped += sum(len(ledger.handed) for ledger in judged.world.groups.values())
        if not judged.is_right:
            counts = f"live {judged.live}, stored {judged.stored}, true {judged.true}"
            figures.problems.append(f"store {seed} ({judged.world.settings}): {counts}")
    return figures


if __name__ == "__main__":
    sys.exit(run_rounds("pop_stores", __doc__, run, sys.argv[1:], rounds=200))
