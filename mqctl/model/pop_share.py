"""How far a group is with a topic that it pops: every message has a state of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from mqctl.model.column import CellKind, column
from mqctl.model.lazy_dataclass import dataclass

NEXT_MOMENTS = 5
"""How many moments at which messages come back are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PopShare:
    """One group and one topic on one broker, or on all of them together.

    Attributes:
        mode: what request 401 set, `POP` or `PULL`; None when it set nothing, as for groups of gRPC clients.
        ready_count: messages in the topic's queues that nobody popped yet.
        invisible_count: popped, not acknowledged, and not due yet; None where the broker keeps that in a database.
        due_count: popped, not acknowledged, due, and not in the retry topic yet; None likewise.
        retry_count: waiting in the retry topics of both names.
        retry_v2_count: those of them in the one of the second name, which is read with `enableRetryTopicV2` only.
        given_up_count: messages in the group's dead-letter topic, of whatever topic they were.
        blocked_queue_count: ordered queues that give out nothing until a message is acknowledged or due; None when not
            known: brokers do not tell.
        retried_count: messages that ever came into the retry topics of both names.
        invisible_ms: for how long most messages were popped, milliseconds; None when nothing tells.
        blocked_since_ms: when the batch was popped that blocks an ordered queue for longest, epoch milliseconds.
        blocked_times: how often a message of a blocking batch was delivered before, the most of them.
        last_pop_ms: when a message was popped last, epoch milliseconds; None where no record is left.
        oldest_due_ms: since when the oldest of the due messages is that wait for the broker to bring them back, epoch
            milliseconds; None without any.
        ordered_due_count: those of the due messages that were popped in order: their queue gives them out at the next
            pop, and the broker has nothing to do for it.
        renewed_count: invisible messages whose time was lengthened at least twice, as clients do that work on them.
        held_since_ms: when the first of those was popped, as far back as records reach, epoch milliseconds; None
            without any.
        next_visible_ms: the next moments at which invisible messages come back, epoch milliseconds.
    """

    group: str
    topic: str = field(metadata=column("topic"))
    mode: str | None = field(metadata=column("mode", none="not set"))
    ready_count: int = field(metadata=column("ready", CellKind.COUNT))
    invisible_count: int | None = field(metadata=column("invisible", CellKind.COUNT, none="?"))
    due_count: int | None = field(metadata=column("overdue", CellKind.COUNT, none="?"))
    retry_count: int = field(metadata=column("retry", CellKind.COUNT))
    given_up_count: int = field(metadata=column("given up", CellKind.COUNT))
    blocked_queue_count: int | None = field(metadata=column("ordered blocks", CellKind.COUNT, none="?"))
    next_visible_ms: tuple[int, ...] = field(
        default=(), metadata=column("next back at", CellKind.TIME_MS, cell="back_ms")
    )
    retry_v2_count: int = 0
    retried_count: int = 0
    invisible_ms: int | None = None
    blocked_since_ms: int | None = None
    blocked_times: int = 0
    oldest_due_ms: int | None = None
    ordered_due_count: int = 0
    last_pop_ms: int | None = None
    renewed_count: int = 0
    held_since_ms: int | None = None

    @property
    def back_ms(self) -> int | None:
        """When the next invisible message comes back, epoch milliseconds."""
        return self.next_visible_ms[0] if self.next_visible_ms else None

    @property
    def unfinished_count(self) -> int:
        """Messages that wait, or were given out and are not acknowledged; these as far as they are known."""
        return self.ready_count + (self.invisible_count or 0) + (self.due_count or 0) + self.retry_count

    @property
    def shown_mode(self) -> str:
        """How the group consumes the topic: what was set, else `POP`, for it was popped."""
        return self.mode or "POP"

    @property
    def is_of_pops(self) -> bool:
        """Whether a consumer offset tells only what was given out: it was not set to `PULL`, or something is popped."""
        return self.mode != "PULL" or bool(self.invisible_count or self.due_count or self.retry_count)

    @property
    def pops(self) -> bool:
        """Whether the group shares messages of the topic now."""
        return self.mode == "POP" or (self.mode is None and bool(self.invisible_count or self.due_count))


def summed_shares(shares: Iterable[PopShare]) -> dict[tuple[str, str], PopShare]:
    """Returns the shares of all brokers together, by group and topic."""
    sums: dict[tuple[str, str], PopShare] = {}
    for share in shares:
        key = (share.group, share.topic)
        sums[key] = _sum(sums[key], share) if key in sums else share
    return sums


def _sum(first: PopShare, second: PopShare) -> PopShare:
    return PopShare(
        group=first.group,
        topic=first.topic,
        mode=first.mode or second.mode,
        ready_count=first.ready_count + second.ready_count,
        invisible_count=_known_sum(first.invisible_count, second.invisible_count),
        due_count=_known_sum(first.due_count, second.due_count),
        retry_count=first.retry_count + second.retry_count,
        given_up_count=first.given_up_count + second.given_up_count,
        blocked_queue_count=_known_sum(first.blocked_queue_count, second.blocked_queue_count),
        retry_v2_count=first.retry_v2_count + second.retry_v2_count,
        retried_count=first.retried_count + second.retried_count,
        invisible_ms=max((span for span in (first.invisible_ms, second.invisible_ms) if span), default=None),
        blocked_since_ms=_earlier(first.blocked_since_ms, second.blocked_since_ms),
        blocked_times=max(first.blocked_times, second.blocked_times),
        ordered_due_count=first.ordered_due_count + second.ordered_due_count,
        oldest_due_ms=_earlier(first.oldest_due_ms, second.oldest_due_ms),
        last_pop_ms=max((at for at in (first.last_pop_ms, second.last_pop_ms) if at is not None), default=None),
        renewed_count=first.renewed_count + second.renewed_count,
        held_since_ms=_earlier(first.held_since_ms, second.held_since_ms),
        next_visible_ms=tuple(sorted({*first.next_visible_ms, *second.next_visible_ms})[:NEXT_MOMENTS]),
    )


def _known_sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _earlier(first: int | None, second: int | None) -> int | None:
    return min((moment for moment in (first, second) if moment is not None), default=None)
