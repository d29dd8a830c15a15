"""From what a 5.x broker noted about pops to what is ready, invisible, due and waiting for another try.

A checkpoint says what was popped, acknowledgements take messages out of it. Until it is due it lies in the timer topic
only, then in the revive topic as well; once the revive group has passed it there, its messages are in a retry topic.
Ordered pops leave no records: `consumerOrderInfo.json` has their batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import NamedTuple

from mqctl.errors import BadInputError
from mqctl.model.gap import Cause, Gap, GapSubject, Part
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.member import KNOWN_KINDS
from mqctl.model.message import REAL_TOPIC, Message
from mqctl.model.names import REVIVE_TOPIC_PREFIX, TIMER_TOPIC, dlq_topic, pop_retry_topic, popped_topic
from mqctl.model.numbers import decimal
from mqctl.model.pop_share import NEXT_MOMENTS, PopShare
from mqctl.protocol.bodies_pop import ACK_TAG, BATCH_ACK_TAG, CK_TAG, AckRecord, OrderInfo, PopCheckPoint
from mqctl.text import sentence

_OUT_MS = "TIMER_OUT_MS"
_LONG_HELD_RENEWALS = 2
"""A listener that fails changes a message's time once, for its next try; who changes it again works on it, or hangs."""
_CHECKPOINT_EARLIER_MS, _SLOT_MS, _EMPTYING_MS = 1_000, 1_000, 5_000
Place = tuple[str, int]
"""Topic and queue id."""
Share = tuple[str, str]
"""Group and the topic it pops."""
_Held = tuple[str, str, int, int]
"""Group, topic, queue id and queue offset of a message."""


def unknown_modes(modes: Mapping[Share, str]) -> list[Gap]:
    """Returns a gap for each group that was set to consume a topic in a way that is not known here."""
    return [
        Gap(
            part=Part.POP,
            cause=Cause.UNPROVEN,
            reason=sentence(
                "snapshot-mode-not-known", "it is set to the mode {mode}, which mqctl does not know", mode=mode
            ),
            subject=GapSubject(group=group, topic=topic),
        )
        for (group, topic), mode in sorted(modes.items())
        if mode not in KNOWN_KINDS["mode"]
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PopNotes:
    """What one broker notes, beside the records.

    Attributes:
        bounds: minimum and end of its queues.
        offsets: committed consumer offsets by group, topic and queue id.
        revived: by revive queue, the queue offset of the last checkpoint that is done with.
        modes: what was set, `POP` or `PULL`, by group and topic.
        batches: of ordered queues, by group, topic and queue id; None when it does not tell.
        in_records: whether the broker keeps what is popped in its records; if not, these say nothing of it.
    """

    bounds: Mapping[Place, tuple[int, int]]
    offsets: Mapping[tuple[str, str, int], int]
    revived: Mapping[int, int]
    modes: Mapping[Share, str]
    batches: Mapping[tuple[str, str, int], OrderInfo] | None = None
    in_records: bool = True

    def end(self, topic: str) -> int:
        """Returns how many messages a topic ever got."""
        return sum(end for (name, _), (_, end) in self.bounds.items() if name == topic)

    def waiting(self, group: str, topic: str) -> int:
        """Returns how many messages of a topic lie at and behind the group's offsets, none of them counting as 0."""
        total = 0
        for (name, queue_id), (low, end) in self.bounds.items():
            if name == topic:
                total += max(0, end - max(low, self.offsets.get((group, topic, queue_id), low)))
        return total


@dataclass(slots=True)
class _Checkpoint:
    checkpoint: PopCheckPoint
    revive_place: tuple[int, int] | None = None


@dataclass(slots=True)
class _Ack:
    """An acknowledgement; `revive_place` is revive queue and queue offset, None while the timer has it."""

    offsets: tuple[int, ...]
    revive_place: tuple[int, int] | None = None


class _OpenMessage(NamedTuple):
    """One message of a checkpoint that is neither acknowledged nor revived."""

    share: Share
    checkpoint: PopCheckPoint
    offset: int

    @property
    def held(self) -> _Held:
        return self.checkpoint.consumer_group, self.checkpoint.topic, self.checkpoint.queue_id, self.offset


@dataclass(slots=True)
class PopLedger:
    """Checkpoints and acknowledgements of one broker, taken in any order; copies count once.

    Attributes:
        is_whole: whether all of the revive topic is taken; else only what lies at and behind the revive offsets, and a
            checkpoint that the timer wheel has passed and that is not among it counts as revived.
    """

    is_whole: bool = True
    _checkpoints: dict[tuple[str, bytes], _Checkpoint] = field(default_factory=dict)
    _acks: dict[str, dict[bytes, _Ack]] = field(default_factory=dict)
    _wheel_ms: int = 0
    _in_timer: Counter[int] = field(default_factory=Counter)
    unreadable_count: int = 0

    def take(self, message: Message) -> None:
        """Takes a record of the timer topic or of the revive topic; other timer messages are none."""
        in_timer = message.topic == TIMER_TOPIC
        if not in_timer:
            self._wheel_ms = max(self._wheel_ms, decimal(message.properties.get(_OUT_MS)) or 0)
        if in_timer and not message.properties.get(REAL_TOPIC, "").startswith(REVIVE_TOPIC_PREFIX):
            return
        if in_timer and (out_ms := decimal(message.properties.get(_OUT_MS))):
            self._in_timer[out_ms] += 1
        try:
            if message.tags == CK_TAG:
                checkpoint = PopCheckPoint.from_bytes(message.body)
                known = self._checkpoints.setdefault((checkpoint.merge_key, message.body), _Checkpoint(checkpoint))
                if not in_timer:
                    known.revive_place = max(known.revive_place or (0, -1), (message.queue_id, message.queue_offset))
            elif message.tags in (ACK_TAG, BATCH_ACK_TAG):
                ack = AckRecord.from_bytes(message.body)
                own = self._acks.setdefault(ack.merge_key(ack.broker_name or ""), {})
                noted = own.setdefault(message.body, _Ack(ack.offsets))
                if not in_timer:
                    noted.revive_place = max(noted.revive_place or (0, -1), (message.queue_id, message.queue_offset))
        except BadInputError:
            self.unreadable_count += 1

    def waiting_count(self, at_ms: int) -> int:
        """Counts the records taken from the timer topic that the wheel had still to give out at a moment of the
        broker's clock. It may be a moment behind, so that what was due shortly before counts as well."""
        return sum(count for out_ms, count in self._in_timer.items() if out_ms > at_ms - 2 * _SLOT_MS)

    def is_emptying(self, now_ms: int) -> bool:
        """Whether the slot that the timer wheel was seen in last may still hold records."""
        return not self.is_whole and now_ms - self._wheel_ms <= _EMPTYING_MS

    def tells_the_wheel(self, taken: Iterable[Message], now_ms: int) -> bool:
        """Whether records of the revive topic, with what was taken before, say how far the timer wheel is for sure.

        Of the last slot all must be taken while it is emptied. What was late when it was written went past the wheel.
        """
        slots = [slot_ms for message in taken if (slot_ms := decimal(message.properties.get(_OUT_MS)))]
        return bool(slots) and (min(slots) < self._wheel_ms or not self.is_emptying(now_ms))

    def _is_revived(self, known: _Checkpoint, notes: PopNotes, now_ms: int) -> bool:
        if known.revive_place is not None:
            return known.revive_place[1] <= notes.revived.get(known.revive_place[0], -1)
        if self.is_whole:
            return False
        slot_ms = (known.checkpoint.due_ms - _CHECKPOINT_EARLIER_MS - 1) // _SLOT_MS * _SLOT_MS
        # A slot is emptied at once; while that may be going on, the one seen last is taken to hold something.
        return slot_ms < self._wheel_ms or (slot_ms == self._wheel_ms and not self.is_emptying(now_ms))

    def _acked(self, known: _Checkpoint) -> set[int]:
        """Returns the offsets that are acknowledged; reviving does not see what lies before the checkpoint."""
        key, name = known.checkpoint.merge_key, known.checkpoint.broker_name
        acks = [*self._acks.get(key, {}).values()]
        if name is not None:  # old records name no broker
            acks += self._acks.get(key.removesuffix(name), {}).values()
        offsets: set[int] = set()
        for ack in acks:
            at = ack.revive_place
            if at is None or (known.revive_place is not None and at > known.revive_place):
                offsets.update(ack.offsets)
        return offsets

    def open_messages(self, notes: PopNotes, now_ms: int) -> Iterable[_OpenMessage]:
        """Yields each message that is popped, neither acknowledged nor revived."""
        for known in self._checkpoints.values():
            checkpoint = known.checkpoint
            if self._is_revived(known, notes, now_ms):
                continue
            acked = self._acked(known)
            low, _ = notes.bounds.get((checkpoint.topic, checkpoint.queue_id), (0, 0))
            share = (checkpoint.consumer_group, popped_topic(checkpoint.topic, checkpoint.consumer_group))
            for offset in checkpoint.offsets:
                if offset not in acked and offset >= low:
                    yield _OpenMessage(share, checkpoint, offset)

    def held_since(self, messages: Iterable[_OpenMessage]) -> dict[Share, list[int]]:
        """Returns when messages were popped first whose time was lengthened again and again, as far as records tell.

        Each lengthening is a checkpoint of its own, for the same queue offset and from before the last one was due. A
        message that is revived lies elsewhere, in the retry topic.
        """
        spans: dict[_Held, list[tuple[int, int]]] = {message.held: [] for message in messages}
        for item in self._checkpoints.values():
            checkpoint = item.checkpoint
            for offset in checkpoint.offsets:
                own = spans.get((checkpoint.consumer_group, checkpoint.topic, checkpoint.queue_id, offset))
                if own is not None:
                    own.append((checkpoint.pop_ms, checkpoint.due_ms))
        since: dict[Share, list[int]] = {}
        for (group, topic, _, _), own in spans.items():
            own.sort(reverse=True)
            first_ms, renewals = own[0][0], 0
            for pop_ms, due_ms in own[1:]:
                if due_ms < first_ms:
                    break
                first_ms, renewals = pop_ms, renewals + 1
            if renewals >= _LONG_HELD_RENEWALS:
                since.setdefault((group, popped_topic(topic, group)), []).append(first_ms)
        return since

    def invisible_ms(self) -> dict[Share, int]:
        """Returns for how long most messages were popped; moments that were changed are of one message each."""
        counts: dict[Share, Counter[int]] = {}
        for item in self._checkpoints.values():
            checkpoint = item.checkpoint
            share = (checkpoint.consumer_group, popped_topic(checkpoint.topic, checkpoint.consumer_group))
            counts.setdefault(share, Counter())[checkpoint.invisible_ms] += len(checkpoint.offsets)
        return {share: counted.most_common(1)[0][0] for share, counted in counts.items()}

    def last_pops(self) -> dict[Share, int]:
        """Returns who popped what, and when last."""
        last: dict[Share, int] = {}
        for item in self._checkpoints.values():
            checkpoint = item.checkpoint
            share = (checkpoint.consumer_group, popped_topic(checkpoint.topic, checkpoint.consumer_group))
            last[share] = max(last.get(share, 0), checkpoint.pop_ms)
        return last


def pop_shares(ledger: PopLedger, notes: PopNotes, now_ms: int) -> tuple[PopShare, ...]:
    """Returns the state of every group and topic that is popped, as of `now_ms`."""
    open_shares: dict[Share, _Open] = {}
    messages = list(ledger.open_messages(notes, now_ms))
    for message in messages:
        open_shares.setdefault(message.share, _Open()).due_ms.append(message.checkpoint.due_ms)
    for (group, topic, queue_id), batch in (notes.batches or {}).items():
        unacked = batch.unacked()
        if unacked:
            own = open_shares.setdefault((group, topic), _Open())
            own.ordered_ms += [visible_ms for _, visible_ms in unacked]
            low, end = notes.bounds.get((topic, queue_id), (0, 0))
            committed = notes.offsets.get((group, topic, queue_id), low)
            own.batched_count += max(0, min(end, batch.offsets[-1] + 1) - committed)
            if any(visible_ms > now_ms for _, visible_ms in unacked):
                own.blocked_count += 1
                own.blocked_since_ms = min(own.blocked_since_ms or batch.pop_ms, batch.pop_ms)
                times = [(batch.delivered or {}).get(offset, 0) for offset, _ in unacked]
                own.blocked_times = max(own.blocked_times, *times)
    last_pops = ledger.last_pops()
    known = last_pops.keys() | notes.modes.keys() | open_shares.keys() | _by_retry_topics(notes)
    spans = ledger.invisible_ms()
    held = ledger.held_since(message for message in messages if message.checkpoint.due_ms > now_ms)
    return tuple(
        replace(
            _share(share, open_shares.get(share, _Open()), notes, now_ms),
            invisible_ms=spans.get(share),
            last_pop_ms=last_pops.get(share),
            renewed_count=len(held.get(share, ())),
            held_since_ms=min(held.get(share, ()), default=None),
        )
        for share in sorted(known)
    )


@dataclass(slots=True)
class _Open:
    """What one group popped of one topic and did not finish.

    Attributes:
        due_ms, ordered_ms: when each of them is due, by how it was popped.
        batched_count: messages from the consumer offset to the end of the batch, of ordered queues.
        blocked_count: ordered queues that give out nothing now.
    """

    due_ms: list[int] = field(default_factory=list)
    ordered_ms: list[int] = field(default_factory=list)
    batched_count: int = 0
    blocked_count: int = 0
    blocked_since_ms: int | None = None
    blocked_times: int = 0


def _share(share: Share, own: _Open, notes: PopNotes, now_ms: int) -> PopShare:
    group, topic = share
    later = [moment for moment in (*own.due_ms, *own.ordered_ms) if moment > now_ms]
    dead = dlq_topic(group)
    return PopShare(
        group=group,
        topic=topic,
        mode=notes.modes.get(share),
        ready_count=max(0, notes.waiting(group, topic) - own.batched_count),
        invisible_count=len(later) if notes.in_records else None,
        due_count=len(own.due_ms) + len(own.ordered_ms) - len(later) if notes.in_records else None,
        ordered_due_count=sum(moment <= now_ms for moment in own.ordered_ms),
        retry_count=sum(notes.waiting(group, pop_retry_topic(group, topic, v2=v2)) for v2 in (False, True)),
        oldest_due_ms=min((moment for moment in own.due_ms if moment <= now_ms), default=None),
        retry_v2_count=notes.waiting(group, pop_retry_topic(group, topic, v2=True)),
        retried_count=notes.end(pop_retry_topic(group, topic)) + notes.end(pop_retry_topic(group, topic, v2=True)),
        given_up_count=sum(end - low for (name, _), (low, end) in notes.bounds.items() if name == dead),
        blocked_queue_count=None if notes.batches is None else own.blocked_count,
        next_visible_ms=tuple(sorted(set(later))[:NEXT_MOMENTS]),
        blocked_since_ms=own.blocked_since_ms,
        blocked_times=own.blocked_times,
    )


def _by_retry_topics(notes: PopNotes) -> set[Share]:
    """Returns who has offsets in a pop retry topic: all that is left of pops whose records have expired."""
    shares = set()
    for group, topic, _ in notes.offsets:
        popped = popped_topic(topic, group)
        if popped != topic and popped:
            shares.add((group, popped))
    return shares
