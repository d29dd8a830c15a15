"""Round trips of sends, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from mqctl.model.counts import counted
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import keep_texts, sentence

_COLUMNS = (
    Column("broker_name", "broker"),
    Column("topic", "topic"),
    Column("queue_id", "queue", CellKind.COUNT),
    Column("sent_count", "sent", CellKind.COUNT),
    Column("failed_count", "failed", CellKind.COUNT),
    Column("first_ms", "first ms", none="?"),
    Column("median_ms", "median ms", none="?"),
    Column("max_ms", "max ms", none="?"),
    Column("problem", "problem"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedQueue:
    """Sends to one queue, one after the other.

    Attributes:
        first_ms: round trip of the first one, a new connection included; the others share it.
        median_ms, max_ms: of those after the first; None when there were none.
        problem: why the last one that failed did.
    """

    broker_name: str
    topic: str
    queue_id: int
    sent_count: int
    failed_count: int
    first_ms: float | None
    median_ms: float | None
    max_ms: float | None
    problem: str | None
    problem_key: str | None = None
    problem_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "problem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Machine form of `message probe`."""

    size_bytes: int
    queues: list[ProbedQueue]


def probed_queue(
    broker_name: str, topic: str, queue_id: int, trips_ms: Sequence[float], problems: Sequence[str]
) -> ProbedQueue:
    """Builds the row of one queue from its round trips in milliseconds and the reasons of failures."""
    later = trips_ms[1:]
    return ProbedQueue(
        broker_name=broker_name,
        topic=topic,
        queue_id=queue_id,
        sent_count=len(trips_ms),
        failed_count=len(problems),
        first_ms=round(trips_ms[0], 2) if trips_ms else None,
        median_ms=round(median(later), 2) if later else None,
        max_ms=round(max(later), 2) if later else None,
        problem=problems[-1] if problems else None,
    )


def probe_document(size_bytes: int, queues: Sequence[ProbedQueue]) -> Document:
    """Builds the document of `message probe`."""
    sent, failed = (sum(getattr(item, name) for item in queues) for name in ("sent_count", "failed_count"))
    line = sentence(
        "probe-stored-stay",
        "stored: {sent} of {sent_2} of {size_bytes}; they stay there",
        sent=sent,
        sent_2=counted(sent + failed, "message"),
        size_bytes=counted(size_bytes, "byte"),
    )
    return Document(
        schema="message.probe/1",
        value=Probe(size_bytes=size_bytes, queues=list(queues)),
        records=queues,
        blocks=[
            Table(_COLUMNS, queues),
            Paragraphs([line]),
        ],
    )
