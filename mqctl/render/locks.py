"""Queue locks, and where keys lie, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqctl.allocation.handovers import Handover
from mqctl.allocation.key_order import KeyLanes, KeySpread, ReRouting
from mqctl.allocation.locks import LockState, QueueLock
from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import key_of, sentence, values_of

LOCK_COLUMNS = (
    Column("topic", "topic"),
    Column("broker_name", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("state", "lock", CellKind.WORDS),
    Column("holders", "holder", none="nobody"),
    Column("waiting", "waiting", none=""),
    Column("last_lock_time_ms", "renewed", CellKind.TIME_MS),
    Column("idle_ms", "listener silent", CellKind.DURATION_MS),
    Column("free_time_ms", "free at the latest", CellKind.TIME_MS, none="?"),
    Column("note", "note", CellKind.SENTENCE, none=""),
)
SPREAD_COLUMNS = (
    Column("key", "key"),
    Column("queues", "queues"),
    Column("move_count", "moves", CellKind.COUNT),
    Column("last_move_time_ms", "last move", CellKind.TIME_MS),
)
RE_ROUTING_COLUMNS = (
    Column("queue_count", "queues", CellKind.COUNT),
    Column("moved_key_count", "keys re-routed", CellKind.COUNT),
    Column("moved_key_share", "of keys", CellKind.SHARE),
    Column("moved_message_count", "messages", CellKind.COUNT),
)
_CALM = (LockState.HELD, LockState.NOBODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRow:
    """The lock of one queue; times in epoch milliseconds."""

    topic: str
    broker_name: str
    queue_id: int
    state: str
    holders: str | None
    waiting: str | None
    last_lock_time_ms: int | None
    idle_ms: int | None
    free_time_ms: int | None
    note: str | None
    note_key: str | None = None
    note_values: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockReport:
    """Machine form of `lock show`.

    Attributes:
        concurrent: the group consumes concurrently, and so takes no locks.
        consume_mode: `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        popped: topics whose messages brokers share out among the members: nobody owns or locks their queues.
    """

    group: str
    concurrent: bool
    queues: list[LockRow]
    consume_mode: str | None
    popped: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedGroup:
    """How a group consumes whose locks are shown; see `LockReport`."""

    group: str
    concurrent: bool
    popped: list[str]
    consume_mode: str | None


def lock_document(consuming: LockedGroup, locks: Sequence[QueueLock]) -> Document:
    """Builds the document of `lock show`."""
    group, concurrent, popped = consuming.group, consuming.concurrent, consuming.popped
    lockless = concurrent or (bool(popped) and not locks)
    rows = [
        LockRow(
            topic=item.queue.topic,
            broker_name=item.queue.broker_name,
            queue_id=item.queue.queue_id,
            state=item.state.value,
            holders=", ".join(item.holders) or None,
            waiting=", ".join(item.waiting) or None,
            last_lock_time_ms=item.last_lock_time_ms,
            idle_ms=item.idle_ms,
            free_time_ms=item.free_time_ms,
            note=item.note or None,
            note_key=key_of(item.note),
            note_values=values_of(item.note),
        )
        for item in ([] if lockless else locks)
    ]
    odd = sum(item.state not in _CALM for item in locks)
    line = sentence(
        "lock-not-held-should",
        "{group}: {odd} of {rows} not held as they should be",
        group=group,
        odd=counted(odd, "queue"),
        rows=len(rows),
    )
    shared = sentence(
        "lock-pops-brokers-share-out",
        "{group} pops {popped}: brokers share out the messages, no queue has an owner or a lock",
        group=group,
        popped=popped,
    )
    if concurrent:
        line = sentence(
            "lock-consumes-concurrently-takes-no", "{group} consumes concurrently: it takes no locks", group=group
        )
    lines = [shared] if popped and lockless else [line, shared] if popped else [line]
    blocks: list[Table | Paragraphs] = [Paragraphs(lines)]
    if not lockless:
        blocks.append(
            Table(
                LOCK_COLUMNS,
                rows,
                empty=sentence(
                    "empty-no-member-subscribes-a-topic-that-has-queues", "no member subscribes a topic that has queues"
                ),
            )
        )
    report = LockReport(
        group=group, concurrent=concurrent, queues=rows, consume_mode=consuming.consume_mode, popped=popped
    )
    return Document(schema="lock.show/1", value=report, records=rows, csv_columns=LOCK_COLUMNS, blocks=blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRow:
    """A key in several queues; `queues` names each with the number of its messages."""

    key: str
    queues: str
    move_count: int
    last_move_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReRoutingRow:
    """What another number of queues would re-route, of the sampled keys."""

    queue_count: int
    key_count: int
    moved_key_count: int
    moved_key_share: float
    moved_message_count: int


HANDOVER_COLUMNS = (
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("time_ms", "handed over", CellKind.TIME_MS),
    Column("queue_offset", "at offset", CellKind.COUNT),
    Column("old", "old owner"),
    Column("new", "new owner"),
    Column("unfinished_count", "unfinished", CellKind.COUNT),
    Column("late_count", "begun late", CellKind.COUNT),
    Column("again_count", "twice", CellKind.COUNT),
    Column("overlap_ms", "overlap", CellKind.DURATION_MS),
)
KEY_LANES_COLUMNS = (
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("message_count", "messages", CellKind.COUNT),
    Column("key_count", "keys", CellKind.COUNT),
    Column("busiest_key", "busiest key"),
    Column("busiest_share", "its share", CellKind.SHARE),
    Column("gain", "times one thread", CellKind.RATIO),
)
_WORST_QUEUES = 5
_KEY_LANES_TITLE = sentence(
    "lock-thread-each-key-instead",
    "with one thread for each key instead of each queue (order of a key is kept), queues that gain least first",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLanesRow:
    """What one thread for each key would do for a queue: `gain` times one thread, as its busiest key allows."""

    broker: str
    queue_id: int
    message_count: int
    key_count: int
    busiest_key: str | None
    busiest_share: float
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverRow:
    """A queue that got another owner, and what of it the old owner still worked on.

    Attributes:
        old, new: where the consumers' traces came from, `host:port`.
        unfinished_count: messages that the old owner's listener still had when the new owner began.
        late_count: messages that the old owner began afterwards.
        again_count: messages that both were given.
        overlap_ms: for how long both worked on the queue.
    """

    broker: str
    queue_id: int
    time_ms: int
    queue_offset: int
    old: str
    new: str
    unfinished_count: int
    late_count: int
    again_count: int
    overlap_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedOrder:
    """What rebalances did to the order in which a group consumed, by the traces of its consumers.

    Attributes:
        delivery_count: traced deliveries of messages that were sampled.
        broken_count: handovers after which order did not hold.
    """

    group: str
    delivery_count: int
    broken_count: int
    handovers: list[HandoverRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderCheckReport:
    """Machine form of `order check`.

    Attributes:
        key: which property was taken as the key.
        spread_key_count: keys in several queues; `spread` lists the first of them.
        by_hash_share: share of the messages with a key that lie where a producer that chooses by hash puts them.
        traced: what rebalances of a group did; None unless a group was named.
    """

    topic: str
    key: str
    queue_count: int
    message_count: int
    keyless_count: int
    key_count: int
    spread_key_count: int
    by_hash_share: float | None
    spread: list[SpreadRow]
    re_routing: list[ReRoutingRow]
    key_lanes: list[KeyLanesRow]
    traced: TracedOrder | None = None


def traced_order(group: str, delivery_count: int, changes: Sequence[Handover]) -> TracedOrder:
    """Builds the machine form of what rebalances did."""
    return TracedOrder(
        group=group,
        delivery_count=delivery_count,
        broken_count=sum(not change.kept_order for change in changes),
        handovers=[
            HandoverRow(
                broker=change.queue.broker_name,
                queue_id=change.queue.queue_id,
                time_ms=change.at_ms,
                queue_offset=change.at_offset,
                old=change.old,
                new=change.new,
                unfinished_count=change.unfinished_count,
                late_count=change.late_count,
                again_count=change.again_count,
                overlap_ms=max(0, (change.last_ms or change.at_ms) - change.at_ms),
            )
            for change in changes
        ],
    )


def order_report(
    topic: str,
    key: str,
    spread: KeySpread,
    routings: Sequence[ReRouting],
    lanes: Sequence[KeyLanes],
    *,
    queue_count: int,
    shown: int,
    traced: TracedOrder | None = None,
) -> OrderCheckReport:
    """Builds the machine form of `order check`."""
    keyed = spread.message_count - spread.keyless_count
    return OrderCheckReport(
        topic=topic,
        key=key,
        queue_count=queue_count,
        message_count=spread.message_count,
        keyless_count=spread.keyless_count,
        key_count=spread.key_count,
        spread_key_count=len(spread.spread),
        by_hash_share=spread.by_hash_count / keyed if keyed and spread.by_hash_count is not None else None,
        spread=[
            SpreadRow(
                key=item.key,
                queues=", ".join(f"{q.broker_name}/{q.queue_id}: {count}" for q, count in item.counts.items()),
                move_count=item.move_count,
                last_move_time_ms=item.last_move_time_ms,
            )
            for item in spread.spread[:shown]
        ],
        re_routing=[
            ReRoutingRow(
                queue_count=item.queue_count,
                key_count=item.key_count,
                moved_key_count=item.moved_key_count,
                moved_key_share=item.moved_key_count / item.key_count if item.key_count else 0.0,
                moved_message_count=item.moved_message_count,
            )
            for item in routings
        ],
        key_lanes=[
            KeyLanesRow(
                broker=item.queue.broker_name,
                queue_id=item.queue.queue_id,
                message_count=item.message_count,
                key_count=item.key_count,
                busiest_key=item.busiest_key,
                busiest_share=item.busiest_count / item.message_count,
                gain=item.gain,
            )
            for item in lanes
        ],
        traced=traced,
    )


def order_document(report: OrderCheckReport) -> Document:
    """Builds the document of `order check`."""
    keyless = counted(report.keyless_count, "message")
    by_hash = (
        ""
        if report.by_hash_share is None
        else sentence(
            "lock-lie-where-hash-puts",
            "; {by_hash_share} are where the hash puts them",
            by_hash_share=report.by_hash_share,
        )
    )
    lines = [
        sentence(
            "lock-sampled-without",
            "{topic}: {message_count} sampled in {queue_count}, {key_count} by {key}, {keyless} without{by_hash}",
            topic=report.topic,
            message_count=counted(report.message_count, "message"),
            queue_count=counted(report.queue_count, "queue"),
            key_count=counted(report.key_count, "key"),
            key=report.key,
            keyless=keyless,
            by_hash=by_hash,
        ),
        sentence(
            "lock-several-queues",
            "{spread_key_count} in several queues",
            spread_key_count=counted(report.spread_key_count, "key"),
        ),
    ]
    blocks: list[Table | Paragraphs] = [Paragraphs(lines)]
    if report.spread:
        blocks.append(
            Table(
                SPREAD_COLUMNS, report.spread, title=sentence("title-keys-in-several-queues", "keys in several queues")
            )
        )
    if report.re_routing:
        title = sentence(
            "lock-another-number-queues-producers",
            "with another number of queues, for producers that choose by hash",
        )
        blocks.append(Table(RE_ROUTING_COLUMNS, report.re_routing, title=title))
    if report.key_count:
        blocks.append(Table(KEY_LANES_COLUMNS, report.key_lanes[:_WORST_QUEUES], title=_KEY_LANES_TITLE))
    if report.traced is not None:
        lines, table = _traced(report.traced)
        blocks += [Paragraphs(lines), *([table] if table.rows else [])]
    return Document(
        schema="order.check/1", value=report, records=report.spread, csv_columns=SPREAD_COLUMNS, blocks=blocks
    )


def _traced(traced: TracedOrder) -> tuple[list[str], Table]:
    title = sentence("lock-rebalances-did-clocks-consumers", "what rebalances did, by the clocks of the consumers")
    table = Table(HANDOVER_COLUMNS, traced.handovers, title=title)
    if not traced.delivery_count:
        return [
            sentence(
                "lock-no-traced-delivery-these",
                "No traced delivery of these messages to {group}: its consumers do not trace, or not yet.",
                group=traced.group,
            )
        ], table
    said = [
        sentence(
            "lock-traced-queues-out-order",
            "{delivery_count} to {group} traced, {handovers} of queues, {broken_count} of them out of order",
            delivery_count=counted(traced.delivery_count, "delivery"),
            group=traced.group,
            handovers=counted(len(traced.handovers), "handover"),
            broken_count=traced.broken_count,
        )
    ]
    if traced.broken_count:
        said.append(
            sentence(
                "lock-old-owner-still-working",
                "The old owner was still working when the new one began: concurrent consumers do not "
                "wait for each other.",
            )
        )
    return said, table
