"""From where a group stands and where it should to one change a queue, and to the way that a cluster offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from mqctl.errors import NotFoundError, RefusedError, UsageError
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.plan import Method, OffsetChange, QueuePosition
from mqctl.model.queue import MessageQueue
from mqctl.text import composed, sentence


@dataclass(frozen=True, slots=True)
class ToTime:
    """The first message stored at or after an instant (epoch milliseconds)."""

    time_ms: int
    text: str = ""

    def __str__(self) -> str:
        return sentence("targets-time", "to time {text}", text=self.text or self.time_ms)


@dataclass(frozen=True, slots=True)
class ToEarliest:
    """The first message that is still there."""

    def __str__(self) -> str:
        return sentence("targets-earliest", "to earliest")


@dataclass(frozen=True, slots=True)
class ToLatest:
    """The end: nothing that is there now will be consumed."""

    def __str__(self) -> str:
        return sentence("targets-latest", "to latest")


@dataclass(frozen=True, slots=True)
class ToCurrent:
    """The committed offset: brings queues without one, or with one outside their bounds, to a valid one."""

    def __str__(self) -> str:
        return sentence("targets-current", "to current")


@dataclass(frozen=True, slots=True)
class ToOffset:
    """One queue offset for every queue."""

    offset: int

    def __str__(self) -> str:
        return sentence("targets-offset", "to offset {offset}", offset=self.offset)


@dataclass(frozen=True, slots=True)
class ShiftBy:
    """The committed offset plus a number of messages, negative to go back."""

    count: int

    def __str__(self) -> str:
        return sentence("targets-shift", "shift by {count:+}", count=self.count)


@dataclass(frozen=True, slots=True)
class ToGiven:
    """An offset for each queue, from a file or from another group."""

    offsets: Mapping[MessageQueue, int]
    text: str

    def __str__(self) -> str:
        return sentence("targets-offsets", "to the offsets of {text}", text=self.text)


Target: TypeAlias = ToTime | ToEarliest | ToLatest | ToCurrent | ToOffset | ShiftBy | ToGiven


def plan_changes(
    positions: Iterable[QueuePosition],
    target: Target,
    *,
    targets: Mapping[MessageQueue, int] | None = None,
    clamp: bool = False,
) -> tuple[OffsetChange, ...]:
    """Computes the new offset of each queue.

    Args:
        targets: for `ToTime`: for each queue the offset of the first message at or after the instant, or the queue's
            end if there is none.
        clamp: bring offsets outside a queue to its nearest bound instead of refusing them.

    Raises:
        UsageError: an offset lies outside a queue and `clamp` is not set.
        NotFoundError: a given queue is none of the topic's, or there is no queue at all.
    """
    known = tuple(sorted(positions, key=lambda position: position.queue))
    if not known:
        raise NotFoundError(
            sentence("offset-no-queue-change", "there is no queue to change"),
            remedy=sentence("offset-check-topic-queue-broker", "check the topic, and --queue and --broker"),
        )
    if isinstance(target, ToGiven):
        unknown = sorted(set(target.offsets) - {position.queue for position in known})
        if unknown:
            first = unknown[0]
            raise NotFoundError(
                sentence(
                    "offset-names-queue",
                    "{target} names queue {queue_id} of {topic} on {broker_name}",
                    target=target.text,
                    queue_id=first.queue_id,
                    topic=first.topic,
                    broker_name=first.broker_name,
                ),
                reason=sentence("offset-not-among-queues-chosen", "it is not among the queues chosen"),
                remedy=sentence("offset-leave-out-choose-topic", "leave it out, or choose its topic and broker"),
            )
    return tuple(
        _change(position, target, targets or {}, clamp=clamp) for position in known if _chosen(position, target)
    )


def _chosen(position: QueuePosition, target: Target) -> bool:
    return not isinstance(target, ToGiven) or position.queue in target.offsets


def _change(
    position: QueuePosition, target: Target, targets: Mapping[MessageQueue, int], *, clamp: bool
) -> OffsetChange:
    wanted, note = _wanted(position, target, targets)
    low, high = position.min_offset, position.max_offset
    if not low <= wanted <= high:
        if not clamp:
            raise UsageError(
                sentence(
                    "offset-lies-outside-queue",
                    "offset {wanted} is outside queue {queue_id} of {topic} on {broker_name}",
                    wanted=wanted,
                    queue_id=position.queue.queue_id,
                    topic=position.queue.topic,
                    broker_name=position.queue.broker_name,
                ),
                reason=sentence("holds-offsets", "it holds offsets {low} to {high}", low=low, high=high),
                remedy=sentence(
                    "choose-offset-inside-other",
                    "choose an offset inside, other queues, or --clamp for the nearest one",
                ),
            )
        wanted, note = (
            min(max(wanted, low), high),
            sentence("offset-out-range-clamped", "{wanted} is out of range, clamped", wanted=wanted),
        )
    return position.to(wanted, note)


def _wanted(position: QueuePosition, target: Target, targets: Mapping[MessageQueue, int]) -> tuple[int, str | None]:
    """Returns the offset that a target means for one queue, and a remark where that is not obvious."""
    low, high = position.min_offset, position.max_offset
    match target:
        case ToTime():
            return _at_time(targets[position.queue], low, high)
        case ToEarliest():
            return low, None
        case ToLatest():
            return high, None
        case ToOffset(offset):
            return offset, None
        case ToGiven(offsets, _):
            return offsets[position.queue], None
        case ToCurrent() | ShiftBy():
            return _from_committed(position, target)


def _at_time(offset: int, low: int, high: int) -> tuple[int, str | None]:
    if low == high:
        return high, sentence("offset-queue-empty", "the queue is empty")
    if offset <= low:
        return low, sentence("offset-no-message-older", "no message is older")
    return (high, sentence("offset-no-message-younger", "no message is younger")) if offset >= high else (offset, None)


def _from_committed(position: QueuePosition, target: ToCurrent | ShiftBy) -> tuple[int, str | None]:
    low, high = position.min_offset, position.max_offset
    if isinstance(target, ShiftBy):
        if position.old is None:
            return low + target.count, sentence(
                "offset-never-committed-counted-min", "never committed, counted from the min offset"
            )
        return position.old + target.count, None
    if position.old is None:
        return low, sentence("never-committed-min-offset", "never committed, min offset")
    inside = min(max(position.old, low), high)
    return inside, None if inside == position.old else sentence(
        "committed-offset-out-range", "the committed offset is out of range, clamped"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSituation:
    """What decides how offsets can be changed.

    Attributes:
        online: whether any broker knows a member of the group.
        approximate: whether a little before the offsets will do, where brokers only take a time: for an undo.
        server_side: whether every broker changes offsets itself (5.x with useServerSideResetOffset).
        whole_topics: whether the request covers all queues of each topic on each broker it touches.
        polling: whether a member polls by itself (`CONSUME_ACTIVELY`): such members ignore what a broker tells them.
        broadcasting: whether members keep offsets of their own.
    """

    group: str
    online: bool
    server_side: bool
    whole_topics: bool
    polling: bool = False
    broadcasting: bool = False
    approximate: bool = False


def choose_method(situation: GroupSituation, target: Target) -> Method:
    """Returns the way to change offsets that this state offers.

    Brokers of 4.9, and of 5.x without server-side reset, leave offsets of a group with members to the members: they can
    only be told a time, for all queues of a topic. Source: `AdminBrokerProcessor.resetOffset` and `Broker2Client` of
    4.9.8 and 5.3.3.

    Raises:
        RefusedError: no way fits.
    """
    if not situation.online:
        return Method.COMMIT
    problem = sentence("cannot-change-offsets-group", "cannot change offsets of group {group}", group=situation.group)
    if situation.broadcasting:
        reason = sentence(
            "offset-members-consume-broadcasting-mode",
            "its members consume in BROADCASTING mode: each stores its offsets in a file on its own host",
        )
        remedy = sentence("stop-member-edit-offsets", "stop a member, edit its offsets.json, start it again")
        raise RefusedError(problem, reason=reason, remedy=remedy)
    if situation.server_side:
        return Method.SERVER
    by_time = isinstance(target, ToTime | ToEarliest | ToLatest) or situation.approximate
    if by_time and situation.whole_topics and not situation.polling:
        return Method.CALLBACK
    if situation.polling:
        limit, way = "", ""
        reason = sentence(
            "offset-pull-consumers-online-ignore",
            "it has pull consumers online: they ignore resets from brokers and commit over the new offsets",
        )
    else:
        limit = (
            sentence("offset-some-queues", " for some queues only")
            if by_time
            else sentence("exact-offset", " by exact offset")
        )
        way = sentence(
            "offset-reset-all-queues-time", "; or reset all queues by --to-time, --to-earliest or --to-latest"
        )
        reason = sentence("offset-online-members-overwrite-new", "online members would overwrite the new offsets")
    raise RefusedError(
        composed("{problem}{limit}", problem=problem, limit=limit),
        reason=reason,
        remedy=sentence(
            "offset-stop-all-members-run",
            "stop all members and run it again{way}; or let a new group start there (mqctl replay group)",
            way=way,
        ),
    )
