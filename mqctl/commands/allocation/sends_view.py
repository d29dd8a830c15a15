"""What producers do in a simulation: the queues that they use, and what each queue gets of what they send."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.allocation.sending import ProducerChoice, QueueShare
from mqctl.allocation.simulation import Sending
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Table
from mqctl.text import sentence

SENDING_COLUMNS = (
    Column("layout", "layout"),
    Column("room", "producers in"),
    Column("own", "stay in their room", CellKind.FLAG),
    Column("queue_count", "queues", CellKind.COUNT),
    Column("brokers", "brokers"),
)
SHARE_COLUMNS = (
    Column("layout", "layout"),
    Column("selector", "selector"),
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("share", "of all messages", CellKind.SHARE),
    Column("tps", "messages/s", none="?"),
    Column("key_count", "keys", CellKind.COUNT),
    Column("busiest_key", "busiest key", none="none"),
    Column("busiest_share", "its share", CellKind.SHARE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingRow:
    """Queues of a producer that stays in its room; `own` is false when it has none there and uses all."""

    layout: str
    room: str
    own: bool
    queue_count: int
    brokers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """What one queue gets of all messages of the topic.

    Attributes:
        selector: how producers choose; by chance the numbers are those on average.
        tps: messages a second; None when the rate is not known.
        key_count: keys with messages in it; in turn and by chance every key has some in every queue.
        busiest_share: what its busiest key makes of all messages of the topic, in this queue.
    """

    layout: str
    selector: str
    broker: str
    queue_id: int
    share: float
    tps: float | None
    key_count: int
    busiest_key: str | None
    busiest_share: float | None


def sending_rows(layout: str, sides: Sequence[Sending]) -> list[SendingRow]:
    """Builds one row for each room of producers."""
    return [
        SendingRow(
            layout=layout,
            room=side.room,
            own=side.own,
            queue_count=len(side.queues),
            brokers=", ".join(sorted({queue.broker_name for queue in side.queues})),
        )
        for side in sides
    ]


def share_rows(
    layout: str, selector: ProducerChoice | None, shares: Sequence[QueueShare], total_tps: float | None
) -> list[ShareRow]:
    """Builds one row for each queue, those with most first."""
    return [
        ShareRow(
            layout=layout,
            selector=str(selector),
            broker=item.queue.broker_name,
            queue_id=item.queue.queue_id,
            share=round(item.share, 6),
            tps=None if total_tps is None else round(total_tps * item.share, 1),
            key_count=len([key for key, share in item.by_key.items() if share]),
            busiest_key=item.busiest_key,
            busiest_share=None if item.busiest_key is None else round(item.by_key[item.busiest_key], 6),
        )
        for item in sorted(shares, key=lambda item: (-round(item.share, 9), item.queue))
    ]


def sends_blocks(sending: Sequence[SendingRow], shares: Sequence[ShareRow]) -> list[Table]:
    """Builds the tables; keys have their columns where some are known."""
    blocks = []
    if sending:
        blocks.append(
            Table(
                SENDING_COLUMNS,
                sending,
                title=sentence(
                    "title-queues-that-producers-use-which-stay-in-their-room",
                    "Queues that producers use which stay in their room",
                ),
            )
        )
    if shares:
        keyed, timed = any(row.key_count for row in shares), any(row.tps is not None for row in shares)
        left_out = (() if keyed else ("key_count", "busiest_key", "busiest_share")) + (() if timed else ("tps",))
        columns = tuple(column for column in SHARE_COLUMNS if column.key not in left_out)
        blocks.append(
            Table(
                columns,
                shares,
                title=sentence(
                    "title-what-each-queue-gets-of-the-messages-that-producers-send",
                    "What each queue gets of the messages that producers send",
                ),
            )
        )
    return blocks
