"""Ports and whether they can be reached, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mqctl.client.remoting.reach import Port
from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.text import keep_texts

COLUMNS = (
    Column("role", "port of", CellKind.WORDS),
    Column("broker", "broker"),
    Column("broker_id", "id", CellKind.COUNT),
    Column("address", "address"),
    Column("state", "state", CellKind.WORDS),
    Column("speaks", "speaks"),
    Column("connect_ms", "connected after", CellKind.DURATION_MS),
    Column("answer_ms", "answered after", CellKind.DURATION_MS),
    Column("reason", "problem"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortRow:
    """One port.

    Attributes:
        role: `name server`, `broker`, `VIP`, `HA`, `proxy` or `proxy gRPC`.
        state: `answers`, `slow`, `accepts`, `other`, `half-open`, `hangs-up`, `closed`, `silent` or `unknown`.
        speaks: who was heard there; None where nobody was.
    """

    role: str
    broker: str | None
    broker_id: int | None
    address: str
    state: str
    speaks: str | None
    connect_ms: float | None
    answer_ms: float | None
    reason: str | None
    reason_key: str | None = None
    reason_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortList:
    """Machine form of `broker reach`."""

    ports: list[PortRow]


def reach_document(ports: Sequence[Port]) -> Document:
    """Builds the document of ports."""
    rows = [
        PortRow(
            role=port.role,
            broker=port.name,
            broker_id=port.broker_id,
            address=port.address,
            state=port.reached.state.value,
            speaks=port.reached.speaks,
            connect_ms=port.reached.connect_ms,
            answer_ms=port.reached.answer_ms,
            reason=port.reached.reason,
        )
        for port in ports
    ]
    return Document(schema="broker.reach/1", value=PortList(ports=rows), records=rows, blocks=[Table(COLUMNS, rows)])
