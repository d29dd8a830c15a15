"""Rounds of a broker on a disk that fills, breaks and loses power, with every kind of traffic, and what must hold then.

`python -m tests.reliability.disks --rounds 2000 --seed 7`. A round starts a broker on the store of the last one, has
it work while writes or syncs fail and heal, cuts the power, starts it again and asks for everything:

* every message that was acknowledged under SYNC_FLUSH, and has not expired since, is there, each queue without a gap,
  rolled-back and recalled ones never, and every transaction ends as its producer says when it is checked;
* what comes twice lay in a window: delivered before delayOffset.json, or timercheck, was written, checked before the op
  record was there; each is counted, and any other is a problem. No window is wider than its interval;
* the broker comes up with the configuration files that are left, their backups or the settings of a new one; changes of
  topics and groups hold whose files were written;
* offsets beyond a queue's end come only with ASYNC_FLUSH and a loss of power; `doctor` names each, and the next pull is
  told the end;
* every file verifies.
"""

from __future__ import annotations

import errno
import logging
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from embedded_broker import EmbeddedCluster
from embedded_broker.broker import Broker
from embedded_broker.log.settings import ASYNC_FLUSH, SYNC_FLUSH
from mqctl.errors import StorageError
from mqctl.model.damage import DamageCode, DamageGrade
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_record import RecordError, decode_message, decode_messages
from mqctl.protocol.requests_client import (
    GetMaxOffset,
    GetMinOffset,
    PullMessageReply,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from mqctl.rules import diagnose
from mqctl.snapshot.store.gatherer import gather_store
from mqctl.store.directory import StoreDirectory
from mqctl.store.recovery import RecordScan
from mqctl.store.verify import verify
from tests.embedded_broker.messages import pull
from tests.embedded_broker.wire import Peer
from tests.reliability.admin_traffic import topic_request
from tests.reliability.config_files import FreshBroker, Survived, differences
from tests.reliability.disk_traffic import GONE, PLAIN, QUEUES, ROLL_WINDOW_S, STORE_TOPICS, DiskTraffic, Ledger
from tests.reliability.faulty import FaultyFiles, faulty_files
from tests.reliability.repeats import PAID, DeadStore, late_offsets, repeated_commits, repeated_delays
from tests.reliability.results import run_rounds
from tests.reliability.timer_repeats import TIMED, late_checkpoint, timers_out_of_turn

LOG_FILE_BYTES = 65_536
SETTINGS = {
    "mappedFileSizeCommitLog": str(LOG_FILE_BYTES), "mappedFileSizeConsumeQueue": "1000", "maxHashSlotNum": "100",
    "maxIndexNum": "1000", "messageDelayLevel": "1s 2s", "transactionCheckInterval": "10000",
    "transactionCheckMax": "1000", "recallMessageEnable": "true", "mappedFileSizeTimerLog": str(10 * 52 + 16),
    "timerRollWindowSlot": str(ROLL_WINDOW_S),
}  # fmt: skip
VERSIONS = ("4.9.8", "5.3.3")
_FAULTS = (("write", errno.ENOSPC), ("write", errno.EIO), ("sync", errno.EIO))
_STEPS = 60
_KEPT = 2
_ROUNDS_PER_STORE = 8
_PERSIST_MS = 10_000
_TIMER_SLACK_MS = 2_000  # a turn of the wheel, and a retry of one that failed
_SETTLE_MS = 11_000  # more than what lies between two checks of transactions
BEYOND = "MQ404"
_FORMER = (DamageCode.QUEUE_MISSING_RECORD, DamageCode.QUEUE_BEHIND_LOG, DamageCode.QUEUE_GONE)
_NAME = re.compile(r"\w+ \d+")


@dataclass
class Figures:
    """What the rounds came to."""

    rounds: int = 0
    power_losses: int = 0
    faults: int = 0
    writes: int = 0
    taken_back: int = 0
    lost_entries: int = 0
    reappeared: int = 0
    renames_undone: int = 0
    acknowledged: int = 0
    refused: int = 0
    timers: int = 0
    recalled: int = 0
    lost: int = 0
    repeated_delays_inside: int = 0
    repeated_commits_inside: int = 0
    repeated_timers_inside: int = 0
    repeats_outside: int = 0
    offsets_beyond: int = 0
    named_by_doctor: int = 0
    corrected: int = 0
    torn_configs: dict[str, int] = field(default_factory=dict)
    configs_from_backup: int = 0
    configs_rebuilt: int = 0
    admin_changes: int = 0
    admin_promised: int = 0
    admin_lost: int = 0
    admin_not_durable: int = 0
    problems: list[str] = field(default_factory=list)


class Store:
    """One store with its broker, through many rounds on one clock."""

    def __init__(self, root: Path, flush: str, version: str, random: Random, figures: Figures) -> None:
        self.root = root
        self.directory = root / "broker-a"
        self.flush = flush
        self.random = random
        self.figures = figures
        self.ledger = Ledger()
        settings = {**SETTINGS, "flushDiskType": flush}
        self.cluster = EmbeddedCluster(data_dir=root, settings=settings, virtual_time=True, version=version)
        self.name = f"{version} {flush}"

    @contextmanager
    def running(self) -> Iterator[None]:
        """The cluster; its broker is stopped and has left a dead store behind whenever a round begins.

        One layer lies below all lives of it: what a life that was killed did not sync, the next one had better.
        """
        with self.cluster, faulty_files(self.root, self.random) as self.files:
            with self.peer() as peer:
                self.fresh = FreshBroker.of(peer)
            self.cluster.broker().stop()
            self.before = self.dead()
            yield

    def peer(self) -> Peer:
        return Peer(self.cluster.broker().address)

    def dead(self) -> DeadStore:
        return DeadStore.read(self.directory, LOG_FILE_BYTES)

    def problem(self, text: str) -> None:
        self.figures.problems.append(f"round {self.figures.rounds} ({self.name}): {text}")

    def close(self) -> None:
        """Adds what the clients and the layer counted to the figures."""
        figures, admin, files = self.figures, self.ledger.admin, self.files
        figures.acknowledged += sum(map(len, self.ledger.acknowledged.values()))
        figures.refused += self.ledger.refused
        figures.timers += self.ledger.timers
        figures.recalled += self.ledger.recalls
        figures.admin_changes += admin.changes
        figures.admin_promised += admin.promised
        figures.admin_not_durable += admin.taken
        figures.faults += files.failures
        figures.writes += files.writes
        figures.taken_back += files.taken_back
        figures.lost_entries += files.lost_entries
        figures.reappeared += files.reappeared
        figures.renames_undone += files.renames_undone
        for name, count in sorted(files.torn.items()):
            figures.torn_configs[name] = figures.torn_configs.get(name, 0) + count


class Round:
    """One round on one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.random, self.figures, self.ledger = store.random, store.figures, store.ledger
        self.cluster, self.problem = store.cluster, store.problem
        self.is_power_lost = False
        self._healthy_ms: int | None = 0
        self._persisted_ms = 0
        self._timers_persisted_ms = 0

    @property
    def held(self) -> bool:
        """Whether everything that was written whole must be there after the crash."""
        return self.store.flush == SYNC_FLUSH or not self.is_power_lost

    def run(self) -> None:
        """Works under faults, loses power, and checks. Problems go to the figures."""
        files = self.store.files
        self.cluster.broker().start()
        self._begun_ms = self._healthy_ms = self.cluster.now_ms()
        with self.store.peer() as peer:
            traffic = DiskTraffic(peer, self.cluster, self.random, self.ledger)
            self._work(traffic, files)
            is_raced = self.store.flush == ASYNC_FLUSH and self.figures.rounds % 2 == 0
            if is_raced:
                self._race(traffic, files)
        self.cluster.broker().kill()
        files.heal()
        if is_raced or self.random.random() < 0.8:
            self.is_power_lost = True
            self.figures.power_losses += 1
            files.lose_power(0.0 if is_raced else self.random.choice((0.0, 0.5, 0.9)), small=1.0 if is_raced else None)
        crashed = self._judge_life(self.store.before)
        if self.held:
            timers = late_checkpoint(self.store.before.timers, crashed.timers, self._timers_persisted_ms)
            for text in (*late_offsets(self.store.before, crashed, self._persisted_ms), *timers):
                self._outside(text)
        self._check()
        self.store.before = self._judge_life(crashed)
        timers = late_checkpoint(crashed.timers, self.store.before.timers, None)
        for text in (*late_offsets(crashed, self.store.before, None), *timers):
            self._outside(text)
        self._verify()
        self.figures.rounds += 1

    # Work

    def _work(self, traffic: DiskTraffic, files: FaultyFiles) -> None:
        kinds: tuple[Callable[[], object], ...] = (
            *traffic.kinds(), partial(self._admin, traffic, files), self._expire,
        )  # fmt: skip
        for step in range(_STEPS):
            if step == _STEPS // 3:
                what, kind = self.random.choice(_FAULTS)
                files.fail_after(self.random.randrange(60), kind, what=what)
                self._healthy_ms = None
            if step == 2 * _STEPS // 3 and self.random.random() < 0.5:
                files.heal()
                self._healthy_ms = self.cluster.now_ms()
            self.random.choice(kinds)()
            if self.random.random() < 0.2:
                traffic.advance(self.random.choice((300, 700, 2_500, 11_000)))
                self._note_persisted()

    def _note_persisted(self) -> None:
        """Notes when delay offsets and the timer checkpoint were written last, while the disk was sound."""
        now_ms = self.cluster.now_ms()
        written_ms = now_ms - (now_ms - self._begun_ms) % _PERSIST_MS
        if self._healthy_ms is not None and self._healthy_ms < written_ms:
            self._persisted_ms = written_ms
        if self._healthy_ms is not None and self._healthy_ms < now_ms - _TIMER_SLACK_MS:
            self._timers_persisted_ms = now_ms - _TIMER_SLACK_MS

    def _admin(self, traffic: DiskTraffic, files: FaultyFiles) -> None:
        failures = files.failures
        self.ledger.admin.change(traffic.peer, self.random, lambda: files.failures == failures)

    def _expire(self) -> None:
        """Has retention delete all log files but the newest, and what led there."""
        self.ledger.expire(self.cluster.broker().on_loop(_names_to_expire))
        with suppress(StorageError):
            self.cluster.broker().on_loop(lambda broker: broker.storage.retention.delete_all_but_the_newest(_KEPT))

    def _race(self, traffic: DiskTraffic, files: FaultyFiles) -> None:
        """Has consumers commit what never reaches the disk, while their offsets do, as a power loss may have it."""
        files.heal()
        self._healthy_ms = None
        files.fail_after(0, errno.EIO, what="sync")
        for _ in range(9):
            traffic.plain()
        for queue_id in range(QUEUES):
            while traffic.consume_once(queue_id):
                pass
        traffic.advance(_SETTLE_MS)

    # Checks

    def _judge_life(self, before: DeadStore) -> DeadStore:
        """Reads what a life of the broker left, and judges what came twice in it."""
        after = self.store.dead()
        delays, commits, known = repeated_delays(before, after), repeated_commits(after), repeated_commits(before)
        self.figures.repeated_delays_inside += delays.inside
        self.figures.repeated_commits_inside += max(0, commits.inside - known.inside)
        timers_inside, timers_outside = timers_out_of_turn(before.timers, after.timers)
        self.figures.repeated_timers_inside += timers_inside
        if not self.held:  # of what the timer log and its checkpoint stand for, the commit log may have lost any part
            self.figures.repeated_timers_inside += len(timers_outside)
            timers_outside = []
        for text in (*delays.outside, *sorted({*commits.outside} - {*known.outside}), *timers_outside):
            self._outside(text)
        return after

    def _outside(self, text: str) -> None:
        self.figures.repeats_outside += 1
        self.problem(text)

    def _check(self) -> None:
        """Starts the broker on what the crash left, asks it for everything, and stops it."""
        survived = Survived.read(self.store.directory / "config")
        self.figures.configs_from_backup += survived.sources["backup"]
        self.figures.configs_rebuilt += survived.sources["none"]
        broker = self.cluster.broker()
        broker.start()
        with self.store.peer() as peer:
            for text in differences(survived, self.store.fresh, peer, broker):
                self.problem(text)
            for text in self.ledger.admin.check(peer, held=self.held):
                self.figures.admin_lost += 1
                self.problem(text)
            beyond = self._beyond(peer)
            self._named(beyond)
            traffic = DiskTraffic(peer, self.cluster, self.random, self.ledger)
            for _ in range(3):
                traffic.advance(_SETTLE_MS)
            for topic in STORE_TOPICS:  # if the file with its making could not be written
                peer.call(topic_request(topic, QUEUES, 6))
            self._compare({topic: self._stored(peer, topic) for topic in STORE_TOPICS})
            self._correct(peer, beyond)
        broker.stop()

    def _beyond(self, peer: Peer) -> list[tuple[int, int, int]]:
        """Queue, offset and end of every offset of the group that is beyond its queue's end."""
        beyond = []
        for queue_id in range(QUEUES):
            text = peer.call(QueryConsumerOffset(consumer_group="G", topic=PLAIN, queue_id=queue_id)).ext("offset")
            end = int(peer.call(GetMaxOffset(topic=PLAIN, queue_id=queue_id)).ext("offset") or 0)
            if text is not None and int(text) > end:
                beyond.append((queue_id, int(text), end))
        self.figures.offsets_beyond += len(beyond)
        if beyond and self.held:
            self.problem(f"offsets beyond the end: {beyond}")
        return beyond

    def _named(self, beyond: list[tuple[int, int, int]]) -> None:
        """Counts the queues that `doctor` names."""
        if not beyond:
            return
        findings = diagnose(gather_store(self.store.directory, deep=False)).findings
        named = [item.params["queues"] for item in findings if item.code == BEYOND and item.params["group"] == "G"]
        queues = {int(number) for text in named for number in str(text).split(", ")}
        self.figures.named_by_doctor += len(queues & {queue_id for queue_id, _, _ in beyond})
        if queues != {queue_id for queue_id, _, _ in beyond}:
            self.problem(f"beyond the end are {beyond}, doctor names queues {sorted(queues)}")

    def _correct(self, peer: Peer, beyond: list[tuple[int, int, int]]) -> None:
        """A pull beyond the end is told the end, and goes on from there."""
        for queue_id, offset, end in beyond:
            answer = peer.call(pull(PLAIN, offset, queue_id=queue_id, group="G"))
            next_offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
            if (answer.code, next_offset) != (ResponseCode.PULL_OFFSET_MOVED, end):
                self.problem(f"offset {offset} beyond {end} was answered with {answer.code} and {next_offset}")
                continue
            self.figures.corrected += 1
            peer.call(UpdateConsumerOffset(consumer_group="G", topic=PLAIN, queue_id=queue_id, commit_offset=end))

    def _compare(self, found: dict[str, list[str]]) -> None:
        """Compares what consumers get with what producers were told."""
        for topic, bodies in found.items():
            lost = self.ledger.acknowledged[topic] - set(bodies)
            if self.held and lost:
                self.figures.lost += len(lost)
                self.problem(f"lost of {topic}: {sorted(lost)[:5]}")
            self.ledger.acknowledged[topic] &= set(bodies)
            forbidden = self.ledger.forbidden & set(bodies)
            if forbidden:
                self.problem(f"rolled back, and delivered: {sorted(forbidden)[:5]}")
        recalled = self.ledger.recalled & set(found[TIMED])
        if self.held and recalled:
            self.problem(f"recalled, and delivered: {sorted(recalled)[:5]}")
        self.ledger.recalled -= recalled
        pending = self.ledger.decided - set(found[PAID])
        if self.held and pending:
            self.figures.lost += len(pending)
            self.problem(f"checked, and never committed: {sorted(pending)[:5]}")
        self.ledger.decided -= pending
        again = sum(Counter(found[PLAIN]).values()) - len(set(found[PLAIN]))
        if again:
            self.figures.repeats_outside += again
            self.problem(f"{again} plain messages are there twice")

    def _stored(self, peer: Peer, topic: str) -> list[str]:
        bodies: list[str] = []
        for queue_id in range(QUEUES):
            offset = int(peer.call(GetMinOffset(topic=topic, queue_id=queue_id)).ext("offset") or 0)
            while (answer := peer.call(pull(topic, offset, queue_id=queue_id))).code == 0:
                try:
                    messages = decode_messages(answer.body)
                except RecordError as error:
                    self.problem(f"{topic} {queue_id} cannot be read at {offset}: {error}")
                    break
                offsets = [message.queue_offset for message in messages]
                if offsets != list(range(offset, offset + len(messages))):
                    self.problem(f"{topic} {queue_id} has a gap at {offset}")
                bodies += _NAME.findall(" ".join(message.body.decode().split(";")[0] for message in messages))
                offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
        return bodies

    def _verify(self) -> None:
        for damage in verify(StoreDirectory.open(self.store.directory)).damages:
            # A crash brings back a part of the queue of a topic that was deleted, or its settings only; the rest of it
            # is nowhere.
            is_former = damage.topic == GONE and damage.code in _FORMER
            if damage.grade is DamageGrade.DAMAGE and not is_former:
                self.problem(f"{damage.file}: {damage.code}")


def _names_to_expire(broker: Broker) -> set[str]:
    """Names of the messages in files that retention may delete."""
    log = broker.storage.log
    kept = log.starts[-_KEPT:][0] if log.starts else 0
    records = RecordScan(log, log.min_offset, check_crc=False, end=kept)
    bodies = [decode_message(log.read(one.physical_offset, one.size_bytes)).body for one in records]
    return {body.decode().split(";")[0] for body in bodies}


def run(rounds: int, seed: int) -> Figures:
    """Runs so many rounds, a new store every eight; every third store flushes by interval, every second is of 5.x."""
    figures, random = Figures(), Random(seed)
    with TemporaryDirectory(prefix="mqctl-disks-") as name:
        for number in range(1, -(-rounds // _ROUNDS_PER_STORE) + 1):
            root = Path(name) / str(number)
            root.mkdir()
            flush = ASYNC_FLUSH if number % 3 == 0 else SYNC_FLUSH
            store = Store(root, flush, VERSIONS[number % 2], random, figures)
            with store.running():
                for _ in range(min(_ROUNDS_PER_STORE, rounds - figures.rounds)):
                    Round(store).run()
            store.close()
            shutil.rmtree(root)
    return figures


if __name__ == "__main__":
    # not in `run`: tests call it, and others of their process read the broker's log
    logging.getLogger("embedded_broker").setLevel(logging.CRITICAL + 1)
    sys.exit(run_rounds("disks", __doc__, run, sys.argv[1:], rounds=2_000))
