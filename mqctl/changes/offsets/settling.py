"""Waiting until the members of a group have taken new offsets over and keep them, and the proof for each queue.

A member that is told to begin elsewhere drops its queues at once, waits ten seconds, commits the new offset and takes
the queues up again (`MQClientInstance.resetOffset` of 4.9.8), at its next rebalance at the latest 20 s later. Nothing
is proven when the broker says success, nor when it has the new offset: members commit what they remember every 5 s, and
one that still remembers the old offset brings the queue back to it. So:

* A queue is on its way once its offset lies on the new side: for one that goes back, from the new offset up to below
  the old one; for one that goes forward, from the new one on.
* It is looked at until the member that holds it remembers an offset on the new side too, or none, and for a time longer
  than that between two commits after that.
* A pull that waited at the old end when its queue was dropped is answered up to 20 s after the word, and takes what the
  member remembers to that end, whoever holds the queue then (`PullCallback`, `correctTagsOffset`). A queue that goes
  back is therefore watched until that is over and members would have committed it.
* A member whose first unfinished message lies before the offset on the broker has not consumed what lies between: the
  offset went back, however many messages were consumed meanwhile.
* An offset that was moved back and is beyond the old one at the next look was consumed on or went back. What was seen
  in between tells, or how much the members say they have consumed (request 307): the messages that lie between must be
  among those. Where members do not say that, nobody knows.

How long members pause is seen, and the time between two commits is half of that in Java (10 s and 5 s): whoever runs
with shorter times has both of them shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mqctl.changes.engine.records import (
    CONFIRMED,
    CONSUMED_ON,
    NOT_MOVED,
    SENT,
    UNKNOWN,
    WENT_BACK,
    OffsetRecord,
    QueuePart,
)
from mqctl.changes.offsets.holders import QueueHolder, QueueHolders, holders
from mqctl.client.admin.broker_queries import consumer_offset
from mqctl.client.admin.cluster import Cluster
from mqctl.client.remoting.deadline import Deadline
from mqctl.client.remoting.fan_out import AddressedQuestion
from mqctl.errors import MqctlError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.text import sentence

_LOOK_EVERY_MS = 400
_LOOK_AT_MOST_EVERY_MS = 3_000
_ASK_MS = 1_000
_HOLD_MS = 6_000
_HOLD_SHARE = 0.6
_LATE_PULL_MS = 20_000  # 15 s of waiting, and a broker looks every 5 s
_LATE_PULL_RESTS = 2  # twice the 10 s of a rest
_TWICE = 2  # members count what they consumed every 10 s
_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How to wait.

    Attributes:
        wait_ms: for all members together.
        pause: waits so many milliseconds.
        report: told what is waited for, how many queues are decided, and of how many.
    """

    wait_ms: int
    pause: Callable[[int], None]
    report: Callable[[str, int, int], None] = lambda _what, _done, _total: None


@dataclass(slots=True)
class _Watched:
    """What was seen of one queue.

    Attributes:
        dropped: a member was seen to have dropped it.
        began_anew: and later a member had it again.
        arrived: its offset was seen on the new side.
        consumed: and beyond the new offset, before it was at the old one again: members consume from there.
        arrived_ms: since when it has been there at every look, after the beginning.
        resumed_ms: since when a member that remembers the new side has held it.
        rest_ms: how long that took for the first time, at least; the look before it did not show it yet.
        rested_ms: how long it took at most.
        looked_ms: when it was looked at last.
        off_ms: since when it has been elsewhere although it had arrived, or members had begun anew.
        told: whether, at the last look, every member told what it holds.
        cached_from: the first message that the member with the queue has and has not finished, at the last look.
    """

    part: QueuePart
    error: MqctlError | None = None
    dropped: bool = False
    began_anew: bool = False
    arrived: bool = False
    consumed: bool = False
    arrived_ms: int | None = None
    resumed_ms: int | None = None
    rest_ms: int | None = None
    rested_ms: int = 0
    looked_ms: int = 0
    off_ms: int | None = None
    told: bool = False
    holder: QueueHolder | None = None
    cached_from: int | None = None

    @property
    def goes_back(self) -> bool:
        return self.part.old is not None and self.part.new < self.part.old

    def is_on(self, offset: int | None) -> bool:
        """Tells whether an offset lies on the new side."""
        part = self.part
        if offset is None or offset < part.new:
            return False
        return not self.goes_back or part.old is None or offset < part.old

    def note_offset(self, at_ms: int) -> None:
        """Notes the offset that was read back."""
        if self.error is not None:
            return
        if not self.is_on(self.part.found):
            self.arrived_ms = None
            if self.off_ms is None and (self.arrived or self.began_anew):
                self.off_ms = at_ms
            return
        self.arrived, self.off_ms = True, None
        self.arrived_ms = at_ms if self.arrived_ms is None else self.arrived_ms
        self.consumed = self.consumed or self.part.found != self.part.new

    def note_members(self, held: QueueHolders, at_ms: int) -> None:
        """Notes what the members say."""
        holder = held.queues.get(self.part.queue)
        self.told = held.complete
        self.holder = holder or self.holder
        self.cached_from = holder.cached_from if holder is not None else None
        if holder is None:
            if held.complete and held.member_count == 0:
                self._resumed(at_ms)  # no member is left who could commit
            return
        if self.dropped and not holder.dropped and not self.began_anew:
            self.began_anew = True
            self._rested(at_ms)
        self.dropped = self.dropped or holder.dropped
        # One that is still at a message of before keeps the queue dropped, and commits nothing of it any more.
        if holder.position is None or self.is_on(holder.position):
            self.consumed = self.consumed or holder.position not in (None, self.part.new)
            self._resumed(at_ms)
        elif not self.goes_back or not self.consumed:
            self.resumed_ms = None

    def _resumed(self, at_ms: int) -> None:
        if self.arrived_ms is None:
            return
        self.resumed_ms = at_ms if self.resumed_ms is None else self.resumed_ms
        self._rested(at_ms)

    def _rested(self, at_ms: int) -> None:
        if self.rest_ms is None:
            self.rest_ms, self.rested_ms = self.looked_ms, at_ms

    @property
    def is_ahead(self) -> bool:
        """Tells whether a member still has messages before the offset on the broker: it says more than was consumed."""
        first = self.cached_from if self.arrived or self.began_anew else None
        return self.part.found is not None and first is not None and self.part.new <= first < self.part.found

    @property
    def hold_ms(self) -> float:
        """Longer than the time between two commits of its members."""
        return _HOLD_MS if self.rest_ms is None else min(_HOLD_MS, _HOLD_SHARE * self.rest_ms)

    def holds(self, at_ms: int) -> bool:
        """Tells whether the offset has stayed on the new side long enough after members resumed."""
        if self.error is not None or self.resumed_ms is None or self.arrived_ms is None:
            return False
        since_ms = max(self.resumed_ms, self.arrived_ms)
        if self.goes_back and self.holder is not None:
            since_ms = max(since_ms, min(_LATE_PULL_MS, _LATE_PULL_RESTS * self.rested_ms))
        return at_ms > since_ms and at_ms - since_ms >= self.hold_ms

    def is_gone(self, at_ms: int) -> bool:
        """Tells whether it has been elsewhere so long that members would have said what they consumed."""
        return self.error is None and self.off_ms is not None and at_ms - self.off_ms >= _TWICE * self.hold_ms


class Settlement:
    """The watch over the queues of a change that members take over.

    Args:
        addresses: master address by broker name.
        before: what the members said right before the change was sent.
    """

    def __init__(
        self,
        cluster: Cluster,
        record: OffsetRecord,
        addresses: Mapping[str, str],
        patience: Patience,
        before: QueueHolders,
    ) -> None:
        self._cluster = cluster
        self._group = record.subject
        self._addresses = addresses
        self._patience = patience
        self._before = before
        self._said = before
        self._all = [_Watched(part) for part in record.parts if part.state == SENT]
        self._deadline = Deadline(patience.wait_ms)

    def settle(self) -> None:
        """Watches every queue that is `sent` until it holds or the time is over, and says what became of it."""
        while True:
            last = self._deadline.expired
            open_queues = [item for item in self._all if item.part.state == SENT]
            # A broker that is silent must not cost the others their turn: it is asked again at the end.
            self._read_back([item for item in open_queues if last or item.error is None])
            self._said = holders(self._cluster, set(self._addresses.values()), self._group, Deadline(_ASK_MS))
            now_ms = self._elapsed_ms
            for item in open_queues:
                item.note_offset(now_ms)
                item.note_members(self._said, now_ms)
                item.looked_ms = now_ms
            self._decide(open_queues, now_ms)
            left = [item for item in open_queues if item.part.state == SENT]
            what = (
                sentence("settling-members-pause-begin-anew", "members pause, and begin anew")
                if any(item.resumed_ms is None for item in left)
                else sentence("settling-holds", "it holds")
            )
            self._patience.report(what, len(self._all) - len(left), len(self._all))
            if not left or last:
                break
            # Each look costs every member an answer: large groups are looked at less often.
            pause_ms = min(_LOOK_EVERY_MS * (1 + self._said.member_count // 10), _LOOK_AT_MOST_EVERY_MS)
            self._patience.pause(min(pause_ms, self._deadline.remaining_ms))
        for item in self._all:
            if item.part.state == SENT:
                self._judge(item)

    @property
    def _elapsed_ms(self) -> int:
        return self._patience.wait_ms - self._deadline.remaining_ms

    def _read_back(self, watched: list[_Watched]) -> None:
        asks = {
            id(ask): (ask, item)
            for item in watched
            for ask in [
                AddressedQuestion(
                    self._addresses[item.part.broker_name],
                    consumer_offset(self._group, item.part.topic, item.part.queue_id),
                )
            ]
        }
        for outcome in self._cluster.ask_many([ask for ask, _ in asks.values()], Deadline(_ASK_MS)):
            item = asks[id(outcome.ask)][1]
            item.error = outcome.error
            if outcome.error is None:
                item.part.found = outcome.value()

    def _decide(self, watched: list[_Watched], now_ms: int) -> None:
        """Ends the watch over queues that hold, and over those that are known to be consumed beyond the old offset."""
        for item in watched:
            part = item.part
            if item.holds(now_ms):
                part.state = CONFIRMED if part.found == part.new else CONSUMED_ON
            elif self._is_beyond(item) and item.told and item.is_ahead:  # a member has it, and has not consumed it
                self._judge(item)
            elif self._is_beyond(item) and (item.consumed or self._consumed_enough(part.topic)):
                part.state = CONSUMED_ON
            elif item.is_gone(now_ms):
                self._judge(item)

    def _is_beyond(self, item: _Watched) -> bool:
        """Tells whether a queue that was to go back stands at its old offset or beyond."""
        offset, old = item.part.found, item.part.old
        return item.error is None and item.goes_back and offset is not None and old is not None and offset >= old

    def _consumed_enough(self, topic: str) -> bool | None:
        """Tells whether members consumed what lies between; None where they do not say how much they consumed."""
        if not self._said.complete or topic not in self._said.consumed:
            return None
        share = max(0.0, 1 - self._elapsed_ms / _MINUTE_MS)
        since = self._said.consumed[topic] - self._before.consumed.get(topic, 0.0) * share
        needed = again = 0
        for item in self._all:
            part = item.part
            if part.topic != topic or part.found is None or part.found < part.new:
                continue
            needed += part.found - part.new
            if self._is_beyond(item) and part.old is not None:
                again += part.old - part.new
        return since >= needed - again / 2

    def _judge(self, item: _Watched) -> None:
        """Says what is known when the time is over."""
        part, offset = item.part, item.part.found
        who = (
            sentence("settling-holds-queue", "{client_id}, which holds the queue,", client_id=item.holder.client_id)
            if item.holder is not None
            else "somebody"
        )
        if item.error is not None:
            part.fail(
                UNKNOWN,
                item.error,
                sentence("could-not-read-back", "could not be read back: {error}", error=item.error),
            )
        elif item.is_on(offset) and not item.told and self._elapsed_ms - (item.arrived_ms or 0) >= _HOLD_MS:
            part.state = CONFIRMED if offset == part.new else CONSUMED_ON  # not every client tells what it holds
        elif item.is_on(offset):
            part.state = UNKNOWN
            part.reason = sentence(
                "settling-broker-but-no-member",
                "the broker has {offset}, but no member was seen to take it over: check again",
                offset=offset,
            )
        elif self._is_beyond(item) and item.is_ahead and item.cached_from != part.new:
            part.state = WENT_BACK
            part.reason = sentence(
                "settling-committed-consumed-again-up",
                "{who} has committed {offset}, and has consumed again only up to {cached_from}",
                who=who,
                offset=offset,
                cached_from=item.cached_from,
            )
        elif self._is_beyond(item) and (not item.told or self._consumed_enough(part.topic) is None):
            part.state = UNKNOWN
            part.reason = sentence(
                "settling-broker-consumed-again-already",
                "the broker has {offset}: consumed again already, or never moved",
                offset=offset,
            )
        elif item.arrived or (item.began_anew and self._is_beyond(item)):
            part.state, part.reason = (
                WENT_BACK,
                sentence(
                    "settling-committed-over",
                    "it was at {new}, and {who} has committed {offset} over it",
                    new=part.new,
                    who=who,
                    offset=offset,
                ),
            )
        elif offset == part.old:
            part.state, part.reason = (
                NOT_MOVED,
                sentence(
                    "settling-broker-still-no-member",
                    "the broker still has {offset}: no member has taken it over",
                    offset=offset,
                ),
            )
        else:
            part.state, part.reason = (
                NOT_MOVED,
                sentence(
                    "settling-broker-committed-over",
                    "the broker has {offset}: {who} has committed that over it",
                    offset=offset,
                    who=who,
                ),
            )


def settle(
    cluster: Cluster, record: OffsetRecord, addresses: Mapping[str, str], patience: Patience, before: QueueHolders
) -> None:
    """Watches the queues of a change that are `sent` until they hold or the time is over; see `Settlement`."""
    Settlement(cluster, record, addresses, patience, before).settle()
