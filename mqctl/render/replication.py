"""Replication as tables: slaves beside their masters, and two stores beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mqctl.errors import ExitCode
from mqctl.model.counts import counted
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
    Column("sync_state", "sync state set", wide=True),
    Column("connections", "replication port", wide=True),
    Column("undispatched_bytes", "not dispatched", CellKind.COUNT, wide=True, none="?"),
)
_WORDS = {
    "equal": "The logs are equal over all that both have, and end at the same offset.",
    "b-behind": "B ends before A; all that it has is equal to A.",
    "b-ahead": "B ends after A; all that A has is equal in B.",
    "different": "THE LOGS DIFFER from the record at {} on (first different byte at {}).",
    "a-empty": "A HAS NO MESSAGES; B has.",
    "b-empty": "B HAS NO MESSAGES; A has.",
    "file-missing": "A file is missing in one of the logs; what both have is equal.",
    "nothing-in-common": "The logs have no range in common: nothing was compared.",
}
_COMPARED = (
    Column("name", "store"),
    Column("path", "directory"),
    Column("start", "log from", CellKind.COUNT),
    Column("end", "log to", CellKind.COUNT),
    Column("confirm_offset", "confirmed to", CellKind.COUNT),
)
_TABLES = (
    Column("table", "table"),
    Column("only_a_count", "only in A", CellKind.COUNT),
    Column("only_b_count", "only in B", CellKind.COUNT),
    Column("differing_count", "in all", CellKind.COUNT),
    Column("examples", "for instance"),
)
_READ_AGAIN_TITLE = "Consumed by the offsets of B, and again by those of A"
_READ_AGAIN = (
    Column("group", "group"),
    Column("topic", "topic"),
    Column("queue_count", "queues", CellKind.COUNT),
    Column("message_count", "messages", CellKind.COUNT),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDifference:
    """A configuration table in which two stores differ.

    Attributes:
        differing_count: entries that are in one only, or differ.
        examples: the first of them.
    """

    table: str
    only_a_count: int
    only_b_count: int
    differing_count: int
    examples: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAgain:
    """Messages of a topic that a group consumed by the offsets of B, and not by those of A.

    Attributes:
        queue_count: queues in which B's offset is ahead.
    """

    group: str
    topic: str
    queue_count: int
    message_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreComparison:
    """Machine form of `ha compare`.

    Attributes:
        state: `equal`, `b-behind`, `b-ahead`, `a-empty`, `b-empty`, `different`, `file-missing` or `nothing-in-common`.
        a_start, a_end, b_start, b_end: physical bounds of the logs, the ends behind the last record that can be read.
        a_unread_bytes, b_unread_bytes: written behind that: half a record, or remains of other ones.
        a_file_bytes, b_file_bytes: size of the log's files.
        compared_bytes: of the range that both have.
        first_difference: physical offset of the first record that differs; `different_byte`: of the byte.
        a_confirm_offset, b_confirm_offset: of brokers under a controller: up to where the whole set had it.
            What lies behind was cut, if the broker was a slave; its bytes stay in the files.
        a_only_message_count, b_only_message_count: messages that cannot be read in the other one: before its beginning,
            behind its end, or from the first difference on.
        tables: those that differ.
        read_again: what groups consumed on B and consume again when A, the master, serves with its own offsets.
    """

    a: str
    b: str
    state: str
    a_start: int
    a_end: int
    b_start: int
    b_end: int
    a_unread_bytes: int
    b_unread_bytes: int
    a_file_bytes: int | None
    b_file_bytes: int | None
    compared_bytes: int
    first_difference: int | None
    different_byte: int | None
    a_confirm_offset: int | None
    b_confirm_offset: int | None
    a_only_message_count: int
    b_only_message_count: int
    tables: list[TableDifference]
    read_again: list[ReadAgain]

    def exit_code(self) -> ExitCode:
        """0 equal, 1 one is behind or empty or tables differ, 2 the logs differ, 3 not all could be compared."""
        if self.state in ("nothing-in-common", "file-missing"):
            return ExitCode.UNKNOWN
        if self.state == "different":
            return ExitCode.CRITICAL
        is_same = self.state == "equal" and not self.tables and not self.has_other_files
        return ExitCode.OK if is_same and self.a_unread_bytes == self.b_unread_bytes else ExitCode.WARNING

    @property
    def has_other_files(self) -> bool:
        """Whether the log files of both have different sizes, with which a slave cannot follow."""
        return None not in (self.a_file_bytes, self.b_file_bytes) and self.a_file_bytes != self.b_file_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    name: str
    path: str
    start: int
    end: int
    confirm_offset: int | None


def comparison_document(comparison: StoreComparison) -> Document:
    """Builds the document of `ha compare`."""
    sides = [
        _Side(
            name="A",
            path=comparison.a,
            start=comparison.a_start,
            end=comparison.a_end,
            confirm_offset=comparison.a_confirm_offset,
        ),
        _Side(
            name="B",
            path=comparison.b,
            start=comparison.b_start,
            end=comparison.b_end,
            confirm_offset=comparison.b_confirm_offset,
        ),
    ]
    words = _WORDS[comparison.state].format(
        f"{comparison.first_difference or 0:,}", f"{comparison.different_byte or 0:,}"
    )
    lines = [words, f"Compared: {comparison.compared_bytes:,} bytes."]
    if comparison.state in ("b-behind", "b-ahead"):
        lines[-1] = (
            f"Compared: {counted(comparison.compared_bytes, 'byte')}; "
            f"in one only: {counted(abs(comparison.a_end - comparison.b_end), 'byte')}."
        )
    if comparison.a_start != comparison.b_start:
        later = "B" if comparison.b_start > comparison.a_start else "A"
        lines.append(f"The log of {later} begins {abs(comparison.a_start - comparison.b_start):,} bytes later.")
    for name, count in (("A", comparison.a_only_message_count), ("B", comparison.b_only_message_count)):
        if count:
            lines.append(f"Can be read in {name} only: {counted(count, 'message')}.")
    if comparison.has_other_files:
        lines.append(
            f"Log files differ in size: {comparison.a_file_bytes:,} bytes in A, {comparison.b_file_bytes:,} in B. "
            "A slave cannot follow a master with files of another size."
        )
    for side, unread_bytes in zip(sides, (comparison.a_unread_bytes, comparison.b_unread_bytes), strict=True):
        if unread_bytes:
            lines.append(
                f"{side.name} has {unread_bytes:,} bytes after its last readable record: half a record, or what an "
                "earlier end of the log left."
            )
        if side.confirm_offset is not None and side.confirm_offset < side.end:
            lines.append(
                f"{side.name} ran under a controller and is confirmed up to {side.confirm_offset:,}: what follows may "
                "have been cut when it was a slave, and a restart brings it back."
            )
    return Document(
        schema="ha.compare/1",
        value=comparison,
        records=[comparison],
        blocks=[
            Table(_COMPARED, sides),
            Paragraphs(lines),
            Table(_TABLES, comparison.tables, title="Tables that differ", empty="no table differs"),
            *([Table(_READ_AGAIN, comparison.read_again, title=_READ_AGAIN_TITLE)] if comparison.read_again else []),
        ],
    )
