"""Local clusters as a table and for machines."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.text import sentence

COLUMNS = (
    Column("name", "cluster"),
    Column("state", "state"),
    Column("namesrv", "name server"),
    Column("grpc", "gRPC", none="-"),
    Column("broker_names", "brokers"),
    Column("version", "as version"),
    Column("pid", "pid"),
    Column("uptime_ms", "up for", CellKind.DURATION_MS),
    Column("memory_bytes", "memory", CellKind.BYTES),
    Column("data_dir", "stores", none="thrown away", wide=True),
    Column("log", "log", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBrokerRow:
    """One broker of a local cluster; slaves have an id above 0.

    Attributes:
        state: `running`, or `down` when nobody listens at its address.
    """

    name: str
    address: str
    room: str | None
    store: str
    broker_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRow:
    """One local cluster.

    Attributes:
        state: `running`, `degraded` when some broker of it is down, `dead` when its process ended by itself.
        namesrv: what clients need: `host:port;host:port`.
        nsaddr: URL of the address service by room.
        grpc: address of the gRPC endpoint, where there is one.
        control: address of the control socket, where it is open. Its token is in the state file.
    """

    name: str
    state: str
    pid: int
    namesrv: str
    broker_names: str
    brokers: list[LocalBrokerRow]
    nsaddr: dict[str, str]
    grpc: str | None
    version: str
    uptime_ms: int | None
    memory_bytes: int | None
    data_dir: str | None
    log: str
    control: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalStatus:
    """Machine form of `local up`, `local down` and `local status`."""

    clusters: list[LocalRow]


def local_document(rows: Sequence[LocalRow]) -> Document:
    """Builds the document of one or more local clusters."""
    columns = COLUMNS if any(row.grpc for row in rows) else tuple(one for one in COLUMNS if one.key != "grpc")
    empty = sentence("local-none-started", "no local cluster was started; try: mqctl local up")
    return Document(
        schema="local.status/1",
        value=LocalStatus(clusters=list(rows)),
        records=rows,
        blocks=[Table(columns, rows, empty=empty)],
    )
