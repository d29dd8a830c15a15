"""Which messages a broker may bring a second time, from what its store held when it died.

Two records tell of what was done: `config/delayOffset.json` how far each delay level is delivered, and the op queue
which transactions are ended. What was done after they last reached the disk is done again at the next start, once; that
is the window. All is read from files of brokers that do not run, with the readers that recovery uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from embedded_broker.transactions.op_messages import ended_offsets
from mqctl.model.message import TRANSACTION_CHECK_TIMES, Message
from mqctl.model.names import HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC
from mqctl.protocol.message_record import decode_message
from mqctl.store.config_files import DELAY_OFFSETS, delay_offsets, read_config
from mqctl.store.disk import Disk
from mqctl.store.log_writer import CommitLogWriter, file_starts
from mqctl.store.recovery import RecordScan
from tests.reliability.timer_repeats import DeadTimers

LATER, PAID = "Later", "Paid"
"""Topics of delayed and of transactional messages; the body of each message is its name."""


@dataclass(frozen=True, slots=True)
class Half:
    """A half message or a copy of it.

    Attributes:
        physical_offset: where it is; commits name it so.
        queue_offset: its place in the half topic; op messages name it so.
        checks: 0 for what the producer sent, one more with each copy.
    """

    physical_offset: int
    queue_offset: int
    checks: int


@dataclass
class DeadStore:
    """What the files of a broker that ended tell.

    Attributes:
        delivered: copies by delayed message.
        delivered_ms: when each was last delivered, epoch ms.
        waiting: delayed messages at or behind the recorded offset of their level: the next start delivers them.
        offsets: the recorded offsets by level.
        halves: by physical offset; `keys` the transaction of each.
        commits: by transaction, the physical offsets of the half messages that were committed, in log order.
        ops: by half queue offset, the physical offsets of the op messages that name it.
        timers: timer messages of 5.x.
        log_min: physical offset of the first byte that retention left.
    """

    delivered: Counter[str] = field(default_factory=Counter)
    delivered_ms: dict[str, int] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    offsets: dict[int, int] = field(default_factory=dict)
    halves: dict[int, Half] = field(default_factory=dict)
    keys: dict[str, list[Half]] = field(default_factory=dict)
    commits: dict[str, list[int]] = field(default_factory=dict)
    ops: dict[int, list[int]] = field(default_factory=dict)
    timers: DeadTimers = field(default_factory=DeadTimers)
    log_min: int = 0

    @classmethod
    def read(cls, directory: Path, file_bytes: int) -> DeadStore:
        """Reads the store; `file_bytes` is the size of its log files. The log ends where recovery would end it."""
        store = cls(offsets=dict(delay_offsets(read_config(directory / "config", DELAY_OFFSETS)).offsets))
        store.log_min = min(file_starts(f"{directory}/commitlog"), default=0)
        for message in _messages(directory, file_bytes):
            store._take(message)
            store.timers.take(message)
        store.timers.end(directory, store.log_min)
        return store

    def _take(self, message: Message) -> None:
        name = message.body.decode()
        if message.topic == SCHEDULE_TOPIC:
            if message.queue_offset >= self.offsets.get(message.queue_id + 1, 0):
                self.waiting.add(name)
        elif message.topic == LATER:
            self.delivered[name] += 1
            self.delivered_ms[name] = message.store_time_ms
        elif message.topic == HALF_TOPIC:
            half = Half(
                message.physical_offset,
                message.queue_offset,
                int(message.properties.get(TRANSACTION_CHECK_TIMES, "0")),
            )
            self.halves[half.physical_offset] = half
            self.keys.setdefault(name, []).append(half)
        elif message.topic == PAID:
            self.commits.setdefault(name, []).append(message.prepared_transaction_offset)
        elif message.topic == OP_TOPIC:
            for offset in ended_offsets(message.body):
                self.ops.setdefault(offset, []).append(message.physical_offset)

    def not_durable(self) -> set[str]:
        """Delayed messages that were delivered, and wait all the same: the window of delayOffset.json."""
        return self.waiting & set(self.delivered)


def _messages(directory: Path, file_bytes: int) -> Iterator[Message]:
    disk = Disk()
    try:
        log = CommitLogWriter(f"{directory}/commitlog", disk, file_bytes=file_bytes)
        for record in RecordScan(log, log.min_offset, check_crc=True):
            yield decode_message(log.read(record.physical_offset, record.size_bytes))
    finally:
        disk.close()


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many messages came again within their window, and in words those that came outside of one."""

    inside: int
    outside: tuple[str, ...]


def repeated_delays(before: DeadStore, after: DeadStore) -> Repeats:
    """Judges one life of a broker: each delayed message that waited is delivered once in it, no other is.

    Args:
        before, after: the store when the broker was started, and when it had ended.
    """
    inside, outside = 0, []
    for name, count in after.delivered.items():
        known = before.delivered[name]
        if count - known > 1:
            outside.append(f"{name} was delivered {count - known} times in one life of the broker")
        elif count > known > 0:
            if name in before.waiting:
                inside += 1
            else:
                outside.append(f"{name} was delivered again, and its level's offset was on disk")
    return Repeats(inside, tuple(outside))


def late_offsets(before: DeadStore, after: DeadStore, persisted_ms: int | None) -> list[str]:
    """Names what a life delivered and left as waiting though offsets were written since.

    Args:
        persisted_ms: when they were written, epoch ms; None when they were at last, as the broker was stopped.
    """
    return [
        f"{name} was delivered at {after.delivered_ms[name]}, and the offsets written since leave it out"
        for name in sorted(after.not_durable())
        if after.delivered[name] > before.delivered[name]
        and (persisted_ms is None or after.delivered_ms[name] < persisted_ms)
    ]


def repeated_commits(store: DeadStore) -> Repeats:
    """Judges what a store holds: a transaction is committed again only for a copy of its half message, and the op
    message of the one that was copied was not there when it was checked, that is when the copy was stored.

    An op message of an earlier one ends nothing any more: `TransactionalMessageServiceImpl` of 4.9.8 looks for the one
    that it checks.
    """
    inside, outside = 0, []
    for name, commits in store.commits.items():
        for number, answered in enumerate(commits[1:], start=1):
            problem = _commit_problem(store, name, commits[:number], answered)
            if problem is None:
                inside += 1
            else:
                outside.append(f"{name} {problem}")
    return Repeats(inside, tuple(outside))


def _commit_problem(store: DeadStore, name: str, earlier: list[int], answered: int) -> str | None:
    if answered < store.log_min:
        return None  # nobody knows any more
    if answered not in store.halves:
        return f"was committed again for {answered}, where no half message is"
    if answered in earlier:
        return f"was committed twice for its half message at {answered}"
    checks = store.halves[answered].checks
    copied = [half for half in store.keys[name] if half.physical_offset < answered and half.checks == checks - 1]
    if not copied and store.log_min:
        return None
    if not copied:
        return f"was committed twice, at last for {answered}, which is no copy"
    if all(any(op < answered for op in store.ops.get(half.queue_offset, ())) for half in copied):
        return f"was checked at {answered}, and its op message was there"
    return None
