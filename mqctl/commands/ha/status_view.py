"""Replication as a table: slaves beside their masters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from mqctl.model.lazy_dataclass import dataclass
from mqctl.model.replicas import ReplicaState
from mqctl.render.document import CellKind, Column, Document, Paragraphs, Table
from mqctl.text import keep_texts, sentence

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
    Column("epochs", "epochs", wide=True),
    Column("connections", "replication port", CellKind.SENTENCE, wide=True),
    Column("claimed_in_sync_count", "calls in sync", CellKind.COUNT, wide=True),
    Column("silent_ms", "reported ago", CellKind.DURATION_MS, wide=True),
    Column("undispatched_bytes", "not dispatched", CellKind.COUNT, wide=True, none="?"),
)


_CONTROLLERS = (
    Column("address", "controller"),
    Column("state", "state", CellKind.WORDS),
    Column("leader", "its leader", none="?"),
    Column("names", "brokers"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRow:
    """One controller that brokers are set to.

    Attributes:
        state: `leads`, `follows`, `leaderless` (it answers, and knows of no leader), `silent` (it does not answer
            here).
        leader: address of the leader, as it says.
        brokers: broker names that are set to it.
    """

    address: str
    state: str
    leader: str | None
    brokers: list[str]

    @property
    def names(self) -> str:
        """The broker names in one cell."""
        return ", ".join(self.brokers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRow:
    """One broker process, a slave beside its master.

    Attributes:
        role: `brokerRole` of its settings.
        log_start, log_end: physical bounds of its commit log.
        behind_bytes: of a slave: bytes that its log ends before its master's; below 0 when it ends after it.
        behind_ms: age of the oldest message that the slave does not have; None where it has all, or that is not known.
        state: of a slave: `in-sync`, `catching-up`, `behind`, `cut-off`, `empty`, `partial`, `ahead`, `diverged`,
            `no-master`, `unknown`; of a master `master`.
        slave_count: of a master: slaves registered under its name.
        sync_state: of a master under a controller: the sync state set as that says, who is out of it, the epoch.
        in_sync, out_of_sync: the same as addresses; a slave that died stays out of it.
        dead: addresses of the set's members whose heartbeats do not reach the controller.
        epochs: of brokers under a controller: `epoch@offset` of each master that wrote the log.
        epochs_meet_at: of such a slave: physical offset at which it would be cut by its epochs and its master's.
        connections: of a 5.x master: who is connected to its replication port, with what each reported last; of a slave
            the replication port that it follows or tries to.
        claimed_in_sync_count: of a 5.x master: connections that it calls in sync, which says little.
        silent_ms: of a 5.x slave: since when it has not reported to its master; at most 5 s while it follows.
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
    dead: list[str] | None = None
    epochs: str | None = None
    epochs_meet_at: int | None = None
    connections: str | None = None
    claimed_in_sync_count: int | None = None
    silent_ms: int | None = None
    undispatched_bytes: int | None = None
    sync_state_key: str | None = None
    sync_state_values: dict[str, Any] | None = None
    connections_key: str | None = None
    connections_values: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        keep_texts(self, "sync_state", "connections")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationStatus:
    """Machine form of `ha status`.

    Attributes:
        controllers: those that brokers are set to; empty where none runs under a controller.
    """

    replicas: list[ReplicaRow]
    controllers: list[ControllerRow]


def status_document(rows: Sequence[ReplicaRow], controllers: Sequence[ControllerRow] = ()) -> Document:
    """Builds the document of `ha status`."""
    return Document(
        schema="ha.status/1",
        value=ReplicationStatus(replicas=list(rows), controllers=list(controllers)),
        records=rows,
        blocks=[
            Table(_COLUMNS, rows, empty=sentence("no-broker-registered", "no broker is registered")),
            *(
                [Table(_CONTROLLERS, controllers, title=sentence("title-controllers", "Controllers"))]
                if controllers
                else []
            ),
            Paragraphs(list(_advice(rows))),
        ],
    )


def _advice(rows: Sequence[ReplicaRow]) -> Iterator[str]:
    slaves = [row for row in rows if row.broker_id]
    left = [f"{address} of {row.broker}" for row in rows for address in row.out_of_sync or ()]
    if left:
        yield sentence(
            "replication-out-sync-state-set",
            "Out of the sync state set, so not elected (but with enableElectUncleanMaster): {left}",
            left=left,
        )
    if not slaves and not left:
        yield sentence("replication-no-slave-registered-every", "No slave is registered: every message exists once.")
    for row in slaves:
        if row.epochs_meet_at is not None and row.log_end is not None and row.epochs_meet_at < row.log_end:
            yield (
                sentence(
                    "replication-epochs-slave-cut-when",
                    "By its epochs slave {broker_id} of {broker} is cut to {epochs_meet_at:,} when it "
                    "connects: {log_end:byte goes/go}.",
                    broker_id=row.broker_id,
                    broker=row.broker,
                    epochs_meet_at=row.epochs_meet_at,
                    log_end=row.log_end - row.epochs_meet_at,
                )
            )
    following = Counter(row.broker for row in slaves if ReplicaState(row.state).follows)
    for row in rows:
        if row.claimed_in_sync_count and row.claimed_in_sync_count > following[row.broker]:
            yield (
                sentence(
                    "replication-itself-calls-connections-sync",
                    "{broker} itself calls {claimed_in_sync_count} of its connections in sync, and "
                    "{following} of its slaves follow: that word says no more than less than 256 MiB "
                    "behind, or that nothing was reported so far.",
                    broker=row.broker,
                    claimed_in_sync_count=row.claimed_in_sync_count,
                    following=following[row.broker],
                )
            )
    silent = [row for row in slaves if row.state == ReplicaState.UNKNOWN]
    if silent:
        named = ", ".join(f"{row.broker} ({row.broker_id})" for row in silent)
        yield sentence(
            "replication-not-known-slave-master",
            "Not known of {named}: a slave or its master did not report the end of its log.",
            named=named,
        )
    ill = [row for row in slaves if row not in silent and not ReplicaState(row.state).follows]
    if ill:
        yield (
            sentence(
                "replication-slaves-not-follow-should",
                "Slaves that do not follow as they should: {ill} of {slaves}; mqctl doctor says what that means.",
                ill=len(ill),
                slaves=len(slaves),
            )
        )
