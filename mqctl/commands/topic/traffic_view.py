"""What goes into topics and out to groups, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from mqctl.model.column import CellKind, column, columns_of
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import Document, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTraffic:
    """What a group fetched of a topic: messages a second in the last minute, of the last day; None if unknown."""

    group: str
    out_tps: float | None
    out_day_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicTraffic:
    """What came into a topic: messages a second in the last minute, of the last day; None if unknown."""

    topic: str
    in_tps: float | None
    in_day_count: int | None
    groups: list[GroupTraffic]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Machine form of `topic traffic`."""

    topics: list[TopicTraffic]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficRow:
    """A group of a topic beside what came into that; a topic that has none stands alone."""

    topic: str = field(metadata=column("topic"))
    in_tps: float | None = field(metadata=column("in/s", none="?"))
    in_day_count: int | None = field(metadata=column("in 24 h", CellKind.COUNT, none="?"))
    group: str | None = field(default=None, metadata=column("group", none="nobody"))
    out_tps: float | None = field(default=0.0, metadata=column("out/s", none="?"))
    out_day_count: int | None = field(default=0, metadata=column("out 24 h", CellKind.COUNT, none="?"))


COLUMNS = columns_of(TrafficRow)


def traffic_document(topics: Sequence[TopicTraffic]) -> Document:
    """Shows a row for each group of each topic, and one for a topic that has none."""
    rows = [row for item in topics for row in _rows(item)]
    shown = sorted(rows, key=_busiest_first)
    return Document(
        schema="topic.traffic/1",
        value=Traffic(topics=list(topics)),
        records=rows,
        blocks=[Table(COLUMNS, shown)],
    )


def _busiest_first(row: TrafficRow) -> tuple[float, float, str, str]:
    """Orders by messages of the last day, the topic's before the group's; what is unknown comes before none."""
    into, out = (0.5 if count is None else count for count in (row.in_day_count, row.out_day_count))
    return (-into, -out, row.topic, row.group or "")


def _rows(item: TopicTraffic) -> list[TrafficRow]:
    alone = TrafficRow(topic=item.topic, in_tps=item.in_tps, in_day_count=item.in_day_count)
    groups = [
        replace(
            alone,
            group=group.group,
            out_tps=group.out_tps,
            out_day_count=group.out_day_count,
        )
        for group in item.groups
    ]
    return groups or [alone]
