"""Waiting until the members of a group have taken new offsets over, and the proof for each queue.

A member that is told to begin elsewhere drops its queues at once, waits ten seconds, commits the new offset and begins
anew (`MQClientInstance.resetOffset` of 4.9.8), so nothing is proven when the broker says success. An offset that was
moved back and is beyond the old one by the next look proves nothing either: that its member had dropped the queue and
began anew does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import AddressedQuestion
from mqctl.errors import MqctlError
from mqctl.execute.holders import QueueHolder, QueueHolders, holders
from mqctl.execute.records import CONFIRMED, NOT_MOVED, SENT, UNKNOWN, OffsetRecord, QueuePart
from mqctl.model.plan import Method
from mqctl.model.queue import MessageQueue

_LOOK_EVERY_MS = 400
_LOOK_AT_MOST_EVERY_MS = 3_000
_ASK_MS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How to wait.

    Attributes:
        wait_ms: for all members together.
        pause: waits so many milliseconds.
        report: told how many queues are decided, of how many.
    """

    wait_ms: int
    pause: Callable[[int], None]
    report: Callable[[int, int], None] = lambda _done, _total: None


@dataclass(slots=True)
class _Watched:
    """What was seen of one queue.

    Attributes:
        dropped: a member was seen to have dropped it.
        began_anew: and later a member had it again.
        rests: whether a member that obeys is seen with the queue dropped for ten seconds.
        told: whether, at the last look, every member told what it holds.
    """

    record: QueuePart
    rests: bool
    error: MqctlError | None = None
    dropped: bool = False
    began_anew: bool = False
    told: bool = False
    holder: QueueHolder | None = None
    queue: MessageQueue = field(init=False)

    def __post_init__(self) -> None:
        self.queue = self.record.queue

    def note(self, told: QueueHolders) -> None:
        holder = told.queues.get(self.queue)
        self.told = told.complete
        self.holder = holder or self.holder
        if holder is not None and holder.dropped:
            self.dropped = True
        elif holder is not None and self.dropped:
            self.began_anew = True

    @property
    def proven(self) -> bool:
        old, new, found = self.record.old, self.record.new, self.record.found
        if found is None or self.error is not None:
            return False
        if found == new:
            return True
        if found < new:
            return False
        if old is not None and (old < new or found < old):
            return True
        return self.began_anew

    def judge(self) -> None:
        """Says what is known when the wait is over."""
        record, found = self.record, self.record.found
        if self.error is not None:
            record.fail(UNKNOWN, self.error, f"could not be read back: {self.error}")
            return
        who = f"{self.holder.client_id}, which holds the queue," if self.holder is not None else "somebody"
        if found is not None and found > record.new and not (self.rests and self.told):
            record.state = UNKNOWN
            record.reason = f"the broker has {found}: consumed again already, or never moved"
        elif found == record.old:
            record.state, record.reason = NOT_MOVED, f"the broker still has {found}: no member has taken it over"
        else:
            record.state, record.reason = NOT_MOVED, f"the broker has {found}: {who} has committed that over it"


def settle(cluster: Cluster, record: OffsetRecord, addresses: Mapping[str, str], patience: Patience) -> None:
    """Reads back every queue that is `sent` until each is proven or the time is over, and says what became of it."""
    watched = [_Watched(queue, record.method == Method.CALLBACK) for queue in record.parts if queue.state == SENT]
    deadline = Deadline(patience.wait_ms)
    total = len(watched)
    while watched:
        last = deadline.expired
        # A broker that is silent must not cost the others their turn: it is asked again at the end.
        _read_back(cluster, record.subject, addresses, [item for item in watched if last or item.error is None])
        for item in watched:
            if item.proven:
                item.record.state = CONFIRMED
        watched = [item for item in watched if not item.proven]
        patience.report(total - len(watched), total)
        if not watched or last:
            break
        told = holders(cluster, set(addresses.values()), record.subject, Deadline(_ASK_MS))
        for item in watched:
            item.note(told)
        # Each look costs every member an answer: large groups are looked at less often.
        pause_ms = min(_LOOK_EVERY_MS * (1 + told.member_count // 10), _LOOK_AT_MOST_EVERY_MS)
        patience.pause(min(pause_ms, deadline.remaining_ms))
    for item in watched:
        item.judge()


def _read_back(cluster: Cluster, group: str, addresses: Mapping[str, str], watched: list[_Watched]) -> None:
    asks = {
        id(ask): (ask, item)
        for item in watched
        for ask in [
            AddressedQuestion(
                addresses[item.record.broker_name],
                consumer_offset(group, item.record.topic, item.record.queue_id),
            )
        ]
    }
    for outcome in cluster.ask_many([ask for ask, _ in asks.values()], Deadline(_ASK_MS)):
        item = asks[id(outcome.ask)][1]
        item.error = outcome.error
        if outcome.error is None:
            item.record.found = outcome.value()
