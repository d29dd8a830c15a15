"""Simulations of who consumes which queue, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mqctl.allocation.carrying import ALL, Load, RoomLoad, parallelism
from mqctl.allocation.simulation import Move, StrategyResult
from mqctl.commands.allocation.sends_view import SendingRow, ShareRow, sends_blocks
from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.queue import MessageQueue
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import keep_texts, sentence

RESULT_COLUMNS = (
    Column("layout", "layout", CellKind.WORDS),
    Column("strategy", "strategy"),
    Column("client_count", "clients", CellKind.COUNT),
    Column("queue_count", "queues", CellKind.COUNT),
    Column("least", "least", CellKind.COUNT),
    Column("most", "most", CellKind.COUNT),
    Column("imbalance", "busiest / mean"),
    Column("idle_count", "idle", CellKind.COUNT),
    Column("orphan_count", "orphans", CellKind.COUNT),
    Column("parallelism", "parallelism", CellKind.COUNT, none="?"),
    Column("crossing_count", "cross-room", CellKind.COUNT),
    Column("moved_count", "moved", CellKind.COUNT),
    Column("failure", "fails"),
)
_NUMBERS = (
    Column("required_tps", "required/s", none="?"),
    Column("capacity_tps", "capacity/s", none="?"),
    Column("carried_tps", "carries/s", none="?"),
    Column("enough", "enough", CellKind.FLAG, none="?"),
)
_OWNS = Column("owns", "owns", none="nothing")
LOAD_COLUMNS = (
    Column("client_id", "client"),
    Column("before", "before", CellKind.COUNT),
    Column("after", "after", CellKind.COUNT),
    Column("parallelism", "parallelism", CellKind.COUNT, none="?"),
    *_NUMBERS,
    _OWNS,
)
_KAFKA = Column("kafka", "in Kafka", none="nothing")
_TOPIC = Column("topic", "topic")
ORPHAN_COLUMNS = (
    _TOPIC,
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("slot", "falls to"),
)
OWNER_COLUMNS = (
    Column("broker", "broker"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("before", "from", none="nobody"),
    Column("after", "to", none="nobody"),
)
ROOM_COLUMNS = (
    Column("layout", "layout", CellKind.WORDS),
    Column("room", "room"),
    Column("client_count", "clients", CellKind.COUNT),
    Column("queue_count", "queues", CellKind.COUNT),
    Column("parallelism", "parallelism", CellKind.COUNT, none="?"),
    *_NUMBERS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """What one strategy makes of one layout.

    Attributes:
        layout: `before`, `after`, or `compare` for another strategy.
        imbalance: load of the busiest client over the mean.
        parallelism: threads of all clients that can work at once.
        moved_count: queues with another owner than before.
    """

    layout: str
    strategy: str
    client_count: int
    queue_count: int
    least: int
    most: int
    imbalance: float
    idle_count: int
    orphan_count: int
    parallelism: int | None
    crossing_count: int | None
    moved_count: int | None
    failure: str | None
    failure_key: str | None = None
    failure_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "failure")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRow:
    """One client: its queues before and after, and what it carries of what arrives there, afterwards.

    Attributes:
        parallelism: threads that can work at once; of an orderly client no more than it has queues.
        required_tps: messages a second that arrive in its queues.
        capacity_tps: what it can pass with its queues; 0 without one.
        owns: its queues, those of a broker in one.
        kafka: what it would own under Kafka; None without a comparison.
    """

    client_id: str
    before: int | None
    after: int | None
    parallelism: int | None
    required_tps: float | None
    capacity_tps: float | None
    carried_tps: float | None
    enough: bool | None
    owns: str | None
    kafka: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRow:
    """One queue with its owner before and after, and under Kafka; None where nobody owns it, or it is not there."""

    topic: str
    broker: str
    queue_id: int
    before: str | None
    after: str | None
    kafka: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRow:
    """A queue that nobody consumes: it falls to a client that does not subscribe to its topic."""

    topic: str
    broker: str
    queue_id: int
    slot: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomRow:
    """What the clients of one room (`all` without a rule) carry, and can; `enough` is None when not known."""

    layout: str
    room: str
    client_count: int
    queue_count: int
    parallelism: int | None
    required_tps: float | None
    capacity_tps: float | None
    carried_tps: float | None
    enough: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Machine form of `allocation simulate`.

    `owners` are all queues, `moves` those that change their owner, `orphans` those without one in the later layout.
    """

    results: list[ResultRow]
    loads: list[LoadRow]
    owners: list[OwnerRow]
    moves: list[OwnerRow]
    orphans: list[SlotRow]
    rooms: list[RoomRow]
    sending: list[SendingRow]
    shares: list[ShareRow]


def result_row(layout: str, result: StrategyResult, loads: Sequence[Load], moved_count: int | None) -> ResultRow:
    """Builds the row of one result."""
    return ResultRow(
        layout=layout,
        strategy=result.strategy,
        client_count=len(result.loads),
        queue_count=len(result.owners.owners),
        least=result.least,
        most=result.most,
        imbalance=round(result.imbalance, 2),
        idle_count=len(result.idle),
        orphan_count=len(result.owners.orphans),
        parallelism=parallelism(loads),
        crossing_count=result.crossing_count,
        moved_count=moved_count,
        failure=result.failure,
    )


def room_rows(layout: str, loads: Sequence[RoomLoad]) -> list[RoomRow]:
    """Builds one row for each room."""
    return [
        RoomRow(
            layout=layout,
            room=load.room,
            client_count=load.client_count,
            queue_count=load.queue_count,
            parallelism=load.lanes,
            required_tps=_rounded(load.required_tps),
            capacity_tps=_rounded(load.capacity_tps),
            carried_tps=_rounded(load.carried_tps),
            enough=load.enough,
        )
        for load in loads
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def load_rows(
    before: StrategyResult, after: StrategyResult | None, loads: Sequence[Load], kafka: StrategyResult | None = None
) -> list[LoadRow]:
    """Builds one row for each client that is there before or after; `loads` are those of the later layout."""
    result = after or before
    owned, owned_in_kafka = _owned(result), _owned(kafka)
    by_client = {load.client_id: load for load in loads}
    rows = []
    for client in sorted({*before.loads, *result.loads}):
        load = by_client.get(client)
        rows.append(
            LoadRow(
                client_id=client,
                before=before.loads.get(client),
                after=result.loads.get(client),
                parallelism=load.lanes if load else None,
                required_tps=_rounded(load.required_tps) if load else None,
                capacity_tps=_rounded(load.capacity_tps) if load else None,
                carried_tps=_rounded(load.carried_tps) if load else None,
                enough=load.enough if load else None,
                owns=spans(owned.get(client, ())) or None,
                kafka=spans(owned_in_kafka.get(client, ())) or None,
            )
        )
    return rows


def _owned(result: StrategyResult | None) -> dict[str, list[MessageQueue]]:
    owned: dict[str, list[MessageQueue]] = {}
    for queue, clients in sorted(result.owners.owners.items()) if result else ():
        for client in clients:
            owned.setdefault(client, []).append(queue)
    return owned


def spans(queues: Iterable[MessageQueue]) -> str:
    """Writes queues by broker, neighbours as a span: `broker-a/0-3, broker-b/0`; of several topics each by its name."""
    runs: list[list[MessageQueue]] = []
    for queue in sorted(queues):
        last = runs[-1][-1] if runs else None
        if last and MessageQueue(last.topic, last.broker_name, last.queue_id + 1) == queue:
            runs[-1].append(queue)
        else:
            runs.append([queue])
    several = len({run[0].topic for run in runs}) > 1
    return ", ".join((f"{run[0].topic} " if several else "") + _span(run) for run in runs)


def _span(run: Sequence[MessageQueue]) -> str:
    end = f"-{run[-1].queue_id}" if len(run) > 1 else ""
    return f"{run[0].broker_name}/{run[0].queue_id}{end}"


def orphan_rows(result: StrategyResult) -> list[SlotRow]:
    """Builds one row for each queue that nobody consumes though its strategy did not throw."""
    return [
        SlotRow(
            topic=queue.topic,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            slot=", ".join(result.owners.intended.get(queue, ())) or None,
        )
        for queue in result.owners.orphans
        if not result.failure
    ]


def owner_rows(
    before: StrategyResult, after: StrategyResult | None, kafka: StrategyResult | None = None
) -> list[OwnerRow]:
    """Builds one row for each queue that is there before or after."""
    old, new = before.owners.owners, (after or before).owners.owners
    in_kafka = kafka.owners.owners if kafka else {}
    return [
        OwnerRow(
            topic=queue.topic,
            broker=queue.broker_name,
            queue_id=queue.queue_id,
            before=", ".join(old.get(queue, ())) or None,
            after=", ".join(new.get(queue, ())) or None,
            kafka=", ".join(in_kafka.get(queue, ())) or None,
        )
        for queue in sorted({*old, *new})
    ]


def simulation_document(
    rows: Sequence[ResultRow],
    loads: Sequence[LoadRow],
    owners: Sequence[OwnerRow],
    moved: Sequence[Move],
    *,
    orphans: Sequence[SlotRow],
    rooms: Sequence[RoomRow],
    sending: Sequence[SendingRow],
    shares: Sequence[ShareRow] = (),
) -> Document:
    """Builds the document of `allocation simulate`; what nothing is known of gets no column."""
    changes = any(row.layout == "after" for row in rows)
    moves = [
        OwnerRow(
            topic=item.queue.topic,
            broker=item.queue.broker_name,
            queue_id=item.queue.queue_id,
            before=item.before,
            after=item.after,
        )
        for item in moved
    ]
    columns = LOAD_COLUMNS if changes else tuple(_renamed(column) for column in LOAD_COLUMNS if column.key != "before")
    if any(row.layout == "kafka" for row in rows):
        columns = (*columns, _KAFKA)
    several = len({row.topic for row in owners}) > 1
    blocks: list[Table | Paragraphs] = [
        Table(_told(RESULT_COLUMNS, rows), rows),
        Table(_told(columns, loads), loads, title=sentence("title-queues-by-client", "Queues by client")),
    ]
    if moves:
        title = sentence(
            "title-queues-that-move", "Queues that move (what is in flight may be consumed twice, or out of order)"
        )
        blocks.append(Table((_TOPIC, *OWNER_COLUMNS) if several else OWNER_COLUMNS, moves, title=title))
    if orphans:
        title = sentence(
            "title-queues-without-consumer",
            "Queues without a consumer: their slot falls to a client that does not subscribe to the topic",
        )
        blocks.append(Table(ORPHAN_COLUMNS, orphans, title=title))
    if any(row.required_tps is not None or row.capacity_tps for row in rooms) or len({row.room for row in rooms}) > 1:
        each = (
            sentence("allocation-the-clients", "the clients")
            if {row.room for row in rooms} == {ALL}
            else sentence("allocation-clients-each-room", "the clients of each room")
        )
        title = sentence(
            "title-what-arrives-for", "What arrives for {each}, and what they can pass (messages a second)", each=each
        )
        blocks.append(Table(_told(ROOM_COLUMNS, rooms), rooms, title=title))
    blocks += sends_blocks(sending, shares)
    return Document(
        schema="allocation.simulate/1",
        value=Simulation(
            results=list(rows),
            loads=list(loads),
            owners=list(owners),
            moves=moves,
            orphans=list(orphans),
            rooms=list(rooms),
            sending=list(sending),
            shares=list(shares),
        ),
        records=rows,
        csv_columns=RESULT_COLUMNS,
        blocks=blocks,
    )


def _renamed(column: Column) -> Column:
    """Returns the column as it is called where nothing changes."""
    return Column(column.key, "queues", column.kind) if column.key == "after" else column


def _told(columns: Sequence[Column], rows: Sequence[object]) -> tuple[Column, ...]:
    """Leaves out what could be measured and was not."""
    measured = {"parallelism", *(column.key for column in _NUMBERS)}
    return tuple(
        column
        for column in columns
        if column.key not in measured or any(getattr(row, column.key) is not None for row in rows)
    )
