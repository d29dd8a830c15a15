"""The record of a follower in the journal: what it copied, from which offset to which, and when it was taken up again.

It is written before the first request and once a look after that. A follower that was killed leaves it interrupted; the
same command takes it up: what was copied since the last look is counted then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock

from mqctl.changes.engine.journal import Drawer, new_id
from mqctl.changes.engine.records import CONFIRMED, Doubt, ReplayRecord, StretchPart, WatchedCopy
from mqctl.changes.engine.run import now_ms
from mqctl.changes.messages.topic_follower import FollowedCopy, FollowedTo, Repeats
from mqctl.commands.replay.follow_view import FollowPlan
from mqctl.commands.replay.view import PlannedRange
from mqctl.errors import BadInputError
from mqctl.model.queue import MessageQueue
from mqctl.store.exclusive_lock import who
from mqctl.text import sentence


class FollowNotes:
    """Keeps the record of one follower.

    Args:
        addresses: of the old topic's masters, by broker name.
        goes_on: whether an earlier follower has offsets: its record is taken up where this machine has one.

    Raises:
        StorageError: it cannot be written.
    """

    def __init__(
        self,
        drawer: Drawer[ReplayRecord],
        plan: FollowPlan,
        cluster: str,
        addresses: Mapping[str, str],
        *,
        goes_on: bool,
    ) -> None:
        self._drawer = drawer
        self._writing = Lock()
        earlier = _open_record(drawer, plan, cluster, addresses) if goes_on else None
        if earlier is not None:
            earlier.resumed_at_ms.append(now_ms())
        self.record = earlier or _new_record(plan, cluster, addresses)
        _add_queues(self.record, plan.queues)
        self.noted = {part.queue: part.next for part in self.record.parts}
        self._before = {part.queue: part.published for part in self.record.parts}
        self.watched = [
            FollowedCopy(copy.key, MessageQueue(copy.topic, copy.broker_name, copy.queue_id), copy.since_ms)
            for copy in self.record.watched
        ]
        drawer.write(self.record)

    def write(self, reached: Mapping[MessageQueue, FollowedTo]) -> None:
        """Writes how far it is, where that is farther than before. Raises StorageError."""
        with self._writing:
            if self._take(reached):
                self._drawer.write(self.record)

    def watch(self, copy: FollowedCopy) -> None:
        """Writes down a copy that may be there twice soon; threads of the follower call this. Raises StorageError."""
        watched = WatchedCopy(
            key=copy.key,
            topic=copy.target.topic,
            broker_name=copy.target.broker_name,
            queue_id=copy.target.queue_id,
            since_ms=copy.since_ms,
        )
        with self._writing:
            if watched not in self.record.watched:
                self.record.watched.append(watched)
                self._drawer.write(self.record)

    def end(
        self, reached: Mapping[MessageQueue, FollowedTo], repeats: Repeats, found_count: int, *, drained: bool
    ) -> None:
        """Writes what came of it; only one that copied everything is complete. Raises StorageError."""
        record = self.record
        record.watched = [copy for copy in record.watched if copy.key in repeats.unknown]
        self._take(reached)
        record.found += found_count
        doubts = {doubt.key: doubt for doubt in record.in_doubt}
        doubts |= {
            key: Doubt(key=key, reason=sentence("replay-count", "it is there {count:time}", count=count))
            for key, count in repeats.keys.items()
        }
        doubts |= {
            key: Doubt(key=key, reason=sentence("replay-not-looked-up", "it could not be looked up"))
            for key in repeats.unknown
        }
        record.in_doubt = list(doubts.values())
        record.ended = drained
        for part in record.parts:
            part.state = CONFIRMED if drained else part.state
        self._drawer.write(record)

    def _take(self, reached: Mapping[MessageQueue, FollowedTo]) -> bool:
        """Takes over how far the queues are; tells whether that is news."""
        news = False
        for part in self.record.parts:
            place = reached.get(part.queue)
            if place is None or place.next_offset <= part.next:
                continue
            part.next, part.end = place.next_offset, max(part.end, place.next_offset)
            part.published = self._before[part.queue] + place.new_count
            news = True
        return news


def _open_record(
    drawer: Drawer[ReplayRecord], plan: FollowPlan, cluster: str, addresses: Mapping[str, str]
) -> ReplayRecord | None:
    """Returns the newest record of the same follower that was not drained; None where there is none here."""
    return next(
        (
            record
            for record in drawer.all(_left_out)
            if record.is_follower
            and not record.ended
            and (record.target, record.parts[0].topic, record.cluster) == (plan.new, plan.old, cluster)
            and record.brokers.items() & addresses.items()
        ),
        None,
    )


def _left_out(error: BadInputError) -> None:
    """A damaged record is no reason not to copy: `history` names it."""


def _new_record(plan: FollowPlan, cluster: str, addresses: Mapping[str, str]) -> ReplayRecord:
    return ReplayRecord(
        id=new_id(),
        kind="replay-follow",
        subject=plan.new,
        who=who(),
        made_at_ms=now_ms(),
        cluster=cluster,
        brokers=dict(addresses),
        source=plan.old,
        parts=[],
        target=plan.new,
        selector=plan.selector,
    )


def _add_queues(record: ReplayRecord, queues: Iterable[PlannedRange]) -> None:
    """Adds queues that the record does not have yet, and sets the others' ends to what waits now."""
    known = {part.queue: part for part in record.parts}
    for row in queues:
        part = known.get(MessageQueue(row.topic, row.broker_name, row.queue_id))
        if part is not None:
            part.end = max(part.end, row.end)
            continue
        record.parts.append(
            StretchPart(
                topic=row.topic,
                broker_name=row.broker_name,
                queue_id=row.queue_id,
                begin=row.begin,
                end=row.end,
                next=row.begin,
            )
        )
