"""Replication as a table: slaves beside their masters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqctl.model.replicas import ReplicaState
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table

_COLUMNS = (
    Column("cluster", "cluster", wide=True),
    Column("broker", "broker"),
    Column("broker_id", "id", CellKind.COUNT),
    Column("role", "role", none="?"),
    Column("address", "address"),
    Column("log_start", "log from", CellKind.COUNT, none="?"),
    Column("log_end", "log to", CellKind.COUNT, none="?"),
    Column("behind_bytes", "behind", CellKind.COUNT),
    Column("behind_ms", "behind for", CellKind.DURATION_MS),
    Column("state", "state", CellKind.WORDS),
    Column("slave_count", "slaves", CellKind.COUNT, wide=True),
    Column("sync_state", "sync state set", CellKind.SENTENCE, wide=True),
    Column("connections", "replication port", wide=True),
    Column("undispatched_bytes", "not dispatched", CellKind.COUNT, wide=True, none="?"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRow:
    """One broker process, a slave beside its master.

    Attributes:
        role: `brokerRole` of its settings.
        log_start, log_end: physical bounds of its commit log.
        behind_bytes: of a slave: bytes that its log ends before its master's; below 0 when it ends after it.
        behind_ms: age of the oldest message that the slave does not have; None where it has all, or that is not known.
        state: of a slave: `in-sync`, `catching-up`, `behind`, `empty`, `partial`, `ahead`, `diverged`, `no-master`,
            `unknown`; of a master `master`.
        slave_count: of a master: slaves registered under its name.
        sync_state: of a master under a controller: the sync state set as that says, who is out of it, the epoch.
        in_sync, out_of_sync: the same as addresses; a slave that died stays out of it.
        connections: of a 5.x master: who is connected to its replication port, with what each reported last.
        claimed_in_sync_count: of a 5.x master: connections that it calls in sync, which says little.
        undispatched_bytes: bytes of its own log that are in no queue yet.
    """

    cluster: str
    broker: str
    broker_id: int
    role: str | None
    address: str
    log_start: int | None
    log_end: int | None
    behind_bytes: int | None = None
    behind_ms: int | None = None
    state: str
    slave_count: int | None = None
    sync_state: str | None = None
    in_sync: list[str] | None = None
    out_of_sync: list[str] | None = None
    connections: str | None = None
    claimed_in_sync_count: int | None = None
    undispatched_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationStatus:
    """Machine form of `ha status`."""

    replicas: list[ReplicaRow]


def status_document(rows: Sequence[ReplicaRow]) -> Document:
    """Builds the document of `ha status`."""
    return Document(
        schema="ha.status/1",
        value=ReplicationStatus(replicas=list(rows)),
        records=rows,
        blocks=[Table(_COLUMNS, rows, empty="no broker is registered"), Paragraphs(_advice(rows))],
    )


def _advice(rows: Sequence[ReplicaRow]) -> list[str]:
    slaves = [row for row in rows if row.broker_id]
    left = [f"{address} of {row.broker}" for row in rows for address in row.out_of_sync or ()]
    outside = (
        [f"Out of the sync state set, so not elected (but with enableElectUncleanMaster): {', '.join(left)}"]
        if left
        else []
    )
    if not slaves:
        return outside or ["No slave is registered: every message exists once."]
    ill = [row for row in slaves if not ReplicaState(row.state).follows]
    if not ill:
        return outside
    return [
        *outside,
        f"Slaves that do not follow as they should: {len(ill)} of {len(slaves)}; mqctl doctor says what that means.",
    ]
