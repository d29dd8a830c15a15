"""Simulations of who consumes which queue, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqctl.allocation.simulation import Move, Result, RoomLoad, Sending
from mqctl.render.allocation import RESULT_COLUMNS, ResultRow
from mqctl.render.document import Column, Document, Kind, Paragraphs, Table

LOAD_COLUMNS = (
    Column("client_id", "client"),
    Column("before", "before", Kind.COUNT),
    Column("after", "after", Kind.COUNT),
)
MOVE_COLUMNS = (
    Column("broker", "broker"),
    Column("queue_id", "queue", Kind.COUNT),
    Column("before", "from", none="nobody"),
    Column("after", "to", none="nobody"),
)
ROOM_COLUMNS = (
    Column("layout", "layout"),
    Column("room", "room"),
    Column("client_count", "clients", Kind.COUNT),
    Column("queue_count", "queues", Kind.COUNT),
    Column("required_tps", "required/s", none="?"),
    Column("capacity_tps", "capacity/s", none="?"),
    Column("enough", "enough", Kind.FLAG, none="?"),
)
SENDING_COLUMNS = (
    Column("layout", "layout"),
    Column("room", "producers in"),
    Column("own", "stay in their room", Kind.FLAG),
    Column("queue_count", "queues", Kind.COUNT),
    Column("brokers", "brokers"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRow:
    """Queues of one client before and after."""

    client_id: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRow:
    """A queue that changes its owner."""

    broker: str
    queue_id: int
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomRow:
    """What the clients of one room (`all` without a rule) carry, and can; `enough` is None when not known."""

    layout: str
    room: str
    client_count: int
    queue_count: int
    required_tps: float | None
    capacity_tps: float | None
    enough: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingRow:
    """Queues of a producer that stays in its room; `own` is false when it has none there and uses all."""

    layout: str
    room: str
    own: bool
    queue_count: int
    brokers: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Machine form of `allocation simulate`."""

    results: list[ResultRow]
    loads: list[LoadRow]
    moves: list[MoveRow]
    rooms: list[RoomRow]
    sending: list[SendingRow]


def room_rows(layout: str, loads: Sequence[RoomLoad]) -> list[RoomRow]:
    """Builds one row for each room."""
    return [
        RoomRow(
            layout=layout,
            room=load.room,
            client_count=load.client_count,
            queue_count=load.queue_count,
            required_tps=_rounded(load.required_tps),
            capacity_tps=_rounded(load.capacity_tps),
            enough=load.enough,
        )
        for load in loads
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


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


def simulation_document(
    rows: Sequence[ResultRow],
    before: Result,
    after: Result | None,
    moved: Sequence[Move],
    *,
    rooms: Sequence[RoomRow],
    sending: Sequence[SendingRow],
) -> Document:
    """Builds the document of `allocation simulate`; `after` is None when nothing changes."""
    later = after.loads if after else before.loads
    clients = sorted({*before.loads, *later})
    loads = [LoadRow(client_id=name, before=before.loads.get(name), after=later.get(name)) for name in clients]
    moves = [
        MoveRow(broker=item.queue.broker_name, queue_id=item.queue.queue_id, before=item.before, after=item.after)
        for item in moved
    ]
    blocks: list[Table | Paragraphs] = [
        Table(RESULT_COLUMNS, rows),
        Table(LOAD_COLUMNS, loads, title="Queues by client"),
    ]
    if moves:
        title = "Queues that move (what is in flight may be consumed twice, or out of order)"
        blocks.append(Table(MOVE_COLUMNS, moves, title=title))
    if any(row.required_tps is not None or row.capacity_tps is not None for row in rooms) or len(rooms) > 2:
        title = "What the clients of each room carry, against what they can pass (messages a second)"
        blocks.append(Table(ROOM_COLUMNS, rooms, title=title))
    if sending:
        blocks.append(Table(SENDING_COLUMNS, sending, title="Queues that producers use which stay in their room"))
    return Document(
        schema="allocation.simulate/1",
        value=Simulation(results=list(rows), loads=loads, moves=moves, rooms=list(rooms), sending=list(sending)),
        records=rows,
        csv_columns=RESULT_COLUMNS,
        blocks=blocks,
    )
