"""Rounds of a broker on a disk that fills, breaks and loses power, with every kind of traffic, and what must hold then.

`python -m tests.reliability.disks --rounds 2000 --seed 7`. A round starts a broker on the store of the last one, has
it work while writes or syncs fail and heal, cuts the power, starts it again and asks for everything:

* every message that was acknowledged under SYNC_FLUSH is there, each queue without a gap, rolled-back ones never;
* what comes twice was delivered from a delay level, or committed, before its offset or op record was on disk; counted;
* offsets beyond a queue's end come only with ASYNC_FLUSH; `doctor` names them, and the next pull is told the end;
* every file verifies.
"""

from __future__ import annotations

import argparse
import errno
import logging
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from embedded_broker import EmbeddedCluster
from embedded_broker.storage_settings import ASYNC_FLUSH, SYNC_FLUSH
from mqctl.diagnosis import diagnose
from mqctl.model.damage import DamageGrade
from mqctl.protocol.codes import ResponseCode
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import RecordError, decode_messages
from mqctl.protocol.requests_client import (
    EndTransaction,
    GetMaxOffset,
    PullMessageReply,
    QueryConsumerOffset,
    UpdateConsumerOffset,
)
from mqctl.snapshot.store_gatherer import gather_store
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.wire import Peer
from tests.reliability.faulty import FaultyFiles, faulty_files
from tests.reliability.results import write

QUEUES = 3
COMMIT, ROLLBACK = 8, 12
SETTINGS = {
    "mappedFileSizeCommitLog": "65536", "mappedFileSizeConsumeQueue": "2000", "maxHashSlotNum": "100",
    "maxIndexNum": "1000", "messageDelayLevel": "1s 2s", "transactionCheckInterval": "3600000",
}  # fmt: skip
_FAULTS = (("write", errno.ENOSPC), ("write", errno.EIO), ("sync", errno.EIO))
_STEPS = 60
_ROUNDS_PER_STORE = 12
_STORE_TOPICS = ("Plain", "Later", "Paid")
BEYOND = "MQ404"
_NAME = re.compile(r"\w+ \d+")


@dataclass
class Figures:
    """What the rounds came to."""

    rounds: int = 0
    power_losses: int = 0
    faults: int = 0
    writes: int = 0
    taken_back: int = 0
    acknowledged: int = 0
    refused: int = 0
    lost: int = 0
    repeated_delays: int = 0
    repeated_commits: int = 0
    offsets_beyond: int = 0
    corrected: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass
class Ledger:
    """What clients of one store were told."""

    acknowledged: dict[str, set[str]] = field(default_factory=lambda: {topic: set() for topic in _STORE_TOPICS})
    forbidden: set[str] = field(default_factory=set)
    number: int = 0
    elapsed_ms: int = 0


class Round:
    """One round on one store."""

    def __init__(self, root: Path, flush: str, random: Random, ledger: Ledger, figures: Figures) -> None:
        self.root = root
        self.flush = flush
        self.random = random
        self.ledger = ledger
        self.figures = figures

    @contextmanager
    def cluster(self) -> Iterator[EmbeddedCluster]:
        """A broker on the store; its clock goes on where that of the last one ended."""
        settings = {**SETTINGS, "flushDiskType": self.flush}
        with EmbeddedCluster(data_dir=self.root, settings=settings, virtual_time=True) as cluster:
            cluster.advance(self.ledger.elapsed_ms)
            yield cluster

    def _advance(self, cluster: EmbeddedCluster, ms: int) -> None:
        self.ledger.elapsed_ms += ms
        cluster.advance(ms)

    def run(self) -> None:
        """Works under faults, loses power, and checks. Problems go to the figures."""
        with faulty_files(self.root, self.random) as files:
            with self.cluster() as cluster:
                self._work(cluster, files)
                cluster.broker().kill()
                files.heal()
                if self.random.random() < 0.8:
                    self.figures.power_losses += 1
                    files.lose_power(self.random.choice((0.0, 0.5, 0.9)))
            self.figures.faults += files.failures
            self.figures.writes += files.writes
            self.figures.taken_back += files.taken_back
        with self.cluster() as cluster:
            beyond = self._check(cluster)
        self._verify()
        if beyond:
            self.figures.offsets_beyond += len(beyond)
            if self.flush == SYNC_FLUSH:
                self._problem(f"offsets beyond the end: {beyond}")
            self._named()
            self._correct(beyond)
        self.figures.rounds += 1

    # Work

    def _work(self, cluster: EmbeddedCluster, files: FaultyFiles) -> None:
        with Peer(cluster.broker().address) as peer:
            kinds: tuple[Callable[[Peer], None], ...] = (
                self._plain, self._plain, self._plain, self._later, self._transaction, self._consume,
            )  # fmt: skip
            for step in range(_STEPS):
                if step == _STEPS // 3:
                    what, kind = self.random.choice(_FAULTS)
                    files.fail_after(self.random.randrange(60), kind, what=what)
                if step == 2 * _STEPS // 3 and self.random.random() < 0.5:
                    files.heal()
                self.random.choice(kinds)(peer)
                if self.random.random() < 0.2:
                    self._advance(cluster, self.random.choice((300, 700, 2_500, 11_000)))

    def _body(self, kind: str) -> str:
        self.ledger.number += 1
        return f"{kind} {self.ledger.number}"

    def _sent(self, topic: str, body: str, code: int) -> None:
        if code == 0:
            self.figures.acknowledged += 1
            self.ledger.acknowledged[topic].add(body)
        else:
            self.figures.refused += 1

    def _plain(self, peer: Peer) -> None:
        body = self._body("plain")
        request = send("Plain", queue_id=self.random.randrange(QUEUES), queues=QUEUES, properties={"KEYS": body[6:]})
        self._sent("Plain", body, peer.call(request, f"{body};".encode() * self.random.choice((1, 40))).code)

    def _later(self, peer: Peer) -> None:
        body = self._body("later")
        request = send("Later", queue_id=0, properties={"DELAY": str(self.random.choice((1, 2)))})
        self._sent("Later", body, peer.call(request, body.encode()).code)

    def _transaction(self, peer: Peer) -> None:
        body, how = self._body("paid"), self.random.choice((COMMIT, COMMIT, ROLLBACK, None))
        properties = {"UNIQ_KEY": f"T{self.ledger.number}", "TRAN_MSG": "true", "PGROUP": "GP"}
        if how != COMMIT:
            self.ledger.forbidden.add(body)
        sent = peer.call(send("Paid", properties=properties, sys_flag=4), body.encode())
        if sent.code != 0 or how is None:
            return
        end = EndTransaction(
            producer_group="GP",
            tran_state_table_offset=int(sent.ext("queueOffset") or -1),
            commit_log_offset=OffsetId.parse(sent.ext("msgId") or "").physical_offset,
            commit_or_rollback=how,
            msg_id=f"T{self.ledger.number}",
        )
        ended = peer.call(end).code
        if how == COMMIT:
            self._sent("Paid", body, ended)

    def _consume(self, peer: Peer) -> None:
        queue_id = self.random.randrange(QUEUES)
        known = peer.call(QueryConsumerOffset(consumer_group="G", topic="Plain", queue_id=queue_id)).ext("offset")
        answer = peer.call(pull("Plain", int(known or 0), queue_id=queue_id, group="G"))
        if answer.code == 0:
            offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
            peer.call(UpdateConsumerOffset(consumer_group="G", topic="Plain", queue_id=queue_id, commit_offset=offset))

    # Checks

    def _beyond(self, peer: Peer) -> list[tuple[int, int, int]]:
        """Queue, offset and end of every offset of the group that is beyond its queue's end."""
        found = []
        for queue_id in range(QUEUES):
            text = peer.call(QueryConsumerOffset(consumer_group="G", topic="Plain", queue_id=queue_id)).ext("offset")
            end = int(peer.call(GetMaxOffset(topic="Plain", queue_id=queue_id)).ext("offset") or 0)
            if text is not None and int(text) > end:
                found.append((queue_id, int(text), end))
        return found

    def _named(self) -> None:
        """What `doctor` says of such a store."""
        diagnosis = diagnose(gather_store(self.root / "broker-a", deep=False))
        if not any(finding.code == BEYOND for finding in diagnosis.findings):
            self._problem("doctor does not name the offsets beyond the end")

    def _correct(self, beyond: list[tuple[int, int, int]]) -> None:
        """A pull beyond the end is told the end, and goes on from there."""
        with self.cluster() as cluster, Peer(cluster.broker().address) as peer:
            for queue_id, offset, end in beyond:
                answer = peer.call(pull("Plain", offset, queue_id=queue_id, group="G"))
                told = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
                if (answer.code, told) != (ResponseCode.PULL_OFFSET_MOVED, end):
                    self._problem(f"offset {offset} beyond {end} was answered with {answer.code} and {told}")
                self.figures.corrected += 1
                peer.call(UpdateConsumerOffset(consumer_group="G", topic="Plain", queue_id=queue_id, commit_offset=end))

    def _check(self, cluster: EmbeddedCluster) -> list[tuple[int, int, int]]:
        self._advance(cluster, 30_000)
        with Peer(cluster.broker().address) as peer:
            found = {topic: self._stored(peer, topic) for topic in _STORE_TOPICS}
            beyond = self._beyond(peer)
        for topic, bodies in found.items():
            lost = self.ledger.acknowledged[topic] - set(bodies)
            if self.flush == SYNC_FLUSH and lost:
                self.figures.lost += len(lost)
                self._problem(f"lost of {topic}: {sorted(lost)[:5]}")
            self.ledger.acknowledged[topic] &= set(bodies)
            forbidden = self.ledger.forbidden & set(bodies)
            if forbidden:
                self._problem(f"rolled back, and delivered: {sorted(forbidden)[:5]}")
        again = {topic: sum(Counter(bodies).values()) - len(set(bodies)) for topic, bodies in found.items()}
        if again["Plain"]:
            self._problem(f"{again['Plain']} plain messages are there twice")
        self.figures.repeated_delays = max(self.figures.repeated_delays, again["Later"])
        self.figures.repeated_commits = max(self.figures.repeated_commits, again["Paid"])
        return beyond

    def _stored(self, peer: Peer, topic: str) -> list[str]:
        bodies: list[str] = []
        for queue_id in range(QUEUES):
            offset = 0
            while (answer := peer.call(pull(topic, offset, queue_id=queue_id))).code == 0:
                try:
                    messages = decode_messages(answer.body)
                except RecordError as error:
                    self._problem(f"{topic} {queue_id} cannot be read at {offset}: {error}")
                    break
                if [message.queue_offset for message in messages] != list(range(offset, offset + len(messages))):
                    self._problem(f"{topic} {queue_id} has a gap at {offset}")
                bodies += _NAME.findall(" ".join(message.body.decode().split(";")[0] for message in messages))
                offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
        return bodies

    def _verify(self) -> None:
        report = verify(StoreDirectory.open(self.root / "broker-a"))
        for damage in report.damages:
            if damage.grade is DamageGrade.DAMAGE:
                self._problem(f"{damage.file}: {damage.code}")

    def _problem(self, text: str) -> None:
        self.figures.problems.append(f"round {self.figures.rounds} ({self.flush}): {text}")


def run(rounds: int, seed: int) -> Figures:
    """Runs so many rounds, a new store every twelve, alternating between the ways to flush."""
    figures, random = Figures(), Random(seed)
    logging.getLogger("embedded_broker").setLevel(logging.CRITICAL + 1)
    with TemporaryDirectory(prefix="mqctl-disks-") as name:
        ledger, store = Ledger(), 0
        for number in range(rounds):
            if number % _ROUNDS_PER_STORE == 0:
                shutil.rmtree(Path(name) / str(store), ignore_errors=True)
                store, ledger = store + 1, Ledger()
            root = Path(name) / str(store)
            root.mkdir(exist_ok=True)
            flush = ASYNC_FLUSH if store % 4 == 0 else SYNC_FLUSH
            Round(root, flush, random, ledger, figures).run()
    return figures


def main(words: list[str]) -> int:
    """Returns 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.disks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="write the figures that docs/reliability.md shows")
    options = parser.parse_args(words)
    figures = run(options.rounds, options.seed)
    write("disks", {"seed": options.seed, **vars(figures)}, save=options.save)
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
