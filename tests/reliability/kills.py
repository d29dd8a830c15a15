"""Rounds of `kill -9` of a broker process under sends, delays, transactions, consumption and administration.

`python -m tests.reliability.kills --rounds 300 --seed 7`. Each round starts the process on the store of the last one,
has several connections work until so many requests are acknowledged, kills it, and starts it again to ask for
everything: what was acknowledged is there, changes of topics and groups too, queues have no gaps, rolled-back and
recalled messages are not delivered, a delivery or commit that comes twice lay in its window when the process died (see
`repeats` and `timer_repeats`; any other is a problem), every transaction ends as its producer says when it is checked,
every file verifies. Brokers as 5.x get timer messages, too, some of which wait for longer than the wheel's window.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import time_ns

from mqctl.model.damage import DamageGrade
from mqctl.protocol.codes import RequestCode, ResponseCode
from mqctl.protocol.frame import RemotingCommand
from mqctl.protocol.message_id import OffsetId
from mqctl.protocol.message_record import decode_messages
from mqctl.protocol.requests_client import EndTransaction, PullMessageReply, RecallMessage, UpdateConsumerOffset
from mqctl.store.directory import StoreDirectory
from mqctl.store.verify import verify
from tests.embedded_broker.messages import heartbeat, pull, send
from tests.embedded_broker.test_process import process
from tests.embedded_broker.wire import Peer
from tests.reliability.admin_traffic import AdminLedger
from tests.reliability.repeats import DeadStore, late_offsets, repeated_commits, repeated_delays
from tests.reliability.results import run_rounds
from tests.reliability.timer_repeats import TIMED, late_checkpoint, timers_out_of_turn

_LOG_FILE_BYTES = 262_144
_SETTINGS = (
    f"mappedFileSizeCommitLog={_LOG_FILE_BYTES}", "mappedFileSizeConsumeQueue=4000", "messageDelayLevel=1s 1s",
    "recallMessageEnable=true",
    "transactionCheckInterval=3600000", "transactionTimeOut=200", "transactionCheckMax=1000",
)  # fmt: skip
_LAST = ("--set", "transactionCheckInterval=1500")  # a check that a kill makes forget doubles what is to be checked
_SETTINGS_OF_FIVE = (
    "transactionOpBatchInterval=300", "timerPrecisionMs=100", "timerRollWindowSlot=10",
    f"mappedFileSizeTimerLog={100 * 52 + 16}",
)  # fmt: skip
_TOPICS = ("Plain", "Later", "Paid", TIMED)
_WAITING = ("Later", TIMED)
_LONGEST_TIMER_MS = 2_500
_ROUNDS_PER_STORE = 10
_CHECK = RequestCode.CHECK_TRANSACTION_STATE
_QUIET_SECONDS = 3.5  # two checks of transactions fit in


@dataclass
class Figures:
    """What the rounds came to."""

    rounds: int = 0
    acknowledged: int = 0
    timers: int = 0
    recalled: int = 0
    lost: int = 0
    repeated_delays_inside: int = 0
    repeated_commits_inside: int = 0
    repeated_timers_inside: int = 0
    repeats_outside: int = 0
    admin_promised: int = 0
    admin_lost: int = 0
    problems: list[str] = field(default_factory=list)


class Traffic:
    """Five connections, six to a broker as 5.x, each with its own kind of request, on one store through many kills."""

    def __init__(self, *, is_v5: bool) -> None:
        self.is_v5 = is_v5
        self.recalled: set[str] = set()
        self.timers = 0
        self.acknowledged: dict[str, set[str]] = {topic: set() for topic in _TOPICS}
        self.forbidden: set[str] = set()
        self.decided: set[str] = set()
        self.admin = AdminLedger()
        self._number = 0
        self._left = 0
        self._lock = threading.Lock()
        self._enough = threading.Event()

    def run(self, address: str, wanted: int, kill: Callable[[], object]) -> None:
        """Works until `wanted` requests are acknowledged, then kills, under way as it is."""
        self._left = wanted
        self._enough.clear()
        kinds = [self._plain, self._later, self._paid, self._consume, self._admin]
        if self.is_v5:
            kinds.append(self._timed)
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

    def _timed(self, peer: Peer, number: int) -> None:
        """Sends a message with a time; every fifth is recalled, and comes or not until that is acknowledged."""
        body, delay_ms = f"timed {number}", Random(number).randrange(50, _LONGEST_TIMER_MS)
        timed = send(TIMED, properties={"TIMER_DELAY_MS": str(delay_ms), "UNIQ_KEY": f"T{number}"})
        sent = peer.call(timed, body.encode())
        if sent.code != 0:
            return
        self.timers += 1
        if number % 5:
            self.acknowledged[TIMED].add(body)
            return
        recall = RecallMessage(topic=TIMED, recall_handle=sent.ext("recallHandle") or "", producer_group="GP")
        code = peer.call(recall).code
        if code == 0:
            self.recalled.add(body)
        elif code == ResponseCode.ILLEGAL_OPERATION:  # it is about to be delivered
            self.acknowledged[TIMED].add(body)

    def _paid(self, peer: Peer, number: int) -> None:
        body, how = f"paid {number}", (8, 12, None)[number % 3]
        if how != 8:
            self.forbidden.add(body)
        properties = {"UNIQ_KEY": f"T{number}", "TRAN_MSG": "true", "PGROUP": "GP"}
        born_ms = time_ns() // 1_000_000
        sent = peer.call(send("Paid", properties=properties, sys_flag=4, born_ms=born_ms), body.encode())
        if how == 8 and sent.code == 0:
            self.decided.add(body)
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
        self.admin.change(peer, Random(number), lambda: True)

    def answer_checks(self, address: str) -> None:
        """Ends what is still open, as the broker asks; returns when it asks no more."""
        with Peer(address) as peer:
            heartbeat(peer, "producer")
            try:
                while True:
                    check_request = peer.receive(lambda command: command.code == _CHECK, seconds=_QUIET_SECONDS)
                    self._answer(peer, check_request)
            except TimeoutError:
                return

    def _answer(self, peer: Peer, asked: RemotingCommand) -> None:
        key = asked.ext("msgId") or ""
        end = EndTransaction(
            producer_group="GP", tran_state_table_offset=int(asked.ext("tranStateTableOffset") or -1),
            commit_log_offset=int(asked.ext("commitLogOffset") or -1), from_transaction_check=True, msg_id=key,
            commit_or_rollback=12 if f"paid {key[1:]}" in self.forbidden else 8,
        )  # fmt: skip
        peer.post(end, oneway=True)


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
        if topic not in _WAITING or last:
            lost = traffic.acknowledged[topic] - set(bodies)
            figures.lost += len(lost)
            if lost:
                figures.problems.append(f"round {figures.rounds}: lost of {topic}: {sorted(lost)[:5]}")
        if traffic.forbidden & set(bodies):
            figures.problems.append(f"round {figures.rounds}: rolled back, and delivered")
        if topic == TIMED and traffic.recalled & set(bodies):
            figures.problems.append(
                f"round {figures.rounds}: recalled, and delivered: {traffic.recalled & set(bodies)}"
            )
        again = sum(Counter(bodies).values()) - len(set(bodies))
        if topic == "Plain" and again:
            figures.repeats_outside += again
            figures.problems.append(f"round {figures.rounds}: {again} plain messages are there twice")
        if last and topic == "Paid" and traffic.decided - set(bodies):
            pending = sorted(traffic.decided - set(bodies))
            figures.lost += len(pending)
            figures.problems.append(f"round {figures.rounds}: checked, and never committed: {pending[:5]}")


def judge(before: DeadStore, directory: Path, figures: Figures) -> DeadStore:
    """Reads what a life of the broker left, and judges what came twice in it."""
    after = DeadStore.read(directory, _LOG_FILE_BYTES)
    delays, commits, known = repeated_delays(before, after), repeated_commits(after), repeated_commits(before)
    figures.repeated_delays_inside += delays.inside
    figures.repeated_commits_inside += commits.inside - known.inside
    timers_inside, timers_outside = timers_out_of_turn(before.timers, after.timers)
    figures.repeated_timers_inside += timers_inside
    outside = [*delays.outside, *sorted({*commits.outside} - {*known.outside}), *timers_outside]
    figures.repeats_outside += len(outside)
    figures.problems += [f"round {figures.rounds}: {text}" for text in outside]
    return after


def run(rounds: int, seed: int) -> Figures:
    """Runs so many rounds, with a new store every ten; of two stores one is of 5.x, of four two flush by interval."""
    figures, random = Figures(), Random(seed)
    with TemporaryDirectory(prefix="mqctl-kills-") as name:
        for first in range(0, rounds, _ROUNDS_PER_STORE):
            root, number = Path(name) / str(first), first // _ROUNDS_PER_STORE
            flush = ("SYNC_FLUSH", "ASYNC_FLUSH")[number // 2 % 2]  # a kill takes nothing of either
            version = ("5.3.3", "4.9.8")[number % 2]
            settings = (*_SETTINGS, f"flushDiskType={flush}", *(_SETTINGS_OF_FIVE if version == "5.3.3" else ()))
            words = ["--data-dir", str(root), "--as-version", version]
            words += [word for item in settings for word in ("--set", item)]
            traffic = Traffic(is_v5=version == "5.3.3")
            _one_store(words, root / "broker-a", traffic, min(_ROUNDS_PER_STORE, rounds - first), random, figures)
            shutil.rmtree(root, ignore_errors=True)
    return figures


def _one_store(
    words: list[str], directory: Path, traffic: Traffic, rounds: int, random: Random, figures: Figures
) -> None:
    before = DeadStore()
    for number in range(rounds):
        with process(*words) as (running, ready):
            traffic.run(ready["brokers"][0]["address"], random.randrange(50, 600), running.kill)
            running.wait(60)
        before = judge(before, directory, figures)
        last = number == rounds - 1
        with process(*words, *(_LAST if last else ())) as (_, ready):
            address = ready["brokers"][0]["address"]
            _check_admin(address, traffic, figures)
            if last:
                for topic in _WAITING:
                    _wait_for_delays(address, topic, traffic)
                traffic.answer_checks(address)
            check(address, traffic, figures, last=last)
        crashed, before = before, judge(before, directory, figures)
        late = [*late_offsets(crashed, before, None), *late_checkpoint(crashed.timers, before.timers, None)]
        figures.repeats_outside += len(late)
        report = verify(StoreDirectory.open(directory))
        figures.problems += [
            *(f"round {figures.rounds}: {text}" for text in late),
            *(
                f"round {figures.rounds}: {item.file}: {item.code}"
                for item in report.damages
                if item.grade is DamageGrade.DAMAGE
            ),
        ]
        figures.rounds += 1
    figures.acknowledged += sum(map(len, traffic.acknowledged.values()))
    figures.timers += traffic.timers
    figures.recalled += len(traffic.recalled)
    figures.admin_promised += traffic.admin.promised


def _check_admin(address: str, traffic: Traffic, figures: Figures) -> None:
    with Peer(address) as peer:
        problems = traffic.admin.check(peer, held=True)
    figures.admin_lost += len(problems)
    figures.problems += [f"round {figures.rounds}: {text}" for text in problems]


def _wait_for_delays(address: str, topic: str, traffic: Traffic) -> None:
    """Waits by long polls until what was delayed has been delivered."""
    with Peer(address) as peer:
        seen: set[str] = set()
        offset = 0
        while traffic.acknowledged[topic] - seen:
            answer = peer.call(pull(topic, offset, wait_ms=5_000))
            if answer.code != 0:
                return
            seen |= {message.body.decode() for message in decode_messages(answer.body)}
            offset = PullMessageReply.from_ext(answer.ext_fields).next_begin_offset


if __name__ == "__main__":
    sys.exit(run_rounds("kills", __doc__, run, sys.argv[1:], rounds=300))
