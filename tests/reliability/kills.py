"""Rounds of `kill -9` of a broker process under sends, delays, transactions, consumption and administration.

`python -m tests.reliability.kills --rounds 300 --seed 7`. Each round starts the process on the store of the last one,
has several connections work until so many requests are acknowledged, kills it, and starts it again to ask for
everything: what was acknowledged is there, queues have no gaps, rolled-back messages are not delivered, a repeated
message comes from a delay level or a commit (counted), every file verifies.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from mqctl.model.damage import DamageGrade
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_admin import CreateTopic
from mqctl.protocol.requests_client import EndTransaction, PullMessageReply, UpdateConsumerOffset
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.embedded_broker.messages import pull, send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer
from tests.reliability.results import write

_SETTINGS = (
    "mappedFileSizeCommitLog=262144", "mappedFileSizeConsumeQueue=4000", "messageDelayLevel=1s 1s",
    "transactionCheckInterval=3600000",
)  # fmt: skip
_TOPICS = ("Plain", "Later", "Paid")
_ROUNDS_PER_STORE = 10


@dataclass
class Figures:
    """What the rounds came to."""

    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    repeated_delays: int = 0
    repeated_commits: int = 0
    problems: list[str] = field(default_factory=list)


class Traffic:
    """Five connections, each with its own kind of request, on one store through many kills."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, set[str]] = {topic: set() for topic in _TOPICS}
        self.forbidden: set[str] = set()
        self._number = 0
        self._left = 0
        self._lock = threading.Lock()
        self._enough = threading.Event()

    def run(self, address: str, wanted: int, kill: Callable[[], object]) -> None:
        """Works until `wanted` requests are acknowledged, then kills, under way as it is."""
        self._left = wanted
        self._enough.clear()
        kinds = (self._plain, self._later, self._paid, self._consume, self._admin)
        workers = [threading.Thread(target=self._work, args=(kind, address)) for kind in kinds]
        for worker in workers:
            worker.start()
        self._enough.wait(60)
        kill()
        for worker in workers:
            worker.join(60)

    def _work(self, kind: Callable[[Peer, int], None], address: str) -> None:
        try:
            with Peer(address) as peer:
                while True:
                    with self._lock:
                        self._number += 1
                        number = self._number
                    kind(peer, number)
                    with self._lock:
                        self._left -= 1
                    if self._left <= 0:
                        self._enough.set()
        except OSError:
            return  # killed

    def _plain(self, peer: Peer, number: int) -> None:
        body = f"plain {number}"
        if peer.call(send("Plain", queue_id=number % 4, properties={"KEYS": str(number)}), body.encode()).code == 0:
            self.acknowledged["Plain"].add(body)

    def _later(self, peer: Peer, number: int) -> None:
        body = f"later {number}"
        if peer.call(send("Later", properties={"DELAY": str(1 + number % 2)}), body.encode()).code == 0:
            self.acknowledged["Later"].add(body)

    def _paid(self, peer: Peer, number: int) -> None:
        body, how = f"paid {number}", (8, 12, None)[number % 3]
        if how != 8:
            self.forbidden.add(body)
        properties = {"UNIQ_KEY": f"T{number}", "TRAN_MSG": "true", "PGROUP": "GP"}
        sent = peer.call(send("Paid", properties=properties, sys_flag=4), body.encode())
        if how is None or sent.code != 0:
            return
        end = EndTransaction(
            producer_group="GP", tran_state_table_offset=int(sent.ext("queueOffset") or -1),
            commit_log_offset=OffsetId.parse(sent.ext("msgId") or "").physical_offset, commit_or_rollback=how,
            msg_id=f"T{number}",
        )  # fmt: skip
        if peer.call(end).code == 0 and how == 8:
            self.acknowledged["Paid"].add(body)

    def _consume(self, peer: Peer, number: int) -> None:
        answer = peer.call(pull("Plain", 0, queue_id=number % 4, group="G"))
        if answer.code == 0:
            offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
            commit = UpdateConsumerOffset(consumer_group="G", topic="Plain", queue_id=number % 4, commit_offset=offset)
            peer.call(commit)

    def _admin(self, peer: Peer, number: int) -> None:
        peer.call(
            CreateTopic(
                topic=f"Made{number % 20}", default_topic="TBW102", read_queue_nums=1 + number % 3,
                write_queue_nums=1 + number % 3, perm=6, topic_filter_type="SINGLE_TAG",
            )
        )  # fmt: skip


def stored(address: str, topic: str, problems: list[str]) -> list[str]:
    """Reads a topic; a gap in a queue is a problem."""
    bodies: list[str] = []
    with Peer(address) as peer:
        for queue_id in range(4):
            offset = 0
            while (answer := peer.call(pull(topic, offset, queue_id=queue_id))).code == 0:
                messages = decode_messages(answer.body)
                if [message.queue_offset for message in messages] != list(range(offset, offset + len(messages))):
                    problems.append(f"{topic} {queue_id} has a gap at {offset}")
                bodies += [message.body.decode() for message in messages]
                offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset
    return bodies


def check(address: str, traffic: Traffic, figures: Figures, *, last: bool) -> None:
    """Asks a broker for everything; delayed messages are due after the store's last round."""
    for topic in _TOPICS:
        bodies = stored(address, topic, figures.problems)
        if topic != "Later" or last:
            lost = traffic.acknowledged[topic] - set(bodies)
            figures.lost += len(lost)
            if lost:
                figures.problems.append(f"round {figures.rounds}: lost of {topic}: {sorted(lost)[:5]}")
        if traffic.forbidden & set(bodies):
            figures.problems.append(f"round {figures.rounds}: rolled back, and delivered")
        again = sum(Counter(bodies).values()) - len(set(bodies))
        if topic == "Plain" and again:
            figures.problems.append(f"round {figures.rounds}: {again} plain messages are there twice")
        if last and topic == "Later":
            figures.repeated_delays += again
        if last and topic == "Paid":
            figures.repeated_commits += again


def run(rounds: int, seed: int) -> Figures:
    """Runs so many rounds, with a new store every ten."""
    figures, random = Figures(), Random(seed)
    with TemporaryDirectory(prefix="mqctl-kills-") as name:
        traffic, root = Traffic(), Path(name) / "0"
        for number in range(rounds):
            if number % _ROUNDS_PER_STORE == 0:
                shutil.rmtree(root, ignore_errors=True)
                traffic, root = Traffic(), Path(name) / str(number)
            flush = ("SYNC_FLUSH", "ASYNC_FLUSH")[number // _ROUNDS_PER_STORE % 2]  # a kill takes nothing of either
            words = [word for item in (*_SETTINGS, f"flushDiskType={flush}") for word in ("--set", item)]
            with process("--data-dir", str(root), *words) as (running, ready):
                traffic.run(ready["brokers"][0]["address"], random.randrange(50, 600), running.kill)
                running.wait(60)
            last = number % _ROUNDS_PER_STORE == _ROUNDS_PER_STORE - 1 or number == rounds - 1
            with process("--data-dir", str(root), *words) as (_, ready):
                address = ready["brokers"][0]["address"]
                if last:
                    _wait_for_delays(address, traffic)
                check(address, traffic, figures, last=last)
            report = verify(StoreDirectory.open(root / "broker-a"))
            figures.problems += [
                f"round {number}: {item.file}: {item.code}"
                for item in report.damages
                if item.grade is DamageGrade.DAMAGE
            ]
            figures.rounds += 1
            if last:
                figures.acknowledged += sum(map(len, traffic.acknowledged.values()))
    return figures


def _wait_for_delays(address: str, traffic: Traffic) -> None:
    """Waits by long polls until what was delayed has been delivered."""
    with Peer(address) as peer:
        seen: set[str] = set()
        offset = 0
        while traffic.acknowledged["Later"] - seen:
            answer = peer.call(pull("Later", offset, wait_ms=5_000))
            if answer.code != 0:
                return
            seen |= {message.body.decode() for message in decode_messages(answer.body)}
            offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset


def main(words: list[str]) -> int:
    """Returns 1 when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.kills", description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="write the figures that docs/reliability.md shows")
    options = parser.parse_args(words)
    figures = run(options.rounds, options.seed)
    write("kills", {"seed": options.seed, **vars(figures)}, save=options.save)
    return 1 if figures.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
