"""Local consumer processes as a table."""

from __future__ import annotations

from collections.abc import Sequence

from mqctl.model.lazy_dataclass import dataclass
from mqctl.render.document import CellKind, Column, Document, Table
from mqctl.text import sentence

PROCESS_COLUMNS = (
    Column("pid", "pid"),
    Column("runtime", "runs"),
    Column("group", "group", none="?"),
    Column("consume_mode", "mode"),
    Column("client_id", "client id", none="?"),
    Column("thread_count", "threads", CellKind.COUNT, none="?"),
    Column("consume_thread_count", "consuming", CellKind.COUNT, none="?"),
    Column("cpu_share", "cpu", CellKind.SHARE, none="?"),
    Column("rss_bytes", "memory", CellKind.BYTES, none="?"),
    Column("user", "user", none="?"),
    Column("obstacle", "cannot dump because"),
    Column("known_by", "known by", wide=True),
    Column("started_time_ms", "started", CellKind.TIME_MS, wide=True),
    Column("connected_to", "connected to", wide=True),
    Column("command", "command", wide=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """One process, once for each group that it consumes for.

    Attributes:
        group, client_id: None where nothing tells them.
        known_by: what tells the group: `connection`, `client id` or `command line`.
        consume_thread_count: threads with RocketMQ's names; None where the system keeps no names of threads.
        cpu_share: 1.0 is one core.
        consume_mode: of the group, `POP` or `PULL`, both where it differs by topic; None where nobody tells.
        obstacle: why `mqctl stacks dump --pid` would not work; None when it would.
    """

    pid: int
    runtime: str
    group: str | None
    client_id: str | None
    known_by: str | None
    thread_count: int | None
    consume_thread_count: int | None
    cpu_share: float | None
    rss_bytes: int | None
    user: str | None
    started_time_ms: int | None
    connected_to: list[str]
    command: str
    obstacle: str | None
    consume_mode: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessList:
    """Machine form of `stacks find`."""

    processes: list[ProcessRow]


def processes_document(rows: Sequence[ProcessRow]) -> Document:
    """Builds the document of `stacks find`."""
    some_pop = any("POP" in (row.consume_mode or "") for row in rows)
    columns = [column for column in PROCESS_COLUMNS if some_pop or column.key != "consume_mode"]
    table = Table(
        columns,
        rows,
        empty=sentence(
            "empty-no-process-of-this-machine-looks-like-a-consumer", "no process of this machine looks like a consumer"
        ),
    )
    return Document(schema="stacks.find/1", value=ProcessList(processes=list(rows)), records=rows, blocks=[table])
